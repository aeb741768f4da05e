package probe

import (
	"fmt"

	"brokersim/sim"
)

// Slow is what an append must take to be asked for its cause.
const Slow = 100 * sim.Microsecond

// Run is one run of measured appends.
type Run struct {
	Schema      string            `json:"schema"`
	Number      int               `json:"number"` // from 1
	Settings    Settings          `json:"settings"`
	Environment Environment       `json:"environment"`
	Before      Load              `json:"before"`
	After       Load              `json:"after"`
	Cost        Cost              `json:"measuring_cost_ns"`
	Summary     Summary           `json:"summary"`
	Histograms  map[string]string `json:"hdr"`
	Warnings    []string          `json:"warnings"`
	Files       []NewFile         `json:"new_files"`
	IdleWakes   []int64           `json:"idle_wake_ns"`
	Kernel      []KernelState     `json:"kernel"`
	FlushesLost int64             `json:"flushes_lost"` // there was no room for

	Samples []Sample `json:"-"`
	Flushes []Flush  `json:"-"`
}

// schema is that of run.json.
const schema = "brokersim.probe/1"

// Settings are what was asked for.
type Settings struct {
	Rate        float64 `json:"rate_per_s"`
	Body        string  `json:"body"`
	BodyMin     int64   `json:"body_min_bytes"` // of what was drawn
	BodyMax     int64   `json:"body_max_bytes"`
	DurationNs  int64   `json:"duration_ns"`
	Flush       string  `json:"flush"` // timed, woken or sync
	Kind        string  `json:"kind"`  // mmap or pool
	FileSize    int64   `json:"file_size_bytes"`
	Runs        int     `json:"runs"`
	Seed        uint64  `json:"seed"`
	Release     string  `json:"release"`
	FlushMs     int64   `json:"flush_interval_ms"`
	MemoryLimit int64   `json:"memory_limit_bytes"`
}

// Sample is one append. Instants are ns since the run began.
type Sample struct {
	Intended int64 // when it should have begun
	Start    int64
	Request  int64 // the put lock is asked for
	Lock     int64
	Append   int64 // the file is there
	Appended int64
	Unlock   int64
	Done     int64 // answered
	End      int64 // the store's threads are woken
	Roll     int64 // ns of Lock to Append
	Offset   int64 // in the log
	Bytes    int32 // of the record
	Cause    Cause
}

// Part is one of the parts that the time of an append is divided into.
type Part struct {
	Name string
	Of   func(*Sample) int64 // ns
}

// Parts add up to Sojourn.
var Parts = []Part{
	{"waiting", func(s *Sample) int64 { return s.Start - s.Intended }},
	{"encode", func(s *Sample) int64 { return s.Request - s.Start }},
	{"lock", func(s *Sample) int64 { return s.Lock - s.Request }},
	{"roll", func(s *Sample) int64 { return s.Roll }},
	{"append", (*Sample).Hold},
	{"flush", func(s *Sample) int64 { return s.Done - s.Unlock }},
}

// Hold is how long the append held the put lock, without a roll.
func (s *Sample) Hold() int64 { return s.Unlock - s.Lock - s.Roll }

// Sojourn is the time from the intended instant to the answer.
func (s *Sample) Sojourn() int64 { return s.Done - s.Intended }

// check refuses times that run backwards.
func (s *Sample) check() error {
	times := [...]int64{0, s.Intended, s.Start, s.Request, s.Lock, s.Append, s.Appended, s.Unlock, s.Done, s.End, timeMost}
	for i := range times[1:] {
		if times[i+1] < times[i] {
			return fmt.Errorf("%s: want at least %d, got %d", append([]string{""}, SampleColumns...)[i+1], times[i], times[i+1])
		}
	}
	if s.Roll < 0 || s.Roll > s.Append-s.Lock || s.Offset < 0 || s.Offset > offsetMost || s.Bytes < 1 {
		return fmt.Errorf("roll, offset or bytes out of bounds: %d, %d, %d", s.Roll, s.Offset, s.Bytes)
	}
	return nil
}

