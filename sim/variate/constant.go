package variate

import "brokersim/sim"

// Constant always takes the same value.
type Constant struct {
	value float64
	unit  Unit
}

// NewConstant returns the constant value, in base units, 0 or more.
func NewConstant(unit Unit, value float64) (Constant, error) {
	var c checks
	c.quantity(unit, "value", value)
	return Constant{value, unit}, c.err()
}

// Draw returns the value; it takes nothing from the stream.
func (d Constant) Draw(*sim.Stream) float64 { return d.value }

// Mean returns the value.
func (d Constant) Mean() float64 { return d.value }

// Quantile returns the value.
func (d Constant) Quantile(float64) float64 { return d.value }

// CDF is 0 below the value and 1 from there on.
func (d Constant) CDF(x float64) float64 { return step(x >= d.value) }

func (d Constant) String() string { return "constant(" + d.unit.format(d.value) + ")" }

func (d Constant) meanUpTo(limit float64) float64 { return min(d.value, limit) }

func step(up bool) float64 {
	if up {
		return 1
	}
	return 0
}
