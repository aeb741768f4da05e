package variate

import (
	"math"

	"brokersim/sim"
)

// Pareto is the distribution with P(X > x) = (min/x)^alpha, x >= min. Its mean
// is infinite for alpha <= 1.
type Pareto struct {
	min, alpha float64
	unit       Unit
}

// NewPareto returns the Pareto distribution of that least value, in base
// units, and alpha, 0.1 <= alpha <= 1e6.
func NewPareto(unit Unit, least, alpha float64) (Pareto, error) {
	var c checks
	c.positive(unit, "min", least)
	c.number("alpha", alpha, 0.1, 1e6)
	return Pareto{least, alpha, unit}, c.err()
}

// Draw implements Dist.
func (d Pareto) Draw(s *sim.Stream) float64 {
	return float64(d.min * exp(StandardExponential(s)/d.alpha))
}

// Mean implements Dist.
func (d Pareto) Mean() float64 {
	if d.alpha <= 1 {
		return math.Inf(1)
	}
	return float64(d.min * (d.alpha / (d.alpha - 1)))
}

// Quantile implements Dist.
func (d Pareto) Quantile(p float64) float64 {
	return float64(d.min * exp(exponentialQuantile(p)/d.alpha))
}

// CDF implements Dist.
func (d Pareto) CDF(x float64) float64 {
	if !(x > d.min) {
		return 0
	}
	return exponentialCDF(float64(d.alpha * log(x/d.min)))
}

func (d Pareto) String() string {
	return spell("pareto", "min", d.unit.format(d.min), "alpha", formatNumber(d.alpha))
}

// meanUpTo integrates the survival function: min + min ∫ e^(-(alpha-1)t) dt
// over t from 0 to ln(limit/min).
func (d Pareto) meanUpTo(limit float64) float64 {
	if limit <= d.min {
		return limit
	}
	t := log(limit / d.min)
	return d.min + float64(d.min*float64(t*expm1Ratio(-float64((d.alpha-1)*t))))
}
