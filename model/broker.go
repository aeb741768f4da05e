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

// Cluster is one replication: the brokers behind the producers' route, the
// producers, and the clock that all go by.
type Cluster struct {
	cfg    *Config
	traits Traits
	eng    *sim.Engine
	clock  WallClock
	obs    Observer
	fp     sim.Fingerprint
	atRisk bool  // the brokers follow what a crash would lose
	cut    error // why the run stopped before its end
	next   successor

	brokers   []broker
	producers []producer
	callers   []int32 // of closed workloads: each one's producer
	messages  messages
	flights   flights
	attempts  ledger
	books     books
	frozen    sim.Time // no broker stands still after that
	network   sampler  // back to the producer
}

// broker is one of them.
type broker struct {
	*Cluster
	eng *sim.Engine // Cluster's, a load nearer
	cfg *Config     // as eng
	id  uint64      // its place in Cluster.brokers, shifted to where an event's arg has it

	queue     *Queue // the send queue
	workers   []worker
	idle      fifo[uint32] // workers that wait for work, longest first
	lock      putLock
	log       logEnd
	files     allocator
	pool      *transientPool // nil: none in effect
	flush     *flushThread   // nil: nobody asks for it
	risk      *risk          // as flush
	store     *modelStore    // nil: an append is one draw
	sweeper   sweeper
	loads     []load
	cpu       cpu
	codecCPU  cpu      // as cpu, for arrivals: a replay of recorded ones asks it nothing
	computing []bursts // neighbours that take cores or memory bandwidth
	slows     int      // percent by which they make an append slower

	nic        nic
	consumers  []consumer
	pullTrip   sampler // one way, of a consumer
	reputArmed bool

	codec      codecs
	codecUntil sim.Time // a codec thread works until then
	halts      []halt
	frozen     sim.Time // its threads stand still until then
	thaw       thaw

	decoding int // sends that are at the codec thread
	meter    meter
	recovery recovery

	appendStalls stallSet
	measured     *Measured
	append       sampler
	decode       sampler
	handoff      sampler
	process      sampler
	finish       sampler
	warmProcess  sampler // of a thread that goes on without having slept
	warmFinish   sampler
	sleeps       [causes]bool

	put afterPut
}

// An event's arg is the broker's place, from brokerShift up, and what the kind
// of event says below.
const (
	brokerShift = 40
	argMask     = 1<<brokerShift - 1
)

