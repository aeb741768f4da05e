package model

import (
	"fmt"
	"strconv"

	"brokersim/sim"
)

// ErrorLinesMax is how many error lines a run keeps.
const ErrorLinesMax = 100

// books counts what came and what became of it. They are checked in every
// run: a simulator whose books don't add up must not print a number.
type books struct {
	arrived int64
	settled [outcomes]int64
	stored  int64
	open    int64 // producers and loads that still send, and what is in the system
	counted Stats
	err     error
}

func (k *books) errorLine(at sim.Time, code int, remark string) {
	if len(k.counted.Errors) < ErrorLinesMax {
		k.counted.Errors = append(k.counted.Errors, ErrorLine{at.Milliseconds(), code, remark})
	}
}

// answer settles an attempt: its outcome, the answer's way back to the
// producer, its place in the books and the statistics.
func (b *Broker) answer(a *attempt, o Outcome, code int32) {
	now := b.eng.Now()
	a.Outcome, a.Code = o, code
	a.Resp = now + b.network.draw()
	timeout := b.producers[a.producer].spec.Timeout
	a.ClientTimedOut = timeout > 0 && a.Resp-a.Send > timeout
	k := &b.books
	k.settled[o]++
	k.open--
	if a.Unlock != Absent {
		k.stored++
	}
	b.mark(evDone, a.Seq<<8|int64(o))
	if !inOrder(a) {
		k.err = fmt.Errorf("%w: times of attempt %d are out of order", ErrBooks, a.Seq)
	}
	if a.Send >= b.cfg.Warmup {
		k.counted.add(a)
		if code != CodeSuccess {
			k.errorLine(a.Resp, int(code), b.remarkOf(a))
		}
	}
	b.attempts.settle(a, b.obs.Attempt)
}

// inOrder checks the order in which things happen to an attempt.
func inOrder(a *attempt) bool {
	last := a.Send
	for _, t := range [...]sim.Time{a.Arrive, a.Enq, a.Deq, a.LockReq, a.Lock, a.App0, a.App1, a.Unlock, a.Done, a.Clean, a.Resp} {
		if t == Absent {
			continue
		}
		if t < last {
			return false
		}
		last = t
	}
	return a.Clean == Absent || a.Deq == Absent
}

// remarkOf is the answer's remark as the broker spells it.
func (b *Broker) remarkOf(a *attempt) string {
	switch a.Outcome {
	case TimeoutCleanQueue, PCBusyCleanQueue:
		return remark(a.Outcome, a.PeriodMs, int(a.Qsize))
	case RejectRequest:
		return RemarkRejectRequest
	case Overload:
		return RemarkOverload
	default:
		_, text, _ := b.traits.Response(a.status, b.cfg.Broker.MaxMessageSize)
		return text
	}
}

// mark folds a step of the trajectory into the fingerprint.
func (b *Broker) mark(kind sim.Kind, what int64) {
	b.fp.Mix(uint64(b.eng.Now()))
	b.fp.Mix(uint64(kind)<<56 | uint64(what))
}

// checkBooks compares what came with what became of it.
func (b *Broker) checkBooks() error {
	k := &b.books
	if k.err != nil {
		return k.err
	}
	var settled int64
	for _, n := range k.settled {
		settled += n
	}
	inSystem := b.attempts.next - k.arrived + (k.arrived - settled)
	if k.open != 0 {
		return fmt.Errorf("%w: the run ended with %d open (%d sends in the system)", ErrBooks, k.open, inSystem)
	}
	if settled != k.arrived {
		return fmt.Errorf("%w: %d sends arrived, %d have an outcome", ErrBooks, k.arrived, settled)
	}
	ok := k.settled[OK] + k.settled[FlushDiskTimeout] + k.settled[FlushSlaveTimeout] + k.settled[SlaveNotAvailable]
	if k.stored != ok {
		return fmt.Errorf("%w: %d sends were stored, %d were answered as stored", ErrBooks, k.stored, ok)
	}
	if n := b.queue.Len(); n != 0 {
		return fmt.Errorf("%w: %d requests left in the send queue", ErrBooks, n)
	}
	for i := range b.loads {
		if c := &b.loads[i].count; c.Arrived != c.Served+c.TimeoutCleanQueue+c.Overload {
			return fmt.Errorf("%w: %d %s requests arrived, %d served, %d timed out, %d overload",
				ErrBooks, c.Arrived, c.Queue, c.Served, c.TimeoutCleanQueue, c.Overload)
		}
	}
	return k.counted.check()
}

func itoa(i int) string { return strconv.Itoa(i) }
