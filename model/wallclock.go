package model

import "brokersim/sim"

// WallClock turns a run's clock into what System.currentTimeMillis() says.
// Phase is the wall clock's sub-millisecond part at time 0: the rules compare
// whole milliseconds, each truncated by itself, so it decides who is rejected
// (facts §15.3, 2).
type WallClock struct{ Phase sim.Time }

// Ms returns the whole wall-clock milliseconds at t since the wall
// millisecond of time 0. It rounds down, before time 0 too.
func (w WallClock) Ms(t sim.Time) int64 {
	n := int64(t + w.Phase)
	ms := n / int64(sim.Millisecond)
	if n < 0 && ms*int64(sim.Millisecond) != n {
		ms--
	}
	return ms
}

// FirstAt returns the earliest t >= 0 at which Ms(t) >= ms.
func (w WallClock) FirstAt(ms int64) sim.Time {
	return max(0, sim.Time(ms)*sim.Millisecond-w.Phase)
}
