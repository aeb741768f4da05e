package plots

import (
	"brokersim/model"
	"brokersim/plots/numeral"
	"brokersim/sim"
)

// Input is what the figures of one run are made from.
type Input struct {
	Name        string // of the scenario: incident-208ms
	Title       string // of the scenario: The 208 ms incident
	Seed        uint64
	Release     string // of the broker
	WaitLimitMs int64  // waitTimeMillsInSendQueue
	BusyLimitMs int64  // osPageCacheBusyTimeOutMills; 0: its line is left out
	Duration    sim.Time
	Partial     bool // the run was stopped early
	Recorder    *Recorder

	// Latency is of successful sends, call to answer; Waiting of sends that a
	// worker took, enqueued to taken. Points are in order of P.
	Latency, Waiting []Point
}

// Point is a point of a percentile spectrum: the fraction P in [0, 1] of sends
// took at most Ms milliseconds.
type Point struct{ P, Ms float64 }

// subtitle names the run.
func (in *Input) subtitle() string {
	s := in.Name
	if in.Title != "" {
		s = in.Title
	}
	s += "  ·  seed " + uitoa(in.Seed) + "  ·  release " + in.Release + "  ·  " + numeral.Duration(in.horizon()) + " simulated"
	if in.Partial {
		s += "  ·  stopped early"
	}
	return s
}

// A limit of more than 11 days is none, and would make an axis too long to read.
const limitCeilingMs = 1_000_000_000

// limits returns the wait and busy limits in ms, 0 where there is none.
func (in *Input) limits() (wait, busy float64) {
	if in.WaitLimitMs > 0 && in.WaitLimitMs < limitCeilingMs {
		wait = float64(in.WaitLimitMs)
	}
	if in.BusyLimitMs > 0 && in.BusyLimitMs < limitCeilingMs {
		busy = float64(in.BusyLimitMs)
	}
	return wait, busy
}

// horizon is the end of the run on time axes.
func (in *Input) horizon() sim.Time {
	if in.Recorder == nil {
		return max(in.Duration, sim.Millisecond)
	}
	return max(in.Duration, in.Recorder.horizon())
}

// window is the stretch of time that a figure shows.
type window struct {
	from, to sim.Time
	part     bool // not the whole run
}

// Around the incident so much is shown as well; an incident that takes more
// than wholeShare of the run is not worth a window.
const (
	windowMargin = 500 * sim.Millisecond
	windowGrain  = 50 * sim.Millisecond
	wholeShare   = 0.6
)

// window chooses the first incident's neighbourhood, or the whole run.
func (in *Input) window() window {
	r := in.Recorder
	whole := window{to: in.horizon()}
	if !r.first.known {
		return whole
	}
	from, to := r.first.from, r.first.to
	for _, s := range r.stalls {
		if s.From <= to && s.To >= from {
			from, to = min(from, s.From), max(to, s.To)
		}
	}
	to = r.recovery(to)
	w := window{from: max(from-windowMargin, 0), to: whole.to, part: true}
	w.from -= w.from % windowGrain
	if to < whole.to-windowMargin-windowGrain {
		w.to = to + windowMargin + windowGrain - to%windowGrain
	}
	if float64(w.to-w.from) >= wholeShare*float64(whole.to) {
		return whole
	}
	return w
}

// recovery is when the queue is next empty after t, as far as it was seen from
// near; else t.
func (r *Recorder) recovery(t sim.Time) sim.Time {
	s := &r.focus.bins
	for i := max(int((t-s.origin)/s.width), 0); i < len(s.b); i++ {
		if s.b[i].changes > 0 && s.b[i].qmin == 0 {
			return max(t, s.origin+sim.Time(i+1)*s.width)
		}
	}
	return t
}

// span says which part of the run is shown.
func (in *Input) span(w window) string {
	if !w.part {
		return "whole run"
	}
	return seconds(w.from, 2) + " to " + seconds(w.to, 2)
}

// viewFor returns the view from near if it reaches back to the window's begin.
func (r *Recorder) viewFor(w window) *view {
	if w.part && r.focus.origin <= w.from {
		return r.focus
	}
	return r.whole
}

// samples visits the kept accepted sends that were sent within the window.
func (r *Recorder) samples(w window, visit func(sample)) {
	for _, s := range r.viewFor(w).samples {
		if s.t >= w.from && s.t <= w.to {
			visit(s)
		}
	}
}

// firstRejected is the rejected send that was answered first.
func (r *Recorder) firstRejected() (first reject, ok bool) {
	for _, a := range r.rejected {
		if !ok || a.answered() < first.answered() {
			first, ok = a, true
		}
	}
	return first, ok
}

func (a reject) answered() float64 { return a.t.Milliseconds() + float64(a.sojourn) }

// outcomeEntries are the legend's outcomes that occurred, with their counts.
func (r *Recorder) outcomeEntries() (legend []entry) {
	legend = append(legend, markEntry(outcomeStyle(model.OK), "stored "+numeral.Count(r.counts[model.OK]-r.late)))
	if r.late > 0 {
		legend = append(legend, markEntry(outcomeStyle(model.NoAnswer), "stored, timed out at the producer "+numeral.Count(r.late)))
	}
	var status int64
	for _, o := range []model.Outcome{model.FlushDiskTimeout, model.FlushSlaveTimeout, model.SlaveNotAvailable, model.Other, model.Pending} {
		status += r.counts[o]
	}
	if status > 0 {
		legend = append(legend, markEntry(outcomeStyle(model.FlushDiskTimeout), "other answers "+numeral.Count(status)))
	}
	for _, o := range rejections {
		if r.counts[o] > 0 {
			legend = append(legend, markEntry(outcomeStyle(o), o.String()+" "+numeral.Count(r.counts[o])))
		}
	}
	return legend
}
