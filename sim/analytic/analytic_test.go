package analytic

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func near(got, want, relative float64) bool {
	return math.Abs(got-want) <= relative*max(math.Abs(want), 1e-12)
}

// must is for parameters that are in the domain.
func must[Q any](q Q, err error) Q {
	if err != nil {
		panic(err)
	}
	return q
}

// birthDeath solves a birth-death process on 0..n by its cut equations.
func birthDeath(n int, birth, death func(n int) float64) []float64 {
	p := make([]float64, n+1)
	p[0] = 1
	sum := 1.0
	for i := 1; i <= n; i++ {
		p[i] = p[i-1] * birth(i-1) / death(i)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// waiting returns the mean number beyond c.
func waiting(p []float64, c int) (mean float64) {
	for n, x := range p {
		mean += x * float64(max(n-c, 0))
	}
	return mean
}

func rate(x float64) func(int) float64 { return func(int) float64 { return x } }

func TestAgainstBirthDeath(t *testing.T) {
	for _, load := range []float64{0.1, 0.5, 0.9} {
		q := must(NewMM1(load*3, 3))
		p := birthDeath(2000, rate(load*3), rate(3))
		if want := waiting(p, 1); !near(q.QueueLength(), want, 1e-9) {
			t.Errorf("M/M/1 at %v: queue length %v, want %v", load, q.QueueLength(), want)
		}
		if want := waiting(p, 0); !near(q.NumberInSystem(), want, 1e-9) || !near(q.Sojourn(), want/(load*3), 1e-9) {
			t.Errorf("M/M/1 at %v: %v in system, sojourn %v; want %v", load, q.NumberInSystem(), q.Sojourn(), want)
		}
		if !near(q.Utilisation(), 1-p[0], 1e-9) || !near(q.WaitCDF(0), p[0], 1e-9) {
			t.Errorf("M/M/1 at %v: utilisation %v, no wait %v; want %v, %v", load, q.Utilisation(), q.WaitCDF(0), 1-p[0], p[0])
		}
		for _, c := range []int{1, 2, 10} {
			q := must(NewMMc(load*float64(c), 1, c))
			p := birthDeath(3000, rate(load*float64(c)), func(n int) float64 { return float64(min(n, c)) })
			delay := 1.0
			for _, x := range p[:c] {
				delay -= x
			}
			if !near(q.Delay(), delay, 1e-7) || !near(q.QueueLength(), waiting(p, c), 1e-9) {
				t.Errorf("M/M/%d at %v: delay %v, queue length %v; want %v, %v", c, load, q.Delay(), q.QueueLength(), delay, waiting(p, c))
			}
		}
	}
	for _, load := range []float64{0.5, 1, 3} {
		for _, k := range []int{1, 2, 7, 500} {
			q := must(NewMM1K(load, 1, k))
			p := birthDeath(k, rate(load), rate(1))
			if !near(q.Loss(), p[k], 1e-9) || !near(q.QueueLength(), waiting(p, 1), 1e-9) || !near(q.Utilisation(), 1-p[0], 1e-9) || !near(q.NumberInSystem(), waiting(p, 0), 1e-9) {
				t.Errorf("M/M/1/%d at %v: %+v, want loss %v, queue length %v", k, load, q, p[k], waiting(p, 1))
			}
			if k == 2 && load == 1 && !near(q.Wait(), 0.5, 1e-12) {
				t.Errorf("M/M/1/2 at 1: wait %v, want 0.5", q.Wait()) // half wait for one service
			}
		}
		for _, patience := range []float64{0.01, 1, 30} {
			q := must(NewExponentialPatience(load, 1, patience))
			p := birthDeath(1000, rate(load), func(n int) float64 { return 1 + float64(n-1)/patience })
			if !near(q.QueueLength(), waiting(p, 1), 1e-9) || !near(q.Utilisation(), 1-p[0], 1e-9) {
				t.Errorf("M/M/1+M at %v, patience %v: %+v, want queue length %v, utilisation %v", load, patience, q, waiting(p, 1), 1-p[0])
			}
		}
	}
}

func TestKnownValues(t *testing.T) {
	patient := func(load, patience float64) float64 { // Baccelli and Hebuterne's formula, load != 1
		e := math.Exp(-(1 - load) * patience)
		return (1 - load) * load * e / (1 - load*load*e)
	}
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"M/M/1 wait", must(NewMM1(0.8, 1)).Wait(), 4},
		{"M/M/1 median sojourn", must(NewMM1(0.5, 1)).SojournQuantile(0.5), 2 * math.Ln2},
		{"M/M/1 quantile without wait", must(NewMM1(0.5, 1)).WaitQuantile(0.4), 0},
		{"Erlang C, 2 servers", must(NewMMc(1, 1, 2)).Delay(), 1.0 / 3},
		{"Erlang C, 3 servers", must(NewMMc(2, 1, 3)).Delay(), 4.0 / 9},
		{"M/D/1 wait is half of M/M/1's", must(NewMD1(0.8, 1)).Wait(), 2},
		{"M/D/1 without wait", must(NewMD1(0.8, 1)).WaitCDF(0), 0.2},
		{"M/G/1 of exponentials", must(NewMG1(0.8, 1, 2)).Wait(), 4},
		{"M/G/1 of constants", must(NewMG1(0.8, 1, 1)).Wait(), 2},
		{"constant vacations", must(NewVacation(0.8, 1, 2, 3, 9)).Wait(), 4 + 1.5},
		{"exponential vacations", must(NewVacation(0.8, 1, 2, 3, 18)).Wait(), 4 + 3},
		{"M/M/1+D below 1", must(NewPatientMM1(0.8, 1, 5)).Loss(), patient(0.8, 5)},
		{"M/M/1+D at 1", must(NewPatientMM1(1, 1, 5)).Loss(), 1.0 / 7},
		{"M/M/1+D above 1", must(NewPatientMM1(1.5, 1, 5)).Loss(), patient(1.5, 5)},
		{"M/M/1+D far above 1", must(NewPatientMM1(3, 1, 1e6)).Loss(), 2.0 / 3},
		{"M/M/1+M of patience like service", must(NewExponentialPatience(2, 1, 1)).NumberInSystem(), 2},
		{"M/M/1+M of long patience", must(NewExponentialPatience(0.5, 1, 1e8)).QueueLength(), 0.5},
		{"M/M/1+M overloaded", must(NewExponentialPatience(2, 1, 1e8)).Loss(), 0.5},
	} {
		if !near(tc.got, tc.want, 1e-6) {
			t.Errorf("%s: %v, want %v", tc.name, tc.got, tc.want)
		}
	}
}

