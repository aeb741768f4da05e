package model

import "brokersim/sim"

// What a put still waits for.
const (
	waitFlush uint8 = 1 << iota
	waitReplica
)

// afterPut says how a broker goes on after the put lock is released, until the
// response is written (facts §5.3, §6.1, §7.3, §8).
type afterPut struct {
	flush    bool // SYNC_FLUSH
	replica  bool // SYNC_MASTER that waits for slaves
	blocking bool // the send thread waits: up to 4.6.1 on a latch, in 5.x with asyncSendEnable = false
	callback bool // the answer is a callback that an executor runs
	simple   bool // none of these, nor measured times: the send thread answers, and that is all

	syncFlushTimeout sim.Time
	submit           sampler
	commit           groupCommit
	ha               replication
	callbacks        callbackPool
	latches          latches
}

// latches are when send threads up to 4.6.1 wait no longer: all wait equally
// long, so that they come in order. One event waits for the first of them,
// whatever their number.
type latches struct {
	waits fifo[latch]
	armed bool
}

type latch struct {
	until  sim.Time
	worker uint32
}

func (b *broker) initAfterPut(streams sim.Streams) {
	s, p := &b.cfg.Broker, &b.put
	p.flush = s.FlushDiskType == SyncFlush
	p.replica = s.BrokerRole == SyncMaster && (!b.traits.ReplicaNeedsInSync || s.InSyncReplicas > 1)
	wait := b.traits.AsyncSendKey && !s.AsyncSendEnable
	p.blocking = !b.traits.PipelinedPut || wait
	p.callback = (b.traits.CallbacksInSend || b.traits.CallbackPool) && !wait
	p.simple = !p.flush && !p.replica && !p.callback && b.measured == nil
	p.syncFlushTimeout = sim.Time(s.SyncFlushTimeout) * sim.Millisecond
	p.submit = newSampler(b.cfg.Costs.Submit, streams.Stream("submit"))
	p.commit.init(b, streams)
	p.ha.init(b, streams)
	p.callbacks = callbackPool{queue: NewQueue(int(s.PutThreadPoolQueueCapacity)), idle: s.PutMessageFutureThreadPoolNums}
}

// afterUnlock is the send thread after unlock: when it is done, or goes on to what
// its release does beyond that.
func (b *broker) afterUnlock(w uint32, a *attempt) (at sim.Time, kind sim.Kind) {
	now := b.eng.Now()
	if b.put.simple {
		return now + b.finished(w), evDone
	}
	switch m := b.measured; {
	case !b.put.flush && !b.put.replica && !b.put.callback:
		return now + b.finishing(w, a), evDone
	case m != nil && m.Flush != nil && b.put.flush:
		b.enter(w, CauseFlush)
		return now + m.Flush[a.Seq], evDone
	case !b.traits.PipelinedPut:
		return now, evSubmit
	default:
		return now + b.put.submit.draw(), evSubmit
	}
}

func (b *broker) finishing(w uint32, a *attempt) sim.Time {
	if m := b.measured; m != nil && m.Finish != nil {
		return m.Finish[a.Seq]
	}
	return b.finished(w)
}

// submit hands a put to those whom it waits for: to both at once, except that
// up to 4.6.1 the flush is waited for first (facts §6.1). A put that the store
// refused waits for nobody.
func (b *broker) submit(w uint32) {
	a := b.atHand(w)
	flush := b.put.flush && a.status.Stored()
	replica := b.put.replica && a.status.Stored()
	if b.producers[a.Producer].spec.NoWait {
		if flush {
			b.put.commit.wakeup(b)
		}
		if replica {
			b.readableAdvanced()
		}
		flush, replica = false, false
	}
	if flush {
		a.waits = waitFlush
	}
	if replica {
		a.waits |= waitReplica
	}
	if !b.traits.PipelinedPut {
		b.awaitNext(w, a)
		return
	}
	if flush {
		b.put.commit.request(b, a)
	}
	if replica && b.slaveOK(a.end) {
		b.requestTransfer(a)
	} else if replica {
		a.waits &^= waitReplica
		a.status = PutSlaveNotAvailable
	}
	switch {
	case b.put.blocking && a.waits != 0:
		b.enter(w, waitCause(a.waits))
	case b.put.blocking || !b.put.callback && a.waits == 0:
		b.then(b.eng.Now()+b.finished(w), evDone, b.id|uint64(w))
	default:
		if a.waits == 0 {
			b.respond(a)
		}
		b.takeNext(w)
	}
}

func waitCause(waits uint8) Cause {
	if waits&waitFlush != 0 {
		return CauseFlush
	}
	return CauseReplica
}

