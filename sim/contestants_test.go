package sim_test

import (
	"container/heap"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// The contestants of the benchmarks. Each workload exists on the Engine, on
// the textbook event list (container/heap, a closure per event) and, for
// M/M/1, without an event list. All draw the same variates from the same
// streams and keep the same statistics, so their results must be equal, and a
// test says so.

// tally is what every contestant does with an observation.
type tally struct {
	n        uint64
	sum, sq  float64
	min, max sim.Time
}

func (a *tally) add(x sim.Time) {
	f := float64(x)
	a.n++
	a.sum += f
	a.sq += float64(f * f)
	if a.n == 1 {
		a.min, a.max = x, x
	}
	a.min = min(a.min, x)
	a.max = max(a.max, x)
}

func exponential(s *sim.Stream, mean sim.Time) sim.Time {
	return sim.Time(float64(mean) * variate.StandardExponential(s))
}

// fifo is a queue in a ring that grows.
type fifo struct {
	ring       []sim.Time
	head, tail uint
}

func (q *fifo) len() int { return int(q.tail - q.head) }
func (q *fifo) put(t sim.Time) {
	if q.len() == len(q.ring) {
		next := make([]sim.Time, max(16, 2*len(q.ring)))
		for i := range q.len() {
			next[i] = q.ring[(q.head+uint(i))&uint(len(q.ring)-1)]
		}
		q.head, q.tail, q.ring = 0, uint(q.len()), next
	}
	q.ring[q.tail&uint(len(q.ring)-1)] = t
	q.tail++
}
func (q *fifo) take() sim.Time {
	t := q.ring[q.head&uint(len(q.ring)-1)]
	q.head++
	return t
}

// closures is the textbook event list.
type closures struct {
	now sim.Time
	seq uint64
	h   closureHeap
}

type closure struct {
	at    sim.Time
	seq   uint64
	index int
	do    func()
}

type closureHeap []*closure

func (h closureHeap) Len() int { return len(h) }
func (h closureHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h closureHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *closureHeap) Push(x any) {
	c := x.(*closure)
	c.index = len(*h)
	*h = append(*h, c)
}
func (h *closureHeap) Pop() any {
	old := *h
	n := len(old) - 1
	c := old[n]
	old[n] = nil
	*h = old[:n]
	c.index = -1
	return c
}

func (s *closures) after(d sim.Time, do func()) *closure {
	s.seq++
	c := &closure{at: s.now + d, seq: s.seq, do: do}
	heap.Push(&s.h, c)
	return c
}

func (s *closures) cancel(c *closure) { heap.Remove(&s.h, c.index) }

func (s *closures) step() bool {
	if len(s.h) == 0 {
		return false
	}
	c := heap.Pop(&s.h).(*closure)
	s.now = c.at
	c.do()
	return true
}

const (
	meanInterarrival = 1000 * sim.Microsecond
	meanService      = 800 * sim.Microsecond
)

// M/M/1: sojourn times of the first n customers.

func mm1Engine(seed uint64, n int) (sojourn tally) {
	const (
		arrival   = 0*sim.KindsPerClass + 0
		departure = 1*sim.KindsPerClass + 0
	)
	streams := sim.Streams{Seed: seed}
	interarrival, service := streams.Stream("arrivals"), streams.Stream("service")
	var q fifo
	e := sim.NewEngine(sim.Never, 0)
	e.After(exponential(interarrival, meanInterarrival), arrival, 0)
	for arrived := 0; ; {
		k, _, ok := e.Next()
		if !ok {
			return sojourn
		}
		switch k {
		case arrival:
			if arrived++; arrived < n {
				e.After(exponential(interarrival, meanInterarrival), arrival, 0)
			}
			q.put(e.Now())
			if q.len() == 1 {
				e.After(exponential(service, meanService), departure, 0)
			}
		case departure:
			sojourn.add(e.Now() - q.take())
			if q.len() > 0 {
				e.After(exponential(service, meanService), departure, 0)
			}
		}
	}
}

func mm1Closures(seed uint64, n int) (sojourn tally) {
	streams := sim.Streams{Seed: seed}
	interarrival, service := streams.Stream("arrivals"), streams.Stream("service")
	var q fifo
	var s closures
	var depart func()
	serve := func() {
		s.after(exponential(service, meanService), func() { depart() })
	}
	depart = func() {
		sojourn.add(s.now - q.take())
		if q.len() > 0 {
			serve()
		}
	}
	arrived := 0
	var arrive func()
	next := func() {
		s.after(exponential(interarrival, meanInterarrival), func() { arrive() })
	}
	arrive = func() {
		if arrived++; arrived < n {
			next()
		}
		q.put(s.now)
		if q.len() == 1 {
			serve()
		}
	}
	next()
	for s.step() {
	}
	return sojourn
}

// mm1Lindley needs no event list: W' = max(0, W + S - A).
func mm1Lindley(seed uint64, n int) (sojourn tally) {
	streams := sim.Streams{Seed: seed}
	interarrival, service := streams.Stream("arrivals"), streams.Stream("service")
	exponential(interarrival, meanInterarrival) // until the first arrival
	var w sim.Time
	for range n {
		d := w + exponential(service, meanService)
		sojourn.add(d)
		w = max(0, d-exponential(interarrival, meanInterarrival))
	}
	return sojourn
}

// Impatience: M/M/1 at load 1.2 whose customers renege after exactly 5 ms of
// waiting. Each starts a timer on joining; starting service cancels it.
// Sojourn times of those served, number of those lost.

const (
	busyService = 1200 * sim.Microsecond
	patience    = 5 * sim.Millisecond
)

// line is the waiting line: a customer leaves it from the front or, reneging,
// from anywhere, so those gone are marked and skipped.
type line[T any] struct {
	ring       []place[T]
	head, tail uint64
	waiting    int
}

type place[T any] struct {
	arrived sim.Time
	timer   T
	gone    bool
}

func newLine[T any]() *line[T] { return &line[T]{ring: make([]place[T], 1<<10)} }

func (l *line[T]) at(i uint64) *place[T] { return &l.ring[i&uint64(len(l.ring)-1)] }
func (l *line[T]) join(t sim.Time) uint64 {
	*l.at(l.tail) = place[T]{arrived: t}
	l.tail++
	l.waiting++
	return l.tail - 1
}
func (l *line[T]) renege(i uint64) {
	l.at(i).gone = true
	l.waiting--
}
func (l *line[T]) take() *place[T] {
	for l.at(l.head).gone {
		l.head++
	}
	l.head++
	l.waiting--
	return l.at(l.head - 1)
}

func impatienceEngine(seed uint64, n int) (sojourn tally, lost uint64) {
	const (
		departure = 0*sim.KindsPerClass + 0
		renege    = 1*sim.KindsPerClass + 0
		arrival   = 2*sim.KindsPerClass + 0
	)
	streams := sim.Streams{Seed: seed}
	interarrival, service := streams.Stream("arrivals"), streams.Stream("service")
	l := newLine[sim.Timer]()
	busy := false
	e := sim.NewEngine(sim.Never, 0)
	serve := func(arrived sim.Time) {
		busy = true
		e.After(exponential(service, busyService), departure, uint64(arrived))
	}
	e.After(exponential(interarrival, meanInterarrival), arrival, 0)
	for arrived := 0; ; {
		k, arg, ok := e.Next()
		if !ok {
			return sojourn, lost
		}
		switch k {
		case arrival:
			if arrived++; arrived < n {
				e.After(exponential(interarrival, meanInterarrival), arrival, 0)
			}
			if !busy {
				serve(e.Now())
				break
			}
			i := l.join(e.Now())
			l.at(i).timer = e.StartTimer(e.Now()+patience, renege, i)
		case renege:
			l.renege(arg)
			lost++
		case departure:
			sojourn.add(e.Now() - sim.Time(arg))
			busy = false
			if l.waiting > 0 {
				p := l.take()
				e.Cancel(p.timer)
				serve(p.arrived)
			}
		}
	}
}

func impatienceClosures(seed uint64, n int) (sojourn tally, lost uint64) {
	streams := sim.Streams{Seed: seed}
	interarrival, service := streams.Stream("arrivals"), streams.Stream("service")
	l := newLine[*closure]()
	busy := false
	var s closures
	var depart func(sim.Time)
	serve := func(arrived sim.Time) {
		busy = true
		s.after(exponential(service, busyService), func() { depart(arrived) })
	}
	depart = func(arrived sim.Time) {
		sojourn.add(s.now - arrived)
		busy = false
		if l.waiting > 0 {
			p := l.take()
			s.cancel(p.timer)
			serve(p.arrived)
		}
	}
	arrived := 0
	var arrive func()
	next := func() {
		s.after(exponential(interarrival, meanInterarrival), func() { arrive() })
	}
	arrive = func() {
		if arrived++; arrived < n {
			next()
		}
		if !busy {
			serve(s.now)
			return
		}
		i := l.join(s.now)
		l.at(i).timer = s.after(patience, func() {
			l.renege(i)
			lost++
		})
	}
	next()
	for s.step() {
	}
	return sojourn, lost
}

// Hold: of the pending events the next one is handled and schedules itself
// again, Exp(1 s) later. A step returns a checksum of the order.

type holdEngine struct {
	e *sim.Engine
	s *sim.Stream
	f sim.Fingerprint
}

func newHoldEngine(pending int) *holdEngine {
	h := &holdEngine{e: sim.NewEngine(sim.Never, 0), s: sim.Streams{Seed: 1}.Stream("hold")}
	for i := range pending {
		h.e.After(exponential(h.s, sim.Second), 0, uint64(i))
	}
	return h
}

func (h *holdEngine) run(n int) sim.Fingerprint {
	for range n {
		k, arg, ok := h.e.Next()
		if !ok {
			panic(h.e.Err())
		}
		switch k {
		case 0:
			h.f ^= sim.Fingerprint(arg)
			h.e.After(exponential(h.s, sim.Second), 0, arg)
		}
	}
	return h.f
}

type holdClosures struct {
	c closures
	s *sim.Stream
	f sim.Fingerprint
}

func newHoldClosures(pending int) *holdClosures {
	h := &holdClosures{s: sim.Streams{Seed: 1}.Stream("hold")}
	for i := range pending {
		h.schedule(uint64(i))
	}
	return h
}

func (h *holdClosures) schedule(arg uint64) {
	h.c.after(exponential(h.s, sim.Second), func() {
		h.f ^= sim.Fingerprint(arg)
		h.schedule(arg)
	})
}

func (h *holdClosures) run(n int) sim.Fingerprint {
	for range n {
		h.c.step()
	}
	return h.f
}
