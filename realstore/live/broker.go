package live

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"brokersim/model"
	"brokersim/realstore"
	"brokersim/sim"
)

// Bounds of a live run: all of it is held in memory, and each thread is one of
// the machine's.
const (
	sendsMost   = 2_000_000
	threadsMost = 1024
)

// broker is one live run, in the process that is the broker.
type broker struct {
	cfg    *model.Config
	traits model.Traits
	clock  clock
	sends  []model.Send
	rows   []Row // by Seq
	queue  *sendQueue
	store  *realstore.Store
	sweeps []model.SweepRecord
	sweep0 sim.Time // nominal time of the first sweep

	appendStalls *model.Stalls // under the put lock, as appends is
	appends      []appended
	sweepStalls  *model.Stalls
	stalls       []model.StallRecord // of the sweeper

	bodies     []byte
	properties []realstore.Properties // by Seq
	measuring  bool                   // the hook stalls, and records

	answered atomic.Int64
	stopped  atomic.Int64 // when it was interrupted, since the clock's origin
	stop     atomic.Bool  // it was
	over     atomic.Bool  // it was, or all is answered
}

// interrupt ends the run early. It may come before time 0 is set, which is why
// it notes the time since the clock's origin.
func (b *broker) interrupt() {
	b.stopped.Store(b.clock.sinceOrigin())
	b.stop.Store(true)
}

// appended is what the hook saw of an append.
type appended struct {
	offset   int64
	from, to sim.Time // what it was held for, if at all
	stalled  bool
}

// newBroker draws all that is drawn and allocates all that a send needs.
func newBroker(cfg *model.Config, replication int) (*broker, error) {
	if err := Check(cfg); err != nil {
		return nil, err
	}
	traits, err := model.TraitsOf(cfg.Broker.Release)
	if err != nil {
		return nil, err
	}
	b := &broker{cfg: cfg, traits: traits, clock: newClock()}
	if b.sends, err = model.Sends(cfg, replication, sendsMost); err != nil {
		return nil, fmt.Errorf("a live run is held in memory: %w; shorten the duration", err)
	}
	b.appendStalls, b.sweepStalls = model.NewStalls(cfg, replication)
	b.clock.wall, b.sweep0 = model.Phases(cfg, replication)
	b.queue = newSendQueue(int(cfg.Broker.SendThreadPoolQueueCapacity), b.clock.now)

	b.rows = make([]Row, len(b.sends))
	b.properties = make([]realstore.Properties, len(b.sends))
	b.appends = make([]appended, 0, len(b.sends)+threadsMost)
	b.sweeps = make([]model.SweepRecord, 0, cfg.Duration/model.SweepPeriod+6000)
	longest := int64(0)
	for i := range b.rows {
		s := &b.sends[i]
		b.rows[i] = newRow(int64(i), s)
		b.properties[i] = realstore.MakeProperties(cfg.Broker.Release,
			realstore.Property{Name: realstore.PropertyUniqKey, Value: "brokersim" + strconv.FormatInt(int64(i), 10)},
			realstore.Property{Name: realstore.PropertyWait, Value: "true"})
		longest = max(longest, s.Body)
	}
	b.bodies = make([]byte, min(longest, cfg.Broker.MaxMessageSize))
	for i := range b.bodies {
		b.bodies[i] = 'a' + byte(i%26)
	}
	return b, nil
}

