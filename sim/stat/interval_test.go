package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func near(got, want, relative float64) bool {
	return math.Abs(got-want) <= relative*max(math.Abs(want), 1e-300)
}

func TestMeanIntervalAgainstTable(t *testing.T) {
	// 1..5: mean 3, variance 2.5; t(0.975, 4) = 2.776445 in the tables.
	got := MeanInterval([]float64{1, 2, 3, 4, 5}, 0.95)
	half := 2.7764451 * math.Sqrt(2.5/5)
	if got.Value != 3 || !near(got.Lo, 3-half, 1e-7) || !near(got.Hi, 3+half, 1e-7) || !got.OK() {
		t.Errorf("got %+v, want 3 +- %v", got, half)
	}
}

func TestMeanVarianceAgainstGonum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	xs := make([]float64, 1000)
	for i := range xs {
		xs[i] = 1e6 + r.NormFloat64()
	}
	m, v := meanVariance(xs)
	wantM, wantV := gonum.MeanVariance(xs, nil)
	if !near(m, wantM, 1e-14) || !near(v, wantV, 1e-10) {
		t.Errorf("mean %v, variance %v; want %v, %v", m, v, wantM, wantV)
	}
}

func TestWhyThereIsNoInterval(t *testing.T) {
	var few BatchMeans
	few.Add(1)
	walk := new(BatchMeans)
	var walkClusters, oneRun Clusters
	walkHist := new(Histogram)
	for i := range int64(5000) {
		walk.Add(i)
		walkClusters.Add(i)
		walkHist.Add(i)
	}
	oneRun.AddRun(&walkClusters)
	ten := histogramOf([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	for _, tc := range []struct {
		name string
		got  Interval
		why  string
	}{
		{"no replication", MeanInterval(nil, 0.95), "0 observations"},
		{"one replication", MeanInterval([]float64{1}, 0.95), "1 observation, an"},
		{"confidence 1", MeanInterval([]float64{1, 2}, 1), "confidence 1: want"},
		{"confidence NaN", FractionInterval(1, 2, math.NaN()), "confidence NaN: want"},
		{"unpaired", DifferenceInterval([]float64{1}, nil, 0.95), "1 and 0 observations"},
		{"one pair", RatioInterval([]float64{1}, []float64{2}, 0.95), "1 pair, an"},
		{"denominator about 0", RatioInterval([]float64{1, 2, 3}, []float64{-1, 1, 0.1}, 0.95), "not distinguishable from 0"},
		{"no trials", FractionInterval(0, 0, 0.95), "no trials"},
		{"more than all", FractionInterval(3, 2, 0.95), "3 of 2"},
		{"one cluster", ClusterFraction([]int64{1}, []int64{2}, 0.95), "1 cluster"},
		{"bad cluster", ClusterFraction([]int64{1, -1}, []int64{2, 2}, 0.95), "cluster 1 has -1 of 2"},
		{"no observation", new(BatchMeans).Interval(0.95), "no observations"},
		{"few observations", few.Interval(0.95), "1 observation, batch means need 400"},
		{"all skipped", walk.IntervalAfter(5000, 0.95), "no observations"},
		{"a trend", walk.Interval(0.95), "lag-1 correlation of 0.9"},
		{"not zeros and ones", walk.FractionInterval(0.95), "other than 0 and 1"},
		{"quantile of nothing", new(Histogram).QuantileInterval(0.5, 0.95), "no observations"},
		{"quantile of ten", ten.QuantileInterval(0.99, 0.95), "about 10 independent observations, the 0.99-quantile needs 368"},
		{"maximum", ten.QuantileInterval(1, 0.95), "extreme"},
		{"quantile of a trend", walkClusters.QuantileInterval(walkHist, 0.5, 0.95), "lag-1 correlation of 0.9"},
		{"quantile of one run", oneRun.QuantileInterval(walkHist, 0.5, 0.95), "1 cluster of observations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.got.OK() || !strings.Contains(tc.got.Why, tc.why) || !math.IsNaN(tc.got.Lo) || !math.IsNaN(tc.got.Hi) {
				t.Errorf("got %+v, want none because of %q", tc.got, tc.why)
			}
		})
	}
}

func TestQuantileNeeds(t *testing.T) {
	for _, q := range []float64{0.001, 0.1, 0.5, 0.9, 0.99, 0.999} {
		n := quantileNeeds(q, 0.95)
		if _, _, ok := orderRanks(n, q, 0.95); !ok {
			t.Errorf("%d observations are said to do for the %v-quantile, and don't", n, q)
		}
		if _, _, ok := orderRanks(n-1, q, 0.95); ok {
			t.Errorf("%d observations do for the %v-quantile, %d are said to be needed", n-1, q, n)
		}
	}
}

