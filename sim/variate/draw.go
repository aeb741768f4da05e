package variate

import "brokersim/sim"

// DrawMax is the largest value of DrawInt and DrawTime: 146 years in ns, so
// that adding one to an instant of a run does not overflow.
const DrawMax = 1 << 62

// DrawTime draws a duration from d, whose unit is ns, to the nearest ns.
func DrawTime(d Dist, s *sim.Stream) sim.Time { return sim.Time(Round(d.Draw(s))) }

// DrawInt draws a size or a count from d, to the nearest whole.
func DrawInt(d Dist, s *sim.Stream) int64 { return Round(d.Draw(s)) }

// Round returns x to the nearest whole, halves up, within [0, DrawMax]; NaN
// gives 0.
func Round(x float64) int64 {
	if !(x > 0) {
		return 0
	}
	if x >= DrawMax {
		return DrawMax
	}
	n := int64(x)
	if x-float64(n) >= 0.5 {
		n++
	}
	return n
}
