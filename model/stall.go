package model

import (
	"cmp"
	"slices"

	"brokersim/sim"
)

// stallSet holds the stalls of one place (append, sweep, flush, ...) and says how long
// what begins there lasts.
type stallSet struct {
	first   sim.Time    // nothing stalls before that
	once    []onceStall // by at, those passed removed
	windows []window    // by from
	next    int         // windows before it are over
	recurs  []stallSource
}

type onceStall struct {
	at     sim.Time
	length sampler
}

type window struct{ from, until sim.Time }

// halt is a stall that nobody runs into: it comes to the process by itself.
type halt struct {
	stallSource
	where StallWhere
	tasks int
}

// stallSource is a recurring stall.
type stallSource struct {
	at     sim.Time // next
	every  sampler
	once   bool
	length sampler
	until  sim.Time // Absent: length
}

type stallEnd struct {
	at      sim.Time
	stalled bool
	served  bool // a stall of a given length, not only windows
}

func (b *broker) initStalls(broker int, streams sim.Streams) {
	b.appendStalls = stallsAt(b.cfg, broker, StallAppend, 0, streams)
	b.sweeper.stalls = stallsAt(b.cfg, broker, StallSweep, 0, streams)
	b.halts = haltsOf(b.cfg, broker, streams)
	for i := range b.halts {
		b.eng.At(b.halts[i].at, evHalt, b.id|uint64(i))
	}
}

// stallsAt are the configured stalls of one place in a broker; where that is a
// slave or the way to it, of that slave.
func stallsAt(cfg *Config, broker int, where StallWhere, slave int, streams sim.Streams) (set stallSet) {
	for i := range cfg.Stalls {
		spec := &cfg.Stalls[i]
		if spec.Broker != broker || spec.Where != where || spec.Slave != 0 && spec.Slave != slave {
			continue
		}
		source := newStallSource(spec, i, streams)
		switch {
		case spec.Every != nil:
			set.recurs = append(set.recurs, source)
		case spec.Until != Absent:
			set.windows = append(set.windows, window{source.at, spec.Until})
		default:
			set.once = append(set.once, onceStall{source.at, source.length})
		}
	}
	set.sort()
	return set
}

// haltsOf are the stalls of a whole broker.
func haltsOf(cfg *Config, broker int, streams sim.Streams) (halts []halt) {
	for i := range cfg.Stalls {
		spec := &cfg.Stalls[i]
		if spec.Broker == broker && (spec.Where.Freezes() || spec.Where == StallCPU) {
			halts = append(halts, halt{newStallSource(spec, i, streams), spec.Where, spec.Tasks})
		}
	}
	return halts
}

func newStallSource(spec *Stall, i int, streams sim.Streams) stallSource {
	s := stallSource{
		at:     spec.At,
		every:  newSampler(spec.Every, streams.Stream("stall "+itoa(i)+" every")),
		once:   spec.Every == nil,
		length: newSampler(spec.For, streams.Stream("stall "+itoa(i)+" for")),
		until:  spec.Until,
	}
	if spec.Every != nil && s.at == Absent {
		s.at = s.every.draw()
	}
	return s
}

func (s *stallSet) sort() {
	slices.SortStableFunc(s.once, func(a, b onceStall) int { return cmp.Compare(a.at, b.at) })
	slices.SortStableFunc(s.windows, func(a, b window) int { return cmp.Compare(a.from, b.from) })
}

// end is when something that begins now and would last to base really ends.
func (s *stallSet) end(now, base sim.Time) stallEnd {
	if now < s.first {
		return stallEnd{at: base}
	}
	return s.stalled(now, base)
}

