package variate

import (
	"fmt"
	"math"

	"brokersim/sim"
)

// Gamma is the gamma distribution. Its squared coefficient of variation is
// 1/shape.
type Gamma struct {
	mean, shape float64
	unit        Unit

	// For Draw: that of Marsaglia and Tsang (2000) needs a shape of 1 or
	// more, so a smaller one is raised by 1 and corrected.
	d, c, scale float64
}

// NewGamma returns the gamma distribution of that mean, in base units, and
// shape, 0.01 <= shape <= 1e6.
func NewGamma(unit Unit, mean, shape float64) (Gamma, error) {
	var c checks
	c.positive(unit, "mean", mean)
	c.number("shape", shape, 0.01, 1e6)
	raised := shape
	if shape < 1 {
		raised++
	}
	d := raised - 1./3
	return Gamma{mean: mean, shape: shape, unit: unit, d: d, c: 1 / math.Sqrt(9*d), scale: mean / shape}, c.err()
}

// Draw implements Dist.
func (d Gamma) Draw(s *sim.Stream) float64 { return drawGamma(s, d.shape, d.scale, d.d, d.c) }

func drawGamma(s *sim.Stream, shape, scale, d, c float64) float64 {
	x := float64(scale * drawRaisedGamma(s, d, c))
	if shape < 1 {
		x = float64(x * exp(-StandardExponential(s)/shape))
	}
	return x
}

// drawRaisedGamma draws with scale 1 and the raised shape.
func drawRaisedGamma(s *sim.Stream, d, c float64) float64 {
	for {
		x := StandardNormal(s)
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(float64(v*v) * v)
		u := s.Float64()
		x2 := float64(x * x)
		if u < 1-float64(0.0331*float64(x2*x2)) ||
			log(u) < float64(0.5*x2)+float64(d*(1-v+log(v))) {
			return float64(d * v)
		}
	}
}

// Mean implements Dist.
func (d Gamma) Mean() float64 { return d.mean }

// Quantile implements Dist.
func (d Gamma) Quantile(p float64) float64 { return quantileOf(p, d.CDF) }

// CDF implements Dist.
func (d Gamma) CDF(x float64) float64 {
	p, _ := gammaInc(d.shape, x/d.scale)
	return p
}

func (d Gamma) String() string {
	return spell("gamma", "mean", d.unit.format(d.mean), "shape", formatNumber(d.shape))
}

func (d Gamma) meanUpTo(limit float64) float64 {
	x := limit / d.scale
	p, _ := gammaInc(d.shape+1, x)
	_, q := gammaInc(d.shape, x)
	return float64(d.mean*p) + float64(limit*q)
}

const phasesMax = 1_000_000

// Erlang is the distribution of a sum of k exponentials: a Gamma of shape k.
type Erlang struct{ Gamma }

// NewErlang returns the Erlang distribution of k phases, 1 to 1e6, and that
// mean of their sum.
func NewErlang(unit Unit, k int, mean float64) (Erlang, error) {
	var c checks
	c.require(k >= 1 && k <= phasesMax, "k", "want between 1 and %d, got %d", phasesMax, k)
	c.positive(unit, "mean", mean)
	if len(c) > 0 {
		return Erlang{}, c.err()
	}
	g, err := NewGamma(unit, mean, float64(k))
	return Erlang{g}, err
}

func (d Erlang) String() string {
	return spell("erlang", "k", fmt.Sprint(int(d.shape)), "mean", d.unit.format(d.mean))
}
