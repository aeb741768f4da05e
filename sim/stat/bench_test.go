package stat

import (
	"testing"

	"brokersim/sim"
)

// Costs of one observation, over values spread like latencies.
func BenchmarkAdd(b *testing.B) {
	xs := latencies(1, 1<<12)
	for _, bc := range []struct {
		name string
		add  func(int64)
	}{
		{"Tally", new(Tally).Add},
		{"Histogram", new(Histogram).Add},
		{"BatchMeans", new(BatchMeans).Add},
		{"Clusters", new(Clusters).Add},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				bc.add(xs[i&(1<<12-1)])
				i++
			}
		})
	}
	b.Run("TimeAverage", func(b *testing.B) {
		b.ReportAllocs()
		var a TimeAverage
		t := sim.Time(0)
		for b.Loop() {
			t += 1000
			a.Add(t, 1)
		}
	})
}

func BenchmarkHistogramQuantile(b *testing.B) {
	h := histogramOf(latencies(1, 1<<12))
	for b.Loop() {
		h.Quantile(0.99)
	}
}

func BenchmarkHistogramMerge(b *testing.B) {
	h, o := new(Histogram), histogramOf(latencies(1, 1<<12))
	for b.Loop() {
		h.Merge(o)
	}
}
