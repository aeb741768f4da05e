package model

import (
	"brokersim/sim"
	"brokersim/sim/variate"
)

// disk is the disk behind a page cache. It serves reads and changes of its
// directory one after the other, each in its latency and what its bytes take;
// writes (msync, then the flusher) have it in between, as with the deadline
// scheduler: a read that comes while they are at work takes its time away from
// them.
type disk struct {
	latency sampler
	until   sim.Time // all reads and changes so far are served then
}

// read is a read of so many bytes that comes now: when it is served.
func (c *pageCache) read(now sim.Time, bytes int64) sim.Time {
	pages := (bytes + pageSize - 1) / pageSize
	return c.take(now, c.disk.latency.draw()+sim.Time(pages)*c.pageTime)
}

// take has the disk serve something before all writes.
func (c *pageCache) take(now, takes sim.Time) (end sim.Time) {
	c.settle(now)
	begin := max(now, c.disk.until)
	end = begin + takes
	c.disk.until = end
	if begin < c.syncUntil {
		c.syncUntil += takes
	}
	if c.writing {
		c.since = max(c.since, begin) + takes
	}
	return end
}

// Delete is files of the commit log that are deleted when the hour of
// deleteWhen comes: at most ten at a time, 100 ms between two of them, and the
// next ones when the cleaner looks again after 10 s.
type Delete struct {
	Broker  int // which of the route's, from 0
	At      sim.Time
	Files   int
	Unlink  variate.Dist // ns that the disk is busy with one: its blocks are given back, its pages dropped
	Journal bool         // an append that makes a page dirty waits for it, as for a commit of ext4's journal
}

// filesMost bounds the files of one delete.
const filesMost = 100_000

func (d *Delete) check(bad func(format string, args ...any)) {
	switch {
	case d.At < 0 || d.At > sim.MaxTime:
		bad("want at from 0 to %v, got %v", sim.MaxTime, d.At)
	case d.Files < 1 || d.Files > filesMost:
		bad("want 1 to %d files, got %d", filesMost, d.Files)
	case d.Unlink == nil:
		bad("want what the unlink of a file takes")
	}
}

// What DefaultMessageStore's cleaner keeps to (DELETE_FILES_BATCH_MAX,
// deleteCommitLogFilesInterval, cleanResourceInterval).
const (
	deleteBatch    = 10
	deleteInterval = 100 * sim.Millisecond
	cleanInterval  = 10 * sim.Second
)

// deleting is a Delete at work.
type deleting struct {
	spec  *Delete
	takes sampler
	left  int
	batch sim.Time // when the cleaner looked last
	done  int      // since then
	next  sim.Time
}

func newDeleting(spec *Delete, i int, streams sim.Streams) deleting {
	return deleting{spec: spec, takes: newSampler(spec.Unlink, streams.Stream("delete "+itoa(i))), left: spec.Files, batch: spec.At, next: spec.At}
}

// unlink deletes the next file.
func (c *pageCache) unlink(d *deleting, now sim.Time) {
	end := c.take(now, d.takes.draw())
	if d.spec.Journal {
		c.journal = max(c.journal, end)
	}
	d.left--
	d.done++
	switch {
	case d.left == 0:
		d.next = sim.Never
	case d.done == deleteBatch:
		for d.done = 0; d.batch < end; {
			d.batch += cleanInterval
		}
		d.next = d.batch
	default:
		d.next = end + deleteInterval
	}
}

// warmUp has the allocator write into a new file of so many pages.
func (c *pageCache) warmUp(now sim.Time, pages int64, each sim.Time) {
	c.warmLeft, c.warmStep = pages, max(1, writePages*each)
	c.warm = dirtier{cpu: c.warm.cpu, quota: initialQuota, next: now + c.warmStep}
	c.schedule()
}

// warmNext is its thread when it has written a few pages, or has slept.
func (c *pageCache) warmNext(now sim.Time) {
	if !c.warm.asleep {
		c.warmLeft -= writePages
	}
	if c.write(&c.warm, now, c.warmStep); c.warmLeft <= 0 && !c.warm.asleep {
		c.warm.next = sim.Never
	}
}

// warmed is when it is done with the file, as far as can be told now.
func (c *pageCache) warmed(now sim.Time) sim.Time {
	if c.warm.next == sim.Never {
		return now
	}
	return c.warm.next + sim.Time(max(0, c.warmLeft)/writePages)*c.warmStep
}
