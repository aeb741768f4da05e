package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Traits are the ways in which a release behaves, as data: every difference
// between releases that the model knows stands in the table below and nowhere
// else (facts §1.2, §2.1, §2.3, §3.2, §3.3, §5.1, §5.3, §6.2, §7.2, §7.3, §8, §9, §12).
type Traits struct {
	Release string

	// Sweep (BrokerFastFailure).
	FastFailureSwitch bool         // key brokerFastFailureEnable exists; before 4.2.0 always on
	Swept             []SweptQueue // in the order of the sweep, the send queue first
	SweepDumpsStacks  bool         // 5.0.0+: a thread dump on the sweeper, at most one in 15 s

	// Admission (NettyRemotingAbstract.processRequestCommand).
	RejectAnswersOneway bool // [REJECTREQUEST] is written for one-way requests too

	// Store checks and answers.
	BusyCheckFirst       bool  // isOSPageCacheBusy before the length checks (4.7.0 - 4.9.x)
	PCSynchronizedCode   int32 // SYSTEM_ERROR 1 up to 5.2.0, SYSTEM_BUSY 2 since 5.3.0
	IllegalRemark        string
	UnavailableRemark    string // of SERVICE_NOT_AVAILABLE: a format of the three of DiskUsed
	MendedStatusNames    bool   // 5.x: OS_PAGE_CACHE_BUSY, CREATE_MAPPED_FILE_FAILED
	LimitsBodyOnly       bool   // maxMessageSize bounds the body, not the record
	SystemBusyRetried    bool   // by this release's client
	TimeoutPerAttempt    bool   // client: sendMsgTimeout is per attempt, not per call
	AsyncRetryUntimed    bool   // client, <= 4.6.1: an asynchronous send that timed out is sent again with timeout 0; since, nothing of its time is left
	CallbacksInSend      bool   // 4.7.1 - 4.9.2: response callbacks sit in the send queue
	EndTransactionInSend bool   // <= 4.3.0: END_TRANSACTION shares the send queue
	PipelinedPut         bool   // >= 4.7.0: the send worker doesn't wait for flush and replica
	CallbackPool         bool   // >= 4.9.3: response callbacks run on the putMessageFuture pool
	BatchCallbacksInSend bool   // 5.x: those of batches still sit in the send queue
	AsyncSendKey         bool   // 5.x: asyncSendEnable = false has the send worker wait
	ReplicaNeedsInSync   bool   // 5.x: SYNC_MASTER waits only if inSyncReplicas > 1
	SecondFlushUnseen    bool   // <= 4.7.1: a request that needs a second flush counts as not flushed
	FlushTries           int    // of GroupCommitService for a request: 2, since 5.2.0 1000
	FlushTimeout         FlushTimeout
	TransferTries        int  // <= 4.6.1: GroupTransferService wakes so often for a request; 0: until a time
	TransferDeadline     bool // >= 4.9.3: that time is slaveTimeout after the put, else syncFlushTimeout after the service came to it
	MappedFileKeys       bool // >= 4.5.2: mapedFile... keys are spelt mappedFile...
	PutWakesCommit       bool // <= 5.3.1: a put wakes the commit thread; since, if wakeCommitWhenPutMessage
	PoolWithSyncFlush    bool // 5.x: transientStorePoolEnable has an effect with SYNC_FLUSH too
	VIPChannel           bool // client: vipChannelEnabled by default, so that it sends to the fast port
	PutWakesFlush        bool // <= 5.3.1: a put wakes a flush thread that waits; since, if wakeFlushWhenPutMessage

	// The client's latency fault table (MQFaultStrategy, LatencyFaultToleranceImpl).
	FaultRule           FaultRule
	FaultLatencyMaxMs   [7]int64 // latencyMax
	FaultNotAvailableMs [7]int64 // notAvailableDuration
	FaultIsolationMs    int64    // the latency that a failure stands for
	ErrorIsUnreachable  bool     // an error response makes the broker unreachable too

	// Defaults that moved.
	SendThreadsByCores bool // sendMessageThreadPoolNums = min(cores, 4) since 4.9.1
	ReentrantDefault   bool // useReentrantLockWhenPutMessage since 4.9.1
	FlushTimedDefault  bool // flushCommitLogTimed since 4.9.1
	EndTxThreads       bool // endTransactionThreadPoolNums = max(8+2*cores, 4*send threads) since 4.9.1
	AckThreads         int
	AdminCapacity      int64 // of the admin queue, which has no bound in 4.x
}

