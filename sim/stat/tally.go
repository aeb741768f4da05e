package stat

import (
	"math"
	"math/big"
)

// Tally counts observations and keeps their exact sum, sum of squares and
// extremes. The zero Tally is empty and ready.
type Tally struct {
	n        int64
	min, max int64
	sum      sum128
	squares  sum192
}

// Add records one observation.
func (t *Tally) Add(v int64) {
	if t.n == 0 {
		t.min, t.max = v, v
	}
	t.n++
	t.min, t.max = min(t.min, v), max(t.max, v)
	t.sum.add(v)
	t.squares.addSquare(v)
}

// Merge adds the observations of o. The order of merging does not matter.
func (t *Tally) Merge(o Tally) {
	if o.n == 0 {
		return
	}
	if t.n == 0 {
		*t = o
		return
	}
	t.n += o.n
	t.min, t.max = min(t.min, o.min), max(t.max, o.max)
	t.sum.merge(o.sum)
	t.squares.merge(o.squares)
}

// Count returns the number of observations.
func (t *Tally) Count() int64 { return t.n }

// Min returns the smallest observation, 0 if there is none.
func (t *Tally) Min() int64 { return t.min }

// Max returns the largest observation, 0 if there is none.
func (t *Tally) Max() int64 { return t.max }

// Mean returns the mean, correctly rounded; NaN if there is no observation.
func (t *Tally) Mean() float64 {
	if t.n == 0 {
		return math.NaN()
	}
	return t.sum.over(t.n)
}

// Variance returns the unbiased sample variance, (n Σx² - (Σx)²) / (n (n-1)),
// computed in integers and rounded once; NaN below two observations.
func (t *Tally) Variance() float64 {
	if t.n < 2 {
		return math.NaN()
	}
	n := big.NewInt(t.n)
	sum := t.sum.big()
	num := new(big.Int).Mul(n, t.squares.big())
	num.Sub(num, sum.Mul(sum, sum))
	return quotient(num, new(big.Int).Mul(n, big.NewInt(t.n-1)))
}

// StdDev returns the square root of Variance.
func (t *Tally) StdDev() float64 { return math.Sqrt(t.Variance()) }
