package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/sim"
	"brokersim/sim/analytic"
)

// A short scenario for tests, known to the broker's process too, which is the
// test's binary.
var short = Scenario{Name: "test", Title: "a stall", Rates: []float64{500}, Text: head("1s", 1) + `
[[stall]]
where = "append"
at = "200ms"
for = "400ms"
`}

func TestMain(m *testing.M) {
	Scenarios = append(Scenarios, short)
	if len(os.Args) == 6 && os.Args[1] == "serve" {
		rate, _ := strconv.ParseFloat(os.Args[3], 64)
		if err := Serve(Variant{os.Args[2], rate, os.Args[4] == "true"}, os.Args[5], 0, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func machineOf(t *testing.T, runs int) Options {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("live runs take their time, and Linux")
	}
	return Options{
		Dir: t.TempDir(), Runs: runs, Scenarios: []Scenario{short},
		Broker: func(v Variant, dir string, _ int) *exec.Cmd {
			cmd := exec.Command(os.Args[0], "serve", v.Scenario, fmt.Sprint(v.Rate), strconv.FormatBool(v.Fitting), dir)
			cmd.Stderr = os.Stderr
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
			return cmd
		},
	}
}

// TestMachine: a scenario goes through its rounds and is judged, whatever the
// verdict on a machine at work; nothing is left behind.
func TestMachine(t *testing.T) {
	t.Parallel()
	o := machineOf(t, 2)
	var at, of sim.Time
	o.Progress = func(done, total sim.Time) {
		if done < 0 || done > total {
			t.Errorf("progress: %v of %v", done, total)
		}
		at, of = done, total
	}
	r, _, err := Machine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if of < 4*sim.Second || of > 6*sim.Second || at < of-sim.Second { // disturbed runs are repeated
		t.Errorf("progress ended at %v of %v", at, of)
	}
	if len(r.Groups) != 1 || r.Partial {
		t.Fatalf("groups: %+v", r.Groups)
	}
	var names []string
	for _, l := range r.Groups[0].Lines {
		names = append(names, l.Quantity)
		if l.Verdict == NotAsked || l.Kind == Count && math.IsNaN(float64(l.Got)) {
			t.Errorf("line: %+v", l)
		}
	}
	for _, want := range []string{"sojourn p50, ms", "sojourn p99.9, ms", "sojourn, KS distance", "replayed, same outcome, % of 1,000", "TIMEOUT_CLEAN_QUEUE, per run", "TIMEOUT_CLEAN_QUEUE, per run, replayed"} {
		if !slices.Contains(names, want) {
			t.Errorf("no line %q in %q", want, names)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(o.Dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestMachineInterrupted: it ends soon, says so, and leaves nothing behind.
func TestMachineInterrupted(t *testing.T) {
	t.Parallel()
	o := machineOf(t, 50)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r, _, err := Machine(ctx, o)
	if err != nil || !r.Partial || len(r.Groups) != 0 {
		t.Errorf("rung %+v, error %v", r, err)
	}
	if left, _ := os.ReadDir(o.Dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestScenarios: each can be run, virtually and live, and its fitting variant
// rejects nothing: the one thread is held up for less than the wait limit, or it
// can follow the rate.
func TestScenarios(t *testing.T) {
	for _, s := range Scenarios {
		for _, fitting := range []bool{false, true} {
			c, err := Variant{s.Name, 1000, fitting}.Config()
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			held := len(c.Stalls) > 0 || c.Store.Delay > 0 || c.Broker.SendMessageThreadPoolNums > 1
			if want := fitting || s.Name != "quiet" && s.Name != "sync-flush"; held != want {
				t.Errorf("%s, fitting %v: held up %v, want %v", s.Name, fitting, held, want)
			}
			if !fitting || c.Broker.FlushDiskType == model.SyncFlush { // what that takes is measured
				continue
			}
			r, err := simulate(t.Context(), c, 0)
			if err != nil {
				t.Fatal(err)
			}
			if n := int64(len(r.sojourns)); r.counts[model.OK] != n || n < 400 || c.Duration > sim.Second || c.Broker.SendMessageThreadPoolNums != 1 {
				t.Errorf("%s: %d sends, of which %d were stored, in %v", s.Name, n, r.counts[model.OK], c.Duration)
			}
		}
	}
}

// simulated is a virtual run of the test's scenario.
func simulated(t *testing.T, replication int) run {
	t.Helper()
	c, err := Variant{short.Name, 500, false}.Config()
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate(t.Context(), c, replication)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestItself: held against themselves, runs differ by exactly 0, and that is
// inside every interval.
func TestItself(t *testing.T) {
	runs := []run{simulated(t, 0), simulated(t, 1), simulated(t, 2)}
	if n := runs[0].counts[model.TimeoutCleanQueue]; n < 50 || len(runs[0].sojourns) != 500 {
		t.Fatalf("%d sojourns, %d rejected", len(runs[0].sojourns), n)
	}
	lines := append(compareSojourns(runs, runs), compareCounts(runs, runs, runs)...)
	if len(lines) != 6 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if l.Difference != 0 || l.Verdict == Differs {
			t.Errorf("%+v", l)
		}
		if l.Kind == Ratio && (l.Lo > 0 || l.Hi < 0) || l.Kind == Distance && l.Lo != 0 {
			t.Errorf("interval: %+v", l)
		}
	}
	rec := &recording.Agreement{Requests: 500, Scored: 500, SameOutcome: 500}
	if l := sameOutcome(rec, replayedLeast); l.Got != 100 || l.Verdict != Agrees {
		t.Errorf("same outcome: %+v", l)
	}
}

// uniform is a run of n sojourns that are evenly spread from lo to hi, mixed
// over its time.
func uniform(n int, lo, hi float64) run {
	r := run{span: sim.Second}
	for i := range n {
		k := (i * 7919) % n
		r.sojourns = append(r.sojourns, sojourn{sim.Second * sim.Time(i) / sim.Time(n), sim.Time(lo + (hi-lo)*float64(k)/float64(n))})
	}
	r.counts[model.OK] = int64(n)
	return r
}

func TestVerdicts(t *testing.T) {
	three := func(n int, scales ...float64) (runs []run) {
		for _, s := range scales {
			runs = append(runs, uniform(n, 1e6*s, 2e6*s))
		}
		return runs
	}
	steady := three(4_000, 1, 1, 1)
	for _, c := range []struct {
		name    string
		virtual []run
		live    []run
		want    []Verdict // p50, p99, p99.9, KS
	}{
		{"the same", steady, steady, []Verdict{Agrees, Agrees, Agrees, Agrees}},
		{"2 % more", three(4_000, 1.02, 1.02, 1.02), steady, []Verdict{Agrees, Agrees, Agrees, Agrees}},
		{"8 % more", three(4_000, 1.08, 1.08, 1.08), steady, []Verdict{Differs, Agrees, Agrees, Differs}},
		{"half", three(4_000, 0.5, 0.5, 0.5), steady, []Verdict{Differs, Differs, Differs, Differs}},
		{"8 % more, live runs as far from each other", three(4_000, 1.08, 1.08, 1.08), three(4_000, 0.94, 1, 1.06), []Verdict{Agrees, Agrees, Agrees, Agrees}},
		{"live runs too far from each other", three(4_000, 1, 1, 1), three(4_000, 0.4, 1, 2.5), []Verdict{CantTell, CantTell, CantTell, CantTell}},
		{"too short for tails", three(20, 1, 1, 1), three(20, 1, 1, 1), []Verdict{Agrees, CantTell, CantTell, Agrees}},
		{"nothing", []run{{}, {}}, []run{{}, {}}, []Verdict{CantTell}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := compareSojourns(c.virtual, c.live)
			var got []Verdict
			for _, l := range lines {
				got = append(got, l.Verdict)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s\n%+v", diff, lines)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	counts := func(ns ...int64) (runs []run) {
		for _, n := range ns {
			var r run
			r.counts[model.TimeoutCleanQueue] = n
			runs = append(runs, r)
		}
		return runs
	}
	for _, c := range []struct {
		name      string
		got, live []run
		want      Verdict
		limit     Number
	}{
		{"none", counts(0, 0), counts(0, 0), Agrees, 1},
		{"one, where none was", counts(1, 1), counts(0, 0), Agrees, 1},
		{"two", counts(2, 2), counts(0, 0), Differs, 1},
		{"within the spread", counts(95, 95, 95), counts(90, 93, 97), Agrees, 7},
		{"beyond it", counts(101, 101, 101), counts(90, 93, 97), Differs, 7},
		{"below it", counts(84, 85, 87), counts(90, 93, 97), Differs, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := compareCounts(c.got, c.live, c.live)
			if len(lines) != 2 || lines[0].Verdict != c.want || lines[0].Limit != c.limit || lines[1].Difference != 0 {
				t.Errorf("want %v within %v, got %+v", c.want, c.limit, lines)
			}
		})
	}
}

// TestDistance: against sums by hand, ties included.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b []sim.Time
		want float64
	}{
		{[]sim.Time{1, 2, 3}, []sim.Time{1, 2, 3}, 0},
		{[]sim.Time{1, 2}, []sim.Time{3, 4}, 1},
		{[]sim.Time{1, 1, 2, 2}, []sim.Time{1, 2, 2, 2}, 0.25},
		{[]sim.Time{1}, []sim.Time{1, 5}, 0.5},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance of %v and %v: got %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestForms: what a check comes to.
func TestForms(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		check analytic.Check
		want  Verdict
	}{
		{"passed", analytic.Check{Want: 1, Got: 1, Lo: 0.9, Hi: 1.1, Passed: true}, Agrees},
		{"failed", analytic.Check{Want: 2, Got: 1, Lo: 0.9, Hi: 1.1}, Differs},
		{"no interval", analytic.Check{Want: 1, Got: 1, Lo: nan, Hi: nan, Why: "too few"}, CantTell},
	} {
		if got := lineOf(c.check); got.Verdict != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got.Verdict, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := ClosedForms(ctx, nil); !r.Partial || r.Groups != nil {
		t.Errorf("interrupted: %+v", r)
	}
}

// TestTraces: the bundled recordings are all there and agree; those that are
// replayed with their recorded times have the quantiles of the sojourn.
func TestTraces(t *testing.T) {
	t.Parallel()
	r, err := Traces(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	report.Add(r)
	if report.Verdict != Agrees || report.Partial || len(r.Groups) != len(recording.Traces)+1 {
		t.Errorf("%d groups, verdict %v", len(r.Groups), report.Verdict)
	}
	for i, trace := range recording.Traces {
		want := 2
		if trace.SojournMost > 0 {
			want = 5
		}
		if g := r.Groups[i]; len(g.Lines) != want || g.Name != trace.Name {
			t.Errorf("%+v", g)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Traces(ctx, nil); err != nil || !r.Partial {
		t.Errorf("interrupted: %v, %+v", err, r)
	}
}

// TestReport: the worst verdict counts, and what there is none of is null.
func TestReport(t *testing.T) {
	var r Report
	for _, v := range []Verdict{NotAsked, Agrees, CantTell, Agrees} {
		r.Add(Rung{Groups: []Group{{Lines: []Line{{Verdict: v, Got: none, Want: 1}}}}})
	}
	if r.Verdict != CantTell {
		t.Errorf("verdict %v", r.Verdict)
	}
	r.Add(Rung{Groups: []Group{{Lines: []Line{{Verdict: Differs}, {Verdict: Agrees}}}}, Partial: true})
	if r.Verdict != Differs || !r.Partial || r.Rungs[4].Tally() != [...]int64{0, 1, 0, 1} {
		t.Errorf("%+v", r)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"simulated":null,"reference":1`) || !strings.Contains(string(text), `"verdict":"can't tell"`) {
		t.Errorf("%s, %v", text, err)
	}
}
