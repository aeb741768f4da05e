package realstore

import (
	"runtime"
	"sync"
	"time"
)

// flushLoop is the flush thread of ASYNC_FLUSH (CommitLog.FlushRealTimeService).
func (s *Store) flushLoop() {
	for {
		pages := s.flushPages()
		if s.o.FlushCommitLogTimed {
			if !s.flusher.sleep(s.o.FlushIntervalCommitLog) {
				return
			}
		} else if !s.flusher.wait(s.o.FlushIntervalCommitLog) {
			return
		}
		if _, err := s.flushOnce(pages); err != nil {
			s.fail(err)
			return
		}
	}
}

// flushPages is how many pages must be dirty for the next flush: none at all
// once in flushCommitLogThoroughInterval.
func (s *Store) flushPages() int {
	if now := s.o.Now(); now >= s.flushLast+s.o.FlushCommitLogThoroughInterval.Milliseconds() {
		s.flushLast = now
		return 0
	}
	return s.o.FlushCommitLogLeastPages
}

// flushOnce syncs the one file that the flushed offset lies in, if it is full
// or has enough dirty pages (MappedFileQueue.flush). It tells whether it got
// further.
func (s *Store) flushOnce(leastPages int) (bool, error) {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	where := s.flushed.Load()
	f := s.fileAt(where)
	if f == nil {
		return false, nil
	}
	covered := f.readableTime()
	from, to := f.flushed.Load(), f.readable()
	if to <= from {
		if leastPages == 0 && to == from && where == f.base+from && covered > s.physicTime.Load() {
			s.physicTime.Store(covered)
		}
		return false, nil
	}
	if leastPages > 0 && to < int64(f.size) && to/pageBytes-from/pageBytes < int64(leastPages) {
		return false, nil
	}
	if s.o.Hook.Flush != nil {
		s.o.Hook.Flush(f.base+from, f.base+to)
	}
	var start int64
	if s.o.Hook.Flushed != nil {
		start = s.o.Nanos()
	}
	if err := f.m.sync(int(from), int(to-from)); err != nil {
		return false, err
	}
	if s.o.Hook.Flushed != nil {
		s.o.Hook.Flushed(f.base+from, f.base+to, start, s.o.Nanos())
	}
	f.flushed.Store(to)
	s.flushed.Store(f.base + to)
	if leastPages == 0 {
		s.physicTime.Store(covered)
	}
	return true, nil
}

// flushRequest is an append that waits for the disk.
type flushRequest struct {
	next  int64
	done  chan error // one place
	timer *time.Timer
}

// groupCommit collects the appends that wait; one flush serves all that came
// before it (CommitLog.GroupCommitService).
type groupCommit struct {
	mu          sync.Mutex
	write, read []*flushRequest
	free        []*flushRequest
	closed      bool
	// How many waited when the last flush was done, those included that it served,
	// and how long it took: see gather.
	writers   int
	tookNanos int64
}

// add has a request wait for the disk to reach next; nil once the store closes.
func (g *groupCommit) add(next int64) *flushRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	var r *flushRequest
	if n := len(g.free); n > 0 {
		r, g.free = g.free[n-1], g.free[:n-1]
	} else {
		t := time.NewTimer(time.Hour)
		t.Stop()
		r = &flushRequest{done: make(chan error, 1), timer: t}
	}
	r.next = next
	g.write = append(g.write, r)
	return r
}

// giveBack keeps an answered request for the next append.
func (g *groupCommit) giveBack(r *flushRequest) {
	g.mu.Lock()
	g.free = append(g.free, r)
	g.mu.Unlock()
}

func (g *groupCommit) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.write)
}

// gather gives the writers that the last flush released a moment to come again:
// else one flush would serve the first of them, and the next the rest. It ends
// when as many wait as did, or when nobody came for a quarter of what that flush
// took, after half of it at the latest.
func (g *groupCommit) gather(nanos func() int64) {
	now := nanos()
	last, patience := now+g.tookNanos/2, g.tookNanos/4
	for n, until := g.len(), now+patience; n < g.writers && now < min(until, last); now = nanos() {
		runtime.Gosched()
		if m := g.len(); m > n {
			n, until = m, now+patience
		}
	}
}

// swap takes the requests that came until now.
func (g *groupCommit) swap() []*flushRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.write, g.read = g.read[:0], g.write
	return g.read
}

// refuse answers whoever still waits when the store closes: their messages are
// on disk by then.
func (g *groupCommit) refuse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, r := range g.write {
		r.done <- nil
	}
	g.write = nil
}

// awaitFlush waits until the log is on disk up to next.
func (s *Store) awaitFlush(next int64) error {
	r := s.group.add(next)
	if r == nil || s.flusher == nil {
		return nil // closed, and flushed with that; or a test steps, and looks at the request itself
	}
	s.flusher.wakeup()
	r.timer.Reset(s.o.SyncFlushTimeout)
	select {
	case err := <-r.done:
		r.timer.Stop()
		s.group.giveBack(r)
		return err
	case <-r.timer.C:
		return ErrFlushTimeout // the group still knows r
	}
}

