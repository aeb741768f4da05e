package calibrate

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brokersim/model"
	"brokersim/realstore/probe"
	"brokersim/scenarios"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// TestSameBytes: the same runs give the same profile, which reads back.
func TestSameBytes(t *testing.T) {
	runs := []*probe.Run{ownRun(t, truth(), 7, 1), ownRun(t, truth(), 7, 2)}
	var texts [2][]byte
	for i := range texts {
		res, err := Fit(t.Context(), runs, Options{Origin: "Made up."})
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = res.Profile.Encode()
		if res.Fitted != 1 || res.HeldOut != 2 || len(res.Profile.Fit) != 4 {
			t.Errorf("got %d runs fitted, run %d held out, %d fits; want 1, 2, 4", res.Fitted, res.HeldOut, len(res.Profile.Fit))
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Errorf("two fits of the same runs (-first +second):\n%s", cmp.Diff(string(texts[0]), string(texts[1])))
	}
	p, err := scenarios.ParseProfile("p.toml", texts[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.Encode(), texts[0]) {
		t.Errorf("read back (-written +read):\n%s", cmp.Diff(string(texts[0]), string(p.Encode())))
	}
	if !strings.Contains(p.Origin, "Made up.") || !strings.Contains(p.Origin, "which was not fitted") {
		t.Errorf("origin: got %q", p.Origin)
	}
}

// TestNothingExtrapolated: no table goes beyond what was seen, and too few are
// said to be too few.
func TestNothingExtrapolated(t *testing.T) {
	r := ownRun(t, truth(), 7, 1)
	longest := int64(0)
	for i := range r.Samples {
		longest = max(longest, r.Samples[i].Unlock-r.Samples[i].Intended)
	}
	res, err := Fit(t.Context(), []*probe.Run{r}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.HeldOut != 0 || res.Profile.Fit != nil {
		t.Error("one run was held against something")
	}
	tables := map[string]model.Table{}
	for _, g := range res.Profile.Ladder {
		tables[g.Crosses.String()+" "+g.Phase.String()] = g.Table
	}
	for _, s := range res.Profile.Stalls {
		tables[s.Name] = s.Table
	}
	for name, table := range tables {
		// A stall that began before its append is longer by what is hidden.
		if got := table.Takes.Quantile(1); got > float64(table.Cap) || table.Cap > sim.Time(longest)+50*sim.Microsecond+1000 {
			t.Errorf("%s: goes up to %v with a cap of %v; the longest seen took %v", name, got, table.Cap, sim.Time(longest))
		}
	}
	for _, want := range []string{"one run: nothing was held out", "is not known, and not guessed"} {
		if !slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("warnings: want %q, got %q", want, res.Warnings)
		}
	}
}

// TestRefuses: runs that no profile can be made of.
func TestRefuses(t *testing.T) {
	made := ownRun(t, truth(), 7, 1)
	run := func() *probe.Run {
		r := *made
		r.Samples = slices.Clone(made.Samples)
		return &r
	}
	for _, c := range []struct {
		name string
		runs func() []*probe.Run
		want string
	}{
		{"none", func() []*probe.Run { return nil }, "none given"},
		{"other flush", func() []*probe.Run { a, b := run(), run(); b.Settings.Flush = "woken"; return []*probe.Run{a, b} }, "run 2: flush"},
		{"other disk and rate", func() []*probe.Run {
			a, b := run(), run()
			b.Environment.Device, b.Settings.Rate = "other", 1
			return []*probe.Run{a, b}
		}, "run 2: rate: want 20000 as in the first, got 1\nrun 2: device"},
		{"no flush", func() []*probe.Run { a := run(); a.Flushes = nil; return []*probe.Run{a} }, "no flush was seen"},
		{"too few", func() []*probe.Run { a := run(); a.Samples = a.Samples[:5]; return []*probe.Run{a} }, "want at least 10 appends"},
		{"large bodies only", func() []*probe.Run {
			a := run()
			for i := range a.Samples {
				a.Samples[i].Bytes = 5000
			}
			return []*probe.Run{a}
		}, "want at least 10 appends that cross no boundary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Fit(t.Context(), c.runs(), Options{}); !errors.Is(err, ErrRuns) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Fit: got %v, want %q", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, []*probe.Run{run(), run()}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Fit, canceled: got %v", err)
	}
}

// TestAnyRun: whatever a run that Read lets through holds, Fit ends without a
// panic, and a profile that it makes can be run.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &probe.Run{
			Number:   1,
			Settings: probe.Settings{Rate: rapid.Float64Range(1, 1e6).Draw(t, "rate"), BodyMin: 1, BodyMax: 4096, DurationNs: 1e9, Flush: rapid.SampledFrom(probe.FlushModes).Draw(t, "flush"), Kind: "mmap", FileSize: 1 << 20, FlushMs: 500},
		}
		at, end, offset := int64(0), int64(0), int64(0)
		step := func(name string) int64 { return int64(math.Pow(10, rapid.Float64Range(0, 8).Draw(t, name))) }
		for range rapid.IntRange(1, 60).Draw(t, "appends") {
			bytes := rapid.Int64Range(1, 9000).Draw(t, "bytes")
			s := probe.Sample{Intended: at, Offset: offset, Bytes: int32(bytes), Cause: probe.Cause(rapid.IntRange(0, 4).Draw(t, "cause"))}
			s.Start = max(at, end) + step("late")
			s.Request, s.Lock = s.Start, s.Start
			s.Append = s.Lock
			s.Appended = s.Append + step("append")
			s.Unlock, s.Done, s.End = s.Appended, s.Appended, s.Appended+step("after")
			r.Samples = append(r.Samples, s)
			end = s.End
			at, offset = end-rapid.Int64Range(0, end-s.Intended).Draw(t, "backlog"), offset+bytes
		}
		for from := int64(0); from < at; {
			f := probe.Flush{Start: from + step("pause")}
			f.End = f.Start + step("flush")
			from = f.End
			r.Flushes = append(r.Flushes, f)
		}
		res, err := Fit(context.Background(), []*probe.Run{r, r}, Options{})
		if err != nil {
			return
		}
		if err := res.Profile.Check(); err != nil {
			t.Error(err)
		}
	})
}

