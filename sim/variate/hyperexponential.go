package variate

import (
	"slices"

	"brokersim/sim"
)

// Hyperexponential is a mixture of exponentials: more variable than one.
type Hyperexponential struct {
	weights weights
	means   []float64
	unit    Unit
}

// NewHyperexponential returns the mixture of exponentials of those means, in
// base units, with those weights, which add up to 1 within 1e-9. The last
// weight is taken to be what the others leave of 1.
func NewHyperexponential(unit Unit, weights, means []float64) (*Hyperexponential, error) {
	var c checks
	given := slices.Clone(weights)
	w := newWeights(&c, given)
	c.require(len(weights) == len(means), "weights", "want as many as means, %d, got %d", len(means), len(weights))
	for _, m := range means {
		c.positive(unit, "mean", m)
	}
	if len(given) == 2 {
		given[1] = 1 - given[0] // String gives only the first
	}
	return &Hyperexponential{w, slices.Clone(means), unit}, c.err()
}

// Draw implements Dist.
func (d *Hyperexponential) Draw(s *sim.Stream) float64 {
	return float64(d.means[d.weights.pick(s.Float64())] * StandardExponential(s))
}

// Mean implements Dist.
func (d *Hyperexponential) Mean() float64 {
	return d.weights.mean(func(i int) float64 { return d.means[i] })
}

// Quantile implements Dist.
func (d *Hyperexponential) Quantile(p float64) float64 { return quantileOf(p, d.CDF) }

// CDF implements Dist.
func (d *Hyperexponential) CDF(x float64) float64 {
	return d.weights.mean(func(i int) float64 { return exponentialCDF(x / d.means[i]) })
}

// String spells two exponentials as hyperexponential(p=, mean1=, mean2=) and
// any other number as hyperexponential(WEIGHT*MEAN, ...).
func (d *Hyperexponential) String() string {
	const name = "hyperexponential"
	if len(d.means) == 2 {
		return spell(name, "p", formatNumber(d.weights.given[0]), "mean1", d.unit.format(d.means[0]), "mean2", d.unit.format(d.means[1]))
	}
	items := make([]string, len(d.means))
	for i, m := range d.means {
		items[i] = formatNumber(d.weights.given[i]) + "*" + d.unit.format(m)
	}
	return spellList(name, items)
}

func (d *Hyperexponential) meanUpTo(limit float64) float64 {
	return d.weights.mean(func(i int) float64 { return float64(d.means[i] * exponentialCDF(limit/d.means[i])) })
}
