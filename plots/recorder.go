package plots

import (
	"brokersim/model"
	"brokersim/sim"
)

// Bounds of what a Recorder keeps.
const (
	exactRejected = 200_000
	stallLimit    = 4096
	sweepLimit    = 16384

	timeCols    = 4096 // of the cells of rejected sends: time ...
	sojournK    = 6
	sojournRows = 1920 // ... by sojourn time, us to 4.8 h
	periodCols  = 4096 // period in queue, ms ...
	sizeRows    = 2048 // ... by size of queue

	recentBins    = 8192 // of recentWidth: how far back the first incident can be seen from near
	recentWidth   = sim.Millisecond
	recentSamples = 16384

	// A run this short keeps its idle sweeps too.
	allSweepsUpTo = sim.Minute

	// Rejections (and stalls) within this gap belong to one incident.
	incidentGap = sim.Second
	// Kept from near before and after the incident.
	focusBefore = 2500 * sim.Millisecond
	focusAfter  = 2 * sim.Second
)

// A Recorder keeps what the figures need of one run, in at most some 16 MiB.
// It is not safe for concurrent use.
type Recorder struct {
	duration sim.Time
	last     sim.Time // latest time seen
	counts   [model.Outcomes]int64
	late     int64 // of those OK: their producers had given up
	brokers  int32 // that had sends
	unplaced int64 // sends without a time of sending or of answer

	whole *view
	waits waits
	focus *view // from near, around the first incident; nil if none

	rejected []reject
	beyond   [model.Outcomes]*beyond // those after the first exactRejected, by outcome

	stalls      []model.StallRecord
	stallCount  int64
	sweeps      []sweep
	first       incident
	recent      []recentBin
	recentSends []sample
	sendCount   int64
}

// reject is a rejected send.
type reject struct {
	t        sim.Time
	sojourn  float32 // ms
	periodMs int32
	size     int32
	outcome  model.Outcome
}

// beyond holds the cells of rejected sends of one outcome.
type beyond struct {
	time   *cells // ns by logRow(us)
	period *cells // ms by size; nil if the outcome has none
	count  int64
}

type sweep struct {
	start    sim.Time
	answered int32
}

// incident is the first stretch of rejections, or else of stalls.
type incident struct {
	from, to sim.Time
	known    bool
	rejects  bool
}

type recentBin struct {
	number int64 // since time 0, from 1
	bin
}

// NewRecorder returns a recorder for a run of about this duration.
func NewRecorder(duration sim.Time) *Recorder {
	duration = min(max(duration, sim.Millisecond), sim.Never/2)
	return &Recorder{
		duration:    duration,
		whole:       newView(0, (duration+duration/20)/binCount+1), // a run drains past its duration
		waits:       waits{width: (duration+duration/20)/waitBins + 1, bins: make([]waitBin, waitBins)},
		recent:      make([]recentBin, recentBins),
		recentSends: make([]sample, 0, 1024),
	}
}

// Observer returns the callbacks that feed r.
func (r *Recorder) Observer() model.Observer {
	return model.Observer{
		Attempt: r.attempt, Sweep: r.sweep, Stall: r.stall, Waited: r.waits.add, Queue: r.queue, Lock: r.lock,
		AllSweeps: r.duration <= allSweepsUpTo,
	}
}

func (r *Recorder) attempt(a *model.Attempt) {
	r.counts[a.Outcome]++
	r.brokers = max(r.brokers, a.Broker+1)
	from, to := a.Send, a.Resp
	if from == model.Absent {
		from = a.Arrive
	}
	if to == model.Absent {
		to = max(a.Done, a.Clean)
	}
	if from < 0 || to < 0 {
		r.unplaced++
		return
	}
	r.last = max(r.last, to)
	sojourn := float32(max(to-from, 0).Milliseconds())
	if a.Outcome.Rejected() {
		r.reject(a, from, sojourn)
		r.touch(from, to, true)
		return
	}
	s := sample{t: from, sojourn: sojourn}
	switch {
	case a.Outcome != model.OK:
		s.class = another
	case a.ClientTimedOut:
		s.class = late
		r.late++
	}
	r.whole.cloud.add(s)
	if r.inFocus(from) {
		r.focus.cloud.add(s)
	}
	if len(r.recentSends) < recentSamples {
		r.recentSends = append(r.recentSends, s)
	} else {
		r.recentSends[r.sendCount%recentSamples] = s
	}
	r.sendCount++
}

