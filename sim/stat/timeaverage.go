package stat

import (
	"fmt"
	"math"

	"brokersim/sim"
)

// TimeAverage follows a step function of virtual time, such as a queue
// length, and keeps the exact area under it (in ns times the function's
// unit). The zero TimeAverage stands at 0 from time 0 on.
type TimeAverage struct {
	at       sim.Time // of the last step
	span     sim.Time // that the area covers
	value    int64    // since then
	min, max int64
	area     sum128
}

// Set makes the function v from t on. Time must not go back: a panic says so.
func (a *TimeAverage) Set(t sim.Time, v int64) {
	dt := t - a.at
	if dt < 0 {
		panic(fmt.Sprintf("stat: time average set at %v after %v", t, a.at))
	}
	a.area.addProduct(a.value, int64(dt))
	a.span += dt
	a.at = t
	a.value = v
	a.min, a.max = min(a.min, v), max(a.max, v)
}

// Add changes the function by d from t on.
func (a *TimeAverage) Add(t sim.Time, d int64) { a.Set(t, a.value+d) }

// Restart forgets what was before t, and keeps the present value: the end of
// a warm-up.
func (a *TimeAverage) Restart(t sim.Time) {
	*a = TimeAverage{at: t, value: a.value, min: a.value, max: a.value}
}

// Finish extends the function to t, the end of the run. Figures cover the
// time up to the last Set, Add or Finish.
func (a *TimeAverage) Finish(t sim.Time) { a.Set(t, a.value) }

// Merge adds area and time of another run's function; the order of merging
// does not matter. Both must be finished, and a must not be stepped after.
func (a *TimeAverage) Merge(o TimeAverage) {
	if o.span == 0 {
		return
	}
	if a.span == 0 {
		*a = o
		return
	}
	a.area.merge(o.area)
	a.span += o.span
	a.min, a.max = min(a.min, o.min), max(a.max, o.max)
}

// Value returns the function's present value.
func (a *TimeAverage) Value() int64 { return a.value }

// Span returns the time that the area covers.
func (a *TimeAverage) Span() sim.Time { return a.span }

// Mean returns area over time, correctly rounded; NaN if no time has passed.
func (a *TimeAverage) Mean() float64 {
	if a.span == 0 {
		return math.NaN()
	}
	return a.area.over(int64(a.span))
}

// Min returns the smallest value held, be it for an instant.
func (a *TimeAverage) Min() int64 { return a.min }

// Max returns the largest value held, be it for an instant.
func (a *TimeAverage) Max() int64 { return a.max }
