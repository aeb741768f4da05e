package model

import (
	"brokersim/sim"
	"brokersim/sim/variate"
)

// DefaultCosts are the processor times of a 4.3.2 broker on a machine of two
// cores, from the baseline trace (no stall, 1,000 sends/s): medians and
// 99th percentiles of what was seen there, rounded. They are small against
// the limits of the rules; what they decide is who wins a race of
// microseconds.
//
// A thread that goes on without having slept is some ten times faster: its
// caches are warm, and the connection's IO thread is awake. The warm ones are
// what the traces with stalls (E3, E7, E11, E13, E17) show of the third request
// and later ones in a row; an append of a few microseconds in them as well.
//
// Thaw is from the traces with freezes (E11, E17: 11 of them). What their
// threads did first after SIGCONT, codec, sweeper and the send thread whose
// stall was over, came 0.2 to 2.5 ms after it, 0.6 ms on average, in any order:
// all are woken at once, for two cores.
//
// Submit is a guess, small against Finish: 4.3.2 has no callbacks. StackDump is
// that of a Java 17 VM with 150 and 300 sleeping threads of ten frames each on
// two cores, Thread.getAllStackTraces and the text of it: 14 to 55 ms once
// compiled, 5 to 20 of them for the stacks alone.
func DefaultCosts() Costs {
	return Costs{
		Network:     must("lognormal(median=100us, p99=1ms)"),
		Decode:      must("constant(1us)"),
		Handoff:     must("lognormal(median=23us, p99=140us)"),
		Process:     must("lognormal(median=14us, p99=60us)"),
		Finish:      must("lognormal(median=25us, p99=220us)"),
		WarmProcess: must("lognormal(median=2.6us, p99=15us)"),
		WarmFinish:  must("lognormal(median=700ns, p99=40us)"),
		FirstAnswer: must("constant(130us)"),
		Answer:      must("constant(20us)"),
		SweepLag:    must("constant(0us)"),
		Thaw:        must("exponential(mean=600us)"),
		Submit:      must("constant(5us)"),
		StackDump:   must("lognormal(median=25ms, p99=100ms)"),
	}
}

// DefaultAppend is the append of that broker while nothing disturbs it.
func DefaultAppend() variate.Dist { return must("lognormal(median=4us, p99=45us)") }

// DefaultAllocate is what it takes to create and map a file of the commit log:
// 0.07 ms for a sparse one on a fast disk, up to 2 ms where its blocks are
// reserved. DefaultWarmPage is what it takes to write into a page of it that
// was never touched: 0.5 s for 256 MiB there, more on a slower disk.
func DefaultAllocate() variate.Dist { return must("lognormal(median=70us, p99=2ms)") }

// DefaultWarmPage is described at DefaultAllocate.
func DefaultWarmPage() variate.Dist { return must("constant(8us)") }

// DefaultCommit is what it takes the transient pool to write a few pages to its
// file, beside what the page cache makes of it: a write of 16 KiB. It is a guess.
func DefaultCommit() variate.Dist { return must("lognormal(median=15us, p99=150us)") }

// DefaultFlush is what a flush takes on the disk of trace E15 (SYNC_FLUSH, no
// other load): there unlock to answer has a median of 377 us and a 99th
// percentile of 2.9 ms, from which the wake-ups of the flush thread and of the
// send thread and Finish are taken off.
func DefaultFlush() variate.Dist { return must("lognormal(median=290us, p99=2.7ms)") }

// DefaultReplica is one slave in the same data centre: a network like that of
// DefaultCosts, 1 Gbit/s, and for a batch as much as a wake-up, an append and
// an answer take the broker of DefaultCosts (23 + 4 + 25 us). None of it was
// measured at a slave.
func DefaultReplica() Replica {
	return Replica{
		Slaves:    1,
		Network:   must("lognormal(median=100us, p99=1ms)"),
		Bandwidth: 125_000_000,
		Append:    must("lognormal(median=52us, p99=400us)"),
	}
}

// DefaultQuantum is how long a thread keeps a core that others wait for.
const DefaultQuantum = 3 * sim.Millisecond

func must(text string) variate.Dist {
	d, err := variate.ParseDist(text, variate.Duration)
	if err != nil {
		panic("model: " + err.Error())
	}
	return d
}
