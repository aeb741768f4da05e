package variate

import (
	"fmt"

	"brokersim/sim"
)

// Trace replays recorded instants of arrivals.
type Trace struct {
	path string // of the file, or empty
	at   []sim.Time
}

// NewTrace returns arrivals at these instants, which it keeps: at least one,
// none negative, none before the one before it.
func NewTrace(at []sim.Time) (Trace, error) { return TraceFile{}.Resolve(at) }

// Instants returns the instants in order; the caller must not change them.
func (a Trace) Instants() []sim.Time { return a.at }

// Rate returns the arrivals per second between the first and the last, or 0
// where they are all at one instant.
func (a Trace) Rate() float64 {
	first, last := a.at[0], a.at[len(a.at)-1]
	if first == last {
		return 0
	}
	return float64(len(a.at)-1) / (last - first).Seconds()
}

// String names the file, if there is one, and lists the instants otherwise.
func (a Trace) String() string {
	if a.path != "" {
		return TraceFile{a.path}.String()
	}
	items := make([]string, len(a.at))
	for i, at := range a.at {
		items[i] = formatDuration(float64(at))
	}
	return spellList("trace", items)
}

// Start implements Arrivals; nothing is drawn.
func (a Trace) Start(*sim.Stream) Process { return &traceProcess{a.at} }

type traceProcess struct{ rest []sim.Time }

func (p *traceProcess) Next() (sim.Time, bool) {
	if len(p.rest) == 0 {
		return 0, false
	}
	at := p.rest[0]
	p.rest = p.rest[1:]
	return at, true
}

// TraceFile stands for the arrivals in a file that nobody has read yet. Only
// Resolve makes them arrivals: Start panics.
type TraceFile struct{ Path string }

// Resolve returns the trace of the file's instants, checked as by NewTrace.
func (f TraceFile) Resolve(at []sim.Time) (Trace, error) {
	if len(at) == 0 {
		return Trace{}, &ParamError{"trace", "want at least one instant"}
	}
	last := sim.Time(0)
	for i, t := range at {
		if t < last || t > DrawMax {
			return Trace{}, &ParamError{"trace", fmt.Sprintf("instant %d: want between %v, the one before it, and %v, got %v", i+1, last, sim.Time(DrawMax), t)}
		}
		last = t
	}
	return Trace{f.Path, at}, nil
}

// Rate returns 0: it is not known.
func (f TraceFile) Rate() float64 { return 0 }

func (f TraceFile) String() string { return `trace("` + f.Path + `")` }

// Start panics.
func (f TraceFile) Start(*sim.Stream) Process {
	panic("variate: " + f.String() + " has not been resolved")
}
