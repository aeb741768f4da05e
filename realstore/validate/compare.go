package validate

import (
	"fmt"
	"math"
	"slices"

	"brokersim/model"
	"brokersim/sim"
)

// Limits of the comparison of virtual with live.
const (
	Beyond        = 10   // observations that must lie beyond a quantile
	WidestLimit   = 0.5  // of the ratio of quantiles
	WidestKS      = 0.2  // of the distance
	floors        = 1.5  // what is within so many floors is no difference
	ksMost        = 0.06 // or floors
	replayedLeast = 99.0 // percent of sends
	countLeast    = 1    // a spread below one send is one
)

// quantiles are those compared, with by how much they may differ.
var quantiles = []struct {
	p, most float64
}{{0.5, 0.05}, {0.99, 0.20}, {0.999, 0.25}}

// compareSojourns holds those of virtual runs against those of live ones. At
// least two are wanted, for the floor. Compared with themselves runs differ by
// exactly 0.
func compareSojourns(virtual, live []run) []Line {
	sortedV, sortedL := sortedOf(virtual), sortedOf(live)
	v, l := newPool(virtual), newPool(live)
	if len(v.times) == 0 || len(l.times) == 0 {
		return []Line{{Quantity: "sojourn", Got: none, Want: none, Difference: none, Lo: none, Hi: none, Floor: none, Limit: none,
			Kind: Ratio, Verdict: CantTell, Why: "no send was stored or swept"}}
	}
	var lines []Line
	ps := make([]float64, len(quantiles))
	for i, q := range quantiles {
		ps[i] = q.p
	}
	lo, hi := bootstrap(v, l, ps)
	for i, q := range quantiles {
		got, want := quantile(v.times, q.p), quantile(l.times, q.p)
		line := Line{
			Quantity: fmt.Sprintf("sojourn p%.6g, ms", 100*q.p), Kind: Ratio,
			Got: Number(got / 1e6), Want: Number(want / 1e6), Difference: Number(got/max(want, 1) - 1),
			Lo: Number(lo[i] - 1), Hi: Number(hi[i] - 1), Floor: none, Limit: Number(q.most),
		}
		if n := float64(min(len(v.times), len(l.times))) * (1 - q.p); n < Beyond-1e-6 {
			line.Verdict, line.Why = CantTell, fmt.Sprintf("too short: %.0f sends lie beyond, %d are wanted", n, Beyond)
		} else {
			line.judgeRatio(pairs(sortedL, func(a, b []sim.Time) float64 { return excess(quantile(a, q.p) / max(quantile(b, q.p), 1)) }))
		}
		lines = append(lines, line)
	}
	return append(lines, distanceLine(v, l, sortedV, sortedL))
}

func sortedOf(runs []run) (all [][]sim.Time) {
	for i := range runs {
		if s := runs[i].sorted(); len(s) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// excess is by how much the larger of two exceeds the smaller, of their ratio.
func excess(ratio float64) float64 { return max(ratio, 1/ratio) - 1 }

// pairs is the median of a comparison over all pairs, the lower of the middle
// two; NaN where there is no pair.
func pairs(of [][]sim.Time, compare func(a, b []sim.Time) float64) float64 {
	var all []float64
	for i := range of {
		for j := range i {
			all = append(all, compare(of[i], of[j]))
		}
	}
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// widen sets floor and limit.
func (l *Line) widen(floor float64) {
	l.Floor = Number(floor)
	if f := Number(floors * floor); f > l.Limit {
		l.Limit = f
	}
}

func (l *Line) judgeRatio(floor float64) {
	l.widen(floor)
	limit := float64(l.Limit)
	lo, hi := 1+float64(l.Lo), 1+float64(l.Hi)
	switch {
	case excess(1+float64(l.Difference)) <= limit:
		l.agree(WidestLimit)
	case lo-1 > limit || 1/hi-1 > limit:
		l.Verdict = Differs
	default:
		l.Verdict, l.Why = CantTell, "the interval reaches into the limit"
	}
}

// agree is within the limit, which may be too wide to say so.
func (l *Line) agree(widest Number) {
	l.Verdict = Agrees
	if l.Limit > widest {
		l.Verdict, l.Why = CantTell, "live runs are too far from each other"
	}
}

func distanceLine(v, l *pool, sortedV, sortedL [][]sim.Time) Line {
	line := Line{
		Quantity: "sojourn, KS distance", Kind: Distance, Got: none, Want: none, Limit: ksMost,
		Difference: Number(distance(v.times, l.times)), Lo: Number(math.Inf(1)), Hi: 0,
	}
	for _, a := range sortedV {
		for _, b := range sortedL {
			d := Number(distance(a, b))
			line.Lo, line.Hi = min(line.Lo, d), max(line.Hi, d)
		}
	}
	line.widen(pairs(sortedL, distance))
	switch {
	case line.Difference <= line.Limit:
		line.agree(WidestKS)
	case line.Lo > line.Limit:
		line.Verdict = Differs
	default:
		line.Verdict, line.Why = CantTell, "some pairs of runs are within the limit"
	}
	return line
}

// Replayed ends the name of a quantity that was simulated of a live run's own
// arrivals and stalls.
const Replayed = ", replayed"

// compareCounts holds those of errors, virtual and replayed, against live ones,
// run by run.
func compareCounts(virtual, replayed, live []run) (lines []Line) {
	for o := model.TimeoutCleanQueue; o < outcomes; o++ {
		v, r := countLine(virtual, live, o), countLine(replayed, live, o)
		switch {
		case v.Got != 0 || v.Want != 0 || r.Got != 0:
			v.Quantity = o.String() + ", per run"
			r.Quantity = o.String() + ", per run" + Replayed
		case o == outcomes-1 && lines == nil: // no error at all
			v.Quantity, r.Quantity = "errors, per run", "errors, per run"+Replayed
		default:
			continue
		}
		lines = append(lines, v, r)
	}
	return lines
}

func countLine(got, live []run, o model.Outcome) Line {
	var sumG, sumL int64
	least, most := int64(math.MaxInt64), int64(0)
	for i := range live {
		n := live[i].counts[o]
		sumG, sumL = sumG+got[i].counts[o], sumL+n
		least, most = min(least, n), max(most, n)
	}
	runs := Number(len(live))
	l := Line{
		Kind: Count, Got: Number(sumG) / runs, Want: Number(sumL) / runs, Difference: Number(sumG-sumL) / runs,
		Lo: none, Hi: none, Floor: Number(most - least), Limit: Number(max(most-least, countLeast)), Verdict: Agrees,
	}
	if Number(math.Abs(float64(l.Difference))) > l.Limit {
		l.Verdict = Differs
	}
	return l
}
