package scenarios

import (
	"github.com/invopop/jsonschema"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// document is a scenario file as it is written. The tags name the key
// (toml), say that it must be there (need), bound it (min, max), give the
// unit of a distribution (unit) and describe it for the JSON schema.
type document struct {
	Schema    int64            `toml:"schema" need:"true" min:"1" max:"1" jsonschema_description:"Version of this format: 1."`
	Title     string           `toml:"title" jsonschema_description:"One line that names what happens."`
	Story     string           `toml:"story" lines:"true" jsonschema_description:"What happens, why, and where each number comes from."`
	Seed      int64            `toml:"seed" min:"0" max:"9223372036854775807" jsonschema:"default=1" jsonschema_description:"Root of all random streams: same seed, same result."`
	Duration  duration         `toml:"duration" need:"true" jsonschema_description:"Virtual time during which messages arrive; what is in the system then is served to its end. More than 0, at most 1000h."`
	Warmup    duration         `toml:"warmup" jsonschema:"default=0s" jsonschema_description:"Observations before it are not counted in the statistics. Less than duration."`
	Route     routeTable       `toml:"route" jsonschema_description:"The brokers that producers may choose from, all alike."`
	Broker    brokerTable      `toml:"broker" jsonschema_description:"Keys of broker.conf, spelt as there. Durations are whole milliseconds, as RocketMQ has them."`
	Machine   machineTable     `toml:"machine" jsonschema_description:"What the broker runs on."`
	Costs     costsTable       `toml:"costs" jsonschema_description:"Processor times along the path of one send."`
	Store     storeTable       `toml:"store" jsonschema_description:"What one append takes under the put lock."`
	Replica   replicaTable     `toml:"replica" jsonschema_description:"The slaves of a SYNC_MASTER, which are alike, and the way to each."`
	Neighbour []neighbourTable `toml:"neighbour" jsonschema_description:"Who else is on the machine."`
	Delete    []deleteTable    `toml:"delete" jsonschema_description:"Files of the commit log that are deleted at the hour of deleteWhen: goes with store.kind = \"pagecache\"."`
	Stall     []stallTable     `toml:"stall" jsonschema_description:"What hurts, and when."`
	Producer  []producerTable  `toml:"producer" need:"true" jsonschema_description:"Who sends."`
	Load      []loadTable      `toml:"load" jsonschema_description:"Requests for the broker's other swept queues."`
	Threshold []thresholdTable `toml:"threshold" jsonschema_description:"What must hold for the run to exit 0."`
}

type routeTable struct {
	Brokers int64 `toml:"brokers" min:"1" max:"64" jsonschema:"default=1" jsonschema_description:"How many, each with a machine and a disk of its own; their numbers count from 0."`
	Queues  int64 `toml:"queues" min:"1" max:"1024" jsonschema:"default=4" jsonschema_description:"Write queues of the topic on each."`
}

type machineTable struct {
	Cores      int64    `toml:"cores" min:"1" max:"1024" jsonschema:"default=4" jsonschema_description:"Processors: RocketMQ derives pool sizes from it, spinning threads compete for it."`
	WallPhase  duration `toml:"wall_phase" jsonschema_description:"Sub-millisecond part of the wall clock at time 0, at least 0us, less than 1ms. Absent: drawn from a stream."`
	SweepPhase duration `toml:"sweep_phase" jsonschema_description:"Nominal time of the first sweep, at least 0ms, less than 10ms. Absent: drawn from a stream."`
	NIC        byteRate `toml:"nic" jsonschema:"example=12.5MB/s" jsonschema_description:"What its network interface passes in a second, each way: sends come in, answers and what consumers pull go out, frame after frame. Absent: any amount at once."`
	Quantum    duration `toml:"quantum" jsonschema:"default=3ms" jsonschema_description:"How long a thread keeps a core that others wait for."`
}

// costsTable has a field for each of model.Costs, of the same name.
type costsTable struct {
	Network     dist `toml:"network" unit:"time" jsonschema_description:"Producer to codec thread, and the same back."`
	Decode      dist `toml:"decode" unit:"time" jsonschema_description:"From rejectRequest to the offer to the send queue."`
	Handoff     dist `toml:"handoff" unit:"time" jsonschema_description:"Wake-up of an idle send thread."`
	Process     dist `toml:"process" unit:"time" jsonschema_description:"From taken by a send thread to put lock asked for."`
	Finish      dist `toml:"finish" unit:"time" jsonschema_description:"From unlock to the end of processRequest; where a callback answers (4.7.1 on), what that takes."`
	Submit      dist `toml:"submit" unit:"time" jsonschema_description:"From unlock until the send thread is free, where it does not answer itself (4.7.0 on)."`
	WarmProcess dist `toml:"warm_process" unit:"time" jsonschema_description:"As process, of a thread that goes on to the next send without having slept. Absent: the default, or process if that is given."`
	WarmFinish  dist `toml:"warm_finish" unit:"time" jsonschema_description:"As finish, likewise."`
	FirstAnswer dist `toml:"first_answer" unit:"time" jsonschema_description:"Sweeper: the first answer of a sweep, which wakes the connection's IO thread."`
	Answer      dist `toml:"answer" unit:"time" jsonschema_description:"Sweeper: each further answer."`
	SweepLag    dist `toml:"sweep_lag" unit:"time" jsonschema_description:"How late a sweep begins on an idle machine."`
	Thaw        dist `toml:"thaw" unit:"time" jsonschema_description:"From the end of a freeze until a thread has a core again, each thread by itself."`
	StackDump   dist `toml:"stack_dump" unit:"time" jsonschema_description:"Sweeper: a dump of all threads' stacks after a timeout, at most one in 15 s (5.x)."`
}

type storeTable struct {
	placed
	Append  dist     `toml:"append" unit:"time" jsonschema_description:"Time of one append that nothing holds up."`
	Delay   duration `toml:"delay" jsonschema:"default=0s" jsonschema_description:"Added to each append."`
	Profile string   `toml:"profile" jsonschema:"example=profiles/virtio-quiet.toml" jsonschema_description:"A measured profile instead of append: a TOML file beside the scenario file."`
	Kind    string   `toml:"kind" one:"append,pagecache" jsonschema:"enum=append,enum=pagecache,default=append" jsonschema_description:"append: an append takes what append or profile says. pagecache: the kernel's writeback and throttling as well."`

	AtRisk   bool   `toml:"at_risk" jsonschema:"default=false" jsonschema_description:"Whether to follow what a crash would lose: goes by itself with profile, pagecache and transientStorePoolEnable."`
	Start    string `toml:"start" one:"running,restarted,empty" jsonschema:"enum=running,enum=restarted,enum=empty,default=running" jsonschema_description:"What the run finds of the commit log. running: its last file and one to spare; restarted: recovery has deleted the spare one; empty: no file."`
	Filled   size   `toml:"filled" jsonschema:"default=0B" jsonschema_description:"How far the last file is written when the run begins."`
	Allocate dist   `toml:"allocate" unit:"time" jsonschema:"default=lognormal(median=70us\\, p99=2ms)" jsonschema_description:"What it takes to create and map a file of the commit log, ahead of need."`
	WarmPage dist   `toml:"warm_page" unit:"time" jsonschema:"default=constant(8us)" jsonschema_description:"With broker.warmMapedFileEnable: what it takes to write into one page of 4 KiB of a new file."`
	Commit   dist   `toml:"commit" unit:"time" jsonschema:"default=lognormal(median=15us\\, p99=150us)" jsonschema_description:"With broker.transientStorePoolEnable: what a commit takes, beside what the page cache makes of it."`

	TopicLength      size `toml:"topic_length" jsonschema:"default=9B" jsonschema_description:"Of a record, with profile or pagecache: it has 91 bytes, topic, properties and body."`
	PropertiesLength size `toml:"properties_length" jsonschema:"default=62B" jsonschema_description:"Of a record, with profile or pagecache."`

	Memory               size     `toml:"memory" jsonschema:"default=8GiB" jsonschema_description:"pagecache: memory that may become dirty, of which the ratios are taken."`
	DirtyBackgroundRatio int64    `toml:"dirty_background_ratio" min:"1" max:"99" jsonschema:"default=10" jsonschema_description:"pagecache: percent of memory from which the flusher writes."`
	DirtyBackgroundBytes size     `toml:"dirty_background_bytes" jsonschema_description:"pagecache: the same in bytes."`
	DirtyRatio           int64    `toml:"dirty_ratio" min:"2" max:"100" jsonschema:"default=20" jsonschema_description:"pagecache: percent of memory beyond which nobody makes more dirty."`
	DirtyBytes           size     `toml:"dirty_bytes" jsonschema_description:"pagecache: the same in bytes."`
	DirtyWriteback       duration `toml:"dirty_writeback" jsonschema:"default=5s" jsonschema_description:"pagecache: how often the flusher looks for old pages; 0s: never."`
	DirtyExpire          duration `toml:"dirty_expire" jsonschema:"default=30s" jsonschema_description:"pagecache: when a dirty page is old."`
	Disk                 byteRate `toml:"disk" jsonschema:"default=100MB/s" jsonschema_description:"pagecache: what the disk writes in a second."`
	DiskLatency          dist     `toml:"disk_latency" unit:"time" jsonschema:"default=constant(100us)" jsonschema_description:"pagecache: what the disk takes for a read beside its bytes."`
	Tick                 duration `toml:"tick" jsonschema:"default=4ms" jsonschema_description:"pagecache: 1ms, 4ms or 10ms, the kernel's HZ of 1000, 250 or 100."`
	StablePages          bool     `toml:"stable_pages" jsonschema:"default=false" jsonschema_description:"pagecache: whether the disk needs pages to stay as they are while it writes them."`
	Flush                dist     `toml:"flush" unit:"time" jsonschema_description:"With SYNC_FLUSH what a flush takes; with pagecache, what it takes beside writing its pages, then 1ms by default. A profile has its own."`
}

type neighbourTable struct {
	placed
	Name     string   `toml:"name" jsonschema_description:"Absent: neighbour-0, neighbour-1, ..."`
	Broker   int64    `toml:"broker" min:"0" max:"63" jsonschema:"default=0" jsonschema_description:"Whose disk it writes to: the number of one of the route's brokers."`
	At       duration `toml:"at" jsonschema_description:"When its first burst begins. Absent: after one every."`
	Every    dist     `toml:"every" unit:"time" jsonschema_description:"From the beginning of one burst to that of the next. Absent: one burst."`
	For      dist     `toml:"for" need:"true" unit:"time" jsonschema_description:"How long a burst lasts."`
	Rate     byteRate `toml:"rate" jsonschema_description:"What all its tasks together write in a second, unless they are throttled. Goes with store.kind = \"pagecache\"."`
	Reads    byteRate `toml:"reads" jsonschema_description:"What they read from the disk in a second, if it keeps up. Goes with store.kind = \"pagecache\"."`
	ReadSize size     `toml:"read_size" jsonschema:"default=64KiB" jsonschema_description:"Of one read."`
	Memory   size     `toml:"memory" jsonschema:"default=0B" jsonschema_description:"What it keeps of the memory that could be dirty, all the time. Goes with store.kind = \"pagecache\"."`
	Tasks    int64    `toml:"tasks" min:"1" max:"256" jsonschema:"default=1" jsonschema_description:"How many threads write and read."`
	Cores    int64    `toml:"cores" min:"1" max:"1024" jsonschema_description:"How many more of its threads keep a core busy during a burst."`
	Slows    int64    `toml:"slows" min:"1" max:"10000" jsonschema_description:"By how many percent an append is slower during a burst, for want of memory bandwidth."`
}

type deleteTable struct {
	placed
	Broker  int64    `toml:"broker" min:"0" max:"63" jsonschema:"default=0" jsonschema_description:"On whose disk: the number of one of the route's brokers."`
	At      duration `toml:"at" need:"true" jsonschema_description:"When the cleaner first finds that it is the hour."`
	Files   int64    `toml:"files" need:"true" min:"1" max:"100000" jsonschema_description:"How many are older than fileReservedTime: ten are deleted at a time, 100 ms apart, the next ten 10 s later."`
	Unlink  dist     `toml:"unlink" unit:"time" jsonschema:"default=lognormal(median=200ms\\, p99=1s)" jsonschema_description:"How long the disk is busy with one."`
	Journal bool     `toml:"journal" jsonschema:"default=false" jsonschema_description:"Whether an append that makes a page dirty waits for it, as for a commit of ext4's journal."`
}

type replicaTable struct {
	placed
	Slaves    int64    `toml:"slaves" min:"0" max:"16" jsonschema:"default=1" jsonschema_description:"How many are connected; 0: none."`
	Network   dist     `toml:"network" unit:"time" jsonschema_description:"Master to slave, and the same back."`
	Bandwidth byteRate `toml:"bandwidth" jsonschema:"default=125MB/s" jsonschema_description:"Of the connection to each."`
	Append    dist     `toml:"append" unit:"time" jsonschema_description:"What a batch takes at the slave, until it is acknowledged."`
}

type stallTable struct {
	placed
	Where  string   `toml:"where" one:"append,sweep,process,gc,steal,cpu,flush,network,replica,commit,disk" jsonschema:"enum=append,enum=sweep,enum=process,enum=gc,enum=steal,enum=cpu,enum=flush,enum=network,enum=replica,enum=commit" jsonschema_description:"What stops: the append under the put lock, the sweeper thread, or the whole broker process: process (SIGSTOP, a machine that is moved), gc (a collection, a safepoint), steal (the hypervisor runs somebody else) are told apart in the results. cpu stops nothing: tasks of others keep cores busy. flush: a flush of SYNC_FLUSH; network, replica: the way to the slaves of a SYNC_MASTER, or the slaves. commit: a commit of the transient pool."`
	Tasks  int64    `toml:"tasks" min:"1" max:"1024" jsonschema_description:"cpu: how many threads of others, a core each as far as there are any."`
	Broker int64    `toml:"broker" min:"0" max:"63" jsonschema:"default=0" jsonschema_description:"Where: the number of one of the route's brokers."`
	Slave  int64    `toml:"slave" min:"1" max:"16" jsonschema_description:"network, replica: which slave. Absent: all."`
	At     duration `toml:"at" jsonschema_description:"When it begins; with every: when the first one does."`
	Every  dist     `toml:"every" unit:"time" jsonschema_description:"Time from one beginning to the next. Absent: once."`
	For    dist     `toml:"for" unit:"time" jsonschema_description:"Its length, served in full by the first append (sweep, ...) that begins at or after its beginning."`
	Until  duration `toml:"until" jsonschema_description:"Makes it a window: an append (sweep, ...) that begins inside ends when the window ends."`
	File   string   `toml:"file" jsonschema_description:"Recorded stalls instead: a CSV file with the columns kind,index,by_seq,start_ns,end_ns,window_start_ns,window_end_ns, beside the scenario file."`
}

type producerTable struct {
	placed
	Name     string      `toml:"name" jsonschema_description:"Absent: producer-0, producer-1, ..."`
	Arrivals arrivals    `toml:"arrivals" need:"true" jsonschema_description:"When it sends, whatever the answers; or closed(n=..., think=...): n callers, each of which waits for its answer and thinks before it sends again."`
	Body     dist        `toml:"body" unit:"bytes" jsonschema:"default=constant(1KiB)" jsonschema_description:"Size of a message body."`
	Bodies   []bodyTable `toml:"bodies" jsonschema_description:"A mix of sizes instead of body; the shares add up to 1."`
	Release  string      `toml:"release" jsonschema_description:"Release of the client. Absent: the broker's."`
	Timeout  duration    `toml:"timeout" jsonschema:"default=3s" jsonschema_description:"sendMsgTimeout: when it gives up waiting for the answer; of the whole call, or up to client 4.2.0 of each attempt."`

	Mode                             string `toml:"mode" one:"sync,async,oneway" jsonschema:"enum=sync,enum=async,enum=oneway,default=sync" jsonschema_description:"How it sends. One-way: nobody hears of the outcome."`
	RetryTimesWhenSendFailed         int64  `toml:"retryTimesWhenSendFailed" min:"0" max:"100" jsonschema:"default=2" jsonschema_description:"Synchronous attempts after the first, where the client's release retries."`
	RetryTimesWhenSendAsyncFailed    int64  `toml:"retryTimesWhenSendAsyncFailed" min:"0" max:"100" jsonschema:"default=2" jsonschema_description:"Asynchronous attempts after the first, after a timeout and up to client 4.6.1 only."`
	RetryAnotherBrokerWhenNotStoreOK bool   `toml:"retryAnotherBrokerWhenNotStoreOK" jsonschema:"default=false" jsonschema_description:"Whether FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT and SLAVE_NOT_AVAILABLE are retried too: the message is stored then, and is stored again."`
	SendLatencyFaultEnable           bool   `toml:"sendLatencyFaultEnable" jsonschema:"default=false" jsonschema_description:"Whether it leaves brokers alone that were slow or failed, by the client release's rules."`
	Batch                            int64  `toml:"batch" min:"1" max:"10000" jsonschema:"default=1" jsonschema_description:"Messages of one send; of more than 1, body is one message's."`
	Wait                             bool   `toml:"wait" jsonschema:"default=true" jsonschema_description:"The messages' property WAIT (waitStoreMsgOK): whether the answer waits for flush and replica."`
	Ordered                          bool   `toml:"ordered" jsonschema:"default=false" jsonschema_description:"Whether a MessageQueueSelector sends all to one queue; such a send is tried once."`

	Handler string `toml:"handler" one:"rethrow,resend,bak" jsonschema:"enum=rethrow,enum=resend,enum=bak,default=rethrow" jsonschema_description:"What the application does when send has failed: give up, send again later, or to another topic on the same route."`
	Backoff dist   `toml:"backoff" unit:"time" jsonschema:"default=constant(1s)" jsonschema_description:"resend and bak: how long it waits before it sends again."`
	Resends int64  `toml:"resends" min:"1" max:"10000" jsonschema:"default=3" jsonschema_description:"resend and bak: how often, at most."`
}

type bodyTable struct {
	placed
	Share float64 `toml:"share" need:"true" want:"a number of more than 0 and at most 1" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"Its part of the messages."`
	Body  dist    `toml:"body" need:"true" unit:"bytes" jsonschema_description:"Its size."`
}

type loadTable struct {
	placed
	Queue       string   `toml:"queue" need:"true" one:"pull,litePull,heartbeat,endTransaction,ack,adminBroker" jsonschema:"enum=pull,enum=litePull,enum=heartbeat,enum=endTransaction,enum=ack,enum=adminBroker" jsonschema_description:"Which queue."`
	Arrivals    arrivals `toml:"arrivals" jsonschema_description:"When its requests come."`
	Longpolling bool     `toml:"longpolling" jsonschema_description:"pull: consumers instead of arrivals. Each stored message wakes a pull that is parked, as a new request."`
	Consumers   int64    `toml:"consumers" min:"1" max:"10000" jsonschema:"default=1" jsonschema_description:"longpolling: how many pull, each all messages."`
	Bytes       dist     `toml:"bytes" unit:"bytes" jsonschema_description:"What the answer to one takes of machine.nic; with longpolling it is the messages."`
	Service     dist     `toml:"service" need:"true" unit:"time" jsonschema_description:"How long a thread of its pool takes for one."`
	Read        size     `toml:"read" jsonschema:"default=0B" jsonschema_description:"What each reads from the disk, as a pull of messages that are in memory no more does: 64 KiB or 8 messages. Goes with store.kind = \"pagecache\"."`
}

type thresholdTable struct {
	placed
	Expect string `toml:"expect" need:"true" jsonschema:"example=fraction(timeout_clean_queue) < 1%,example=p99(latency) < 50ms,example=goodput >= 40/s" jsonschema_description:"METRIC OPERATOR BOUND. Of no rejected send, < and <= of its period_in_queue hold, > and >= do not; of no accepted send, latency and waiting are undecided."`
}

// placed is embedded in the tables whose place a check needs.
type placed struct{ node *node }

func (p *placed) put(n *node) { p.node = n }

// duration is a length of time with a unit; node is nil where it is absent.
type duration struct {
	node *node
	v    sim.Time
	bad  bool // at fault, and said so
}

// or is the duration, or def where it is absent.
func (d duration) or(def sim.Time) sim.Time {
	if d.node == nil {
		return def
	}
	return d.v
}

// dist is a distribution; node is nil where it is absent, v where it is at
// fault.
type dist struct {
	node *node
	v    variate.Dist
}

// or is the distribution, or def where there is none.
func (x dist) or(def variate.Dist) variate.Dist {
	if x.v == nil {
		return def
	}
	return x.v
}

// arrivals is an arrival process; v is nil where it is at fault.
type arrivals struct {
	node *node
	v    variate.Arrivals
}

// size is a number of bytes with a unit; node is nil where it is absent.
type size struct {
	node *node
	v    int64
	bad  bool
}

// or is the size, or def where it is absent.
func (s size) or(def int64) int64 {
	if s.node == nil {
		return def
	}
	return s.v
}

// byteRate is a size per second.
type byteRate struct{ size }

// rate is a number of arrivals per second.
type rate struct {
	node *node
	v    float64
}

// durationForm is what variate.ParseDuration takes.
const durationForm = `^[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?(ns|us|µs|μs|ms|s|m|min|h)$`

// JSONSchema describes a duration.
func (duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: durationForm, Examples: []any{"208ms", "4.000s", "10m"}}
}

// JSONSchema describes a distribution.
func (dist) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Examples: []any{"250ms", "exponential(mean=60s)", "lognormal(median=12us, p99=90us)"}}
}

// JSONSchema describes an arrival process.
func (arrivals) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Examples: []any{"poisson(rate=43/s)", "deterministic(rate=43/s)", "closed(n=10, think=1s)"}}
}

// sizeForm is what variate.ParseBytes takes.
const sizeForm = `[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)`

// JSONSchema describes a size.
func (size) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^" + sizeForm + "$", Examples: []any{"1KiB", "256MiB"}}
}

// JSONSchema describes a rate of bytes.
func (byteRate) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^" + sizeForm + "/s$", Examples: []any{"120MB/s"}}
}

// JSONSchema describes a rate.
func (rate) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Examples: []any{"43/s", "20000/s"}}
}
