package model

import "brokersim/sim"

// message is what a producer wants stored: a call of send with its attempts,
// and the calls that the application's handler makes after it. A plain
// producer's message has a record only if it is sent again.
type message struct {
	producer int32
	caller   int32
	order    int64    // among its producer's, by first call
	begun    sim.Time // first call
	deadline sim.Time // of the present call, or the present attempt where that has its own
	body     int64

	calls    int32 // before the present one
	attempts int32 // of the present call
	number   int32 // of the present attempt, over all calls
	last     int32 // broker of the present attempt; none before a call's first
	queue    int32 // number of its queue there
	sent     sim.Time
	waits    bool // for the answer to the present attempt
	result   bool // an attempt of the present call left a SendResult

	outcome Outcome // of the answer that is on its way: evAnswer
	code    int32

	pending int32 // attempts that a broker has yet to answer
	stores  int32
	unsure  bool // an attempt timed out
	over    bool
	told    bool // that it was sent
	live    bool // the record is in use
}

// messages are those that have a record.
type messages struct {
	all   []message
	spare []uint32
}

// open returns a new record and its number.
func (l *messages) open() (*message, uint32) {
	var i uint32
	if n := len(l.spare); n > 0 {
		i = l.spare[n-1]
		l.spare = l.spare[:n-1]
	} else {
		i = uint32(len(l.all))
		l.all = append(l.all, message{})
	}
	l.all[i] = message{live: true, last: none}
	return &l.all[i], i
}

func (l *messages) close(i uint32) {
	l.all[i].live = false
	l.spare = append(l.spare, i)
}

// flight is an attempt on its way to a broker.
type flight struct {
	send     sim.Time
	deadline sim.Time
	through  sim.Time // codec.go: where it waits for its codec thread
	message  uint32
	number   int32
	queue    int32
	next     uint32 // free list
}

// flights are those under way.
type flights struct {
	all  []flight
	free uint32 // first free one + 1
}

func (l *flights) open(f flight) uint32 {
	if l.free == 0 {
		l.all = append(l.all, f)
		return uint32(len(l.all) - 1)
	}
	i := l.free - 1
	l.free = l.all[i].next
	l.all[i] = f
	return i
}

func (l *flights) close(i uint32) flight {
	f := l.all[i]
	l.all[i].next = l.free
	l.free = i + 1
	return f
}

// deadlines are when a producer gives up, in order: one event waits for the
// first of them, whatever their number.
type deadlines struct {
	ring    []deadline // length 0 or a power of two
	head, n int
	armed   bool
}

// deadline is when the wait for an attempt (or, where the whole call has one
// deadline, for a call) is over.
type deadline struct {
	at      sim.Time
	order   int64
	message uint32
	key     int32
}

func (d *deadlines) push(x deadline) {
	if d.n == len(d.ring) {
		ring := make([]deadline, max(64, 2*len(d.ring)))
		for i := range d.n {
			ring[i] = d.ring[(d.head+i)&(len(d.ring)-1)]
		}
		d.ring, d.head = ring, 0
	}
	d.ring[(d.head+d.n)&(len(d.ring)-1)] = x
	d.n++
}

// initCallers has the callers of a closed workload think before their first
// call.
func (c *Cluster) initCallers(i int) {
	p := &c.producers[i]
	p.caller0 = int32(len(c.callers))
	for range p.callers {
		c.books.open++
		c.callers = append(c.callers, int32(i))
		c.callsAt(uint64(len(c.callers)-1), p.think.draw())
	}
}

// callsAt has a caller call then, or stop if that is after the end.
func (c *Cluster) callsAt(caller uint64, at sim.Time) {
	if at >= c.cfg.Duration {
		c.books.open--
		return
	}
	c.eng.At(at, evCall, caller)
}

// nextSend schedules the next send of an open workload.
func (c *Cluster) nextSend(i int) {
	at, ok := c.producers[i].next(c.cfg)
	if !ok {
		c.books.open--
		return
	}
	c.eng.At(at, evSend, uint64(i))
}

