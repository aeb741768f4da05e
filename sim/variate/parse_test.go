package variate

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokersim/sim"
)

func TestSpelling(t *testing.T) {
	tests := []struct {
		unit       Unit
		text, want string // want: canonical
	}{
		{Duration, "12us", "constant(12us)"},
		{Duration, "0s", "constant(0s)"},
		{Duration, " constant ( 1500us ) ", "constant(1.5ms)"},
		{Duration, "2h", "constant(7200s)"},
		{Duration, "12.5ns", "constant(12.5ns)"},
		{Bytes, "constant(1KiB)", "constant(1KiB)"},
		{Bytes, "1GiB", "constant(1GiB)"},
		{Bytes, "4MB", "constant(4MB)"},
		{Bytes, "100B", "constant(100B)"},
		{Count, "12", "constant(12)"},
		{Count, "1e6", "constant(1000000)"},
		{Bytes, "lognormal(median=1KiB, p99=64KiB, max=4MiB)", "lognormal(median=1KiB, p99=64KiB, max=4MiB)"},
		{Count, "uniform(min=1,max=3)", "uniform(min=1, max=3)"},
		{Duration, "exponential(max=1s,mean=12us,shift=0.5us)", "exponential(mean=12us, shift=500ns, max=1s)"},
		{Duration, "exponential(mean=12us, shift=0s)", "exponential(mean=12us)"},
		{Duration, "lognormal(p99=90us, p50=12us)", "lognormal(median=12us, p99=90us)"},
		{Duration, "lognormal(p99.9=90us, p1e1=12us)", "lognormal(p10=12us, p99.9=90us)"},
		{Duration, "lognormal(sigma=8e-1, mean=0.012ms)", "lognormal(mean=12us, sigma=0.8)"},
		{Duration, "gpd(scale=1ms, shape=-0.25)", "gpd(location=0s, scale=1ms, shape=-0.25)"},
		{Duration, "hyperexponential(0.9*5us, 0.1*1ms)", "hyperexponential(p=0.9, mean1=5us, mean2=1ms)"},
		{Duration, "hyperexponential(1*5us)", "hyperexponential(1*5us)"},
		{Duration, "empirical(3us, 1us, 2us)", "empirical(1us, 2us, 3us)"},
		{Duration, "quantiles(0=1us,0.50=2us,1.0=3us)", "quantiles(0=1us, 0.5=2us, 1=3us)"},
		{Duration, "mixture(0.5*12us, 0.5*mixture(1*exponential(mean=1ms), max=2ms))", "mixture(0.5*constant(12us), 0.5*mixture(1*exponential(mean=1ms), max=2ms))"},
		{Duration, "mixture(0.3*1us,0.3*2us,0.3*3us,0.1*4us)", "mixture(0.3*constant(1us), 0.3*constant(2us), 0.3*constant(3us), 0.1*constant(4us))"},
	}
	for _, tt := range tests {
		d, err := ParseDist(tt.text, tt.unit)
		if err != nil {
			t.Errorf("ParseDist(%q, %v): %v", tt.text, tt.unit, err)
			continue
		}
		if got := d.String(); got != tt.want {
			t.Errorf("ParseDist(%q, %v): got %s, want %s", tt.text, tt.unit, got, tt.want)
		}
		checkDistRoundTrip(t, d, tt.unit)
	}
}

func TestArrivalsSpelling(t *testing.T) {
	tests := []struct{ text, want string }{
		{"deterministic(rate=6/min)", "deterministic(rate=0.1/s)"},
		{"deterministic(phase=1ms, every=0.023s)", "deterministic(every=23ms, phase=1ms)"},
		{"poisson(rate=1e3/s)", "poisson(rate=1000/s)"},
		{"poisson(rate=0.5/ms)", "poisson(rate=500/s)"},
		{"mmpp(low=20/s for 10s,high=400/s for 0.5s)", "mmpp(low=20/s for 10s, high=400/s for 500ms)"},
		{"piecewise(0ms=43/s, 5000ms=0/s)", "piecewise(0s=43/s, 5s=0/s)"},
		{`trace( "dir/requests 1.csv" )`, `trace("dir/requests 1.csv")`},
		{"trace(0.001s)", "trace(1ms)"},
	}
	for _, tt := range tests {
		a, err := ParseArrivals(tt.text)
		if err != nil {
			t.Errorf("ParseArrivals(%q): %v", tt.text, err)
			continue
		}
		if got := a.String(); got != tt.want {
			t.Errorf("ParseArrivals(%q): got %s, want %s", tt.text, got, tt.want)
		}
		checkArrivalsRoundTrip(t, a)
	}
}

