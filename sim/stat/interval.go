package stat

import (
	"fmt"
	"math"
)

// Interval is an estimate with its confidence interval. Where none can be
// given, Why says so, Lo and Hi are NaN, and Value is the estimate alone (NaN
// if there is not even that).
type Interval struct {
	Value, Lo, Hi float64
	Confidence    float64 // such as 0.95
	Why           string
}

// OK reports whether there is an interval.
func (i Interval) OK() bool { return i.Why == "" }

// Contains reports whether the interval is there and holds x.
func (i Interval) Contains(x float64) bool { return i.OK() && i.Lo <= x && x <= i.Hi }

// Scale returns the interval in another unit: all three values times f > 0.
func (i Interval) Scale(f float64) Interval {
	i.Value, i.Lo, i.Hi = float64(i.Value*f), float64(i.Lo*f), float64(i.Hi*f)
	return i
}

func none(value, confidence float64, format string, args ...any) Interval {
	return Interval{Value: value, Lo: math.NaN(), Hi: math.NaN(), Confidence: confidence, Why: fmt.Sprintf(format, args...)}
}

// plural is a count with its noun.
func plural[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// badConfidence returns why an interval of that confidence cannot be.
func badConfidence(confidence float64) string {
	if confidence > 0 && confidence < 1 {
		return ""
	}
	return fmt.Sprintf("confidence %v: want above 0 and below 1", confidence)
}

// MeanInterval returns the mean of independent observations, such as one
// figure of each replication, with Student's t interval (Student 1908).
func MeanInterval(xs []float64, confidence float64) Interval {
	m, v := meanVariance(xs)
	switch n := len(xs); {
	case badConfidence(confidence) != "":
		return none(m, confidence, "%s", badConfidence(confidence))
	case n < 2:
		return none(m, confidence, "%s, an interval of their mean needs 2", plural(n, "observation"))
	default:
		half := float64(studentT(confidence, int64(n-1)) * math.Sqrt(v/float64(n)))
		return Interval{Value: m, Lo: m - half, Hi: m + half, Confidence: confidence}
	}
}

// DifferenceInterval returns the mean of a[i]-b[i] with Student's t interval.
// With common random numbers, i.e. a[i] and b[i] from the same seed, it is
// much narrower than the two means' own.
func DifferenceInterval(a, b []float64, confidence float64) Interval {
	if len(a) != len(b) {
		return none(math.NaN(), confidence, "%d and %d observations: a paired difference needs as many of both", len(a), len(b))
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return MeanInterval(d, confidence)
}

// RatioInterval returns mean(num)/mean(den) of pairs that are independent of
// each other (num[i] and den[i] need not be), such as the rejected and the
// sent of each replication or batch. The interval is Fieller's (1954), exact
// for normal pairs; there is none where the denominator's mean is not
// distinguishable from 0.
func RatioInterval(num, den []float64, confidence float64) Interval {
	if len(num) != len(den) {
		return none(math.NaN(), confidence, "%d numerators and %d denominators", len(num), len(den))
	}
	y, vy := meanVariance(num)
	x, vx := meanVariance(den)
	n := len(num)
	ratio := math.NaN()
	if x != 0 {
		ratio = y / x
	}
	if why := badConfidence(confidence); why != "" {
		return none(ratio, confidence, "%s", why)
	}
	if n < 2 {
		return none(ratio, confidence, "%s, an interval of their ratio needs 2", plural(n, "pair"))
	}
	var cov float64
	for i := range num {
		cov += float64((num[i] - y) * (den[i] - x))
	}
	cov /= float64(n - 1)

	// The bounds are the roots r of (y - r x)² = t² (vy - 2 r cov + r² vx)/n.
	t := studentT(confidence, int64(n-1))
	w := float64(t*t) / float64(n)
	a := float64(x*x) - float64(w*vx)
	b := float64(x*y) - float64(w*cov)
	c := float64(y*y) - float64(w*vy)
	if !(a > 0) {
		return none(ratio, confidence, "the denominator (mean %.3g) is not distinguishable from 0 in %s", x, plural(n, "pair"))
	}
	root := math.Sqrt(max(float64(b*b)-float64(a*c), 0))
	return Interval{Value: ratio, Lo: (b - root) / a, Hi: (b + root) / a, Confidence: confidence}
}

// meanVariance returns mean and unbiased variance in two passes (Chan, Golub
// and LeVeque 1983); the variance of fewer than 2 is NaN.
func meanVariance(xs []float64) (mean, variance float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x
	}
	mean /= n
	if n < 2 {
		return mean, math.NaN()
	}
	var squares, rest float64
	for _, x := range xs {
		d := x - mean
		squares += float64(d * d)
		rest += d
	}
	return mean, max(squares-float64(rest*rest)/n, 0) / (n - 1)
}
