package variate

import (
	"slices"
	"sort"

	"brokersim/sim"
)

// Quantiles is a distribution known by some of its quantiles. Between two of
// them the quantile function is a straight line: the values there are equally
// likely. A long tail therefore needs a few points of its own, or its mean is
// too large.
type Quantiles struct {
	p, x []float64 // p ascending from 0 to 1, x not descending
	unit Unit

	// guide[i] is the last point with p <= i/guideLen: where Draw begins to
	// look.
	guide [guideLen]uint16
}

const guideLen = 64

// NewQuantiles returns the distribution whose quantile at p[i] is x[i], in
// base units. The p must ascend from 0 to 1; the x must not descend. There are
// at most 60,000.
func NewQuantiles(unit Unit, p, x []float64) (*Quantiles, error) {
	var c checks
	const name = "quantiles"
	if c.require(len(p) == len(x) && len(p) >= 2 && len(p) <= 60000, name, "want between 2 and 60000 of them, got %d", len(p)); len(c) > 0 {
		return nil, c.err()
	}
	c.require(p[0] == 0, name, "want the first at 0, got %v", p[0])
	c.require(p[len(p)-1] == 1, name, "want the last at 1, got %v", p[len(p)-1])
	for i := range p {
		c.quantity(unit, formatNumber(p[i]), x[i])
		if i > 0 {
			c.require(p[i] > p[i-1], formatNumber(p[i]), "want more than %v, the one before it", p[i-1])
			c.require(x[i] >= x[i-1], formatNumber(p[i]), "want at least %s, the one before it, got %s", unit.format(x[i-1]), unit.format(x[i]))
		}
	}
	if len(c) > 0 {
		return nil, c.err()
	}
	d := &Quantiles{p: slices.Clone(p), x: slices.Clone(x), unit: unit}
	for i := range d.guide {
		d.guide[i] = uint16(d.segment(float64(i) / guideLen))
	}
	return d, nil
}

// segment returns the last point but one, or before, with p <= u.
func (d *Quantiles) segment(u float64) int {
	return sort.Search(len(d.p)-2, func(i int) bool { return d.p[i+1] > u })
}

// Draw implements Dist.
func (d *Quantiles) Draw(s *sim.Stream) float64 {
	u := s.Float64()
	i := int(d.guide[int(u*guideLen)])
	for u >= d.p[i+1] { // u < 1, so it ends
		i++
	}
	return d.between(i, u)
}

func (d *Quantiles) between(i int, u float64) float64 {
	part := (u - d.p[i]) / (d.p[i+1] - d.p[i])
	return min(d.x[i]+float64(part*(d.x[i+1]-d.x[i])), d.x[i+1])
}

// Mean implements Dist.
func (d *Quantiles) Mean() float64 { return d.meanUpTo(d.x[len(d.x)-1]) }

// Quantile implements Dist.
func (d *Quantiles) Quantile(p float64) float64 {
	p = min(max(p, 0), 1)
	return d.between(d.segment(p), p)
}

// CDF implements Dist.
func (d *Quantiles) CDF(x float64) float64 {
	i := sort.Search(len(d.x), func(i int) bool { return d.x[i] > x })
	switch i {
	case 0:
		return 0
	case len(d.x):
		return 1
	}
	part := (x - d.x[i-1]) / (d.x[i] - d.x[i-1])
	return d.p[i-1] + float64(part*(d.p[i]-d.p[i-1]))
}

func (d *Quantiles) String() string {
	var items []string
	for i := range d.p {
		items = append(items, formatNumber(d.p[i]), d.unit.format(d.x[i]))
	}
	return spell("quantiles", items...)
}

func (d *Quantiles) meanUpTo(limit float64) float64 {
	var mean float64
	for i := range len(d.p) - 1 {
		lo, hi := d.x[i], d.x[i+1]
		average := limit
		switch {
		case hi <= limit:
			average = float64(0.5*lo) + float64(0.5*hi)
		case lo < limit:
			average = limit - float64(0.5*(float64((limit-lo)*(limit-lo))/(hi-lo)))
		}
		mean += float64(average * (d.p[i+1] - d.p[i]))
	}
	return mean
}