// Event kinds. At one instant what frees comes first, then what judges, then
// what arrives: completions, sweeps, arrivals, workers that take.
const (
	evHalt     sim.Kind = 0*sim.KindsPerClass + 0 // arg, as in all below beside the broker: index of the halt
	evHaltEnds sim.Kind = 0*sim.KindsPerClass + 1 // arg: index of the halt, which kept cores busy

	// The end of a wait that hardly ever lasts so long: whoever waits still, goes
	// on by an event of its own. No freeze holds these two.
	evLatchDue    sim.Kind = 0*sim.KindsPerClass + 2
	evTransferDue sim.Kind = 0*sim.KindsPerClass + 3

	evNeighbour sim.Kind = 0*sim.KindsPerClass + 4 // arg: of computing

	evUnlock        sim.Kind = 1*sim.KindsPerClass + 0 // arg: worker
	evDone          sim.Kind = 1*sim.KindsPerClass + 1 // arg: worker
	evLockRetry     sim.Kind = 1*sim.KindsPerClass + 2 // arg: worker, parked at the reentrant lock, wakes
	evLoadDone      sim.Kind = 1*sim.KindsPerClass + 3 // arg: load
	evAllocated     sim.Kind = 1*sim.KindsPerClass + 4
	evCommitted     sim.Kind = 1*sim.KindsPerClass + 5
	evSubmit        sim.Kind = 1*sim.KindsPerClass + 6  // arg: worker
	evWake          sim.Kind = 1*sim.KindsPerClass + 7  // arg: worker whose flush or replica is there
	evLatch         sim.Kind = 1*sim.KindsPerClass + 8  // arg: worker that waits no longer for it
	evRespond       sim.Kind = 1*sim.KindsPerClass + 9  // arg: attempt
	evCallback      sim.Kind = 1*sim.KindsPerClass + 10 // arg: worker
	evPooled        sim.Kind = 1*sim.KindsPerClass + 11 // arg: attempt
	evSendLoadDone  sim.Kind = 1*sim.KindsPerClass + 12 // arg: worker
	evGroupCommit   sim.Kind = 1*sim.KindsPerClass + 16 // GroupCommitService runs
	evGroupLook     sim.Kind = 1*sim.KindsPerClass + 17
	evFlushed       sim.Kind = 1*sim.KindsPerClass + 18
	evWatch         sim.Kind = 1*sim.KindsPerClass + 19 // FlushDiskWatcher looks
	evTransfer      sim.Kind = 1*sim.KindsPerClass + 20 // arg: slave
	evTransferLook  sim.Kind = 1*sim.KindsPerClass + 21 // arg: slave
	evAck           sim.Kind = 1*sim.KindsPerClass + 22 // arg: slave
	evGroupTransfer sim.Kind = 1*sim.KindsPerClass + 23 // GroupTransferService runs
	evTransferWait  sim.Kind = 1*sim.KindsPerClass + 24

	evSweep       sim.Kind = 2*sim.KindsPerClass + 0
	evSweepNext   sim.Kind = 2*sim.KindsPerClass + 1
	evRollTimeout sim.Kind = 2*sim.KindsPerClass + 2 // arg: worker

	evArrive     sim.Kind = 3*sim.KindsPerClass + 0 // arg: producer
	evOffer      sim.Kind = 3*sim.KindsPerClass + 1 // arg: attempt
	evLoadArrive sim.Kind = 3*sim.KindsPerClass + 2 // arg: load
	evReach      sim.Kind = 3*sim.KindsPerClass + 3 // arg: flight
	evReput      sim.Kind = 3*sim.KindsPerClass + 4
	evPull       sim.Kind = 3*sim.KindsPerClass + 5 // arg: consumer

	evTake        sim.Kind = 4*sim.KindsPerClass + 0 // arg: worker woken by the queue
	evLockReq     sim.Kind = 4*sim.KindsPerClass + 1 // arg: worker
	evCommitTimer sim.Kind = 4*sim.KindsPerClass + 2
	evCommitLook  sim.Kind = 4*sim.KindsPerClass + 3

	// From here on it is the producers', which stand beside the brokers: no
	// freeze holds them.
	evAnswer    sim.Kind = 5*sim.KindsPerClass + 0 // arg: message
	evRetry     sim.Kind = 5*sim.KindsPerClass + 1 // arg: message, sent again by the client
	evResend    sim.Kind = 5*sim.KindsPerClass + 2 // arg: message, sent again by the application
	evSend      sim.Kind = 5*sim.KindsPerClass + 3 // arg: producer, an open workload's next
	evCall      sim.Kind = 5*sim.KindsPerClass + 4 // arg: caller of a closed workload
	evWire      sim.Kind = 5*sim.KindsPerClass + 5 // arg: producer; the network goes on as well
	evWireReach sim.Kind = 5*sim.KindsPerClass + 6 // arg: flight
	evPatience  sim.Kind = 6*sim.KindsPerClass + 0 // arg: twice the producer, plus which of its deadlines
)

// New returns replication number replication (from 0) of a configuration.
// The error is that of Config.Check.
func New(cfg *Config, replication int, obs Observer) (*Cluster, error) {
	return newCluster(cfg, replication, obs, eventLimit)
}

func newCluster(cfg *Config, replication int, obs Observer, limit uint64) (*Cluster, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	traits, err := TraitsOf(cfg.Broker.Release)
	if err != nil {
		return nil, err
	}
	streams := cfg.streams(replication)
	c := &Cluster{
		cfg:     cfg,
		traits:  traits,
		eng:     sim.NewEngine(sim.Never, limit),
		obs:     obs,
		network: newSampler(cfg.Costs.Network, streams.Stream("network back")),
		brokers: make([]broker, cfg.brokers()),
	}
	c.clock.Phase = wallPhase(cfg, streams)
	c.books.counted.Waits = new(WaitStats)
	for i := range c.brokers {
		c.brokers[i].init(c, i, brokerStreams(streams, i))
	}
	if n := len(c.brokers); n > 1 {
		c.books.counted.Brokers = make([]AttemptCounts, n)
	}
	c.initProducers(streams)
	for i := range c.brokers {
		c.brokers[i].initLoads(brokerStreams(streams, i))
	}
	return c, nil
}

// brokerStreams are those of a broker: the first has the replication's.
func brokerStreams(streams sim.Streams, i int) sim.Streams {
	if i == 0 {
		return streams
	}
	return streams.Of("broker " + itoa(i))
}

// index is its place in Cluster.brokers.
func (b *broker) index() int { return int(b.id >> brokerShift) }