// TestTable: points stand where the sample's quantiles are, no further from it
// than they may, and end at its ends.
func TestTable(t *testing.T) {
	stream := sim.Streams{Seed: 3}.Stream("sample")
	for _, c := range []struct {
		name string
		of   string
		n    int
	}{
		{"few", "exponential(mean=10us)", 5},
		{"exponential", "exponential(mean=10us)", 5000},
		{"heavy", "pareto(min=1us, alpha=1.2, max=200ms)", 20000},
		{"two mechanisms", "mixture(0.8*lognormal(median=200us, p99=300us), 0.2*uniform(min=18ms, max=28ms))", 400},
		{"atoms", "empirical(50ns, 50ns, 50ns, 90ns, 3us)", 1000},
		{"one value", "7us", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := dist(c.of)
			ns := make([]float64, c.n)
			sum := 0.0
			for i := range ns {
				ns[i] = d.Draw(stream)
				sum += ns[i]
			}
			got := table(ns) // sorts
			if got.Count != int64(c.n) || float64(got.Cap) < got.Takes.Quantile(1) || math.Abs(float64(got.Cap)/ns[c.n-1]-1) > 1e-3 {
				t.Errorf("count and cap: got %d, %v, want %d, %v", got.Count, got.Cap, c.n, ns[c.n-1])
			}
			if q, ok := got.Takes.(*variate.Quantiles); ok && strings.Count(q.String(), "=") > pointsMost {
				t.Errorf("points: got %d, want at most %d", strings.Count(q.String(), "="), pointsMost)
			}
			if off := math.Abs(got.Takes.Mean()/(sum/float64(c.n)) - 1); off > 0.02 {
				t.Errorf("mean: off by %.3f", off)
			}
			for _, p := range []float64{0, 0.5, 0.9, 1} {
				if want, q := ns[int(p*float64(c.n-1))], got.Takes.Quantile(p); math.Abs(q-want) > 0.1*want+1 && c.n > 100 && c.name != "atoms" {
					t.Errorf("p%v: got %v, want %v", p*100, q, want)
				}
			}
		})
	}
}

