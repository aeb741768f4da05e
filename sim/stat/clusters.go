package stat

import (
	"math"
	"math/bits"
	"slices"
)

// Clusters counts observations coarsely (8 cells to each doubling), apart for
// each cluster: a batch of one run, or a run of many. From it follows how
// much less a correlated observation tells than an independent one, and so
// the interval of a quantile, whose value comes from a Histogram of the same
// observations. It keeps at most 128 clusters (340 KiB); when there are as
// many, neighbours are merged. The zero Clusters is empty and ready.
//
// Use either Add, in the order of one run, or AddRun, not both.
type Clusters struct {
	closed []cluster
	open   cluster
	size   int64 // observations, or runs, in a closed cluster
	in     int64 // in the open one
	runs   bool  // clusters are runs, which are independent
}

const (
	clustersMax = 128
	cellBits    = 3
	cellCount   = (44 - cellBits + 1) << cellBits // up to HistogramMax
)

type cluster struct {
	n     int64
	cells [cellCount]int64
}

func (c *cluster) merge(o *cluster) {
	c.n += o.n
	for i, k := range o.cells {
		c.cells[i] += k
	}
}

// upTo returns the number of observations in cells 0 to i.
func (c *cluster) upTo(i int) (k int64) {
	for _, x := range c.cells[:i+1] {
		k += x
	}
	return k
}

// cellOf returns v's cell: values below 16 have their own, and then each
// doubling has 8. What a Histogram clamps is clamped here.
func cellOf(v int64) int {
	if uint64(v) > HistogramMax {
		v = min(max(v, 0), HistogramMax)
	}
	const own = 2<<cellBits - 1 // the largest value with a cell of its own
	shift := bits.Len64(uint64(v)|own) - cellBits - 1
	return shift<<cellBits + int(v>>shift)
}

// Add records the next observation of a run.
func (c *Clusters) Add(v int64) {
	c.open.cells[cellOf(v)]++
	if c.in++; c.in >= c.size {
		c.closeOpen()
	}
}

// AddRun records all observations of another run, an independent one. The
// order in which runs are added matters once there are 128.
func (c *Clusters) AddRun(o *Clusters) {
	c.runs = true
	open := o.openCluster()
	c.open.merge(&open)
	for i := range o.closed {
		c.open.merge(&o.closed[i])
	}
	if c.in++; c.in >= c.size {
		c.closeOpen()
	}
}

// openCluster returns the open cluster with its count, which Add leaves to be
// told from in.
func (c *Clusters) openCluster() cluster {
	open := c.open
	if !c.runs {
		open.n = c.in
	}
	return open
}

func (c *Clusters) closeOpen() {
	c.size = max(c.size, 1)
	c.closed = append(c.closed, c.openCluster())
	c.open, c.in = cluster{}, 0
	if len(c.closed) == clustersMax {
		c.closed = mergeClusters(c.closed, 2)
		c.size *= 2
	}
}

// mergeClusters sums each k clusters into one, in place; a remainder is dropped.
func mergeClusters(cs []cluster, k int) []cluster {
	m := len(cs) / k
	for i := range m {
		s := cs[i*k]
		for j := i*k + 1; j < (i+1)*k; j++ {
			s.merge(&cs[j])
		}
		cs[i] = s
	}
	return cs[:m]
}

// QuantileInterval returns the q-quantile of h, which must have seen the same
// observations, with its interval: the order statistics that bound it in as
// many independent observations as would be as informative (Woodruff 1952;
// number after Korn and Graubard 1998). There is none from fewer than 8
// clusters, while batches of one run are correlated, or too near to an end of
// the distribution.
func (c *Clusters) QuantileInterval(h *Histogram, q, confidence float64) Interval {
	value, why := h.quantile(q, confidence)
	if why != "" {
		return none(value, confidence, "%s", why)
	}
	const groups = 4 // of closed clusters to each one that is judged by
	independent := c.closed
	if !c.runs {
		independent = mergeClusters(slices.Clone(c.closed), groups)
	}
	if len(independent) < 8 {
		return none(value, confidence, "%s of observations, a quantile needs 8", plural(len(independent), "cluster"))
	}
	cell := nearestCell(independent, q)
	k, n := countsUpTo(independent, cell)
	p := share(k, n)
	if p == 0 || p == 1 {
		// All in one cell: as good as constant at this resolution, or q
		// beyond what was seen.
		return h.orderInterval(q, confidence, float64(h.Count()))
	}
	if !c.runs {
		fk, fn := countsUpTo(c.closed, cell)
		if r := lag1(deviations(fk, fn, p)); r > lagMax {
			return none(value, confidence, "batches of %s have a lag-1 correlation of %.2f, above %.1f: the run is too short", plural(c.size, "observation"), r, lagMax)
		}
	}
	var seen int64
	for _, x := range n {
		seen += x
	}
	informative := effectiveTrials(k, n, p, confidence) / float64(seen)
	return h.orderInterval(q, confidence, informative*float64(h.Count()))
}

