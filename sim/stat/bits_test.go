package stat

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// Intervals have the same bits on every architecture: this hash was made on
// amd64 and holds on arm64, whose compiler fuses products and sums.
func TestIntervalsHaveTheSameBitsEverywhere(t *testing.T) {
	const want = 0x0bd44969fabb94bf
	h := fnv.New64a()
	mix := func(i Interval) {
		for _, x := range []float64{i.Value, i.Lo, i.Hi} {
			h.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(x)))
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n := 2 + r.IntN(60)
		a, b := make([]float64, n), make([]float64, n)
		k, of := make([]int64, n), make([]int64, n)
		for i := range n {
			a[i] = float64(r.IntN(1e9)) / 7
			b[i] = a[i] + float64(r.IntN(1e9))/3
			of[i] = 1 + r.Int64N(1e6)
			k[i] = r.Int64N(of[i])
		}
		confidence := 0.5 + 0.4999*r.Float64()
		mix(MeanInterval(a, confidence))
		mix(DifferenceInterval(a, b, confidence))
		mix(RatioInterval(a, b, confidence))
		mix(FractionInterval(k[0], of[0], confidence))
		mix(FractionInterval(k[0]%7, of[0]*1000, confidence))
		mix(ClusterFraction(k, of, confidence))
	}
	var batches BatchMeans
	var bits BatchMeans
	var clusters Clusters
	var hist Histogram
	x := int64(0)
	for range 50_000 { // a queue of sorts
		x = max(0, x+r.Int64N(1_000_000)-520_000)
		batches.Add(x)
		clusters.Add(x)
		hist.Add(x)
		bits.Add(min(x/3_000_000, 1))
	}
	cut, _ := batches.WarmUp()
	mix(batches.Interval(0.95))
	mix(batches.IntervalAfter(cut, 0.95))
	mix(bits.FractionInterval(0.95))
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
		mix(clusters.QuantileInterval(&hist, q, 0.95))
		mix(hist.QuantileInterval(q, 0.95))
	}
	if i := clusters.QuantileInterval(&hist, 0.9, 0.95); !i.OK() {
		t.Errorf("nothing to compare: %s", i.Why)
	}
	if got := h.Sum64(); got != want {
		t.Errorf("hash %#x, want %#x", got, uint64(want))
	}
}
