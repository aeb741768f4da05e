package model

import (
	"brokersim/sim"
	"brokersim/sim/variate"
)

// Config is a decoded scenario: all that a run depends on, in base units
// (ns, bytes). scenarios decodes one from TOML; Validate-like checks with
// file positions are made there, Check here repeats the ones that keep a run
// from going wrong.
type Config struct {
	Name       string
	Title      string
	Seed       uint64
	Duration   sim.Time // arrivals stop here; what is in the system is then served to its end
	Warmup     sim.Time // sends before it are simulated but not counted
	Broker     Settings
	Machine    Machine
	Costs      Costs
	Store      Store
	Stalls     []Stall
	Producers  []Producer
	Loads      []Load
	Thresholds []Threshold

	// Recorded says that the arrivals are instants at the codec thread, taken
	// from a recording: no network, freeze or wait for a core comes before
	// them.
	Recorded bool
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
}

// Machine is what the broker runs on.
type Machine struct {
	Cores      int
	WallPhase  sim.Time // sub-ms part of the wall clock at time 0, [0, 1ms); Absent: drawn
	SweepPhase sim.Time // first sweep's nominal time, [0, 10ms); Absent: drawn
	Quantum    sim.Time // how long a thread keeps a core that others wait for
}

// Costs are the processor times of the path, each a distribution in ns.
type Costs struct {
	Network     variate.Dist // producer to codec thread, and back
	Decode      variate.Dist // rejectRequest to offer
	Handoff     variate.Dist // wake-up of an idle worker
	Process     variate.Dist // taken to put lock asked for
	Finish      variate.Dist // unlock to processRequest returned
	FirstAnswer variate.Dist // sweeper: the first answer of a sweep, which wakes the connection's IO thread
	Answer      variate.Dist // sweeper: each further answer
	SweepLag    variate.Dist // lateness of a sweep on an idle machine
}

// Store is the modelled store: what one append takes under the lock.
type Store struct {
	Append variate.Dist // ns
	Delay  sim.Time     // added to each append
}

// Stall is one [[stall]].
type Stall struct {
	Where StallWhere
	At    sim.Time     // one-off or first; Absent: drawn from Every
	Every variate.Dist // nil: once
	For   variate.Dist // served in full by the first append that begins at or after At
	Until sim.Time     // a window instead of For: what begins inside ends with it; Absent: For
}

// Producer is one [[producer]].
type Producer struct {
	Name     string
	Arrivals variate.Arrivals
	Body     variate.Dist // bytes
	Release  string
	Timeout  sim.Time // sendMsgTimeout
}

// Load is requests for one of the other swept queues.
type Load struct {
	Queue    string // pull, litePull, heartbeat, endTransaction, ack, adminBroker
	Arrivals variate.Arrivals
	Service  variate.Dist
}

// Threshold is one [[threshold]], parsed by ParseExpect.
type Threshold struct {
	Expect string
}
