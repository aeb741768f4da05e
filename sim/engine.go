package sim

import "fmt"

// Kind says what an event is. Its high 4 bits are the class: of the events at
// one instant those of a lower class run first, and within a class those
// scheduled first. Make one with MakeKind.
type Kind uint16

// MakeKind returns the n-th kind (0..2047) of a class (0..15).
func MakeKind(class, n int) Kind { return Kind(class<<11 | n) }

// Class returns the kind's class.
func (k Kind) Class() int { return int(k >> 11) }

// ArgMax is the largest argument an event can carry.
const ArgMax = 1<<48 - 1

// Engine holds the pending events and the clock.
type Engine struct {
	now     Time
	horizon Time
	seq     uint64
	n       uint64
	limit   uint64
	err     error
	h       []heapEvent
	timers  []timerSlot
	free    []uint32
}

type heapEvent struct {
	t   Time
	seq uint64
	k   Kind
	arg uint64
	tm  uint32
	gen uint32
}
type timerSlot struct {
	gen  uint32
	live bool
}

// Timer names a cancellable event; the zero Timer names none.
type Timer struct{ slot, gen uint32 }

// NewEngine returns an engine at time 0 that runs to the horizon (events at
// the horizon itself still run) and stops with ErrRunaway after limit events
// (0: no limit).
func NewEngine(horizon Time, limit uint64) *Engine {
	return &Engine{horizon: horizon, limit: limit}
}

// Now returns the time of the event being handled.
func (e *Engine) Now() Time { return e.now }

// Err returns the first error; after it Next returns false.
func (e *Engine) Err() error { return e.err }

// Events returns the number of events handled.
func (e *Engine) Events() uint64 { return e.n }

// Pending returns the number of events that wait, cancelled timers excluded.
func (e *Engine) Pending() int { return len(e.h) }

// At schedules an event at t >= Now.
func (e *Engine) At(t Time, k Kind, arg uint64) { e.push(heapEvent{t: t, k: k, arg: arg}) }

// After schedules an event d after now.
func (e *Engine) After(d Time, k Kind, arg uint64) { e.At(e.add(d), k, arg) }

func (e *Engine) add(d Time) Time {
	t := e.now + d
	if d > 0 && t < e.now {
		if e.err == nil {
			e.err = fmt.Errorf("sim: time overflow: %v + %v", e.now, d)
		}
	}
	return t
}

// StartTimer schedules a cancellable event at t.
func (e *Engine) StartTimer(t Time, k Kind, arg uint64) Timer {
	var s uint32
	if n := len(e.free); n > 0 {
		s = e.free[n-1]
		e.free = e.free[:n-1]
	} else {
		e.timers = append(e.timers, timerSlot{})
		s = uint32(len(e.timers))
	}
	ts := &e.timers[s-1]
	ts.gen++
	ts.live = true
	e.push(heapEvent{t: t, k: k, arg: arg, tm: s, gen: ts.gen})
	return Timer{s, ts.gen}
}

// Cancel removes a timer that has not fired; it reports whether it did.
func (e *Engine) Cancel(t Timer) bool {
	if t.slot == 0 {
		return false
	}
	ts := &e.timers[t.slot-1]
	if ts.gen != t.gen || !ts.live {
		return false
	}
	ts.live = false
	return true
}

func less(a, b *heapEvent) bool {
	if a.t != b.t {
		return a.t < b.t
	}
	if ca, cb := a.k.Class(), b.k.Class(); ca != cb {
		return ca < cb
	}
	return a.seq < b.seq
}

func (e *Engine) push(v heapEvent) {
	if v.t < e.now {
		if e.err == nil {
			e.err = fmt.Errorf("sim: event of kind %d scheduled in the past: %v at %v", v.k, v.t, e.now)
		}
		return
	}
	e.seq++
	v.seq = e.seq
	h := append(e.h, v)
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !less(&h[i], &h[p]) {
			break
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
	e.h = h
}

func (e *Engine) pop() heapEvent {
	h := e.h
	top := h[0]
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && less(&h[c+1], &h[c]) {
			c++
		}
		if !less(&h[c], &h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	e.h = h
	return top
}

// Next advances the clock to the next event and returns it. It returns false
// when nothing is pending up to the horizon (the clock then stands at the
// horizon) or after an error.
func (e *Engine) Next() (k Kind, arg uint64, ok bool) {
	for {
		if e.err != nil {
			return 0, 0, false
		}
		if len(e.h) == 0 || e.h[0].t > e.horizon {
			if e.horizon != Never {
				e.now = e.horizon
			}
			return 0, 0, false
		}
		v := e.pop()
		if v.tm != 0 {
			ts := &e.timers[v.tm-1]
			live := ts.live && ts.gen == v.gen
			ts.live = false
			e.free = append(e.free, v.tm)
			if !live {
				continue
			}
		}
		e.n++
		if e.limit != 0 && e.n > e.limit {
			e.err = fmt.Errorf("sim: runaway: more than %d events by %v", e.limit, v.t)
			return 0, 0, false
		}
		e.now = v.t
		return v.k, v.arg, true
	}
}
