package calibrate

import (
	"sort"

	"brokersim/model"
	"brokersim/realstore/probe"
)

// observation is one append as the model sees it. Instants are ns of its run.
type observation struct {
	run      int
	wanted   int64 // it was intended, and the append before had ended
	idle     int64 // from the end of the append before to wanted
	before   int64 // from wanted to the lock
	lock     int64
	hold     int64 // of the lock, without a roll
	roll     int64
	after    int64 // from the unlock to the end
	bytes    int64
	boundary model.Boundary
	phase    model.Phase
	inside   bool // a flush was under way
	throttle bool // the kernel made writers pause about then
	cause    probe.Cause
}

// observe gives the appends of a run their class. A phase is that at the
// append's beginning; the first append after a flush began or ended is the
// first to begin since.
func observe(run int, r *probe.Run) []observation {
	out := make([]observation, len(r.Samples))
	edges := make([]int64, 0, 2*len(r.Flushes))
	for _, f := range r.Flushes {
		edges = append(edges, f.Start, f.End)
	}
	passed := 0 // edges so far: odd inside a flush
	end := int64(0)
	for i := range r.Samples {
		s := &r.Samples[i]
		o := &out[i]
		*o = observation{
			run: run, wanted: max(s.Intended, end), lock: s.Lock, hold: s.Hold(), roll: s.Roll, after: s.End - s.Unlock,
			bytes: int64(s.Bytes), boundary: model.CrossedBy(s.Offset%r.Settings.FileSize, int64(s.Bytes)), cause: s.Cause,
		}
		if r.Settings.Flush == "sync" {
			o.after = s.End - s.Done // the wait for the disk is the flush's
		}
		o.idle, o.before = o.wanted-end, s.Lock-o.wanted
		end = s.End
		was := passed
		for passed < len(edges) && edges[passed] <= s.Lock {
			passed++
		}
		o.inside = passed%2 == 1
		switch {
		case passed > was:
			o.phase = model.PhaseFirst
		case o.inside:
			o.phase = model.PhaseInside
		}
		o.throttle = throttling(r.Kernel, s.Lock)
	}
	return out
}

// throttling is what the kernel said last before an instant, or first after.
func throttling(states []probe.KernelState, at int64) bool {
	i := sort.Search(len(states), func(i int) bool { return states[i].At > at })
	return i > 0 && states[i-1].Throttling() || i < len(states) && states[i].Throttling()
}

// kind is what an append tells about: its rung, or a stall.
type kind uint8

const (
	onRung kind = iota
	preempted
	stolen
	pageWait      // at a new page
	pageWaitInOne // not at a new page, outside a flush
	throttled
)

// stallNames are those of the mechanisms.
var stallNames = [...]string{preempted: "preempted", stolen: "stolen", pageWait: "page wait", pageWaitInOne: "page wait, same page", throttled: model.PauseThrottled}

// kind tells what held the lock for so long.
func (o *observation) kind() kind {
	atPage := o.boundary >= model.Crosses4KiB
	switch {
	case o.hold <= slow:
		return onRung
	case o.cause == probe.CausePreempted || o.cause == probe.CauseUnknown:
		return preempted
	case o.cause == probe.CauseSlept && atPage && o.throttle:
		return throttled
	case o.cause == probe.CauseSlept && atPage:
		return pageWait
	case o.cause == probe.CauseSlept && o.phase == model.PhaseOutside:
		return pageWaitInOne
	case o.cause == probe.CauseRan && o.boundary < model.Crosses64KiB && o.phase == model.PhaseOutside:
		return stolen
	default:
		return onRung
	}
}

// late reports whether the thread had not begun in time though it was free.
func (o *observation) late() bool { return o.before > slow }

const slow = int64(probe.Slow)
