package model

import (
	"cmp"
	"fmt"
	"slices"

	"brokersim/sim"
)

// What a run on another clock than the simulated one takes from the model
// beside the rules: what comes from outside the broker and what is injected,
// drawn from the same streams as in a simulation, and the books.

// Phases are the wall clock's sub-millisecond part at time 0 and the nominal
// time of the first sweep, as configured or drawn.
func Phases(cfg *Config, replication int) (wall WallClock, sweep sim.Time) {
	streams := cfg.streams(replication)
	return WallClock{wallPhase(cfg, streams)}, sweepPhase(cfg, streams)
}

func wallPhase(cfg *Config, streams sim.Streams) sim.Time {
	if cfg.Machine.WallPhase != Absent {
		return cfg.Machine.WallPhase
	}
	return sim.Time(streams.Stream("wall phase").Uint64() % uint64(sim.Millisecond))
}

func (c *Config) streams(replication int) sim.Streams {
	return sim.Streams{Seed: c.Seed, Replication: uint64(replication)}
}

// Send is one send on its way to the broker.
type Send struct {
	Send     sim.Time // at the producer
	Arrive   sim.Time // at the codec thread, if nothing of the broker's is in the way
	Body     int64    // bytes
	Producer int32    // index in Config.Producers
}

// Attempt is the send before anything happened to it.
func (s *Send) Attempt(seq int64) Attempt {
	a := blank.Attempt
	a.Seq, a.Send, a.Arrive, a.Body = seq, s.Send, s.Arrive, s.Body
	return a
}

// Sends are all sends of a replication, in order of their arrival; of those of
// one instant the lower producer's first. More than most are refused.
func Sends(cfg *Config, replication, most int) ([]Send, error) {
	var sends []Send
	streams := cfg.streams(replication)
	for i := range cfg.Producers {
		if isClosed(cfg.Producers[i].Arrivals) {
			return nil, fmt.Errorf("producer %d: arrivals: %s has no instants before there are answers", i, cfg.Producers[i].Arrivals)
		}
		p := newProducer(cfg, i, streams)
		for {
			at, ok := p.next(cfg)
			if !ok {
				break
			}
			if len(sends) == most {
				return nil, fmt.Errorf("more than %d sends", most)
			}
			arrive := at
			if !cfg.Recorded {
				p.links[0].arrived = max(p.links[0].arrived, at+p.network.draw())
				arrive = p.links[0].arrived
			}
			sends = append(sends, Send{at, arrive, int64(p.body.draw()), int32(i)})
		}
	}
	slices.SortStableFunc(sends, func(a, b Send) int { return cmp.Compare(a.Arrive, b.Arrive) })
	return sends, nil
}

// NotLive says, key by key, what of a producer a live run, which makes each
// send once and at its time, whatever the answers, can't do.
func (s *Producer) NotLive(cfg *Config) (faults []string) {
	refuse := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	client, err := TraitsOf(s.release(cfg))
	refuse(isClosed(s.Arrivals), "arrivals: a live run waits for no answer before it sends, got %s", s.Arrivals)
	refuse(s.Mode != SendSync, "mode: a live run sends synchronously")
	refuse(s.Batch > 1, "batch: a live run sends one message at a time, got %d", s.Batch)
	refuse(s.Handler != HandlerRethrow, "handler: a live run sends nothing again")
	refuse(err == nil && !s.Ordered && s.RetryTimesWhenSendFailed > 0 && (client.SystemBusyRetried || client.TimeoutPerAttempt),
		"retryTimesWhenSendFailed: a client of release %s sends again after %s, and a live run doesn't: want 0, got %d",
		client.Release, map[bool]string{true: "a timeout", false: "SYSTEM_BUSY"}[client.TimeoutPerAttempt], s.RetryTimesWhenSendFailed)
	return faults
}

// Stalls are those of one place, append or sweep, as what begins there meets
// them. It is for one goroutine at a time.
type Stalls struct{ set stallSet }

