package model

import (
	"brokersim/sim"
	"brokersim/sim/variate"
)

// load is one of the other swept queues with its executor and its requests:
// pull, heartbeat, transaction and so on. A request there is only its wait
// and its service.
type load struct {
	spec    *Load
	name    SweptQueue
	queue   *Queue
	process variate.Process
	service sampler
	idle    int
	count   LoadCounts
}

// LoadCounts are what became of the requests of another swept queue; they add
// up to Arrived.
type LoadCounts struct {
	Queue             string `json:"queue"`
	Arrived           int64  `json:"arrived"`
	Served            int64  `json:"served"`
	TimeoutCleanQueue int64  `json:"timeout_clean_queue"`
	Overload          int64  `json:"overload"`
}

func (b *Broker) initLoads(streams sim.Streams) {
	b.loads = make([]load, len(b.cfg.Loads))
	for i := range b.loads {
		l := &b.loads[i]
		l.spec = &b.cfg.Loads[i]
		l.name, _ = ParseSweptQueue(l.spec.Queue)
		l.count.Queue = l.spec.Queue
		_, threads, capacity := b.cfg.Broker.queue(l.name)
		l.queue, l.idle = NewQueue(int(capacity)), threads
		l.process = l.spec.Arrivals.Start(streams.Stream("load " + l.spec.Queue))
		l.service = newSampler(l.spec.Service, streams.Stream("load service "+l.spec.Queue))
		b.books.open++
		b.nextLoad(i)
	}
	if b.sweeper.queues == nil {
		return
	}
	for _, q := range b.traits.Swept[1:] {
		waitMs, _, capacity := b.cfg.Broker.queue(q)
		swept := Swept{Name: q, WaitMs: waitMs}
		for i := range b.loads {
			if b.loads[i].name == q {
				swept.Queue = b.loads[i].queue
			}
		}
		if swept.Queue == nil {
			swept.Queue = NewQueue(int(capacity))
		}
		b.sweeper.queues = append(b.sweeper.queues, swept)
	}
}

func (b *Broker) nextLoad(i int) {
	at, ok := b.loads[i].process.Next()
	if !ok || at >= b.cfg.Duration {
		b.books.open--
		return
	}
	b.eng.At(max(at, b.eng.Now()), evLoadArrive, uint64(i))
}

func (b *Broker) loadArrive(i int) {
	l := &b.loads[i]
	now := b.eng.Now()
	l.count.Arrived++
	if l.idle > 0 {
		l.idle--
		b.books.open++
		b.eng.At(now+l.service.draw(), evLoadDone, uint64(i))
	} else if l.queue.Offer(Waiting{uint64(i), b.clock.Ms(now)}) {
		b.books.open++
	} else {
		l.count.Overload++
	}
	b.nextLoad(i)
}

func (b *Broker) loadDone(i int) {
	l := &b.loads[i]
	l.count.Served++
	b.fp.Mix(uint64(b.eng.Now()))
	b.books.open--
	if _, ok := l.queue.Poll(); ok {
		b.eng.At(b.eng.Now()+l.service.draw(), evLoadDone, uint64(i))
		return
	}
	l.idle++
}

func (b *Broker) loadSwept(ans Answer) {
	l := &b.loads[ans.ID]
	l.count.TimeoutCleanQueue++
	b.fp.Mix(uint64(b.eng.Now()))
	b.books.open--
	b.books.errorLine(b.eng.Now(), CodeSystemBusy, ans.Remark())
}

// Loads returns what became of the requests of the other queues.
func (b *Broker) Loads() []LoadCounts {
	counts := make([]LoadCounts, len(b.loads))
	for i := range b.loads {
		counts[i] = b.loads[i].count
	}
	return counts
}
