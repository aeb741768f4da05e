package probe

import (
	"errors"
	"fmt"
	"math"
	"time"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// Options are what to measure. DefaultOptions gives the usual.
type Options struct {
	Rate     float64       // appends per second
	Body     variate.Dist  // bytes
	Duration time.Duration // of a run
	Flush    FlushMode
	Kind     Kind
	FileSize int64 // bytes of a commit log file
	Runs     int
	Seed     uint64 // of instants and sizes
	Keep     bool   // leave the stores behind
}

// FlushMode is how appends reach the disk.
type FlushMode uint8

// The modes. All are of the flush thread, but the last, which appends wait for.
const (
	Woken FlushMode = iota // by each append, as up to 4.9.0
	Timed                  // each flushCommitLogInterval, as from 4.9.1 on
	Sync                   // group commit
)

// FlushModes and Kinds are their names.
var (
	FlushModes = []string{"woken", "timed", "sync"}
	Kinds      = []string{"mmap", "pool"}
)

func (m FlushMode) String() string { return FlushModes[m] }

// Kind is where an append copies its record to.
type Kind uint8

// The kinds: the mapping of the file, or a buffer of the transient pool.
const (
	Mmap Kind = iota
	Pool
)

func (k Kind) String() string { return Kinds[k] }

// DefaultOptions measures for half a minute, three runs, what 4.3.2 does.
func DefaultOptions() Options {
	body, _ := variate.ParseDist("uniform(min=128B, max=2KiB)", variate.Bytes)
	return Options{Rate: 10000, Body: body, Duration: 10 * time.Second, FileSize: 32 << 20, Runs: 3, Seed: 1}
}

// Bounds. Each sample takes about 120 bytes of memory.
const (
	samplesMost  = 4_000_000
	samplesLeast = 10
	bodyMost     = 4<<20 - 1024 // maxMessageSize less what frames it
	timeMost     = int64(24 * time.Hour)
	offsetMost   = int64(1) << 50
	rateMost     = 1e6
	runsMost     = 100
	fileLeast    = 1 << 20
)

// Validate returns all that is wrong with the options.
func (o *Options) Validate() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !(o.Rate > 0 && o.Rate <= rateMost) {
		bad("rate: want more than 0/s, at most %g/s, got %v/s", rateMost, o.Rate)
	}
	if o.Duration < 10*time.Millisecond || o.Duration > time.Hour {
		bad("duration: want 10ms to 1h, got %v", o.Duration)
	}
	if n := o.Rate * o.Duration.Seconds(); len(faults) == 0 && !(n >= samplesLeast && n <= samplesMost) {
		bad("rate and duration: want %d to %d appends a run, got %.0f", samplesLeast, samplesMost, n)
	}
	switch {
	case o.Body == nil:
		bad("body: want a size")
	case !(o.Body.Quantile(0) >= 1):
		bad("body: want at least 1 byte, got %v", o.Body)
	case !(o.Body.Quantile(1) <= bodyMost):
		bad("body: want at most %d bytes, got up to %.0f from %v", bodyMost, o.Body.Quantile(1), o.Body)
	case o.FileSize < 4*int64(o.Body.Quantile(1)):
		bad("file size: want room for 4 of the largest bodies, got %d", o.FileSize)
	}
	if o.Flush > Sync || o.Kind > Pool {
		bad("flush or kind: no such: %d, %d", o.Flush, o.Kind)
	}
	if o.FileSize < fileLeast || o.FileSize > math.MaxInt32 || o.FileSize%4096 != 0 {
		bad("file size: want %d to %d bytes, whole pages of 4096, got %d", fileLeast, math.MaxInt32, o.FileSize)
	}
	if o.Runs < 1 || o.Runs > runsMost {
		bad("runs: want 1 to %d, got %d", runsMost, o.Runs)
	}
	return errors.Join(faults...)
}

// plan is what a run is to do: drawn before it begins.
type plan struct {
	at      []int64 // ns
	bodies  []int32 // bytes
	body    []byte  // as long as the longest
	written int64   // bytes of all records
	longest int64   // record
}

// Of a record of ours beside its body: 91 and the topic.
const (
	topic    = "brokersim_probe"
	envelope = 91 + int64(len(topic))
)

func (o *Options) plan(run int) (*plan, error) {
	arrivals, err := variate.NewPoisson(o.Rate)
	if err != nil {
		return nil, err
	}
	streams := sim.Streams{Seed: o.Seed, Replication: uint64(run)}
	process := arrivals.Start(streams.Stream("arrivals"))
	sizes := streams.Stream("body")
	p := &plan{}
	for at, ok := process.Next(); ok && at < sim.Time(o.Duration); at, ok = process.Next() {
		size := max(1, variate.DrawInt(o.Body, sizes))
		p.at = append(p.at, int64(at))
		p.bodies = append(p.bodies, int32(size))
		p.written += size + envelope
		p.longest = max(p.longest, size)
	}
	p.body = make([]byte, p.longest)
	for i := range p.body {
		p.body[i] = byte('a' + i%26)
	}
	p.longest += envelope
	return p, nil
}

// DiskBytes is what the runs need at most at a time.
func (o *Options) DiskBytes() int64 {
	perRun := int64(o.Rate*o.Duration.Seconds()*1.1*(o.Body.Mean()+float64(envelope+20))) + 3*o.FileSize + 16<<20
	if o.Keep {
		return perRun * int64(o.Runs)
	}
	return perRun
}