// Cause is what the kernel says of a slow append.
type Cause uint8

// The causes.
const (
	CauseNone      Cause = iota // it was not slow
	CauseRan                    // it was never switched off: time went in the kernel, or the host took the processor
	CausePreempted              // something else ran
	CauseSlept                  // it waited for something: a page, the writeback, the dirty limit
	CauseUnknown                // the kernel no longer tells
	causes
)

var causeNames = [causes]string{"", "ran", "preempted", "slept", "unknown"}

func (c Cause) String() string { return causeNames[c] }

// Flush is one sync of the flush thread.
type Flush struct {
	From  int64 // offset of the log
	To    int64
	Start int64 // ns since the run began
	End   int64
}

// NewFile is a file that the allocating thread made ready.
type NewFile struct {
	Base  int64 `json:"base"`
	Start int64 `json:"start_ns"` // may be before the run
	End   int64 `json:"end_ns"`
}

// KernelState is what the kernel said at an instant of the run.
type KernelState struct {
	At              int64 `json:"at_ns"`
	Dirty           int64 `json:"dirty_pages"`
	Writeback       int64 `json:"writeback_pages"`
	DirtyLimit      int64 `json:"dirty_limit_pages"` // nr_dirty_threshold
	BackgroundLimit int64 `json:"background_limit_pages"`
}

// Throttling reports whether dirty pages stand above the level from which the
// kernel makes their writers pause: halfway between its two limits
// (dirty_freerun_ceiling of mm/page-writeback.c).
func (k *KernelState) Throttling() bool {
	return k.DirtyLimit > 0 && k.Dirty+k.Writeback > (k.DirtyLimit+k.BackgroundLimit)/2
}

// Cost is what measuring takes, in ns: of reading the clock, and of a whole
// turn of the loop whose append does nothing.
type Cost struct {
	Clock     float64 `json:"clock_mean"`
	LoopP50   int64   `json:"loop_p50"`
	LoopP99   int64   `json:"loop_p99"`
	LoopP999  int64   `json:"loop_p999"`
	LoopMax   int64   `json:"loop_max"`
	LoopTurns int64   `json:"loop_turns"`
}

// Load is what the machine had done by then, from counters of the kernel.
type Load struct {
	CPUBusyNs   int64 `json:"cpu_busy_ns"` // of all processors
	StealNs     int64 `json:"cpu_steal_ns"`
	OwnNs       int64 `json:"cpu_own_ns"`        // of it, this process and those that it has waited for
	PSICPUNs    int64 `json:"psi_cpu_some_ns"`   // 0 where the kernel keeps none
	PSIIONs     int64 `json:"psi_io_some_ns"`    // likewise
	PSIMemoryNs int64 `json:"psi_mem_some_ns"`   // likewise
	WrittenKiB  int64 `json:"pages_written_kib"` // to all disks: pgpgout
	AtNs        int64 `json:"at_ns"`
}

// Environment is the machine, as far as it matters.
type Environment struct {
	OS                 string `json:"os"`
	Arch               string `json:"arch"`
	Kernel             string `json:"kernel"`
	GoVersion          string `json:"go"`
	CPUs               int    `json:"cpus"`
	MemoryKiB          int64  `json:"memory_kib"`
	FileSystem         string `json:"file_system"`
	MountOptions       string `json:"mount_options"`
	Device             string `json:"device"`
	StablePages        bool   `json:"stable_pages"`
	THP                string `json:"transparent_hugepage"`
	ShmemTHP           string `json:"shmem_transparent_hugepage"`
	DirtyRatio         int64  `json:"vm_dirty_ratio"`
	DirtyBytes         int64  `json:"vm_dirty_bytes"`
	BackgroundRatio    int64  `json:"vm_dirty_background_ratio"`
	BackgroundBytes    int64  `json:"vm_dirty_background_bytes"`
	ExpireCentisecs    int64  `json:"vm_dirty_expire_centisecs"`
	WritebackCentisecs int64  `json:"vm_dirty_writeback_centisecs"`
}