func TestOrderRanksAgainstBinomial(t *testing.T) {
	for _, n := range []int64{40, 333, 5000} {
		for _, q := range []float64{0.1, 0.5, 0.9} {
			lo, hi, ok := orderRanks(n, q, 0.95)
			if !ok {
				t.Fatalf("no ranks for n=%d q=%v", n, q)
			}
			b := distuv.Binomial{N: float64(n), P: q}
			// X(lo) <= quantile <= X(hi) as long as lo <= K < hi for K below it.
			if p := b.CDF(float64(lo - 1)); p > 0.025 {
				t.Errorf("n=%d q=%v: lower rank %d missed with %v", n, q, lo, p)
			}
			if p := b.CDF(float64(lo)); p <= 0.025 {
				t.Errorf("n=%d q=%v: lower rank %d is too low", n, q, lo)
			}
			if p := 1 - b.CDF(float64(hi-1)); p > 0.025 {
				t.Errorf("n=%d q=%v: upper rank %d missed with %v", n, q, hi, p)
			}
			if p := 1 - b.CDF(float64(hi-2)); p <= 0.025 {
				t.Errorf("n=%d q=%v: upper rank %d is too high", n, q, hi)
			}
		}
	}
}

func TestFractionIntervalIsClopperPearson(t *testing.T) {
	for _, tc := range []struct {
		k, n   int64
		lo, hi float64
	}{
		{0, 10, 0, 0.3084971},
		{10, 10, 0.6915029, 1},
		{5, 10, 0.1870860, 0.8129140},
		{1, 100, 0.0002531460, 0.05445939},
		{0, 1e9, 0, 3.688879e-9},
		{3, 1e9, 6.186721e-10, 8.767273e-9},
	} {
		got := FractionInterval(tc.k, tc.n, 0.95)
		if !near(got.Lo, tc.lo, 1e-6) || !near(got.Hi, tc.hi, 1e-6) || got.Value != float64(tc.k)/float64(tc.n) {
			t.Errorf("%d of %d: %+v, want [%v, %v]", tc.k, tc.n, got, tc.lo, tc.hi)
		}
	}
	// Its definition: at either bound the tail beyond k has alpha/2.
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(2, 1e6).Draw(t, "n")
		k := rapid.Int64Range(1, n-1).Draw(t, "k")
		got := FractionInterval(k, n, 0.9)
		upper := distuv.Binomial{N: float64(n), P: got.Hi}.CDF(float64(k))
		lower := 1 - distuv.Binomial{N: float64(n), P: got.Lo}.CDF(float64(k-1))
		if !near(upper, 0.05, 1e-4) || !near(lower, 0.05, 1e-4) {
			t.Errorf("%d of %d: tails %v and %v, want 0.05", k, n, lower, upper)
		}
	})
}

func TestClusterFraction(t *testing.T) {
	even := ClusterFraction([]int64{10, 10, 10, 10}, []int64{100, 100, 100, 100}, 0.95)
	if want := FractionInterval(40, 400, 0.95); even != want {
		t.Errorf("even clusters: %+v, want the binomial %+v", even, want)
	}
	uneven := ClusterFraction([]int64{40, 0, 0, 0}, []int64{100, 100, 100, 100}, 0.95)
	if uneven.Lo > 0.01 || uneven.Hi < 0.5 {
		t.Errorf("all in one of four clusters: %+v is too sure", uneven)
	}
	if zero := ClusterFraction([]int64{0, 0}, []int64{500, 500}, 0.95); !near(zero.Hi, 0.003682084, 1e-6) || zero.Lo != 0 {
		t.Errorf("none of 1000: %+v", zero)
	}
}

func TestRatioIntervalOfExactMultiples(t *testing.T) {
	got := RatioInterval([]float64{2, 4, 6, 9}, []float64{1, 2, 3, 4.5}, 0.95)
	if !near(got.Value, 2, 1e-15) || !near(got.Lo, 2, 1e-6) || !near(got.Hi, 2, 1e-6) {
		t.Errorf("got %+v, want 2 and no width", got)
	}
}