func (r *Recorder) reject(a *model.Attempt, t sim.Time, sojourn float32) {
	if len(r.rejected) < exactRejected {
		r.rejected = append(r.rejected, reject{
			t: t, sojourn: sojourn, outcome: a.Outcome,
			periodMs: int32(clamp(a.PeriodMs)), size: int32(clamp(a.Qsize)),
		})
		return
	}
	b := r.beyond[a.Outcome]
	if b == nil {
		b = &beyond{time: newCells(timeCols, sojournRows, int64(r.duration+r.duration/20)/timeCols+1, 1)}
		if swept(a.Outcome) {
			b.period = newCells(periodCols, sizeRows, 1, 1)
		}
		r.beyond[a.Outcome] = b
	}
	b.count++
	b.time.add(int64(t), logRow(int64(sojourn*1000), sojournK, sojournRows))
	if b.period != nil {
		b.period.add(clamp(a.PeriodMs), clamp(a.Qsize))
	}
}

func (r *Recorder) queue(t sim.Time, length int) {
	n := int32(clamp(int64(length)))
	r.last = max(r.last, t)
	r.whole.at(t).queue(n)
	r.recentAt(t).queue(n)
	if r.inFocus(t) {
		r.focus.at(t).queue(n)
	}
}

func (r *Recorder) lock(from, to sim.Time) {
	r.last = max(r.last, to)
	r.whole.at(to).lock(from, to)
	r.recentAt(to).lock(from, to)
	if r.inFocus(to) {
		r.focus.at(to).lock(from, to)
	}
}

func (r *Recorder) sweep(s model.SweepRecord) {
	answered := s.PCBusy + s.Timeout
	if len(r.sweeps) < sweepLimit {
		r.sweeps = append(r.sweeps, sweep{start: s.Start, answered: int32(answered)})
	}
	if answered > 0 {
		r.touch(s.Start, s.Start, true)
	}
}

func (r *Recorder) stall(s model.StallRecord) {
	r.stallCount++
	if len(r.stalls) < stallLimit {
		r.stalls = append(r.stalls, s)
	}
	r.touch(s.From, s.To, false)
}

// touch says that something went wrong at from..to, which begins the first
// incident, extends it or comes too late to belong to it. Rejections take the
// place of an earlier stall that rejected nothing.
func (r *Recorder) touch(from, to sim.Time, rejects bool) {
	first := &r.first
	from, to = min(from, sim.Never/2), min(to, sim.Never/2) // room to add to
	joins := first.known && from <= first.to+incidentGap && to >= first.from-incidentGap
	switch {
	case !first.known || rejects && !first.rejects:
		if joins {
			from, to = min(from, first.from), max(to, first.to)
		}
		*first = incident{from: from, to: to, known: true, rejects: rejects}
		r.openFocus(max(from-focusBefore, 0))
	case joins:
		first.from, first.to = min(first.from, from), max(first.to, to)
	}
}

func (r *Recorder) inFocus(t sim.Time) bool {
	return r.focus != nil && t >= r.focus.origin && t <= r.first.to+focusAfter
}

// openFocus begins the view from near with what recent memory holds.
func (r *Recorder) openFocus(origin sim.Time) {
	origin -= origin % recentWidth
	r.focus = newView(origin, recentWidth)
	end := int64(min(r.last, r.first.to+focusAfter) / recentWidth)
	for number := max(int64(origin/recentWidth), end-recentBins); number <= end; number++ {
		if b := &r.recent[number%recentBins]; b.number == number+1 {
			r.focus.at(sim.Time(number) * recentWidth).merge(&b.bin)
		}
	}
	for i := range r.recentSends {
		s := r.recentSends[(r.sendCount+int64(i))%int64(len(r.recentSends))]
		if r.inFocus(s.t) {
			r.focus.cloud.add(s)
		}
	}
}

func (r *Recorder) recentAt(t sim.Time) *bin {
	number := int64(t / recentWidth)
	b := &r.recent[number%recentBins]
	if b.number != number+1 {
		*b = recentBin{number: number + 1}
	}
	return &b.bin
}

// rejectedCount counts the rejected sends of the run.
func (r *Recorder) rejectedCount() (n int64) {
	for _, o := range rejections {
		n += r.counts[o]
	}
	return n
}

func (r *Recorder) sent() (n int64) {
	for _, c := range r.counts {
		n += c
	}
	return n
}

// horizon is the end of the run: its duration, or when the last answer came.
func (r *Recorder) horizon() sim.Time { return max(r.duration, r.last) }

// swept reports whether the sweeper gives this answer, with period and size.
func swept(o model.Outcome) bool {
	return o == model.TimeoutCleanQueue || o == model.PCBusyCleanQueue
}

// rejections are the rejecting outcomes, in the order of legends.
var rejections = []model.Outcome{
	model.TimeoutCleanQueue, model.PCBusyCleanQueue, model.RejectRequest, model.Overload, model.PCSynchronized,
}

// clamp fits a count into an int32; Absent becomes 0.
func clamp(n int64) int64 { return min(max(n, 0), 1<<31-1) }
