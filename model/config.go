package model

import (
	"errors"
	"fmt"
	"math"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// Config is a decoded scenario: all that a run depends on, in base units
// (ns, bytes). scenarios decodes one from TOML and says where in the file a
// fault is; Check repeats what keeps a run from going wrong.
type Config struct {
	Name       string
	Title      string
	Seed       uint64
	Duration   sim.Time // arrivals stop here; what is in the system is then served to its end
	Warmup     sim.Time // sends before it are simulated but not counted
	Broker     Settings
	Route      Route
	Machine    Machine
	Costs      Costs
	Store      Store
	Replica    Replica
	Neighbours []Neighbour // who else is on the machine
	Deletes    []Delete    // files that are deleted, beside a page cache
	Stalls     []Stall
	Producers  []Producer
	Loads      []Load
	Thresholds []Threshold

	// Recorded says that the arrivals are instants at the codec thread, taken
	// from a recording: no network, freeze or wait for a core comes before
	// them.
	Recorded bool
	// Measured replaces draws by what was recorded of each send; nil: none.
	Measured *Measured
}

// Measured are times that a recording gives, by Seq, in place of draws; nil
// where draws are wanted. It is for one send thread.
type Measured struct {
	Append  []sim.Time // what an append took
	Flush   []sim.Time // from unlock to the answer, under SYNC_FLUSH
	Wake    []sim.Time // as Costs.Handoff
	Process []sim.Time // as Costs.Process
	Finish  []sim.Time // as Costs.Finish
}

// Route is what the producers' name server tells them: brokers that are alike,
// each with a machine and a disk of its own, and the topic's queues on each.
type Route struct {
	Brokers int // 0: 1
	Queues  int // write queues of the topic on each broker; 0: 4 (defaultTopicQueueNums of a producer)
}

// brokersMax bounds what a route may have.
const brokersMax = 64

// queuesDefault is defaultTopicQueueNums of a producer.
const queuesDefault = 4

func (c *Config) brokers() int { return max(1, c.Route.Brokers) }

func (c *Config) queues() int {
	if c.Route.Queues == 0 {
		return queuesDefault
	}
	return c.Route.Queues
}

// Settings are the broker.conf keys that the model reads, already defaulted
// by release. Field names are the keys with an upper-case first letter.
type Settings struct {
	Release                            string // tag without "rocketmq-all-"
	BrokerFastFailureEnable            bool
	WaitTimeMillsInSendQueue           int64
	WaitTimeMillsInPullQueue           int64
	WaitTimeMillsInLitePullQueue       int64
	WaitTimeMillsInHeartbeatQueue      int64
	WaitTimeMillsInTransactionQueue    int64
	WaitTimeMillsInAckQueue            int64
	WaitTimeMillsInAdminBrokerQueue    int64
	OsPageCacheBusyTimeOutMills        int64
	SendMessageThreadPoolNums          int
	PullMessageThreadPoolNums          int
	LitePullMessageThreadPoolNums      int
	HeartbeatThreadPoolNums            int
	EndTransactionThreadPoolNums       int
	AckMessageThreadPoolNums           int
	AdminBrokerThreadPoolNums          int
	SendThreadPoolQueueCapacity        int64
	PullThreadPoolQueueCapacity        int64
	LitePullThreadPoolQueueCapacity    int64
	HeartbeatThreadPoolQueueCapacity   int64
	EndTransactionPoolQueueCapacity    int64
	AckThreadPoolQueueCapacity         int64
	AdminBrokerThreadPoolQueueCapacity int64
	UseReentrantLockWhenPutMessage     bool
	MaxMessageSize                     int64
	FlushIntervalCommitLog             int // ms
	FlushCommitLogTimed                bool
	FlushCommitLogLeastPages           int
	FlushCommitLogThoroughInterval     int // ms
	WakeFlushWhenPutMessage            bool
	MappedFileSizeCommitLog            int
	WarmMapedFileEnable                bool
	TransientStorePoolEnable           bool
	TransientStorePoolSize             int
	FastFailIfNoBufferInStorePool      bool
	CommitIntervalCommitLog            int // ms
	CommitCommitLogLeastPages          int
	CommitCommitLogThoroughInterval    int // ms
	WakeCommitWhenPutMessage           bool
	FlushDiskType                      string // AsyncFlush, SyncFlush; "": AsyncFlush
	SyncFlushTimeout                   int    // ms
	BrokerRole                         string // AsyncMaster, SyncMaster; "": AsyncMaster
	SlaveTimeout                       int    // ms
	HaMaxGapNotInSync                  int64  // bytes; haSlaveFallbehindMax before 5.0.0
	HaTransferBatchSize                int    // bytes
	HaHousekeepingInterval             int    // ms
	InSyncReplicas                     int
	MinInSyncReplicas                  int
	EnableAutoInSyncReplicas           bool
	EnableSlaveActingMaster            bool
	AsyncSendEnable                    bool
	PutMessageFutureThreadPoolNums     int
	PutThreadPoolQueueCapacity         int64
}

// The values of flushDiskType and brokerRole.
const (
	AsyncFlush  = "ASYNC_FLUSH"
	SyncFlush   = "SYNC_FLUSH"
	AsyncMaster = "ASYNC_MASTER"
	SyncMaster  = "SYNC_MASTER"
)

// Bounds of settings, wherever they come from.
const (
	ThreadsMost = 10_000             // of a pool: each lock that spins looks at all that wait
	WaitMsMost  = 1000 * 3600 * 1000 // 1000 h, as the longest run
)

// Machine is what the broker runs on.
type Machine struct {
	Cores      int
	WallPhase  sim.Time // sub-ms part of the wall clock at time 0, [0, 1ms); Absent: drawn
	SweepPhase sim.Time // first sweep's nominal time, [0, 10ms); Absent: drawn
	NIC        float64  // bytes/s each way; 0: no limit
	Quantum    sim.Time // how long a thread keeps a core that others wait for
}

// Costs are the processor times of the path, each a distribution in ns.
type Costs struct {
	Network     variate.Dist // producer to codec thread, and back
	Decode      variate.Dist // rejectRequest to offer
	Handoff     variate.Dist // wake-up of an idle worker
	Process     variate.Dist // taken to put lock asked for
	Finish      variate.Dist // unlock to processRequest returned; of a callback: what it takes
	Submit      variate.Dist // unlock to the future handed on, where the send thread doesn't wait for it
	WarmProcess variate.Dist // likewise, of a thread that goes on without having slept; nil: Process
	WarmFinish  variate.Dist // likewise; nil: Finish
	FirstAnswer variate.Dist // sweeper: the first answer of a sweep, which wakes the connection's IO thread
	Answer      variate.Dist // sweeper: each further answer
	SweepLag    variate.Dist // lateness of a sweep on an idle machine
	Thaw        variate.Dist // end of a freeze until a thread has a core again, each thread by itself
	StackDump   variate.Dist // sweeper: a dump of all threads' stacks, 5.x
}

// Store is the modelled store: what one append takes under the lock. Without a
// profile and a page cache that is one draw of Append. A profile replaces it
// by its mechanisms; a page cache adds what the kernel makes of dirty pages.
type Store struct {
	Append variate.Dist // ns
	Delay  sim.Time     // added to each append

	Start    LogStart     // of what the run finds
	Filled   int64        // bytes of the first file, when the run begins
	Allocate variate.Dist // ns to create and map a file; nil: none
	WarmPage variate.Dist // ns to write into one of its pages, with warmMapedFileEnable; nil: none
	AtRisk   bool         // follow what a crash would lose, which a plain store does only if it is asked
	Commit   variate.Dist // ns of a commit of the transient pool, beside what the page cache makes of it; nil: none

	Profile          *Profile     // nil: none
	PageCache        *PageCache   // nil: none
	Flush            variate.Dist // ns: what a flush takes, with a page cache beside writing its pages; a profile alone has its own
	TopicLength      int64        // bytes of a record
	PropertiesLength int64        // bytes of a record
}

// Stall is one [[stall]].
type Stall struct {
	Where  StallWhere
	Broker int          // which of the route's, from 0
	Slave  int          // with StallNetwork and StallReplica: which slave, from 1; 0: all
	At     sim.Time     // one-off or first; Absent: drawn from Every
	Every  variate.Dist // nil: once
	For    variate.Dist // served in full by the first append that begins at or after At
	Tasks  int          // of StallCPU: threads that keep a core busy each
	Until  sim.Time     // a window instead of For: what begins inside ends with it; Absent: For
}

// Producer is one [[producer]].
type Producer struct {
	Name     string
	Arrivals variate.Arrivals
	Body     variate.Dist // bytes; nil: none
	Release  string       // of the client; "": the broker's
	Timeout  sim.Time     // sendMsgTimeout

	Mode                             SendMode
	RetryTimesWhenSendFailed         int
	RetryTimesWhenSendAsyncFailed    int
	RetryAnotherBrokerWhenNotStoreOK bool
	SendLatencyFaultEnable           bool
	Batch                            int  // messages of one send (SEND_BATCH_MESSAGE); 0: 1, as SEND_MESSAGE
	NoWait                           bool // the message has WAIT=false: its answer waits for neither flush nor replica
	Ordered                          bool // a MessageQueueSelector sends all to one queue

	Handler Handler
	Resends int          // calls that it makes again, at most
	Backoff variate.Dist // ns, before each of them
}

// Replica is what a SYNC_MASTER waits for: slaves that are alike, each over a
// connection of its own.
type Replica struct {
	Slaves    int
	Network   variate.Dist // ns, one way
	Bandwidth int64        // bytes/s of a connection; 0: without bound
	Append    variate.Dist // ns, what a batch takes the slave
}

// slavesMax bounds the slaves of a broker.
const slavesMax = 16

// Load is requests for one of the other swept queues.
type Load struct {
	Consumers int          // of the pull queue: that many pull by long polling; 0: the requests of Arrivals
	Bytes     variate.Dist // what the answer of one takes of the network, without long polling; nil: none
	Queue     string       // pull, litePull, heartbeat, endTransaction, ack, adminBroker
	Arrivals  variate.Arrivals
	Service   variate.Dist
	Read      int64 // bytes that each reads from the disk behind the page cache; 0: none
}

// Threshold is one [[threshold]], parsed by ParseExpect.
type Threshold struct {
	Expect string
}

// Check reports, joined, all that would keep a run from its end: what is
// missing, no thread or room to serve with, stalls without a time.
func (c *Config) Check() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	traits, err := TraitsOf(c.Broker.Release)
	if err != nil {
		faults = append(faults, err)
	}
	within := func(what string, v, least, most int64) {
		if v < least || v > most {
			bad("%s: want %d to %d, got %d", what, least, most, v)
		}
	}
	within("duration", int64(c.Duration), 1, int64(sim.MaxTime))
	within("brokers of the route", int64(c.Route.Brokers), 0, brokersMax)
	within("queues of the route", int64(c.Route.Queues), 0, math.MaxInt16)
	within("cores", int64(c.Machine.Cores), 1, math.MaxInt32)
	if !(c.Machine.NIC >= 0) || math.IsInf(c.Machine.NIC, 1) {
		bad("nic: want a rate of 0 or more, got %v", c.Machine.NIC)
	}
	within("quantum", int64(c.Machine.Quantum), 0, int64(sim.Hour))
	within("wall phase", int64(c.Machine.WallPhase), Absent, int64(sim.Millisecond-1))
	within("sweep phase", int64(c.Machine.SweepPhase), Absent, int64(SweepPeriod-1))
	within("append delay", int64(c.Store.Delay), 0, int64(sim.MaxTime))
	c.Store.check(&c.Broker, bad)
	for i := range c.Neighbours {
		c.Neighbours[i].check(func(format string, args ...any) {
			bad("neighbour %d: %w", i, fmt.Errorf(format, args...))
		})
	}
	for i := range c.Deletes {
		c.Deletes[i].check(func(format string, args ...any) {
			bad("delete %d: %w", i, fmt.Errorf(format, args...))
		})
	}
	pool := func(q SweptQueue) {
		_, threads, capacity := c.Broker.queue(q)
		within("threads of the "+q.String()+" queue", int64(threads), 1, math.MaxInt32)
		within("capacity of the "+q.String()+" queue", capacity, 1, math.MaxInt32)
	}
	pool(SendQueue)
	c.checkAfterPut(bad, within)
	for i := range c.Stalls {
		if n := c.Stalls[i].Broker; n < 0 || n >= c.brokers() {
			bad("stall %d: the route has %d brokers, and none of number %d", i, c.brokers(), n)
		}
		c.Stalls[i].check(func(format string, args ...any) {
			bad("stall %d: %w", i, fmt.Errorf(format, args...))
		})
	}
	c.checkProducers(bad)
	for i, l := range c.Loads {
		q, ok := ParseSweptQueue(l.Queue)
		switch {
		case !ok || q == SendQueue:
			bad("load %d: no such queue beside the send queue: %q", i, l.Queue)
		case l.Arrivals == nil && l.Consumers == 0:
			bad("load %d: want arrivals", i)
		case l.Consumers < 0 || l.Consumers > consumersMax || l.Consumers > 0 && q != PullQueue:
			bad("load %d: want at most %d consumers, and of the pull queue, got %d of %s", i, consumersMax, l.Consumers, l.Queue)
		case l.Read < 0 || l.Read > 1<<30 || l.Read > 0 && c.Store.PageCache == nil:
			bad("load %d: want reads of up to %d bytes, and of more than 0 with a page cache alone, got %d", i, 1<<30, l.Read)
		case isClosed(l.Arrivals):
			bad("load %d: arrivals: want an open workload, got %s", i, l.Arrivals)
		case err == nil && !traits.has(q) && !(q == EndTransactionQueue && traits.EndTransactionInSend):
			bad("load %d: release %s has no %s queue", i, c.Broker.Release, q)
		default:
			pool(q)
		}
	}
	return errors.Join(faults...)
}

