package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func TestBetaAgainstGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(0.5, 2000).Draw(t, "a")
		b := rapid.Float64Range(0.5, 2000).Draw(t, "b")
		p := rapid.Float64Range(0.0005, 0.9995).Draw(t, "p")
		x := betaQuantile(p, a, b)
		if got := mathext.RegIncBeta(a, b, x); !near(got, p, 1e-6) {
			t.Errorf("I_x(%v, %v) at the %v-quantile %v is %v", a, b, p, x, got)
		}
		y := rapid.Float64Range(0, 1).Draw(t, "x")
		if got, want := betaCDF(a, b, y), mathext.RegIncBeta(a, b, y); math.Abs(got-want) > 1e-10 {
			t.Errorf("I_%v(%v, %v) = %v, want %v", y, a, b, got, want)
		}
	})
}

// With few of very many, the binomial is Poisson, whose bounds are known to
// the last digit: half the chi-square quantiles.
func TestBetaOfVeryManyTrials(t *testing.T) {
	const n = 1e12
	for _, tc := range []struct{ k, lo, hi float64 }{
		{1, 0.02531780798428988, 5.571643390938898},
		{3, 0.6186721228955987, 8.767273069742287},
		{100, 81.36400542736978, 121.6269220038963},
	} {
		lo, hi := betaSolve(0.025, tc.k, n-tc.k+1)*n, betaSolve(0.975, tc.k+1, n-tc.k)*n
		chi := func(p, k float64) float64 { return distuv.ChiSquared{K: 2 * k}.Quantile(p) / 2 }
		if !near(chi(0.025, tc.k), tc.lo, 1e-3) || !near(chi(0.975, tc.k+1), tc.hi, 1e-3) {
			t.Fatalf("bounds of %v: [%v, %v]", tc.k, chi(0.025, tc.k), chi(0.975, tc.k+1))
		}
		if !near(lo, chi(0.025, tc.k), 1e-9) || !near(hi, chi(0.975, tc.k+1), 1e-9) {
			t.Errorf("%v: [%v, %v], want [%v, %v]", tc.k, lo, hi, chi(0.025, tc.k), chi(0.975, tc.k+1))
		}
	}
	// Poisson(x) is at least k, for k and x far apart too.
	for _, k := range []float64{1, 2, 10, 1000} {
		for _, x := range []float64{0.01, 0.5, 1, 5, 20, 39, 45, 70, 900, 1100, 1400} {
			if got, want := betaCDF(k, n-k+1, x/n), mathext.GammaIncReg(k, x); math.Abs(got-want) > 1e-9 {
				t.Errorf("P(Poisson(%v) >= %v) = %v, want %v", x, k, got, want)
			}
		}
	}
	// Half of very many: normal.
	if got := betaSolve(0.975, 5e11, 5e11) - 0.5; !near(got, 1.959963984540054/2/math.Sqrt(n), 1e-9) {
		t.Errorf("half-width %v of half of %v", got, n)
	}
}

func TestStudentTAgainstGonum(t *testing.T) {
	for _, df := range []int64{1, 2, 3, 9, 31, 62, 1000, 1e9} {
		for _, confidence := range []float64{0.5, 0.9, 0.95, 0.999} {
			want := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile(0.5 + confidence/2)
			tolerance := 1e-8
			if df > 1e6 {
				want, tolerance = distuv.UnitNormal.Quantile(0.5+confidence/2), 1e-7
			}
			if got := studentT(confidence, df); !near(got, want, tolerance) {
				t.Errorf("t of %v with %d degrees of freedom: %v, want %v", confidence, df, got, want)
			}
		}
	}
}

func BenchmarkFractionInterval(b *testing.B) {
	for b.Loop() {
		FractionInterval(1234, 72_000_000, 0.95)
	}
}