func (b *broker) init(c *Cluster, i int, streams sim.Streams) {
	cfg := c.cfg
	b.Cluster, b.eng, b.cfg, b.id = c, c.eng, cfg, uint64(i)<<brokerShift
	b.queue = NewQueue(int(cfg.Broker.SendThreadPoolQueueCapacity))
	b.append = newSampler(cfg.Store.Append, streams.Stream("append"))
	b.decode = newSampler(cfg.Costs.Decode, streams.Stream("decode"))
	b.handoff = newSampler(cfg.Costs.Handoff, streams.Stream("handoff"))
	b.process = newSampler(cfg.Costs.Process, streams.Stream("process"))
	b.finish = newSampler(cfg.Costs.Finish, streams.Stream("finish"))
	b.warmProcess = warm(cfg.Costs.WarmProcess, b.process, streams.Stream("warm process"))
	b.warmFinish = warm(cfg.Costs.WarmFinish, b.finish, streams.Stream("warm finish"))
	b.sleeps = sleeping(!cfg.Broker.UseReentrantLockWhenPutMessage)
	b.thaw.lag = newSampler(cfg.Costs.Thaw, streams.Stream("thaw"))
	b.thaw.threads = newSampler(cfg.Costs.Thaw, streams.Stream("thaw threads"))
	b.cpu = cpu{cores: cfg.Machine.Cores, quantum: cfg.Machine.Quantum, stream: streams.Stream("cpu")}
	b.nic = newNIC(cfg.Machine.NIC)
	b.pullTrip = newSampler(cfg.Costs.Network, streams.Stream("network pull"))
	b.codecCPU = b.cpu
	b.codecCPU.stream = streams.Stream("cpu codec")
	b.store = newModelStore(cfg, &c.traits, i, streams)
	b.initLog(streams)
	b.initPool(streams)
	b.initFlush(streams)
	b.initNeighbours(streams)
	b.lock.init(!cfg.Broker.UseReentrantLockWhenPutMessage, streams.Stream("put lock"))
	b.workers = make([]worker, cfg.Broker.SendMessageThreadPoolNums)
	for w := range b.workers {
		b.workers[w].slept = true
		b.idle.push(uint32(w))
	}
	b.measured = cfg.Measured
	b.initAfterPut(streams)
	b.meter.threads[CauseIdle] = int32(len(b.workers))
	b.initStalls(i, streams)
	b.initSweeper(streams)
}

// eventLimit stops a run that schedules without end: hours of real
// time, far beyond what scenarios are allowed to ask for.
const eventLimit = 100_000_000_000

// lingersMost is how long what arrived may be in the system after the end of
// arrivals: what waits longer (for a stall after each append, a timeout without
// end) has the sweeper at work for as long as that.
const lingersMost = 1000 * sim.Hour

// Run simulates to the end: arrivals until Duration, then what is in the
// system is served out. When ctx ends first the error is ctx's, and what was
// computed so far is in Stats.
func (c *Cluster) Run(ctx context.Context, progress func(sim.Time)) error {
	const strideMask = 1<<14 - 1
	for n := uint64(1); ; n++ {
		kind, arg, ok := c.step()
		if !ok {
			break
		}
		if n&strideMask == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if now := c.eng.Now(); now-c.cfg.Duration > lingersMost {
				return fmt.Errorf("at %v: sends are in the system %v after the last arrival: %w", now, lingersMost, sim.ErrRunaway)
			}
			if progress != nil {
				progress(c.eng.Now())
			}
		}
		b := &c.brokers[arg>>brokerShift]
		if c.frozen > c.eng.Now() && b.frozen > c.eng.Now() && kind > evNeighbour && kind < evAnswer && !(c.cfg.Recorded && kind == evArrive) {
			c.eng.At(b.thawed(kind), kind, arg)
			continue
		}
		arg &= argMask
		switch kind { // those that every send comes by
		case evArrive:
			b.arrive(int(arg))
		case evSend:
			c.send(int(arg))
		case evReach:
			b.reach(uint32(arg))
		case evOffer:
			b.offer(b.attempts.at(int64(arg)))
		case evTake:
			b.takeNext(uint32(arg))
		case evLockReq:
			b.requestLock(uint32(arg), b.atHand(uint32(arg)))
		case evUnlock:
			b.unlock(uint32(arg))
		case evDone:
			b.done(uint32(arg), b.atHand(uint32(arg)))
		default:
			b.goOn(kind, arg)
		}
		if c.books.err != nil || c.books.open == 0 {
			break
		}
	}
	if err := c.eng.Err(); err != nil {
		return fmt.Errorf("at %v: %w", c.eng.Now(), err)
	}
	for i := range c.brokers {
		if b := &c.brokers[i]; b.recovery.open {
			b.recovered(b.recovery.end)
		}
	}
	return c.checkBooks()
}