// Erlang's own formula for the wait in M/D/1 alternates in sign; it is exact
// enough while t is a few services.
func TestMD1AgainstErlang(t *testing.T) {
	for _, load := range []float64{0.1, 0.5, 0.9} {
		q := must(NewMD1(load/2, 2))
		for _, x := range []float64{0, 0.3, 0.999, 1, 1.5, 2, 3.7, 6, 7.2} { // in services
			var want float64
			for k := 0; float64(k) <= x; k++ {
				y := load * (x - float64(k))
				lg, _ := math.Lgamma(float64(k) + 1)
				want += (1 - load) * math.Pow(-1, float64(k)) * math.Pow(y, float64(k)) * math.Exp(y-lg)
			}
			if got := q.WaitCDF(2 * x); !near(got, want, 1e-10) {
				t.Errorf("load %v: P(W <= %v services) = %v, want %v", load, x, got, want)
			}
		}
	}
}

func TestDistributionsGiveTheirMeans(t *testing.T) {
	for _, tc := range []struct {
		name string
		cdf  func(float64) float64
		mean float64
	}{
		{"M/M/1 wait", must(NewMM1(0.8, 1)).WaitCDF, must(NewMM1(0.8, 1)).Wait()},
		{"M/M/1 sojourn", must(NewMM1(0.8, 1)).SojournCDF, must(NewMM1(0.8, 1)).Sojourn()},
		{"M/M/3 wait", must(NewMMc(2.4, 1, 3)).WaitCDF, must(NewMMc(2.4, 1, 3)).Wait()},
		{"M/D/1 wait at 0.1", must(NewMD1(0.1, 1)).WaitCDF, must(NewMD1(0.1, 1)).Wait()},
		{"M/D/1 wait at 0.8", must(NewMD1(0.8, 1)).WaitCDF, must(NewMD1(0.8, 1)).Wait()},
		{"M/D/1 wait at 0.98", must(NewMD1(0.98, 1)).WaitCDF, must(NewMD1(0.98, 1)).Wait()},
	} {
		const step = 1.0 / 64
		var sum float64 // of 1 - F, by the midpoint rule
		last := 0.0
		for x := step / 2; x < 1000; x += step {
			f := tc.cdf(x)
			if f < last-1e-12 || f > 1 {
				t.Fatalf("%s: F(%v) = %v after %v", tc.name, x, f, last)
			}
			last = f
			sum += (1 - f) * step
		}
		if !near(sum, tc.mean, 1e-4) {
			t.Errorf("%s: integral %v, want the mean %v", tc.name, sum, tc.mean)
		}
		if tc.cdf(-1) != 0 {
			t.Errorf("%s: F(-1) = %v", tc.name, tc.cdf(-1))
		}
	}
}

func TestQuantilesInvert(t *testing.T) {
	for _, load := range []float64{0.3, 0.95} {
		mm1, mmc, md1 := must(NewMM1(load, 1)), must(NewMMc(4*load, 1, 4)), must(NewMD1(load, 1))
		for _, p := range []float64{0, 0.01, 0.5, 0.9, 0.999, 0.999999} {
			for name, f := range map[string]struct{ quantile, cdf func(float64) float64 }{
				"M/M/1 wait":    {mm1.WaitQuantile, mm1.WaitCDF},
				"M/M/1 sojourn": {mm1.SojournQuantile, mm1.SojournCDF},
				"M/M/4 wait":    {mmc.WaitQuantile, mmc.WaitCDF},
				"M/D/1 wait":    {md1.WaitQuantile, md1.WaitCDF},
			} {
				x := f.quantile(p)
				if got := f.cdf(x); x > 0 && !near(got, p, 1e-9) || x == 0 && got < p {
					t.Errorf("%s at %v: F of the %v-quantile %v is %v", name, load, p, x, got)
				}
			}
		}
	}
}

