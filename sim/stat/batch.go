package stat

import (
	"fmt"
	"math"
	"slices"
)

// batchesMax bounds the batches that BatchMeans keeps; when there are as many,
// neighbours are merged and later batches are twice as long.
const batchesMax = 1024

// BatchMeans keeps one run of observations, in their order, as the sums of at
// most 1024 batches (16 KiB) of equal length: 5 observations at first, as
// MSER-5 has it, and always 5 times a power of two. The zero BatchMeans is
// empty and ready.
type BatchMeans struct {
	sums  []sum128 // of complete batches
	size  int64    // observations in a batch
	open  sum128   // the incomplete batch
	in    int64    // observations in it
	total sum128   // of complete batches
}

const batchSizeFirst = 5

// Add records the next observation.
func (b *BatchMeans) Add(v int64) {
	b.open.add(v)
	if b.in++; b.in >= b.size {
		b.closeBatch()
	}
}

func (b *BatchMeans) closeBatch() {
	if b.size == 0 { // the first observation
		b.size = batchSizeFirst
		b.sums = make([]sum128, 0, batchesMax)
		return
	}
	b.total.merge(b.open)
	b.sums = append(b.sums, b.open)
	b.open, b.in = sum128{}, 0
	if len(b.sums) == batchesMax {
		b.sums = mergeNeighbours(b.sums, 2)
		b.size *= 2
	}
}

// mergeNeighbours sums each k batches into one, in place; a remainder is dropped.
func mergeNeighbours(sums []sum128, k int) []sum128 {
	m := len(sums) / k
	for i := range m {
		s := sums[i*k]
		for _, o := range sums[i*k+1 : (i+1)*k] {
			s.merge(o)
		}
		sums[i] = s
	}
	return sums[:m]
}

// Count returns the number of observations.
func (b *BatchMeans) Count() int64 { return int64(len(b.sums))*b.size + b.in }

// Mean returns the mean of all observations; NaN if there is none.
func (b *BatchMeans) Mean() float64 {
	n := b.Count()
	if n == 0 {
		return math.NaN()
	}
	all := b.total
	all.merge(b.open)
	return all.over(n)
}

// WarmUp returns how many observations to leave out at the start, by MSER-5
// (White 1997; White, Cobb and Spratt 2000): the cut, in whole batches, that
// makes the standard error of the mean of the rest smallest. ok is false
// where the minimum is not in the first half of the run, which then is too
// short to tell.
func (b *BatchMeans) WarmUp() (observations int64, ok bool) {
	cut, ok := mser(batchMeans(b.sums, b.size))
	return int64(cut) * b.size, ok
}

func batchMeans(sums []sum128, size int64) []float64 {
	ms := make([]float64, len(sums))
	for i := range sums {
		ms[i] = sums[i].over(size)
	}
	return ms
}

// MSER5 returns the warm-up of a series that is held whole; see
// [BatchMeans.WarmUp].
func MSER5(xs []float64) (observations int, ok bool) {
	means := make([]float64, len(xs)/batchSizeFirst)
	for i := range means {
		means[i], _ = meanVariance(xs[i*batchSizeFirst : (i+1)*batchSizeFirst])
	}
	cut, ok := mser(means)
	return cut * batchSizeFirst, ok
}

// mserTail is the number of batches at the end where no cut is looked for:
// few batches may by chance lie close together.
const mserTail = 5

// mser returns the d that minimises the sum of squared deviations of ys[d:]
// over (len(ys)-d)².
func mser(ys []float64) (cut int, ok bool) {
	n := len(ys)
	if n < 2*mserTail {
		return 0, false
	}
	// Sums over suffixes, of deviations from the mean of all lest they cancel.
	all, _ := meanVariance(ys)
	var sum, squares float64
	best := math.Inf(1)
	for d := n - 1; d >= 0; d-- {
		y := ys[d] - all
		sum += y
		squares += float64(y * y)
		k := float64(n - d)
		// <=: of equal cuts the earliest.
		if s := (squares - float64(sum*sum)/k) / float64(k*k); n-d >= mserTail && s <= best {
			best, cut = s, d
		}
	}
	return cut, cut <= n/2
}

