package plots

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"flag"
	"fmt"
	"html"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"brokersim/model"
	"brokersim/sim"
)

var (
	update = flag.Bool("update", false, "rewrite testdata")
	keep   = flag.String("keep", "", "write all figures of the tests below this folder, to be looked at")
)

// TestGolden compares all figures of the made-up runs with their hashes. Text
// and marks are then known to be as they were when last looked at (-keep).
func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, pic := range pictures {
		in := pic.fake.input(pic.name)
		for f := range figures {
			fmt.Fprintf(&got, "%x  %s/%v.svg\n", sha256.Sum256(mustSVG(t, f, in)), pic.name, f)
		}
		keepFigures(t, in)
	}
	const golden = "testdata/svg.sha256"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the hashes are those of amd64: the last digit of a coordinate may differ elsewhere")
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("figures changed; look at them (-keep DIR), then -update (-want +got):\n%s", diff)
	}
}

// keepFigures writes a run's figures where -keep says.
func keepFigures(t *testing.T, in Input) {
	if *keep == "" {
		return
	}
	dir := filepath.Join(*keep, shorten(smallFont, in.Name, 100))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for f := range figures {
		for ext, data := range map[string][]byte{".png": mustPNG(t, f, in), ".svg": mustSVG(t, f, in)} {
			if err := os.WriteFile(filepath.Join(dir, f.String()+ext), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSameInputSameBytes(t *testing.T) {
	run := pictures[0].fake
	for f := range figures {
		if !bytes.Equal(mustPNG(t, f, run.input("a")), mustPNG(t, f, run.input("a"))) {
			t.Errorf("%v.png: two renderings differ", f)
		}
		if !bytes.Equal(mustSVG(t, f, run.input("a")), mustSVG(t, f, run.input("a"))) {
			t.Errorf("%v.svg: two renderings differ", f)
		}
	}
}

// feed records attempts only.
func feed(duration sim.Time, attempts ...model.Attempt) *Recorder {
	r := NewRecorder(duration)
	for i := range attempts {
		r.attempt(&attempts[i])
	}
	return r
}

func send(at, took sim.Time, o model.Outcome) model.Attempt {
	return model.Attempt{Send: at, Arrive: at, Resp: at + took, Outcome: o, PeriodMs: int64(took / sim.Millisecond), Qsize: 8}
}

func TestOddInputs(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	points := func(p ...Point) []Point { return p }
	equal := slices.Repeat([]model.Attempt{send(sim.Second, 205*sim.Millisecond, model.TimeoutCleanQueue)}, 10_000)
	locks := func(r *Recorder) *Recorder {
		r.lock(0, sim.Hour)
		r.queue(sim.Second, math.MaxInt)
		return r
	}
	stalled := func(r *Recorder) *Recorder {
		for i := range sim.Time(5000) {
			r.stall(model.StallRecord{Where: model.StallWhere(i % 3), From: i * sim.Millisecond, To: (i + 1) * sim.Millisecond})
		}
		return r
	}
	tests := []struct {
		name string
		in   Input
		says string // in some figure
	}{
		{"nothing", Input{Recorder: NewRecorder(0)}, "no send in this run"},
		{"no limit", Input{Recorder: NewRecorder(sim.Second)}, "no send was rejected"},
		{"one send", Input{WaitLimitMs: 200, Recorder: feed(sim.Second, send(0, sim.Millisecond, model.OK)), Latency: points(Point{1, 1})}, "stored 1"},
		{"one rejected", Input{WaitLimitMs: 200, Recorder: feed(sim.Second, send(sim.Second, 208*sim.Millisecond, model.TimeoutCleanQueue))}, "208 ms, size 8"},
		{"answered at once", Input{Recorder: feed(sim.Second, send(0, 0, model.RejectRequest), send(1, 0, model.OK))}, "drawn as 1 us"},
		{"no period", Input{WaitLimitMs: 200, Recorder: feed(sim.Second, send(0, 9, model.Overload))}, "no send was swept"},
		{"equal", Input{WaitLimitMs: 200, Recorder: feed(10*sim.Second, equal...)}, "10,000 rejected sends has its mark"},
		{"no answer", Input{Recorder: feed(sim.Second, model.Attempt{Resp: model.Absent, Done: model.Absent, Clean: model.Absent})}, "without an answer"},
		{"huge", Input{WaitLimitMs: math.MaxInt64, BusyLimitMs: math.MaxInt64, Duration: sim.Never, Seed: math.MaxUint64,
			Recorder: locks(feed(sim.Never,
				model.Attempt{Resp: sim.Never, Outcome: model.PCBusyCleanQueue, PeriodMs: math.MaxInt64, Qsize: math.MaxInt64},
				send(sim.Never/3, 1, model.FlushDiskTimeout)))}, "other answers 1"},
		{"short but lasts", Input{Recorder: locks(feed(1, send(sim.Hour, sim.Hour, model.OK)))}, "2 h simulated"},
		{"stalls", Input{Recorder: stalled(NewRecorder(sim.Minute))}, "Of 5,000 stalls the first 4,096 are shaded."},
		{"odd spectra", Input{Recorder: NewRecorder(sim.Second), Latency: points(Point{nan, 1}, Point{.5, nan}, Point{.5, inf}, Point{-1, 1}, Point{2, 1}, Point{.9, -3}, Point{.5, 0}, Point{1, 1e300}),
			Waiting: points(Point{.5, 3}, Point{.5, 3})}, "waiting in the queue: p50 3.00"},
		{"long names", Input{Name: strings.Repeat("name ", 100), Title: strings.Repeat("<&\" ", 100), Release: "5.3.3", Partial: true, Recorder: NewRecorder(sim.Second)}, "…"},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			said := false
			for f := range figures {
				svg := mustSVG(t, f, test.in)
				checkReadable(t, f.String(), svg)
				said = said || strings.Contains(html.UnescapeString(string(svg)), test.says)
			}
			mustPNG(t, Figure(i%int(figures)), test.in) // all would take long
			if !said {
				t.Errorf("no figure says %q", test.says)
			}
			if test.in.Name == "" {
				test.in.Name = test.name
			}
			keepFigures(t, test.in)
		})
	}
}

// TestReadable parses the text of each figure: all of it is 12 points high at
// least, within the picture, and none overlaps other text.
func TestReadable(t *testing.T) {
	for _, pic := range pictures {
		in := pic.fake.input(pic.name)
		for f := range figures {
			checkReadable(t, pic.name+"/"+f.String(), mustSVG(t, f, in))
		}
	}
}

func checkReadable(t *testing.T, name string, svg []byte) {
	t.Helper()
	boxes := texts(t, svg)
	if len(boxes) < 8 {
		t.Errorf("%s: found %d texts only", name, len(boxes))
	}
	for i, b := range boxes {
		if b.size < 12 {
			t.Errorf("%s: %q is %v points high", name, b.text, b.size)
		}
		if b.Min.X < 0 || b.Max.X > width || b.Min.Y < 0 || b.Max.Y > height {
			t.Errorf("%s: %q lies partly outside: %v", name, b.text, b.Rectangle)
		}
		for _, o := range boxes[:i] {
			if b.Min.X < o.Max.X && b.Max.X > o.Min.X && b.Min.Y < o.Max.Y && b.Max.Y > o.Min.Y {
				t.Errorf("%s: %q overlaps %q", name, b.text, o.text)
			}
		}
	}
}

type textBox struct {
	vg.Rectangle
	text string
	size float64
}

// texts finds the upright texts of an SVG.
func texts(t *testing.T, svg []byte) (boxes []textBox) {
	pattern := regexp.MustCompile(`(?s)<text x="([^"]+)" y="([^"]+)" [^>]*?font-weight:(\w+)[^>]*?font-size:([0-9.]+)px[^>]*>([^<]*)</text>`)
	value := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, m := range pattern.FindAllStringSubmatch(string(svg), -1) {
		x, y, size := value(m[1]), -value(m[2]), value(m[4])
		if x < 0 { // turned, about an origin of its own
			continue
		}
		f := smallFont
		if m[3] == "bold" {
			f = titleFont
		}
		f.Size = font.Length(size)
		text := html.UnescapeString(m[5])
		w := wordsWidth(f, text)
		boxes = append(boxes, textBox{
			vg.Rectangle{Min: vg.Point{X: vg.Length(x), Y: vg.Length(y - 0.2*size)}, Max: vg.Point{X: vg.Length(x) + w, Y: vg.Length(y + 0.72*size)}},
			text, size,
		})
	}
	return boxes
}

func TestNoRecorder(t *testing.T) {
	for f := range figures {
		for _, render := range []func(Figure, Input) ([]byte, error){PNG, SVG} {
			if _, err := render(f, Input{}); err == nil || !strings.Contains(err.Error(), "no recorder") {
				t.Errorf("%v: error %v without a recorder", f, err)
			}
		}
	}
}

func mustPNG(t *testing.T, f Figure, in Input) []byte {
	t.Helper()
	data, err := PNG(f, in)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || img.Width != 1200 || img.Height != 700 {
		t.Errorf("%v: %d x %d, %v; want 1200 x 700", f, img.Width, img.Height, err)
	}
	return data
}

func mustSVG(t *testing.T, f Figure, in Input) []byte {
	t.Helper()
	data, err := SVG(f, in)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 2_000_000 {
		t.Errorf("%v: SVG of %d bytes", f, len(data))
	}
	if bytes.Contains(data, []byte("NaN")) || bytes.Contains(data, []byte("Inf")) {
		t.Errorf("%v: coordinates are not finite", f)
	}
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
	}
	return data
}

func BenchmarkFigures(b *testing.B) {
	in := pictures[0].fake.input("incident")
	for f := range figures {
		b.Run("png/"+f.String(), func(b *testing.B) {
			for b.Loop() {
				PNG(f, in)
			}
		})
		b.Run("svg/"+f.String(), func(b *testing.B) {
			for b.Loop() {
				SVG(f, in)
			}
		})
	}
}

// Legends name only what is there, and tell numbers as the tables do.
func TestLegends(t *testing.T) {
	in := Input{
		WaitLimitMs: 3000, Recorder: feed(10*sim.Second, send(sim.Second, 3004*sim.Millisecond, model.TimeoutCleanQueue)),
		Latency: []Point{{0.5, 0.3554}, {0.99, 1934.6}, {0.999, 2500}, {1, 2501}},
	}
	for _, c := range []struct {
		figure Figure
		says   string
		not    string
	}{
		{Rejected, "TIMEOUT_CLEAN_QUEUE 1", "PCBUSY_CLEAN_QUEUE"},
		{Rejected, "3,004 ms, size 8", "3004"},
		{LatencySpectrum, "latency (sojourn time): p50 0.355, p99 1,935, p99.9 2,500, max 2,501 ms", "greatest"},
		{IncidentTimeline, "10 s simulated", "sojourn times"},
	} {
		svg := html.UnescapeString(string(mustSVG(t, c.figure, in)))
		if !strings.Contains(svg, c.says) || strings.Contains(svg, c.not) {
			t.Errorf("%v: want %q in it and %q not", c.figure, c.says, c.not)
		}
	}
}

// Sends that are stored though their producers had given up are told from the
// others, and it is said that two brokers share a figure.
func TestLegendsOfTwoBrokers(t *testing.T) {
	late := send(2*sim.Second, 4*sim.Second, model.OK)
	late.ClientTimedOut, late.Broker = true, 1
	one := Input{Recorder: feed(10*sim.Second, send(sim.Second, sim.Millisecond, model.OK))}
	two := Input{Recorder: feed(10*sim.Second, send(sim.Second, sim.Millisecond, model.OK), late)}
	for _, c := range []struct {
		figure Figure
		says   string
	}{
		{IncidentTimeline, "stored, timed out at the producer 1"},
		{QueueLock, "all brokers together"},
	} {
		if svg := html.UnescapeString(string(mustSVG(t, c.figure, two))); !strings.Contains(svg, c.says) {
			t.Errorf("%v: want %q in it", c.figure, c.says)
		}
		if svg := html.UnescapeString(string(mustSVG(t, c.figure, one))); strings.Contains(svg, c.says) {
			t.Errorf("%v of one broker: want %q not in it", c.figure, c.says)
		}
	}
}

func TestSizesAxis(t *testing.T) {
	for _, c := range []struct {
		name        string
		least, most float64
		min, max    float64 // bounds of the axis' ends
	}{
		{"few", 8, 8, -1, 10},
		{"from none", 0, 80, -4, 90},
		{"far from none", 760, 955, 700, 980},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := sizes(c.least, c.most); a.min < c.min || a.min >= c.least || a.max > c.max || a.max <= c.most {
				t.Errorf("axis from %v to %v, want within %v to %v", a.min, a.max, c.min, c.max)
			}
		})
	}
}