// failer is what *testing.T, *rapid.T and testing.TB have in common here.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

func checkDistRoundTrip(t failer, d Dist, unit Unit) {
	t.Helper()
	again, err := ParseDist(d.String(), unit)
	if err != nil {
		if len(d.String()) <= textBytesMax {
			t.Errorf("%s does not read back: %v", d, err)
		}
		return
	}
	if !reflect.DeepEqual(d, again) {
		t.Errorf("%s reads back as another distribution:\n got %#v\nwant %#v", d, again, d)
	}
}

func checkArrivalsRoundTrip(t failer, a Arrivals) {
	t.Helper()
	again, err := ParseArrivals(a.String())
	if err != nil {
		if len(a.String()) <= textBytesMax {
			t.Errorf("%s does not read back: %v", a, err)
		}
		return
	}
	if !reflect.DeepEqual(a, again) {
		t.Errorf("%s reads back as other arrivals:\n got %#v\nwant %#v", a, again, a)
	}
}

// The faults of many texts, each with what it is about marked below it. A
// reviewer reads the file.
func TestFaults(t *testing.T) {
	var got strings.Builder
	for _, line := range readLines(t, "testdata/nasty.txt") {
		kind, text, _ := strings.Cut(line, " ")
		var err error
		switch kind {
		case "arrivals":
			_, err = ParseArrivals(text)
		case "size":
			_, err = ParseDist(text, Bytes)
		case "count":
			_, err = ParseDist(text, Count)
		case "duration":
			_, err = ParseDist(text, Duration)
		default:
			t.Fatalf("unknown kind %q", kind)
		}
		fmt.Fprintf(&got, "%s\n", line)
		var all ParseErrors
		if !errors.As(err, &all) {
			t.Errorf("%s: no faults", line)
		}
		for _, e := range all {
			if e.Offset < 0 || e.End < e.Offset || e.End > len(text) {
				t.Errorf("%s: bytes %d to %d of %d: %s", line, e.Offset, e.End, len(text), e.Msg)
			}
			near := ""
			if e.Near != "" {
				near = " [" + e.Near + "]"
			}
			fmt.Fprintf(&got, "    %d-%d %s%s\n", e.Offset, e.End, e.Msg, near)
		}
	}
	checkGolden(t, "testdata/faults.txt", got.String())
}

func TestFaultsAreCounted(t *testing.T) {
	_, err := ParseDist("empirical("+strings.Repeat("x,", 1000)+"1s)", Duration)
	var all ParseErrors
	if !errors.As(err, &all) || len(all) != faultsMax+1 {
		t.Fatalf("got %d faults, want %d", len(all), faultsMax+1)
	}
	if last := all[faultsMax].Msg; !strings.HasPrefix(last, "950 more faults") {
		t.Errorf("last fault: %s", last)
	}
	var one *ParseError
	if !errors.As(err, &one) || one.Offset != 10 {
		t.Errorf("errors.As gives %+v", one)
	}
}

func TestTextLimits(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat("mixture(1*", depth-1) + "constant(1us)" + strings.Repeat(")", depth-1)
	}
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"nested 8 deep", nested(8), true},
		{"nested 9 deep", nested(9), false},
		{"nested 10,000 deep", nested(6000), false},
		{"64 KiB", "1us" + strings.Repeat(" ", 64<<10-3), true},
		{"64 KiB and 1", "1us" + strings.Repeat(" ", 64<<10-2), false},
		{"only parentheses", strings.Repeat("(", 60000), false},
		{"only calls", strings.Repeat("a(", 30000), false},
		{"only commas", "empirical(" + strings.Repeat(",", 60000), false},
		{"only quotes", strings.Repeat(`"`, 60000), false},
		{"large exponents", "empirical(" + strings.Repeat("1e400s,", 9000) + "1s)", false},
		{"small exponents", "empirical(" + strings.Repeat("1e-399s,", 8000) + "1s)", false},
		{"digits", strings.Repeat("9", 60000) + "s", false},
		{"many samples", "empirical(1s" + strings.Repeat(",1s", 20000) + ")", true},
		{"invalid UTF-8", "1\xffs", false},
	} {
		start := time.Now()
		_, err := ParseDist(tt.text, Duration)
		if (err == nil) != tt.ok {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if err != nil && len(err.Error()) > 20_000 {
			t.Errorf("%s: an error of %d bytes", tt.name, len(err.Error()))
		}
		t.Logf("%s: %v", tt.name, time.Since(start))
	}
}

