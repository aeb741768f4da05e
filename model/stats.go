package model

import (
	"fmt"

	"brokersim/sim"
	"brokersim/sim/stat"
)

// Stats are the counts and distributions of one replication, of the sends
// from the warm-up on.
type Stats struct {
	Messages MessageCounts
	Attempts AttemptCounts
	Latency  Sample // ns, send to answer, of successful attempts
	Waiting  Sample // ns in the send queue, of attempts that a worker took
	Period   Sample // ms, "period in queue" of swept attempts
	Outcomes outcomeBatches
	Errors   []ErrorLine // the first ErrorLinesMax
	// ErrorsTotal counts all answers with another code than SUCCESS.
	ErrorsTotal int64
	Loads       []LoadCounts
	Late        LateCounts
	Retries     int64           // attempts after the first of their call
	Resends     int64           // calls that a handler made again
	Inversions  int64           // sends stored behind a later one of their producer, in one queue
	Brokers     []AttemptCounts // of each broker, if there are several
	// Recovery is how long after a stall as few sends waited as when it
	// began; Unrecovered counts those that arrivals had to end for.
	Recovery    []sim.Time
	Unrecovered int64
	Waits       *WaitStats // nil: not simulated, so that nobody knows
}

// Sample is a distribution and what its intervals need.
type Sample struct {
	Histogram stat.Histogram
	Batches   stat.BatchMeans
	Clusters  stat.Clusters
}

func (s *Sample) add(v int64) {
	s.Histogram.Add(v)
	s.Batches.Add(v)
	s.Clusters.Add(v)
}

func (s *Stats) add(a *attempt) {
	class := a.class()
	s.Attempts.add(class)
	s.Outcomes.add(class)
	if class == classClientTimeout {
		switch {
		case a.stored():
			s.Late.Stored++
		case a.Outcome.Rejected():
			s.Late.Rejected++
		}
	}
	if class == classSuccess && a.Resp != Absent {
		s.Latency.add(int64(a.Resp - a.Send))
	}
	if a.Deq != Absent {
		s.Waiting.add(int64(a.Deq - a.Enq))
	}
	if a.Clean != Absent {
		s.Period.add(a.PeriodMs)
	}
}

// add enters n messages of one fate: how often they were stored, whether their
// producer was told that they were sent, and whether it is left unsure. A
// timeout doesn't say whether the message was stored.
func (m *MessageCounts) add(stores int32, told, unsure bool, n int64) {
	m.Offered += n
	switch {
	case stores > 1:
		m.StoredMoreThanOnce += n
	case stores == 1 && told:
		m.StoredOnce += n
	case stores == 1:
		m.StoredThoughtFailed += n
	case unsure:
		m.NotStoredUnknown += n
	default:
		m.NotStoredKnown += n
	}
}

func (n *AttemptCounts) add(c AttemptClass) {
	n.Sent++
	if c == classSuccess { // nearly all are
		n.Success++
		return
	}
	*n.of(c)++
}

func (s *Stats) check() error {
	m, n := s.Messages, s.Attempts
	if fates := m.StoredOnce + m.StoredMoreThanOnce + m.NotStoredKnown + m.NotStoredUnknown + m.StoredThoughtFailed; fates != m.Offered {
		return fmt.Errorf("%w: %d messages offered, %d have a fate", ErrBooks, m.Offered, fates)
	}
	var sum int64
	for c := range AttemptClasses {
		sum += *n.of(AttemptClass(c))
	}
	if sum != n.Sent {
		return fmt.Errorf("%w: %d attempts sent, %d have an outcome", ErrBooks, n.Sent, sum)
	}
	return nil
}

// AttemptClass is the outcome of an attempt as its producer sees it: the
// broker's, or client_timeout when the producer gave up first. The order is
// that of AttemptCounts.
type AttemptClass int

// The classes of attempts.
const (
	classSuccess AttemptClass = iota
	classTimeoutCleanQueue
	classPCBusyCleanQueue
	classRejectRequest
	classOverload
	classPCSynchronized
	classFlushDiskTimeout
	classFlushSlaveTimeout
	classSlaveNotAvailable
	classClientTimeout
	classOther

	// AttemptClasses is the number of classes.
	AttemptClasses = int(classOther) + 1
)

