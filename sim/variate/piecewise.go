package variate

import (
	"slices"

	"brokersim/sim"
)

// Piecewise is a Poisson process whose rate changes at given instants.
type Piecewise struct{ segments []Segment }

// Segment is a stretch of one rate, up to the next segment.
type Segment struct {
	From      sim.Time
	PerSecond float64 // 0 for no arrivals
}

// NewPiecewise returns the process of those segments: the first from 0, each
// from later than the one before it, with arrivals in at least one.
func NewPiecewise(segments []Segment) (Piecewise, error) {
	var c checks
	c.require(len(segments) > 0, "segments", "want at least one")
	some := false
	for i, g := range segments {
		name := formatDuration(float64(g.From))
		if i == 0 {
			c.require(g.From == 0, name, "want the first segment from 0s, got %v", g.From)
		} else {
			before := segments[i-1].From
			c.require(g.From > before && g.From <= DrawMax, name, "want a segment from later than %v, the one before it, got %v", before, g.From)
		}
		c.require(g.PerSecond == 0 || g.PerSecond >= rateMin && g.PerSecond <= rateMax, name,
			"want a rate of 0/s, or between %s and %s, got %s", formatRate(rateMin), formatRate(rateMax), formatRate(g.PerSecond))
		some = some || g.PerSecond > 0
	}
	c.require(some, "segments", "want a rate of more than 0/s in at least one")
	return Piecewise{slices.Clone(segments)}, c.err()
}

// Segments returns the segments in order; the caller must not change them.
func (a Piecewise) Segments() []Segment { return a.segments }

// Rate returns that of the last segment, which lasts for ever.
func (a Piecewise) Rate() float64 { return a.segments[len(a.segments)-1].PerSecond }

func (a Piecewise) String() string {
	var items []string
	for _, g := range a.segments {
		items = append(items, formatDuration(float64(g.From)), formatRate(g.PerSecond))
	}
	return spell("piecewise", items...)
}

// Start implements Arrivals.
func (a Piecewise) Start(s *sim.Stream) Process {
	return &piecewiseProcess{segments: a.segments, stream: s}
}

type piecewiseProcess struct {
	segments []Segment // from the present one on
	stream   *sim.Stream
	clock    clock
}

// Next uses up one exponential over the segments, as mmppProcess does over
// states.
func (p *piecewiseProcess) Next() (sim.Time, bool) {
	expected := StandardExponential(p.stream)
	for {
		perNs := p.segments[0].PerSecond * 1e-9
		dt := expected / perNs // +Inf where there are none
		if len(p.segments) == 1 {
			return p.clock.advance(dt)
		}
		until := p.segments[1].From
		left := float64(until-p.clock.ns) - p.clock.fraction
		if dt < left {
			return p.clock.advance(dt)
		}
		expected = max(expected-float64(left*perNs), 0)
		p.clock = clock{ns: until}
		p.segments = p.segments[1:]
	}
}