// Check reports, joined, what a live run can't do of a configuration.
func Check(cfg *model.Config) error {
	faults := []error{cfg.Check()}
	if n := cfg.Broker.SendMessageThreadPoolNums; n > threadsMost {
		faults = append(faults, fmt.Errorf("sendMessageThreadPoolNums: want at most %d threads in a live run, got %d", threadsMost, n))
	}
	if len(cfg.Loads) > 0 {
		faults = append(faults, errors.New("[[load]]: the other queues are not run live"))
	}
	if n := cfg.Route.Brokers; n > 1 {
		faults = append(faults, fmt.Errorf("route.brokers: a live run has one broker, got %d", n))
	}
	for i := range cfg.Producers {
		for _, what := range cfg.Producers[i].NotLive(cfg) {
			faults = append(faults, fmt.Errorf("producer.%d.%s", i, what))
		}
	}
	for i, s := range cfg.Stalls {
		switch s.Where {
		case model.StallAppend, model.StallSweep, model.StallProcess, model.StallGC, model.StallSteal:
		default:
			faults = append(faults, fmt.Errorf("stall.%d.where: want append, sweep or one of the whole process in a live run, got %s", i, s.Where))
		}
	}
	if cfg.Broker.BrokerRole == model.SyncMaster {
		faults = append(faults, errors.New("broker.brokerRole: a live run has no slave to wait for, got "+model.SyncMaster))
	}
	if n := cfg.Broker.TransientStorePoolSize; cfg.Broker.TransientStorePoolEnable && n > poolMost {
		faults = append(faults, fmt.Errorf("broker.transientStorePoolSize: want at most %d buffers in a live run, each of a file's size, got %d", poolMost, n))
	}
	if cfg.Machine.NIC > 0 {
		faults = append(faults, errors.New("machine.nic: a live run has no network"))
	}
	return errors.Join(faults...)
}

// poolMost bounds the transient pool's buffers, which are memory.
const poolMost = 8

// Warnings say what a live run makes of a configuration that isn't quite what
// it says.
func Warnings(cfg *model.Config) (warnings []string) {
	if cfg.Store.Start != model.LogRunning || cfg.Store.Filled > 0 {
		warnings = append(warnings, "store.start, store.filled: a live run begins with the files that --dir has")
	}
	if cfg.Store.AtRisk {
		warnings = append(warnings, "store.at_risk: a live run does not follow what a crash would lose")
	}
	for i := range cfg.Producers {
		if cfg.Producers[i].NoWait && cfg.Broker.FlushDiskType == model.SyncFlush {
			warnings = append(warnings, fmt.Sprintf("producer.%d.wait: each message of a live run waits for its flush", i))
		}
	}
	if len(cfg.Deletes) > 0 {
		warnings = append(warnings, "[[delete]]: nothing is deleted in a live run")
	}
	if len(cfg.Neighbours) > 0 {
		warnings = append(warnings, "[[neighbour]]: nobody writes beside a live run but who does so on this machine")
	}
	if cfg.Store.PageCache != nil || cfg.Store.Profile != nil {
		warnings = append(warnings, "[store]: the page cache and the profile are the model's; the live store is this machine's")
	}
	traits, err := model.TraitsOf(cfg.Broker.Release)
	switch sync := cfg.Broker.FlushDiskType == model.SyncFlush; {
	case err != nil: // as Check says
	case traits.PipelinedPut && sync:
		warnings = append(warnings, "release "+cfg.Broker.Release+" takes the next send while one waits for the disk: here the send thread waits")
	case traits.CallbacksInSend:
		warnings = append(warnings, "release "+cfg.Broker.Release+" answers by callbacks in the send queue: here the send thread answers")
	case traits.CallbackPool:
		warnings = append(warnings, "release "+cfg.Broker.Release+" answers from a pool of threads of its own: here the send thread answers")
	}
	return warnings
}

// warmups is how many messages go the way of a send before the run, so that its
// first is not the process's first.
const warmups = 64

