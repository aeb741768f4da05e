package variate

import (
	"brokersim/sim"
)

// Closed is a closed workload: a number of callers, each of which calls, waits
// for the answer, thinks, and calls again. Its instants depend on the answers,
// so whoever gives these drives it; Start panics.
type Closed struct {
	callers int
	think   Dist
}

// callersMax bounds the callers of one closed workload.
const callersMax = 100_000

// NewClosed returns that many callers with a time to think after each answer.
func NewClosed(callers int, think Dist) (Closed, error) {
	var c checks
	c.require(callers >= 1 && callers <= callersMax, "n", "want between 1 and %d callers, got %d", callersMax, callers)
	if c.require(think != nil, "think", "want a distribution"); think != nil {
		mean := think.Mean()
		c.require(mean >= 0 && mean <= DrawMax, "think", "want a mean of at most %s, got %s", formatDuration(DrawMax), think)
	}
	return Closed{callers, think}, c.err()
}

// Callers is their number.
func (a Closed) Callers() int { return a.callers }

// Think is how long a caller thinks after an answer, and before its first call.
func (a Closed) Think() Dist { return a.think }

// Rate is that of callers whose calls took no time: no workload is faster. It
// is infinite where they don't think.
func (a Closed) Rate() float64 { return float64(a.callers) * 1e9 / a.think.Mean() }

func (a Closed) String() string {
	return spell("closed", "n", formatNumber(float64(a.callers)), "think", a.think.String())
}

// Start panics.
func (a Closed) Start(*sim.Stream) Process {
	panic("variate: " + a.String() + " depends on its answers")
}
