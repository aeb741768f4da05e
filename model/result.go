package model

// Result is what a run gives, whatever clock it ran on: the contract of
// `--json` and result.json. It holds no wall time, path, host name or number
// of workers: the same scenario, seed and version give the same bytes.
type Result struct {
	Schema         string          `json:"schema"` // "brokersim.result/1"
	Version        string          `json:"version"`
	Scenario       ScenarioRef     `json:"scenario"`
	Seed           uint64          `json:"seed"`
	Replications   int             `json:"replications"`
	Fingerprint    string          `json:"fingerprint"` // 16 hex digits
	VirtualSeconds float64         `json:"virtual_seconds"`
	Partial        bool            `json:"partial,omitempty"` // stopped early: what was computed so far
	Messages       MessageCounts   `json:"messages"`
	Attempts       AttemptCounts   `json:"attempts"`
	LatencyMs      Summary         `json:"latency_ms"`         // send to answer, successful attempts
	WaitingMs      Summary         `json:"waiting_ms"`         // enqueued to taken, attempts taken by a worker
	PeriodMs       Summary         `json:"period_in_queue_ms"` // of swept attempts
	Errors         []ErrorLine     `json:"errors"`
	Thresholds     []ThresholdMark `json:"thresholds"`
	Warnings       []string        `json:"warnings"`
	Queues         []LoadCounts    `json:"queues,omitempty"` // the other swept queues, where a scenario loads them
}

// ScenarioRef names the scenario a result came from.
type ScenarioRef struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // of the scenario's text and overrides
}

// MessageCounts are the fates of messages; they add up to Offered.
type MessageCounts struct {
	Offered             int64 `json:"offered"`
	StoredOnce          int64 `json:"stored_once"`
	StoredMoreThanOnce  int64 `json:"stored_more_than_once"`
	NotStoredKnown      int64 `json:"not_stored_known"`
	NotStoredUnknown    int64 `json:"not_stored_unknown"`
	StoredThoughtFailed int64 `json:"stored_thought_failed"`
}

// AttemptCounts are the outcomes of attempts as their producers saw them;
// they add up to Sent.
type AttemptCounts struct {
	Sent              int64 `json:"sent"`
	Success           int64 `json:"success"`
	TimeoutCleanQueue int64 `json:"timeout_clean_queue"`
	PCBusyCleanQueue  int64 `json:"pcbusy_clean_queue"`
	RejectRequest     int64 `json:"rejectrequest"`
	Overload          int64 `json:"overload"`
	PCSynchronized    int64 `json:"pc_synchronized"`
	FlushDiskTimeout  int64 `json:"flush_disk_timeout"`
	FlushSlaveTimeout int64 `json:"flush_slave_timeout"`
	SlaveNotAvailable int64 `json:"slave_not_available"`
	ClientTimeout     int64 `json:"client_timeout"`
	Other             int64 `json:"other"`
}

// Summary describes a distribution; quantiles and mean carry an interval
// where one can be estimated. Fields are null when there is no observation.
type Summary struct {
	Count int64     `json:"count"`
	Mean  *Estimate `json:"mean"`
	Min   *float64  `json:"min"`
	P50   *Estimate `json:"p50"`
	P90   *Estimate `json:"p90"`
	P99   *Estimate `json:"p99"`
	P999  *Estimate `json:"p999"`
	Max   *float64  `json:"max"`
}

// Estimate is a value with its 95 % interval; Lo and Hi are nil where there
// is none, with the reason in Why.
type Estimate struct {
	Value float64  `json:"value"`
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
	Why   string   `json:"no_interval,omitempty"`
}

// ErrorLine is one rejected attempt as its producer saw it.
type ErrorLine struct {
	AtMs   float64 `json:"at_ms"`
	Code   int     `json:"code"`
	Remark string  `json:"remark"`
}

// ThresholdMark is one [[threshold]] and how it came out.
type ThresholdMark struct {
	Expect string   `json:"expect"`
	Value  *float64 `json:"value"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
	Passed *bool    `json:"passed"` // null: undecided, the interval straddles the bound
}
