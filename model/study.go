package model

import (
	"fmt"
	"math"

	"brokersim/sim"
	"brokersim/sim/stat"
)

// Confidence is that of every interval in a Result.
const Confidence = 0.95

// Study gathers replications of one scenario, added in their order, into a
// Result. Its size doesn't depend on their number.
type Study struct {
	n           int
	messages    MessageCounts
	attempts    AttemptCounts
	latency     pooled
	waiting     pooled
	period      pooled
	causes      causeStudy
	first       *Stats // the only one, while there is one
	classes     [][AttemptClasses]int64
	loads       []LoadCounts
	late        LateCounts
	atRisk      *AtRisk // sums of means and ends
	retries     int64
	resends     int64
	inversions  int64
	brokers     []AttemptCounts
	errors      []ErrorLine
	errorsTotal int64
	fingerprint sim.Fingerprint
	ns          float64 // simulated, of all replications
}

// pooled is a Sample over replications.
type pooled struct {
	histogram stat.Histogram
	clusters  stat.Clusters
	sums      []float64 // of each replication that has observations
	counts    []float64 // likewise
}

func (p *pooled) add(s *Sample) {
	p.histogram.Merge(&s.Histogram)
	p.clusters.AddRun(&s.Clusters)
	if n := float64(s.Histogram.Count()); n > 0 {
		p.sums = append(p.sums, s.Histogram.Mean()*n)
		p.counts = append(p.counts, n)
	}
}

// Add takes the statistics of the next replication, complete or not.
func (s *Study) Add(c *Cluster) {
	stats := &c.books.counted
	s.n++
	s.messages.merge(stats.Messages)
	s.attempts.merge(stats.Attempts)
	s.latency.add(&stats.Latency)
	s.waiting.add(&stats.Waiting)
	s.period.add(&stats.Period)
	s.causes.add(stats)
	var classes [AttemptClasses]int64
	for k := range classes {
		classes[k] = stats.Attempts.Count(AttemptClass(k))
	}
	s.classes = append(s.classes, classes)
	for i, l := range c.Loads() {
		if i == len(s.loads) {
			s.loads = append(s.loads, LoadCounts{Queue: l.Queue})
		}
		s.loads[i].merge(l)
	}
	s.late.Stored += stats.Late.Stored
	s.late.Rejected += stats.Late.Rejected
	s.retries += stats.Retries
	s.resends += stats.Resends
	s.inversions += stats.Inversions
	for i, n := range stats.Brokers {
		if i == len(s.brokers) {
			s.brokers = append(s.brokers, AttemptCounts{})
		}
		s.brokers[i].merge(n)
	}
	if r := c.AtRisk(); r != nil {
		if s.atRisk == nil {
			s.atRisk = new(AtRisk)
		}
		s.atRisk.ProcessKill.merge(r.ProcessKill)
		s.atRisk.PowerCut.merge(r.PowerCut)
	}
	s.ns += float64(min(c.Now(), c.cfg.Duration))
	if s.n == 1 {
		s.first = stats
		s.errors, s.errorsTotal = stats.Errors, stats.ErrorsTotal
		s.fingerprint = c.fp
		return
	}
	s.first = nil
	s.fingerprint.Mix(uint64(c.fp))
}

func (c *LoadCounts) merge(o LoadCounts) {
	c.Arrived += o.Arrived
	c.Served += o.Served
	c.TimeoutCleanQueue += o.TimeoutCleanQueue
	c.PCBusyCleanQueue += o.PCBusyCleanQueue
	c.Overload += o.Overload
}

