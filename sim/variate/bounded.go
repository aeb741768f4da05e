package variate

import (
	"math"

	"brokersim/sim"
)

// Bounded is min(shift + X, max) of a distribution X. What X has beyond max
// falls on max; it is not drawn again.
type Bounded struct {
	inner      limited
	shift, max float64 // max is +Inf where there is none
	unit       Unit
}

// limited is implemented by every distribution of this package.
type limited interface {
	Dist
	meanUpTo(limit float64) float64 // E min(X, limit), limit > 0
}

// NewBounded returns min(shift + inner, limit). A limit of +Inf is none; inner
// must be of this package.
func NewBounded(unit Unit, inner Dist, shift, limit float64) (Bounded, error) {
	var c checks
	in, ok := inner.(limited)
	c.require(ok, "distribution", "want one of package variate, got %T", inner)
	c.quantity(unit, "shift", shift)
	if !math.IsInf(limit, 1) {
		c.positive(unit, "max", limit)
	}
	if len(c) == 0 {
		least := shift + in.Quantile(0)
		c.require(limit > least, "max", "want more than the least value %s, got %s", unit.format(least), unit.format(limit))
	}
	return Bounded{in, shift, limit, unit}, c.err()
}

// Draw implements Dist.
func (d Bounded) Draw(s *sim.Stream) float64 { return min(d.shift+d.inner.Draw(s), d.max) }

// Mean implements Dist.
func (d Bounded) Mean() float64 {
	if math.IsInf(d.max, 1) {
		return d.shift + d.inner.Mean()
	}
	return d.shift + d.inner.meanUpTo(d.max-d.shift)
}

// Quantile implements Dist.
func (d Bounded) Quantile(p float64) float64 { return min(d.shift+d.inner.Quantile(p), d.max) }

// CDF implements Dist.
func (d Bounded) CDF(x float64) float64 {
	if x >= d.max {
		return 1
	}
	return d.inner.CDF(x - d.shift)
}

func (d Bounded) String() string {
	inner := d.inner.String()
	text := inner[:len(inner)-1]
	if d.shift != 0 {
		text += ", shift=" + d.unit.format(d.shift)
	}
	if !math.IsInf(d.max, 1) {
		text += ", max=" + d.unit.format(d.max)
	}
	return text + ")"
}

func (d Bounded) meanUpTo(limit float64) float64 {
	limit = min(limit, d.max)
	if limit <= d.shift {
		return limit
	}
	return d.shift + d.inner.meanUpTo(limit-d.shift)
}
