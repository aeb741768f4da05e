package model

import (
	"fmt"

	"brokersim/sim"
)

// requestLock is the send thread before the put lock: the store's checks
// first, among them isOSPageCacheBusy, whose answer is [PC_SYNCHRONIZED]
// (facts §3.2).
func (b *broker) requestLock(w uint32, a *attempt) {
	now := b.eng.Now()
	nowMs := b.clock.Ms(now)
	a.status = b.check(a, nowMs)
	if !a.status.Stored() {
		if a.status == PutOSPageCacheBusy {
			b.refused(a, b.workers[b.meter.holder].cause)
		}
		at, kind := b.afterUnlock(w, a)
		b.then(at, kind, b.id|uint64(w))
		return
	}
	a.LockReq = now
	if b.lock.held {
		b.enter(w, CauseLock)
		b.lock.waiting.push(w)
		return
	}
	b.locked(w, a, nowMs)
}

func (b *broker) check(a *attempt, nowMs int64) PutStatus {
	busy := b.lock.state.Busy(nowMs, b.cfg.Broker.OsPageCacheBusyTimeOutMills)
	status := b.traits.CheckPut(busy, a.Body, b.cfg.Broker.MaxMessageSize)
	if b.put.replica && status == PutOK && !b.inSync() {
		status = PutInSyncReplicasNotEnough
	}
	return status
}

// CheckPut are the store's checks before a put of a message of that body, while
// the page cache is busy or not: PutOK lets it through (facts §3.2).
func (t *Traits) CheckPut(busy bool, bodyBytes, maxMessageSize int64) PutStatus {
	switch {
	case busy:
		return PutOSPageCacheBusy
	case t.Illegal(bodyBytes, maxMessageSize):
		return PutMessageIllegal
	default:
		return PutOK
	}
}

// locked is a send thread that has got the put lock: beginTimeInLock, then the
// record goes into the last file, or into the next one.
func (b *broker) locked(w uint32, a *attempt, nowMs int64) {
	now := b.eng.Now()
	b.lock.held, b.meter.holder = true, w
	b.lock.state.Acquired(nowMs)
	a.Lock, a.App0 = now, now
	length := b.recordsLength(a)
	if !b.log.fits(length) {
		b.roll(w)
		return
	}
	b.appendAt(w, a, length)
}

// appendAt appends: the record's bytes go to the page cache, which is where a
// stall holds the lock.
func (b *broker) appendAt(w uint32, a *attempt, length int64) {
	now := b.eng.Now()
	a.end = b.log.wrote + length
	var base sim.Time
	at := CauseBacklog
	if b.store == nil && b.measured == nil {
		base = now + slowed(b.append.draw(), b.slows)
	} else {
		base, at = b.appended(w, a, length)
	}
	end := b.appendStalls.end(now, base+b.cfg.Store.Delay)
	if b.cfg.Store.Delay > 0 {
		b.workers[w].slept = true
	}
	if end.stalled {
		at = CauseAppendStall
		b.stalls()
		b.stalled(base+b.cfg.Store.Delay, end.at, 0)
		if end.served {
			// Back from the stall, the thread waits for a core; a window says
			// when its append was over.
			end.at += b.cpu.wait(b.lock.spinning())
		}
		if b.obs.Stall != nil {
			b.obs.Stall(StallRecord{StallAppend, now, end.at, a.Seq, b.index()})
		}
	}
	b.enter(w, at)
	b.then(end.at, evUnlock, b.id|uint64(w))
}

// appended is when the append's bytes are in the page cache, and what its
// thread is at for most of the time until then.
func (b *broker) appended(w uint32, a *attempt, length int64) (end sim.Time, at Cause) {
	now := b.eng.Now()
	if m := b.measured; m != nil && m.Append != nil {
		return now + m.Append[a.Seq], CauseBacklog
	}
	if b.store == nil {
		return now + slowed(b.append.draw(), b.slows), CauseBacklog
	}
	if b.pool != nil && b.pool.buffered[b.log.fileEnd/b.log.fileSize-1] {
		end = b.store.buffer(now, length, a.Seq)
	} else {
		end = b.store.begin(now, int(w), b.log.wrote, length, a.Seq)
	}
	if b.store.starved {
		b.books.err = fmt.Errorf("%w: attempt %d waits for more than %v to make one page dirty: the disk is behind what is written and read beside it",
			sim.ErrRunaway, a.Seq, throttledMost)
	}
	pauses := b.store.pauses
	if len(pauses) == 0 {
		return end, CauseBacklog
	}
	var paused sim.Time
	for i := range pauses {
		paused += pauses[i].To - pauses[i].From
	}
	at = CauseBacklog
	if 2*paused > end-now {
		at = CauseAppendStall
	}
	b.stalls()
	b.stalled(now, pauses[len(pauses)-1].To, 0)
	end += b.cpu.wait(b.lock.spinning())
	if b.obs.Stall != nil {
		b.obs.Stall(StallRecord{StallAppend, pauses[0].From, pauses[len(pauses)-1].To, a.Seq, b.index()})
	}
	if b.obs.Pause != nil {
		for i := range pauses {
			b.obs.Pause(&pauses[i])
		}
	}
	return end, at
}

// unlock ends the append and passes the lock on.
func (b *broker) unlock(w uint32) {
	now := b.eng.Now()
	a := b.atHand(w)
	a.Unlock = now
	if a.status.Stored() { // else it waited for a file in vain
		a.App1 = now
	}
	readable := b.log.readable
	if a.end > 0 { // else it went into no file
		b.wroteTo(a.end)
		b.inOrderOfSend(a)
		b.wakeConsumers()
	}
	b.enter(w, CauseBacklog)
	if b.obs.Lock != nil {
		b.obs.Lock(a.Lock, now)
	}
	b.lock.held = false
	b.lock.state.Released()
	if b.risk != nil && a.end > 0 {
		a.ordinal = b.risk.put(a.end)
	}
	if b.flush != nil && b.log.readable > readable {
		b.readableTo()
	}
	if b.pool != nil {
		b.pool.putDone(b)
	}
	at, kind := b.afterUnlock(w, a)
	if b.lock.waiting.n == 0 {
		switch {
		case !b.at(at, kind, b.id|uint64(w)):
		case kind == evDone:
			b.done(w, a)
		default:
			b.submit(w)
		}
		return
	}
	b.eng.At(at, kind, b.id|uint64(w))
	if b.lock.spin {
		// Whichever of the spinning threads sees it first: no order.
		b.nextLocked(b.lock.waiting.removeAt(int(b.lock.stream.Uint64() % uint64(b.lock.waiting.n))))
		return
	}
	// ReentrantLock, non-fair: the longest waiter is woken, and a newcomer
	// may get the lock before it runs (facts §6.2).
	next := b.lock.waiting.ring[b.lock.waiting.head]
	b.then(now+b.handoff.draw(), evLockRetry, b.id|uint64(next))
}

// retryLock is a parked thread, woken: it takes the lock or parks again.
func (b *broker) retryLock(w uint32) {
	if b.lock.held || b.lock.waiting.n == 0 || b.lock.waiting.ring[b.lock.waiting.head] != w {
		return
	}
	b.lock.waiting.pop()
	b.nextLocked(w)
}

// nextLocked is a thread that has waited for the lock.
func (b *broker) nextLocked(w uint32) {
	b.locked(w, b.atHand(w), b.clock.Ms(b.eng.Now()))
}