func (s *Store) groupCommitLoop() {
	for s.flusher.wait(10 * time.Millisecond) {
		if s.group.len() > 0 {
			s.group.gather(s.o.Nanos)
		}
		start := s.o.Nanos()
		if n := s.groupCommitOnce(); n > 0 {
			s.group.tookNanos = s.o.Nanos() - start
		}
	}
}

// groupCommitOnce flushes for the requests that came, answers them, and returns
// how many; without any it flushes whatever there is.
func (s *Store) groupCommitOnce() int {
	if s.pool != nil {
		for s.commitOnce(0) {
		}
	}
	reqs := s.group.swap()
	for i, r := range reqs {
		err := s.flushUntil(r.next)
		if i == 0 {
			s.group.writers = len(reqs) + s.group.len()
		}
		r.done <- err
		reqs[i] = nil
	}
	if len(reqs) == 0 {
		if _, err := s.flushOnce(0); err != nil {
			s.fail(err)
		}
	}
	return len(reqs)
}

// flushUntil flushes up to an offset. Up to 4.7.1 the broker looks at the
// flushed offset before each of its two flushes, not after the second: the
// first message of a new file is answered as a timeout although it is on disk.
func (s *Store) flushUntil(next int64) error {
	for flushes := 0; s.flushed.Load() < next; flushes++ {
		more, err := s.flushOnce(0)
		if err != nil {
			return s.fail(err)
		}
		if !more || flushes == 1 && s.t.secondFlushUnseen {
			return ErrFlushTimeout
		}
	}
	return nil
}

// commitLoop is the thread that writes the transient pool's buffers to their
// files (CommitLog.CommitRealTimeService).
func (s *Store) commitLoop() {
	for {
		pages := s.o.CommitCommitLogLeastPages
		if now := s.o.Now(); now >= s.commitLast+s.o.CommitCommitLogThoroughInterval.Milliseconds() {
			s.commitLast, pages = now, 0
		}
		if s.commitOnce(pages) {
			s.commitLast = s.o.Now()
			s.flusher.wakeup()
		}
		if !s.committer.wait(s.o.CommitIntervalCommitLog) {
			return
		}
	}
}

// commitOnce writes what was appended to the buffer of the one file that the
// committed offset lies in (MappedFileQueue.commit), and tells whether it got
// further.
func (s *Store) commitOnce(leastPages int) bool {
	f := s.fileAt(s.committed.Load())
	if f == nil || s.failure.Load() != nil {
		return false
	}
	covered := f.wroteTime.Load()
	from, to := f.committed.Load(), f.wrote.Load()
	full := to == int64(f.size)
	if to <= from || leastPages > 0 && !full && to/pageBytes-from/pageBytes < int64(leastPages) {
		return false
	}
	if f.pooled {
		if err := f.m.writeAt(f.buf[from:to], int(from)); err != nil {
			s.fail(err)
			return false
		}
	}
	f.committed.Store(to)
	f.committedTime.Store(covered)
	s.committed.Store(f.base + to)
	if full && f.buf != nil {
		s.pool.giveBack(f.buf)
		f.buf = nil
	}
	return true
}

// housekeepLoop syncs the queues and writes the checkpoint
// (DefaultMessageStore.FlushConsumeQueueService).
func (s *Store) housekeepLoop() {
	s.queuesLast = s.o.Now()
	for s.housekeeper.sleep(s.o.FlushIntervalConsumeQueue) {
		pages, thorough := s.o.FlushConsumeQueueLeastPages, false
		if now := s.o.Now(); now >= s.queuesLast+s.o.FlushConsumeQueueThoroughInterval.Milliseconds() {
			s.queuesLast, pages, thorough = now, 0, true
		}
		if err := s.flushQueues(pages, thorough); err != nil {
			s.fail(err)
			return
		}
	}
}

// flushQueues syncs the consume queues; a thorough one then writes the
// checkpoint, with the time that the queues had reached before they were synced.
func (s *Store) flushQueues(leastPages int, thorough bool) error {
	reached := s.logicsTime.Load()
	for _, q := range *s.queues.all.Load() {
		if q.cq == nil {
			continue
		}
		if err := q.cq.flush(leastPages); err != nil {
			return err
		}
	}
	if !thorough {
		return nil
	}
	physic := s.physicTime.Load()
	s.ck.set(func(c *Checkpoint) {
		c.PhysicMsgTimestamp = max(c.PhysicMsgTimestamp, physic)
		c.LogicsMsgTimestamp = max(c.LogicsMsgTimestamp, reached)
		c.MasterFlushed = 0
		c.ConfirmPhyOffset = s.flushed.Load()
	})
	return s.ck.flush()
}
