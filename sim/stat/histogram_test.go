package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// latencies returns n lognormal values around a millisecond.
func latencies(seed uint64, n int) []int64 {
	r := rand.New(rand.NewPCG(seed, 0))
	xs := make([]int64, n)
	for i := range xs {
		xs[i] = int64(1e6 * math.Exp(r.NormFloat64()))
	}
	return xs
}

func histogramOf(xs []int64) *Histogram {
	h := new(Histogram)
	for _, x := range xs {
		h.Add(x)
	}
	return h
}

func TestHistogramQuantiles(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 999, 20000} {
		xs := latencies(uint64(n), n)
		h := histogramOf(xs)
		slices.Sort(xs)
		for _, q := range []float64{0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			got, want := h.Quantile(q), xs[max(int(math.Ceil(q*float64(n)-1e-9)), 1)-1]
			if got < want || float64(got-want) > 0.001*float64(want) {
				t.Errorf("n=%d: %v-quantile %d, want %d or up to 0.1 %% more", n, q, got, want)
			}
		}
		if h.Quantile(1) != xs[n-1] || h.Min() != xs[0] || h.Max() != xs[n-1] {
			t.Errorf("n=%d: extremes are not exact", n)
		}
	}
}

func TestQuantileRank(t *testing.T) {
	for _, tc := range []struct {
		q    float64
		n    int64
		want int64
	}{
		{0.9, 10, 9}, {0.1, 10, 1}, {0.11, 10, 2}, {0.999, 1000, 999}, {0.7, 100, 70}, {0.07, 100, 7},
		{0, 5, 1}, {1, 5, 5}, {-1, 5, 1}, {2, 5, 5}, {math.NaN(), 5, 1}, {0.5, 1, 1}, {0.5, 1 << 62, 1 << 61},
	} {
		if got := quantileRank(tc.q, tc.n); got != tc.want {
			t.Errorf("rank of the %v-quantile of %d: %d, want %d", tc.q, tc.n, got, tc.want)
		}
	}
}

func TestHistogramEachCountsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOf(rapid.Int64Range(0, HistogramMax)).Draw(t, "xs")
		h := histogramOf(xs)
		slices.Sort(xs)
		var below int64
		last := int64(-1)
		h.Each(func(value, count int64) {
			if value <= last {
				t.Errorf("value %d after %d", value, last)
			}
			last = value
			below += count
			// All that is counted so far is at most value, the rest is more.
			if got, _ := slices.BinarySearch(xs, value+1); int64(got) != below {
				t.Errorf("%d observations up to %d, want %d", below, value, got)
			}
		})
		if below != int64(len(xs)) {
			t.Errorf("counted %d of %d", below, len(xs))
		}
	})
}

func TestHistogramClamps(t *testing.T) {
	h := histogramOf([]int64{-5, 7, HistogramMax, HistogramMax + 1, math.MaxInt64})
	if h.Clamped() != 3 || h.Count() != 5 {
		t.Errorf("clamped %d of %d, want 3 of 5", h.Clamped(), h.Count())
	}
	if h.Min() != -5 || h.Max() != math.MaxInt64 {
		t.Errorf("extremes %d and %d are not exact", h.Min(), h.Max())
	}
	if got := h.Quantile(0.4); got != 7 {
		t.Errorf("0.4-quantile %d, want 7", got)
	}
}

func TestHistogramMerge(t *testing.T) {
	xs := latencies(3, 3000)
	xs[17], xs[2000] = -1, math.MaxInt64
	whole := histogramOf(xs)
	merged := new(Histogram)
	for _, part := range []*Histogram{histogramOf(xs[2000:]), {}, histogramOf(xs[:1000]), histogramOf(xs[1000:2000])} {
		merged.Merge(part)
	}
	if merged.Tally != whole.Tally || merged.Clamped() != whole.Clamped() || !merged.hdr.Equals(whole.hdr) {
		t.Error("merged parts differ from the whole")
	}
	merged.Reset()
	if merged.Count() != 0 || merged.Quantile(0.5) != 0 || merged.Clamped() != 0 {
		t.Error("a reset histogram is not empty")
	}
}

func TestSpectrum(t *testing.T) {
	h := histogramOf([]int64{1, 2, 3, 4, 5, 6, 7, 8})
	want := []SpectrumPoint{{0, 1}, {0.25, 2}, {0.5, 4}, {0.625, 5}, {0.75, 6}, {0.8125, 7}, {0.875, 7}, {1, 8}}
	if diff := cmp.Diff(want, h.Spectrum(2)); diff != "" {
		t.Errorf("spectrum (-want +got):\n%s", diff)
	}
	if got := new(Histogram).Spectrum(2); got != nil {
		t.Errorf("spectrum of nothing: %v", got)
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	var (
		tally    Tally
		average  TimeAverage
		h        Histogram
		batches  BatchMeans
		clusters Clusters
	)
	x := int64(0)
	record := func() {
		x += 1001
		tally.Add(x)
		average.Add(average.at+1, 1)
		h.Add(x)
		batches.Add(x)
		clusters.Add(x)
	}
	for range 10000 { // fills the batches, which then stay as many
		record()
	}
	if got := testing.AllocsPerRun(10000, record); got != 0 {
		t.Errorf("%v allocations per observation, want 0", got)
	}
}
