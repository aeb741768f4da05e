package model

import (
	"slices"

	"brokersim/sim"
)

// Observer is told what happens, in time order except Attempt, which comes in
// order of Seq. Any field may be nil. The pointers are valid only during the
// call.
type Observer struct {
	Attempt   func(*Attempt)               // each attempt once it is settled
	Sweep     func(SweepRecord)            // each sweep that answered something, and every one if AllSweeps
	Stall     func(StallRecord)            // each stall when it begins, with its end
	Pause     func(*Pause)                 // each wait inside an append, when the append begins
	Waited    func(*Wait)                  // each send that leaves the send queue, what it waited for there
	Queue     func(t sim.Time, length int) // length of the send queue after each change, of all brokers together
	Lock      func(from, to sim.Time)      // the put lock was held from..to
	Commit    func(t sim.Time, end int64)  // the transient pool has committed up to that offset
	AllSweeps bool
}

// SweepRecord is one run of the sweeper (BrokerFastFailure).
type SweepRecord struct {
	N       int64
	Nominal sim.Time // when the fixed-rate schedule wanted it
	Start   sim.Time
	End     sim.Time
	Qlen    int // send queue at the start
	PCBusy  int // answered, send queue
	Timeout int // answered, send queue
}

// StallRecord is one stall as it really was.
type StallRecord struct {
	Where  StallWhere
	From   sim.Time
	To     sim.Time
	BySeq  int64 // attempt whose append (flush, ...) was held, or Absent
	Broker int   // of the route, from 0
}

// StallWhere says what a stall stops.
type StallWhere uint8

const (
	StallAppend  StallWhere = iota // the append, under the put lock
	StallSweep                     // the sweeper thread
	StallProcess                   // the whole broker process: SIGSTOP, a machine that is moved
	StallGC                        // likewise: a collection, or another safepoint
	StallSteal                     // likewise: the hypervisor runs somebody else
	StallCPU                       // nothing, but threads of others keep cores busy
	StallFlush                     // a flush of SYNC_FLUSH
	StallNetwork                   // the connection to a slave
	StallReplica                   // a slave
	StallCommit                    // a commit of the transient pool
	stallWheres
)

var stallWhereNames = [stallWheres]string{"append", "sweep", "process", "gc", "steal", "cpu", "flush", "network", "replica", "commit"}

func (w StallWhere) String() string { return stallWhereNames[w] }

// StallWheres lists what can stall.
func StallWheres() []string { return stallWhereNames[:] }

// ParseStallWhere is the inverse of String.
func ParseStallWhere(s string) (StallWhere, bool) {
	i := slices.Index(stallWhereNames[:], s)
	return StallWhere(i), i >= 0
}

// Freezes reports whether the whole process stands still.
func (w StallWhere) Freezes() bool { return w == StallProcess || w == StallGC || w == StallSteal }
