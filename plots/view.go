package plots

import "brokersim/sim"

const (
	binCount   = 8192
	cloudCols  = 2048
	cloudK     = 4 // rows to the octave: 2^4
	cloudRows  = 512
	cloudAll   = 4096 // kept whatever their cells
	cloudLimit = 40_000
)

// view is what is kept of a stretch of time that begins at origin: bins, and
// a thinned cloud of accepted sends.
type view struct {
	bins
	cloud
}

func newView(origin, width sim.Time) *view {
	return &view{
		bins:  bins{origin: origin, width: width, b: make([]bin, binCount)},
		cloud: cloud{from: origin, seen: newCells(cloudCols, int(classes)*cloudRows, int64(width)*binCount/cloudCols, 1)},
	}
}

// bin sums up a short time: queue lengths after changes in it, and the longest
// of the lock holds that ended in it.
type bin struct {
	changes          int32
	qmin, qmax, last int32
	held, heldTo     sim.Time
}

func (b *bin) queue(length int32) {
	b.merge(&bin{changes: 1, qmin: length, qmax: length, last: length})
}

func (b *bin) lock(from, to sim.Time) {
	if to-from > b.held {
		b.held, b.heldTo = to-from, to
	}
}

// merge adds a later bin.
func (b *bin) merge(o *bin) {
	if o.changes > 0 {
		if b.changes == 0 {
			b.qmin, b.qmax = o.qmin, o.qmax
		}
		b.qmin, b.qmax, b.last = min(b.qmin, o.qmin), max(b.qmax, o.qmax), o.last
		b.changes = max(b.changes, 1)
	}
	if o.held > b.held {
		b.held, b.heldTo = o.held, o.heldTo
	}
}

// bins is a row of bins of one width from origin on. The width doubles when
// time runs beyond the last.
type bins struct {
	origin, width sim.Time
	b             []bin
}

// at returns the bin of t >= origin.
func (s *bins) at(t sim.Time) *bin {
	for int((t-s.origin)/s.width) >= len(s.b) {
		half := len(s.b) / 2
		for i := range half {
			s.b[i] = s.b[2*i]
			s.b[i].merge(&s.b[2*i+1])
		}
		clear(s.b[half:])
		s.width *= 2
	}
	return &s.b[(t-s.origin)/s.width]
}

// sample is an accepted send.
type sample struct {
	t       sim.Time // when the producer sent it
	sojourn float32  // ms
	class   class
}

// class is what became of an accepted send.
type class uint8

const (
	stored  class = iota
	late          // stored, but its producer had given up
	another       // answered neither SUCCESS nor a rejection
	classes
)

// cloud is a thinned set of samples: all while they are few, then the first in
// each cell of the grid.
type cloud struct {
	from    sim.Time
	seen    *cells
	samples []sample
	thinned bool
}

func (c *cloud) add(s sample) {
	xw := c.seen.xw
	isNew := c.see(s)
	if c.thinned && !isNew {
		return
	}
	c.samples = append(c.samples, s)
	if c.thinned && c.seen.xw > xw || !c.thinned && len(c.samples) > cloudAll {
		c.thin()
	}
	for len(c.samples) > cloudLimit {
		c.seen.xw *= 2
		c.thin()
	}
}

func (c *cloud) see(s sample) bool {
	row := logRow(int64(s.sojourn*1000), cloudK, cloudRows) + int64(s.class)*cloudRows
	return c.seen.add(int64(s.t-c.from), row)
}

// thin keeps the first sample of each cell.
func (c *cloud) thin() {
	c.thinned = true
	clear(c.seen.bits)
	kept := c.samples[:0]
	for _, s := range c.samples {
		if c.see(s) {
			kept = append(kept, s)
		}
	}
	c.samples = kept
}
