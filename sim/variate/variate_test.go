package variate

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"brokersim/sim"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

func init() { flag.Set("rapid.seed", "208") } // unless the command line says otherwise

// theory is a gonum distribution.
type theory interface {
	CDF(x float64) float64
	Mean() float64
	Quantile(p float64) float64
	Variance() float64
}

// The cases of all tests of distributions: every form, with parameters in the
// middle and at the edges. Durations in ns.
var distCases = []struct {
	text   string
	theory theory // nil where gonum has none
}{
	{"12us", nil},
	{"exponential(mean=12us)", distuv.Exponential{Rate: 1. / 12000}},
	{"exponential(mean=60s)", distuv.Exponential{Rate: 1. / 60e9}},
	{"exponential(mean=12us, shift=3us, max=40us)", nil},
	{"exponential(mean=12us, shift=3us)", nil},
	{"uniform(min=10us, max=20us)", distuv.Uniform{Min: 10000, Max: 20000}},
	{"uniform(min=0s, max=1ns)", distuv.Uniform{Min: 0, Max: 1}},
	{"lognormal(median=12us, sigma=0.8)", distuv.LogNormal{Mu: math.Log(12000), Sigma: 0.8}},
	{"lognormal(mean=12us, sigma=0.8)", distuv.LogNormal{Mu: math.Log(12000) - 0.32, Sigma: 0.8}},
	{"lognormal(median=12us, p99=90us)", distuv.LogNormal{Mu: math.Log(12000), Sigma: math.Log(90./12) / 2.3263478740408408}},
	{"lognormal(p10=1us, p99.9=2ms)", distuv.LogNormal{
		Mu:    math.Log(1000) + 1.2815515655446004*math.Log(2000)/(1.2815515655446004+3.0902323061678132),
		Sigma: math.Log(2000) / (1.2815515655446004 + 3.0902323061678132),
	}},
	{"lognormal(median=90ms, sigma=0)", nil},
	{"lognormal(median=90ms, sigma=0.8, max=400ms)", nil},
	{"weibull(scale=12us, shape=0.7)", distuv.Weibull{K: 0.7, Lambda: 12000}},
	{"weibull(scale=12us, shape=1)", distuv.Weibull{K: 1, Lambda: 12000}},
	{"weibull(scale=12us, shape=5)", distuv.Weibull{K: 5, Lambda: 12000}},
	{"weibull(scale=12us, shape=0.7, max=30us)", nil},
	{"gamma(mean=12us, shape=0.1)", distuv.Gamma{Alpha: 0.1, Beta: 0.1 / 12000}},
	{"gamma(mean=12us, shape=0.5)", distuv.Gamma{Alpha: 0.5, Beta: 0.5 / 12000}},
	{"gamma(mean=12us, shape=1)", distuv.Gamma{Alpha: 1, Beta: 1. / 12000}},
	{"gamma(mean=12us, shape=2.5)", distuv.Gamma{Alpha: 2.5, Beta: 2.5 / 12000}},
	{"gamma(mean=12us, shape=400)", distuv.Gamma{Alpha: 400, Beta: 400. / 12000}},
	{"gamma(mean=12us, shape=2.5, max=20us)", nil},
	{"erlang(k=3, mean=12us)", distuv.Gamma{Alpha: 3, Beta: 3. / 12000}},
	{"pareto(min=10us, alpha=3.5)", distuv.Pareto{Xm: 10000, Alpha: 3.5}},
	{"pareto(min=10us, alpha=0.9)", distuv.Pareto{Xm: 10000, Alpha: 0.9}},
	{"pareto(min=10us, alpha=1, max=5ms)", nil},
	{"gpd(location=10us, scale=4us, shape=0.4)", distuv.Pareto{Xm: 10000, Alpha: 2.5}},
	{"gpd(location=0s, scale=12us, shape=0)", distuv.Exponential{Rate: 1. / 12000}},
	{"gpd(location=10us, scale=10us, shape=-1)", distuv.Uniform{Min: 10000, Max: 20000}},
	{"gpd(location=90us, scale=1ms, shape=0.3, max=10ms)", nil},
	{"gpd(location=90us, scale=1ms, shape=-0.3, max=2ms)", nil},
	{"hyperexponential(p=0.9, mean1=5us, mean2=1ms)", nil},
	{"hyperexponential(0.7*5us, 0.2*90us, 0.1*1ms)", nil},
	{"hyperexponential(0.7*5us, 0.2*90us, 0.1*1ms, max=2ms)", nil},
	{"empirical(5us, 12us, 12us, 90us)", nil},
	{"quantiles(0=5us, 0.5=12us, 0.99=90us, 1=3ms)", nil},
	{"quantiles(0=5us, 0.25=12us, 0.75=12us, 1=20us)", nil},
	{"mixture(0.9*lognormal(median=12us, p99=90us), 0.1*exponential(mean=1ms))", nil},
	{"mixture(0.5*uniform(min=1us, max=9us), 0.25*5us, 0.25*erlang(k=2, mean=3us, shift=2us), shift=1us, max=8us)", nil},
	{"mixture(0.5*empirical(5us, 9us), 0.5*quantiles(0=5us, 1=7us), max=6.5us)", nil},
}