// The limits of producers.
const (
	retriesMax = 100
	resendsMax = 10_000
	batchMax   = 10_000
	callersMax = 1_000_000 // of all closed workloads
	timeoutMax = sim.MaxTime / 4
)

func (c *Config) checkProducers(bad func(format string, args ...any)) {
	callers := 0
	for i := range c.Producers {
		p := &c.Producers[i]
		within := func(what string, v, most int) {
			if v < 0 || v > most {
				bad("producer %d: %s: want 0 to %d, got %d", i, what, most, v)
			}
		}
		within("retryTimesWhenSendFailed", p.RetryTimesWhenSendFailed, retriesMax)
		within("retryTimesWhenSendAsyncFailed", p.RetryTimesWhenSendAsyncFailed, retriesMax)
		within("resends", p.Resends, resendsMax)
		within("batch", p.Batch, batchMax)
		within("mode", int(p.Mode), int(SendOneway))
		within("handler", int(p.Handler), int(HandlerBak))
		if _, err := TraitsOf(p.Release); p.Release != "" && err != nil {
			bad("producer %d: %w", i, err)
		}
		if p.Timeout < 0 || p.Timeout > timeoutMax {
			bad("producer %d: timeout: want 0 to %v, got %v", i, timeoutMax, p.Timeout)
		}
		switch a := p.Arrivals.(type) {
		case nil:
			bad("producer %d: want arrivals", i)
		case variate.Closed:
			callers += a.Callers()
		}
	}
	if callers > callersMax {
		bad("want at most %d callers of closed workloads, got %d", callersMax, callers)
	}
	if c.Recorded && c.brokers() > 1 {
		bad("brokers of the route: recorded arrivals are those of one broker, got %d", c.brokers())
	}
}

