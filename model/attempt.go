package model

import "brokersim/sim"

// Absent marks a time or count of an Attempt that did not happen.
const Absent = -1

// Outcome is the broker's answer to an attempt.
type Outcome uint8

// The outcomes, spelt by String as the requests CSV spells them.
const (
	Pending Outcome = iota
	OK
	TimeoutCleanQueue
	PCBusyCleanQueue
	RejectRequest
	Overload
	PCSynchronized
	FlushDiskTimeout
	FlushSlaveTimeout
	SlaveNotAvailable
	Other
	NoAnswer // the broker lost the answer: its producer times out
	outcomes

	// Outcomes is their number.
	Outcomes = int(outcomes)
)

var outcomeNames = [outcomes]string{
	"", "OK", "TIMEOUT_CLEAN_QUEUE", "PCBUSY_CLEAN_QUEUE", "REJECTREQUEST", "OVERLOAD", "PC_SYNCHRONIZED",
	"FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE", "OTHER",
	"NO_ANSWER",
}

func (o Outcome) String() string { return outcomeNames[o] }

// Rejected reports whether the broker refused the attempt: nothing was stored.
func (o Outcome) Rejected() bool { return o >= TimeoutCleanQueue && o <= PCSynchronized }

// Attempt is one send from the producer's call to its answer: a row of the
// requests CSV. Times are ns of the run's clock, Absent where it did not
// happen.
type Attempt struct {
	Seq      int64
	Send     sim.Time // producer, just before the call
	Arrive   sim.Time // codec thread, on entry of rejectRequest
	CreateMs int64    // createTimestamp: whole wall-clock ms since the wall ms of time 0
	Enq      sim.Time
	QlenEnq  int32 // size of queue just after the offer
	Deq      sim.Time
	Worker   int32 // 1..n
	LockReq  sim.Time
	Lock     sim.Time
	App0     sim.Time
	App1     sim.Time // Absent though it had the lock: there was no file to append to
	Unlock   sim.Time
	Done     sim.Time // answer written: by the send thread, or by whoever the release has do it
	Clean    sim.Time // removed by the sweeper
	Sweep    int64    // number of that sweep, from 1
	Resp     sim.Time // producer has the answer
	Code     int32
	Outcome  Outcome
	PeriodMs int64 // the remark's "period in queue"
	Qsize    int64 // the remark's "size of queue"

	Producer int32 // index in Config.Producers
	Message  int64 // number among its producer's, from 0: what is sent again has the same
	Broker   int32 // which of the route's, from 0

	Body           int64 // bytes, of all messages of a batch
	ClientTimedOut bool  // the producer gave up before the answer
}

// ParseOutcome is the inverse of String for a settled outcome.
func ParseOutcome(s string) (Outcome, bool) {
	for o := OK; o < outcomes; o++ {
		if outcomeNames[o] == s {
			return o, true
		}
	}
	return Pending, false
}
