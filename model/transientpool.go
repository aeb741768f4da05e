package model

import (
	"math"

	"brokersim/sim"
)

// transientPool is TransientStorePool: buffers of a file's size each, which
// take the appends, and CommitRealTimeService, the thread that writes what is
// in them to the files (facts §7.4, §7.5). A file that finds no buffer free is
// written through its mapping, as without the pool.
//
// What is not committed yet is lost with the process, and neither replica nor
// consumers see it.
type transientPool struct {
	free     int
	fastFail bool   // fastFailIfNoBufferInStorePool
	buffered []bool // by file: it has a buffer

	interval   sim.Time // commitIntervalCommitLog
	thorough   sim.Time // commitCommitLogThoroughInterval
	leastPages int64    // commitCommitLogLeastPages
	woken      bool     // by puts
	takes      sampler  // a commit
	wake       sampler
	stalls     stallSet

	committed int64    // committedWhere
	target    int64    // of the commit under way
	last      sim.Time // lastCommitTimestamp
	working   bool     // it is about to look, or commits
	notified  bool     // a put called wakeup() meanwhile
	next      sim.Time // when it looks next, if nothing wakes it,
	timer     bool     // for which there is an event
}

// NoPool are the free buffers that the broker sees where no pool is in effect:
// never 0 (facts §2.3).
const NoPool = math.MaxInt32

// PoolInEffect reports whether transientStorePoolEnable has an effect: up to
// 4.9.x not with SYNC_FLUSH (facts §7.5).
func (t *Traits) PoolInEffect(s *Settings) bool {
	return s.TransientStorePoolEnable && (t.PoolWithSyncFlush || s.FlushDiskType != SyncFlush)
}

func (b *broker) initPool(streams sim.Streams) {
	s := &b.cfg.Broker
	if !b.traits.PoolInEffect(s) {
		return
	}
	p := &transientPool{
		free:       s.TransientStorePoolSize,
		fastFail:   s.FastFailIfNoBufferInStorePool,
		interval:   sim.Time(s.CommitIntervalCommitLog) * sim.Millisecond,
		thorough:   sim.Time(s.CommitCommitLogThoroughInterval) * sim.Millisecond,
		leastPages: int64(s.CommitCommitLogLeastPages),
		woken:      b.traits.PutWakesCommit || s.WakeCommitWhenPutMessage,
		takes:      newSampler(b.cfg.Store.Commit, streams.Stream("commit")),
		wake:       newSampler(b.cfg.Costs.Handoff, streams.Stream("commit wake")),
		stalls:     stallsAt(b.cfg, b.index(), StallCommit, 0, streams),
		committed:  b.log.wrote,
	}
	switch b.cfg.Store.Start {
	case LogRunning:
		p.borrow()
		p.borrow()
	case LogRestarted:
		p.buffered = append(p.buffered, false)
	}
	b.pool = p
	p.next = sim.Time(streams.Stream("commit phase").Uint64n(uint64(p.interval)))
	p.timer = true
	b.eng.At(p.next, evCommitTimer, b.id)
}

// borrow is the next file's buffer, if there is one.
func (p *transientPool) borrow() {
	has := p.free > 0
	if has {
		p.free--
	}
	p.buffered = append(p.buffered, has)
}

// freeBuffers is TransientStorePool.availableBufferNums.
func (b *broker) freeBuffers() int {
	if b.pool == nil {
		return NoPool
	}
	return b.pool.free
}

// submits is how many files may be asked for: two, or with
// fastFailIfNoBufferInStorePool as many as there are buffers beside those for
// files that wait for the allocator.
func (b *broker) submits() int {
	if b.pool == nil || !b.pool.fastFail {
		return 2
	}
	queued := max(0, b.files.requested-b.files.ready-1) // the one under way is not in the queue
	return b.pool.free - int(queued)
}

// wroteTo moves the end of the log.
func (b *broker) wroteTo(end int64) {
	b.log.wrote = end
	p := b.pool
	if p == nil {
		b.log.readable = end
		return
	}
	p.plain(&b.log)
	b.log.readable = p.committed
}