// nearestCell returns the cell up to which the share of observations is
// nearest to q, of those where it is neither 0 nor 1 if there is such a one.
func nearestCell(cs []cluster, q float64) int {
	var all cluster
	for i := range cs {
		all.merge(&cs[i])
	}
	best, distance := 0, math.Inf(1)
	var k int64
	for i, x := range all.cells {
		k += x
		if x == 0 || k == all.n {
			continue
		}
		if d := math.Abs(float64(k)/float64(all.n) - q); d < distance {
			best, distance = i, d
		}
	}
	return best
}

func countsUpTo(cs []cluster, cell int) (k, n []int64) {
	for i := range cs {
		k = append(k, cs[i].upTo(cell))
		n = append(n, cs[i].n)
	}
	return k, n
}

func share(k, n []int64) float64 {
	var ks, ns int64
	for i := range k {
		ks += k[i]
		ns += n[i]
	}
	return float64(ks) / float64(ns)
}

// deviations returns k[i] - p n[i].
func deviations(k, n []int64, p float64) []float64 {
	d := make([]float64, len(k))
	for i := range k {
		d[i] = float64(k[i]) - float64(p*float64(n[i]))
	}
	return d
}

// QuantileInterval returns the q-quantile of independent observations with
// its distribution-free interval between two order statistics (David and
// Nagaraja 2003, section 7.1), widened to the histogram's resolution.
func (h *Histogram) QuantileInterval(q, confidence float64) Interval {
	value, why := h.quantile(q, confidence)
	if why != "" {
		return none(value, confidence, "%s", why)
	}
	return h.orderInterval(q, confidence, float64(h.Count()))
}

// quantile returns the estimate, and why there cannot be an interval.
func (h *Histogram) quantile(q, confidence float64) (value float64, why string) {
	if h.Count() == 0 {
		return math.NaN(), "no observations"
	}
	value = float64(h.Quantile(q))
	if !(q > 0 && q < 1) {
		return value, "an extreme has no interval"
	}
	return value, badConfidence(confidence)
}

// orderInterval bounds the q-quantile by order statistics of m <= Count
// independent observations, stretched over all of them.
func (h *Histogram) orderInterval(q, confidence, m float64) Interval {
	value := float64(h.Quantile(q))
	mi := int64(m)
	lo, hi, ok := orderRanks(mi, q, confidence)
	if !ok {
		return none(value, confidence, "about %s, the %g-quantile needs %d", plural(mi, "independent observation"), q, quantileNeeds(q, confidence))
	}
	stretch := float64(h.Count()) / float64(mi)
	loRank := int64(float64(float64(lo-1)*stretch)) + 1
	hiRank := min(int64(math.Ceil(float64(hi)*stretch)), h.Count())
	return Interval{
		Value:      value,
		Lo:         float64(max(lowestEquivalent(h.valueAtRank(loRank)), h.Min())),
		Hi:         float64(h.valueAtRank(hiRank)),
		Confidence: confidence,
	}
}

// orderRanks returns the ranks lo < hi of n whose order statistics hold the
// q-quantile between them with the confidence given: neither side is missed
// with more than half of the rest. ok is false if n is too small.
func orderRanks(n int64, q, confidence float64) (lo, hi int64, ok bool) {
	tail := (1 - confidence) / 2
	// The number below the quantile is Binomial(n, q); below(r) is the
	// probability that it is less than r, so that rank r lies above it.
	below := func(r int64) float64 {
		return betaCDF(float64(n-r+1), float64(r), 1-q)
	}
	lo = largest(1, n, func(r int64) bool { return below(r) <= tail })
	hi = largest(1, n, func(r int64) bool { return below(r) < 1-tail }) + 1
	return lo, hi, lo >= 1 && hi <= n
}

// largest returns the largest r in from..to with holds(r), where holds is true
// up to there and false after; from-1 if it is never true.
func largest(from, to int64, holds func(int64) bool) int64 {
	for from <= to {
		mid := from + (to-from)/2
		if holds(mid) {
			from = mid + 1
		} else {
			to = mid - 1
		}
	}
	return to
}

// quantileNeeds returns the least number of independent observations whose
// extremes bound the q-quantile on both sides.
func quantileNeeds(q, confidence float64) int64 {
	rare := min(q, 1-q)
	return int64(min(math.Ceil(math.Log((1-confidence)/2)/math.Log1p(-rare)), 1<<62))
}