func isClosed(a variate.Arrivals) bool {
	_, ok := a.(variate.Closed)
	return ok
}

// checkAfterPut is of what a put waits for and who answers it.
func (c *Config) checkAfterPut(bad func(format string, args ...any), within func(what string, v, least, most int64)) {
	b := &c.Broker
	if b.FlushDiskType != "" && b.FlushDiskType != AsyncFlush && b.FlushDiskType != SyncFlush {
		bad("flushDiskType: want %s or %s, got %q", AsyncFlush, SyncFlush, b.FlushDiskType)
	}
	if b.BrokerRole != "" && b.BrokerRole != AsyncMaster && b.BrokerRole != SyncMaster {
		bad("brokerRole: want %s or %s, got %q", AsyncMaster, SyncMaster, b.BrokerRole)
	}
	within("syncFlushTimeout", int64(b.SyncFlushTimeout), 0, math.MaxInt32)
	within("slaveTimeout", int64(b.SlaveTimeout), 0, math.MaxInt32)
	within("putMessageFutureThreadPoolNums", int64(b.PutMessageFutureThreadPoolNums), 1, math.MaxInt32)
	within("putThreadPoolQueueCapacity", b.PutThreadPoolQueueCapacity, 1, math.MaxInt32)
	if c.Measured != nil && !c.Recorded {
		bad("measured times are those of recorded arrivals")
	}
	within("slaves", int64(c.Replica.Slaves), 0, slavesMax)
	within("bandwidth to a slave", c.Replica.Bandwidth, 0, math.MaxInt64)
	if b.BrokerRole == SyncMaster {
		within("haTransferBatchSize", int64(b.HaTransferBatchSize), 1, math.MaxInt32)
		within("haMaxGapNotInSync", b.HaMaxGapNotInSync, 0, math.MaxInt64)
		within("haHousekeepingInterval", int64(b.HaHousekeepingInterval), 1, math.MaxInt32)
	}
	for i := range c.Stalls {
		if n := c.Stalls[i].Slave; n < 0 || n > c.Replica.Slaves {
			bad("stall %d: there are %d slaves, and none of number %d", i, c.Replica.Slaves, n)
		}
	}
}

