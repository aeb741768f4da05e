package calibrate

import (
	"fmt"
	"math"
	"slices"

	"brokersim/model"
	"brokersim/sim/variate"
)

// event is one stall.
type event struct {
	run  int
	from int64
	ns   float64 // how long
	in   bool    // a flush was under way

	// weight is how many such stalls there were for each that was seen.
	weight float64
}

// separate divides the appends into those that tell about their rung and the
// stalls of the others, by kind. usual is what a class holds the lock for, lag
// how late an append begins without a stall, rate that of appends per ns.
func separate(all []observation, usual func(*observation) float64, lag, rate float64) (calm []*observation, stalls [throttled + 1][]event) {
	gap := variate.Must(variate.NewExponential(variate.Duration, 1/rate))
	for i := range all {
		o := &all[i]
		if o.late() {
			e := event{o.run, o.wanted, float64(o.before) - lag, o.inside, 1}
			if o.idle > 0 {
				e.unhide(gap, float64(o.idle))
			}
			stalls[preempted] = append(stalls[preempted], e)
		}
		k := o.kind()
		if k == onRung {
			calm = append(calm, o)
			continue
		}
		stalls[k] = append(stalls[k], event{o.run, o.lock, max(float64(o.hold)-usual(o), 0), o.inside, 1})
	}
	return calm, stalls
}

// unhide makes up for what was not seen of a stall that began while nothing was
// appended: on average half the idle time before it, up to that between two
// appends. And for each one that was seen there were others as long that ended
// before the next append, or left too little to be noticed.
func (e *event) unhide(gap variate.Exponential, idle float64) {
	e.ns += min(idle, gap.Mean()) / 2
	e.weight = min(1/max(gap.CDF(e.ns-float64(slow)), 0.1), weightMost)
}

// weightMost keeps a guess about stalls that are hardly ever seen from
// outweighing those that are.
const weightMost = 4

// mechanism makes a process in time of stalls, seen over so many ns.
func mechanism(name string, on model.Resource, events []event, span int64) model.Mechanism {
	// The model's stalls go on coming during one and queue up behind it; seen
	// were only whole times of standing still. In a queue that works for the
	// share rho of the time, those are 1/(1-rho) times as long as one stall, and
	// begin in the rest of the time only (M/G/1).
	took := 0.0
	for _, e := range events {
		took += e.ns
	}
	if idle := 1 - min(took/float64(span), 0.9); idle < 1-overlapLeast {
		events = slices.Clone(events)
		for i := range events {
			events[i].ns *= idle
		}
		span = int64(float64(span) * idle)
	}
	m := model.Mechanism{Name: name, On: on, Table: lasting(events)}
	weights := 0.0
	for _, e := range events {
		weights += e.weight
	}
	// A profile has no stalls more often than that; so many are its rungs'.
	m.Every = intervals(events, max(float64(span)/weights, everyLeast))
	return m
}

// intervals is the distribution of the times from one stall to the next, of
// that mean.
func intervals(events []event, mean float64) variate.Dist {
	mean = significant(mean, 4)
	exponential := variate.Must(variate.NewExponential(variate.Duration, mean))
	var gaps []float64
	sum := 0.0
	for i := 1; i < len(events); i++ {
		if events[i].run == events[i-1].run {
			gap := float64(events[i].from - events[i-1].from)
			gaps = append(gaps, gap)
			sum += gap
		}
	}
	if len(gaps) < gapsLeast || distance(gaps, exponential) <= 1.36/math.Sqrt(float64(len(gaps))) {
		return exponential
	}
	for i := range gaps { // the mean is that of the whole time
		gaps[i] *= mean * float64(len(gaps)) / sum
	}
	slices.Sort(gaps)
	return quantiles(gaps)
}

// overlapLeast is the share of the time from which on stalls that overlap
// matter.
const overlapLeast = 0.02

// everyLeast is a little above the 1 ms of Profile.Check, for the rounding of
// quantiles.
const everyLeast = 1.05e6

// gapsLeast is how many intervals it takes to doubt that they are exponential.
const gapsLeast = 20

// lengths are those of the stalls, the heavier ones several times.
func lengths(events []event) []float64 {
	const copies = 4 // of weight 1
	heavy := slices.ContainsFunc(events, func(e event) bool { return e.weight != 1 })
	var ns []float64
	for _, e := range events {
		n := 1
		if heavy {
			n = int(math.Round(e.weight * copies))
		}
		for range n {
			ns = append(ns, e.ns)
		}
	}
	return ns
}

// lasting is the table of the lengths of stalls.
func lasting(events []event) model.Table {
	t := table(lengths(events))
	t.Count = int64(len(events))
	return t
}

// distance is that of Kolmogorov and Smirnov; it sorts the sample.
func distance(sample []float64, d variate.Dist) (most float64) {
	slices.Sort(sample)
	n := float64(len(sample))
	for i, x := range sample {
		p := d.CDF(x)
		most = max(most, float64(i+1)/n-p, p-float64(i)/n)
	}
	return most
}

// byPosition makes stalls of a share of the crossings of a page: apart for in
// and outside a flush where the shares differ by more than a factor of 3.
// crossings counts those outside and inside.
func byPosition(name string, events []event, crossings [2]int64) []model.Mechanism {
	const page = 4096
	var apart [2][]event
	for _, e := range events {
		i := 0
		if e.in {
			i = 1
		}
		apart[i] = append(apart[i], e)
	}
	make := func(name, while string, events []event, of int64) model.Mechanism {
		share := significant(min(1, float64(len(events))/float64(max(of, 1))), 5)
		return model.Mechanism{Name: name, On: model.OnDisk, Each: page, Share: share, While: while, Table: lasting(events)}
	}
	outside := float64(len(apart[0])) / float64(max(crossings[0], 1))
	inside := float64(len(apart[1])) / float64(max(crossings[1], 1))
	if len(events) < 10 || max(outside, inside) <= 3*min(outside, inside) {
		return []model.Mechanism{make(name, "", events, crossings[0]+crossings[1])}
	}
	var out []model.Mechanism
	for i, while := range []string{"outside", "inside"} {
		if len(apart[i]) > 0 {
			out = append(out, make(fmt.Sprintf("%s, %s a flush", name, while), while, apart[i], crossings[i]))
		}
	}
	return out
}