func TestParseQuantities(t *testing.T) {
	duration := func(s string) (any, error) { return ParseDuration(s) }
	bytes := func(s string) (any, error) { return ParseBytes(s) }
	rate := func(s string) (any, error) { return ParseRate(s) }
	tests := []struct {
		parse func(string) (any, error)
		text  string
		want  any // nil: refused
	}{
		{duration, "208ms", 208 * sim.Millisecond},
		{duration, "1.5s", 1500 * sim.Millisecond},
		{duration, "10us", 10 * sim.Microsecond},
		{duration, "10µs", 10 * sim.Microsecond},
		{duration, "10μs", 10 * sim.Microsecond},
		{duration, "2h", 2 * sim.Hour},
		{duration, "5m", 5 * sim.Minute},
		{duration, "5min", 5 * sim.Minute},
		{duration, "0.1s", 100 * sim.Millisecond},
		{duration, "0.000000001s", sim.Time(1)},
		{duration, "0s", sim.Time(0)},
		{duration, "1e3ns", sim.Microsecond},
		{duration, "1E-9s", sim.Time(1)},
		{duration, "9223372036854775807ns", sim.Time(math.MaxInt64)},
		{duration, "9223372036.854775807s", sim.Time(math.MaxInt64)},
		{duration, "9007199254740993ns", sim.Time(9007199254740993)},
		{duration, "9223372036854775808ns", nil},
		{duration, "1e400h", nil},
		{duration, "0.5ns", nil},
		{duration, "0.0000000001s", nil},
		{duration, "1e-400s", nil},
		{duration, "208", nil},
		{duration, "0", nil},
		{duration, "", nil},
		{duration, "ms", nil},
		{duration, ".5s", nil},
		{duration, "5.s", nil},
		{duration, "1e5", nil},
		{duration, "1es", nil},
		{duration, "-1s", nil},
		{duration, "+1s", nil},
		{duration, "NaN", nil},
		{duration, "Infs", nil},
		{duration, "0x10s", nil},
		{duration, "1_000s", nil},
		{duration, "1/2s", nil},
		{duration, "1h30m", nil},
		{duration, "1 s", nil},
		{duration, " 1s", nil},
		{duration, "1S", nil},
		{duration, "1KiB", nil},
		{duration, "٣s", nil},
		{bytes, "16KiB", int64(16384)},
		{bytes, "1.5KiB", int64(1536)},
		{bytes, "1GiB", int64(1 << 30)},
		{bytes, "2TiB", int64(2 << 40)},
		{bytes, "100B", int64(100)},
		{bytes, "4MB", int64(4_000_000)},
		{bytes, "4kB", int64(4000)},
		{bytes, "0.3B", nil},
		{bytes, "16", nil},
		{bytes, "16K", nil},
		{bytes, "1e7TiB", nil},
		{rate, "43/s", 43.},
		{rate, "2000/s", 2000.},
		{rate, "1e3/s", 1000.},
		{rate, "6/min", 0.1},
		{rate, "6/m", 0.1},
		{rate, "36/h", 0.01},
		{rate, "2/ms", 2000.},
		{rate, "0.1/s", 0.1},
		{rate, "0/s", 0.},
		{rate, "2e9/s", nil},
		{rate, "1e-10/s", nil},
		{rate, "43", nil},
		{rate, "43/sec", nil},
		{rate, "/s", nil},
		{rate, "-1/s", nil},
	}
	for _, tt := range tests {
		got, err := tt.parse(tt.text)
		switch {
		case tt.want == nil && err == nil:
			t.Errorf("%q: got %v, want an error", tt.text, got)
		case tt.want != nil && (err != nil || got != tt.want):
			t.Errorf("%q: got %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}

// quantities draws positive quantities of all sizes, round ones among them.
var quantities = rapid.OneOf(
	rapid.Map(rapid.Int64Range(1, 1<<62), func(i int64) float64 { return float64(i) }),
	rapid.Map(rapid.Int64Range(1, 5000), func(i int64) float64 { return float64(i) * 1000 }),
	rapid.Map(rapid.Int64Range(1, 5000), func(i int64) float64 { return float64(i) * 1024 }),
	rapid.Float64Range(quantityMin, 1e18),
	rapid.Float64Range(quantityMin, 10),
)

func TestFormatReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]Unit{Duration, Bytes, Count}).Draw(t, "unit")
		x := rapid.OneOf(quantities, rapid.Just(0.), rapid.Just(float64(quantityMax)), rapid.Just(math.Nextafter(quantityMax, 0))).Draw(t, "x")
		text := unit.format(x)
		var f faults
		got := f.quantity(token{0, len(text), text}, unit)
		if err := f.err(); err != nil || got != x {
			t.Errorf("%v is spelt %s, which reads as %v, %v", x, text, got, err)
		}
	})
}

