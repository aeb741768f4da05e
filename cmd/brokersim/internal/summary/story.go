package summary

import (
	"cmp"
	"maps"
	"slices"

	"brokersim/model"
	"brokersim/sim"
)

// Story watches a run and keeps what is worth telling of it, in bounded memory.
// The zero value, with the warm-up, is ready.
type Story struct {
	Warmup sim.Time // rejections of sends before it are not told

	kinds    [model.Outcomes]kind // by outcome, but OK
	rejected int64
	last     model.Attempt // of the rejected, the last to be answered

	// An incident is a stretch of rejections; incidentGap without one and an
	// empty queue end it.
	incidents int64
	judged    sim.Time // the last rejection was decided then
	first     spell    // the first incident
	emptied   recent   // when the queue became empty
	pending   bool     // it has not since judged
	recovered sim.Time
	resumed   model.Attempt // the first send stored after judged, if Done > judged

	longest   int // the queue at its longest
	longestAt sim.Time
	drained   sim.Time // when it was empty after that, or 0

	stalls    stalls
	timeouts  timeouts
	latencies latencies
	others    map[int32]int64 // sends with the outcome OTHER that their producers know, by code
}

const incidentGap = sim.Second

// kind is what is kept of the answers of one outcome.
type kind struct {
	count int64
	first model.Attempt
}

// spell is the end of an incident: the last rejection, and when the queue was
// empty again, or Absent.
type spell struct{ last, recovered sim.Time }

// recent holds the latest instants of a kind.
type recent struct {
	ring [1 << 12]sim.Time
	n    int
}

func (r *recent) add(t sim.Time) {
	r.ring[r.n%len(r.ring)] = t
	r.n++
}

// since is the first kept instant at or after t.
func (r *recent) since(t sim.Time) (sim.Time, bool) {
	for i := max(0, r.n-len(r.ring)); i < r.n; i++ {
		if at := r.ring[i%len(r.ring)]; at >= t {
			return at, true
		}
	}
	return 0, false
}

// stall is a stall with what the modelled store says of it.
type stall struct {
	model.StallRecord
	by string // the mechanism that held the append up for longest; "": not a modelled one
	of sim.Time
}

// stalls are the first few, the one that led to the first rejection, the longest
// and how many there were.
type stalls struct {
	first   []stall
	cause   stall
	caused  bool
	longest stall
	append  sim.Time            // all append stalls together
	made    map[string]sim.Time // the parts of them that a modelled store made, by mechanism
	count   [model.StallCommit + 1]int64
}

const stallsTold = 3

// Observer returns the callbacks that feed s.
func (s *Story) Observer() model.Observer {
	return model.Observer{Attempt: s.attempt, Stall: s.stall, Pause: s.pause, Queue: s.queue}
}

func (s *Story) attempt(a *model.Attempt) {
	if a.ClientTimedOut && a.Send >= s.Warmup {
		s.timeouts.add(a)
	}
	switch {
	case a.Outcome == model.OK:
		if a.Send >= s.Warmup && !a.ClientTimedOut && a.Resp >= a.Send {
			s.latencies.add(a)
		}
		if s.pending && a.Done > s.judged && s.resumed.Done <= s.judged {
			s.resumed = *a
		}
		return
	case a.Outcome == model.Pending || a.Send < s.Warmup:
		return
	}
	k := &s.kinds[a.Outcome]
	if k.count == 0 || answered(a) < answered(&k.first) {
		k.first = *a
	}
	k.count++
	if a.Outcome == model.Other && !a.ClientTimedOut {
		if s.others == nil {
			s.others = map[int32]int64{}
		}
		s.others[a.Code]++
	}
	if !a.Outcome.Rejected() {
		return
	}
	if s.rejected == 0 || answered(a) >= answered(&s.last) {
		s.last = *a
	}
	s.rejected++
	s.judge(cmp.Or(present(a.Clean), present(a.Done), present(a.Enq), a.Arrive))
}

// judge notes that a send was rejected at t by the broker's clock. Sends are
// reported in order of their numbers, which is not that of t.
func (s *Story) judge(t sim.Time) {
	if s.incidents > 0 && t <= s.judged {
		return
	}
	switch {
	case s.incidents == 0:
		s.incidents = 1
	case !s.pending && t > s.recovered && t > s.judged+incidentGap:
		if s.incidents == 1 {
			s.first = spell{s.judged, s.recovered}
		}
		s.incidents++
	}
	s.judged = t
	empty, ok := s.emptied.since(t)
	s.recovered, s.pending = empty, !ok
}

func (s *Story) queue(t sim.Time, length int) {
	if length > s.longest {
		s.longest, s.longestAt, s.drained = length, t, 0
	}
	if length > 0 {
		return
	}
	if s.drained == 0 {
		s.drained = t
	}
	s.emptied.add(t)
	if s.pending {
		s.recovered, s.pending = t, false
	}
}

func (s *Story) stall(record model.StallRecord) {
	st, r := &s.stalls, stall{StallRecord: record}
	st.count[r.Where]++
	if r.Where == model.StallAppend {
		st.append += r.To - r.From
	}
	if len(st.first) < stallsTold {
		st.first = append(st.first, r)
	}
	if r.To-r.From > st.longest.To-st.longest.From {
		st.longest = r
	}
	if s.incidents == 0 {
		st.cause, st.caused = r, true
	}
}

// pause names what held up the append whose stall was told just before.
func (s *Story) pause(p *model.Pause) {
	st := &s.stalls
	if st.made == nil {
		st.made = map[string]sim.Time{}
	}
	st.made[mechanism(p.Mechanism)] += p.To - p.From
	held := []*stall{&st.cause, &st.longest}
	for i := range st.first {
		held = append(held, &st.first[i])
	}
	for _, h := range held {
		within := h.Where == model.StallAppend && h.BySeq == p.BySeq && h.From <= p.From && p.To <= h.To
		if within && p.To-p.From > h.of {
			h.by, h.of = mechanism(p.Mechanism), p.To-p.From
		}
	}
}

// mainly is the mechanism that made the better part of the append stalls; "":
// none, or they came from the scenario.
func (s *stalls) mainly() string {
	for _, by := range slices.Sorted(maps.Keys(s.made)) {
		if 2*s.made[by] > s.append {
			return by
		}
	}
	return ""
}

// mechanism puts the name of what made an append wait in words.
func mechanism(name string) string {
	switch name {
	case model.PauseThrottled:
		return "dirty throttling"
	case model.PauseStablePages:
		return "a flush (stable pages)"
	}
	return name
}

func (s *stalls) total() (n int64) {
	for _, c := range s.count {
		n += c
	}
	return n
}

// answered is when a failed send's producer has the answer; of a lost answer,
// when the message was stored.
func answered(a *model.Attempt) sim.Time {
	return cmp.Or(present(a.Resp), present(a.Clean), present(a.Done), present(a.Unlock), a.Arrive)
}

// present is t, or 0 where it did not happen.
func present(t sim.Time) sim.Time { return max(t, 0) }