// send is an open workload's next message.
func (c *Cluster) send(i int) {
	c.nextSend(i) // first: a call's attempt is the successor
	c.begin(i, 0)
}

// call is a caller of a closed workload, back from thinking.
func (c *Cluster) call(caller uint32) {
	i := c.callers[caller]
	c.begin(int(i), int32(caller)-c.producers[i].caller0)
}

// begin is the first call for a new message.
func (c *Cluster) begin(i int, caller int32) {
	p := &c.producers[i]
	m, at := c.messages.open()
	c.books.open++
	c.books.begun++
	m.producer, m.caller, m.order, m.begun = int32(i), caller, p.order, c.eng.Now()
	m.body = int64(p.body.draw()) * p.batch()
	p.order++
	c.startCall(at)
}

// startCall is a call of send: sendDefaultImpl.
func (c *Cluster) startCall(at uint32) {
	m := &c.messages.all[at]
	p := &c.producers[m.producer]
	m.attempts, m.last, m.result = 0, none, false
	m.deadline = p.patience(c.eng.Now())
	c.attempt(at)
}

// attempt is one round of its loop: a queue is chosen, the request written.
func (c *Cluster) attempt(at uint32) {
	m := &c.messages.all[at]
	p := &c.producers[m.producer]
	now := c.eng.Now()
	first := m.attempts == 0
	if !first && !p.perAttempt() && now > m.deadline {
		c.callEnds(at, now) // RemotingTooMuchRequestException: sendDefaultImpl call timeout
		c.settleMessage(at)
		return
	}
	q := c.choose(p, m, now)
	m.last, m.queue, m.sent = q.broker, q.id, now
	m.attempts++
	m.number++
	m.pending++
	network := &p.network
	if m.number > 1 {
		network = &p.networkAgain
	}
	c.countAgain(m, first)
	if p.patient && (first || p.perAttempt()) {
		c.wait(p, m, at, first)
	}
	topic := int32(0)
	if m.calls > 0 && p.spec.Handler == HandlerBak {
		topic = 1
	}
	queues := int32(c.cfg.queues())
	f := c.flights.open(flight{
		send: now, deadline: m.deadline, message: at, number: m.number,
		queue: (topic*int32(len(c.brokers))+q.broker)*queues + q.id,
	})
	b := &c.brokers[q.broker]
	l := &p.links[q.broker]
	l.reached = max(l.reached, now+network.draw())
	kind := evReach
	if b.nic.there() {
		kind = evWireReach
	}
	if m.waits = p.spec.Mode != SendOneway; !m.waits {
		if p.faults != nil {
			p.faults.update(&p.client, q.broker, now, 0, false, true)
		}
		m.result, m.unsure = true, true // nobody will hear of it
		c.callEnds(at, now)
	}
	switch {
	case !b.at(l.reached, kind, b.id|uint64(f)):
	case kind == evReach:
		b.reach(f)
	default:
		b.wireReach(f)
	}
}

// countAgain counts what isn't a message's first attempt.
func (c *Cluster) countAgain(m *message, first bool) {
	if m.number == 1 || c.eng.Now() < c.cfg.Warmup {
		return
	}
	if first {
		c.books.counted.Resends++
	} else {
		c.books.counted.Retries++
	}
}

// perAttempt says that each attempt has a time of its own.
func (p *producer) perAttempt() bool {
	return p.client.TimeoutPerAttempt || p.spec.Mode == SendAsync
}

// wait notes when the producer gives up on the attempt at hand, or on its call.
func (c *Cluster) wait(p *producer, m *message, at uint32, first bool) {
	list, key := 0, m.calls
	if p.perAttempt() {
		key = m.number
		if !first {
			// An asynchronous retry is sent without any time (facts §9.3), so
			// that its turn can come before that of an earlier first attempt.
			if m.deadline = p.patience(c.eng.Now()); p.spec.Mode == SendAsync {
				list, m.deadline = 1, p.deadline(c.eng.Now(), 0)
			}
		}
	}
	d := &p.deadlines[list]
	d.push(deadline{m.deadline, m.order, at, key})
	if !d.armed {
		d.armed = true
		c.eng.At(m.deadline, evPatience, uint64(m.producer)<<1|uint64(list))
	}
}

