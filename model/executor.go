package model

import "brokersim/sim"

// worker is a send thread (SendMessageThread_n).
type worker struct {
	seq   int64    // of the attempt at hand
	since sim.Time // it has had its core
	load  uint32   // at hand, where it is no attempt
	cause Cause
	slept bool // since it took the attempt at hand
	cold  bool // it had slept before: its caches are cold

	latch   sim.Time // when it waits no longer for flush or replica (up to 4.6.1)
	latched bool     // it waits
}

// signal wakes the longest idle worker, as LinkedBlockingQueue does: an offer
// into an empty queue signals one taker, and each taker that leaves something
// behind signals the next. A worker that is just done may be there first.
func (b *broker) signal() (wake sim.Time, w uint32, ok bool) {
	if w, ok = b.idle.pop(); ok {
		turn := b.cpu.wait(b.busy())
		if turn > 0 {
			b.enter(w, CauseCPU)
		}
		wake = b.eng.Now() + b.handingOff() + turn
	}
	return wake, w, ok
}

// handingOff is what it takes to wake a worker for the head of the queue.
func (b *broker) handingOff() sim.Time {
	if m := b.measured; m != nil && m.Wake != nil {
		if head, ok := b.queue.Peek(); ok && head.ID&sendLoad == 0 {
			return m.Wake[head.ID]
		}
	}
	return b.handoff.draw()
}

// take gives the worker the head of the queue. What was taken is never
// rejected for its age any more (facts §1.4).
func (b *broker) take(w uint32) bool {
	head, ok := b.queue.Poll()
	if !ok {
		return false
	}
	b.queueChanged()
	if b.queue.Len() > 0 {
		if wake, other, ok := b.signal(); ok {
			b.eng.At(wake, evTake, b.id|uint64(other))
		}
	}
	if head.ID&sendLoad != 0 {
		b.takeLoad(w, head.ID&^sendLoad)
		return true
	}
	now := b.eng.Now()
	a := b.attempts.at(int64(head.ID))
	if !head.Foreign() {
		a.Deq, a.Worker = now, int32(w)+1
		b.left(a, now, sim.Never)
	}
	t := &b.workers[w]
	t.seq = int64(head.ID)
	b.enter(w, CauseBacklog)
	process := &b.warmProcess
	if t.slept {
		process = &b.process
		t.cold, t.slept = true, false
	} else {
		t.cold = false
	}
	if head.Foreign() {
		b.then(now+b.finished(w), evCallback, b.id|uint64(w))
		return true
	}
	wait := sim.Time(0)
	if b.cpu.long > 0 {
		wait = b.preempted(w)
	}
	if b.at(now+wait+b.takes(process, a), evLockReq, b.id|uint64(w)) {
		b.requestLock(w, a)
	}
	return true
}

// preempted is how long a worker that has had its core for a quantum waits for
// its next turn, if others are at work for longer.
func (b *broker) preempted(w uint32) sim.Time {
	t := &b.workers[w]
	now := b.eng.Now()
	if t.cold {
		t.since = now
	}
	if now-t.since < b.cpu.quantum {
		return 0
	}
	busy := b.busy()
	if b.queue.Len() > 0 {
		busy-- // it is one of them
	}
	wait := b.cpu.wait(busy)
	t.since = now + wait
	return wait
}

// takes is what a step takes of an attempt, the one that says process.
func (b *broker) takes(process *sampler, a *attempt) sim.Time {
	if m := b.measured; m != nil && m.Process != nil {
		return m.Process[a.Seq]
	}
	return process.draw()
}

// finished is what the worker takes from the unlock to the end of processRequest.
func (b *broker) finished(w uint32) sim.Time {
	finish := &b.warmFinish
	if t := &b.workers[w]; t.cold || t.slept {
		finish = &b.finish
	}
	return finish.draw()
}

// atHand is the attempt that the worker is at.
func (b *broker) atHand(w uint32) *attempt { return b.attempts.at(b.workers[w].seq) }

// done is the worker after processRequest: the answer is written, and the
// next request taken at once if there is one.
func (b *broker) done(w uint32, a *attempt) {
	a.Done = b.eng.Now()
	code, outcome := b.response(a.status)
	b.answer(a, outcome, code)
	b.takeNext(w)
}

// takeNext is a worker that has nothing at hand: it was woken, or is done.
func (b *broker) takeNext(w uint32) {
	if !b.take(w) {
		b.enter(w, CauseIdle)
		b.idle.push(w)
	}
}

// fifo is a queue: of worker numbers, of requests.
type fifo[T any] struct {
	ring    []T // length 0 or a power of two
	head, n int
}

func (f *fifo[T]) push(w T) {
	if f.n == len(f.ring) {
		ring := make([]T, max(8, 2*len(f.ring)))
		for i := range f.n {
			ring[i] = f.ring[(f.head+i)&(len(f.ring)-1)]
		}
		f.ring, f.head = ring, 0
	}
	f.ring[(f.head+f.n)&(len(f.ring)-1)] = w
	f.n++
}

func (f *fifo[T]) pop() (w T, ok bool) {
	if f.n == 0 {
		return w, false
	}
	w = f.ring[f.head]
	f.head = (f.head + 1) & (len(f.ring) - 1)
	f.n--
	return w, true
}

// removeAt takes out the i-th (from the head) and closes the gap.
func (f *fifo[T]) removeAt(i int) T {
	mask := len(f.ring) - 1
	w := f.ring[(f.head+i)&mask]
	for ; i > 0; i-- {
		f.ring[(f.head+i)&mask] = f.ring[(f.head+i-1)&mask]
	}
	f.head = (f.head + 1) & mask
	f.n--
	return w
}
