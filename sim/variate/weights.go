package variate

import "math"

// weights are the probabilities of the parts of a mixture. The last part's is
// what the others leave of 1; given keeps what was written.
type weights struct {
	given      []float64
	cumulative []float64 // the last is 1
}

const (
	weightsTolerance = 1e-9
	partsMax         = 1000
)

// newWeights checks that there are weights, all in (0, 1], that add up to 1.
func newWeights(c *checks, given []float64) weights {
	w := weights{given, make([]float64, len(given))}
	c.require(len(given) >= 1 && len(given) <= partsMax, "weights", "want between 1 and %d of them, got %d", partsMax, len(given))
	var sum float64
	for i, g := range given {
		c.require(g > 0 && g <= 1, "weights", "want more than 0 and at most 1, got %v", g)
		sum += g
		w.cumulative[i] = min(sum, 1)
	}
	if len(given) > 0 {
		c.require(math.Abs(sum-1) <= weightsTolerance, "weights", "want a sum of 1, got %v", sum)
		w.cumulative[len(given)-1] = 1
	}
	return w
}

// pick returns the part that u in [0, 1) falls on.
func (w *weights) pick(u float64) int {
	for i, c := range w.cumulative {
		if u < c {
			return i
		}
	}
	return len(w.cumulative) - 1
}

// mean averages a function of the parts.
func (w *weights) mean(of func(i int) float64) float64 {
	var sum, below float64
	for i, c := range w.cumulative {
		if c > below { // 0 * Inf would be NaN
			sum += float64((c - below) * of(i))
		}
		below = c
	}
	return sum
}
