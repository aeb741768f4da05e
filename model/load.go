package model

import (
	"brokersim/sim"
	"brokersim/sim/variate"
)

// load are requests for one of the other swept queues: pull, heartbeat,
// transaction and so on. A request there is only its wait and its service.
type load struct {
	pool    *pool
	process variate.Process
	service sampler
	inSend  bool    // no pool: it goes through the send queue
	bytes   sampler // of an answer
	read    int64   // bytes that each reads from the disk
	count   LoadCounts
}

// pool is the executor of such a queue; loads of one queue share it.
type pool struct {
	name  SweptQueue
	queue *Queue
	idle  int
}

// longService marks the arg of an evLoadDone whose thread kept a core.
const longService = 1 << 32

// LoadCounts are what became of the requests of a load, from time 0 on; they
// add up to Arrived.
type LoadCounts struct {
	Queue             string `json:"queue"`
	Arrived           int64  `json:"arrived"`
	Served            int64  `json:"served"`
	TimeoutCleanQueue int64  `json:"timeout_clean_queue"`
	PCBusyCleanQueue  int64  `json:"pcbusy_clean_queue,omitempty"` // of what waits in the send queue
	Overload          int64  `json:"overload"`
}

func (b *broker) initLoads(streams sim.Streams) {
	b.loads = make([]load, len(b.cfg.Loads))
	var pools [sweptQueues]*pool
	for i := range b.loads {
		spec := &b.cfg.Loads[i]
		name, _ := ParseSweptQueue(spec.Queue)
		inSend := name == EndTransactionQueue && b.traits.EndTransactionInSend
		if pools[name] == nil && !inSend {
			_, threads, capacity := b.cfg.Broker.queue(name)
			pools[name] = &pool{name, NewQueue(int(capacity)), threads}
		}
		l := &b.loads[i]
		l.pool, l.inSend = pools[name], inSend
		l.count.Queue, l.read = spec.Queue, spec.Read
		l.bytes = newSampler(spec.Bytes, streams.Stream("load bytes "+itoa(i)))
		if spec.Consumers > 0 {
			l.service = newSampler(spec.Service, streams.Stream("load service "+itoa(i)))
			b.initConsumers(i)
			continue
		}
		l.process = spec.Arrivals.Start(streams.Stream("load " + itoa(i)))
		l.service = newSampler(spec.Service, streams.Stream("load service "+itoa(i)))
		b.books.open++
		b.nextLoad(i)
	}
	if b.sweeper.queues == nil {
		return
	}
	for _, q := range b.traits.Swept[1:] {
		if p := pools[q]; p != nil {
			waitMs, _, _ := b.cfg.Broker.queue(q)
			b.sweeper.queues = append(b.sweeper.queues, Swept{q, p.queue, waitMs})
		}
	}
}

func (b *broker) nextLoad(i int) {
	at, ok := b.loads[i].process.Next()
	if !ok || at >= b.cfg.Duration {
		b.books.open--
		return
	}
	b.eng.At(max(at, b.eng.Now()), evLoadArrive, b.id|uint64(i))
}

func (b *broker) loadArrive(i int) {
	l := &b.loads[i]
	now := b.eng.Now()
	l.count.Arrived++
	if l.inSend {
		b.offerLoad(i)
		b.nextLoad(i)
		return
	}
	if l.pool.idle > 0 {
		l.pool.idle--
		b.books.open++
		b.serve(uint64(i))
	} else if l.pool.queue.Offer(Waiting{uint64(i), b.clock.Ms(now)}) {
		b.books.open++
	} else {
		l.count.Overload++
		b.fp.MixEvent(now, evLoadArrive, b.id|uint64(i))
		if l.pool.name != EndTransactionQueue { // one-way, so nobody is told (facts §2.1, §11)
			b.loadError(RemarkOverload)
		}
	}
	b.nextLoad(i)
}

// serve has a thread of the pool serve a request of load i: on a core, which it
// shares if it takes long, and its turn of which it waits for if none is free.
func (b *broker) serve(i uint64) {
	l := b.loadOf(i)
	takes := l.service.draw()
	busy := b.busy()
	if takes < b.cpu.quantum {
		takes += b.cpu.wait(busy)
	} else {
		takes = b.cpu.shared(takes, busy)
		b.cpu.long++
		i |= longService
	}
	if l.read > 0 {
		takes += b.reads(l.read)
	}
	b.eng.At(b.eng.Now()+takes, evLoadDone, b.id|i)
}

// loadOf is the load that a request belongs to.
func (b *broker) loadOf(id uint64) *load {
	if id&consumerID != 0 {
		id = uint64(b.consumers[uint32(id)].load)
	}
	return &b.loads[id]
}

// reads is how long a read of the disk takes that comes now: of a consumer that
// is so far behind that the page cache has its messages no more (facts §11).
func (b *broker) reads(bytes int64) sim.Time {
	now := b.eng.Now()
	b.store.flush.advance(now)
	b.store.cache.advance(now)
	return b.store.cache.read(now, bytes) - now
}

func (b *broker) loadDone(arg uint64) {
	if arg&longService != 0 {
		b.cpu.long--
	}
	i := arg &^ longService
	l := b.loadOf(i)
	l.count.Served++
	b.fp.MixEvent(b.eng.Now(), evLoadDone, b.id|i)
	b.books.open--
	if i&consumerID != 0 {
		b.pulled(uint32(i))
	} else {
		b.nic.out.pass(b.eng.Now(), int64(l.bytes.draw()))
	}
	if head, ok := l.pool.queue.Poll(); ok {
		b.serve(head.ID)
		return
	}
	l.pool.idle++
}

func (b *broker) loadSwept(ans Answer) {
	l := b.loadOf(ans.ID)
	if ans.ID&consumerID != 0 {
		b.pullLater(uint32(ans.ID))
	}
	if ans.Outcome == PCBusyCleanQueue {
		l.count.PCBusyCleanQueue++
	} else {
		l.count.TimeoutCleanQueue++
	}
	b.fp.MixEvent(b.eng.Now(), evSweepNext, ans.ID)
	b.books.open--
	b.loadError(ans.Remark()) // one-way or not
}

func (b *broker) loadError(remark string) {
	if now := b.eng.Now(); now >= b.cfg.Warmup {
		b.books.errorLine(now, CodeSystemBusy, remark)
	}
}

// Loads returns what became of the requests of the other queues, of all
// brokers together.
func (c *Cluster) Loads() []LoadCounts {
	counts := make([]LoadCounts, len(c.cfg.Loads))
	for i := range counts {
		counts[i].Queue = c.cfg.Loads[i].Queue
		for j := range c.brokers {
			counts[i].merge(c.brokers[j].loads[i].count)
		}
	}
	return counts
}
