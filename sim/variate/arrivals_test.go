package variate

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"brokersim/sim"
)

func parseArrivals(t testing.TB, text string) Arrivals {
	t.Helper()
	a, err := ParseArrivals(text)
	if err != nil {
		t.Fatalf("ParseArrivals(%q): %v", text, err)
	}
	return a
}

// until returns the arrivals before an instant, which must not descend.
func until(t testing.TB, a Arrivals, stream string, end sim.Time) []sim.Time {
	t.Helper()
	var all []sim.Time
	p := a.Start(testStream(stream))
	last := sim.Time(0)
	for {
		at, ok := p.Next()
		if !ok || at >= end {
			return all
		}
		if at < last {
			t.Fatalf("arrival at %v after one at %v", at, last)
		}
		last = at
		all = append(all, at)
	}
}

func TestDeterministicDoesNotDrift(t *testing.T) {
	for _, rate := range []float64{43, 3, 0.1, 7e8, 1e9, 1. / 3, 1e-9} {
		a := Must(NewDeterministicRate(rate, 5))
		p := a.Start(nil)
		interval := new(big.Rat).Quo(big.NewRat(1e9, 1), new(big.Rat).SetFloat64(rate))
		for k := range int64(100_000) {
			at, ok := p.Next()
			if !ok {
				if float64(k)/rate*1e9 < DrawMax {
					t.Errorf("rate %v: ends after %d arrivals", rate, k)
				}
				break
			}
			if k%997 != 0 {
				continue
			}
			off := new(big.Rat).Mul(interval, big.NewRat(k, 1))
			off.Sub(off, big.NewRat(int64(at)-5, 1))
			if d, _ := off.Float64(); math.Abs(d) > 0.5 {
				t.Errorf("rate %v: arrival %d is at %d, off by %v ns", rate, k, int64(at), d)
			}
		}
	}
}

