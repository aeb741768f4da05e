package live

import (
	"sync/atomic"
	"time"

	"brokersim/model"
	"brokersim/sim"
)

// clock is a run's: nanoseconds since its time 0, by the machine's monotonic
// clock, and the wall clock's milliseconds as they follow from it, so that a
// step of the wall clock doesn't disturb a run.
type clock struct {
	origin time.Time
	t0     time.Duration   // time 0, since origin
	wall   model.WallClock // of time 0
	wallMs int64           // whole ms since 1970 at time 0
}

func newClock() clock { return clock{origin: time.Now()} }

// sinceOrigin is the store's Options.Nanos.
func (c *clock) sinceOrigin() int64 { return int64(time.Since(c.origin)) }

// unixMs is the store's Options.Now: it goes on as ms does.
func (c *clock) unixMs() int64 {
	return (c.origin.UnixNano() + c.sinceOrigin()) / int64(time.Millisecond)
}

// begin puts time 0 at least so far ahead, where the wall clock's part below a
// ms is wall's.
func (c *clock) begin(ahead time.Duration, wall model.WallClock) {
	c.wall = wall
	at := time.Since(c.origin) + ahead
	off := (int64(wall.Phase) - c.origin.UnixNano() - int64(at)) % int64(time.Millisecond)
	if off < 0 {
		off += int64(time.Millisecond)
	}
	c.t0 = at + time.Duration(off)
	c.wallMs = (c.origin.UnixNano() + int64(c.t0)) / int64(time.Millisecond)
}

// monotonicT0 is time 0 by CLOCK_MONOTONIC: of several readings of both clocks
// the one that took least, as a thread may lose its core between the two.
func (c *clock) monotonicT0() (t0 int64, err error) {
	least := sim.MaxTime
	for range 20 {
		before := c.now()
		n, err := monotonic()
		if err != nil {
			return 0, err
		}
		if after := c.now(); after-before < least {
			least, t0 = after-before, n-int64(before+(after-before)/2)
		}
	}
	return t0, nil
}

func (c *clock) now() sim.Time { return sim.Time(time.Since(c.origin) - c.t0) }

// at turns sinceOrigin into the run's time.
func (c *clock) at(nanos int64) sim.Time { return sim.Time(nanos) - sim.Time(c.t0) }

// spun is how long before its time a thread stops sleeping and spins: a sleep
// may end late by about that much.
const spun = 100 * sim.Microsecond

// nap bounds one sleep, so that a sleeper notices soon that it is to stop.
const nap = 20 * sim.Millisecond

// sleepUntil returns at t, or soon after stop is set; false means the latter.
func (c *clock) sleepUntil(t sim.Time, stop *atomic.Bool) bool {
	for {
		left := t - c.now()
		switch {
		case stop.Load():
			return false
		case left <= 0:
			return true
		case left > spun:
			sleep(time.Duration(min(left-spun, nap)))
		}
	}
}
