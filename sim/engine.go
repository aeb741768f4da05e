package sim

import (
	"fmt"
	"math"
)

// Engine holds the clock and the pending events of one replication. It is
// for one goroutine.
type Engine struct {
	now     Time
	stop    uint64 // keys from here on don't run: after the horizon, or 0 after an error
	handled uint64
	limit   uint64
	waiting int // events in the queue and not cancelled
	dead    int // cancelled, still there
	slots   []timerSlot
	spare   []uint32 // free slots
	horizon Time
	err     error
	q       pending
}

// NewEngine returns an engine at time 0 that runs to the horizon (events at
// the horizon itself still run) and stops with ErrRunaway after limit events
// (0: no limit).
func NewEngine(horizon Time, limit uint64) *Engine {
	if limit == 0 {
		limit = math.MaxUint64
	}
	e := &Engine{limit: limit}
	e.q.nearEnd = keyMax
	e.SetHorizon(horizon)
	return e
}

// SetHorizon sets the horizon, t >= Now; a run that has stopped there can then
// be continued. Events after the old horizon are still pending.
func (e *Engine) SetHorizon(t Time) {
	if t < e.now {
		e.fail(fmt.Errorf("horizon %v at %v: %w", t, e.now, ErrPast))
	}
	if e.err != nil {
		return
	}
	e.horizon = t
	e.stop = keyMax
	if t <= MaxTime {
		e.stop = uint64(t+1) << 4
	}
}

// Now returns the time of the event being handled.
func (e *Engine) Now() Time { return e.now }

// Err returns the first error; after it Next returns false.
func (e *Engine) Err() error { return e.err }

// Events returns the number of events handled.
func (e *Engine) Events() uint64 { return e.handled }

// Pending returns the number of events that wait, cancelled timers excluded.
func (e *Engine) Pending() int { return e.waiting }

// At schedules an event at t, Now <= t <= MaxTime, with arg <= ArgMax.
func (e *Engine) At(t Time, k Kind, arg uint64) {
	if uint64(t-e.now) > uint64(MaxTime-e.now) || arg > ArgMax || k >= Classes*KindsPerClass {
		e.refuse(t, k, arg)
		return
	}
	e.waiting++
	e.q.push(event{uint64(t)<<4 | uint64(k/KindsPerClass), uint64(k)<<48 | arg}, uint64(e.now)<<4)
}

// After schedules an event d >= 0 after Now.
func (e *Engine) After(d Time, k Kind, arg uint64) {
	if uint64(d) > uint64(MaxTime-e.now) || arg > ArgMax || k >= Classes*KindsPerClass {
		e.refuseDelay(d, k, arg)
		return
	}
	e.waiting++
	e.q.push(event{uint64(e.now+d)<<4 | uint64(k/KindsPerClass), uint64(k)<<48 | arg}, uint64(e.now)<<4)
}

// Next advances the clock to the next event and returns it. It returns false
// when nothing is pending up to the horizon (the clock then stands at the
// horizon, if that is not Never) or after an error.
func (e *Engine) Next() (k Kind, arg uint64, ok bool) {
	for {
		n := e.q.n - 1
		if n < 0 {
			e.q.refill(e.stop)
			if n = e.q.n - 1; n < 0 {
				break
			}
		}
		ev := e.q.near[n&(nearCap-1)]
		if ev.key >= e.stop {
			break
		}
		if ev.a >= timerFlag {
			slot := uint32(ev.a)
			s := &e.slots[slot]
			e.freeSlot(slot)
			if s.cancelled {
				e.q.n = n
				e.dead--
				continue
			}
			ev.a = ev.a&^(timerFlag|ArgMax) | s.arg
		}
		if e.handled == e.limit {
			e.fail(fmt.Errorf("more than %d events by %v: %w", e.limit, Time(ev.key>>4), ErrRunaway))
			break
		}
		e.q.n = n
		e.handled++
		e.waiting--
		e.now = Time(ev.key >> 4)
		return Kind(ev.a >> 48), ev.a & ArgMax, true
	}
	if e.err == nil && e.horizon != Never {
		e.now = e.horizon
	}
	return 0, 0, false
}

// refuse records what is wrong with an event.
func (e *Engine) refuse(t Time, k Kind, arg uint64) {
	switch {
	case k >= Classes*KindsPerClass:
		e.fail(fmt.Errorf("kind %d, want below %d: %w", uint16(k), Classes*KindsPerClass, ErrKind))
	case t < e.now:
		e.fail(fmt.Errorf("event of kind %v scheduled for %v at %v: %w", k, t, e.now, ErrPast))
	case t > MaxTime:
		e.fail(fmt.Errorf("event of kind %v scheduled for %v at %v, want at most %v: %w", k, t, e.now, MaxTime, ErrOverflow))
	case arg > ArgMax:
		e.fail(fmt.Errorf("event of kind %v at %v has argument %d, want at most %d: %w", k, t, arg, uint64(ArgMax), ErrArgument))
	}
}

func (e *Engine) refuseDelay(d Time, k Kind, arg uint64) {
	switch {
	case d < 0:
		e.fail(fmt.Errorf("event of kind %v scheduled %v after %v: %w", k, d, e.now, ErrNegativeDelay))
	case d > MaxTime-e.now:
		e.fail(fmt.Errorf("event of kind %v scheduled %v after %v, want at most %v: %w", k, d, e.now, MaxTime, ErrOverflow))
	default:
		e.refuse(e.now+d, k, arg)
	}
}

func (e *Engine) fail(err error) {
	if e.err == nil {
		e.err = fmt.Errorf("sim: %w", err)
		e.stop = 0
	}
}