// anyDist draws a distribution of every form.
func anyDist(t *rapid.T, unit Unit, depth int) Dist {
	q := func(name string) float64 { return quantities.Draw(t, name) }
	number := func(name string, lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
	shares := func(n int) []float64 {
		ws, left := make([]float64, n), 1.0
		for i := range ws {
			ws[i] = left
			if i < n-1 {
				ws[i] = left * number("share", 0.01, 0.9)
			}
			left -= ws[i]
		}
		return ws
	}
	var d Dist
	var err error
	bounds := true
	form := rapid.IntRange(0, 14).Draw(t, "form")
	switch form {
	case 0:
		d, err, bounds = pass(NewConstant(unit, q("value"))), nil, false
	case 1:
		d, err = NewExponential(unit, q("mean"))
	case 2:
		lo := q("min")
		d, err = NewUniform(unit, lo, min(lo*1.5+1, 1<<62))
		bounds = false
		if lo > 1e18 {
			d, err = NewUniform(unit, 0, lo)
		}
	case 3:
		d, err = NewLogNormal(unit, q("median"), number("sigma", 0, 20))
	case 4:
		d, err = NewLogNormalMean(unit, q("mean"), number("sigma", 0, 3))
	case 5:
		v := rapid.Float64Range(1, 1e9).Draw(t, "low")
		qa := rapid.SampledFrom([]float64{1, 10, 50, 90}).Draw(t, "qa")
		qb := rapid.SampledFrom([]float64{91, 95, 99, 99.9, 99.999}).Draw(t, "qb")
		d, err = NewLogNormalQuantiles(unit, qa, v, qb, v*number("ratio", 1, 1.2))
	case 6:
		d, err = NewWeibull(unit, q("scale"), number("shape", 0.05, 1000))
	case 7:
		d, err = NewGamma(unit, q("mean"), number("shape", 0.01, 1e6))
	case 8:
		d, err = NewErlang(unit, rapid.IntRange(1, 1e6).Draw(t, "k"), q("mean"))
	case 9:
		d, err = NewPareto(unit, q("min"), number("alpha", 0.1, 1e6))
	case 10:
		d, err = NewGPD(unit, q("location"), q("scale"), number("shape", -10, 10))
	case 11:
		ws := shares(rapid.IntRange(1, 5).Draw(t, "n"))
		means := make([]float64, len(ws))
		for i := range means {
			means[i] = q("mean")
		}
		d, err = NewHyperexponential(unit, ws, means)
	case 12:
		d, err = NewEmpirical(unit, rapid.SliceOfN(quantities, 1, 20).Draw(t, "samples"))
		bounds = false
	case 13:
		x := q("least") / 4
		ps, xs := []float64{0}, []float64{x}
		for range rapid.IntRange(1, 10).Draw(t, "n") {
			ps = append(ps, ps[len(ps)-1]+(1-ps[len(ps)-1])*number("step", 0.1, 0.9))
			xs = append(xs, xs[len(xs)-1]*number("growth", 1, 1.1))
		}
		ps[len(ps)-1] = 1
		d, err = NewQuantiles(unit, ps, xs)
		bounds = false
	case 14:
		if depth >= nestingMax-1 {
			return pass(NewConstant(unit, q("value")))
		}
		ws := shares(rapid.IntRange(1, 3).Draw(t, "n"))
		parts := make([]Dist, len(ws))
		for i := range parts {
			parts[i] = anyDist(t, unit, depth+1)
		}
		d, err = NewMixture(ws, parts)
	}
	if err != nil {
		t.Fatalf("form %d: %v", form, err)
	}
	if bounds && rapid.Bool().Draw(t, "bounded") {
		limit := math.Inf(1)
		if rapid.Bool().Draw(t, "capped") {
			limit = q("max")
		}
		if b, err := NewBounded(unit, d, q("shift"), limit); err == nil {
			return b
		}
	}
	return d
}

func pass(d Constant, err error) Dist { return Must(d, err) }

// Any distribution reads back from its spelling, and draws what it should.
func TestDistProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]Unit{Duration, Bytes, Count}).Draw(t, "unit")
		d := anyDist(t, unit, 1)
		checkDistRoundTrip(t, d, unit)
		checkDraws(t, d)
	})
}