// impatient is the first deadline of a producer, which may have got its answer
// long since.
func (c *Cluster) impatient(arg uint64) {
	p := &c.producers[arg>>1]
	d := &p.deadlines[arg&1]
	for ; d.n > 0; d.n-- {
		x := &d.ring[d.head]
		m := &c.messages.all[x.message]
		waits, key := !m.over, m.calls
		if p.perAttempt() {
			waits, key = m.waits, m.number
		}
		if waits && m.live && m.producer == int32(arg>>1) && m.order == x.order && key == x.key {
			if x.at > c.eng.Now() {
				c.eng.At(x.at, evPatience, arg)
				return
			}
			if m.waits { // else it is about to try again, and finds its time used up
				c.timesOut(x.message, x.at)
				c.settleMessage(x.message)
			}
		}
		d.head = (d.head + 1) & (len(d.ring) - 1)
	}
	d.armed = false
}

// choose is MQFaultStrategy.selectOneMessageQueue. With a MessageQueueSelector
// all goes to one queue, which differs from one producer to the next.
func (c *Cluster) choose(p *producer, m *message, now sim.Time) queueRef {
	topic := &p.topics[0]
	if m.calls > 0 && p.spec.Handler == HandlerBak {
		topic = &p.topics[1]
	}
	if p.spec.Ordered {
		return topic.queues[topic.at(uint32(m.producer))]
	}
	q := queueRef{}
	if p.faults != nil {
		q = p.faults.choose(&p.client, topic, m.caller, m.last, now)
	} else {
		q = topic.selectOneMessageQueue(m.caller, m.last)
	}
	if m.last != none && p.spec.Mode == SendAsync {
		q.id = m.queue // the same request goes to another address
	}
	return q
}

// reach is an attempt at its broker's codec thread, once that has a core: what
// came meanwhile it then takes at once.
func (b *broker) reach(i uint32) {
	m := &b.messages.all[b.flights.all[i].message]
	p := &b.producers[m.producer]
	l := &p.links[b.index()]
	if now := b.eng.Now(); now > l.core && b.flights.all[i].through == 0 {
		l.core = now + b.codecCPU.wait(b.busy())
	}
	if l.core > b.eng.Now() {
		b.eng.At(l.core, evReach, b.id|uint64(i))
		return
	}
	through := b.flights.all[i].through
	if through == 0 {
		var begins sim.Time
		if begins, b.flights.all[i].through = b.reserve(p.codec, b.eng.Now()); begins > b.eng.Now() {
			b.eng.At(begins, evReach, b.id|uint64(i))
			return
		}
	}
	f := b.flights.close(i)
	a := b.attempts.open()
	a.Send, a.Body, a.Producer = f.send, m.body, m.producer
	a.record, a.number, a.Message, a.queue, a.deadline = f.message+1, f.number, m.order, f.queue, f.deadline
	b.received(p, a, through)
}

// told is what an answered attempt means for its message. It is known when the
// broker answers; the producer has it at a.Resp.
func (c *Cluster) told(p *producer, a *attempt) {
	stored := a.stored()
	if a.record == 0 {
		if a.ClientTimedOut || p.spec.Mode != SendSync || p.attempts == 1 || !p.retries(a.Code) {
			c.books.begun++
			c.fate(p, a.Send, b2i(stored), p.spec.Mode == SendOneway || isSendResult(a.Code) && !a.ClientTimedOut,
				a.ClientTimedOut || p.spec.Mode == SendOneway)
			return
		}
		c.adopt(a)
	}
	at := a.record - 1
	m := &c.messages.all[at]
	m.pending--
	m.stores += b2i(stored)
	if m.waits && a.number == m.number {
		switch {
		case a.ClientTimedOut && !p.patient:
			c.timesOut(at, a.deadline)
		case a.ClientTimedOut: // as impatient will find
		case p.faults != nil:
			m.waits, m.outcome, m.code = false, a.Outcome, a.Code
			c.eng.At(a.Resp, evAnswer, uint64(at))
		default:
			c.decide(at, a.Resp, a.Code)
		}
	}
	c.settleMessage(at)
}

