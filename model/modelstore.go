package model

import (
	"brokersim/sim"
	"brokersim/sim/variate"
)

// modelStore is the store that works by mechanism: where in its file a record
// goes decides what it touches, and the flush thread, what takes the processor
// or the disk away, and the page cache go on beside it. Stores with a profile
// or a page cache have one; others draw Store.Append and nothing else.
//
// The put lock is held from begin to end of an append, so one is under way at
// most, and nothing here needs an event of its own.
type modelStore struct {
	profile  *Profile
	flush    flushThread
	cache    *pageCache // nil: none
	fileSize int64

	plain  sampler // without a profile
	ladder [boundaries][phases]sampler
	roll   sampler
	stalls []mechanism
	busy   [resources]busy // what stall processes take away

	slows  int  // percent by which appends are slower
	rolled bool // the append to come is the first in its file
	pauses []Pause
	seq    int64

	starved bool // an append's thread got no page from the page cache
}

// mechanism is a Mechanism at work.
type mechanism struct {
	spec   *Mechanism
	next   sim.Time // Never: by position
	every  sampler
	lasts  sampler
	stream *sim.Stream // of the share
}

type busy struct {
	from, until sim.Time
	by          string
}

// Pause is one wait inside an append, by the name of its mechanism.
type Pause struct {
	Mechanism string
	From, To  sim.Time
	BySeq     int64
}

// The mechanisms of a page cache.
const (
	PauseThrottled   = "balance_dirty_pages"
	PauseStablePages = "stable pages"
	PauseJournal     = "the file system's journal"
)

// newModelStore returns the modelled store of a configuration, nil where an
// append is one draw.
func newModelStore(cfg *Config, traits *Traits, broker int, streams sim.Streams) *modelStore {
	c := &cfg.Store
	if c.Profile == nil && c.PageCache == nil {
		return nil
	}
	s := &modelStore{
		profile:  c.Profile,
		fileSize: int64(cfg.Broker.MappedFileSizeCommitLog),
		plain:    newSampler(c.Append, streams.Stream("append")),
	}
	s.flush = *newFlushThread(cfg, traits, streams)
	flushTakes := c.Flush
	if p := c.Profile; p != nil {
		for b := range boundaries {
			for ph := range phases {
				table, _ := p.rung(b, ph)
				s.ladder[b][ph] = newSampler(table.Takes, streams.Stream("append "+b.String()+" "+ph.String()))
			}
		}
		s.roll = newSampler(p.Roll.Takes, streams.Stream("roll"))
		for i := range p.Stalls {
			s.stalls = append(s.stalls, newMechanism(&p.Stalls[i], streams))
		}
		if f, _ := p.flush(s.flush.mode); c.PageCache == nil {
			flushTakes = f.Takes
		}
	}
	s.flush.takes = newSampler(flushTakes, streams.Stream("flush"))
	if c.PageCache != nil {
		s.cache = newPageCache(cfg, broker, streams)
		s.flush.cache = s.cache
	}
	return s
}

func newMechanism(spec *Mechanism, streams sim.Streams) mechanism {
	p := mechanism{
		spec:   spec,
		next:   sim.Never,
		every:  newSampler(spec.Every, streams.Stream("mechanism "+spec.Name+" every")),
		lasts:  newSampler(spec.Takes, streams.Stream("mechanism "+spec.Name+" takes")),
		stream: streams.Stream("mechanism " + spec.Name + " share"),
	}
	if spec.Every != nil {
		p.next = p.every.draw()
	}
	return p
}

// begin is the append of a record by a send thread: when it ends. What held it
// up is in pauses until the next one. A record of no bytes is one that found
// no room.
func (s *modelStore) begin(now sim.Time, worker int, at, length, seq int64) sim.Time {
	s.pauses, s.seq = s.pauses[:0], seq
	s.elapse(now)
	s.flush.advance(now)
	phase := s.flush.phase()

	end := now
	if s.rolled {
		s.rolled = false
		end += s.roll.draw()
	}
	if length == 0 {
		return s.held(now, end, true)
	}
	if s.profile == nil {
		end += slowed(s.plain.draw(), s.slows)
	} else {
		offset := at % s.fileSize
		end += s.cost(CrossedBy(offset, length), phase, length)
		end = s.crossing(offset, length, end)
	}
	end = s.held(now, end, true)
	if s.cache != nil {
		end = s.dirty(worker, at, length, end)
	}
	return end
}

// buffer is an append to a buffer of the transient pool: memory of its own, of
// which no page is missing, clean or under writeback.
func (s *modelStore) buffer(now sim.Time, length, seq int64) sim.Time {
	s.pauses, s.seq = s.pauses[:0], seq
	s.elapse(now)
	s.rolled = false
	switch {
	case length == 0:
		return now
	case s.profile == nil:
		return s.held(now, now+slowed(s.plain.draw(), s.slows), false)
	default:
		return s.held(now, now+s.copying(length), false)
	}
}

// commit is the transient pool's write of what its buffer has, from one offset
// to another, to the file: page by page what an append would have met there.
// end is when it is over if nothing of that takes time.
func (s *modelStore) commit(now, end sim.Time, from, to int64) sim.Time {
	s.pauses, s.seq = s.pauses[:0], Absent
	s.elapse(now)
	s.flush.advance(now)
	phase := s.flush.phase()
	if s.profile != nil {
		for at := from; at < to; at = at/pageSize*pageSize + pageSize {
			end += s.ladder[CrossedBy(at%s.fileSize, 1)][phase].draw()
		}
		end = s.crossing(from%s.fileSize, to-from, end)
	}
	end = s.held(now, end, true)
	if s.cache != nil {
		end = s.dirty(0, from, to-from, end)
	}
	return end
}