// FlushTimeout is who tells a put of SYNC_FLUSH that syncFlushTimeout is over
// (facts §7.3).
type FlushTimeout uint8

// The ways of it.
const (
	FlushTimeoutLatch   FlushTimeout = iota // the send worker, which waits no longer
	FlushTimeoutLate                        // whoever completes the future too late
	FlushTimeoutNone                        // nobody
	FlushTimeoutWatcher                     // FlushDiskWatcher
)

// SweptQueue names a queue that the sweep looks at.
type SweptQueue uint8

// The swept queues in the order in which a sweep visits them (facts §1.2).
const (
	SendQueue SweptQueue = iota
	PullQueue
	LitePullQueue
	HeartbeatQueue
	EndTransactionQueue
	AckQueue
	AdminBrokerQueue
	sweptQueues
)

var sweptQueueNames = [sweptQueues]string{"send", "pull", "litePull", "heartbeat", "endTransaction", "ack", "adminBroker"}

func (q SweptQueue) String() string { return sweptQueueNames[q] }

// ParseSweptQueue is the inverse of String.
func ParseSweptQueue(s string) (SweptQueue, bool) {
	i := slices.Index(sweptQueueNames[:], s)
	return SweptQueue(i), i >= 0
}

// SweptQueueNames lists the names that ParseSweptQueue takes.
func SweptQueueNames() []string { return sweptQueueNames[:] }

// releases are the tags that the model accepts, oldest first (facts §0).
// 4.5.0 is absent from the history that the facts were read from, and so here.
var releases = []string{
	"4.0.0-incubating", "4.1.0-incubating", "4.2.0", "4.3.0", "4.3.1", "4.3.2", "4.4.0", "4.5.1", "4.5.2",
	"4.6.0", "4.6.1", "4.7.0", "4.7.1", "4.8.0", "4.9.0", "4.9.1", "4.9.2", "4.9.3", "4.9.4", "4.9.5",
	"4.9.6", "4.9.7", "4.9.8", "5.0.0", "5.1.0", "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.2.0",
	"5.3.0", "5.3.1", "5.3.2", "5.3.3",
}

// Releases lists the accepted release tags, oldest first.
func Releases() []string { return slices.Clone(releases) }

// DefaultRelease is the release of a scenario that names none: the one whose
// traces the model is validated against.
const DefaultRelease = "4.3.2"

// change is one row of the table of traits: from release Since on, Set holds
// until a later row says otherwise.
type change struct {
	since string
	set   func(*Traits)
}

const (
	illegal128k = "the message is illegal, maybe msg body or properties length not matched. msg body length limit 128k, msg properties length limit 32k."
	illegalMax  = "the message is illegal, maybe msg body or properties length not matched. msg body length limit %dB, msg properties length limit 32KB."

	unavailableOld = "service not available now, maybe disk full, CL: %5.2f CQ: %5.2f INDEX: %5.2f, maybe your broker machine memory too small."
	unavailableNew = "service not available now. It may be caused by one of the following reasons: the broker's disk is full [CL: %5.2f CQ: %5.2f INDEX: %5.2f], messages are put to the slave, message store has been shut down, etc."
)

