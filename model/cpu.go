package model

import "brokersim/sim"

// cpu is the machine's cores as far as the model needs them: threads that
// spin for the put lock keep a core each, and whoever else wants to run then
// waits for its turn.
type cpu struct {
	cores   int
	quantum sim.Time
	stream  *sim.Stream
}

// wait is how long a thread that becomes ready waits for a core while so
// many threads spin: nothing while a core is free, else its turn in a round
// over the spinning threads, a quantum each, which it joins at random.
func (c *cpu) wait(spinning int) sim.Time {
	if spinning < c.cores {
		return 0
	}
	round := c.quantum * sim.Time(spinning) / sim.Time(c.cores)
	return round/2 + sim.Time(c.stream.Uint64()%uint64(round+1))
}

// How a thread that sleeps most of the time, as the sweeper does, fares among
// threads that spin: fitted to how late the sweeps of a 4.3.2 broker were with
// 32 spinning threads on two cores (trace E25; TestStarvedSweeper). When it
// wakes it mostly gets a core at once, else after half a turn; when it works,
// each answer may use up its credit, and it is then put behind two turns.
const (
	sweepAtOnce    = 0.75  // share of sweeps that begin at once
	answerUnharmed = 0.985 // share of answers after which it keeps its core
)

// sweepWait is the wait for a core of a sweep that becomes due.
func (c *cpu) sweepWait(spinning int) sim.Time {
	w := c.wait(spinning)
	if w == 0 || c.stream.Float64() < sweepAtOnce {
		return 0
	}
	return w / 2
}

// answerWait is the wait for a core of a sweeper that has just answered.
func (c *cpu) answerWait(spinning int) sim.Time {
	w := c.wait(spinning)
	if w == 0 || c.stream.Float64() < answerUnharmed {
		return 0
	}
	return 2 * w
}