// NewStalls returns those of appends and of sweeps.
func NewStalls(cfg *Config, replication int) (appends, sweeps *Stalls) {
	streams := cfg.streams(replication)
	return &Stalls{stallsAt(cfg, 0, StallAppend, 0, streams)}, &Stalls{stallsAt(cfg, 0, StallSweep, 0, streams)}
}

// End is when something that begins now and would last to base really ends,
// and whether a stall holds it. Calls are in order of time.
func (s *Stalls) End(now, base sim.Time) (end sim.Time, stalled bool) {
	e := s.set.end(now, base)
	return e.at, e.stalled
}

// Freezes yields the stalls of the whole process in order of their beginning.
type Freezes struct{ sources []halt }

// NewFreezes returns those of a replication.
func NewFreezes(cfg *Config, replication int) *Freezes {
	return &Freezes{slices.DeleteFunc(haltsOf(cfg, 0, cfg.streams(replication)), func(h halt) bool { return !h.where.Freezes() })}
}

// Next is the next freeze; false if there is none.
func (f *Freezes) Next() (from, to sim.Time, ok bool) {
	if len(f.sources) == 0 {
		return 0, 0, false
	}
	first := 0
	for i := range f.sources {
		if f.sources[i].at < f.sources[first].at {
			first = i
		}
	}
	s := &f.sources[first]
	from, to = s.at, s.end(s.at)
	if s.once {
		f.sources = slices.Delete(f.sources, first, first+1)
	} else {
		s.skipTo(to)
	}
	return from, to, true
}

// Ledger puts attempts that were not simulated into the books that simulated
// ones go into: outcomes, distributions, error lines and the checks.
type Ledger struct {
	c *Cluster
}

// NewLedger returns the empty books of a replication. Of obs only Attempt is
// told. The error is that of Config.Check.
func NewLedger(cfg *Config, replication int, obs Observer) (*Ledger, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	traits, err := TraitsOf(cfg.Broker.Release)
	if err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, traits: traits, eng: sim.NewEngine(sim.Never, 0), obs: Observer{Attempt: obs.Attempt}}
	c.network = newSampler(cfg.Costs.Network, cfg.streams(replication).Stream("network back"))
	c.producers = make([]producer, len(cfg.Producers))
	for i := range c.producers {
		c.producers[i].spec = &cfg.Producers[i]
		c.producers[i].attempts = 1
	}
	return &Ledger{c: c}, nil
}

// Settle enters an attempt that the broker answered at that time with its
// outcome, code and, where it came to that, the store's status. Calls are in
// order of at; a's Seq count from 0 in order of arrival, without gaps. The
// answer's way back to the producer is drawn, as a simulation's is.
func (l *Ledger) Settle(a *Attempt, producer int32, status PutStatus, at sim.Time) error {
	for l.c.attempts.next <= a.Seq {
		l.c.attempts.open()
	}
	// The clock is the engine's: the answer is its one event.
	l.c.eng.At(at, evDone, 0)
	if _, _, ok := l.c.eng.Next(); !ok {
		return fmt.Errorf("answer of attempt %d: %w", a.Seq, l.c.eng.Err())
	}
	l.c.books.arrived++
	l.c.books.open++
	entry := l.c.attempts.at(a.Seq)
	entry.Attempt, entry.Producer, entry.status = *a, producer, status
	entry.deadline = l.c.producers[producer].patience(a.Send)
	l.c.answer(entry, a.Outcome, a.Code)
	return nil
}

// Close ends the run at that time and checks the books. cut, which may be nil,
// is why it ended early; the books of what was settled must add up even so.
func (l *Ledger) Close(at sim.Time, cut error) error {
	if now := l.c.eng.Now(); at > now {
		l.c.eng.At(at, evDone, 0)
		l.c.eng.Next()
	}
	l.c.cut = cut
	return l.c.checkBooks()
}

// AddLedger takes the books of the next replication.
func (s *Study) AddLedger(l *Ledger) { s.Add(l.c) }
