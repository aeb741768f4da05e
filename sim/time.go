package sim

import (
	"math"
	"time"
)

// Time is an instant of virtual time in whole nanoseconds since the start of
// the run. It may be negative only in arithmetic, never on an event.
type Time int64

// Units of virtual time, for writing literals such as 10*sim.Millisecond.
const (
	Nanosecond  Time = 1
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute

	// MaxTime is the last instant at which an event can be, a little over 36
	// years. (The queue orders by one word of 60 bits of time and 4 of class.)
	MaxTime Time = 1<<60 - 2

	// Never is later than every event can be.
	Never Time = math.MaxInt64
)

// Seconds returns t in seconds, for reports; never for scheduling.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// Milliseconds returns t in milliseconds, for reports; never for scheduling.
func (t Time) Milliseconds() float64 { return float64(t) / 1e6 }

// String prints t as time.Duration does ("4.208s").
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}