func parseDist(t testing.TB, text string) Dist {
	t.Helper()
	d, err := ParseDist(text, Duration)
	if err != nil {
		t.Fatalf("ParseDist(%q): %v", text, err)
	}
	return d
}

func near(got, want, tolerance float64) bool {
	return got == want || math.Abs(got-want) <= tolerance*math.Max(math.Abs(want), 1e-300)
}

func TestDistAgreesWithGonum(t *testing.T) {
	for _, tt := range distCases {
		if tt.theory == nil {
			continue
		}
		t.Run(tt.text, func(t *testing.T) {
			d := parseDist(t, tt.text)
			if got, want := d.Mean(), tt.theory.Mean(); !near(got, want, 1e-12) {
				t.Errorf("mean: got %v, want %v", got, want)
			}
			for _, p := range []float64{1e-3, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999} {
				x := tt.theory.Quantile(p)
				if x == 0 {
					continue // gonum's least quantiles of a gamma of small shape
				}
				if got := d.Quantile(p); !near(got, x, 1e-8) {
					t.Errorf("quantile %v: got %v, want %v", p, got, x)
				}
				if got, want := d.CDF(x), tt.theory.CDF(x); !near(got, want, 1e-9) {
					t.Errorf("CDF(%v): got %v, want %v", x, got, want)
				}
			}
		})
	}
}

// The draws of a fixed seed have the mean and variance of theory.
func TestDrawMoments(t *testing.T) {
	const n = 100_000
	for _, tt := range distCases {
		if tt.theory == nil || strings.Contains(tt.text, "alpha=0.9") {
			continue
		}
		t.Run(tt.text, func(t *testing.T) {
			d, s := parseDist(t, tt.text), testStream("moments")
			var m1, m2, m4 float64
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = d.Draw(s)
				m1 += xs[i] / n
			}
			for _, x := range xs {
				e := (x - m1) * (x - m1)
				m2 += e / n
				m4 += e * e / n
			}
			variance := tt.theory.Variance()
			if z := (m1 - tt.theory.Mean()) / math.Sqrt(variance/n); math.Abs(z) > 4 {
				t.Errorf("mean: got %v, want %v (%.1f standard errors)", m1, tt.theory.Mean(), z)
			}
			if z := (m2 - variance) / math.Sqrt((m4-m2*m2)/n); math.Abs(z) > 6 {
				t.Errorf("variance: got %v, want %v (%.1f standard errors)", m2, variance, z)
			}
		})
	}
}

// ksStatistic is Kolmogorov and Smirnov's D times sqrt n; atoms are compared on
// both sides.
func ksStatistic(xs []float64, cdf func(float64) float64) float64 {
	slices.Sort(xs)
	n := float64(len(xs))
	var worst float64
	for i := 0; i < len(xs); {
		j := i
		for j < len(xs) && xs[j] == xs[i] {
			j++
		}
		worst = max(worst,
			math.Abs(cdf(math.Nextafter(xs[i], math.Inf(-1)))-float64(i)/n),
			math.Abs(cdf(xs[i])-float64(j)/n))
		i = j
	}
	return worst * math.Sqrt(n)
}

// ksBound is exceeded by one sample in 10,000 from the distribution itself.
const ksBound = 2.23

func TestDrawsFollowCDF(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for _, tt := range distCases {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			d, s := parseDist(t, tt.text), testStream("ks")
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = d.Draw(s)
				if !(xs[i] >= 0) || xs[i] > math.MaxFloat64 {
					t.Fatalf("draw %d is %v", i, xs[i])
				}
			}
			if ks := ksStatistic(xs, d.CDF); ks > ksBound {
				t.Errorf("KS statistic %.2f, want below %v", ks, ksBound)
			}
		})
	}
}

