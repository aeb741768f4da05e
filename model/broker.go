package model

import (
	"context"
	"errors"
	"fmt"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// ErrBooks is returned when a run's books don't add up: arrivals are not the
// sum of the outcomes and what is in the system, or an attempt's times are
// out of order. It is a fault of the model, never of the scenario.
var ErrBooks = errors.New("books don't add up")

// Broker is one replication: the broker, its producers and its clock.
type Broker struct {
	cfg    *Config
	traits Traits
	eng    *sim.Engine
	clock  WallClock
	obs    Observer
	fp     sim.Fingerprint
	cut    error // why the run stopped before its end
	next   successor

	producers []producer
	attempts  ledger
	books     books

	queue    *Queue // the send queue
	workers  []worker
	idle     fifo // workers that wait for work, longest first
	lock     putLock
	store    *modelStore // nil: an append is one draw
	sweeper  sweeper
	loads    []load
	cpu      cpu
	codecCPU cpu // as cpu, for arrivals: a replay of recorded ones asks it nothing
	freezes  []stallSource
	frozen   sim.Time // broker threads stand still until then

	appendStalls stallSet
	append       sampler
	decode       sampler
	handoff      sampler
	process      sampler
	finish       sampler
	network      sampler // back to the producer
}

// Event kinds. At one instant what frees comes first, then what judges, then
// what arrives: completions, sweeps, arrivals, workers that take.
const (
	evFreeze     sim.Kind = 0*sim.KindsPerClass + 0 // arg: index of the freeze
	evUnlock     sim.Kind = 1*sim.KindsPerClass + 0 // arg: worker
	evDone       sim.Kind = 1*sim.KindsPerClass + 1 // arg: worker
	evLockRetry  sim.Kind = 1*sim.KindsPerClass + 2 // arg: worker, parked at the reentrant lock, wakes
	evLoadDone   sim.Kind = 1*sim.KindsPerClass + 3 // arg: load
	evSweep      sim.Kind = 2*sim.KindsPerClass + 0
	evSweepNext  sim.Kind = 2*sim.KindsPerClass + 1
	evArrive     sim.Kind = 3*sim.KindsPerClass + 0 // arg: producer
	evOffer      sim.Kind = 3*sim.KindsPerClass + 1 // arg: attempt
	evLoadArrive sim.Kind = 3*sim.KindsPerClass + 2 // arg: load
	evTake       sim.Kind = 4*sim.KindsPerClass + 0 // arg: worker woken by the queue
	evLockReq    sim.Kind = 4*sim.KindsPerClass + 1 // arg: worker
)

// New returns replication number replication (from 0) of a configuration.
// The error is that of Config.Check.
func New(cfg *Config, replication int, obs Observer) (*Broker, error) {
	return newBroker(cfg, replication, obs, eventLimit)
}

func newBroker(cfg *Config, replication int, obs Observer, limit uint64) (*Broker, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	traits, err := TraitsOf(cfg.Broker.Release)
	if err != nil {
		return nil, err
	}
	streams := sim.Streams{Seed: cfg.Seed, Replication: uint64(replication)}
	b := &Broker{
		cfg:    cfg,
		traits: traits,
		eng:    sim.NewEngine(sim.Never, limit),
		obs:    obs,
		queue:  NewQueue(int(cfg.Broker.SendThreadPoolQueueCapacity)),
	}
	b.clock.Phase = wallPhase(cfg, streams)
	b.append = newSampler(cfg.Store.Append, streams.Stream("append"))
	b.decode = newSampler(cfg.Costs.Decode, streams.Stream("decode"))
	b.handoff = newSampler(cfg.Costs.Handoff, streams.Stream("handoff"))
	b.process = newSampler(cfg.Costs.Process, streams.Stream("process"))
	b.finish = newSampler(cfg.Costs.Finish, streams.Stream("finish"))
	b.network = newSampler(cfg.Costs.Network, streams.Stream("network back"))
	b.cpu = cpu{cores: cfg.Machine.Cores, quantum: cfg.Machine.Quantum, stream: streams.Stream("cpu")}
	b.codecCPU = b.cpu
	b.codecCPU.stream = streams.Stream("cpu codec")
	b.store = newModelStore(cfg, &traits, streams)
	b.lock.init(!cfg.Broker.UseReentrantLockWhenPutMessage, streams.Stream("put lock"))
	b.workers = make([]worker, cfg.Broker.SendMessageThreadPoolNums)
	for i := range b.workers {
		b.idle.push(uint32(i))
	}
	b.initStalls(streams)
	b.initSweeper(streams)
	b.initProducers(streams)
	b.initLoads(streams)
	return b, nil
}

// eventLimit stops a run that schedules without end: hours of real
// time, far beyond what scenarios are allowed to ask for.
const eventLimit = 100_000_000_000

// Run simulates to the end: arrivals until Duration, then what is in the
// system is served out. When ctx ends first the error is ctx's, and what was
// computed so far is in Stats.
func (b *Broker) Run(ctx context.Context, progress func(sim.Time)) error {
	const strideMask = 1<<14 - 1
	for n := uint64(1); ; n++ {
		kind, arg, ok := b.step()
		if !ok {
			break
		}
		if n&strideMask == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(b.eng.Now())
			}
		}
		if b.frozen > b.eng.Now() && kind != evFreeze && !(b.cfg.Recorded && kind == evArrive) {
			b.eng.At(b.frozen, kind, arg)
			continue
		}
		switch kind {
		case evArrive:
			b.arrive(int(arg))
		case evOffer:
			b.offer(int64(arg))
		case evTake:
			b.woken(uint32(arg))
		case evLockReq:
			b.requestLock(uint32(arg))
		case evLockRetry:
			b.retryLock(uint32(arg))
		case evUnlock:
			b.unlock(uint32(arg))
		case evDone:
			b.done(uint32(arg))
		case evSweep:
			b.sweepBegins()
		case evSweepNext:
			b.sweepNext()
		case evLoadArrive:
			b.loadArrive(int(arg))
		case evLoadDone:
			b.loadDone(int(arg))
		case evFreeze:
			b.freeze(int(arg))
		}
		if b.books.err != nil || b.books.open == 0 {
			break
		}
	}
	if err := b.eng.Err(); err != nil {
		return fmt.Errorf("at %v: %w", b.eng.Now(), err)
	}
	return b.checkBooks()
}

