package claims

import (
	"cmp"
	"math"
	"slices"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/stat"
)

// Quantity is what is read off one replication, as part of a whole (1 where it
// is no share or mean).
type Quantity func(o *Observed) (part, whole float64)

// Estimator says how the replications' quantities become one figure.
type Estimator uint8

// The estimators.
const (
	Share Estimator = iota // all parts of all wholes, which are counts
	Mean                   // all parts over all wholes
	Minus                  // A less B, replication by replication
	Over                   // A's mean over B's
	Most                   // the greatest that was seen: more may be possible
)

// Confidence is that of each interval.
const Confidence = 0.99

// column is a quantity over replications.
type column struct{ part, whole []float64 }

func (c *column) add(part, whole float64) {
	c.part, c.whole = append(c.part, part), append(c.whole, whole)
}

// ratios are part of whole by replication, 0 where there is neither.
func (c *column) ratios() []float64 {
	r := make([]float64, len(c.part))
	for i, part := range c.part {
		if c.whole[i] != 0 {
			r[i] = part / c.whole[i]
		}
	}
	return r
}

func (c *column) counts() (part, whole []int64) {
	for i := range c.part {
		part, whole = append(part, int64(c.part[i])), append(whole, int64(c.whole[i]))
	}
	return part, whole
}

// interval estimates a measure from its variants' columns.
func (e Estimator) interval(a, b *column) stat.Interval {
	switch e {
	case Share:
		part, whole := a.counts()
		return stat.ClusterFraction(part, whole, Confidence)
	case Mean:
		return stat.RatioInterval(a.part, a.whole, Confidence)
	case Minus:
		return stat.DifferenceInterval(a.ratios(), b.ratios(), Confidence)
	case Over:
		return stat.RatioInterval(a.ratios(), b.ratios(), Confidence)
	default:
		if len(a.part) == 0 {
			return stat.Interval{Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Why: "no observation"}
		}
		most := slices.Max(a.ratios())
		return stat.Interval{Value: most, Lo: most, Hi: math.Inf(1), Confidence: Confidence}
	}
}

// rejected is the share of sends that the broker refused.
func rejected(o *Observed) (part, whole float64) {
	a := &o.Attempts
	return float64(a.TimeoutCleanQueue + a.PCBusyCleanQueue + a.RejectRequest + a.Overload + a.PCSynchronized), float64(a.Sent)
}

// failed is the share of sends that did not end in SUCCESS.
func failed(o *Observed) (part, whole float64) {
	a := &o.Attempts
	return float64(a.Sent - a.Success), float64(a.Sent)
}

// refused is the share of sends that the broker refused with this outcome,
// whether or not their producers still waited.
func refused(of ...model.Outcome) Quantity {
	return func(o *Observed) (part, whole float64) {
		for i := range o.Rejected {
			if slices.Contains(of, o.Rejected[i].Outcome) {
				part++
			}
		}
		return part, float64(o.Attempts.Sent)
	}
}

// fate is the share of messages that ended so.
func fate(of func(m *model.MessageCounts) int64) Quantity {
	return func(o *Observed) (part, whole float64) {
		return float64(of(&o.Messages)), float64(o.Messages.Offered)
	}
}

func storedThoughtFailed(m *model.MessageCounts) int64 { return m.StoredThoughtFailed }
func storedTwice(m *model.MessageCounts) int64         { return m.StoredMoreThanOnce }
func notStoredUnknown(m *model.MessageCounts) int64    { return m.NotStoredUnknown }

// ofTimeouts is the share of the sends answered TIMEOUT_CLEAN_QUEUE that are so.
func ofTimeouts(is func(o *Observed, a *model.Attempt) bool) Quantity {
	return func(o *Observed) (part, whole float64) {
		for i := range o.Rejected {
			if a := &o.Rejected[i]; a.Outcome == model.TimeoutCleanQueue {
				whole++
				if is(o, a) {
					part++
				}
			}
		}
		return part, whole
	}
}

// throughput is the rate of successful sends while messages came.
func throughput(o *Observed) (part, whole float64) {
	return float64(o.Attempts.Success), o.Config.Duration.Seconds()
}

// sweepGap is the mean time from one sweep to the next, in ms.
func sweepGap(o *Observed) (part, whole float64) {
	if len(o.Sweeps) < 2 {
		return 0, 0
	}
	last := len(o.Sweeps) - 1
	return (o.Sweeps[last].Start - o.Sweeps[0].Start).Milliseconds(), float64(last)
}

// fromPeriod is whether the answer reads so many ms in the queue, or more.
func fromPeriod(ms int64) func(o *Observed, a *model.Attempt) bool {
	return func(_ *Observed, a *model.Attempt) bool { return a.PeriodMs >= ms }
}

// fromSojourn is whether the producer has waited so long for the answer.
func fromSojourn(wait sim.Time) func(o *Observed, a *model.Attempt) bool {
	return func(_ *Observed, a *model.Attempt) bool { return a.Resp-a.Send >= wait }
}

// span is a stretch of time.
type span struct{ from, to sim.Time }

// overlap is the greatest number of spans that there are at one time.
func overlap(spans []span) (most int) {
	ends := make([]sim.Time, 0, len(spans))
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		ends = slices.DeleteFunc(ends, func(end sim.Time) bool { return end <= s.from })
		ends = append(ends, s.to)
		most = max(most, len(ends))
	}
	return most
}
