package model

import "brokersim/sim"

// attempt is an Attempt in the system and what the model keeps beside it.
type attempt struct {
	Attempt
	queue    int32    // of the producer's topics, broker by broker
	record   uint32   // the message's, + 1; 0: it has none
	number   int32    // of the message's attempts, from 1
	deadline sim.Time // when the producer gives up
	status   PutStatus
	waits    uint8 // waitFlush, waitReplica
	settled  bool
	end      int64 // of its record in the commit log; 0: it has none
	ordinal  int64 // of its record, where what is at risk is followed
}

// stored reports whether the message is in the commit log: the attempt had the
// put lock, and a file.
func (a *attempt) stored() bool { return a.Unlock != Absent && a.status.Stored() }

// ledger holds the attempts in the system, in order of Seq: a ring that is as
// long as the time from the oldest unsettled attempt to the newest, whatever
// the length of the run.
type ledger struct {
	ring []attempt // length a power of two
	from int64     // oldest unsettled
	next int64     // next Seq
}

var blank = attempt{Attempt: Attempt{
	CreateMs: Absent, Enq: Absent, QlenEnq: 0, Deq: Absent, Worker: Absent, LockReq: Absent, Lock: Absent,
	App0: Absent, App1: Absent, Unlock: Absent, Done: Absent, Clean: Absent, Sweep: Absent, Resp: Absent,
	PeriodMs: Absent, Qsize: Absent,
}}

// open returns a new attempt.
func (l *ledger) open() *attempt {
	if int(l.next-l.from) == len(l.ring) {
		ring := make([]attempt, max(64, 2*len(l.ring)))
		for seq := l.from; seq < l.next; seq++ {
			ring[seq&int64(len(ring)-1)] = *l.at(seq)
		}
		l.ring = ring
	}
	a := &l.ring[l.next&int64(len(l.ring)-1)]
	*a = blank
	a.Seq = l.next
	l.next++
	return a
}

// at returns the attempt of that Seq; it is valid until the next open.
func (l *ledger) at(seq int64) *attempt { return &l.ring[seq&int64(len(l.ring)-1)] }

// settle closes an attempt and gives those that are now settled up to the
// oldest open one to out, in order.
func (l *ledger) settle(a *attempt, out func(*Attempt)) {
	a.settled = true
	for l.from < l.next {
		first := l.at(l.from)
		if !first.settled {
			return
		}
		if out != nil {
			out(&first.Attempt)
		}
		l.from++
	}
}
