package stat

import (
	"math"
)

// FractionInterval returns k/n, k of n independent trials, with the exact
// binomial interval of Clopper and Pearson (1934). It is never a bare 0: none
// of n gives the upper bound 1-(alpha/2)^(1/n).
func FractionInterval(k, n int64, confidence float64) Interval {
	switch {
	case n <= 0:
		return none(math.NaN(), confidence, "no trials")
	case k < 0 || k > n:
		return none(math.NaN(), confidence, "%d of %d trials: want between 0 and as many", k, n)
	}
	p := float64(k) / float64(n)
	if why := badConfidence(confidence); why != "" {
		return none(p, confidence, "%s", why)
	}
	return exactBinomial(p, float64(n), confidence)
}

// exactBinomial is Clopper and Pearson's interval for a share p of n trials,
// which need not be whole numbers.
func exactBinomial(p, n, confidence float64) Interval {
	alpha := 1 - confidence
	k := float64(p * n)
	i := Interval{Value: p, Lo: 0, Hi: 1, Confidence: confidence}
	if p > 0 {
		i.Lo = betaQuantile(alpha/2, k, n-k+1)
	}
	if p < 1 {
		i.Hi = betaQuantile(1-alpha/2, k+1, n-k)
	}
	return i
}

// ClusterFraction returns the share sum(k)/sum(n) of trials that come in
// clusters, such as replications or the batches of one run, and may depend on
// each other within one. The interval is Korn and Graubard's (1998): exact
// binomial with the number of trials that would be as informative if they
// were independent. Where no trial (or every one) counts, there is nothing to
// judge dependence by, and trials are taken to be independent.
func ClusterFraction(k, n []int64, confidence float64) Interval {
	if len(k) != len(n) {
		return none(math.NaN(), confidence, "%d counts for %d clusters", len(k), len(n))
	}
	var ks, ns int64
	for i := range k {
		if k[i] < 0 || k[i] > n[i] {
			return none(math.NaN(), confidence, "cluster %d has %d of %d trials: want between 0 and as many", i, k[i], n[i])
		}
		ks += k[i]
		ns += n[i]
	}
	if ks == 0 || ks == ns {
		return FractionInterval(ks, ns, confidence)
	}
	p := float64(ks) / float64(ns)
	if why := badConfidence(confidence); why != "" {
		return none(p, confidence, "%s", why)
	}
	if len(k) < 2 {
		return none(p, confidence, "1 cluster, an interval needs 2")
	}
	return exactBinomial(p, effectiveTrials(k, n, p, confidence), confidence)
}

// effectiveTrials returns the number of independent trials that would tell p
// as well as the clusters do, by the variance of the ratio estimate p and the
// degrees of freedom that it has; at most the trials made.
func effectiveTrials(k, n []int64, p, confidence float64) float64 {
	var total, squares, used float64
	for i := range k {
		total += float64(n[i])
		if n[i] > 0 {
			used++
		}
		d := float64(k[i]) - float64(p*float64(n[i]))
		squares += float64(d * d)
	}
	if used < 2 || squares == 0 {
		return total
	}
	variance := squares * used / (used - 1) / float64(total*total)
	few := studentT(confidence, int64(used)-1) / studentT(confidence, int64(max(total-1, 1)))
	return min(p*(1-p)/variance/float64(few*few), total)
}