func TestStandardNormalFollowsCDF(t *testing.T) {
	s := testStream("normal")
	xs := make([]float64, 200_000)
	beyond := 0.0
	for i := range xs {
		xs[i] = StandardNormal(s)
		if math.Abs(xs[i]) > normalTail {
			beyond++
		}
	}
	want := float64(len(xs)) * math.Erfc(normalTail/math.Sqrt2)
	if math.Abs(beyond-want) > 4*math.Sqrt(want) {
		t.Errorf("draws in the tails: got %v, want about %.0f", beyond, want)
	}
	if ks := ksStatistic(xs, distuv.UnitNormal.CDF); ks > ksBound {
		t.Errorf("KS statistic %.2f, want below %v", ks, ksBound)
	}
}

// The tails of both ziggurats are drawn by other code than their bodies.
func TestZigguratTailsFollowTheory(t *testing.T) {
	s := testStream("tails")
	var normal, exponential []float64
	for range 50_000 {
		normal = append(normal, normalSlow(s, 0, 0))
		exponential = append(exponential, exponentialSlow(s, 0, 0))
	}
	q := math.Erfc(normalTail / math.Sqrt2)
	if ks := ksStatistic(normal, func(x float64) float64 { return max(0, 1-math.Erfc(x/math.Sqrt2)/q) }); ks > ksBound {
		t.Errorf("normal: KS statistic %.2f, want below %v", ks, ksBound)
	}
	if ks := ksStatistic(exponential, func(x float64) float64 { return max(0, -math.Expm1(expTail-x)) }); ks > ksBound {
		t.Errorf("exponential: KS statistic %.2f, want below %v", ks, ksBound)
	}
}

// Mean is the integral of the survival function, by quadrature between
// quantiles.
func TestMeanIsIntegralOfSurvival(t *testing.T) {
	for _, tt := range distCases {
		t.Run(tt.text, func(t *testing.T) {
			d := parseDist(t, tt.text)
			if math.IsInf(d.Mean(), 1) {
				if !strings.Contains(tt.text, "alpha=0.9") {
					t.Errorf("mean is infinite")
				}
				return
			}
			edges := []float64{0, d.Quantile(0)}
			for p := 0.0; p < 1; p += 1. / 64 {
				edges = append(edges, d.Quantile(p), math.Nextafter(d.Quantile(p), math.Inf(1)))
			}
			for q := 1. / 64; q > 1e-14; q /= 2 {
				edges = append(edges, d.Quantile(1-q))
			}
			if last := d.Quantile(1); !math.IsInf(last, 1) {
				edges = append(edges, last)
			}
			edges = append(edges, 5000, 6000, 7000, 9000, 10000, 90000) // atoms and kinks
			sort.Float64s(edges)
			var mean float64
			for i := range len(edges) - 1 {
				lo, hi := edges[i], min(edges[i+1], d.Quantile(1))
				if hi > lo {
					mean += quad.Fixed(func(x float64) float64 { return 1 - d.CDF(x) }, lo, hi, 20, quad.Legendre{}, 0)
				}
			}
			if !near(d.Mean(), mean, 1e-6) {
				t.Errorf("mean: got %v, want %v", d.Mean(), mean)
			}
		})
	}
}

func TestQuantileInvertsCDF(t *testing.T) {
	for _, tt := range distCases {
		t.Run(tt.text, func(t *testing.T) {
			d, s := parseDist(t, tt.text), testStream("quantiles")
			if lo, hi := d.Quantile(0), d.Quantile(1); !(lo >= 0 && hi >= lo) {
				t.Errorf("from %v to %v", lo, hi)
			}
			for range 200 {
				p := s.Float64()
				x := d.Quantile(p)
				if c := d.CDF(x * (1 + 1e-9)); c < p-1e-9 {
					t.Errorf("CDF just above quantile %v is %v", p, c)
				}
				if c := d.CDF(x * (1 - 1e-9)); c > p+1e-9 {
					t.Errorf("CDF just below quantile %v is %v", p, c)
				}
			}
		})
	}
}

var arrivalsCases = []string{
	"deterministic(rate=43/s)",
	"deterministic(every=23ms, phase=5ms)",
	"poisson(rate=43/s)",
	"poisson(rate=1e6/s)",
	"mmpp(low=20/s for 10s, high=400/s for 500ms)",
	"mmpp(off=0/s for 1s, on=1000/s for 100ms, rest=5/s for 2s)",
	"piecewise(0s=43/s, 5s=400/s, 6s=43/s)",
	"trace(1ms, 5ms, 5ms)",
}

// wordHash is FNV-1a's idea by words of 64 bits, folding high bits down.
type wordHash uint64

func (h *wordHash) add(word uint64) {
	x := (uint64(*h) ^ word) * 0x9e3779b97f4a7c15
	*h = wordHash(x ^ x>>29)
}

