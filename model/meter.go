package model

import "brokersim/sim"

// meter adds up what the sends in a broker's queue wait for.
//
// At each instant all of them wait for one dominant cause (broker.dominant),
// and the meter has the time of each, of when the queue was not empty. What a
// send waited for is then the difference between when it left and a mark of
// when it came; it adds up to its waiting time to the ns. Two parts of it go
// to another cause:
//
//   - For a send that was swept, what passed since it was old enough to be
//     (or since the page cache was busy) is CauseSweep: up to 10 ms, more if
//     the sweeper was late. While the process stands still it is that.
//   - A backlog that a stall left is not the load's: of the time that a send
//     waits for threads that work (CauseBacklog, CauseLock) as much goes to the
//     stall (After) as stalls had taken away since a thread was last idle, when the
//     send came. Sends that were swept since have paid for it with the time
//     that each would have taken. So a stall of 5 ms explains 5 ms of each wait
//     in an overload and no more. Of several stalls it is the one that took most.
//     What a halt of the process held up outside counts as left by it, if the
//     queue was empty.
type meter struct {
	at      Cause // dominant since then,
	since   sim.Time
	halt    Cause    // but for this until
	frozen  sim.Time // then
	stood   sim.Time // how long that is
	turns   uint32   // how often at has changed
	holder  uint32   // the worker that has had the put lock last
	threads [causes]int32

	// Until since, of the time with a queue since a thread was last idle:
	spent [causes]sim.Time
	spend bool     // any of it is not 0
	debt  sim.Time // of stalls, less what is paid
	worst Cause    // the stall that took most
	taken int64    // sends that a thread took, and left others behind

	marks []mark // of the sends in the queue: a ring, length a power of two
	head  int
	n     int // marks in use

	spans []span // the last, a ring once there are spansMax
	span  int    // the last one

	wait Wait // the last that was told or had several causes
}

// mark is the meter as sends found it that came into the queue one after the
// other while the dominant cause was the same.
type mark struct {
	sends int // that are in the queue still
	turns uint32
	at    Cause
	worst Cause
	spend bool // else all of spent is 0, whatever it says
	since sim.Time
	debt  sim.Time
	spent [causes]sim.Time
}

// span is a stretch of time of one cause, from the end of the one before it.
type span struct {
	to    sim.Time
	cause Cause
}

// spansMax is how many are looked back on from a sweep, which is late by 10 ms
// as a rule. If it is later, and so many spans don't reach so far, what is
// before them is taken from the longest parts of the wait.
const spansMax = 4096

// turn makes c the dominant cause.
func (m *meter) turn(now sim.Time, c Cause) {
	if c != m.at {
		m.advance(now)
		m.at = c
		m.turns++
	}
}

// outsideFor is how long after a halt the sends come that it held up outside, in
// the socket: a queue that begins to grow then is what it left.
const outsideFor = 10 * sim.Millisecond

// freeze makes c, a halt, the dominant cause from now until end. Of several at
// once it is the one that lasts longest.
func (m *meter) freeze(c Cause, now, end sim.Time) {
	m.advance(now)
	if end > m.frozen {
		m.halt, m.frozen, m.stood = c, end, end-now
	}
	m.turns++
}

// advance adds up until now. It does no harm while the queue is empty.
func (m *meter) advance(now sim.Time) {
	if m.frozen > m.since && now > m.since {
		m.pass(m.halt, min(now, m.frozen))
		m.turns++ // of the marks: none has a freeze between since and a send
	}
	if now > m.since {
		m.pass(m.at, now)
	}
}

func (m *meter) pass(c Cause, to sim.Time) {
	d := to - m.since
	m.spend = true
	m.spent[c] += d
	m.since = to
	if c.Stall() {
		m.debt += d
		if !m.worst.Stall() || m.spent[c] > m.spent[m.worst] {
			m.worst = c
		}
	}
	switch {
	case len(m.spans) > 0 && m.spans[m.span].cause == c:
		m.spans[m.span].to = to
	case len(m.spans) < spansMax:
		m.span = len(m.spans)
		m.spans = append(m.spans, span{to, c})
	default:
		m.span = (m.span + 1) % spansMax
		m.spans[m.span] = span{to, c}
	}
}

// pay takes off the debt what a send that is swept would have taken: as much as
// those that threads have taken since one was last idle.
func (m *meter) pay() {
	if m.debt == 0 || m.taken == 0 {
		return
	}
	working := m.spent[CauseIdle] + m.spent[CauseBacklog] + m.spent[CauseCPU] + m.spent[CauseLock]
	m.debt = max(0, m.debt-working/sim.Time(m.taken))
	m.turns++ // of the marks: sends from now on have another debt
}

// queued marks the meter for a send that came into the queue just now.
func (b *broker) queued(now sim.Time) {
	m := &b.meter
	switch {
	case m.n == 0: // nobody waited until now
		m.since = now
		if c := b.dominant(); c != m.at {
			m.at = c
			m.turns++
		}
		if m.debt == 0 || m.threads[CauseIdle] > 0 { // nothing is left of a stall
			m.taken = 0
			if m.spend {
				m.spend, m.debt, m.worst, m.spent = false, 0, 0, [causes]sim.Time{}
			}
			if m.stood > 0 && now >= m.frozen && now-m.frozen < outsideFor {
				m.spend, m.debt, m.worst = true, m.stood, m.halt
			}
		}
	case m.frozen > m.since:
		m.advance(now)
	}
	if m.n > 0 {
		if k := &m.marks[(m.head+m.n-1)&(len(m.marks)-1)]; k.turns == m.turns {
			k.sends++
			return
		}
	}
	if m.n == len(m.marks) {
		marks := make([]mark, max(8, 2*m.n))
		for i := range m.n {
			marks[i] = m.marks[(m.head+i)&(m.n-1)]
		}
		m.marks, m.head = marks, 0
	}
	k := &m.marks[(m.head+m.n)&(len(m.marks)-1)]
	m.n++
	k.sends, k.turns, k.at, k.worst, k.spend, k.since, k.debt = 1, m.turns, m.at, m.worst, m.spend, m.since, m.debt
	if m.spend {
		k.spent = m.spent
	}
}

