package variate

import (
	"math"

	"brokersim/sim"
)

// Exponential is the memoryless distribution.
type Exponential struct {
	mean float64
	unit Unit
}

// NewExponential returns the exponential distribution of that mean, more than
// 0, in base units.
func NewExponential(unit Unit, mean float64) (Exponential, error) {
	var c checks
	c.positive(unit, "mean", mean)
	return Exponential{mean, unit}, c.err()
}

// Draw implements Dist.
func (d Exponential) Draw(s *sim.Stream) float64 {
	return float64(d.mean * StandardExponential(s))
}

// Mean implements Dist.
func (d Exponential) Mean() float64 { return d.mean }

// Quantile implements Dist.
func (d Exponential) Quantile(p float64) float64 { return float64(d.mean * exponentialQuantile(p)) }

// CDF implements Dist.
func (d Exponential) CDF(x float64) float64 { return exponentialCDF(x / d.mean) }

func (d Exponential) String() string { return spell("exponential", "mean", d.unit.format(d.mean)) }

func (d Exponential) meanUpTo(limit float64) float64 {
	return float64(d.mean * exponentialCDF(limit/d.mean))
}

// exponentialQuantile is that of mean 1.
func exponentialQuantile(p float64) float64 {
	if p >= 1 {
		return math.Inf(1)
	}
	return -log1p(-max(p, 0))
}

// exponentialCDF is that of mean 1.
func exponentialCDF(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return -expm1(-x)
}
