package variate

import (
	"fmt"
	"slices"

	"brokersim/sim"
)

// MMPP is a Markov-modulated Poisson process: Poisson arrivals whose rate is
// that of the present state. The states follow each other in the order given,
// round and round; each lasts exponentially long. It starts in its stationary
// state, somewhere in the round.
type MMPP struct{ states []MMPPState }

// MMPPState is a state of an MMPP.
type MMPPState struct {
	Name      string   // letters, digits and _ after a letter
	PerSecond float64  // arrivals per second, 0 for none
	Mean      sim.Time // how long it lasts
}

const (
	statesMax = 64
	// Fewer arrivals in a round than this would keep Next busy for long.
	arrivalsPerRoundMin = 1e-3
)

// NewMMPP returns an MMPP of 2 to 64 states with arrivals in at least one.
func NewMMPP(states []MMPPState) (MMPP, error) {
	var c checks
	c.require(len(states) >= 2 && len(states) <= statesMax, "states", "want between 2 and %d of them, got %d", statesMax, len(states))
	if len(c) > 0 {
		return MMPP{}, c.err()
	}
	var arrivals float64
	for i, st := range states {
		c.require(isName(st.Name), st.Name, "want a name of letters, digits and _")
		c.require(!slices.ContainsFunc(states[:i], func(o MMPPState) bool { return o.Name == st.Name }), st.Name, "is there twice")
		c.require(st.PerSecond == 0 || st.PerSecond >= rateMin && st.PerSecond <= rateMax, st.Name,
			"want a rate of 0/s, or between %s and %s, got %s", formatRate(rateMin), formatRate(rateMax), formatRate(st.PerSecond))
		c.require(st.Mean >= 1 && st.Mean <= DrawMax, st.Name, "want a state of between 1ns and %s, got %v", formatDuration(DrawMax), st.Mean)
		arrivals += float64(st.PerSecond * st.Mean.Seconds())
	}
	c.require(arrivals >= arrivalsPerRoundMin, "states", "want at least %v arrivals in a round of all states, got %v", arrivalsPerRoundMin, arrivals)
	return MMPP{slices.Clone(states)}, c.err()
}

func isName(s string) bool {
	for i := range len(s) {
		letter := s[i] == '_' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z'
		if !letter && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}

// States returns the states in order; the caller must not change them.
func (a MMPP) States() []MMPPState { return a.states }

// Rate implements Arrivals.
func (a MMPP) Rate() float64 {
	var arrivals float64
	for _, st := range a.states {
		arrivals += float64(st.PerSecond * st.Mean.Seconds())
	}
	return arrivals / a.round().Seconds()
}

// round returns how long all states last together; 64 of at most DrawMax
// could overflow an integer, so it is capped.
func (a MMPP) round() sim.Time {
	var sum float64
	for _, st := range a.states {
		sum += float64(st.Mean)
	}
	return sim.Time(Round(sum))
}

func (a MMPP) String() string {
	items := make([]string, len(a.states))
	for i, st := range a.states {
		items[i] = fmt.Sprintf("%s=%s for %s", st.Name, formatRate(st.PerSecond), formatDuration(float64(st.Mean)))
	}
	return spellList("mmpp", items)
}

// Start implements Arrivals. It draws the state to begin in, and how long that
// lasts.
func (a MMPP) Start(s *sim.Stream) Process {
	p := &mmppProcess{states: a.states, stream: s}
	at := float64(s.Float64() * float64(a.round()))
	for p.state < len(a.states)-1 && at >= float64(a.states[p.state].Mean) {
		at -= float64(a.states[p.state].Mean)
		p.state++
	}
	p.enter()
	return p
}

type mmppProcess struct {
	states []MMPPState
	stream *sim.Stream
	clock  clock
	state  int
	left   float64 // ns until the next state
}

// enter draws how long the present state lasts.
func (p *mmppProcess) enter() {
	p.left = float64(float64(p.states[p.state].Mean) * StandardExponential(p.stream))
}

// Next uses up one exponential over the states: as many arrivals as are to be
// expected until the next one comes.
func (p *mmppProcess) Next() (sim.Time, bool) {
	expected := StandardExponential(p.stream)
	for {
		perNs := p.states[p.state].PerSecond * 1e-9
		if dt := expected / perNs; dt < p.left { // +Inf where there are none
			p.left -= dt
			return p.clock.advance(dt)
		}
		expected = max(expected-float64(p.left*perNs), 0)
		if at, ok := p.clock.advance(p.left); !ok {
			return at, false
		}
		p.state = (p.state + 1) % len(p.states)
		p.enter()
	}
}
