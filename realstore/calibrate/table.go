package calibrate

import (
	"math"
	"slices"
	"strconv"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// Of the tables: how near they are to what was seen, in how many points.
const (
	pointsMost   = 24
	distanceMost = 0.01 // Wasserstein, of the mean
	allMost      = 24   // as few observations are all kept
)

// fixed are the quantiles that each table has, as far as it has observations.
var fixed = []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999}

// table is the distribution of times that were seen, which it sorts.
func table(ns []float64) model.Table {
	slices.Sort(ns)
	limit := sim.Time(math.Ceil(tidy(ns[len(ns)-1])))
	return model.Table{Count: int64(len(ns)), Cap: limit, Takes: quantiles(ns)}
}

// quantiles is the quantile function through order statistics i/(n-1), thinned.
func quantiles(sorted []float64) variate.Dist {
	n := len(sorted)
	if sorted[0] == sorted[n-1] {
		return variate.Must(variate.NewConstant(variate.Duration, tidy(sorted[0])))
	}
	if n <= allMost {
		all := make([]float64, n)
		for i, x := range sorted {
			all[i] = tidy(x)
		}
		return variate.Must(variate.NewEmpirical(variate.Duration, all))
	}
	var p, x []float64
	for _, i := range thin(sorted) {
		at := float64(i) / float64(n-1)
		// Written with as many digits as tell it from 0 and 1; points that then
		// coincide are one.
		if i != 0 && i != n-1 {
			beyond := significant(1-at, 3)
			at = significant(1-beyond, 9)
		}
		value := tidy(sorted[i])
		if len(p) > 0 && !(at > p[len(p)-1]) {
			x[len(x)-1] = max(x[len(x)-1], value)
			continue
		}
		p, x = append(p, at), append(x, value)
	}
	return variate.Must(variate.NewQuantiles(variate.Duration, p, x))
}

// thin picks the order statistics to keep: the ends, the fixed quantiles, and
// then, again and again, the one that lies farthest from the lines, in the
// stretch that is farthest off as a whole.
func thin(sorted []float64) []int {
	n := len(sorted)
	kept := []int{0}
	for _, q := range fixed {
		if i := int(q * float64(n-1)); i > kept[len(kept)-1] && i < n-1 {
			kept = append(kept, i)
		}
	}
	kept = append(kept, n-1)
	var sum float64
	for _, v := range sorted {
		sum += v
	}
	type stretch struct {
		off      float64 // sum of distances
		farthest int
	}
	look := func(a, b int) (s stretch) {
		most := -1.0
		for i := a + 1; i < b; i++ {
			line := sorted[a] + float64((sorted[b]-sorted[a])*(float64(i-a)/float64(b-a)))
			off := math.Abs(sorted[i] - line)
			s.off += off
			if off > most {
				most, s.farthest = off, i
			}
		}
		return s
	}
	stretches := make([]stretch, len(kept)-1)
	total := 0.0
	for i := range stretches {
		stretches[i] = look(kept[i], kept[i+1])
		total += stretches[i].off
	}
	for len(kept) < pointsMost && total > float64(distanceMost*sum) {
		worst := 0
		for i, s := range stretches {
			if s.off > stretches[worst].off {
				worst = i
			}
		}
		at := stretches[worst].farthest
		left, right := look(kept[worst], at), look(at, kept[worst+1])
		total += left.off + right.off - stretches[worst].off
		kept = slices.Insert(kept, worst+1, at)
		stretches[worst] = left
		stretches = slices.Insert(stretches, worst+1, right)
	}
	return kept
}

// tidy rounds a time to a ns, or to 4 digits where that is coarser.
func tidy(ns float64) float64 { return significant(math.Round(ns), 4) }

// significant rounds to so many digits, as they are written.
func significant(x float64, digits int) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return y
}
