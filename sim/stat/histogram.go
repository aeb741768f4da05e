package stat

import (
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"brokersim/sim"
)

// HistogramMax is the largest value a Histogram tells apart, a little under 4 h
// 54 min in ns; larger ones are counted there.
const HistogramMax = 1<<44 - 1

// digits is how many significant digits a Histogram keeps, and subBits the
// resolution that follows from it: values below 2^subBits are exact.
const (
	digits  = 3
	subBits = 11
)

// Histogram counts non-negative observations in an HdrHistogram of 3
// significant digits from 1 ns to HistogramMax (280 KiB, allocated by the first
// observation) and keeps an exact Tally beside. The zero Histogram is empty
// and ready. Do not copy one that is in use.
type Histogram struct {
	Tally   Tally // exact
	hdr     *hdrhistogram.Histogram
	clamped int64
}

// Add records one observation.
func (h *Histogram) Add(v int64) {
	if h.hdr == nil {
		h.hdr = hdrhistogram.New(1, HistogramMax, digits)
	}
	h.Tally.Add(v)
	if uint64(v) > HistogramMax {
		h.clamped++
		v = min(max(v, 0), HistogramMax)
	}
	// In range by now, so that there is no error to see.
	_ = h.hdr.RecordValue(v)
}

// AddTime records a length of virtual time.
func (h *Histogram) AddTime(d sim.Time) { h.Add(int64(d)) }

// Merge adds the observations of o. The order of merging does not matter.
func (h *Histogram) Merge(o *Histogram) {
	if o.hdr == nil {
		return
	}
	if h.hdr == nil {
		h.hdr = hdrhistogram.New(1, HistogramMax, digits)
	}
	h.Tally.Merge(o.Tally)
	h.clamped += o.clamped
	// Histogram.Merge of hdrhistogram-go is twenty times slower.
	o.each(func(lowest, _, count int64) { _ = h.hdr.RecordValues(lowest, count) })
}

// each calls f for each cell that counts something, with the range of values
// that it stands for.
func (h *Histogram) each(f func(lowest, highest, count int64)) {
	for i, count := range h.hdr.Export().Counts {
		if count == 0 {
			continue
		}
		// The first 2^subBits cells are one wide, each further half as many
		// twice as wide as those before.
		const half = 1 << (subBits - 1)
		shift := max(i/half-1, 0)
		lowest := int64(i-shift*half) << shift
		f(lowest, lowest+1<<shift-1, count)
	}
}

// Reset forgets all observations and keeps the memory.
func (h *Histogram) Reset() {
	h.Tally = Tally{}
	h.clamped = 0
	if h.hdr != nil {
		h.hdr.Reset()
	}
}

// Count returns the number of observations.
func (h *Histogram) Count() int64 { return h.Tally.n }

// Min returns the smallest observation, exactly; 0 if there is none.
func (h *Histogram) Min() int64 { return h.Tally.min }

// Max returns the largest observation, exactly; 0 if there is none.
func (h *Histogram) Max() int64 { return h.Tally.max }

// Mean returns the exact mean; NaN if there is no observation.
func (h *Histogram) Mean() float64 { return h.Tally.Mean() }

// Clamped returns how many observations were negative, or above HistogramMax,
// and stand in the histogram (not in the Tally) at the nearer end.
func (h *Histogram) Clamped() int64 { return h.clamped }

// Quantile returns a value that at least the share q of the observations do
// not exceed: the one of rank ceil(q n), rounded up to the histogram's
// resolution (at most 0.1 %) but never beyond Max. 0 if there is no
// observation.
func (h *Histogram) Quantile(q float64) int64 { return h.valueAtRank(quantileRank(q, h.Count())) }

// quantileRank returns ceil(q n), within 1..n.
func quantileRank(q float64, n int64) int64 {
	rank := math.Ceil(float64(q * float64(n)))
	switch {
	case !(rank >= 1):
		return 1
	case rank >= float64(n):
		return n
	}
	// 0.9 * 10 must be rank 9 although 0.9 in binary is a little more.
	if below := rank - 1; float64(q*float64(n))-below < 1e-9*rank && below >= 1 {
		return int64(below)
	}
	return int64(rank)
}

// valueAtRank returns the value of the rank-th smallest observation, rounded
// up to the resolution.
func (h *Histogram) valueAtRank(rank int64) int64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	// ValueAtPercentile rounds percentile/100*n to the nearest rank, so this
	// finds the rank asked for.
	v := h.hdr.ValueAtPercentile(float64(rank) / float64(n) * 100)
	return h.within(v)
}

// within undoes the rounding to the resolution where an extreme is known better.
func (h *Histogram) within(v int64) int64 {
	return max(min(v, h.Tally.max), h.Tally.min)
}

// lowestEquivalent returns the smallest value that the histogram counts
// together with v.
func lowestEquivalent(v int64) int64 {
	shift := max(bits.Len64(uint64(v))-subBits, 0)
	return v >> shift << shift
}

// Each calls f for each counted value in ascending order; value is the
// largest that is counted there.
func (h *Histogram) Each(f func(value, count int64)) {
	if h.hdr == nil {
		return
	}
	h.each(func(_, highest, count int64) { f(h.within(highest), count) })
}

// SpectrumPoint is a point of a percentile spectrum.
type SpectrumPoint struct {
	Quantile float64 // [0, 1]
	Value    int64
}

// Spectrum returns the points for a plot of value over 1/(1-quantile) on a
// log axis: perHalving points (>= 1) each time that 1-quantile halves, down
// to one observation, then the maximum. Nil if there is no observation.
func (h *Histogram) Spectrum(perHalving int) []SpectrumPoint {
	n := h.Count()
	if n == 0 {
		return nil
	}
	perHalving = max(perHalving, 1)
	var points []SpectrumPoint
	var percentiles []float64
	add := func(q float64) {
		points = append(points, SpectrumPoint{Quantile: q})
		percentiles = append(percentiles, float64(quantileRank(q, n))/float64(n)*100)
	}
	for tail := 1.0; float64(tail*float64(n)) >= 1; tail /= 2 {
		for i := range perHalving {
			above := tail - tail/2*float64(i)/float64(perHalving)
			if float64(above*float64(n)) >= 1 {
				add(1 - above)
			}
		}
	}
	add(1)
	for i, v := range h.hdr.ValueAtPercentilesSlice(percentiles) {
		points[i].Value = h.within(v)
	}
	return points
}