// warmUp takes the store, opened with the hook, through its first file and
// first appends.
func (b *broker) warmUp() error {
	m := b.message()
	var ph realstore.Phases
	m.Body = []byte("warm-up")
	for range warmups {
		m.BornTimestamp = b.clock.unixMs()
		if _, err := b.store.Append(&m, &ph); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	return nil
}

// run is the live run: from time 0, which comes after begun has been told, to
// the last answer or the stop.
func (b *broker) run(begun func()) (end sim.Time, collections uint32) {
	procs := runtime.GOMAXPROCS(b.cfg.Broker.SendMessageThreadPoolNums + 12)
	defer runtime.GOMAXPROCS(procs)
	runtime.GC()
	// Beyond this much the collector comes all the same: better a bad run, which
	// is known by its collections, than none.
	const most = 4 << 30
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(most))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := collected()

	b.measuring = true
	b.clock.begin(30*time.Millisecond, b.clock.wall)
	begun()
	var threads sync.WaitGroup
	for w := range b.cfg.Broker.SendMessageThreadPoolNums {
		threads.Go(func() { b.work(int32(w) + 1) })
	}
	if b.cfg.Broker.BrokerFastFailureEnable || !b.traits.FastFailureSwitch {
		threads.Go(b.sweeper)
	}
	threads.Go(b.codec)
	for b.answered.Load() < int64(len(b.sends)) && !b.stop.Load() {
		sleep(time.Millisecond)
	}
	end = b.clock.now()
	if b.stop.Load() {
		end = max(0, b.clock.at(b.stopped.Load()))
	}
	b.over.Store(true)
	b.queue.close()
	threads.Wait()
	b.measuring = false
	return end, collected() - before
}

func collected() uint32 {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return uint32(s.NumGC)
}

// busy is isOSPageCacheBusy: the store says since when its lock is held.
func (b *broker) busy(nowMs int64) bool {
	state := b.lockState()
	return state.Busy(nowMs, b.cfg.Broker.OsPageCacheBusyTimeOutMills)
}

func (b *broker) lockState() (l model.LockState) {
	if since := b.store.LockedSince(); since != 0 {
		l.Acquired(since - b.clock.wallMs)
	}
	return l
}

func (b *broker) ms(t sim.Time) int64 { return b.clock.wall.Ms(t) }

// codec is the codec thread: each send arrives at its instant, whatever became
// of those before it. It stands for clients that are elsewhere, and for the
// network, whom nothing on this machine holds up: where that is permitted it
// goes before other threads.
func (b *broker) codec() {
	runtime.LockOSThread() // and not unlocked: the thread ends with this
	goFirst()
	for i := range b.sends {
		if !b.clock.sleepUntil(b.sends[i].Arrive, &b.stop) {
			return
		}
		b.arrive(&b.rows[i])
	}
}

func (b *broker) arrive(r *Row) {
	now := b.clock.now()
	r.Arrive = now
	lock := b.lockState()
	if model.Reject(&lock, b.ms(now), b.cfg.Broker.OsPageCacheBusyTimeOutMills, b.freeBuffers()) {
		b.answer(r, model.RejectRequest, model.CodeSystemBusy, now)
		return
	}
	r.CreateMs = b.ms(b.clock.now())
	if !b.queue.offer(r) {
		b.answer(r, model.Overload, model.CodeSystemBusy, r.Enq)
	}
}

// freeBuffers are those of the transient pool, as the codec thread asks.
func (b *broker) freeBuffers() int {
	if n, pool := b.store.AvailableBuffers(); pool {
		return n
	}
	return model.NoPool
}

func (b *broker) message() realstore.Message {
	return realstore.Message{Topic: Topic, BornHost: bornHost}
}

// work is a send thread.
func (b *broker) work(worker int32) {
	m := b.message()
	var ph realstore.Phases
	for {
		head, at, ok := b.queue.take()
		if !ok {
			return
		}
		r := &b.rows[head.ID]
		r.Deq, r.Worker = at, worker
		r.Status = b.traits.CheckPut(b.busy(b.ms(b.clock.now())), r.Body, b.cfg.Broker.MaxMessageSize)
		if r.Status == model.PutOK {
			b.put(r, &m, &ph)
		}
		now := b.clock.now()
		r.Done = now
		code, _, outcome := b.traits.Response(r.Status, b.cfg.Broker.MaxMessageSize, model.DiskUsed{})
		b.answer(r, outcome, code, now)
	}
}

