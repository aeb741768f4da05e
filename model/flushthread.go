package model

import "brokersim/sim"

// pageSize is MappedFile.OS_PAGE_SIZE.
const pageSize = 4096

// flushThread is FlushRealTimeService under ASYNC_FLUSH (facts §7.2). It takes
// no lock of the store and no event of the engine: what it did up to an
// instant is worked out when an append wants to know. Under SYNC_FLUSH it has no
// schedule of its own, and groupCommit says when it flushes.
type flushThread struct {
	mode       FlushMode
	interval   sim.Time
	thorough   sim.Time
	leastPages int64
	fileSize   int64
	takes      sampler
	cache      *pageCache // nil: a flush takes a draw
	risk       *risk      // nil: nobody asks what is flushed

	wrote    int64 // where the next record goes
	flushed  int64 // flushedWhere
	target   int64 // what the flush under way has flushed when it ends
	flushing bool
	from     sim.Time // of the last flush
	until    sim.Time
	next     sim.Time // when it looks next
	least    int64    // pages, decided before it waits
	lastFull sim.Time // lastFlushTimestamp
	notified bool     // a put called wakeup() during a flush
	edge     bool     // a flush began or ended since the last append
	flushes  int64
}

// newFlushThread returns that of a configuration, without what a flush takes.
func newFlushThread(cfg *Config, traits *Traits, streams sim.Streams) *flushThread {
	interval := sim.Time(cfg.Broker.FlushIntervalCommitLog) * sim.Millisecond
	f := &flushThread{
		mode:       traits.FlushMode(&cfg.Broker),
		interval:   interval,
		thorough:   sim.Time(cfg.Broker.FlushCommitLogThoroughInterval) * sim.Millisecond,
		leastPages: int64(cfg.Broker.FlushCommitLogLeastPages),
		fileSize:   int64(cfg.Broker.MappedFileSizeCommitLog),
		wrote:      cfg.Store.Filled,
		flushed:    cfg.Store.Filled,
		next:       sim.Time(streams.Stream("flush phase").Uint64n(uint64(interval))),
	}
	f.decide(0)
	if f.mode == FlushSync {
		f.next = sim.Never
	}
	return f
}

// decide is the head of its loop: whether the next look flushes whatever
// there is.
func (f *flushThread) decide(now sim.Time) {
	f.least = f.leastPages
	if now >= f.lastFull+f.thorough {
		f.lastFull, f.least = now, 0
	}
}

// advance is all that it does up to t.
func (f *flushThread) advance(t sim.Time) {
	for {
		switch {
		case f.flushing && f.until <= t && f.heldUp():
		case f.flushing && f.until <= t:
			f.flushing, f.edge, f.flushed = false, true, f.target
			if f.cache != nil {
				f.cache.synced()
			}
			if f.risk != nil {
				f.risk.flushedTo(f.until, f.target)
			}
			if f.mode == FlushSync {
				continue
			}
			f.decide(f.until)
			f.next = f.until + f.interval
			if f.notified {
				f.next, f.notified = f.until, false
			}
		case !f.flushing && f.next <= t:
			if to, due := f.due(); due {
				f.begin(f.next, to)
			} else {
				f.decide(f.next)
				f.next += f.interval
			}
		default:
			return
		}
	}
}

// heldUp reports whether the flush under way, which seemed to be over, takes
// longer: the disk had something else to do first.
func (f *flushThread) heldUp() bool {
	if f.cache == nil {
		return false
	}
	f.cache.advance(f.until)
	if f.cache.syncUntil <= f.until {
		return false
	}
	f.until = f.cache.syncUntil
	return true
}

// due is MappedFile.isAbleToFlush of the one file that flushedWhere lies in.
func (f *flushThread) due() (to int64, due bool) {
	end := f.flushed/f.fileSize*f.fileSize + f.fileSize
	to = min(f.wrote, end)
	switch {
	case f.wrote >= end:
		return to, true
	case f.least > 0:
		return to, to/pageSize-f.flushed/pageSize >= f.least
	default:
		return to, to > f.flushed
	}
}

func (f *flushThread) begin(now sim.Time, to int64) {
	f.flushing, f.edge, f.from, f.target = true, true, now, to
	f.flushes++
	f.until = now + f.takes.draw()
	if f.cache != nil {
		f.cache.advance(now)
		f.until = f.cache.sync(now, f.until)
	}
}

// force begins a flush for those who wait for it, and gives its end (groupCommit).
func (f *flushThread) force(now sim.Time, to int64) sim.Time {
	f.advance(now)
	f.begin(now, to)
	return f.until
}

// delay has the flush under way end later.
func (f *flushThread) delay(until sim.Time) {
	f.until = until
	if f.cache != nil {
		f.cache.delaySync(until)
	}
}

// phase is that of an append that begins now; to ask is to be the first.
func (f *flushThread) phase() Phase {
	switch {
	case f.edge:
		f.edge = false
		return PhaseFirst
	case f.flushing:
		return PhaseInside
	default:
		return PhaseOutside
	}
}

// appended is the end of a put at now, which wakes the thread where puts do.
func (f *flushThread) appended(now sim.Time, wrote int64) {
	f.advance(now)
	f.wrote = wrote
	switch {
	case f.mode != FlushWoken:
	case f.flushing:
		f.notified = true
	default:
		f.next = now
	}
}
