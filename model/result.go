package model

import "encoding/json"

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
	LatencyMs      Summary         `json:"latency_ms"`            // send to answer, successful attempts
	WaitingMs      Summary         `json:"waiting_ms"`            // enqueued to taken, attempts taken by a worker
	PeriodMs       Summary         `json:"period_in_queue_ms"`    // of swept attempts
	Errors         []ErrorLine     `json:"errors"`                // of replication 1, the first ErrorLinesMax
	ErrorsTotal    int64           `json:"errors_total"`          // of replication 1
	Attribution    *Attribution    `json:"attribution,omitempty"` // nil: a live run, which can't tell
	Recovery       *Recovery       `json:"recovery,omitempty"`    // nil: no stall long enough, or a live run
	Thresholds     []ThresholdMark `json:"thresholds"`
	Warnings       []string        `json:"warnings"`
	Queues         []LoadCounts    `json:"queues,omitempty"`         // the other swept queues, where a scenario loads them
	Late           LateCounts      `json:"client_timeouts,omitzero"` // of those in Attempts, what became of them at the broker
	Retries        int64           `json:"retries,omitempty"`        // attempts after the first of their call, by the client
	Resends        int64           `json:"resends,omitempty"`        // calls made again by the application's handler
	Inversions     int64           `json:"inversions,omitempty"`     // stored behind a later message of the same producer and queue
	Brokers        []AttemptCounts `json:"brokers,omitempty"`        // attempts at each, where the route has several
	AtRisk         *AtRisk         `json:"at_risk,omitempty"`        // what a crash would lose, where that is followed
}

// ScenarioRef names the scenario a result came from.
type ScenarioRef struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // of the scenario's text and overrides
}

// MessageCounts are the fates of messages; they add up to Offered. A message is
// what an application wants stored: one call of send with its attempts, and the
// calls that a handler makes for it again; a batch counts as all that it holds.
//
// Stored once means that the producer knows it; by an answer, or by having sent
// it one-way. Not stored is known if every attempt was answered.
type MessageCounts struct {
	Offered             int64 `json:"offered"`
	StoredOnce          int64 `json:"stored_once"`
	StoredMoreThanOnce  int64 `json:"stored_more_than_once"`
	NotStoredKnown      int64 `json:"not_stored_known"`
	NotStoredUnknown    int64 `json:"not_stored_unknown"`
	StoredThoughtFailed int64 `json:"stored_thought_failed"`
}

// AttemptCounts are the outcomes of attempts as their producers saw them, or of
// one-way ones, of which they see nothing, as the broker did; they add up to
// Sent.
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

// LateCounts are attempts whose producers had given up when the broker was done
// with them.
type LateCounts struct {
	Stored   int64 `json:"stored"`
	Rejected int64 `json:"rejected"`
}

// Summary describes a distribution. Its pointers are nil when there is no
// observation. In JSON each figure is a plain number (or null); the bounds of
// the 95 % intervals stand beside them under "lo" and "hi", and under
// "no_interval" why a figure has none.
type Summary struct {
	Count int64
	Mean  *Estimate
	Min   *float64
	P50   *Estimate
	P90   *Estimate
	P99   *Estimate
	P999  *Estimate
	Max   *float64
}

// Estimate is a value with its 95 % interval; Lo and Hi are nil where there
// is none, with the reason in Why.
type Estimate struct {
	Value  float64
	Lo, Hi *float64
	Why    string
}

type summaryJSON struct {
	Count      int64       `json:"count"`
	Mean       *float64    `json:"mean"`
	Min        *float64    `json:"min"`
	P50        *float64    `json:"p50"`
	P90        *float64    `json:"p90"`
	P99        *float64    `json:"p99"`
	P999       *float64    `json:"p999"`
	Max        *float64    `json:"max"`
	Lo         *boundsJSON `json:"lo,omitempty"`
	Hi         *boundsJSON `json:"hi,omitempty"`
	NoInterval *whyJSON    `json:"no_interval,omitempty"`
}

