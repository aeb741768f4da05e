package model

import "brokersim/sim"

// Observer is told what happens, in time order except Attempt, which comes in
// order of Seq. Any field may be nil. The pointers are valid only during the
// call.
type Observer struct {
	Attempt   func(*Attempt)               // each attempt once it is settled
	Sweep     func(SweepRecord)            // each sweep that answered something, and every one if AllSweeps
	Stall     func(StallRecord)            // each stall when it begins, with its end
	Pause     func(*Pause)                 // each wait inside an append, when the append begins
	Queue     func(t sim.Time, length int) // send queue length after each change
	Lock      func(from, to sim.Time)      // the put lock was held from..to
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
	Where StallWhere
	From  sim.Time
	To    sim.Time
	BySeq int64 // attempt whose append was held, or Absent
}

// StallWhere says what a stall stops.
type StallWhere uint8

const (
	StallAppend  StallWhere = iota // the append, under the put lock
	StallSweep                     // the sweeper thread
	StallProcess                   // the whole broker process: freeze, GC
)

func (w StallWhere) String() string { return [...]string{"append", "sweep", "process"}[w] }
