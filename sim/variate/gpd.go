package variate

import (
	"math"

	"brokersim/sim"
)

// GPD is the generalised Pareto distribution, the law of what exceeds a high
// threshold: location + scale (e^(shape E) - 1)/shape, E exponential of mean 1.
// Shape 0 is the exponential; below, it ends at location - scale/shape; from 1
// on its mean is infinite.
type GPD struct {
	location, scale, shape float64
	unit                   Unit
}

// NewGPD returns the generalised Pareto distribution of that location >= 0 and
// scale > 0, in base units, and shape, -10 <= shape <= 10.
func NewGPD(unit Unit, location, scale, shape float64) (GPD, error) {
	var c checks
	c.quantity(unit, "location", location)
	c.positive(unit, "scale", scale)
	c.number("shape", shape, -10, 10)
	return GPD{location, scale, shape, unit}, c.err()
}

// Draw implements Dist.
func (d GPD) Draw(s *sim.Stream) float64 {
	return gpdAt(StandardExponential(s), d.location, d.scale, d.shape)
}

// gpdAt maps a value of the standard exponential.
func gpdAt(e, location, scale, shape float64) float64 {
	return location + float64(scale*float64(e*expm1Ratio(float64(shape*e))))
}

// expm1Ratio returns (e**y - 1)/y, 1 at 0.
func expm1Ratio(y float64) float64 {
	if y == 0 {
		return 1
	}
	return expm1(y) / y
}

// Mean implements Dist.
func (d GPD) Mean() float64 {
	if d.shape >= 1 {
		return math.Inf(1)
	}
	return d.location + d.scale/(1-d.shape)
}

// Quantile implements Dist.
func (d GPD) Quantile(p float64) float64 {
	if p >= 1 {
		if d.shape < 0 {
			return d.location - d.scale/d.shape
		}
		return math.Inf(1)
	}
	return gpdAt(exponentialQuantile(p), d.location, d.scale, d.shape)
}

// CDF implements Dist.
func (d GPD) CDF(x float64) float64 { return exponentialCDF(d.exponential((x - d.location) / d.scale)) }

// exponential inverts gpdAt, for a value z from location in units of scale.
func (d *GPD) exponential(z float64) float64 {
	switch y := float64(d.shape * z); {
	case y == 0:
		return z
	case y <= -1:
		return math.Inf(1)
	default:
		return float64(z * (log1p(y) / y))
	}
}

func (d GPD) String() string {
	return spell("gpd", "location", d.unit.format(d.location), "scale", d.unit.format(d.scale), "shape", formatNumber(d.shape))
}

// meanUpTo integrates the survival function: location + scale ∫ e^(-(1-shape)t)
// dt over t from 0 to the exponential value of limit.
func (d GPD) meanUpTo(limit float64) float64 {
	if limit <= d.location {
		return limit
	}
	t := d.exponential((limit - d.location) / d.scale)
	if math.IsInf(t, 1) {
		return d.Mean()
	}
	return d.location + float64(d.scale*float64(t*expm1Ratio(-float64((1-d.shape)*t))))
}