// cost is what an append takes that nothing holds up.
func (s *modelStore) cost(b Boundary, phase Phase, length int64) sim.Time {
	return s.copying(length) + s.ladder[b][phase].draw()
}

// copying is what a record's bytes take.
func (s *modelStore) copying(length int64) sim.Time {
	ns := s.profile.PerRecord + float64(s.profile.PerByte*float64(length))
	return slowed(sim.Time(variate.Round(ns)), s.slows)
}

// crossing adds the stalls that come by position.
func (s *modelStore) crossing(offset, length int64, end sim.Time) sim.Time {
	for i := range s.stalls {
		p := &s.stalls[i]
		if p.spec.Each == 0 || !crosses(offset, length, p.spec.Each) || !s.flush.allows(p.spec.While) {
			continue
		}
		if p.stream.Float64() < p.spec.Share {
			end = s.pause(p.spec.Name, end, end+p.lasts.draw())
		}
	}
	return end
}

// allows reports whether the condition of a stall holds.
func (f *flushThread) allows(while string) bool {
	return while == "" || f.flushing == (while == "inside")
}

// first is the stall process that is due first.
func (s *modelStore) first() (p *mechanism) {
	for i := range s.stalls {
		if p == nil || s.stalls[i].next < p.next {
			p = &s.stalls[i]
		}
	}
	return p
}

// take lets a stall process take its resource away, behind what has it.
func (s *modelStore) take(p *mechanism) (from, until sim.Time) {
	from = p.next
	s.flush.advance(from)
	p.next += max(1, p.every.draw())
	if !s.flush.allows(p.spec.While) {
		return from, from
	}
	r := &s.busy[p.spec.On]
	begin := r.from // of what queues up
	if from > r.until {
		begin = from
	}
	from = max(from, r.until)
	*r = busy{begin, from + p.lasts.draw(), p.spec.Name}
	return from, r.until
}

// elapse lets pass what happened up to now while nothing was appended.
func (s *modelStore) elapse(now sim.Time) {
	for p := s.first(); p != nil && p.next <= now; p = s.first() {
		s.take(p)
	}
}

// held is the end of work that would last from now to end, without what holds
// it up: it stands still as long as the processor is taken away, or, where it
// needs that, the disk.
func (s *modelStore) held(now, end sim.Time, disk bool) sim.Time {
	still := now
	for on, r := range s.busy {
		if r.until > still && r.from < end && (disk || Resource(on) != OnDisk) {
			from := max(still, r.from)
			end += s.pause(r.by, from, r.until) - from
			still = r.until
		}
	}
	for p := s.first(); p != nil && p.next <= end; p = s.first() {
		name, on := p.spec.Name, p.spec.On
		from, until := s.take(p)
		if from = max(from, still); until > from && (disk || on != OnDisk) {
			s.pause(name, from, until)
			end += until - from
			still = until
		}
	}
	return end
}

// pause notes a wait and gives its end.
func (s *modelStore) pause(mechanism string, from, to sim.Time) sim.Time {
	s.pauses = append(s.pauses, Pause{mechanism, from, to, s.seq})
	return to
}

// dirty is the page cache's part: the record's pages become dirty, one after
// the other, and each may cost its thread a wait.
func (s *modelStore) dirty(worker int, at, length int64, now sim.Time) sim.Time {
	s.flush.advance(now)
	s.cache.advance(now)
	first, last := at/pageSize, (at+length-1)/pageSize
	for s.cache.cfg.StablePages && s.flush.flushing && s.flush.target%pageSize != 0 && first == s.flush.target/pageSize {
		// folio_wait_writeback: the flush writes its last page last.
		now = s.pause(PauseStablePages, now, s.flush.until)
		s.flush.advance(now)
		s.cache.advance(now)
	}
	if at == s.cache.dirtyTo && at%pageSize != 0 {
		first++ // dirty since the append before
	}
	if first <= last && s.cache.journal > now {
		now = s.pause(PauseJournal, now, s.cache.journal)
		s.flush.advance(now)
		s.cache.advance(now)
	}
	for page := first; page <= last; page++ {
		now = s.throttle(s.cache.writer(worker), now)
	}
	s.cache.dirtyTo = at + length
	return now
}

// throttledMost bounds the wait for one page. What is slower than that is a
// disk that does not keep up with the scenario, nor ever will.
const throttledMost = sim.Hour

// throttle is a thread's balance_dirty_pages after one page more.
func (s *modelStore) throttle(d *dirtier, now sim.Time) sim.Time {
	s.cache.brokerDirty++
	s.cache.dirtied(d, 1)
	if !s.cache.quotaReached(d) {
		return now
	}
	for began := now; ; {
		ticks := s.cache.balance(d, now)
		if ticks == 0 {
			return now
		}
		if now-began > throttledMost {
			s.starved = true
			return now
		}
		now = s.pause(PauseThrottled, now, s.cache.wake(now, ticks))
		s.flush.advance(now)
		s.cache.advance(now)
		if !d.retry {
			return now
		}
	}
}
