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
func DefaultCosts() Costs {
	return Costs{
		Network:     must("lognormal(median=100us, p99=1ms)"),
		Decode:      must("constant(1us)"),
		Handoff:     must("lognormal(median=23us, p99=140us)"),
		Process:     must("lognormal(median=14us, p99=60us)"),
		Finish:      must("lognormal(median=25us, p99=220us)"),
		FirstAnswer: must("constant(130us)"),
		Answer:      must("constant(20us)"),
		SweepLag:    must("constant(0us)"),
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

// DefaultQuantum is how long a thread keeps a core that others wait for.
const DefaultQuantum = 3 * sim.Millisecond

func must(text string) variate.Dist {
	d, err := variate.ParseDist(text, variate.Duration)
	if err != nil {
		panic("model: " + err.Error())
	}
	return d
}
