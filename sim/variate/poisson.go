package variate

import (
	"brokersim/sim"
)

// Poisson arrivals are independent of each other: the intervals between them
// are exponential.
type Poisson struct{ perSecond float64 }

// NewPoisson returns Poisson arrivals of that rate.
func NewPoisson(perSecond float64) (Poisson, error) {
	var c checks
	c.rate("rate", perSecond)
	return Poisson{perSecond}, c.err()
}

// Rate implements Arrivals.
func (a Poisson) Rate() float64 { return a.perSecond }

func (a Poisson) String() string { return spell("poisson", "rate", formatRate(a.perSecond)) }

// Start implements Arrivals.
func (a Poisson) Start(s *sim.Stream) Process {
	return &poissonProcess{stream: s, meanNs: 1e9 / a.perSecond}
}

type poissonProcess struct {
	stream *sim.Stream
	clock  clock
	meanNs float64
}

func (p *poissonProcess) Next() (sim.Time, bool) {
	return p.clock.advance(float64(p.meanNs * StandardExponential(p.stream)))
}

// clock is an instant of continuous time. Its whole and its fraction of a ns
// are apart, so that late instants are as exact as early ones.
type clock struct {
	ns       sim.Time
	fraction float64 // [0, 1)
}

// advance adds an interval of dt >= 0 ns and returns the whole ns; ok is false
// beyond DrawMax.
func (c *clock) advance(dt float64) (at sim.Time, ok bool) {
	dt += c.fraction
	if !(dt < DrawMax) || c.ns > DrawMax {
		c.ns = DrawMax + 1
		return 0, false
	}
	whole := int64(dt)
	c.fraction = dt - float64(whole)
	c.ns += sim.Time(whole)
	return c.ns, c.ns <= DrawMax
}
