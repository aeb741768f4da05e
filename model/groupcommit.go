package model

import "brokersim/sim"

// groupCommit is CommitLog.GroupCommitService, the flush thread of SYNC_FLUSH:
// requests gather in one list while those of the other are served, and a flush
// serves all that it covers (facts §7.3).
//
// Its look every 10 ms while nobody asks finds nothing, since each put wakes it:
// it is left out, but where the transient pool's commits come later than the puts
// (readableAdvanced).
type groupCommit struct {
	write, read []flushRequest
	at          int   // the request of read that is served
	tries       int   // flushes for it
	target      int64 // of the flush under way
	state       serviceState
	notified    bool
	idleSince   sim.Time
	look        sim.Timer // at the end of that wait, where it matters
	free        sim.Time  // when it has written the answers that it completed (4.7.0)
	takes       sampler
	stalls      stallSet
	watcher     flushWatcher
}

// flushRequest is a GroupCommitRequest.
type flushRequest struct {
	seq int64
	end int64 // nextOffset
	at  sim.Time
}

// serviceState is what a ServiceThread is at.
type serviceState uint8

const (
	serviceIdle    serviceState = iota // in waitForRunning
	serviceWoken                       // about to run
	serviceRunning                     // at work, or waits for what it does
)

const (
	servicePeriod  = 10 * sim.Millisecond // waitForRunning(10)
	flushRetryWait = sim.Millisecond      // between tries, since 5.2.0
)

func (g *groupCommit) init(b *broker, streams sim.Streams) {
	g.takes = newSampler(b.cfg.Store.Flush, streams.Stream("flush"))
	g.stalls = stallsAt(b.cfg, b.index(), StallFlush, 0, streams)
}

// request adds a put's request, which wakes the thread.
func (g *groupCommit) request(b *broker, a *attempt) {
	r := flushRequest{a.Seq, a.end, b.eng.Now()}
	g.write = append(g.write, r)
	if b.traits.FlushTimeout == FlushTimeoutWatcher {
		g.watcher.watch(b, r)
	}
	g.wakeup(b)
}

// wakeup is ServiceThread.wakeup.
func (g *groupCommit) wakeup(b *broker) {
	if g.state == serviceIdle {
		b.eng.Cancel(g.look)
		g.state = serviceWoken
		b.eng.At(b.wakes(), evGroupCommit, b.id)
		return
	}
	g.notified = true
}

// commits is the thread after waitForRunning: it swaps the lists and serves
// what was asked for.
func (g *groupCommit) commits(b *broker) {
	if g.state != serviceRunning { // else it goes on after a wait of 1 ms
		g.state, g.notified = serviceRunning, false
		g.write, g.read = g.read[:0], g.write
		g.at, g.tries = 0, 0
		if len(g.read) == 0 && g.flush(b, Absent) {
			return
		}
	}
	g.serve(b)
}

// serve goes on with the requests until one needs a flush.
func (g *groupCommit) serve(b *broker) {
	for g.at < len(g.read) {
		r := &g.read[g.at]
		done := b.log.flushed >= r.end && !(b.traits.SecondFlushUnseen && g.tries >= 2)
		if done || g.tries == b.traits.FlushTries {
			g.complete(b, r, done)
			g.at, g.tries = g.at+1, 0
			continue
		}
		g.tries++
		if g.flush(b, r.seq) {
			return
		}
		if b.traits.FlushTries > 2 { // the pool has not committed it yet
			b.eng.At(b.eng.Now()+flushRetryWait, evGroupCommit, b.id)
			return
		}
	}
	g.rest(b)
}

// complete ends a request. Up to 4.6.1 nobody may wait for it any more; in
// 4.7.0 it is held against the timeout only now (facts §7.3).
func (g *groupCommit) complete(b *broker, r *flushRequest, done bool) {
	status := PutOK
	if !done || b.traits.FlushTimeout == FlushTimeoutLate && b.eng.Now()-r.at > b.put.syncFlushTimeout {
		status = PutFlushDiskTimeout
	}
	b.completed(r.seq, waitFlush, status, &g.free)
}

