package model

import (
	"fmt"

	"brokersim/sim"
)

// SweepPeriod is that of BrokerFastFailure: scheduleAtFixedRate every 10 ms; a
// late or long sweep doesn't move the schedule, and the missed ones follow at
// once (facts §1.1). The first comes 1 s after the broker's start, long before
// a run's time 0, which falls anywhere between two sweeps.
const SweepPeriod = 10 * sim.Millisecond

// Swept is one of the queues of a sweep and its limit.
type Swept struct {
	Name   SweptQueue
	Queue  *Queue
	WaitMs int64
}

// Sweep is one run of BrokerFastFailure.cleanExpiredRequest, advanced one
// answer at a time so that its driver can let time pass in between: answering
// costs the sweeper real time, and the world goes on meanwhile. The zero
// value is a sweep about to begin.
type Sweep struct{ stage int }

// Answer is a request that a sweep has removed from its queue and answers
// with SYSTEM_BUSY.
type Answer struct {
	Queue    SweptQueue
	ID       uint64
	Outcome  Outcome // PCBusyCleanQueue or TimeoutCleanQueue; NoAnswer: a callback was dropped, and nobody is answered
	PeriodMs int64   // the remark's "period in queue"
	Size     int     // the remark's "size of queue": what is left behind it
}

// Next removes the next request that the sweep answers, judged at nowMs, or
// reports that the sweep is over. queues[0] is the send queue.
//
// First, while the page cache is busy, every request of the send queue,
// whatever its age; then from each queue in turn the head as long as it is as
// old as the limit: >=, in whole ms, and only the head is ever looked at
// (facts §1.2, §1.3). A head that is no request ends the latter for its queue,
// and is polled and lost by the former (facts §1.5).
func (s *Sweep) Next(queues []Swept, nowMs int64, busy bool) (Answer, bool) {
	if s.stage == 0 {
		if busy {
			if w, ok := queues[0].Queue.Poll(); ok {
				if w.Foreign() {
					return Answer{Queue: queues[0].Name, ID: w.ID, Outcome: NoAnswer}, true
				}
				return Answer{queues[0].Name, w.ID, PCBusyCleanQueue, nowMs - w.CreateMs, queues[0].Queue.Len()}, true
			}
		}
		s.stage = 1
	}
	for s.stage <= len(queues) {
		q := &queues[s.stage-1]
		if w, ok := q.Queue.Peek(); ok && !w.Foreign() {
			if behind := nowMs - w.CreateMs; behind >= q.WaitMs {
				q.Queue.Poll()
				return Answer{q.Name, w.ID, TimeoutCleanQueue, behind, q.Queue.Len()}, true
			}
		}
		s.stage++
	}
	return Answer{}, false
}

// Remark is the answer's text as the broker spells it (facts §1.4).
func (a Answer) Remark() string { return remark(a.Outcome, a.PeriodMs, a.Size) }

func remark(o Outcome, periodMs int64, size int) string {
	return fmt.Sprintf("[%s]broker busy, start flow control for a while, period in queue: %dms, size of queue: %d", o, periodMs, size)
}
