package variate

import (
	"slices"

	"brokersim/sim"
)

// Mixture draws from one of several distributions, chosen anew each time.
type Mixture struct {
	weights weights
	parts   []limited
}

// NewMixture returns the mixture of those distributions of this package, with
// those weights, which add up to 1 within 1e-9. The last weight is taken to be
// what the others leave of 1.
func NewMixture(weights []float64, parts []Dist) (*Mixture, error) {
	var c checks
	d := &Mixture{weights: newWeights(&c, slices.Clone(weights))}
	c.require(len(weights) == len(parts), "weights", "want as many as distributions, %d, got %d", len(parts), len(weights))
	for _, part := range parts {
		p, ok := part.(limited)
		c.require(ok, "distribution", "want one of package variate, got %T", part)
		d.parts = append(d.parts, p)
	}
	return d, c.err()
}

// Draw implements Dist.
func (d *Mixture) Draw(s *sim.Stream) float64 {
	return d.parts[d.weights.pick(s.Float64())].Draw(s)
}

// Mean implements Dist.
func (d *Mixture) Mean() float64 {
	return d.weights.mean(func(i int) float64 { return d.parts[i].Mean() })
}

// Quantile implements Dist.
func (d *Mixture) Quantile(p float64) float64 {
	least, most := d.parts[0].Quantile(0), d.parts[0].Quantile(1)
	for _, part := range d.parts {
		least, most = min(least, part.Quantile(0)), max(most, part.Quantile(1))
	}
	switch {
	case p <= 0:
		return least
	case p >= 1: // the CDF comes to 1 earlier, by rounding
		return most
	}
	return quantileOf(p, d.CDF)
}

// CDF implements Dist.
func (d *Mixture) CDF(x float64) float64 {
	return d.weights.mean(func(i int) float64 { return d.parts[i].CDF(x) })
}

func (d *Mixture) String() string {
	items := make([]string, len(d.parts))
	for i, part := range d.parts {
		items[i] = formatNumber(d.weights.given[i]) + "*" + part.String()
	}
	return spellList("mixture", items)
}

func (d *Mixture) meanUpTo(limit float64) float64 {
	return d.weights.mean(func(i int) float64 { return d.parts[i].meanUpTo(limit) })
}