// Batching of [BatchMeans.Interval].
const (
	fineMax    = 512 // batches in the correlation check: 256 to 511 of a long run
	coarseness = 8   // of these in each batch of the interval: 32 to 63
	batchesMin = 10
	// lagMax is the largest lag-1 correlation of the finer batches. Law and
	// Carson (1979) judge 400 batches by it, then use 40. A geometrically
	// decaying correlation of 0.4 leaves 0.06 between the coarser.
	lagMax = 0.4
)

// Interval returns the mean with its interval by batch means: Student's t over
// 10 to 63 batches that are long enough to be nearly independent. There is none
// while they are not, i.e. while batches an eighth as long have a lag-1
// correlation above 0.4 (after Law and Carson 1979; Schmeiser 1982 on the
// number of batches).
func (b *BatchMeans) Interval(confidence float64) Interval { return b.IntervalAfter(0, confidence) }

// IntervalAfter is Interval without the first skip observations, rounded up to
// whole batches, as given by [BatchMeans.WarmUp].
func (b *BatchMeans) IntervalAfter(skip int64, confidence float64) Interval {
	kept, n, sum := b.sums, b.Count(), b.total
	if n == 0 || skip >= n {
		return none(math.NaN(), confidence, "no observations")
	}
	sum.merge(b.open)
	if skip > 0 {
		first := min((skip+b.size-1)/b.size, int64(len(kept)))
		kept = kept[first:]
		n -= first * b.size
		sum = b.open
		for _, s := range kept {
			sum.merge(s)
		}
		if n == 0 {
			return none(math.NaN(), confidence, "no observations")
		}
	}
	mean := sum.over(n)
	batches, size, why := b.independent(kept, n, confidence)
	if why != "" {
		return none(mean, confidence, "%s", why)
	}
	i := MeanInterval(batchMeans(batches, size), confidence)
	half := (i.Hi - i.Lo) / 2
	return Interval{Value: mean, Lo: mean - half, Hi: mean + half, Confidence: confidence}
}

// FractionInterval returns the share of ones in a run of zeros and ones, with
// the interval of [ClusterFraction] over the batches of Interval. A run
// without a one, or without a zero, is taken for independent trials.
func (b *BatchMeans) FractionInterval(confidence float64) Interval {
	ones := b.total
	ones.merge(b.open)
	k, n := int64(ones.lo), b.Count()
	if ones.hi != 0 || k < 0 || k > n {
		return none(b.Mean(), confidence, "observations other than 0 and 1")
	}
	if k == 0 || k == n {
		return FractionInterval(k, n, confidence)
	}
	batches, size, why := b.independent(b.sums, n, confidence)
	if why != "" {
		return none(b.Mean(), confidence, "%s", why)
	}
	p := b.Mean()
	ks, ns := make([]int64, len(batches)), make([]int64, len(batches))
	for i := range batches {
		ks[i], ns[i] = int64(batches[i].lo), size
	}
	informative := effectiveTrials(ks, ns, p, confidence) / float64(size*int64(len(batches)))
	return exactBinomial(p, float64(informative*float64(n)), confidence)
}

// independent merges batches of b.size, n observations with the open batch,
// until they are nearly independent, or says why they cannot be.
func (b *BatchMeans) independent(batches []sum128, n int64, confidence float64) (merged []sum128, size int64, why string) {
	if why := badConfidence(confidence); why != "" {
		return nil, 0, why
	}
	if len(batches) < batchesMin*coarseness {
		return nil, 0, fmt.Sprintf("%s, batch means need %d", plural(n, "observation"), batchesMin*coarseness*b.size)
	}
	fine := slices.Clone(batches)
	size = b.size
	for len(fine) >= fineMax {
		fine = mergeNeighbours(fine, 2)
		size *= 2
	}
	if r := lag1(batchMeans(fine, size)); r > lagMax {
		return nil, 0, fmt.Sprintf("batches of %s have a lag-1 correlation of %.2f, above %.1f: the run is too short", plural(size, "observation"), r, lagMax)
	}
	return mergeNeighbours(fine, coarseness), size * coarseness, ""
}

// lag1 returns the lag-1 autocorrelation of a series, 0 if it is constant.
func lag1(xs []float64) float64 {
	mean, _ := meanVariance(xs)
	var num, den float64
	for i, x := range xs {
		d := x - mean
		den += float64(d * d)
		if i > 0 {
			num += float64(d * (xs[i-1] - mean))
		}
	}
	if den == 0 {
		return 0
	}
	return num / den
}