// flush begins flush(0) of the one file that flushedWhere lies in; false means
// that nothing is there to flush.
func (g *groupCommit) flush(b *broker, seq int64) bool {
	g.target = min(b.log.readable, (b.log.flushed/b.log.fileSize+1)*b.log.fileSize)
	if g.target <= b.log.flushed {
		return false
	}
	now := b.eng.Now()
	var until sim.Time
	if b.flush == nil {
		until = now + g.takes.draw()
	} else {
		until = b.flush.force(now, g.target)
	}
	end := g.stalls.end(now, until)
	if end.stalled {
		b.stalls()
		b.stalled(until, end.at, 0)
		if b.flush != nil {
			b.flush.delay(end.at)
		}
		if b.obs.Stall != nil {
			b.obs.Stall(StallRecord{StallFlush, now, end.at, seq, b.index()})
		}
	}
	b.then(end.at, evFlushed, b.id)
	return true
}

// flushed is the end of a flush.
func (g *groupCommit) flushed(b *broker) {
	if f := b.flush; f != nil {
		if f.advance(b.eng.Now()); f.flushing { // the disk had something else to do first
			b.eng.At(f.until, evFlushed, b.id)
			return
		}
	}
	b.log.flushed = g.target
	if g.at < len(g.read) && b.traits.FlushTries > 2 && b.log.flushed < g.read[g.at].end {
		b.eng.At(b.eng.Now()+flushRetryWait, evGroupCommit, b.id)
		return
	}
	g.serve(b)
}

// rest ends a round: the thread waits, unless it was woken meanwhile.
func (g *groupCommit) rest(b *broker) {
	now := max(b.eng.Now(), g.free)
	if g.notified {
		g.state = serviceWoken
		b.eng.At(now, evGroupCommit, b.id)
		return
	}
	g.state, g.idleSince = serviceIdle, now
}

// readable has an idle thread look when its wait of 10 ms is over: what became
// readable came without a put that would have woken it.
func (g *groupCommit) readable(b *broker) {
	if g.state != serviceIdle || b.log.readable <= b.log.flushed {
		return
	}
	b.eng.Cancel(g.look)
	g.look = b.eng.StartTimer(nextOf(g.idleSince, servicePeriod, b.eng.Now()), evGroupLook, b.id)
}

// looks is an idle thread at the end of its wait.
func (g *groupCommit) looks(b *broker) {
	if g.state == serviceIdle {
		g.state = serviceWoken
		g.commits(b)
	}
}

// nextOf is the first instant after now that is a multiple of period after
// since.
func nextOf(since, period, now sim.Time) sim.Time {
	if now < since {
		return since + period
	}
	return since + ((now-since)/period+1)*period
}

// flushWatcher is FlushDiskWatcher (4.9.3 on): one thread that takes the
// requests in order and sleeps, 10 ms at most and whole ms, until the one it
// looks at is done or its time is over. A later one whose time is over before
// has to wait for that (facts §7.3).
type flushWatcher struct {
	requests fifo[flushRequest]
	awake    bool
}

func (f *flushWatcher) watch(b *broker, r flushRequest) {
	f.requests.push(r)
	if !f.awake {
		f.awake = true
		b.eng.At(b.eng.Now(), evWatch, b.id)
	}
}

// looks is the watcher after a sleep.
func (f *flushWatcher) looks(b *broker) {
	now := b.eng.Now()
	for f.requests.n > 0 {
		r := f.requests.ring[f.requests.head]
		if b.waiting(r.seq, waitFlush) != nil {
			left := (r.at + b.put.syncFlushTimeout - now) / sim.Millisecond
			if left > 0 {
				b.eng.At(now+min(left*sim.Millisecond, servicePeriod), evWatch, b.id)
				return
			}
			var free sim.Time
			b.completed(r.seq, waitFlush, PutFlushDiskTimeout, &free)
		}
		f.requests.pop()
	}
	f.awake = false
}