// plain passes over what was written to files without a buffer.
func (p *transientPool) plain(l *logEnd) {
	for p.committed < l.wrote && !p.buffered[p.committed/l.fileSize] {
		p.committed = min(l.wrote, (p.committed/l.fileSize+1)*l.fileSize)
	}
}

// due is MappedFile.isAbleToCommit of the file that committedWhere lies in.
func (p *transientPool) due(l *logEnd, least int64) (to int64, due bool) {
	end := (p.committed/l.fileSize + 1) * l.fileSize
	to = min(l.wrote, end)
	switch {
	case l.wrote >= end:
		return to, true
	case least > 0:
		return to, to/pageSize-p.committed/pageSize >= least
	default:
		return to, to > p.committed
	}
}

// least is the head of the thread's loop: how many pages there must be. now is
// lastCommitTimestamp then, if it is time to commit whatever there is.
func (p *transientPool) least(now sim.Time) (pages int64, thorough bool) {
	if now >= p.last+p.thorough {
		return 0, true
	}
	return p.leastPages, false
}

// putDone is the end of a put, which wakes the thread where puts do. If it finds
// nothing to do it waits anew, which needs no event.
func (p *transientPool) putDone(b *broker) {
	switch {
	case !p.woken:
	case p.working:
		p.notified = true
	default:
		now := b.eng.Now()
		pages, _ := p.least(now)
		if _, due := p.due(&b.log, pages); !due {
			p.next = now + p.interval
			return
		}
		p.working = true
		b.eng.At(now+p.wake.draw()+b.cpu.wait(b.busy()), evCommitLook, b.id)
	}
}

// timeout is the end of a waitForRunning, if nothing woke it before.
func (p *transientPool) timeout(b *broker) {
	p.timer = false
	switch {
	case p.working:
	case b.eng.Now() < p.next:
		p.wait(b, p.next)
	default:
		p.look(b)
	}
}

func (p *transientPool) wait(b *broker, until sim.Time) {
	p.working, p.next = false, until
	if !p.timer {
		p.timer = true
		b.eng.At(until, evCommitTimer, b.id)
	}
}

// look is one iteration of the thread, up to the commit's end.
func (p *transientPool) look(b *broker) {
	now := b.eng.Now()
	p.notified = false
	pages, thorough := p.least(now)
	if thorough {
		p.last = now
	}
	to, due := p.due(&b.log, pages)
	if !due {
		p.wait(b, now+p.interval)
		return
	}
	p.working, p.target = true, to
	end := p.stalls.end(now, b.commits(p.committed, to))
	if end.stalled && b.obs.Stall != nil {
		b.obs.Stall(StallRecord{StallCommit, now, end.at, Absent, b.index()})
	}
	b.eng.At(end.at, evCommitted, b.id)
}

// commits is when the thread has written the log from one offset to another to
// its file, in the page cache: here, not in the append, the page cache stalls.
func (b *broker) commits(from, to int64) sim.Time {
	end := b.eng.Now() + b.pool.takes.draw()
	if b.store == nil {
		return end
	}
	return b.store.commit(b.eng.Now(), end, from, to)
}

// done is the end of a commit: the file is readable up to there, the flush
// thread is woken, and a buffer that is committed to its end is given back.
func (p *transientPool) done(b *broker) {
	now := b.eng.Now()
	p.committed, p.last = p.target, now
	if file := p.committed / b.log.fileSize; p.committed%b.log.fileSize == 0 && p.buffered[file-1] {
		p.buffered[file-1] = false
		p.free++
	}
	p.plain(&b.log)
	b.log.readable = p.committed
	if b.flush != nil {
		b.readableTo()
	}
	if b.obs.Commit != nil {
		b.obs.Commit(now, b.log.readable)
	}
	b.readableAdvanced()
	if p.notified {
		p.look(b)
		return
	}
	p.wait(b, now+p.interval)
}
