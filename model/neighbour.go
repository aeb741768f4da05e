package model

import (
	"brokersim/sim"
	"brokersim/sim/variate"
)

// Neighbour is another program on the broker's machine that is at work in
// bursts. What it writes and reads needs a page cache to go through; the rest
// goes with any store.
type Neighbour struct {
	Name     string
	Broker   int          // which of the route's, from 0: it is on that one's machine
	At       sim.Time     // of the first burst; Absent: drawn from Every
	Every    variate.Dist // ns from one beginning to the next; nil: one burst
	For      variate.Dist // ns, length of a burst
	Rate     int64        // bytes per second that all its tasks together write, unless they are throttled; 0: none
	Reads    int64        // bytes per second that they read from the disk, if it keeps up; 0: none
	ReadSize int64        // bytes of one read
	Tasks    int
	Cores    int // threads that keep a core busy each
	Slows    int // percent by which an append is slower, for want of memory bandwidth
}

// writes and computes tell what a neighbour is to the page cache, and to the
// processors.
func (n *Neighbour) writes() bool   { return n.Rate > 0 || n.Reads > 0 }
func (n *Neighbour) computes() bool { return n.Cores > 0 || n.Slows > 0 }

func (n *Neighbour) check(bad func(format string, args ...any)) {
	switch {
	case n.For == nil:
		bad("want the length of a burst")
	case n.At < Absent || n.At > sim.MaxTime || n.At == Absent && n.Every == nil:
		bad("want at, every or both")
	case n.Every != nil && !(n.Every.Mean() >= 1e6):
		bad("every: want a mean of at least 1ms, got %v", n.Every)
	case n.Rate < 0 || n.Rate > diskMost || n.Reads < 0 || n.Reads > diskMost:
		bad("want to write and read 0 to %d bytes/s, got %d and %d", diskMost, n.Rate, n.Reads)
	case n.Reads > 0 && (n.ReadSize < 512 || n.ReadSize > 1<<30):
		bad("want reads of 512 to %d bytes, got %d", 1<<30, n.ReadSize)
	case n.writes() && (n.Tasks < 1 || n.Tasks > tasksMost):
		bad("want 1 to %d tasks, got %d", tasksMost, n.Tasks)
	case n.Cores < 0 || n.Cores > tasksMax || n.Slows < 0 || n.Slows > slowsMost:
		bad("want 0 to %d cores and appends 0 to %d percent slower, got %d and %d", tasksMax, slowsMost, n.Cores, n.Slows)
	}
}

const (
	tasksMost = 256
	slowsMost = 10_000
	diskMost  = int64(1) << 40
)

// bursts are those of a neighbour: whoever asks with the same streams sees the
// same ones.
type bursts struct {
	spec   *Neighbour
	every  sampler
	length sampler
	start  sim.Time // of the next burst, or Never
	stop   sim.Time // of the burst under way, or Never
}

func newBursts(spec *Neighbour, streams sim.Streams) bursts {
	b := bursts{
		spec:   spec,
		every:  newSampler(spec.Every, streams.Stream("neighbour "+spec.Name+" every")),
		length: newSampler(spec.For, streams.Stream("neighbour "+spec.Name+" for")),
		start:  spec.At,
		stop:   sim.Never,
	}
	if b.start == Absent {
		b.start = b.every.draw()
	}
	return b
}

// begin is the beginning of a burst. The next one comes after its end.
func (b *bursts) begin(now sim.Time) {
	b.stop = now + max(1, b.length.draw())
	b.start = sim.Never
	if b.spec.Every != nil {
		b.start = now
		for b.start < b.stop {
			b.start += max(1, b.every.draw())
		}
	}
}

// initNeighbours schedules those that take the processors or the memory's
// bandwidth.
func (b *broker) initNeighbours(streams sim.Streams) {
	for i := range b.cfg.Neighbours {
		spec := &b.cfg.Neighbours[i]
		if spec.Broker == int(b.id>>brokerShift) && spec.computes() {
			n := newBursts(spec, streams)
			b.eng.At(n.start, evNeighbour, b.id|uint64(len(b.computing)))
			b.computing = append(b.computing, n)
		}
	}
}

// neighbour is the beginning or the end of a burst.
func (b *broker) neighbour(i int) {
	n := &b.computing[i]
	now := b.eng.Now()
	if now >= n.stop {
		n.stop = sim.Never
		b.cpu.long -= n.spec.Cores
		b.slows -= n.spec.Slows
	} else {
		n.begin(now)
		b.cpu.long += n.spec.Cores
		b.slows += n.spec.Slows
	}
	if b.store != nil {
		b.store.slows = b.slows
	}
	if next := min(n.start, n.stop); next < sim.Never {
		b.eng.At(next, evNeighbour, b.id|uint64(i))
	}
}

// slowed is what something takes that is so many percent slower.
func slowed(takes sim.Time, percent int) sim.Time {
	if percent == 0 {
		return takes
	}
	return takes + takes/100*sim.Time(percent) + takes%100*sim.Time(percent)/100
}