var attemptClassNames = [AttemptClasses]string{
	"success", "timeout_clean_queue", "pcbusy_clean_queue", "rejectrequest", "overload", "pc_synchronized",
	"flush_disk_timeout", "flush_slave_timeout", "slave_not_available", "client_timeout", "other",
}

func (c AttemptClass) String() string { return attemptClassNames[c] }

// AttemptClassNames lists the classes as the result JSON spells them.
func AttemptClassNames() []string { return attemptClassNames[:] }

var classOfOutcome = [outcomes]AttemptClass{
	Pending: classOther, OK: classSuccess, TimeoutCleanQueue: classTimeoutCleanQueue, PCBusyCleanQueue: classPCBusyCleanQueue,
	RejectRequest: classRejectRequest, Overload: classOverload, PCSynchronized: classPCSynchronized,
	FlushDiskTimeout: classFlushDiskTimeout, FlushSlaveTimeout: classFlushSlaveTimeout,
	SlaveNotAvailable: classSlaveNotAvailable, Other: classOther,
	NoAnswer: classClientTimeout,
}

func (a *attempt) class() AttemptClass {
	if a.ClientTimedOut {
		return classClientTimeout
	}
	return classOfOutcome[a.Outcome]
}

func (n *AttemptCounts) of(c AttemptClass) *int64 {
	return [...]*int64{
		&n.Success, &n.TimeoutCleanQueue, &n.PCBusyCleanQueue, &n.RejectRequest, &n.Overload, &n.PCSynchronized,
		&n.FlushDiskTimeout, &n.FlushSlaveTimeout, &n.SlaveNotAvailable, &n.ClientTimeout, &n.Other,
	}[c]
}

// Count returns the number of attempts of a class.
func (n AttemptCounts) Count(c AttemptClass) int64 { return *n.of(c) }

func (n *AttemptCounts) merge(o AttemptCounts) {
	n.Sent += o.Sent
	for c := range AttemptClasses {
		*n.of(AttemptClass(c)) += *o.of(AttemptClass(c))
	}
}

func (m *MessageCounts) merge(o MessageCounts) {
	m.Offered += o.Offered
	m.StoredOnce += o.StoredOnce
	m.StoredMoreThanOnce += o.StoredMoreThanOnce
	m.NotStoredKnown += o.NotStoredKnown
	m.NotStoredUnknown += o.NotStoredUnknown
	m.StoredThoughtFailed += o.StoredThoughtFailed
}

// outcomeBatches counts attempts by class in batches of one run, in order of
// their outcomes: sends that fail together are not independent, and the
// interval of their share must know it. When there are as many batches as it
// keeps, neighbours are merged.
type outcomeBatches struct {
	batches [][AttemptClasses]int64
	size    int64
	open    [AttemptClasses]int64
	in      int64
}

const outcomeBatchesMax = 128

func (o *outcomeBatches) add(c AttemptClass) {
	o.open[c]++
	if o.in++; o.in < o.size {
		return
	}
	if o.size == 0 {
		o.size = 1
		o.batches = make([][AttemptClasses]int64, 0, outcomeBatchesMax)
	}
	o.batches = append(o.batches, o.open)
	o.open, o.in = [AttemptClasses]int64{}, 0
	if len(o.batches) == outcomeBatchesMax {
		for i := range outcomeBatchesMax / 2 {
			sum := o.batches[2*i]
			for c, n := range o.batches[2*i+1] {
				sum[c] += n
			}
			o.batches[i] = sum
		}
		o.batches = o.batches[:outcomeBatchesMax/2]
		o.size *= 2
	}
}

// fraction returns the counts of the classes that hold, and of all, by batch.
func (o *outcomeBatches) fraction(of func(AttemptClass) bool) (k, n []int64) {
	for _, batch := range append(o.batches[:len(o.batches):len(o.batches)], o.open) {
		var hit, all int64
		for c, x := range batch {
			all += x
			if of(AttemptClass(c)) {
				hit += x
			}
		}
		k, n = append(k, hit), append(n, all)
	}
	return k, n
}