// left ends the wait of the head of the queue, which has just left it: taken by
// a thread, or swept, which it could have been from due on.
func (b *broker) left(a *attempt, now, due sim.Time) {
	m := &b.meter
	k := &m.marks[m.head]
	if k.sends--; k.sends == 0 {
		m.head = (m.head + 1) & (len(m.marks) - 1)
		m.n--
	}
	if m.n == 0 && (m.debt > 0 || m.at.Stall() || m.frozen > m.since) {
		m.advance(now) // queued goes on from when the next one comes
	}
	if b.recovery.open {
		b.recovered(now)
	}
	swept := due != sim.Never
	if !swept && m.n > 0 {
		m.taken++
	}
	once := !swept && now == a.Enq
	one := !swept && k.turns == m.turns && m.frozen <= a.Enq // one cause all the time
	switch s := b.books.counted.Waits; {
	case b.obs.Waited != nil || swept:
	case a.Send < b.cfg.Warmup:
		return
	case once:
		s.atOnce++
		return
	case one:
		sum := s.of(now - a.Enq)
		sum.count++
		m.waitedOne(&sum.by, k, now-a.Enq)
		return
	}
	w := &m.wait
	w.Seq, w.Broker, w.From, w.To, w.Swept = a.Seq, int(b.id>>brokerShift), a.Enq, now, swept
	w.By = Waits{} // on its own: no copy
	switch {
	case once:
	case one:
		m.waitedOne(&w.By, k, now-a.Enq)
	default:
		m.advance(now)
		m.waited(&w.By, k, a.Enq, now, due)
	}
	if swept {
		m.pay()
	}
	if a.Send >= b.cfg.Warmup {
		b.books.counted.Waits.add(w)
	}
	if b.obs.Waited != nil {
		b.obs.Waited(w)
	}
}

// waitedOne adds the wait of a send during which the dominant cause was the same.
func (m *meter) waitedOne(w *Waits, k *mark, d sim.Time) {
	if k.debt > 0 && (m.at == CauseBacklog || m.at == CauseLock) {
		after := min(d, k.debt)
		w[k.worst.After()] += after
		d -= after
	}
	w[m.at] += d
}

// waited gives a w of 0 what a send that came at enq and has that mark has waited
// for until now.
func (m *meter) waited(w *Waits, k *mark, enq, now, due sim.Time) {
	copy(w[:], m.spent[:])
	if k.spend {
		for c, d := range k.spent {
			w[c] -= d
		}
	}
	w[k.at] -= enq - k.since
	if due < now {
		m.lookBack(w, now, due)
	}
	after, of := k.debt, k.worst
	if k.at.Stall() { // until it came
		after += enq - k.since
		if !of.Stall() || k.spent[k.at]+enq-k.since > k.spent[of] {
			of = k.at
		}
	}
	for _, c := range [...]Cause{CauseBacklog, CauseLock} {
		d := min(w[c], after)
		w[c] -= d
		w[of.After()] += d
		after -= d
	}
}

// lookBack gives what passed from due until now to CauseSweep.
func (m *meter) lookBack(w *Waits, now, due sim.Time) {
	give := func(c Cause, d sim.Time) {
		if !c.halt() {
			w[c] -= d
			w[CauseSweep] += d
		}
	}
	to := now
	for i := range m.spans {
		n := len(m.spans)
		s, from := m.spans[(m.span+n-i)%n], due
		if i+1 < n {
			from = max(due, m.spans[(m.span+n-i-1)%n].to)
		} else if n == spansMax {
			from = to // where it began is forgotten
		}
		if from < to {
			give(s.cause, to-from)
			to = from
		}
		if to <= due {
			return
		}
	}
	for left := to - due; left > 0; {
		c := CauseIdle
		for o := range CauseGC {
			if w[o] > w[c] {
				c = o
			}
		}
		d := min(w[c], left)
		if d == 0 {
			return
		}
		give(c, d)
		left -= d
	}
}

// headWaits is what the first send in the queue has waited for most.
func (b *broker) headWaits(now sim.Time) Cause {
	m := &b.meter
	m.advance(now)
	head, ok := b.queue.first()
	if !ok {
		return b.dominant() // it is full of callbacks
	}
	var w Waits
	m.waited(&w, &m.marks[m.head], b.attempts.at(int64(head.ID)).Enq, now, sim.Never)
	if w.Total() == 0 {
		return b.dominant()
	}
	return w.most()
}

// rejectCause is why rejectRequest refuses: what the holder of the put lock is
// at, or that no buffer of the transient pool is free.
func (b *broker) rejectCause() Cause {
	if b.lock.state.Busy(b.clock.Ms(b.eng.Now()), b.cfg.Broker.OsPageCacheBusyTimeOutMills) {
		return b.workers[b.meter.holder].cause
	}
	return CausePool
}

// refused counts a send that was refused without a wait, by the cause of what
// it was refused for.
func (b *broker) refused(a *attempt, c Cause) {
	if a.Send >= b.cfg.Warmup {
		b.books.counted.Waits.refused[c]++
	}
}
