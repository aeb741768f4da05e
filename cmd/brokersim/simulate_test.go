package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/model"
	"brokersim/plots"
	"brokersim/sim"
	"brokersim/sim/experiment"
	"brokersim/sim/stat"
)

// A run whose books don't add up fails, with the line that repeats it and
// without a number.
func TestFailedRunSaysHowToRepeatIt(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"books", fmt.Errorf("replication 0: %w: 3 sends arrived, 2 have an outcome", model.ErrBooks),
			"brokersim: replication 0: books don't add up: 3 sends arrived, 2 have an outcome\nthis repeats it: brokersim run x --seed 7\n"},
		{"panic", &experiment.PanicError{Value: "index out of range", Stack: []byte("model/queue.go:1")},
			"brokersim: panic: index out of range\nmodel/queue.go:1\nthis repeats it: brokersim run x --seed 7\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&stdout)
			cmd.SetErr(&stderr)
			cmd.SetContext(t.Context())
			s := &simulation{out: filepath.Join(t.TempDir(), "x")}
			do := action(func(cmd *cobra.Command, _ []string) error {
				return s.do(cmd, &job{config: new(model.Config), repeat: "brokersim run x --seed 7",
					simulate: func(context.Context, model.Observer, func(sim.Time, int)) (*model.Study, error) {
						return new(model.Study), c.err
					}})
			})
			if got := exitCode(do(cmd, nil), &stderr); got != exitInternal {
				t.Errorf("exit code: got %d, want %d", got, exitInternal)
			}
			if got := stderr.String(); got != c.want {
				t.Errorf("stderr: got %q, want %q", got, c.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout: got %q, want nothing", stdout.String())
			}
		})
	}
}

// A figure of percentiles passes through the points that the table tells.
func TestSpectrumHasTheSummarysPercentiles(t *testing.T) {
	var h stat.Histogram
	for i := range int64(429) {
		h.Add(i * i * 1000)
	}
	told := func(ms float64) *model.Estimate { return &model.Estimate{Value: ms} }
	points := spectrum(&h, &model.Summary{P50: told(45.5), P90: told(148.1), P99: told(179.9), P999: told(183)})
	for _, want := range []plots.Point{{P: 0.5, Ms: 45.5}, {P: 0.9, Ms: 148.1}, {P: 0.99, Ms: 179.9}, {P: 0.999, Ms: 183}} {
		// A figure takes the first point at or above a fraction.
		i := slices.IndexFunc(points, func(p plots.Point) bool { return p.P >= want.P })
		if i < 0 || points[i] != want {
			t.Errorf("%v: got point %d of %v", want, i, points)
		}
	}
	if !slices.IsSortedFunc(points, func(a, b plots.Point) int { return cmp.Compare(a.P, b.P) }) {
		t.Error("points are not in order")
	}
	if none := spectrum(new(stat.Histogram), new(model.Summary)); len(none) > 0 {
		t.Errorf("of nothing: got %v", none)
	}
}

// A panic is an internal error, not the 2 that Go ends with.
func TestPanicIsInternal(t *testing.T) {
	var stderr bytes.Buffer
	if got := run([]string{"list"}, nil, panics{}, &stderr); got != exitInternal {
		t.Errorf("exit code: got %d, want %d", got, exitInternal)
	}
	if got := stderr.String(); !strings.HasPrefix(got, "brokersim: internal error: no stream\n") {
		t.Errorf("stderr: got %q", got)
	}
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("no stream") }

// What can't be printed is an error.
func TestStdoutThatFails(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", "quiet"}, {"version"}, {"verify", "--customers", "1000"},
		{"run", "incident-208ms", "--no-figures"}, {"run", "incident-208ms", "--no-figures", "--json"},
		{"run", "incident-208ms", "--no-figures", "--requests", "-"},
		{"--help"}, {"help", "run"}, {"replay", "--help"}, {"check", "nope.toml"}, {},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			if got := run(args, nil, full{}, &stderr); got != exitInternal || !strings.Contains(stderr.String(), "device is full") {
				t.Errorf("exit code %d, stderr %q: want %d and the error", got, stderr.String(), exitInternal)
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("device is full") }

// A recording's name, which somebody else wrote, leads to no other folder.
func TestFolderName(t *testing.T) {
	for _, c := range []struct{ scenario, want string }{
		{"quiet", "quiet"}, {"", "scenario"}, {".", "scenario"}, {"..", "scenario"}, {"...", "..."},
		{"../../../evil", ""}, {"a/b", ""}, {`a\b`, ""}, {"/etc", ""}, {"a\nb", ""},
	} {
		if got, err := folderName(c.scenario); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.scenario, got, err, c.want)
		}
	}
}

// A requests CSV that can't be written ends the run, whose result is told all
// the same.
func TestFullRequestsEndTheRun(t *testing.T) {
	t.Chdir(t.TempDir())
	var stderr bytes.Buffer
	args := []string{"run", "overload", "--set", "duration=800h", "--no-figures", "--requests", "-"}
	if got := run(args, nil, full{}, &stderr); got != exitInternal {
		t.Errorf("exit code: got %d, want %d", got, exitInternal)
	}
	for _, want := range []string{"interrupted after ", "Attempts", "brokersim: --requests: device is full\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr has no %q: %s", want, stderr.String())
		}
	}
}

// A signal while figures are drawn ends the drawing, not the telling.
func TestInterruptedDrawing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	folder, err := output.Claim(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	in := plots.Input{Recorder: plots.NewRecorder(sim.Second), Duration: sim.Second}
	w := &written{cmd: cmd}
	w.figures(folder, false, in)
	if len(w.failures) > 0 || len(w.paths) != 1 || !strings.HasSuffix(w.paths[0], "{incident-timeline,queue-lock,latency-spectrum,rejected,waiting-causes}.{png,svg}") {
		t.Fatalf("drawn %q, failures %v", w.paths, w.failures)
	}
	cancel()
	w = &written{cmd: cmd}
	w.figures(folder, false, in)
	left, err := filepath.Glob(folder.Path("*.*"))
	if len(w.failures) > 0 || len(w.paths) > 0 || len(left) != 1 || err != nil { // the marker
		t.Errorf("drawn %q, left %q, failures %v", w.paths, left, w.failures)
	}
}
