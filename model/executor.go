package model

import "brokersim/sim"

// worker is a send thread (SendMessageThread_n).
type worker struct {
	seq   int64    // of the attempt at hand
	since sim.Time // it has had its core
	cause Cause
	slept bool // since it took the attempt at hand
	cold  bool // it had slept before: its caches are cold
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
		wake = b.eng.Now() + b.handoff.draw() + turn
	}
	return wake, w, ok
}

// woken is an idle worker that has got a core.
func (b *broker) woken(w uint32) {
	if !b.take(w) {
		b.enter(w, CauseIdle)
		b.idle.push(w)
	}
}

// take gives the worker the head of the queue. What was taken is never
// rejected for its age any more (facts §1.4).
func (b *broker) take(w uint32) bool {
	head, ok := b.queue.Poll()
	if !ok {
		return false
	}
	now := b.eng.Now()
	a := b.attempts.at(int64(head.ID))
	a.Deq, a.Worker = now, int32(w)+1
	b.left(a, now, sim.Never)
	b.queueChanged()
	if b.queue.Len() > 0 {
		if wake, other, ok := b.signal(); ok {
			b.eng.At(wake, evTake, b.id|uint64(other))
		}
	}
	b.workers[w].seq = a.Seq
	b.enter(w, CauseBacklog)
	process := &b.warmProcess
	if t := &b.workers[w]; t.slept {
		process = &b.process
		t.cold, t.slept = true, false
	} else {
		t.cold = false
	}
	wait := sim.Time(0)
	if b.cpu.long > 0 {
		wait = b.preempted(w)
	}
	if b.at(now+wait+process.draw(), evLockReq, b.id|uint64(w)) {
		b.requestLock(w)
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
	wait := b.cpu.wait(b.busy() - 1)
	t.since = now + wait
	return wait
}

// finished is what the worker takes from the unlock to the end of processRequest.
func (b *broker) finished(w uint32) sim.Time {
	if t := &b.workers[w]; t.cold || t.slept {
		return b.finish.draw()
	}
	return b.warmFinish.draw()
}

// done is the worker after processRequest: the answer is written, and the
// next request taken at once if there is one.
func (b *broker) done(w uint32) {
	a := b.attempts.at(b.workers[w].seq)
	a.Done = b.eng.Now()
	if a.status == PutOK {
		b.answer(a, OK, CodeSuccess)
	} else {
		code, _, outcome := b.traits.Response(a.status, b.cfg.Broker.MaxMessageSize, DiskUsed{})
		b.answer(a, outcome, code)
	}
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
