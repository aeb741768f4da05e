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
	begun   int64 // messages
	fated   int64 // messages whose fate is known,
	copies  int64 // and how often they were stored, all together
	unheard int64 // stored, and the answer lost
	open    int64 // producers and loads that still send, and what is in the system
	counted Stats
	err     error
}

// errorLine keeps an error among the first and counts it.
func (k *books) errorLine(at sim.Time, code int, remark string) {
	k.counted.ErrorsTotal++
	if len(k.counted.Errors) < ErrorLinesMax {
		k.counted.Errors = append(k.counted.Errors, ErrorLine{at.Milliseconds(), code, remark})
	}
}

// answer settles an attempt: its outcome, the answer's way back to the
// producer, its place in the books and the statistics.
func (c *Cluster) answer(a *attempt, o Outcome, code int32) {
	now := c.eng.Now()
	a.Outcome, a.Code = o, code
	p := &c.producers[a.Producer]
	if o == NoAnswer {
		a.ClientTimedOut, a.deadline = true, min(a.deadline, max(now, a.Send+p.spec.Timeout))
	} else {
		a.Resp = now + c.network.draw()
		if c.cfg.Machine.NIC > 0 {
			a.Resp += c.brokers[a.Broker].nic.out.pass(now, answerBytes) - now
		}
		a.ClientTimedOut = a.Resp > a.deadline
	}
	if p.spec.Mode == SendOneway {
		a.Resp = Absent // even where the broker writes one, nobody waits for it
	}
	k := &c.books
	k.settled[o]++
	k.open--
	if a.stored() {
		k.stored++
		if o == NoAnswer {
			k.unheard++
		}
		if c.atRisk && a.end > 0 && o != NoAnswer {
			c.brokers[a.Broker].acknowledged(a)
		}
	}
	c.trace(a)
	if !inOrder(a) {
		k.err = fmt.Errorf("%w: times of attempt %d are out of order", ErrBooks, a.Seq)
	}
	if a.Send >= c.cfg.Warmup {
		k.counted.add(a)
		if len(k.counted.Brokers) > 0 {
			k.counted.Brokers[a.Broker].add(a.class())
		}
		switch {
		case code == CodeSuccess, a.Resp == Absent:
		case len(k.counted.Errors) < ErrorLinesMax:
			k.errorLine(a.Resp, int(code), c.remarkOf(a))
		default: // without the cost of a remark
			k.counted.ErrorsTotal++
		}
	}
	c.told(p, a)
	c.attempts.settle(a, c.obs.Attempt)
}

// fate enters a message that was stored so often, with what its producer was
// told and whether that left it unsure.
func (c *Cluster) fate(p *producer, begun sim.Time, stores int32, told, unsure bool) {
	k := &c.books
	k.fated++
	k.copies += int64(stores)
	if stores == 0 && told && p.spec.Mode != SendOneway {
		k.err = fmt.Errorf("%w: a message was never stored, and its producer told that it was", ErrBooks)
	}
	if begun >= c.cfg.Warmup {
		k.counted.Messages.add(stores, told, unsure, p.batch())
	}
}

// inOrder checks the order in which things happened to an attempt: it was
// refused on arrival, or swept from the queue, or taken and answered; never
// both of the latter.
func inOrder(a *attempt) bool {
	resp := a.Resp
	if resp == Absent {
		resp = sim.Never
	}
	switch {
	case a.Send > a.Arrive:
		return false
	case a.Deq != Absent:
		locked := a.Lock == Absent || a.Deq <= a.LockReq && a.LockReq <= a.Lock && a.Lock <= a.Unlock
		answered := a.Outcome == NoAnswer || a.Deq <= a.Done && a.Unlock <= a.Done && a.Done <= resp
		return a.Clean == Absent && a.Arrive <= a.Enq && a.Enq <= a.Deq && locked && answered
	case a.Clean != Absent:
		return a.Arrive <= a.Enq && a.Enq <= a.Clean && a.Clean <= resp
	default:
		return max(a.Arrive, a.Enq) <= resp
	}
}

// remarkOf is the answer's remark as the broker spells it.
func (c *Cluster) remarkOf(a *attempt) string {
	switch a.Outcome {
	case TimeoutCleanQueue, PCBusyCleanQueue:
		return remark(a.Outcome, a.PeriodMs, int(a.Qsize))
	case RejectRequest:
		return RemarkRejectRequest
	case Overload:
		return RemarkOverload
	default:
		_, text, _ := c.traits.Response(a.status, c.cfg.Broker.MaxMessageSize, DiskUsed{})
		return text
	}
}

// trace folds an attempt's way through the broker into the fingerprint, in
// the order in which attempts are answered: when it arrived, was queued,
// taken, appended or swept, and how it was answered.
func (c *Cluster) trace(a *attempt) {
	const k1, k2, k3, k4, k5, k6 = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	times := uint64(a.Arrive)*k1 + uint64(a.Enq)*k2 + uint64(a.Deq)*k3 + uint64(a.Lock)*k4 + uint64(a.Unlock)*k5 + uint64(c.eng.Now())*k6
	c.fp.Mix(times ^ uint64(a.Seq)<<8 ^ uint64(a.Outcome))
}

// checkBooks compares what came with what became of it.
func (c *Cluster) checkBooks() error {
	k := &c.books
	if k.err != nil {
		return k.err
	}
	var settled int64
	for _, n := range k.settled {
		settled += n
	}
	inSystem := k.arrived - settled
	if k.open != 0 {
		return fmt.Errorf("%w: the run ended with %d open (%d sends in the system)", ErrBooks, k.open, inSystem)
	}
	if settled != k.arrived {
		return fmt.Errorf("%w: %d sends arrived, %d have an outcome", ErrBooks, k.arrived, settled)
	}
	ok := k.settled[OK] + k.settled[FlushDiskTimeout] + k.settled[FlushSlaveTimeout] + k.settled[SlaveNotAvailable] + k.unheard
	if k.stored != ok {
		return fmt.Errorf("%w: %d sends were stored, %d were answered as stored", ErrBooks, k.stored, ok)
	}
	if k.fated != k.begun {
		return fmt.Errorf("%w: %d messages were sent, %d have a fate", ErrBooks, k.begun, k.fated)
	}
	if k.copies != k.stored {
		return fmt.Errorf("%w: %d sends were stored, messages %d times", ErrBooks, k.stored, k.copies)
	}
	for i := range c.brokers {
		if err := c.brokers[i].checkQueues(); err != nil {
			return err
		}
	}
	return k.counted.check()
}

func (b *broker) checkQueues() error {
	if n := b.queue.Len(); n != 0 {
		return fmt.Errorf("%w: %d requests left in the send queue", ErrBooks, n)
	}
	for i := range b.loads {
		if n := &b.loads[i].count; n.Arrived != n.Served+n.TimeoutCleanQueue+n.PCBusyCleanQueue+n.Overload {
			return fmt.Errorf("%w: %d %s requests arrived, %d served, %d timed out, %d pcbusy, %d overload",
				ErrBooks, n.Arrived, n.Queue, n.Served, n.TimeoutCleanQueue, n.PCBusyCleanQueue, n.Overload)
		}
	}
	return nil
}

func itoa(i int) string { return strconv.Itoa(i) }