var changes = []change{
	{"4.0.0-incubating", func(t *Traits) {
		t.Swept = []SweptQueue{SendQueue}
		t.RejectAnswersOneway = true
		t.PCSynchronizedCode = 1
		t.IllegalRemark = illegal128k
		t.UnavailableRemark = unavailableOld
		t.AdminCapacity = math.MaxInt32 // LinkedBlockingQueue without a capacity
		t.TimeoutPerAttempt = true
		t.AsyncRetryUntimed = true
		t.FaultLatencyMaxMs = [7]int64{50, 100, 550, 1000, 2000, 3000, 15000}
		t.FaultNotAvailableMs = [7]int64{0, 0, 30_000, 60_000, 120_000, 180_000, 600_000}
		t.FaultIsolationMs = 30_000
		t.EndTransactionInSend = true
		t.VIPChannel = true
		t.PutWakesFlush = true
		t.PutWakesCommit = true
		t.SecondFlushUnseen = true
		t.FlushTries = 2
		t.TransferTries = 5
	}},
	{"4.2.0", func(t *Traits) { t.FastFailureSwitch = true; t.Swept = []SweptQueue{SendQueue, PullQueue} }},
	{"4.3.0", func(t *Traits) {
		t.Swept = []SweptQueue{SendQueue, PullQueue, HeartbeatQueue}
		t.TimeoutPerAttempt = false
	}},
	{"4.3.1", func(t *Traits) {
		t.Swept = []SweptQueue{SendQueue, PullQueue, HeartbeatQueue, EndTransactionQueue}
		t.EndTransactionInSend = false
	}},
	{"4.5.1", func(t *Traits) { t.VIPChannel = false }},
	{"4.5.2", func(t *Traits) { t.MappedFileKeys = true }},
	{"4.7.0", func(t *Traits) {
		t.BusyCheckFirst = true
		t.PipelinedPut = true
		t.AsyncRetryUntimed = false
		t.FlushTimeout = FlushTimeoutLate
		t.TransferTries = 0
	}},
	{"4.7.1", func(t *Traits) { t.CallbacksInSend = true; t.FlushTimeout = FlushTimeoutNone }},
	{"4.8.0", func(t *Traits) {
		t.UnavailableRemark = unavailableNew
		t.FaultRule = FaultAvailable
		t.SecondFlushUnseen = false
	}},
	{"4.9.1", func(t *Traits) {
		t.SendThreadsByCores = true
		t.ReentrantDefault = true
		t.EndTxThreads = true
		t.FlushTimedDefault = true
	}},
	{"4.9.3", func(t *Traits) {
		t.CallbacksInSend = false
		t.CallbackPool = true
		t.FlushTimeout = FlushTimeoutWatcher
		t.TransferDeadline = true
	}},
	{"4.9.4", func(t *Traits) { t.IllegalRemark = illegalMax; t.LimitsBodyOnly = true }},
	{"5.0.0", func(t *Traits) {
		t.Swept = []SweptQueue{SendQueue, PullQueue, LitePullQueue, HeartbeatQueue, EndTransactionQueue, AckQueue}
		t.SweepDumpsStacks = true
		t.RejectAnswersOneway = false
		t.BusyCheckFirst = false
		t.ReplicaNeedsInSync = true
		t.BatchCallbacksInSend = true
		t.PoolWithSyncFlush = true
		t.AsyncSendKey = true
		t.MendedStatusNames = true
		t.AckThreads = 3
		t.AdminCapacity = 10000
	}},
	{"5.1.1", func(t *Traits) { t.FaultRule = FaultElsewhere }},
	{"5.1.4", func(t *Traits) {
		t.FaultRule = FaultReachable
		t.FaultLatencyMaxMs = [7]int64{50, 100, 550, 1800, 3000, 5000, 15000}
		t.FaultNotAvailableMs = [7]int64{0, 0, 2000, 5000, 6000, 10_000, 30_000}
		t.FaultIsolationMs = 10_000
		t.ErrorIsUnreachable = true
	}},
	{"5.2.0", func(t *Traits) { t.FlushTries = 1000 }},
	{"5.3.0", func(t *Traits) {
		t.Swept = []SweptQueue{SendQueue, PullQueue, LitePullQueue, HeartbeatQueue, EndTransactionQueue, AckQueue, AdminBrokerQueue}
		t.PCSynchronizedCode = 2
		t.SystemBusyRetried = true
		t.AckThreads = 16
	}},
	{"5.3.2", func(t *Traits) { t.PutWakesFlush = false; t.PutWakesCommit = false }},
}

// TraitsOf returns the traits of a release. The error names the release and
// those accepted.
func TraitsOf(release string) (Traits, error) {
	at := slices.Index(releases, release)
	if at < 0 {
		return Traits{}, fmt.Errorf("release %q is unknown; known are %s", release, strings.Join(releases, ", "))
	}
	t := Traits{Release: release}
	for _, c := range changes {
		if slices.Index(releases, c.since) <= at {
			c.set(&t)
		}
	}
	return t, nil
}

// Sweeps reports whether the release's sweep looks at q.
func (t *Traits) Sweeps(q SweptQueue) bool { return slices.Contains(t.Swept, q) }

// FlushMode is how FlushRealTimeService of the release gets to work under
// these settings (facts §7.2): only a thread that waits, rather than sleeps,
// notices that a put wakes it, or that a commit of the transient pool does (facts
// §7.4). Under SYNC_FLUSH it is GroupCommitService (facts §7.3).
func (t *Traits) FlushMode(s *Settings) FlushMode {
	if s.FlushDiskType == SyncFlush {
		return FlushSync
	}
	if !s.FlushCommitLogTimed && (t.PoolInEffect(s) || t.PutWakesFlush || s.WakeFlushWhenPutMessage) {
		return FlushWoken
	}
	return FlushTimed
}

// has reports whether the release has an executor and queue of that name of
// its own, swept or not (facts §5.1).
func (t *Traits) has(q SweptQueue) bool {
	return q == AdminBrokerQueue || q == PullQueue || t.Sweeps(q)
}

