package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	gonum "gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"brokersim/sim"
)

func TestTallyIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Int64(), 2, 50).Draw(t, "xs")
		var tally Tally
		sum, squares := new(big.Int), new(big.Int)
		for _, x := range xs {
			tally.Add(x)
			b := big.NewInt(x)
			sum.Add(sum, b)
			squares.Add(squares, new(big.Int).Mul(b, b))
		}
		if got := tally.sum.big(); got.Cmp(sum) != 0 {
			t.Errorf("sum %v, want %v", got, sum)
		}
		if got := tally.squares.big(); got.Cmp(squares) != 0 {
			t.Errorf("sum of squares %v, want %v", got, squares)
		}
	})
}

func TestTallyMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		name   string
		offset int64
	}{{"small", 0}, {"large mean, small spread", 1 << 50}, {"negative", -1 << 40}} {
		t.Run(tc.name, func(t *testing.T) {
			var tally Tally
			var xs []float64 // without the offset, where float64 is good enough
			for range 1000 {
				x := r.Int64N(1000)
				tally.Add(tc.offset + x)
				xs = append(xs, float64(x))
			}
			mean, variance := gonum.MeanVariance(xs, nil)
			if got, want := tally.Mean(), mean+float64(tc.offset); math.Abs(got/want-1) > 1e-15 {
				t.Errorf("mean %v, want %v", got, want)
			}
			if got := tally.Variance(); math.Abs(got/variance-1) > 1e-12 {
				t.Errorf("variance %v, want %v", got, variance)
			}
		})
	}
	var none Tally
	if !math.IsNaN(none.Mean()) || !math.IsNaN(none.Variance()) || none.Count() != 0 {
		t.Errorf("empty tally: mean %v, variance %v, count %d", none.Mean(), none.Variance(), none.Count())
	}
}

func TestTallyMergeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOf(rapid.Int64()), 1, 6).Draw(t, "parts")
		var whole, forth, back Tally
		tallies := make([]Tally, len(parts))
		for i, xs := range parts {
			for _, x := range xs {
				whole.Add(x)
				tallies[i].Add(x)
			}
		}
		for i := range tallies {
			forth.Merge(tallies[i])
			back.Merge(tallies[len(tallies)-1-i])
		}
		if forth != whole || back != whole {
			t.Errorf("merged %+v and %+v, want %+v", forth, back, whole)
		}
	})
}

func TestTimeAverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Int64Range(0, 1<<55), 1, 30).Draw(t, "steps")
		var a TimeAverage
		area, now, value := new(big.Int), int64(0), int64(0)
		for _, dt := range steps {
			now += dt
			area.Add(area, new(big.Int).Mul(big.NewInt(value), big.NewInt(dt)))
			value = rapid.Int64().Draw(t, "value")
			a.Set(sim.Time(now), value)
		}
		if got := a.area.big(); got.Cmp(area) != 0 {
			t.Errorf("area %v, want %v", got, area)
		}
		if a.Span() != sim.Time(now) {
			t.Errorf("span %v, want %v", a.Span(), sim.Time(now))
		}
	})
}

func TestTimeAverageOfQueue(t *testing.T) {
	var a TimeAverage
	a.Add(10, 1)  // 0 for 10 ns
	a.Add(20, 2)  // 1 for 10 ns
	a.Add(25, -3) // 3 for 5 ns
	a.Finish(50)
	if got, want := a.Mean(), 25.0/50; got != want {
		t.Errorf("mean %v, want %v", got, want)
	}
	if a.Min() != 0 || a.Max() != 3 || a.Value() != 0 {
		t.Errorf("min %d, max %d, value %d; want 0, 3, 0", a.Min(), a.Max(), a.Value())
	}

	a.Add(60, 4)
	a.Restart(70)
	a.Finish(80)
	if a.Mean() != 4 || a.Min() != 4 {
		t.Errorf("after the warm-up: mean %v, min %d; want 4, 4", a.Mean(), a.Min())
	}
	var b TimeAverage
	b.Finish(30)
	b.Merge(a)
	if got, want := b.Mean(), 1.0; got != want {
		t.Errorf("merged mean %v, want %v", got, want)
	}
	var none TimeAverage
	if !math.IsNaN(none.Mean()) {
		t.Errorf("mean over no time %v, want NaN", none.Mean())
	}
}

func TestTimeAverageSetBack(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a step back in time went unnoticed")
		}
	}()
	var a TimeAverage
	a.Set(5, 1)
	a.Set(4, 1)
}
