package variate

import (
	"math"
	"math/big"
	"testing"

	"brokersim/sim"
)

func testStream(name string) *sim.Stream { return sim.Streams{Seed: 208}.Stream(name) }

// bigExp sums Taylor's series of e**x in 300 bits, of x/2^12 and then squared.
func bigExp(x *big.Float) *big.Float {
	const prec, halvings = 300, 12
	r := new(big.Float).SetPrec(prec).Set(x)
	r.SetMantExp(r, -halvings)
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for n := 1; n < 60; n++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetInt64(int64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func ulp(x float64) float64 {
	x = math.Abs(x)
	return math.Nextafter(x, math.Inf(1)) - x
}

// relative returns got/want - 1.
func relative(got float64, want *big.Float) float64 {
	q := new(big.Float).SetPrec(300).Quo(big.NewFloat(got), want)
	d, _ := q.Sub(q, big.NewFloat(1)).Float64()
	return d
}

func TestExpWithinOneUlp(t *testing.T) {
	s := testStream("exp")
	worst, at := 0.0, 0.0
	for i := range 2000 {
		x := (s.Float64() - 0.5) * []float64{1400, 40, 2, 1e-3}[i%4]
		got := exp(x)
		if e := math.Abs(relative(got, bigExp(big.NewFloat(x)))) * got / ulp(got); e > worst {
			worst, at = e, x
		}
	}
	if worst > 1 {
		t.Errorf("exp(%v) is off by %.3f ulp, want at most 1", at, worst)
	}
	t.Logf("exp: worst %.3f ulp", worst)
}

func TestLogWithinOneUlp(t *testing.T) {
	s := testStream("log")
	worst, at := 0.0, 0.0
	for i := range 2000 {
		x := s.Float64() * []float64{1e300, 1e-300, 4, 1}[i%4]
		if i%4 == 3 {
			x = 1 + (x-0.5)*0.1
		}
		got := log(x)
		// x = e**got (1+d) says that got is d too small.
		d := relative(x, bigExp(big.NewFloat(got)))
		if e := math.Abs(d) / ulp(got); e > worst {
			worst, at = e, x
		}
	}
	if worst > 1 {
		t.Errorf("log(%v) is off by %.3f ulp, want at most 1", at, worst)
	}
	t.Logf("log: worst %.3f ulp", worst)
}

func TestElementarySpecialValues(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		name      string
		got, want float64
	}{
		{"log 0", log(0), -inf},
		{"log 1", log(1), 0},
		{"log inf", log(inf), inf},
		{"log of the least subnormal", log(5e-324), -744.4400719213812},
		{"log of the largest", log(math.MaxFloat64), math.Log(math.MaxFloat64)},
		{"exp 0", exp(0), 1},
		{"exp -inf", exp(-inf), 0},
		{"exp inf", exp(inf), inf},
		{"exp beyond", exp(710), inf},
		{"exp far below", exp(-1e9), 0},
		{"expm1 0", expm1(0), 0},
		{"expm1 tiny", expm1(1e-300), 1e-300},
		{"expm1 -inf", expm1(-inf), -1},
		{"expm1 inf", expm1(inf), inf},
		{"log1p -1", log1p(-1), -inf},
		{"log1p inf", log1p(inf), inf},
		{"log1p tiny", log1p(1e-300), 1e-300},
		{"pow 0", pow(0, 3), 0},
		{"pow 1", pow(1, 1e9), 1},
		{"normal quantile 1/2", normalQuantile(0.5), 0},
		{"normal quantile 0", normalQuantile(0), -inf},
		{"normal quantile 1", normalQuantile(1), inf},
		{"log gamma 5", logGamma(5), 3.1780538303479458},
	}
	for _, tt := range tests {
		if !(tt.got == tt.want || math.Abs(tt.got-tt.want) < 1e-15*max(1, math.Abs(tt.want))) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if got := exp(math.NaN()); got == got {
		t.Errorf("exp(NaN) = %v", got)
	}
}

func TestSpecialFunctionsAgreeWithMath(t *testing.T) {
	s := testStream("special")
	near := func(name string, x, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance*math.Abs(want) {
			t.Errorf("%s(%v): got %v, want %v", name, x, got, want)
		}
	}
	for range 5000 {
		x := (s.Float64() - 0.5) * 2
		near("expm1", x, expm1(x), math.Expm1(x), 1e-15)
		near("expm1", x*1e-5, expm1(x*1e-5), math.Expm1(x*1e-5), 1e-15)
		near("log1p", x, log1p(x), math.Log1p(x), 1e-15)
		near("log1p", x*1e-5, log1p(x*1e-5), math.Log1p(x*1e-5), 1e-15)
		z := 30 * x
		below, above := normalTails(z)
		near("normal below", z, below, 0.5*math.Erfc(-z/math.Sqrt2), 1e-12)
		near("normal above", z, above, 0.5*math.Erfc(z/math.Sqrt2), 1e-12)
		a := 50 * s.Float64()
		l, _ := math.Lgamma(a)
		if got := logGamma(a); math.Abs(got-l) > 1e-14*max(1, math.Abs(l)) {
			t.Errorf("logGamma(%v): got %v, want %v", a, got, l)
		}
		p := s.Float64()
		want := math.Sqrt2 * math.Erfinv(2*p-1)
		if got := normalQuantile(p); math.Abs(got-want) > 1e-13*max(1, math.Abs(want)) {
			t.Errorf("normalQuantile(%v): got %v, want %v", p, got, want)
		}
	}
}

// The layers must close at the mode, or the tables' constants are wrong.
func TestZigguratCloses(t *testing.T) {
	e := expDensities[layers-1]
	if top := e + expArea/-log(e); math.Abs(top-1) > 1e-13 {
		t.Errorf("exponential: the last layer ends at %v, want 1", top)
	}
	n := normalDensities[layers-1]
	if top := n + normalArea/math.Sqrt(-2*log(n)); math.Abs(top-1) > 1e-13 {
		t.Errorf("normal: the last layer ends at %v, want 1", top)
	}
	// A layer is as large as the lowest one: rectangle and tail.
	if area := expTail*math.Exp(-expTail) + math.Exp(-expTail); math.Abs(area/expArea-1) > 1e-12 {
		t.Errorf("exponential: area of the lowest layer: got %v, want %v", area, expArea)
	}
	tail := math.Sqrt(math.Pi/2) * math.Erfc(normalTail/math.Sqrt2)
	if area := normalTail*math.Exp(-normalTail*normalTail/2) + tail; math.Abs(area/normalArea-1) > 1e-12 {
		t.Errorf("normal: area of the lowest layer: got %v, want %v", area, normalArea)
	}
}
