package analytic

import (
	"context"

	"brokersim/sim"
	"brokersim/sim/stat"
	"brokersim/sim/variate"
)

// system is a station as the kernel simulates it: first come first served,
// from empty.
type system struct {
	interarrival variate.Dist
	service      variate.Dist
	servers      int
	places       int          // in the system; 0: no limit
	patience     variate.Dist // of those who wait; nil: no limit
	vacation     variate.Dist // of the one server that finds nobody; nil: it stays
}

// Of events at one instant, ends of service run first: whoever arrives, or
// loses patience, in that instant finds the server free.
const (
	serviceEnd  sim.Kind = 0*sim.KindsPerClass + iota
	vacationEnd          // in the same class
	patienceEnd sim.Kind = 1 * sim.KindsPerClass
	arrival     sim.Kind = 2 * sim.KindsPerClass
)

// customer is one who waits.
type customer struct {
	arrived  sim.Time
	patience sim.Timer
	reneged  bool
}

// simulation is a system in motion.
type simulation struct {
	system
	e                                             *sim.Engine
	interarrivals, services, patiences, vacations *sim.Stream
	line                                          []customer // a ring, its length a power of two
	head, tail                                    uint64     // in the ring; customers head to tail-1 wait or have reneged
	idle                                          int        // servers
	inSystem                                      int
	left                                          int // customers still to arrive
	waiting                                       stat.TimeAverage
	observe                                       func(wait sim.Time, lost bool)
}

// run simulates customers to the last and observes each when its waiting
// ends: in service, reneging, or, without having waited, refused for want of a
// place. It returns the time average of the queue length. When ctx ends, it
// stops within some thousand events, with an error.
func (s system) run(ctx context.Context, streams sim.Streams, name string, customers int, observe func(wait sim.Time, lost bool)) (stat.TimeAverage, error) {
	m := &simulation{
		system:        s,
		e:             sim.NewEngine(sim.Never, 0),
		interarrivals: streams.Stream(name + "/interarrival"),
		services:      streams.Stream(name + "/service"),
		patiences:     streams.Stream(name + "/patience"),
		vacations:     streams.Stream(name + "/vacation"),
		line:          make([]customer, 64),
		idle:          s.servers,
		left:          customers,
		observe:       observe,
	}
	m.rest()
	m.nextArrival()
	for n := 0; m.left > 0 || m.inSystem > 0; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return m.waiting, context.Cause(ctx)
		}
		k, arg, ok := m.e.Next()
		if !ok {
			break
		}
		switch k {
		case arrival:
			m.arrive()
			m.nextArrival()
		case serviceEnd:
			m.inSystem--
			m.idle++
			m.serve()
			m.rest()
		case patienceEnd:
			c := &m.line[arg&uint64(len(m.line)-1)]
			c.reneged = true
			m.inSystem--
			m.leaveLine(c, true)
		case vacationEnd:
			m.idle++
			m.serve()
			m.rest()
		}
	}
	m.waiting.Finish(m.e.Now())
	return m.waiting, m.e.Err()
}

func (m *simulation) nextArrival() {
	if m.left > 0 {
		m.e.After(variate.DrawTime(m.interarrival, m.interarrivals), arrival, 0)
	}
}

func (m *simulation) arrive() {
	m.left--
	if m.places > 0 && m.inSystem >= m.places {
		m.observe(0, true)
		return
	}
	m.inSystem++
	m.join()
	m.serve()
}

func (m *simulation) join() {
	if m.tail-m.head == uint64(len(m.line)) {
		longer := make([]customer, 2*len(m.line))
		for i := m.head; i < m.tail; i++ {
			longer[i&uint64(len(longer)-1)] = m.line[i&uint64(len(m.line)-1)]
		}
		m.line = longer
	}
	c := customer{arrived: m.e.Now()}
	if m.patience != nil && m.idle == 0 {
		c.patience = m.e.StartTimer(m.e.Now()+variate.DrawTime(m.patience, m.patiences), patienceEnd, m.tail)
	}
	m.line[m.tail&uint64(len(m.line)-1)] = c
	m.tail++
	m.waiting.Add(m.e.Now(), 1)
}

// serve gives idle servers those who have waited longest.
func (m *simulation) serve() {
	for m.idle > 0 && m.head < m.tail {
		c := &m.line[m.head&uint64(len(m.line)-1)]
		m.head++
		if c.reneged {
			continue
		}
		m.e.Cancel(c.patience)
		m.leaveLine(c, false)
		m.idle--
		m.e.After(variate.DrawTime(m.service, m.services), serviceEnd, 0)
	}
}

func (m *simulation) leaveLine(c *customer, lost bool) {
	m.waiting.Add(m.e.Now(), -1)
	m.observe(m.e.Now()-c.arrived, lost)
}

// rest sends an idle server on a vacation.
func (m *simulation) rest() {
	if m.vacation != nil && m.idle > 0 {
		m.idle--
		m.e.After(variate.DrawTime(m.vacation, m.vacations), vacationEnd, 0)
	}
}