// stalled is end where something may stall.
//
// A stall of a given length is served in full by the first that begins at or
// after its time; a window holds what begins inside until it closes. A
// recurring stall that would begin during a stall of its own doesn't.
func (s *stallSet) stalled(now, base sim.Time) stallEnd {
	end := stallEnd{at: base}
	for len(s.once) > 0 && s.once[0].at <= now {
		end.at += s.once[0].length.draw()
		end.stalled, end.served = true, true
		s.once = s.once[1:]
	}
	for i := range s.recurs {
		r := &s.recurs[i]
		if r.at > now {
			continue
		}
		end.at += r.length.draw()
		end.stalled, end.served = true, true
		r.skipTo(end.at)
	}
	for s.next < len(s.windows) && s.windows[s.next].until <= now {
		s.next++
	}
	for i := s.next; i < len(s.windows) && s.windows[i].from <= now; i++ {
		if w := s.windows[i]; w.until > now {
			end.at = max(end.at, w.until)
			end.stalled = true
		}
	}
	s.first = s.earliest()
	return end
}

// earliest is when the next may be met, or has begun.
func (s *stallSet) earliest() sim.Time {
	first := sim.Never
	if len(s.once) > 0 {
		first = s.once[0].at
	}
	if s.next < len(s.windows) {
		first = min(first, s.windows[s.next].from)
	}
	for i := range s.recurs {
		first = min(first, s.recurs[i].at)
	}
	return first
}

// skipTo advances to the first occurrence after t.
func (r *stallSource) skipTo(t sim.Time) {
	if r.every.dist == nil {
		r.at += (max(0, t-r.at)/r.every.constant + 1) * r.every.constant
		return
	}
	for r.at <= t {
		r.at += max(1, r.every.draw())
	}
}

// end is that of a freeze that begins now.
func (r *stallSource) end(now sim.Time) sim.Time {
	if r.until != Absent {
		return r.until
	}
	return now + r.length.draw()
}

// thaw is how its threads get going after a freeze: all are woken at once, and
// each has a core when it has one (Costs.Thaw). Who is first decides who gets
// what has grown old meanwhile, the send thread or the sweeper.
type thaw struct {
	lag     sampler
	threads sampler  // lag of all others, as they are many or few
	sweeper sim.Time // after the end of this freeze
	codec   sim.Time
}

// thawed is when a thread does what became due in the freeze at hand. The
// sweeper and the codec threads, which have much to catch up with, go on from
// there one after the other.
func (b *broker) thawed(kind sim.Kind) sim.Time {
	switch kind {
	case evSweep, evSweepNext:
		b.sweeper.catchesUp = true
		return b.frozen + b.thaw.sweeper
	case evArrive, evReach, evOffer, evLoadArrive, evPull:
		return b.frozen + b.thaw.codec
	default:
		return b.frozen + b.thaw.threads.draw()
	}
}

// halt begins a freeze, or keeps cores busy for a while.
func (b *broker) halt(i int) {
	h := &b.halts[i]
	now := b.eng.Now()
	end := h.end(now)
	if b.obs.Stall != nil {
		b.obs.Stall(StallRecord{h.where, now, end, Absent, b.index()})
	}
	if h.where == StallCPU {
		b.cpu.long += h.tasks
		b.eng.At(end, evHaltEnds, b.id|uint64(i))
	} else {
		b.freeze(haltCause(h.where), end)
	}
	if !h.once {
		h.skipTo(end)
		b.eng.At(h.at, evHalt, b.id|uint64(i))
	}
}

// freeze stops every thread of the broker: what becomes due meanwhile happens
// once it has ended and the thread has a core; of one thread, in the order in
// which it became due. What passes outside the broker (a stalled append, the
// network) goes on.
func (b *broker) freeze(cause Cause, end sim.Time) {
	b.frozen = max(b.frozen, end)
	b.Cluster.frozen = max(b.Cluster.frozen, end)
	b.thaw.sweeper, b.thaw.codec = b.thaw.lag.draw(), b.thaw.lag.draw()
	now := b.eng.Now()
	b.meter.freeze(cause, now, end)
	b.stalls()
	b.stalled(now, end, b.thaw.codec+1)
}