// Defaults returns the settings of a release that broker.conf leaves out, on
// a machine of so many cores (Runtime.availableProcessors).
func Defaults(release string, cores int) (Settings, error) {
	t, err := TraitsOf(release)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{
		Release:                            release,
		BrokerFastFailureEnable:            true,
		WaitTimeMillsInSendQueue:           200,
		WaitTimeMillsInPullQueue:           5000,
		WaitTimeMillsInLitePullQueue:       5000,
		WaitTimeMillsInHeartbeatQueue:      31000,
		WaitTimeMillsInTransactionQueue:    3000,
		WaitTimeMillsInAckQueue:            3000,
		WaitTimeMillsInAdminBrokerQueue:    5000,
		OsPageCacheBusyTimeOutMills:        1000,
		SendMessageThreadPoolNums:          1,
		PullMessageThreadPoolNums:          16 + 2*cores,
		LitePullMessageThreadPoolNums:      16 + 2*cores,
		HeartbeatThreadPoolNums:            min(32, cores),
		EndTransactionThreadPoolNums:       8 + 2*cores,
		AckMessageThreadPoolNums:           t.AckThreads,
		AdminBrokerThreadPoolNums:          16,
		SendThreadPoolQueueCapacity:        10000,
		PullThreadPoolQueueCapacity:        100000,
		LitePullThreadPoolQueueCapacity:    100000,
		HeartbeatThreadPoolQueueCapacity:   50000,
		EndTransactionPoolQueueCapacity:    100000,
		AckThreadPoolQueueCapacity:         100000,
		AdminBrokerThreadPoolQueueCapacity: t.AdminCapacity,
		UseReentrantLockWhenPutMessage:     t.ReentrantDefault,
		MaxMessageSize:                     4 << 20,
		FlushIntervalCommitLog:             500,
		FlushCommitLogTimed:                t.FlushTimedDefault,
		FlushCommitLogLeastPages:           4,
		FlushCommitLogThoroughInterval:     10000,
		MappedFileSizeCommitLog:            1 << 30,
		TransientStorePoolSize:             5,
		CommitIntervalCommitLog:            200,
		CommitCommitLogLeastPages:          4,
		CommitCommitLogThoroughInterval:    200,
		WakeCommitWhenPutMessage:           true,
		FlushDiskType:                      AsyncFlush,
		SyncFlushTimeout:                   5000,
		BrokerRole:                         AsyncMaster,
		SlaveTimeout:                       3000,
		HaMaxGapNotInSync:                  256 << 20,
		HaTransferBatchSize:                32 << 10,
		HaHousekeepingInterval:             20000,
		InSyncReplicas:                     1,
		MinInSyncReplicas:                  1,
		AsyncSendEnable:                    true,
		PutMessageFutureThreadPoolNums:     min(cores, 4),
		PutThreadPoolQueueCapacity:         10000,
	}
	if t.SendThreadsByCores {
		s.SendMessageThreadPoolNums = min(cores, 4)
	}
	if t.EndTxThreads {
		s.EndTransactionThreadPoolNums = max(8+2*cores, 4*s.SendMessageThreadPoolNums)
	}
	return s, nil
}

// queue returns the limits of one swept queue under these settings.
func (s *Settings) queue(q SweptQueue) (waitMs int64, threads int, capacity int64) {
	switch q {
	case SendQueue:
		return s.WaitTimeMillsInSendQueue, s.SendMessageThreadPoolNums, s.SendThreadPoolQueueCapacity
	case PullQueue:
		return s.WaitTimeMillsInPullQueue, s.PullMessageThreadPoolNums, s.PullThreadPoolQueueCapacity
	case LitePullQueue:
		return s.WaitTimeMillsInLitePullQueue, s.LitePullMessageThreadPoolNums, s.LitePullThreadPoolQueueCapacity
	case HeartbeatQueue:
		return s.WaitTimeMillsInHeartbeatQueue, s.HeartbeatThreadPoolNums, s.HeartbeatThreadPoolQueueCapacity
	case EndTransactionQueue:
		return s.WaitTimeMillsInTransactionQueue, s.EndTransactionThreadPoolNums, s.EndTransactionPoolQueueCapacity
	case AckQueue:
		return s.WaitTimeMillsInAckQueue, s.AckMessageThreadPoolNums, s.AckThreadPoolQueueCapacity
	default:
		return s.WaitTimeMillsInAdminBrokerQueue, s.AdminBrokerThreadPoolNums, s.AdminBrokerThreadPoolQueueCapacity
	}
}