// goOn handles the events that come after a put (afterput.go).
func (b *broker) goOn(kind sim.Kind, arg uint64) {
	switch kind {
	case evSubmit:
		b.submit(uint32(arg))
	case evWake:
		b.wake(uint32(arg))
	case evLatch:
		b.latchTimedOut(uint32(arg))
	case evRespond:
		b.written(int64(arg))
	case evCallback:
		b.callback(uint32(arg))
	case evPooled:
		b.pooled(int64(arg))
	case evGroupCommit:
		b.put.commit.commits(b)
	case evGroupLook:
		b.put.commit.looks(b)
	case evFlushed:
		b.put.commit.flushed(b)
	case evWatch:
		b.put.commit.watcher.looks(b)
	case evTransfer:
		b.transfer(int(arg))
	case evTransferLook:
		b.transferLook(int(arg))
	case evAck:
		b.slaveAnswered(int(arg))
	case evGroupTransfer:
		b.put.ha.group.runs(b)
	case evTransferWait:
		b.put.ha.group.waited(b)
	case evLatchDue:
		b.latchesDue()
	case evTransferDue:
		b.put.ha.group.waitDue(b)
	default:
		b.handle(kind, arg)
	}
}

// handle handles the events that few sends come by.
func (b *broker) handle(kind sim.Kind, arg uint64) {
	switch kind {
	case evLockRetry:
		b.retryLock(uint32(arg))
	case evAllocated:
		b.allocated()
	case evNeighbour:
		b.neighbour(int(arg))
	case evCommitted:
		b.pool.done(b)
	case evCommitTimer:
		b.pool.timeout(b)
	case evCommitLook:
		b.pool.look(b)
	case evRollTimeout:
		b.rollTimeout(uint32(arg))
	case evSweep:
		b.sweepBegins()
	case evSweepNext:
		b.sweepNext()
	case evLoadArrive:
		b.loadArrive(int(arg))
	case evSendLoadDone:
		b.loadServed(uint32(arg))
	case evLoadDone:
		b.loadDone(arg)
	case evHalt:
		b.halt(int(arg))
	case evHaltEnds:
		b.cpu.long -= b.halts[arg].tasks
	case evWire:
		b.wireArrive(int(arg))
	case evWireReach:
		b.wireReach(uint32(arg))
	case evReput:
		b.reput()
	case evPull:
		b.pull(uint32(arg))
	case evCall:
		b.call(uint32(arg))
	case evAnswer:
		b.answered(uint32(arg))
	case evRetry:
		b.Cluster.attempt(uint32(arg))
	case evResend:
		b.startCall(uint32(arg))
	case evPatience:
		b.impatient(arg)
	}
}

// step advances the clock to the next event.
func (c *Cluster) step() (kind sim.Kind, arg uint64, ok bool) {
	if s := c.next; s.there {
		c.next.there = false
		if c.eng.Advance(s.at, s.kind) {
			return s.kind, s.arg, true
		}
		c.eng.At(s.at, s.kind, s.arg)
	}
	return c.eng.Next()
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
func (c *Cluster) then(at sim.Time, kind sim.Kind, arg uint64) {
	c.next = successor{at, kind, true, arg}
}

// at is then for a successor that its caller handles itself: it reports whether
// that is now the event at hand, and schedules it otherwise. It is for steps
// that can't follow each other without end.
func (b *broker) at(t sim.Time, kind sim.Kind, arg uint64) bool {
	if t >= b.frozen && b.eng.Advance(t, kind) {
		return true
	}
	b.eng.At(t, kind, arg)
	return false
}

// Fingerprint hashes the trajectory so far: time, event, request, outcome.
func (c *Cluster) Fingerprint() sim.Fingerprint { return c.fp }

// Stats are the counts and distributions so far.
func (c *Cluster) Stats() *Stats { return &c.books.counted }

// Now is the virtual time reached.
func (c *Cluster) Now() sim.Time { return c.eng.Now() }

// Events is the number of events handled.
func (c *Cluster) Events() uint64 { return c.eng.Events() }

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

// warm draws from d; without one, warm or cold is the same.
func warm(d variate.Dist, cold sampler, s *sim.Stream) sampler {
	if d == nil {
		return cold
	}
	return newSampler(d, s)
}

func (s *sampler) draw() sim.Time {
	if s.dist == nil {
		return s.constant
	}
	return variate.DrawTime(s.dist, s.stream)
}
