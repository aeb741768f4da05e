package model

import (
	"fmt"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// producer is an open-loop source of sends over one connection: arrivals
// never wait for answers.
type producer struct {
	spec     *Producer
	process  variate.Process
	body     sampler
	network  sampler // to the broker
	nextSend sim.Time
	hasCore  bool     // its codec thread, at the next arrival
	arrived  sim.Time // of the send before: a connection keeps order,
	offered  sim.Time // and so does its codec thread
}

func (c *Cluster) initProducers(streams sim.Streams) {
	c.producers = make([]producer, len(c.cfg.Producers))
	for i := range c.producers {
		c.producers[i] = newProducer(c.cfg, i, streams)
		c.books.open++
		c.nextArrival(i)
	}
}

func newProducer(cfg *Config, i int, streams sim.Streams) producer {
	spec := &cfg.Producers[i]
	name := spec.Name
	if name == "" {
		name = fmt.Sprint(i)
	}
	return producer{
		spec:    spec,
		process: spec.Arrivals.Start(streams.Stream("arrivals " + name)),
		body:    newSampler(spec.Body, streams.Stream("body "+name)),
		network: newSampler(cfg.Costs.Network, streams.Stream("network "+name)),
	}
}

// next is the instant of the producer's next send, false if there is no more.
func (p *producer) next(cfg *Config) (sim.Time, bool) {
	at, ok := p.process.Next()
	return at, ok && (at < cfg.Duration || cfg.Recorded)
}

// nextArrival schedules the producer's next send; a producer that has no more
// closes.
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
		// What came while the codec thread had no core, or stood still in a
		// freeze, it takes at once when it runs.
		at = max(p.arrived, at+p.network.draw())
		p.hasCore = at <= c.eng.Now()
		at = max(at, c.eng.Now())
		p.arrived = at
	}
	c.eng.At(at, evArrive, b.id|uint64(i))
}

// arrive is the codec thread, once it has a core: rejectRequest, then decoding.
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
	a := b.attempts.open()
	a.Send, a.Arrive, a.Body, a.producer = p.nextSend, now, int64(p.body.draw()), int32(i)
	b.books.open++
	b.books.arrived++
	b.codecUntil = now + received
	b.nextArrival(i)
	if Reject(&b.lock.state, b.clock.Ms(now), b.cfg.Broker.OsPageCacheBusyTimeOutMills) {
		b.answer(a, RejectRequest, CodeSystemBusy)
		return
	}
	p.offered = max(p.offered, now+b.decode.draw())
	if seq := a.Seq; b.at(p.offered, evOffer, b.id|uint64(seq)) {
		b.offer(seq)
	}
}

// offer hands the request to the send executor: createTimestamp, then the
// bounded queue.
func (b *broker) offer(seq int64) {
	a := b.attempts.at(seq)
	now := b.eng.Now()
	a.Enq, a.CreateMs = now, b.clock.Ms(now)
	empty := b.queue.Len() == 0
	if !b.queue.Offer(Waiting{uint64(seq), a.CreateMs}) {
		b.answer(a, Overload, CodeSystemBusy)
		return
	}
	a.QlenEnq = int32(b.queue.Len())
	b.queueChanged()
	if !empty {
		return
	}
	if wake, w, ok := b.signal(); ok {
		if b.at(wake, evTake, b.id|uint64(w)) {
			b.woken(w)
		}
	}
}

func (b *broker) queueChanged() {
	if b.obs.Queue != nil {
		b.obs.Queue(b.eng.Now(), b.queue.Len())
	}
}
