package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"brokersim/sim"
)

// A first-in first-out queue driven by the engine has exactly the waiting times
// of Lindley's recursion, ties included: an arrival at the instant of a
// departure finds the server free.
func TestFIFOQueueIsLindleys(t *testing.T) {
	const (
		departure = 0 * sim.KindsPerClass
		arrival   = 1 * sim.KindsPerClass
	)
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]int64{1, 3, 50, 1_000_000, int64(sim.Hour)}).Draw(t, "scale")
		duration := rapid.Int64Range(0, scale)
		gaps := rapid.SliceOfN(duration, 1, 200).Draw(t, "interarrival times")
		services := rapid.SliceOfN(duration, len(gaps), len(gaps)).Draw(t, "service times")

		waits := make([]sim.Time, 0, len(gaps))
		var queue fifo
		var served uint64
		busy := false
		e := sim.NewEngine(sim.Never, 0)
		serve := func() {
			busy = true
			waits = append(waits, e.Now()-queue.take())
			e.After(sim.Time(services[served]), departure, served)
			served++
		}
		e.After(sim.Time(gaps[0]), arrival, 0)
		for {
			k, i, ok := e.Next()
			if !ok {
				break
			}
			switch k {
			case arrival:
				if next := i + 1; next < uint64(len(gaps)) {
					e.After(sim.Time(gaps[next]), arrival, next)
				}
				queue.put(e.Now())
			case departure:
				busy = false
			}
			if !busy && queue.len() > 0 {
				serve()
			}
		}

		if len(waits) != len(gaps) || e.Err() != nil {
			t.Fatalf("%d of %d served, error %v", len(waits), len(gaps), e.Err())
		}
		var w sim.Time
		for i, got := range waits {
			if i > 0 {
				w = max(0, w+sim.Time(services[i-1]-gaps[i]))
			}
			if got != w {
				t.Fatalf("customer %d waits %d ns, want %d ns", i, got, w)
			}
		}
	})
}

// A random network: stations with several servers, a bounded line, impatient
// customers and random routing. It keeps the books that its test checks.
type network struct {
	stations []station
	all      books
	rng      *sim.Stream
	e        *sim.Engine
	customer []visit
}

type station struct {
	servers, capacity int
	service, patience sim.Time // uniform in [0, 2 service]; 0 patience: none
	busy              int
	line              []uint64
	books
}

// books count customers and the area under the number in the system, once by
// the clock and once by the customers.
type books struct {
	arrived, left, lost int
	areaClock           sim.Time
	areaCustomers       sim.Time
	last                sim.Time
}

func (b *books) inSystem() int { return b.arrived - b.left - b.lost }
func (b *books) tick(now sim.Time) {
	b.areaClock += sim.Time(b.inSystem()) * (now - b.last)
	b.last = now
}

type visit struct {
	station            int
	inNetwork, arrived sim.Time
	present            bool
	patience           sim.Timer
}

const (
	netDeparture = 0 * sim.KindsPerClass
	netRenege    = 1 * sim.KindsPerClass
	netArrival   = 2 * sim.KindsPerClass
)

func (n *network) enter(id uint64, s int) {
	now := n.e.Now()
	st := &n.stations[s]
	st.tick(now)
	st.arrived++
	c := &n.customer[id]
	c.station, c.arrived, c.present = s, now, true
	switch {
	case st.busy < st.servers:
		n.serve(id)
	case len(st.line) < st.capacity:
		st.line = append(st.line, id)
		if st.patience > 0 {
			c.patience = n.e.StartTimer(now+st.patience, netRenege, id)
		}
	default:
		n.lose(id)
	}
}

func (n *network) serve(id uint64) {
	st := &n.stations[n.customer[id].station]
	st.busy++
	n.e.After(sim.Time(n.rng.Uint64n(uint64(2*st.service+1))), netDeparture, id)
}

func (n *network) lose(id uint64) {
	c := &n.customer[id]
	st := &n.stations[c.station]
	n.exit(id)
	st.lost++
	n.all.tick(n.e.Now())
	n.all.lost++
	n.all.areaCustomers += n.e.Now() - c.inNetwork
	c.inNetwork = -1
}

// exit closes a visit in the books of its station.
func (n *network) exit(id uint64) {
	c := &n.customer[id]
	st := &n.stations[c.station]
	st.tick(n.e.Now())
	st.areaCustomers += n.e.Now() - c.arrived
	c.present = false
}

