package model

import (
	"slices"

	"brokersim/sim"
)

// allocator is AllocateMappedFileService: the thread that creates the files of
// the commit log ahead of need (facts §6.3). Files are counted from 0, the one
// that was current when the run began.
//
// Whoever finds the last file full asks for the next one and for that behind
// it, and waits for the first, with the put lock held. So in the steady state
// there is one file to spare, and a roll waits only if the thread has not come
// to its end since the roll before.
type allocator struct {
	takes     sampler // to create and map a file
	warm      sampler // to write into one of its pages (warmMapedFileEnable); nil: it doesn't
	warmPages int64
	warming   bool

	requested int64 // files below are asked for,
	ready     int64 // and those below are there
	waiting   bool  // a send thread waits for file ready
	waiter    uint32
	deadline  sim.Time
}

// allocateWait is AllocateMappedFileService.waitTimeOut.
const allocateWait = 5000 * sim.Millisecond

// PauseRoll is the name of the wait for a file.
const PauseRoll = "the roll to the next file"

// LogStart is what a run finds of the commit log when it begins.
type LogStart uint8

const (
	// LogRunning: a broker that has been running, with a file to spare.
	LogRunning LogStart = iota
	// LogRestarted: one that was just started again. Recovery has deleted the
	// spare file (facts §14.3), and the last file was loaded, so that it has no
	// buffer of the transient pool.
	LogRestarted
	// LogEmpty: no file. The first put creates two.
	LogEmpty
)

var logStartNames = [...]string{"running", "restarted", "empty"}

func (s LogStart) String() string { return logStartNames[s] }

// ParseLogStart is the inverse of String.
func ParseLogStart(s string) (LogStart, bool) {
	i := slices.Index(logStartNames[:], s)
	return LogStart(max(0, i)), i >= 0
}

func (b *broker) initLog(streams sim.Streams) {
	cfg := b.cfg
	f := &b.files
	f.takes = newSampler(cfg.Store.Allocate, streams.Stream("allocate"))
	if cfg.Broker.WarmMapedFileEnable {
		f.warm = newSampler(cfg.Store.WarmPage, streams.Stream("allocate warm"))
		f.warmPages = int64(cfg.Broker.MappedFileSizeCommitLog) / pageSize
	}
	size := int64(cfg.Broker.MappedFileSizeCommitLog)
	b.log = logEnd{perRecord: cfg.recordLength(0), fileSize: size, fileEnd: size, wrote: cfg.Store.Filled, readable: cfg.Store.Filled, flushed: cfg.Store.Filled}
	switch cfg.Store.Start {
	case LogEmpty:
		b.log.fileEnd = 0
	case LogRestarted:
		f.requested, f.ready = 1, 1
	default:
		f.requested, f.ready = 2, 2
	}
}

// roll is a send thread that finds the last file full: END_OF_FILE, if the
// file has room for a record but not for this one, and then the next file.
func (b *broker) roll(w uint32) {
	now := b.eng.Now()
	b.fillFile()
	next := b.log.fileEnd / b.log.fileSize
	if !b.request(next) {
		b.failRoll(w)
		return
	}
	if next < b.files.ready {
		b.rolled(w)
		return
	}
	b.enter(w, CauseRoll)
	b.stalls()
	b.files.waiting, b.files.waiter, b.files.deadline = true, w, now+allocateWait
	b.eng.At(b.files.deadline, evRollTimeout, b.id|uint64(w))
}

// fillFile is the blank record that ends a file.
func (b *broker) fillFile() {
	b.wroteTo(b.log.fileEnd)
	if b.flush != nil {
		b.flush.advance(b.eng.Now())
		b.flush.wrote = b.log.readable
	}
}

// request asks for a file and for the one behind it, which may be under way
// since an earlier roll.
func (b *broker) request(next int64) bool {
	f := &b.files
	for most := b.submits(); f.requested < next+2; f.requested++ {
		if most--; most < 0 {
			return f.requested > next
		}
		if f.requested == f.ready { // the thread is idle
			b.eng.At(b.eng.Now()+f.takes.draw(), evAllocated, b.id)
		}
	}
	return true
}

// allocated is a file that is mapped, and with the transient pool has got its
// buffer, or one that is warm as well.
func (b *broker) allocated() {
	f := &b.files
	now := b.eng.Now()
	if !f.warming && b.pool != nil {
		b.pool.borrow()
	}
	if end := b.warmsUntil(now); end > now {
		f.warming = true
		b.eng.At(end, evAllocated, b.id)
		return
	}
	f.warming = false
	f.ready++
	if f.ready < f.requested {
		b.eng.At(now+f.takes.draw(), evAllocated, b.id)
	}
	if f.waiting {
		b.waited()
		b.rolled(f.waiter)
	}
}

// warmsUntil is when the file that was mapped will be warm, or now. With a page
// cache that is not known before: whoever makes pages dirty is throttled.
func (b *broker) warmsUntil(now sim.Time) sim.Time {
	f := &b.files
	cached := b.store != nil && b.store.cache != nil
	switch {
	case f.warmPages == 0 || f.warming && !cached:
		return now
	case !cached:
		return now + sim.Time(f.warmPages)*f.warm.draw()
	}
	b.store.flush.advance(now)
	b.store.cache.advance(now)
	if !f.warming {
		b.store.cache.warmUp(now, f.warmPages, f.warm.draw())
	}
	return b.store.cache.warmed(now)
}

// waited ends the wait for a file.
func (b *broker) waited() {
	f := &b.files
	f.waiting = false
	a := b.attempts.at(b.workers[f.waiter].seq)
	now := b.eng.Now()
	b.stalled(a.Lock, now, 0)
	if b.obs.Stall != nil && now > a.Lock {
		b.obs.Stall(StallRecord{StallAppend, a.Lock, now, a.Seq, b.index()})
	}
	if b.obs.Pause != nil && now > a.Lock {
		b.obs.Pause(&Pause{PauseRoll, a.Lock, now, a.Seq})
	}
}

// rolled is the thread that has got its file and appends once more. What fits
// into no file is answered PUT_OK all the same (facts §6.4).
func (b *broker) rolled(w uint32) {
	a := b.atHand(w)
	b.log.fileEnd += b.log.fileSize
	if b.store != nil {
		b.store.rolled = true
	}
	length := b.recordsLength(a)
	if !b.log.fits(length) {
		b.fillFile()
		length = 0
	}
	b.appendAt(w, a, length)
}

// rollTimeout is a thread that has waited long enough. The request stays: who
// puts next waits for the same file.
func (b *broker) rollTimeout(w uint32) {
	f := &b.files
	if f.waiting && f.waiter == w && f.deadline <= b.eng.Now() {
		b.waited()
		b.failRoll(w)
	}
}

func (b *broker) failRoll(w uint32) {
	b.atHand(w).status = PutCreateMapedFileFailed
	b.then(b.eng.Now(), evUnlock, b.id|uint64(w))
}
