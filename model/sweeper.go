package model

import "brokersim/sim"

// sweeper is the thread that runs BrokerFastFailure at a fixed rate.
type sweeper struct {
	queues   []Swept
	sweep    Sweep
	n        int64
	answered int // in this sweep
	nominal  sim.Time
	record   SweepRecord
	lag      sampler
	first    sampler // answer of a sweep
	answer   sampler
	stalls   stallSet

	catchesUp bool // after a freeze, among others that do
	waited    bool // for the core that this sweep has
	dump      sampler
	dumpedMs  int64 // when it last dumped all stacks
}

// dumpEveryMs is how far apart two dumps are at least (5.x; facts §1.3).
const dumpEveryMs = 15000

func (b *broker) initSweeper(streams sim.Streams) {
	s := &b.sweeper
	s.lag = newSampler(b.cfg.Costs.SweepLag, streams.Stream("sweep lag"))
	s.first = newSampler(b.cfg.Costs.FirstAnswer, streams.Stream("sweep first answer"))
	s.answer = newSampler(b.cfg.Costs.Answer, streams.Stream("sweep answer"))
	s.dump = newSampler(b.cfg.Costs.StackDump, streams.Stream("stack dump"))
	s.dumpedMs = -dumpEveryMs - 1 // the broker has run for longer
	if !b.cfg.Broker.BrokerFastFailureEnable && b.traits.FastFailureSwitch {
		return
	}
	s.queues = append(s.queues, Swept{SendQueue, b.queue, b.cfg.Broker.WaitTimeMillsInSendQueue})
	s.nominal = sweepPhase(b.cfg, streams)
	b.eng.At(s.nominal+s.lag.draw(), evSweep, b.id)
}

// sweepPhase is when the first sweep is due.
func sweepPhase(cfg *Config, streams sim.Streams) sim.Time {
	if cfg.Machine.SweepPhase != Absent {
		return cfg.Machine.SweepPhase
	}
	return sim.Time(streams.Stream("sweep phase").Uint64() % uint64(SweepPeriod))
}

// sweepBegins is one tick of the fixed rate; a stall of the sweeper holds it.
func (b *broker) sweepBegins() {
	s := &b.sweeper
	now := b.eng.Now()
	if end := s.stalls.end(now, now); end.stalled {
		if b.obs.Stall != nil {
			b.obs.Stall(StallRecord{StallSweep, now, end.at, Absent, b.index()})
		}
		if end.at > now {
			b.eng.At(end.at, evSweep, b.id)
			return
		}
	}
	if s.catchesUp && !s.waited {
		if w := b.cpu.wait(b.busy() + b.receiving()); w > 0 {
			s.waited = true
			b.eng.At(now+w, evSweep, b.id)
			return
		}
	}
	s.n++
	s.answered = 0
	s.sweep = Sweep{}
	s.record = SweepRecord{N: s.n, Nominal: s.nominal, Start: now, Qlen: b.queue.Len()}
	b.sweepNext()
}

// due is the first instant at which a sweep could have answered a send as this
// one does.
func (b *broker) due(a *attempt, o Outcome) sim.Time {
	due := b.clock.FirstAt(a.CreateMs + b.cfg.Broker.WaitTimeMillsInSendQueue)
	if o == PCBusyCleanQueue {
		due = min(due, b.clock.FirstAt(b.lock.state.beginMs+b.cfg.Broker.OsPageCacheBusyTimeOutMills+1))
	}
	return max(due, a.Enq)
}

// sendSwept is a request that was taken out of the send queue.
func (b *broker) sendSwept(ans Answer) {
	if ans.ID&sendLoad != 0 {
		ans.ID &^= sendLoad
		b.loadSwept(ans)
		return
	}
	a := b.attempts.at(int64(ans.ID))
	a.Clean, a.Sweep, a.PeriodMs, a.Qsize = b.eng.Now(), b.sweeper.n, ans.PeriodMs, int64(ans.Size)
	b.left(a, b.eng.Now(), b.due(a, ans.Outcome))
	b.answer(a, ans.Outcome, CodeSystemBusy)
}

// sweepNext answers one request, which takes the sweeper time in which the
// rest of the broker goes on; or ends the sweep.
func (b *broker) sweepNext() {
	s := &b.sweeper
	now := b.eng.Now()
	nowMs := b.clock.Ms(now)
	ans, ok := s.sweep.Next(s.queues, nowMs, b.lock.state.Busy(nowMs, b.cfg.Broker.OsPageCacheBusyTimeOutMills))
	if !ok {
		s.record.End = now
		if b.obs.Sweep != nil && (b.obs.AllSweeps || s.record.PCBusy+s.record.Timeout > 0) {
			b.obs.Sweep(s.record)
		}
		// Fixed rate: a sweep that is late or long doesn't move the schedule.
		s.nominal += SweepPeriod
		s.waited = false
		s.catchesUp = s.catchesUp && s.nominal <= now
		b.then(max(now, s.nominal+s.lag.draw()+b.cpu.sweepWait(b.busy())), evSweep, b.id)
		return
	}
	if ans.Outcome == NoAnswer {
		b.queueChanged()
		b.lose(b.attempts.at(int64(ans.ID)))
		b.then(now, evSweepNext, b.id)
		return
	}
	if ans.Queue == SendQueue {
		if ans.Outcome == PCBusyCleanQueue {
			s.record.PCBusy++
		} else {
			s.record.Timeout++
		}
		b.queueChanged()
		b.sendSwept(ans)
	} else {
		b.loadSwept(ans)
	}
	cost := &s.answer
	if s.answered++; s.answered == 1 {
		cost = &s.first
	}
	next := now + cost.draw()
	if s.catchesUp {
		next += b.cpu.thawedWait(b.busy() + b.receiving())
	} else {
		next += b.cpu.answerWait(b.busy())
	}
	if b.traits.SweepDumpsStacks && ans.Outcome == TimeoutCleanQueue && nowMs-s.dumpedMs > dumpEveryMs {
		s.dumpedMs = nowMs
		next += s.dump.draw()
	}
	b.then(next, evSweepNext, b.id)
}
