package model

import "brokersim/sim"

// recovery times how long a broker takes to get over a stall: from the end of
// the last stall until as few sends wait as when the first began, in the send
// queue or at the codec thread. Stalls that come before that are one with it.
type recovery struct {
	open  bool
	level int
	end   sim.Time // of the last stall
	calm  sim.Time // what waited outside meanwhile has come by then
}

// recoveryLeast is the shortest stall whose recovery is timed: a sweep's
// period. Shorter ones are part of what a store does all the time.
const recoveryLeast = SweepPeriod

// waits is the number of sends that are in the broker and not at a thread.
func (b *broker) waits() int { return b.decoding + b.queue.Len() }

// stalls notes that something begins that may be a stall.
func (b *broker) stalls() {
	if r := &b.recovery; !r.open {
		r.level = b.waits()
	}
}

// stalled begins a recovery from a stall, unless that is too short. What waited
// outside comes so much later than it ends.
func (b *broker) stalled(from, end, outside sim.Time) {
	r := &b.recovery
	if end-from < recoveryLeast {
		return
	}
	r.open = true
	r.end = max(r.end, end)
	r.calm = max(r.calm, end+outside)
}

// recovered looks, just before a send arrives or just after one has left the
// queue, whether the recovery is over, and since when if so.
func (b *broker) recovered(since sim.Time) {
	r := &b.recovery
	if b.eng.Now() < r.calm || b.waits() > r.level {
		return
	}
	r.open = false
	b.books.counted.recovered(r, since, b.cfg)
}

// recovered counts a recovery that was over at that time. One that arrivals had
// to end for doesn't count as one.
func (s *Stats) recovered(r *recovery, at sim.Time, cfg *Config) {
	switch {
	case r.end < cfg.Warmup || r.end > cfg.Duration && !cfg.Recorded:
	case at > cfg.Duration && !cfg.Recorded:
		s.Unrecovered++
	default:
		s.Recovery = append(s.Recovery, at-r.end)
	}
}