// TestDistances against distances that can be worked out by hand.
func TestDistances(t *testing.T) {
	for _, c := range []struct {
		name   string
		a, b   []int64
		ks, w1 float64
	}{
		{"equal", []int64{1, 2, 3}, []int64{1, 2, 3}, 0, 0},
		{"equal, of other sizes", []int64{1, 2}, []int64{1, 1, 2, 2}, 0, 0},
		{"shifted", []int64{10, 20}, []int64{15, 25}, 0.5, 5},
		{"apart", []int64{0, 0}, []int64{7}, 1, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			if ks, w1 := distances(c.a, c.b); ks != c.ks || w1 != c.w1 {
				t.Errorf("got %v, %v, want %v, %v", ks, w1, c.ks, c.w1)
			}
		})
	}
}

// TestCells: the cells of the bootstrap are in order, and no coarser than they
// are said to be.
func TestCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, 1<<44).Draw(t, "v")
		if at := cellOf(v); cellOf(v+1) < at || math.Abs(middle(at)-float64(v)) > float64(v)/128+1 {
			t.Errorf("%d: cell %d, its middle %v", v, at, middle(at))
		}
	})
}

// TestKinds: what a slow append tells about.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name string
		o    observation
		want kind
	}{
		{"quick", observation{hold: slow, cause: probe.CausePreempted}, onRung},
		{"preempted", observation{hold: slow + 1, cause: probe.CausePreempted, boundary: model.Crosses2MiB}, preempted},
		{"moved", observation{hold: slow + 1, cause: probe.CauseUnknown}, preempted},
		{"a folio", observation{hold: slow + 1, cause: probe.CauseRan, boundary: model.Crosses2MiB}, onRung},
		{"the host", observation{hold: slow + 1, cause: probe.CauseRan, boundary: model.Crosses4KiB}, stolen},
		{"after a flush", observation{hold: slow + 1, cause: probe.CauseRan, phase: model.PhaseFirst}, onRung},
		{"waits for a page", observation{hold: slow + 1, cause: probe.CauseSlept, boundary: model.Crosses4KiB}, pageWait},
		{"throttled", observation{hold: slow + 1, cause: probe.CauseSlept, boundary: model.Crosses4KiB, throttle: true}, throttled},
		{"waits where it was", observation{hold: slow + 1, cause: probe.CauseSlept}, pageWaitInOne},
		{"folio lock of the flush", observation{hold: slow + 1, cause: probe.CauseSlept, phase: model.PhaseInside}, onRung},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.o.kind(); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestPhases: the first to begin after an edge, and the others.
func TestPhases(t *testing.T) {
	r := &probe.Run{Settings: probe.Settings{FileSize: 1 << 20}, Flushes: []probe.Flush{{Start: 15, End: 45}, {Start: 45, End: 46}}}
	for i := range int64(7) {
		at := i * 10
		r.Samples = append(r.Samples, probe.Sample{Intended: at, Start: at, Request: at, Lock: at, Append: at, Appended: at + 1, Unlock: at + 1, Done: at + 1, End: at + 1, Offset: i * 1000, Bytes: 1000})
	}
	want := []model.Phase{model.PhaseOutside, model.PhaseOutside, model.PhaseFirst, model.PhaseInside, model.PhaseInside, model.PhaseFirst, model.PhaseOutside}
	for i, o := range observe(0, r) {
		if o.phase != want[i] {
			t.Errorf("append %d: got %v, want %v", i, o.phase, want[i])
		}
		if b := model.CrossedBy(int64(i)*1000, 1000); o.boundary != b {
			t.Errorf("append %d: crosses %v, want %v", i, o.boundary, b)
		}
	}
}

// TestByPosition: stalls are told apart by flush where they differ.
func TestByPosition(t *testing.T) {
	events := func(outside, inside int) (out []event) {
		for i := range outside + inside {
			out = append(out, event{ns: float64(200_000 + i), in: i >= outside, weight: 1})
		}
		return out
	}
	for _, c := range []struct {
		name            string
		outside, inside int
		want            []string
	}{
		{"alike", 20, 20, []string{"page wait"}},
		{"inside", 5, 50, []string{"page wait, outside a flush", "page wait, inside a flush"}},
		{"inside only", 0, 50, []string{"page wait, inside a flush"}},
		{"too few to tell", 0, 5, []string{"page wait"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range byPosition("page wait", events(c.outside, c.inside), [2]int64{1000, 1000}) {
				got = append(got, m.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