// adopt gives a plain producer's message a record.
func (c *Cluster) adopt(a *attempt) {
	m, at := c.messages.open()
	c.books.open++
	c.books.begun++
	m.producer, m.order, m.begun, m.sent, m.deadline, m.body = a.Producer, a.Message, a.Send, a.Send, a.deadline, a.Body
	m.attempts, m.number, m.pending, m.last, m.waits = 1, 1, 1, a.Broker, true
	a.record, a.number = at+1, 1
}

// answered is the answer at a producer that learns from it which brokers to
// leave alone.
func (c *Cluster) answered(at uint32) {
	m := &c.messages.all[at]
	p := &c.producers[m.producer]
	now := c.eng.Now()
	failed := !isSendResult(m.code)
	p.faults.update(&p.client, m.last, now, now-m.sent, failed, !(failed && p.client.ErrorIsUnreachable))
	c.decide(at, now, m.code)
	c.settleMessage(at)
}

// decide is what a producer does about an answer that it has at that time.
func (c *Cluster) decide(at uint32, has sim.Time, code int32) {
	m := &c.messages.all[at]
	p := &c.producers[m.producer]
	m.waits = false
	m.result = m.result || isSendResult(code)
	if p.spec.Mode == SendSync && m.attempts < p.attempts && p.retries(code) {
		c.eng.At(has+clientTurn, evRetry, uint64(at))
		return
	}
	c.callEnds(at, has)
}

// timesOut is a producer that gives up on its attempt. A call whose whole time
// is used up leaves nothing for a retry (facts §9.1).
func (c *Cluster) timesOut(at uint32, gaveUp sim.Time) {
	m := &c.messages.all[at]
	p := &c.producers[m.producer]
	m.waits, m.unsure = false, true
	if p.faults != nil {
		p.faults.update(&p.client, m.last, gaveUp, gaveUp-m.sent, true, true)
	}
	if p.perAttempt() && m.attempts < p.attempts {
		c.eng.At(gaveUp+clientTurn, evRetry, uint64(at))
	} else {
		c.callEnds(at, gaveUp)
	}
}

// callEnds is the end of a call: a SendResult, or an exception that the
// application's handler gets.
func (c *Cluster) callEnds(at uint32, ended sim.Time) {
	m := &c.messages.all[at]
	p := &c.producers[m.producer]
	if !m.result && m.calls < p.resends {
		m.calls++
		c.eng.At(ended+clientTurn+p.backoff.draw(), evResend, uint64(at))
		return
	}
	m.over, m.told = true, m.result
	if p.process == nil {
		c.callsAt(uint64(p.caller0+m.caller), ended+clientTurn+p.think.draw())
	}
}

// settleMessage closes the record of a message of which nothing can come any
// more.
func (c *Cluster) settleMessage(at uint32) {
	m := &c.messages.all[at]
	if !m.over || m.pending > 0 {
		return
	}
	c.fate(&c.producers[m.producer], m.begun, m.stores, m.told, m.unsure)
	c.messages.close(at)
	c.books.open--
}

// retries reports whether sendDefaultImpl tries again after a response of that
// code (facts §9.1).
func (p *producer) retries(code int32) bool {
	switch code {
	case CodeSuccess:
		return false
	case CodeFlushDiskTimeout, CodeFlushSlaveTimeout, CodeSlaveNotAvailable:
		return p.spec.RetryAnotherBrokerWhenNotStoreOK
	case CodeSystemBusy:
		return p.client.SystemBusyRetried
	case CodeTopicNotExist, CodeServiceNotAvailable, CodeSystemError, CodeNoPermission, CodeNoBuyerID, CodeNotInCurrentUnit:
		return true
	default:
		return false
	}
}

// isSendResult reports whether send returns that response rather than throws
// an MQBrokerException (facts §9.2).
func isSendResult(code int32) bool {
	switch code {
	case CodeSuccess, CodeFlushDiskTimeout, CodeFlushSlaveTimeout, CodeSlaveNotAvailable:
		return true
	}
	return false
}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