// step advances the clock to the next event.
func (b *Broker) step() (kind sim.Kind, arg uint64, ok bool) {
	if s := b.next; s.there {
		b.next.there = false
		if b.eng.Advance(s.at, s.kind) {
			return s.kind, s.arg, true
		}
		b.eng.At(s.at, s.kind, s.arg)
	}
	return b.eng.Next()
}

// successor is the one event that the event at hand leads to, told last of
// all: if nothing comes before it, it needn't go through the queue.
type successor struct {
	at    sim.Time
	kind  sim.Kind
	there bool
	arg   uint64
}

// then schedules the successor of the event at hand. A handler calls it at
// most once and schedules nothing after it.
func (b *Broker) then(at sim.Time, kind sim.Kind, arg uint64) {
	b.next = successor{at, kind, true, arg}
}

// at is then for a successor that its caller handles itself: it reports whether
// that is now the event at hand, and schedules it otherwise. It is for steps
// that can't follow each other without end.
func (b *Broker) at(t sim.Time, kind sim.Kind, arg uint64) bool {
	if t >= b.frozen && b.eng.Advance(t, kind) {
		return true
	}
	b.eng.At(t, kind, arg)
	return false
}

// Fingerprint hashes the trajectory so far: time, event, request, outcome.
func (b *Broker) Fingerprint() sim.Fingerprint { return b.fp }

// Now is the virtual time reached.
func (b *Broker) Now() sim.Time { return b.eng.Now() }

// Events is the number of events handled.
func (b *Broker) Events() uint64 { return b.eng.Events() }

// sampler draws whole ns from a distribution; a constant costs no draw.
type sampler struct {
	dist     variate.Dist
	stream   *sim.Stream
	constant sim.Time
}

func newSampler(d variate.Dist, s *sim.Stream) sampler {
	if d == nil {
		return sampler{}
	}
	if c, ok := d.(variate.Constant); ok {
		return sampler{constant: sim.Time(variate.Round(c.Mean()))}
	}
	return sampler{dist: d, stream: s}
}

func (s *sampler) draw() sim.Time {
	if s.dist == nil {
		return s.constant
	}
	return variate.DrawTime(s.dist, s.stream)
}
