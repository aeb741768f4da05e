package model

import (
	"fmt"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// SendMode is how a producer sends.
type SendMode uint8

// The modes of CommunicationMode.
const (
	SendSync SendMode = iota
	SendAsync
	SendOneway
)

// Handler is what the application does about a send that failed.
type Handler uint8

// The handlers.
const (
	HandlerRethrow Handler = iota // it gives up
	HandlerResend                 // it sends again, later
	HandlerBak                    // it sends again, later, to another topic on the same route
)

// producer is one client: its connections, the threads that send over them,
// and what the release of the client makes of the answers.
type producer struct {
	spec    *Producer
	client  Traits
	process variate.Process // nil: its callers are a closed workload
	think   sampler
	callers int32
	caller0 int32 // of the cluster's callers, its first

	body         sampler
	network      sampler // to the broker
	networkAgain sampler // the same for what is sent again: it moves no first attempt
	backoff      sampler
	nextSend     sim.Time
	nextBody     int64
	through      sim.Time // codec.go: of the next arrival, where it waits for its codec thread
	codec        int      // of the threads of either port, that of its connections
	hasCore      bool     // its codec thread, at the next arrival
	order        int64    // messages so far
	links        []link

	plain     bool // nothing but an answer's code decides what comes after a send
	patient   bool // it has to know at once when a send times out
	attempts  int32
	resends   int32
	scan      sim.Time // first scan for what has timed out, SendAsync
	deadlines [2]deadlines
	topics    [2]publishInfo // the topic, and the one of HandlerBak
	stored    []int64        // of each queue, the last stored message's order
	faults    *faultTable    // nil: sendLatencyFaultEnable is off, or there is one broker
}

// link is a producer's connection to a broker.
type link struct {
	arrived sim.Time // of the send before: a connection keeps order,
	offered sim.Time // and so does its codec thread
	reached sim.Time // as arrived, of what is sent when it is its turn
	core    sim.Time // when the codec thread has the core that it waits for
}

// clientTurn is what a client takes between an answer and what it does about
// it.
const clientTurn = 10 * sim.Microsecond

func (c *Cluster) initProducers(streams sim.Streams) {
	c.producers = make([]producer, len(c.cfg.Producers))
	for i := range c.producers {
		c.producers[i] = newProducer(c.cfg, i, streams)
		p := &c.producers[i]
		if p.process == nil {
			c.initCallers(i)
			continue
		}
		c.books.open++
		if p.plain {
			c.nextArrival(i)
		} else {
			c.nextSend(i)
		}
	}
}

func newProducer(cfg *Config, i int, streams sim.Streams) producer {
	spec := &cfg.Producers[i]
	name := spec.Name
	if name == "" {
		name = fmt.Sprint(i)
	}
	p := producer{
		spec:         spec,
		callers:      1,
		body:         newSampler(spec.Body, streams.Stream("body "+name)),
		codec:        cfg.codecOf(i),
		network:      newSampler(cfg.Costs.Network, streams.Stream("network "+name)),
		networkAgain: newSampler(cfg.Costs.Network, streams.Stream("network again "+name)),
		backoff:      newSampler(spec.Backoff, streams.Stream("backoff "+name)),
		links:        make([]link, cfg.brokers()),
	}
	if closed, ok := spec.Arrivals.(variate.Closed); ok {
		p.callers = int32(closed.Callers())
		p.think = newSampler(closed.Think(), streams.Stream("think "+name))
	} else {
		p.process = spec.Arrivals.Start(streams.Stream("arrivals " + name))
	}
	if spec.Mode == SendAsync {
		p.scan = sim.Time(streams.Stream("scan " + name).Uint64n(uint64(scanPeriod)))
	}
	p.init(cfg)
	route := streams.Stream("route " + name)
	p.topics[0] = newPublishInfo(cfg, int(p.callers), route)
	if spec.Handler == HandlerBak {
		p.topics[1] = newPublishInfo(cfg, int(p.callers), route)
	}
	p.stored = make([]int64, 2*len(p.topics[0].queues))
	if spec.SendLatencyFaultEnable && cfg.brokers() > 1 {
		p.faults = &faultTable{items: make([]faultItem, cfg.brokers()), worst: uint32(route.Uint64() >> 33)}
	}
	return p
}

// init works out what a failed attempt can lead to. A recording has in it what
// its client sent again.
func (p *producer) init(cfg *Config) {
	spec := p.spec
	p.client, _ = TraitsOf(spec.release(cfg)) // Config.Check has asked for it
	p.attempts = 1
	if !cfg.Recorded {
		switch {
		case spec.Mode == SendAsync && p.client.AsyncRetryUntimed:
			p.attempts += int32(spec.RetryTimesWhenSendAsyncFailed)
		case spec.Mode == SendSync && !spec.Ordered: // sendSelectImpl tries once
			p.attempts += int32(spec.RetryTimesWhenSendFailed)
		}
		if spec.Handler != HandlerRethrow && spec.Mode != SendOneway {
			p.resends = int32(spec.Resends)
		}
	}
	again := p.resends > 0 || p.process == nil || spec.SendLatencyFaultEnable && cfg.brokers() > 1 ||
		p.attempts > 1 && (spec.Mode == SendAsync || p.client.TimeoutPerAttempt)
	p.plain = cfg.brokers() == 1 && !again
	p.patient = again && spec.Mode != SendOneway && spec.Timeout > 0
}

// release is that of the client.
func (s *Producer) release(cfg *Config) string {
	if s.Release == "" {
		return cfg.Broker.Release
	}
	return s.Release
}

// scanPeriod is that of NettyRemotingClient's scanResponseTable, which finds
// the asynchronous sends that timed out.
const scanPeriod = sim.Second

// deadline is when the producer gives up on an attempt that it sends now and
// leaves so long: of an asynchronous one, the first scan a second or more after
// its time (facts §9.3).
func (p *producer) deadline(now, timeout sim.Time) sim.Time {
	switch p.spec.Mode {
	case SendOneway:
		return sim.Never
	case SendAsync:
		due := now + timeout + sim.Second
		return p.scan + max(0, (due-p.scan+scanPeriod-1)/scanPeriod)*scanPeriod
	default:
		return now + timeout
	}
}

// patience is deadline for a first attempt.
func (p *producer) patience(now sim.Time) sim.Time {
	if p.spec.Timeout == 0 {
		return sim.Never
	}
	return p.deadline(now, p.spec.Timeout)
}

// next is the instant of the producer's next send, false if there is no more.
func (p *producer) next(cfg *Config) (sim.Time, bool) {
	at, ok := p.process.Next()
	return at, ok && (at < cfg.Duration || cfg.Recorded)
}

// nextArrival schedules the arrival of the next send of a plain producer, which
// has one broker; a producer that has no more closes.
func (c *Cluster) nextArrival(i int) {
	b := &c.brokers[0]
	p := &c.producers[i]
	at, ok := p.next(c.cfg)
	if !ok {
		c.books.open--
		return
	}
	p.nextSend = at
	if !c.cfg.Recorded {
		l := &p.links[0]
		// What came while the codec thread had no core, or stood still in a
		// freeze, it takes at once when it runs.
		at = max(l.arrived, at+p.network.draw())
		p.hasCore = at <= c.eng.Now()
		at = max(at, c.eng.Now())
		l.arrived = at
	}
	p.nextBody = int64(p.body.draw()) * p.batch()
	kind := evArrive
	if b.nic.there() && !c.cfg.Recorded {
		kind = evWire
	}
	c.eng.At(at, kind, b.id|uint64(i))
}

// arrive is the codec thread with the next send of a plain producer, once it
// has a core.
func (b *broker) arrive(i int) {
	p := &b.producers[i]
	now := b.eng.Now()
	if !b.cfg.Recorded && !p.hasCore {
		if w := b.codecCPU.wait(b.busy()); w > 0 {
			p.hasCore = true
			b.eng.At(now+w, evArrive, b.id|uint64(i))
			return
		}
	}
	through := p.through
	if p.through = 0; through == 0 && !b.cfg.Recorded {
		var begins sim.Time
		if begins, p.through = b.reserve(p.codec, now); begins > now {
			p.hasCore = true
			b.eng.At(begins, evArrive, b.id|uint64(i))
			return
		}
	}
	a := b.attempts.open()
	a.Send, a.Body, a.Producer = p.nextSend, p.nextBody, int32(i)
	a.Message, a.queue, a.deadline = p.order, int32(p.topics[0].at(p.topics[0].next(0))), p.patience(p.nextSend)
	p.order++
	b.nextArrival(i)
	b.received(p, a, through)
}

// received is the codec thread: rejectRequest, then decoding.
func (b *broker) received(p *producer, a *attempt, through sim.Time) {
	now := b.eng.Now()
	if b.recovery.open {
		b.recovered(b.recovery.end)
	}
	a.Arrive, a.Broker = now, int32(b.index())
	b.books.open++
	b.books.arrived++
	b.codecUntil = now + received
	if Reject(&b.lock.state, b.clock.Ms(now), b.cfg.Broker.OsPageCacheBusyTimeOutMills, b.freeBuffers()) {
		b.refused(a, b.rejectCause())
		b.answer(a, RejectRequest, CodeSystemBusy)
		return
	}
	b.decoding++
	if b.at(b.decodes(p, &p.links[b.index()], through), evOffer, b.id|uint64(a.Seq)) {
		b.offer(a)
	}
}

// batch is how many messages a send has.
func (p *producer) batch() int64 { return int64(max(1, p.spec.Batch)) }

// offer hands the request to the send executor: createTimestamp, then the
// bounded queue.
func (b *broker) offer(a *attempt) {
	now := b.eng.Now()
	b.decoding--
	a.Enq, a.CreateMs = now, b.clock.Ms(now)
	empty := b.queue.Len() == 0
	if !b.queue.Offer(Waiting{uint64(a.Seq), a.CreateMs}) {
		b.refused(a, b.headWaits(now))
		b.answer(a, Overload, CodeSystemBusy)
		return
	}
	b.queued(now)
	a.QlenEnq = int32(b.queue.Len())
	b.queueChanged()
	if !empty {
		return
	}
	if wake, w, ok := b.signal(); ok {
		if b.at(wake, evTake, b.id|uint64(w)) {
			b.takeNext(w)
		}
	}
}

func (b *broker) queueChanged() {
	if b.obs.Queue != nil {
		b.tellQueue()
	}
}

func (b *broker) tellQueue() {
	length := 0
	for i := range b.brokers {
		length += b.brokers[i].queue.Len()
	}
	b.obs.Queue(b.eng.Now(), length)
}

// inOrderOfSend notes that a message was stored, and counts it if one that its
// producer sent to the same queue later is there already.
func (b *broker) inOrderOfSend(a *attempt) {
	last := &b.producers[a.Producer].stored[a.queue]
	if a.Message < *last && a.Send >= b.cfg.Warmup {
		b.books.counted.Inversions++
	}
	*last = max(*last, a.Message)
}