func TestDeterministicInstants(t *testing.T) {
	tests := []struct {
		text string
		want []sim.Time
	}{
		{"deterministic(every=23ms, phase=5ms)", []sim.Time{5e6, 28e6, 51e6}},
		{"deterministic(rate=3/s)", []sim.Time{0, 333333333, 666666667, 1e9}},
		{"trace(1ms, 5ms, 5ms)", []sim.Time{1e6, 5e6, 5e6}},
	}
	for _, tt := range tests {
		got := until(t, parseArrivals(t, tt.text), "", tt.want[len(tt.want)-1]+1)
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// Late instants are as exact as early ones: the fraction of a ns is kept.
func TestPoissonIntervalsAreExponential(t *testing.T) {
	for _, start := range []sim.Time{0, 100 * 365 * 24 * sim.Hour} {
		p := parseArrivals(t, "poisson(rate=1e7/s)").Start(testStream("poisson")).(*poissonProcess)
		p.clock.ns = start
		xs := make([]float64, 100_000)
		before := p.clock
		for i := range xs {
			p.Next()
			xs[i] = float64(p.clock.ns-before.ns) + (p.clock.fraction - before.fraction)
			before = p.clock
		}
		if ks := ksStatistic(xs, func(x float64) float64 { return exponentialCDF(x / 100) }); ks > ksBound {
			t.Errorf("from %v: KS statistic %.2f, want below %v", start, ks, ksBound)
		}
	}
}

// Rounding to whole ns must not add up over short intervals.
func TestPoissonKeepsFractions(t *testing.T) {
	const n, mean = 100_000, 10
	p := parseArrivals(t, "poisson(rate=1e8/s)").Start(testStream("fractions"))
	var last sim.Time
	for range n {
		last, _ = p.Next()
	}
	if z := (float64(last) - n*mean) / (mean * math.Sqrt(n)); math.Abs(z) > 4 {
		t.Errorf("arrival %d: got %v, want about %v (%.1f standard errors)", n, last, sim.Time(n*mean), z)
	}
}

// countsPerSecond returns how many arrivals fall in each second.
func countsPerSecond(at []sim.Time, seconds int) []float64 {
	counts := make([]float64, seconds)
	for _, t := range at {
		counts[t/sim.Second]++
	}
	return counts
}

func moments(xs []float64) (mean, variance float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		variance += (x - mean) * (x - mean) / float64(len(xs)-1)
	}
	return mean, variance
}

func TestPoissonCounts(t *testing.T) {
	const seconds = 5_000
	mean, variance := moments(countsPerSecond(until(t, parseArrivals(t, "poisson(rate=43/s)"), "poisson", seconds*sim.Second), seconds))
	if z := (mean - 43) / math.Sqrt(43./seconds); math.Abs(z) > 4 {
		t.Errorf("mean count: got %v, want 43 (%.1f standard errors)", mean, z)
	}
	if index := variance / mean; math.Abs(index-1) > 4*math.Sqrt(2./seconds) {
		t.Errorf("index of dispersion: got %v, want 1", index)
	}
}

// The rate of a two-state MMPP and the index of dispersion of its counts
// against Heffes and Lucantoni (1986).
func TestMMPPIndexOfDispersion(t *testing.T) {
	const seconds = 40_000
	a := parseArrivals(t, "mmpp(low=5/s for 2s, high=60/s for 500ms)")
	mean, variance := moments(countsPerSecond(until(t, a, "mmpp", seconds*sim.Second), seconds))
	if want := (5*2 + 60*0.5) / 2.5; a.Rate() != want {
		t.Errorf("Rate: got %v, want %v", a.Rate(), want)
	}
	const l1, l2, r1, r2, window = 5., 60., 1 / 2., 1 / 0.5, 1.
	r := r1 + r2
	want := 1 + 2*(l1-l2)*(l1-l2)*r1*r2/(r*r*(l1*r2+l2*r1))*(1-(1-math.Exp(-r*window))/(r*window))
	if got := variance / mean; math.Abs(got/want-1) > 0.04 {
		t.Errorf("index of dispersion: got %v, want %v", got, want)
	}
	if z := (mean - a.Rate()) / math.Sqrt(4*want*mean/seconds); math.Abs(z) > 4 {
		t.Errorf("mean count: got %v, want %v (%.1f standard errors)", mean, a.Rate(), z)
	}
}

// An MMPP begins in its stationary state: the first ms is as any other.
func TestMMPPStartsStationary(t *testing.T) {
	a := parseArrivals(t, "mmpp(off=0/s for 3s, on=1000/s for 1s)")
	streams := sim.Streams{Seed: 208}
	const n = 10_000
	var arrivals float64
	for i := range uint64(n) {
		streams.Replication = i
		p := a.Start(streams.Stream("mmpp"))
		for at, ok := p.Next(); ok && at < sim.Millisecond; at, ok = p.Next() {
			arrivals++
		}
	}
	// About 0.25 a ms, of variance 0.25 + 0.1875.
	if z := (arrivals/n - 0.25) / math.Sqrt(0.4375/n); math.Abs(z) > 4 {
		t.Errorf("arrivals in the first ms: got %v, want 0.25 (%.1f standard errors)", arrivals/n, z)
	}
}

// Time changed by the expected number of arrivals makes any such process a
// Poisson process of rate 1.
func TestPiecewiseIsPoissonInOperationalTime(t *testing.T) {
	t.Run("few long segments", func(t *testing.T) {
		checkOperationalTime(t, parseArrivals(t, "piecewise(0s=20000/s, 1s=0/s, 2s=400000/s, 2.1s=1/s, 3s=50000/s)").(Piecewise))
	})
	t.Run("many short segments", func(t *testing.T) {
		var segments []Segment
		for i := range sim.Time(4000) {
			segments = append(segments, Segment{i * sim.Millisecond, []float64{500, 3000, 0, 1500}[i%4]})
		}
		checkOperationalTime(t, Must(NewPiecewise(segments)))
	})
}

// checkOperationalTime looks at the first 4 s.
func checkOperationalTime(t *testing.T, a Piecewise) {
	t.Helper()
	segments := a.segments
	expected := func(at sim.Time) float64 {
		var sum float64
		for i, g := range segments {
			to := at
			if i+1 < len(segments) {
				to = min(at, segments[i+1].From)
			}
			if to > g.From {
				sum += (to - g.From).Seconds() * g.PerSecond
			}
		}
		return sum
	}
	at := until(t, a, "piecewise", 4*sim.Second)
	want := expected(4 * sim.Second)
	if z := (float64(len(at)) - want) / math.Sqrt(want); math.Abs(z) > 4 {
		t.Errorf("arrivals: got %d, want %v (%.1f standard errors)", len(at), want, z)
	}
	intervals := make([]float64, len(at))
	last := 0.0
	for i, x := range at {
		j, found := slices.BinarySearchFunc(segments, x, func(g Segment, x sim.Time) int { return cmp.Compare(g.From, x) })
		if !found {
			j--
		}
		if segments[j].PerSecond == 0 {
			t.Fatalf("arrival at %v, where the rate is 0", x)
		}
		e := expected(x)
		intervals[i], last = e-last, e
	}
	if ks := ksStatistic(intervals, exponentialCDF); ks > ksBound {
		t.Errorf("KS statistic %.2f of intervals, want below %v", ks, ksBound)
	}
}

func TestPiecewiseEnds(t *testing.T) {
	at := until(t, parseArrivals(t, "piecewise(0s=1000/s, 1s=0/s)"), "ends", sim.Never)
	if n := len(at); n < 800 || n > 1200 || at[n-1] >= sim.Second {
		t.Errorf("got %d arrivals, the last at %v", n, at[n-1])
	}
}

// The latest instants are refused by ok, not by overflow.
func TestArrivalsEndBeforeOverflow(t *testing.T) {
	for _, text := range []string{
		"deterministic(every=1000000h)", "poisson(rate=1e-9/s)", "piecewise(0s=1e-9/s)",
		"mmpp(a=1e-9/s for 1000000h, b=2e-9/s for 1000000h)",
	} {
		at := until(t, parseArrivals(t, text), "overflow", sim.Never)
		if len(at) == 0 || len(at) > 100 || at[len(at)-1] > DrawMax {
			t.Errorf("%s: %d arrivals", text, len(at))
		}
		p := parseArrivals(t, text).Start(testStream("overflow"))
		for range 200 {
			p.Next()
		}
		if _, ok := p.Next(); ok {
			t.Errorf("%s: begins again after its end", text)
		}
	}
}

func TestStartsAreIndependent(t *testing.T) {
	for _, text := range arrivalsCases {
		a := parseArrivals(t, text)
		first := until(t, a, "same", sim.Second/10)
		if !slices.Equal(first, until(t, a, "same", sim.Second/10)) {
			t.Errorf("%s: the second Start differs", text)
		}
	}
}

func TestTraceFile(t *testing.T) {
	a := parseArrivals(t, `trace("requests.csv")`)
	f, ok := a.(TraceFile)
	if !ok || f.Path != "requests.csv" {
		t.Fatalf("got %#v", a)
	}
	at := []sim.Time{0, 1e9, 1e9, 4e9}
	tr, err := f.Resolve(at)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tr.Rate(), 0.75; got != want {
		t.Errorf("Rate: got %v, want %v", got, want)
	}
	if got := tr.String(); got != a.String() {
		t.Errorf("String: got %s, want %s", got, a.String())
	}
	if diff := gocmp.Diff(at, until(t, tr, "", sim.Never)); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
	for _, bad := range [][]sim.Time{nil, {-1}, {2, 1}, {sim.Never}} {
		if _, err := f.Resolve(bad); err == nil {
			t.Errorf("Resolve(%v): no error", bad)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Start of a file that is not resolved: no panic")
		}
	}()
	f.Start(nil)
}

// What a caller that sizes a run needs to know of a process is what was given.
func TestAccessors(t *testing.T) {
	segments := []Segment{{0, 43}, {4 * sim.Second, 3000}, {5 * sim.Second, 0}}
	if diff := gocmp.Diff(segments, Must(NewPiecewise(segments)).Segments()); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	states := []MMPPState{{"low", 20, sim.Second}, {"high", 400, sim.Millisecond}}
	if diff := gocmp.Diff(states, Must(NewMMPP(states)).States()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]sim.Time{1, 5}, Must(NewTrace([]sim.Time{1, 5})).Instants()); diff != "" {
		t.Errorf("instants (-want +got):\n%s", diff)
	}
	if got := Must(NewDeterministicRate(43, 7)).Phase(); got != 7 {
		t.Errorf("phase: got %d, want 7", got)
	}
}

// TestClosed: what is read is what is spelt, whatever the callers think.
func TestClosed(t *testing.T) {
	for _, tt := range []struct {
		text    string
		callers int
		think   string
		rate    float64
	}{
		{"closed(n=10, think=1s)", 10, "constant(1s)", 10},
		{"closed(n=1, think=exponential(mean=20ms))", 1, "exponential(mean=20ms)", 50},
		{"closed(n=100000, think=0s)", 100000, "constant(0s)", math.Inf(1)},
	} {
		a, err := ParseArrivals(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		c := a.(Closed)
		if c.Callers() != tt.callers || c.Think().String() != tt.think || c.Rate() != tt.rate {
			t.Errorf("%s: got %d callers who think %s, rate %v", tt.text, c.Callers(), c.Think(), c.Rate())
		}
		checkArrivalsRoundTrip(t, a)
	}
}