func TestScale(t *testing.T) {
	got := Interval{Value: 2, Lo: 1, Hi: 4, Confidence: 0.9}.Scale(0.5)
	if want := (Interval{Value: 1, Lo: 0.5, Hi: 2, Confidence: 0.9}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMSERAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ys := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 10, 60).Draw(t, "ys")
		cut, ok := mser(ys)
		best := math.Inf(1)
		want := 0
		for d := 0; d <= len(ys)-mserTail; d++ {
			_, v := meanVariance(ys[d:])
			k := float64(len(ys) - d)
			if s := v * (k - 1) / (k * k); s < best*(1-1e-9) {
				best, want = s, d
			}
		}
		_, v := meanVariance(ys[cut:])
		k := float64(len(ys) - cut)
		if s := v * (k - 1) / (k * k); !near(s, best, 1e-6) && s > 1e-9 {
			t.Errorf("cut %d gives %v, want %d with %v", cut, s, want, best)
		}
		if ok != (cut <= len(ys)/2) {
			t.Errorf("cut %d of %d: ok %v", cut, len(ys), ok)
		}
	})
}

func TestWarmUpIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, tc := range []struct {
		name         string
		n, transient int
	}{{"held whole", 2000, 300}, {"merged", 100_000, 20_000}} {
		t.Run(tc.name, func(t *testing.T) {
			var b BatchMeans
			var xs []float64
			for i := range tc.n {
				v := int64(1000 + 100*r.NormFloat64())
				if i < tc.transient {
					v += 500
				}
				b.Add(v)
				xs = append(xs, float64(v))
			}
			got, ok := b.WarmUp()
			if slack := int64(3 * b.size); !ok || got < int64(tc.transient) || got > int64(tc.transient)+10*slack {
				t.Errorf("warm-up %d, %v; want %d and a little", got, ok, tc.transient)
			}
			if whole, ok := MSER5(xs); !ok || whole < tc.transient || whole > tc.transient+tc.n/20 {
				t.Errorf("MSER5 %d, %v; want %d and a little", whole, ok, tc.transient)
			}
			after := b.IntervalAfter(got, 0.999)
			if !after.Contains(1000 - 0.5) { // int64() rounds towards 0
				t.Errorf("mean after the warm-up %+v, want 999.5", after)
			}
			if all := b.Interval(0.999); all.Contains(999.5) {
				t.Errorf("mean with the warm-up %+v holds 999.5", all)
			}
		})
	}
	if _, ok := MSER5(make([]float64, 20)); ok {
		t.Error("a warm-up from 20 observations")
	}
	trend := make([]float64, 1000)
	for i := range trend {
		trend[i] = float64(i)
	}
	if cut, ok := MSER5(trend); ok {
		t.Errorf("a trend without end has a warm-up of %d", cut)
	}
}

func TestBatchMeansKeepsAll(t *testing.T) {
	for _, n := range []int{1, 4, 5, 5119, 5120, 5121, 123_456} {
		var b BatchMeans
		var tally Tally
		for i := range n {
			v := int64(i)*7919%10007 - 5000
			b.Add(v)
			tally.Add(v)
		}
		if b.Mean() != tally.Mean() || b.Count() != tally.Count() {
			t.Errorf("n=%d: mean %v of %d, want %v of %d", n, b.Mean(), b.Count(), tally.Mean(), tally.Count())
		}
		if len(b.sums) >= batchesMax {
			t.Errorf("n=%d: %d batches", n, len(b.sums))
		}
	}
}

func TestClustersMergeKeepsAll(t *testing.T) {
	var c, runs Clusters
	xs := latencies(9, 10_000)
	for _, x := range xs {
		c.Add(x)
	}
	for range 300 {
		runs.AddRun(&c)
	}
	total := func(c *Clusters) int64 {
		all := c.openCluster()
		for i := range c.closed {
			all.merge(&c.closed[i])
		}
		if all.upTo(cellCount-1) != all.n {
			t.Errorf("cells hold %d of %d", all.upTo(cellCount-1), all.n)
		}
		return all.n
	}
	if got := total(&c); got != 10_000 {
		t.Errorf("a run of 10000 counts %d", got)
	}
	if got := total(&runs); got != 3_000_000 {
		t.Errorf("300 runs of 10000 count %d", got)
	}
	if len(c.closed) >= clustersMax || len(runs.closed) >= clustersMax {
		t.Errorf("%d and %d clusters", len(c.closed), len(runs.closed))
	}
	values := append(slices.Clone(xs), 0, 1, 15, 16, 17, HistogramMax, math.MaxInt64, -1)
	slices.Sort(values)
	for i, v := range values[1:] {
		if a, b := cellOf(values[i]), cellOf(v); a > b || b >= cellCount {
			t.Errorf("cells %d and %d of %d and %d", a, b, values[i], v)
		}
	}
}
