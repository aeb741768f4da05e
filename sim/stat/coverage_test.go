//go:build !race

package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// How often 95 % intervals hold the truth in 200 runs at fixed seeds: 95 % of
// the time with a standard error of 1.5 points. Intervals that are conservative
// by construction (of counts and quantiles) may hold it always. There is
// nothing concurrent in it for the race detector to watch.

type run func(r *rand.Rand) (i Interval, truth float64)

func coverage(t *testing.T, runs int, one run) float64 {
	t.Helper()
	covered, none := 0, 0
	for k := range runs {
		i, truth := one(rand.New(rand.NewPCG(20, uint64(k))))
		switch {
		case !i.OK():
			none++
		case i.Contains(truth):
			covered++
		}
	}
	if none > runs/50 {
		t.Errorf("no interval in %d of %d runs", none, runs)
	}
	return float64(covered) / float64(runs-none)
}

// waits runs a M/M/1 queue of load rho, service 1 ms, in its steady state, by
// Lindley's recursion.
func waits(r *rand.Rand, rho float64, n int, add func(int64)) {
	w := 0.0
	if r.Float64() < rho {
		w = r.ExpFloat64() / (1 - rho)
	}
	for range n {
		add(int64(w * 1e6))
		w = max(0, w+r.ExpFloat64()-r.ExpFloat64()/rho)
	}
}

func TestCoverage(t *testing.T) {
	const load = 0.5
	meanWait := load / (1 - load) * 1e6
	quantile := func(p float64) float64 { return math.Log(load/(1-p)) / (1 - load) * 1e6 }
	const runs, low = 200, 0.91
	for _, tc := range []struct {
		name string
		top  float64
		one  run
	}{
		{"mean of normal observations", 0.995, func(r *rand.Rand) (Interval, float64) {
			xs := make([]float64, 5)
			for i := range xs {
				xs[i] = 10 + r.NormFloat64()
			}
			return MeanInterval(xs, 0.95), 10
		}},
		{"paired difference", 0.995, func(r *rand.Rand) (Interval, float64) {
			a, b := make([]float64, 5), make([]float64, 5)
			for i := range a {
				common := 100 * r.NormFloat64()
				a[i], b[i] = common+1+r.NormFloat64(), common+r.NormFloat64()
			}
			i := DifferenceInterval(a, b, 0.95)
			if i.Hi-i.Lo > 20 {
				i.Lo = math.Inf(1) // what is common has not gone
			}
			return i, 1
		}},
		{"ratio of correlated normals", 0.995, func(r *rand.Rand) (Interval, float64) {
			num, den := make([]float64, 8), make([]float64, 8)
			for i := range num {
				common := r.NormFloat64()
				num[i], den[i] = 6+common+r.NormFloat64(), 3+common
			}
			return RatioInterval(num, den, 0.95), 2
		}},
		{"rare fraction", 1, func(r *rand.Rand) (Interval, float64) {
			var k int64
			for range 500 {
				if r.Float64() < 0.004 {
					k++
				}
			}
			return FractionInterval(k, 500, 0.95), 0.004
		}},
		{"fraction in uneven clusters", 1, func(r *rand.Rand) (Interval, float64) {
			var k, n []int64
			for range 20 {
				n = append(n, 100)
				k = append(k, 0)
				p := 0.2 * r.Float64()
				for range 100 {
					if r.Float64() < p {
						k[len(k)-1]++
					}
				}
			}
			return ClusterFraction(k, n, 0.95), 0.1
		}},
		{"quantile of independent observations", 1, func(r *rand.Rand) (Interval, float64) {
			h := new(Histogram)
			for range 400 {
				h.Add(int64(r.ExpFloat64() * 1e6))
			}
			return h.QuantileInterval(0.9, 0.95), -math.Log(0.1) * 1e6
		}},
		{"mean wait of one M/M/1 run", 0.995, func(r *rand.Rand) (Interval, float64) {
			var b BatchMeans
			waits(r, load, 10_000, b.Add)
			return b.Interval(0.95), meanWait
		}},
		{"share of waits above 4 ms in one M/M/1 run", 1, func(r *rand.Rand) (Interval, float64) {
			var b BatchMeans
			waits(r, load, 10_000, func(v int64) {
				if v > 4e6 {
					b.Add(1)
				} else {
					b.Add(0)
				}
			})
			return b.FractionInterval(0.95), load * math.Exp(-4*(1-load))
		}},
		{"0.9-quantile of one M/M/1 run", 1, func(r *rand.Rand) (Interval, float64) {
			var c Clusters
			h := new(Histogram)
			waits(r, load, 10_000, func(v int64) { c.Add(v); h.Add(v) })
			return c.QuantileInterval(h, 0.9, 0.95), quantile(0.9)
		}},
		{"0.99-quantile of M/M/1 replications", 1, func(r *rand.Rand) (Interval, float64) {
			var all Clusters
			h := new(Histogram)
			for range 20 {
				var c Clusters
				waits(r, load, 1000, func(v int64) { c.Add(v); h.Add(v) })
				all.AddRun(&c)
			}
			return all.QuantileInterval(h, 0.99, 0.95), quantile(0.99)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := coverage(t, runs, tc.one)
			t.Logf("%.3f", got)
			if got < low || got > tc.top {
				t.Errorf("covered %.3f of the time, want %v to %v", got, low, tc.top)
			}
		})
	}
}