// awaitNext has a send thread up to 4.6.1 wait for the flush, then for the
// slave, each on a latch of its own; then it answers.
func (b *broker) awaitNext(w uint32, a *attempt) {
	if a.waits&waitReplica != 0 && a.waits&waitFlush == 0 && !b.slaveOK(a.end) {
		a.waits, a.status = 0, PutSlaveNotAvailable
	}
	if a.waits == 0 {
		b.answers(w, a)
		return
	}
	b.latch(w)
	b.enter(w, waitCause(a.waits))
	if a.waits&waitFlush != 0 {
		b.put.commit.request(b, a)
	} else {
		b.requestTransfer(a)
	}
}

// latch has a send thread wait for syncFlushTimeout at most.
func (b *broker) latch(w uint32) {
	t, l := &b.workers[w], &b.put.latches
	t.latched, t.latch = true, b.eng.Now()+b.put.syncFlushTimeout
	for l.waits.n > 0 && !b.latched(l.waits.ring[l.waits.head]) {
		l.waits.pop()
	}
	l.waits.push(latch{t.latch, w})
	if !l.armed {
		l.armed = true
		b.eng.At(t.latch, evLatchDue, b.id)
	}
}

// latched reports whether that wait still lasts.
func (b *broker) latched(x latch) bool {
	t := &b.workers[x.worker]
	return t.latched && t.latch == x.until
}

// latchesDue is the end of a wait that may have been over long since.
func (b *broker) latchesDue() {
	l := &b.put.latches
	for ; l.waits.n > 0; l.waits.pop() {
		x := l.waits.ring[l.waits.head]
		if !b.latched(x) {
			continue
		}
		if x.until > b.eng.Now() {
			b.eng.At(x.until, evLatchDue, b.id)
			return
		}
		b.eng.At(x.until, evLatch, b.id|uint64(x.worker))
	}
	l.armed = false
}

// latchTimedOut is a send thread up to 4.6.1 that has waited
// syncFlushTimeout.
func (b *broker) latchTimedOut(w uint32) {
	t := &b.workers[w]
	if !t.latched || t.latch > b.eng.Now() {
		return
	}
	t.latched = false
	a := b.atHand(w)
	if a.waits&waitFlush != 0 {
		a.waits &^= waitFlush
		a.status = PutFlushDiskTimeout
	} else {
		a.waits = 0
		a.status = PutFlushSlaveTimeout
	}
	b.awaitNext(w, a)
}

// waiting is the attempt of that Seq if it still waits for that.
func (b *broker) waiting(seq int64, what uint8) *attempt {
	if seq < b.attempts.from {
		return nil
	}
	a := b.attempts.at(seq)
	if a.settled || a.waits&what == 0 {
		return nil
	}
	return a
}

// completed ends one of a put's waits with a status; free is when the thread
// that completes it has time for more. When both fail, the replica's status
// wins (facts §6.1).
func (b *broker) completed(seq int64, what uint8, status PutStatus, free *sim.Time) {
	a := b.waiting(seq, what)
	if a == nil {
		return
	}
	a.waits &^= what
	if status != PutOK && (a.status == PutOK || what == waitReplica) {
		a.status = status
	}
	w := uint32(a.Worker - 1)
	switch {
	case !b.traits.PipelinedPut:
		b.workers[w].latched = false
		b.eng.At(b.wakes(), evWake, b.id|uint64(w))
	case a.waits != 0:
	case b.put.blocking:
		b.eng.At(b.wakes(), evWake, b.id|uint64(w))
	case b.put.callback:
		b.respond(a)
	default: // 4.7.0: whoever completes the future
		*free = max(*free, b.eng.Now()) + b.finish.draw()
		b.eng.At(*free, evRespond, b.id|uint64(seq))
	}
}

// wakes is when a thread runs that is woken now.
func (b *broker) wakes() sim.Time {
	return b.eng.Now() + b.handoff.draw() + b.cpu.wait(b.busy())
}

// wake is a send thread whose wait is over.
func (b *broker) wake(w uint32) {
	a := b.atHand(w)
	if !b.traits.PipelinedPut {
		b.awaitNext(w, a)
		return
	}
	b.answers(w, a)
}

// answers is a send thread that waits for nothing any more.
func (b *broker) answers(w uint32, a *attempt) {
	b.enter(w, CauseBacklog)
	if b.at(b.eng.Now()+b.finished(w), evDone, b.id|uint64(w)) {
		b.done(w, a)
	}
}

// written is an answer that was written by another thread than the send
// thread that put the message.
func (b *broker) written(seq int64) {
	a := b.attempts.at(seq)
	a.Done = b.eng.Now()
	code, outcome := b.response(a.status)
	b.answer(a, outcome, code)
}

func (b *broker) response(s PutStatus) (int32, Outcome) {
	if s == PutOK {
		return CodeSuccess, OK
	}
	code, _, outcome := b.traits.Response(s, b.cfg.Broker.MaxMessageSize, DiskUsed{})
	return code, outcome
}
