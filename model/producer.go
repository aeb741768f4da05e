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
		spec := &b.cfg.Producers[i]
		name := spec.Name
		if name == "" {
			name = fmt.Sprint(i)
		}
		p := &b.producers[i]
		p.spec = spec
		p.process = spec.Arrivals.Start(streams.Stream("arrivals " + name))
		p.body = newSampler(spec.Body, streams.Stream("body "+name))
		p.network = newSampler(b.cfg.Costs.Network, streams.Stream("network "+name))
		b.books.open++
		b.nextArrival(i)
	}
}

// nextArrival schedules the producer's next send; a producer that has no more
// closes.
func (b *Broker) nextArrival(i int) {
	p := &b.producers[i]
	at, ok := p.process.Next()
	if !ok || at >= b.cfg.Duration && !b.cfg.Recorded {
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
	b.then(p.offered, evOffer, uint64(a.Seq))
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
		b.then(wake, evTake, uint64(w))
	}
}

func (b *Broker) queueChanged() {
	if b.obs.Queue != nil {
		b.obs.Queue(b.eng.Now(), b.queue.Len())
	}
}