// Result describes what was added; the caller fills in Version, Scenario,
// Seed, Thresholds and Partial.
func (s *Study) Result() *Result {
	errors := s.errors
	if errors == nil {
		errors = []ErrorLine{}
	}
	const nsPerMs = 1e6
	r := &Result{
		Schema:         "brokersim.result/1",
		Replications:   s.n,
		Fingerprint:    fmt.Sprintf("%016x", uint64(s.fingerprint)),
		VirtualSeconds: s.ns / 1e9,
		Messages:       s.messages,
		Attempts:       s.attempts,
		LatencyMs:      s.Latency(nsPerMs),
		WaitingMs:      s.Waiting(nsPerMs),
		PeriodMs:       s.Period(),
		Errors:         errors,
		ErrorsTotal:    s.errorsTotal,
		Attribution:    s.causes.attribution(s.n),
		Thresholds:     []ThresholdMark{},
		Warnings:       []string{},
		Queues:         s.loads,
		Late:           s.late,
		AtRisk:         s.atRisk.over(s.n),
		Retries:        s.retries,
		Resends:        s.resends,
		Inversions:     s.inversions,
		Brokers:        s.brokers,
	}
	if k := &s.causes; k.recovery.histogram.Count()+k.never > 0 {
		r.Recovery = &Recovery{
			Ms:           s.summary(&k.recovery, func(*Stats) *Sample { return &k.one }, nsPerMs),
			NotRecovered: k.never,
		}
	}
	return r
}

// Latency, Waiting and Period summarise the three distributions, the first two
// in units of so many ns.
func (s *Study) Latency(unit float64) Summary {
	return s.summary(&s.latency, func(x *Stats) *Sample { return &x.Latency }, unit)
}

// Waiting is the time in the send queue.
func (s *Study) Waiting(unit float64) Summary {
	return s.summary(&s.waiting, func(x *Stats) *Sample { return &x.Waiting }, unit)
}

// Period is the "period in queue" of swept attempts, in ms.
func (s *Study) Period() Summary {
	return s.summary(&s.period, func(x *Stats) *Sample { return &x.Period }, 1)
}

// LatencyHistogram and WaitingHistogram are the pooled ones, for figures.
func (s *Study) LatencyHistogram() *stat.Histogram { return &s.latency.histogram }

// WaitingHistogram is that of the time in the send queue.
func (s *Study) WaitingHistogram() *stat.Histogram { return &s.waiting.histogram }

func (s *Study) summary(p *pooled, of func(*Stats) *Sample, unit float64) Summary {
	h := &p.histogram
	out := Summary{Count: h.Count()}
	if h.Count() == 0 {
		return out
	}
	lo, hi := float64(h.Min())/unit, float64(h.Max())/unit
	out.Min, out.Max = &lo, &hi
	// The mean of all observations is a ratio: a replication weighs as much as
	// it has of them.
	mean := stat.RatioInterval(p.sums, p.counts, Confidence)
	quantile := func(q float64) *Estimate { return estimate(p.clusters.QuantileInterval(h, q, Confidence), unit) }
	if s.first != nil {
		one := of(s.first)
		mean = one.Batches.Interval(Confidence)
		quantile = func(q float64) *Estimate { return estimate(one.Clusters.QuantileInterval(h, q, Confidence), unit) }
	}
	mean.Value = h.Mean()
	mean.Lo = max(mean.Lo, 0) // what is measured is a duration
	out.Mean = estimate(mean, unit)
	out.P50, out.P90, out.P99, out.P999 = quantile(0.5), quantile(0.9), quantile(0.99), quantile(0.999)
	return out
}

func estimate(i stat.Interval, unit float64) *Estimate {
	// Divided, not multiplied by an inexact 1e-6: 243711 ns print as 0.243711.
	e := &Estimate{Value: i.Value / unit, Why: i.Why}
	if i.OK() && !math.IsNaN(i.Lo) && !math.IsInf(i.Lo, 0) && !math.IsInf(i.Hi, 0) {
		lo, hi := i.Lo/unit, i.Hi/unit
		e.Lo, e.Hi = &lo, &hi
	}
	return e
}

// Fraction is the share of attempts whose class is among of, with its
// interval: over replications, or over the batches of a single run.
func (s *Study) Fraction(of func(AttemptClass) bool) stat.Interval {
	if s.first != nil {
		k, n := s.first.Outcomes.fraction(of)
		return stat.ClusterFraction(k, n, Confidence)
	}
	var k, n []int64
	for _, classes := range s.classes {
		var hit, all int64
		for c, x := range classes {
			all += x
			if of(AttemptClass(c)) {
				hit += x
			}
		}
		k, n = append(k, hit), append(n, all)
	}
	return stat.ClusterFraction(k, n, Confidence)
}
