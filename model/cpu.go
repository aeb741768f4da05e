package model

import "brokersim/sim"

// cpu is the machine's cores as far as the model needs them: a count of the
// threads that keep one each, and whoever else wants to run waits for its turn
// when none is left.
type cpu struct {
	cores   int
	quantum sim.Time
	stream  *sim.Stream
	working int // send threads that work
	long    int // other threads that keep a core for a quantum and more
}

// tasksMax bounds the busy threads of others.
const tasksMax = 1024

// received is how long a request keeps a core busy on its way in: the selector
// reads it and wakes the codec thread. In a burst the next one came within it
// (E11, E17: 99 % of 1,161 gaps).
const received = 60 * sim.Microsecond

// busy is the number of threads that keep a core for longer than others will
// wait for it: those that spin for the put lock, send threads that work and
// have more to do behind that, and threads of other pools in a long service.
// One that is about to sleep again is gone in microseconds.
func (b *broker) busy() int {
	n := b.lock.spinning() + b.cpu.long
	if b.queue.Len() > 0 {
		n += b.cpu.working
	}
	return n
}

// receiving is 1 while a codec thread, having received, works. It counts where
// a burst is sure to come, after a freeze.
func (b *broker) receiving() int {
	if b.eng.Now() < b.codecUntil {
		return 1
	}
	return 0
}

// wait is how long a thread that becomes ready waits for a core while so many
// are busy: nothing while a core is free, else its turn in a round over the
// busy threads, a quantum each, which it joins at random.
func (c *cpu) wait(busy int) sim.Time {
	if busy < c.cores {
		return 0
	}
	return c.turn(busy)
}

func (c *cpu) turn(busy int) sim.Time {
	round := c.quantum * sim.Time(busy) / sim.Time(c.cores)
	return round/2 + sim.Time(c.stream.Uint64()%uint64(round+1))
}

// shared is how long a thread takes for what it would do in that time alone,
// while so many others are busy: they all get as much as it does.
func (c *cpu) shared(takes sim.Time, busy int) sim.Time {
	if busy < c.cores {
		return takes
	}
	return takes/sim.Time(c.cores)*sim.Time(busy+1) + takes%sim.Time(c.cores)
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
func (c *cpu) sweepWait(busy int) sim.Time {
	w := c.wait(busy)
	if w == 0 || c.stream.Float64() < sweepAtOnce {
		return 0
	}
	return w / 2
}

// thawedUnharmed is as answerUnharmed, after a freeze: nobody has slept more
// than the others then. In the traces with freezes (E11, E17) the sweeper was
// on its core when a burst of arrivals came in 6 times, and lost it for 1.4 to
// 2.9 ms in 4 of them, on average after 5 answers.
const thawedUnharmed = 0.8

// answerWait is the wait for a core of a sweeper that has just answered.
func (c *cpu) answerWait(busy int) sim.Time {
	w := c.wait(busy)
	if w == 0 || c.stream.Float64() < answerUnharmed {
		return 0
	}
	return 2 * w
}

// thawedWait is answerWait while it catches up after a freeze.
func (c *cpu) thawedWait(busy int) sim.Time {
	w := c.wait(busy)
	if w == 0 || c.stream.Float64() < thawedUnharmed {
		return 0
	}
	return w
}