// check is of the commit log's files, and of a store that works by mechanism.
func (s *Store) check(b *Settings, bad func(format string, args ...any)) {
	if b.MappedFileSizeCommitLog < pageSize {
		bad("mappedFileSizeCommitLog: want at least %d, got %d", pageSize, b.MappedFileSizeCommitLog)
	}
	if b.TransientStorePoolEnable && (b.TransientStorePoolSize < 0 || b.CommitIntervalCommitLog < 1 || b.CommitCommitLogThoroughInterval < 0 || b.CommitCommitLogLeastPages < 0) {
		bad("transientStorePoolSize, commitIntervalCommitLog, commitCommitLogThoroughInterval, commitCommitLogLeastPages: want at least 0, 1, 0 and 0, got %d, %d, %d and %d",
			b.TransientStorePoolSize, b.CommitIntervalCommitLog, b.CommitCommitLogThoroughInterval, b.CommitCommitLogLeastPages)
	}
	if s.Filled < 0 || s.Filled > int64(b.MappedFileSizeCommitLog) || s.Filled > 0 && s.Start == LogEmpty {
		bad("filled: want 0 to mappedFileSizeCommitLog = %d, and 0 of no file, got %d", b.MappedFileSizeCommitLog, s.Filled)
	}
	if s.Profile == nil && s.PageCache == nil {
		return
	}
	if s.Profile != nil {
		if err := s.Profile.Check(); err != nil {
			bad("profile: %w", err)
		}
	}
	if s.PageCache != nil {
		s.PageCache.check(bad)
	}
	if s.TopicLength < 0 || s.TopicLength > math.MaxUint16 || s.PropertiesLength < 0 || s.PropertiesLength > math.MaxInt16 {
		bad("topic and properties: want up to %d and %d bytes, got %d and %d", math.MaxUint16, math.MaxInt16, s.TopicLength, s.PropertiesLength)
	}
	if b.FlushIntervalCommitLog < 1 || b.FlushCommitLogThoroughInterval < 0 || b.FlushCommitLogLeastPages < 0 {
		bad("flushIntervalCommitLog, flushCommitLogThoroughInterval, flushCommitLogLeastPages: want at least 1, 0 and 0, got %d, %d and %d",
			b.FlushIntervalCommitLog, b.FlushCommitLogThoroughInterval, b.FlushCommitLogLeastPages)
	}
}

func (s *Stall) check(bad func(format string, args ...any)) {
	if s.Where >= stallWheres {
		bad("where: no such place: %d", s.Where)
	}
	if (s.Where == StallCPU) != (s.Tasks > 0) || s.Tasks > tasksMax {
		bad("tasks: want 1 to %d with cpu, 0 with any other, got %d", tasksMax, s.Tasks)
	}
	if s.At < Absent || s.At > sim.MaxTime || s.Until < Absent || s.Until > sim.MaxTime {
		bad("want at and until from 0 to %v, got %v and %v", sim.MaxTime, s.At, s.Until)
	}
	switch {
	case s.Every == nil && s.At == Absent:
		bad("want at, every or both")
	case s.Every != nil && s.Until != Absent:
		bad("want no until with every")
	case s.Every != nil && !(s.Every.Mean() >= 1):
		bad("every: want a mean of at least 1ns, got %v", s.Every)
	}
	switch {
	case (s.For == nil) == (s.Until == Absent):
		bad("want one of for and until")
	case s.Until != Absent && s.Until <= s.At:
		bad("until: want more than at = %v, got %v", s.At, s.Until)
	}
}
