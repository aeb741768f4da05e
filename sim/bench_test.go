package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"brokersim/sim"
)

// A contestant does n units of work.
type contestant struct {
	name string
	run  func(n int)
}

// race benchmarks the contestants one by one (unit/s, allocations) and then, in
// the sub-benchmark "ratio", in turns of the same size: how many times as fast
// the first is as each other one, as min, median and max over the rounds. Only
// these can be compared on a machine whose speed wanders.
func race(b *testing.B, unit string, size int, contestants ...contestant) {
	for _, c := range contestants {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				if n == size {
					c.run(size)
					n = 0
				}
			}
			c.run(n)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), unit+"/s")
		})
	}
	b.Run("ratio", func(b *testing.B) {
		ratios := make([][]float64, len(contestants))
		for b.Loop() {
			var first time.Duration
			for i, c := range contestants {
				start := time.Now()
				c.run(size)
				d := time.Since(start)
				if i == 0 {
					first = d
				}
				ratios[i] = append(ratios[i], d.Seconds()/first.Seconds())
			}
		}
		b.ReportMetric(0, "ns/op")
		for i, c := range contestants[1:] {
			r := ratios[i+1]
			slices.Sort(r)
			b.ReportMetric(r[0], "x-"+c.name+"-min")
			b.ReportMetric(r[len(r)/2], "x-"+c.name)
			b.ReportMetric(r[len(r)-1], "x-"+c.name+"-max")
		}
	})
}

func BenchmarkHold(b *testing.B) {
	for _, pending := range []int{10, 1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(pending), func(b *testing.B) {
			ours, theirs := newHoldEngine(pending), newHoldClosures(pending)
			ours.run(2 * pending)
			theirs.run(2 * pending)
			race(b, "events", max(50_000, pending/5),
				contestant{"engine", func(n int) { ours.run(n) }},
				contestant{"heap", func(n int) { theirs.run(n) }})
		})
	}
}

func BenchmarkMM1(b *testing.B) {
	race(b, "customers", 50_000,
		contestant{"engine", func(n int) { mm1Engine(1, n) }},
		contestant{"heap", func(n int) { mm1Closures(1, n) }},
		contestant{"lindley", func(n int) { mm1Lindley(1, n) }})
}

func BenchmarkImpatience(b *testing.B) {
	race(b, "customers", 50_000,
		contestant{"engine", func(n int) { impatienceEngine(1, n) }},
		contestant{"heap", func(n int) { impatienceClosures(1, n) }})
}

func BenchmarkFingerprint(b *testing.B) {
	var f sim.Fingerprint
	var x uint64
	for b.Loop() {
		f.Mix(x)
		x++
	}
	if f == 0 {
		b.Fatal("fingerprint 0")
	}
}

func TestContestantsAgree(t *testing.T) {
	const n = 20_000
	engine, closures, lindley := mm1Engine(1, n), mm1Closures(1, n), mm1Lindley(1, n)
	if engine != lindley || closures != lindley || engine.n != n {
		t.Errorf("M/M/1: engine %+v, closures %+v, Lindley %+v", engine, closures, lindley)
	}
	a, lostA := impatienceEngine(1, n)
	b, lostB := impatienceClosures(1, n)
	if a != b || lostA != lostB || a.n+lostA != n || lostA == 0 {
		t.Errorf("impatience: engine %+v lost %d, closures %+v lost %d", a, lostA, b, lostB)
	}
	if a, b := newHoldEngine(1000).run(n), newHoldClosures(1000).run(n); a != b {
		t.Errorf("hold: engine %x, closures %x", a, b)
	}
}
