package calibrate

import (
	"fmt"
	"math"
	"slices"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// event is one stall.
type event struct {
	run  int
	from int64
	ns   float64 // how long
	in   bool    // a flush was under way
}

// spun is how long before an instant the pacer of a probe is awake.
const spun = int64(100 * sim.Microsecond)

// separate divides the appends into those that tell about their rung and the
// stalls of the others, by kind. usual is what a class holds the lock for, and
// lag how late an append begins, without a stall.
func separate(all []observation, usual func(*observation) float64, lag float64) (calm []*observation, stalls [throttled + 1][]event) {
	for i := range all {
		o := &all[i]
		if o.late() {
			hidden := float64(min(o.idle, spun)) / 2
			stalls[preempted] = append(stalls[preempted], event{o.run, o.wanted, float64(o.before) - lag + hidden, o.inside})
		}
		k := o.kind()
		if k == onRung {
			calm = append(calm, o)
			continue
		}
		stalls[k] = append(stalls[k], event{o.run, o.lock, max(float64(o.hold)-usual(o), 0), o.inside})
	}
	return calm, stalls
}

// mechanism makes a process in time of stalls, seen over so many ns.
func mechanism(name string, on model.Resource, events []event, span int64) model.Mechanism {
	m := model.Mechanism{Name: name, On: on, Table: table(lengths(events))}
	mean := significant(float64(span)/float64(len(events)), 4)
	exponential := variate.Must(variate.NewExponential(variate.Duration, mean))
	m.Every = exponential
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
		return m
	}
	for i := range gaps { // the mean is that of the whole time
		gaps[i] *= mean * float64(len(gaps)) / sum
	}
	slices.Sort(gaps)
	m.Every = quantiles(gaps)
	return m
}

// gapsLeast is how many intervals it takes to doubt that they are exponential.
const gapsLeast = 20

func lengths(events []event) []float64 {
	ns := make([]float64, len(events))
	for i := range events {
		ns[i] = events[i].ns
	}
	return ns
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
		return model.Mechanism{Name: name, On: model.OnDisk, Each: page, Share: share, While: while, Table: table(lengths(events))}
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
