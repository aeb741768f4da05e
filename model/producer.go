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
	arrived  sim.Time // of the send before: a connection keeps order,
	offered  sim.Time // and so does its codec thread
}

func (b *Broker) initProducers(streams sim.Streams) {
	b.producers = make([]producer, len(b.cfg.Producers))
	for i := range b.producers {
		b.producers[i] = newProducer(b.cfg, i, streams)
		b.books.open++
		b.nextArrival(i)
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
func (b *Broker) nextArrival(i int) {
	p := &b.producers[i]
	at, ok := p.next(b.cfg)
	if !ok {
		b.books.open--
		return
	}
	p.nextSend = at
	if !b.cfg.Recorded {
		// Behind a freeze what was sent meanwhile arrives at once.
		at = max(b.eng.Now(), p.arrived, at+p.network.draw()+b.codecCPU.wait(b.lock.spinning()))
		p.arrived = at
	}
	b.eng.At(at, evArrive, uint64(i))
}

// arrive is the codec thread: rejectRequest, then decoding.
func (b *Broker) arrive(i int) {
	p := &b.producers[i]
	now := b.eng.Now()
	a := b.attempts.open()
	a.Send, a.Arrive, a.Body, a.producer = p.nextSend, now, int64(p.body.draw()), int32(i)
	b.books.open++
	b.books.arrived++
	b.nextArrival(i)
	if Reject(&b.lock.state, b.clock.Ms(now), b.cfg.Broker.OsPageCacheBusyTimeOutMills) {
		b.answer(a, RejectRequest, CodeSystemBusy)
		return
	}
	p.offered = max(p.offered, now+b.decode.draw())
	if seq := a.Seq; b.at(p.offered, evOffer, uint64(seq)) {
		b.offer(seq)
	}
}

// offer hands the request to the send executor: createTimestamp, then the
// bounded queue.
func (b *Broker) offer(seq int64) {
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
		if b.at(wake, evTake, uint64(w)) {
			b.woken(w)
		}
	}
}

func (b *Broker) queueChanged() {
	if b.obs.Queue != nil {
		b.obs.Queue(b.eng.Now(), b.queue.Len())
	}
}
