package sim

// Timer names a cancellable event; the zero Timer names none.
type Timer struct{ slot, gen uint32 }

// A timerSlot belongs to one event in the queue until that event is popped or
// swept. gen tells the Timers of successive owners apart.
type timerSlot struct {
	arg       uint64
	gen       uint32
	cancelled bool
}

// sweepMin is the number of cancelled timers below which the queue keeps them.
const sweepMin = 64

// StartTimer schedules a cancellable event at t >= Now.
func (e *Engine) StartTimer(t Time, k Kind, arg uint64) Timer {
	if uint64(t-e.now) > uint64(MaxTime-e.now) || arg > ArgMax || k >= Classes*KindsPerClass {
		e.refuse(t, k, arg)
		return Timer{}
	}
	var slot uint32
	if n := len(e.spare); n > 0 {
		slot = e.spare[n-1]
		e.spare = e.spare[:n-1]
	} else {
		slot = uint32(len(e.slots))
		e.slots = append(e.slots, timerSlot{gen: 1})
	}
	s := &e.slots[slot]
	s.arg, s.cancelled = arg, false
	e.waiting++
	e.q.push(event{uint64(t)<<4 | uint64(k/KindsPerClass), timerFlag | uint64(k)<<48 | uint64(slot)}, uint64(e.now)<<4)
	return Timer{slot, s.gen}
}

// Cancel removes a timer that has not fired; it reports whether it did. A
// Timer that fired or was cancelled before stays harmless until its slot has
// been used four thousand million times.
func (e *Engine) Cancel(t Timer) bool {
	if int(t.slot) >= len(e.slots) {
		return false
	}
	s := &e.slots[t.slot]
	if s.gen != t.gen || s.cancelled {
		return false
	}
	s.cancelled = true
	e.waiting--
	e.dead++
	// Cancelled events stay in the queue until they are more than half of it;
	// so a sweep costs a constant per cancel.
	if e.dead > sweepMin && e.dead > e.Pending() {
		e.sweep()
	}
	return true
}

// sweep drops all cancelled events from the queue.
func (e *Engine) sweep() {
	e.q.filter(func(ev event) bool {
		if ev.a < timerFlag {
			return false
		}
		slot := uint32(ev.a)
		if !e.slots[slot].cancelled {
			return false
		}
		e.freeSlot(slot)
		return true
	})
	e.dead = 0
}

func (e *Engine) freeSlot(slot uint32) {
	s := &e.slots[slot]
	s.gen++
	if s.gen == 0 { // 0 is the zero Timer's
		s.gen = 1
	}
	e.spare = append(e.spare, slot)
}
