package variate

import "brokersim/sim"

// Uniform is the continuous uniform distribution on [min, max).
type Uniform struct {
	min, max float64
	unit     Unit
}

// NewUniform returns the uniform distribution on [lo, hi), 0 <= lo < hi, in
// base units.
func NewUniform(unit Unit, lo, hi float64) (Uniform, error) {
	var c checks
	c.quantity(unit, "min", lo)
	c.quantity(unit, "max", hi)
	if len(c) == 0 {
		c.below(unit, "min", lo, "max", hi)
	}
	return Uniform{lo, hi, unit}, c.err()
}

// Draw implements Dist.
func (d Uniform) Draw(s *sim.Stream) float64 {
	return d.min + float64(s.Float64()*(d.max-d.min))
}

// Mean implements Dist.
func (d Uniform) Mean() float64 { return float64(0.5*d.min) + float64(0.5*d.max) }

// Quantile implements Dist.
func (d Uniform) Quantile(p float64) float64 {
	return d.min + float64(min(max(p, 0), 1)*(d.max-d.min))
}

// CDF implements Dist.
func (d Uniform) CDF(x float64) float64 { return min(max((x-d.min)/(d.max-d.min), 0), 1) }

func (d Uniform) String() string {
	return spell("uniform", "min", d.unit.format(d.min), "max", d.unit.format(d.max))
}

func (d Uniform) meanUpTo(limit float64) float64 {
	if limit <= d.min {
		return limit
	}
	limit = min(limit, d.max)
	short := float64((limit-d.min)*(limit-d.min)) / (d.max - d.min)
	return limit - float64(0.5*short)
}