// The wait of M/M/1+D from the density of the offered wait, integrated
// numerically, and the balance of work: busy time is what is served.
func TestPatientMM1AgainstItsDensity(t *testing.T) {
	for _, tc := range []struct{ load, patience float64 }{{0.5, 2}, {0.9, 10}, {1, 4}, {1.001, 4}, {1.7, 3}, {0.999999, 100}} {
		q := must(NewPatientMM1(tc.load, 1, tc.patience))
		const steps = 20000
		h := tc.patience / steps
		served, first := 0.0, 0.0
		for i := range steps {
			v := (float64(i) + 0.5) * h
			d := tc.load * math.Exp(-(1-tc.load)*v) * h
			served += d
			first += v * d
		}
		lost := tc.load * math.Exp(-(1-tc.load)*tc.patience)
		sum := 1 + served + lost
		if want := lost / sum; !near(q.Loss(), want, 1e-6) {
			t.Errorf("%+v: loss %v, want %v", tc, q.Loss(), want)
		}
		if want := (first + tc.patience*lost) / sum; !near(q.Wait(), want, 1e-6) {
			t.Errorf("%+v: wait %v, want %v", tc, q.Wait(), want)
		}
		if want := first / (1 + served); !near(q.WaitServed(), want, 1e-6) {
			t.Errorf("%+v: wait of the served %v, want %v", tc, q.WaitServed(), want)
		}
		if want := 1 - 1/sum; !near(q.Utilisation(), want, 1e-6) {
			t.Errorf("%+v: utilisation %v, want %v", tc, q.Utilisation(), want)
		}
	}
}

func TestDomains(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	err := func(_ any, err error) error { return err }
	for _, tc := range []struct {
		name  string
		err   error
		wants []string
	}{
		{"full", err(NewMM1(1, 1)), []string{"analytic: M/M/1: load: want below 1, got 1"}},
		{"all faults", err(NewMM1(-1, nan)), []string{"arrival rate: want above 0 and finite, got -1", "service rate: want above 0 and finite, got NaN"}},
		{"full servers", err(NewMMc(4, 2, 2)), []string{"load: want below 1, got 1"}},
		{"no servers", err(NewMMc(4, 2, 0)), []string{"servers: want 1 to 1000000, got 0"}},
		{"no place", err(NewMM1K(1, 1, 0)), []string{"places: want 1 to 1000000, got 0"}},
		{"almost full", err(NewMD1(0.99995, 1)), []string{"load: want at most 0.9999"}},
		{"impossible moments", err(NewMG1(0.5, 1, 0.5)), []string{"second moment of the service time: want at least the mean's square 1"}},
		{"infinite moment", err(NewMG1(0.5, 1, inf)), []string{"second moment"}},
		{"vacation", err(NewVacation(0.5, 1, 1, 0, 0)), []string{"mean vacation: want above 0"}},
		{"vacation of a full queue", err(NewVacation(2, 1, 1, 1, 1)), []string{"load: want below 1, got 2"}},
		{"no patience", err(NewPatientMM1(1, 1, 0)), []string{"patience: want above 0"}},
		{"endless patience", err(NewExponentialPatience(1, 1, 1e10)), []string{"mean patience: want at most 1e+09 mean interarrival times, got 1e+10"}},
	} {
		for _, want := range tc.wants {
			if tc.err == nil || !strings.Contains(tc.err.Error(), want) {
				t.Errorf("%s: error %v, want %q", tc.name, tc.err, want)
			}
		}
	}
}

func TestNoNaN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exponent := rapid.Float64Range(-12, 12)
		a := math.Pow(10, exponent.Draw(t, "arrivals"))
		m := math.Pow(10, exponent.Draw(t, "services"))
		x := math.Pow(10, rapid.Float64Range(-9, 9).Draw(t, "patience"))
		good := func(what string, ys ...float64) {
			for _, y := range ys {
				if !(y >= 0) || math.IsInf(y, 0) {
					t.Errorf("%s: %v", what, ys)
				}
			}
		}
		if q, err := NewMM1(a, m); err == nil {
			good("M/M/1", q.Wait(), q.Sojourn(), q.WaitCDF(x), q.WaitQuantile(0.99))
		}
		if q, err := NewMD1(a, 1/m); err == nil {
			good("M/D/1", q.Wait(), q.WaitCDF(x), q.WaitQuantile(0.99))
		}
		if q, err := NewPatientMM1(a, m, x); err == nil {
			good("M/M/1+D", q.Loss(), q.Wait(), q.WaitServed(), 1-q.Loss())
		}
		if q, err := NewExponentialPatience(a, m, x); err == nil {
			good("M/M/1+M", q.Loss(), q.Wait(), 1-q.Loss())
		}
		if q, err := NewMM1K(a, m, 50); err == nil {
			good("M/M/1/K", q.Loss(), q.QueueLength(), 1-q.Loss())
		}
	})
}