func (n *network) handle(t *rapid.T, k sim.Kind, id uint64, interarrival sim.Time) {
	now := n.e.Now()
	switch k {
	case netArrival:
		n.all.tick(now)
		n.all.arrived++
		n.customer = append(n.customer, visit{inNetwork: now})
		n.e.After(sim.Time(n.rng.Uint64n(uint64(2*interarrival+1))), netArrival, id+1)
		n.enter(id, int(n.rng.Uint64n(uint64(len(n.stations)))))
	case netRenege:
		st := &n.stations[n.customer[id].station]
		for i, x := range st.line {
			if x == id {
				st.line = append(st.line[:i], st.line[i+1:]...)
				n.lose(id)
				return
			}
		}
		t.Fatalf("customer %d reneges at %v and does not wait", id, now)
	case netDeparture:
		st := &n.stations[n.customer[id].station]
		n.exit(id)
		st.left++
		st.busy--
		if len(st.line) > 0 {
			next := st.line[0]
			st.line = st.line[1:]
			if st.patience > 0 && !n.e.Cancel(n.customer[next].patience) {
				t.Fatalf("customer %d waits at %v and its timer does not run", next, now)
			}
			n.serve(next)
		}
		if to := n.rng.Uint64n(uint64(len(n.stations) + 1)); to < uint64(len(n.stations)) {
			n.enter(id, int(to))
			return
		}
		n.all.tick(now)
		n.all.left++
		n.all.areaCustomers += now - n.customer[id].inNetwork
		n.customer[id].inNetwork = -1
	}
}

// In any network, over any run, all who arrived have left, are lost or are
// there; and Little's law holds exactly: the time integral of the number in the
// system is the sum of the times that customers spent there.
func TestNetworkConservesCustomersAndLittlesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &network{
			e:   sim.NewEngine(10*sim.Second, 1_000_000),
			rng: sim.Streams{Seed: rapid.Uint64().Draw(t, "seed")}.Stream("network"),
		}
		mean := rapid.SampledFrom([]sim.Time{10 * sim.Millisecond, 30 * sim.Millisecond})
		for range rapid.IntRange(1, 5).Draw(t, "stations") {
			n.stations = append(n.stations, station{
				servers:  rapid.IntRange(1, 3).Draw(t, "servers"),
				capacity: rapid.IntRange(0, 20).Draw(t, "capacity"),
				service:  mean.Draw(t, "service"),
				patience: rapid.SampledFrom([]sim.Time{0, 1, 5 * sim.Millisecond, sim.Second}).Draw(t, "patience"),
			})
		}
		interarrival := mean.Draw(t, "interarrival")
		n.e.At(0, netArrival, 0)
		for {
			k, id, ok := n.e.Next()
			if !ok {
				break
			}
			n.handle(t, k, id, interarrival)
		}
		if n.e.Err() != nil {
			t.Fatal(n.e.Err())
		}

		end := n.e.Now()
		n.all.tick(end)
		waiting, inService, timers := 0, 0, 0
		for i := range n.stations {
			n.stations[i].tick(end)
		}
		inNetwork := 0
		for _, c := range n.customer {
			if c.present {
				n.stations[c.station].areaCustomers += end - c.arrived
			}
			if c.inNetwork >= 0 {
				inNetwork++
				n.all.areaCustomers += end - c.inNetwork
			}
		}
		for i, st := range n.stations {
			waiting += len(st.line)
			inService += st.busy
			if st.patience > 0 {
				timers += len(st.line)
			}
			if st.inSystem() != st.busy+len(st.line) || st.areaClock != st.areaCustomers {
				t.Errorf("station %d: %d in the books, %d there; area %d by the clock, %d by its customers",
					i, st.inSystem(), st.busy+len(st.line), st.areaClock, st.areaCustomers)
			}
		}
		if n.all.inSystem() != waiting+inService || inNetwork != waiting+inService || n.all.areaClock != n.all.areaCustomers {
			t.Errorf("network: %d in the books, %d there; area %d by the clock, %d by its customers",
				n.all.inSystem(), waiting+inService, n.all.areaClock, n.all.areaCustomers)
		}
		// The engine's books: a departure per busy server, a timer per impatient
		// customer and the next arrival.
		if got, want := n.e.Pending(), inService+timers+1; got != want {
			t.Errorf("%d events pending, want %d", got, want)
		}
	})
}
