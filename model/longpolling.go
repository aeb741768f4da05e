package model

import "brokersim/sim"

// consumer is one that pulls by long polling: a pull that finds nothing is
// parked, without a thread or a place in the queue, and every stored message
// wakes it as a new request, with a new timestamp, of the pull executor; what it
// then gets goes out over the network, and it pulls again (facts §11).
type consumer struct {
	load   uint32
	offset int64 // in the commit log, of what it has
	parked bool
}

const (
	reputDelay    = sim.Millisecond // ReputMessageService looks once a millisecond
	pullBytesMost = 256 << 10       // of one pull, from memory
	pullAgain     = 3 * sim.Second  // after SYSTEM_BUSY
)

// consumersMax bounds those of a load.
const consumersMax = 10_000

// consumerID marks a Waiting.ID of the pull queue, and the arg of an
// evLoadDone, as a consumer's.
const consumerID = 1 << 33

// initConsumers are those of load i; they begin parked.
func (b *broker) initConsumers(i int) {
	for range b.cfg.Loads[i].Consumers {
		b.consumers = append(b.consumers, consumer{uint32(i), b.log.readable, true})
	}
}

// stored has the parked pulls woken by what was just written.
func (b *broker) wakeConsumers() {
	if len(b.consumers) > 0 && !b.reputArmed {
		b.armReput()
	}
}

func (b *broker) armReput() {
	b.reputArmed = true
	b.eng.At(b.eng.Now()+reputDelay, evReput, b.id)
}

func (b *broker) reput() {
	b.reputArmed = false
	for i := range b.consumers {
		if c := &b.consumers[i]; c.parked && c.offset < b.log.readable {
			b.pull(uint32(i))
		}
	}
}

// pull is a consumer's request, new or woken, at the pull executor.
func (b *broker) pull(i uint32) {
	c := &b.consumers[i]
	c.parked = false
	l := &b.loads[c.load]
	now := b.eng.Now()
	l.count.Arrived++
	if l.pool.idle > 0 {
		l.pool.idle--
		b.books.open++
		b.serve(consumerID | uint64(i))
	} else if l.pool.queue.Offer(Waiting{consumerID | uint64(i), b.clock.Ms(now)}) {
		b.books.open++
	} else {
		l.count.Overload++
		b.pullLater(i)
		b.loadError(RemarkOverload)
	}
}

// pulled is the pull thread that has served it: the messages go out, and the
// consumer's next request comes a round trip after it has them; or nothing is
// there, and it is parked.
func (b *broker) pulled(i uint32) {
	c := &b.consumers[i]
	bytes := min(b.log.readable-c.offset, pullBytesMost)
	if bytes == 0 {
		c.parked = true
		return
	}
	c.offset += bytes
	back := b.nic.out.pass(b.eng.Now(), bytes) + b.pullTrip.draw() + b.pullTrip.draw()
	b.eng.At(back, evPull, b.id|uint64(i))
}

func (b *broker) pullLater(i uint32) { b.eng.At(b.eng.Now()+pullAgain, evPull, b.id|uint64(i)) }