func checkDraws(t failer, d Dist) {
	t.Helper()
	s := testStream("any")
	least, most := d.Quantile(0), d.Quantile(1)
	for range 20 {
		x := d.Draw(s)
		if !(x >= 0 && x <= math.MaxFloat64 && x >= least*(1-1e-12) && x <= most*(1+1e-12)) {
			t.Errorf("%s: draws %v, not in [%v, %v]", d, x, least, most)
		}
	}
	if m := d.Mean(); !(m >= least*(1-1e-9) && m <= most*(1+1e-9)) {
		t.Errorf("%s: mean %v is not in [%v, %v]", d, m, least, most)
	}
}

func anyArrivals(t *rapid.T) Arrivals {
	rates := rapid.OneOf(rapid.Float64Range(1e-3, rateMax), rapid.Map(rapid.IntRange(1, 5000), func(i int) float64 { return float64(i) }))
	times := rapid.Map(rapid.Int64Range(1, int64(sim.Hour)), func(i int64) sim.Time { return sim.Time(i) })
	var a Arrivals
	var err error
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		a, err = NewDeterministicRate(rates.Draw(t, "rate"), times.Draw(t, "phase"))
	case 1:
		a, err = NewDeterministicEvery(times.Draw(t, "every"), times.Draw(t, "phase"))
	case 2:
		a, err = NewPoisson(rates.Draw(t, "rate"))
	case 3:
		states := make([]MMPPState, rapid.IntRange(2, 8).Draw(t, "states"))
		for i := range states {
			states[i] = MMPPState{fmt.Sprintf("s%d", i), rates.Draw(t, "rate"), times.Draw(t, "mean") + sim.Second}
		}
		a, err = NewMMPP(states)
	case 4:
		segments := []Segment{{0, rates.Draw(t, "rate")}}
		for range rapid.IntRange(0, 8).Draw(t, "segments") {
			segments = append(segments, Segment{segments[len(segments)-1].From + times.Draw(t, "from"), rates.Draw(t, "rate")})
		}
		a, err = NewPiecewise(segments)
	case 5:
		at := []sim.Time{0}
		for range rapid.IntRange(0, 8).Draw(t, "arrivals") {
			at = append(at, at[len(at)-1]+times.Draw(t, "interval")-1)
		}
		a, err = NewTrace(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestArrivalsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyArrivals(t)
		checkArrivalsRoundTrip(t, a)
		checkProcess(t, a)
	})
}

func checkProcess(t failer, a Arrivals) {
	t.Helper()
	p := a.Start(testStream("any"))
	last := sim.Time(0)
	for range 20 {
		at, ok := p.Next()
		if !ok {
			return
		}
		if at < last || at > DrawMax {
			t.Errorf("%s: an arrival at %d after one at %d", a, int64(at), int64(last))
		}
		last = at
	}
}

func FuzzParseDist(f *testing.F) {
	for _, tt := range distCases {
		f.Add(tt.text, uint8(Duration))
	}
	for _, line := range readLines(f, "testdata/nasty.txt") {
		_, text, _ := strings.Cut(line, " ")
		f.Add(text, uint8(len(text)%3))
	}
	f.Fuzz(func(t *testing.T, text string, unit uint8) {
		u := Unit(unit % 3)
		d, err := ParseDist(text, u)
		if err != nil {
			checkParseErrors(t, text, err)
			return
		}
		checkDistRoundTrip(t, d, u)
		checkDraws(t, d)
	})
}

func FuzzParseArrivals(f *testing.F) {
	for _, text := range arrivalsCases {
		f.Add(text)
	}
	for _, line := range readLines(f, "testdata/nasty.txt") {
		_, text, _ := strings.Cut(line, " ")
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseArrivals(text)
		if err != nil {
			checkParseErrors(t, text, err)
			return
		}
		checkArrivalsRoundTrip(t, a)
		switch a.(type) {
		case TraceFile, Closed: // for the caller to start
		default:
			checkProcess(t, a)
		}
	})
}

func checkParseErrors(t *testing.T, text string, err error) {
	t.Helper()
	var all ParseErrors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("not ParseErrors but %#v", err)
	}
	for _, e := range all {
		if e.Offset < 0 || e.End < e.Offset || e.End > len(text) || e.Msg == "" {
			t.Errorf("bytes %d to %d of %d: %q", e.Offset, e.End, len(text), e.Msg)
		}
	}
}