type boundsJSON struct {
	Mean *float64 `json:"mean,omitempty"`
	P50  *float64 `json:"p50,omitempty"`
	P90  *float64 `json:"p90,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
	P999 *float64 `json:"p999,omitempty"`
}

type whyJSON struct {
	Mean string `json:"mean,omitempty"`
	P50  string `json:"p50,omitempty"`
	P90  string `json:"p90,omitempty"`
	P99  string `json:"p99,omitempty"`
	P999 string `json:"p999,omitempty"`
}

// MarshalJSON writes the form described at Summary.
func (s Summary) MarshalJSON() ([]byte, error) {
	j := summaryJSON{Count: s.Count, Min: s.Min, Max: s.Max}
	var lo, hi boundsJSON
	var why whyJSON
	put := func(e *Estimate, value, lo, hi **float64, why *string) {
		if e != nil {
			*value, *lo, *hi, *why = &e.Value, e.Lo, e.Hi, e.Why
		}
	}
	put(s.Mean, &j.Mean, &lo.Mean, &hi.Mean, &why.Mean)
	put(s.P50, &j.P50, &lo.P50, &hi.P50, &why.P50)
	put(s.P90, &j.P90, &lo.P90, &hi.P90, &why.P90)
	put(s.P99, &j.P99, &lo.P99, &hi.P99, &why.P99)
	put(s.P999, &j.P999, &lo.P999, &hi.P999, &why.P999)
	if lo != (boundsJSON{}) {
		j.Lo, j.Hi = &lo, &hi
	}
	if why != (whyJSON{}) {
		j.NoInterval = &why
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Summary) UnmarshalJSON(text []byte) error {
	var j summaryJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	var lo, hi boundsJSON
	var why whyJSON
	if j.Lo != nil {
		lo = *j.Lo
	}
	if j.Hi != nil {
		hi = *j.Hi
	}
	if j.NoInterval != nil {
		why = *j.NoInterval
	}
	get := func(value, lo, hi *float64, why string) *Estimate {
		if value == nil {
			return nil
		}
		return &Estimate{*value, lo, hi, why}
	}
	*s = Summary{
		Count: j.Count, Min: j.Min, Max: j.Max,
		Mean: get(j.Mean, lo.Mean, hi.Mean, why.Mean),
		P50:  get(j.P50, lo.P50, hi.P50, why.P50),
		P90:  get(j.P90, lo.P90, hi.P90, why.P90),
		P99:  get(j.P99, lo.P99, hi.P99, why.P99),
		P999: get(j.P999, lo.P999, hi.P999, why.P999),
	}
	return nil
}

// Attribution says what sends waited for in the send queue: disk, collector,
// lock, load or replication. Causes are spelt as Cause.String spells them, and
// only those that occurred are there.
type Attribution struct {
	Rejected WaitShares `json:"rejected"`          // those that a sweep took out
	Refused  *Refusals  `json:"refused,omitempty"` // those that did not wait
	Slow     WaitShares `json:"slow"`              // the slowest 1 % of those that a thread took, or a little more
}

// WaitShares are the waiting times of some sends by cause; they add up to the
// waiting time, the shares to 1.
type WaitShares struct {
	Count      int64              `json:"count"`
	AtLeastMs  *float64           `json:"at_least_ms,omitempty"` // of each; of the slow ones alone
	WaitingMs  map[string]float64 `json:"waiting_ms"`
	Share      map[string]float64 `json:"share"`
	Lo         map[string]float64 `json:"lo,omitempty"` // of the share
	Hi         map[string]float64 `json:"hi,omitempty"`
	NoInterval string             `json:"no_interval,omitempty"` // why
}

// Refusals are REJECTREQUEST, OVERLOAD and PC_SYNCHRONIZED: by what the holder
// of the put lock was at, and for OVERLOAD by what the head of the full queue had
// waited for most.
type Refusals struct {
	Count int64            `json:"count"`
	While map[string]int64 `json:"while"`
}

// Recovery is how long after the end of a stall of 10 ms or more the send queue
// was empty, or as long as when the stall began. Stalls that came before that
// are one with it.
type Recovery struct {
	Ms           Summary `json:"ms"`
	NotRecovered int64   `json:"not_recovered,omitempty"` // not before the arrivals ended
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