// put appends the send's message to the store.
func (b *broker) put(r *Row, m *realstore.Message, ph *realstore.Phases) {
	m.Flag = int32(r.Seq) + 1
	m.QueueID = int32(r.Seq % queues)
	m.BornTimestamp = b.clock.wallMs + b.ms(r.Send)
	m.Properties = b.properties[r.Seq]
	m.Body = b.bodies[:min(r.Body, int64(len(b.bodies)))]
	at, err := b.store.Append(m, ph)
	if r.Status = statusOf(err); !r.Status.Stored() {
		return
	}
	r.Offset = at.Offset
	r.LockReq, r.Lock = b.clock.at(ph.Request), b.clock.at(ph.Lock)
	r.App0, r.App1, r.Unlock = b.clock.at(ph.Append), b.clock.at(ph.Appended), b.clock.at(ph.Unlock)
}

// statusOf is how the broker's store answers what the store here returns.
func statusOf(err error) model.PutStatus {
	switch {
	case err == nil:
		return model.PutOK
	case errors.Is(err, realstore.ErrFlushTimeout):
		return model.PutFlushDiskTimeout
	case errors.Is(err, realstore.ErrTooLarge):
		return model.PutMessageIllegal
	case errors.Is(err, realstore.ErrCreateMappedFile):
		return model.PutCreateMapedFileFailed
	case errors.Is(err, realstore.ErrFailed), errors.Is(err, realstore.ErrClosed):
		return model.PutServiceNotAvailable
	default:
		return model.PutUnknownError
	}
}

// hookAppend is called under the put lock before the record is copied: where a
// stall holds the lock.
func (b *broker) hookAppend(offset int64, _ int) {
	if !b.measuring {
		return
	}
	now := b.clock.now()
	end, stalled := b.appendStalls.End(now, now+b.cfg.Store.Delay)
	b.clock.sleepUntil(end, &b.stop)
	b.appends = append(b.appends, appended{offset, now, b.clock.now(), stalled})
}

// sweeper is the thread that runs BrokerFastFailure.
func (b *broker) sweeper() {
	queues := []model.Swept{{Name: model.SendQueue, Queue: b.queue.q, WaitMs: b.cfg.Broker.WaitTimeMillsInSendQueue}}
	nominal := b.sweep0
	for n := int64(1); b.clock.sleepUntil(nominal, &b.over); n++ {
		b.holdSweep()
		b.sweep(queues, n, nominal)
		// Fixed rate: a sweep that is late or long doesn't move the schedule.
		nominal += model.SweepPeriod
	}
}

// holdSweep is where a stall of the sweeper holds it.
func (b *broker) holdSweep() {
	for {
		now := b.clock.now()
		end, stalled := b.sweepStalls.End(now, now)
		if !stalled {
			return
		}
		b.clock.sleepUntil(end, &b.over)
		b.stalls = append(b.stalls, model.StallRecord{Where: model.StallSweep, From: now, To: b.clock.now(), BySeq: model.Absent})
		if end <= now {
			return
		}
	}
}

// sweep is one run of cleanExpiredRequest.
func (b *broker) sweep(queues []model.Swept, n int64, nominal sim.Time) {
	record := model.SweepRecord{N: n, Nominal: nominal, Start: b.clock.now(), Qlen: b.queue.length()}
	var s model.Sweep
	for !b.stop.Load() {
		b.queue.mu.Lock()
		now := b.clock.now()
		nowMs := b.ms(now)
		ans, ok := s.Next(queues, nowMs, b.busy(nowMs))
		b.queue.mu.Unlock()
		if !ok {
			break
		}
		if ans.Outcome == model.PCBusyCleanQueue {
			record.PCBusy++
		} else {
			record.Timeout++
		}
		r := &b.rows[ans.ID]
		r.Clean, r.Sweep, r.PeriodMs, r.Qsize = now, n, ans.PeriodMs, int64(ans.Size)
		b.answer(r, ans.Outcome, model.CodeSystemBusy, now)
	}
	record.End = b.clock.now()
	b.sweeps = append(b.sweeps, record)
}

func (b *broker) answer(r *Row, o model.Outcome, code int32, at sim.Time) {
	r.Outcome, r.Code, r.Answered = o, code, at
	b.answered.Add(1)
}
