package variate

import "brokersim/sim"

// Weibull is the distribution of scale E^(1/shape), E exponential of mean 1:
// the larger the shape, the narrower.
type Weibull struct {
	scale, shape float64
	power        float64 // 1/shape
	unit         Unit
}

// NewWeibull returns the Weibull distribution of that scale, in base units,
// and shape, 0.05 <= shape <= 1000.
func NewWeibull(unit Unit, scale, shape float64) (Weibull, error) {
	var c checks
	c.positive(unit, "scale", scale)
	c.number("shape", shape, 0.05, 1000)
	return Weibull{scale, shape, 1 / shape, unit}, c.err()
}

// Draw implements Dist.
func (d Weibull) Draw(s *sim.Stream) float64 {
	return float64(d.scale * pow(StandardExponential(s), d.power))
}

// Mean implements Dist.
func (d Weibull) Mean() float64 { return float64(d.scale * exp(logGamma(1+d.power))) }

// Quantile implements Dist.
func (d Weibull) Quantile(p float64) float64 {
	return float64(d.scale * pow(exponentialQuantile(p), d.power))
}

// CDF implements Dist.
func (d Weibull) CDF(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return exponentialCDF(pow(x/d.scale, d.shape))
}

func (d Weibull) String() string {
	return spell("weibull", "scale", d.unit.format(d.scale), "shape", formatNumber(d.shape))
}

func (d Weibull) meanUpTo(limit float64) float64 {
	x := pow(limit/d.scale, d.shape)
	p, _ := gammaInc(1+d.power, x)
	return float64(d.Mean()*p) + float64(limit*exp(-x))
}
