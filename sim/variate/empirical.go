package variate

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"brokersim/sim"
)

// Empirical draws one of its samples, each as often as the others.
type Empirical struct {
	samples []float64 // ascending
	unit    Unit
}

// NewEmpirical returns the distribution of those samples, in base units, at
// least one, none negative.
func NewEmpirical(unit Unit, samples []float64) (Empirical, error) {
	var c checks
	c.require(len(samples) > 0, "samples", "want at least one")
	for _, x := range samples {
		c.quantity(unit, "sample", x)
	}
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	return Empirical{sorted, unit}, c.err()
}

// Draw implements Dist.
func (d Empirical) Draw(s *sim.Stream) float64 {
	i, _ := bits.Mul64(s.Uint64(), uint64(len(d.samples)))
	return d.samples[i]
}

// Mean implements Dist.
func (d Empirical) Mean() float64 { return d.meanUpTo(math.Inf(1)) }

// Quantile returns the least sample x with CDF(x) >= p.
func (d Empirical) Quantile(p float64) float64 {
	n := len(d.samples)
	i := sort.Search(n-1, func(i int) bool { return float64(i+1)/float64(n) >= p })
	return d.samples[i]
}

// CDF implements Dist.
func (d Empirical) CDF(x float64) float64 {
	i := sort.Search(len(d.samples), func(i int) bool { return d.samples[i] > x })
	return float64(i) / float64(len(d.samples))
}

func (d Empirical) String() string {
	items := make([]string, len(d.samples))
	for i, x := range d.samples {
		items[i] = d.unit.format(x)
	}
	return spellList("empirical", items)
}

func (d Empirical) meanUpTo(limit float64) float64 {
	var mean float64
	for _, x := range d.samples {
		mean += min(x, limit) / float64(len(d.samples))
	}
	return mean
}