// The bits of draws, of parameters and of Mean, Quantile and CDF, on this and
// any architecture.
func TestDrawsArePinned(t *testing.T) {
	const n = 100_000
	var got strings.Builder
	for _, tt := range distCases {
		d, s := parseDist(t, tt.text), testStream("pinned")
		var h wordHash
		hash := func(x float64) { h.add(math.Float64bits(x)) }
		for range n {
			hash(d.Draw(s))
		}
		hash(d.Mean())
		for i := range 11 {
			x := d.Quantile(float64(i) / 10)
			hash(x)
			hash(d.CDF(x * 0.99))
		}
		fmt.Fprintf(&got, "%016x %s\n", h, tt.text)
	}
	for _, text := range arrivalsCases {
		a, err := ParseArrivals(text)
		if err != nil {
			t.Fatal(err)
		}
		p := a.Start(testStream("pinned"))
		var h wordHash
		for range n {
			at, ok := p.Next()
			if !ok {
				break
			}
			h.add(uint64(at))
		}
		fmt.Fprintf(&got, "%016x %s\n", h, text)
	}
	checkGolden(t, "testdata/draws.txt", got.String())
}

// checkGolden compares line by line with a file, or rewrites it.
func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		var gl, wl string
		if i < len(g) {
			gl = g[i]
		}
		if i < len(w) {
			wl = w[i]
		}
		if gl != wl {
			t.Errorf("%s:%d (-update rewrites it)\n got %s\nwant %s", path, i+1, gl, wl)
		}
	}
}

func TestRound(t *testing.T) {
	tests := []struct {
		x    float64
		want int64
	}{
		{0, 0}, {-1, 0}, {math.Inf(-1), 0}, {math.NaN(), 0}, {0.49999999999999994, 0}, {0.5, 1}, {1.5, 2}, {2.5, 3},
		{0x1p53 - 1, 1<<53 - 1}, {0x1p53 + 2, 1<<53 + 2}, {0x1p62, DrawMax}, {1e300, DrawMax}, {math.Inf(1), DrawMax},
	}
	for _, tt := range tests {
		if got := Round(tt.x); got != tt.want {
			t.Errorf("Round(%v): got %d, want %d", tt.x, got, tt.want)
		}
	}
	if got := DrawTime(parseDist(t, "pareto(min=2000000h, alpha=0.1)"), testStream("cap")); got > DrawMax || got < 0 {
		t.Errorf("DrawTime beyond the cap: got %d", int64(got))
	}
}

func TestDrawsDoNotAllocate(t *testing.T) {
	for _, tt := range distCases {
		d, s := parseDist(t, tt.text), testStream("allocs")
		if n := testing.AllocsPerRun(1000, func() { d.Draw(s) }); n != 0 {
			t.Errorf("%s: %v allocations per draw", tt.text, n)
		}
	}
	for _, text := range arrivalsCases {
		a, _ := ParseArrivals(text)
		p := a.Start(testStream("allocs"))
		if n := testing.AllocsPerRun(1000, func() { p.Next() }); n != 0 {
			t.Errorf("%s: %v allocations per arrival", text, n)
		}
	}
}

// readLines returns the lines of a file that are not comments.
func readLines(t testing.TB, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); !strings.HasPrefix(line, "# ") {
			lines = append(lines, line)
		}
	}
	return lines
}

var sink float64

func BenchmarkDraw(b *testing.B) {
	b.Run("stream alone", func(b *testing.B) {
		s := testStream("bench")
		for b.Loop() {
			sink = s.Float64()
		}
	})
	b.Run("StandardExponential", func(b *testing.B) {
		s := testStream("bench")
		for b.Loop() {
			sink = StandardExponential(s)
		}
	})
	b.Run("StandardNormal", func(b *testing.B) {
		s := testStream("bench")
		for b.Loop() {
			sink = StandardNormal(s)
		}
	})
	b.Run("Exponential, not as a Dist", func(b *testing.B) {
		s, d := testStream("bench"), Must(NewExponential(Duration, 12e3))
		for b.Loop() {
			sink = d.Draw(s)
		}
	})
	for _, tt := range distCases {
		b.Run(tt.text, func(b *testing.B) {
			s, d := testStream("bench"), parseDist(b, tt.text)
			for b.Loop() {
				sink = d.Draw(s)
			}
		})
	}
}

func BenchmarkArrival(b *testing.B) {
	for _, text := range arrivalsCases[:7] {
		b.Run(text, func(b *testing.B) {
			a, err := ParseArrivals(text)
			if err != nil {
				b.Fatal(err)
			}
			p := a.Start(testStream("bench"))
			var at sim.Time
			for b.Loop() {
				at, _ = p.Next()
			}
			sink = float64(at)
		})
	}
}
