package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/plots/numeral"
	"brokersim/sim/experiment"
)

// Traces is rung 2: the bundled recordings of a real broker, replayed. When ctx
// ends first it has those that were complete.
func Traces(ctx context.Context, progress func(done, total int)) (Rung, error) {
	r := Rung{Number: 2, Title: "the model against traces of a real 4.3.2 broker, send by send"}
	type replayed struct {
		group     Group
		agreement *recording.Agreement
	}
	traces := recording.Traces
	all, err := experiment.Run(ctx, len(traces), 0, func(ctx context.Context, i int) (replayed, error) {
		g, a, err := replayTrace(ctx, &traces[i])
		return replayed{g, a}, err
	}, func(done int) {
		if progress != nil {
			progress(done, len(traces))
		}
	})
	if err != nil && !errors.Is(err, context.Cause(ctx)) {
		return r, err
	}
	r.Partial = err != nil
	var pooled, swept recording.Agreement
	for i, one := range all {
		if one.agreement == nil {
			continue
		}
		r.Groups = append(r.Groups, one.group)
		if traces[i].Pooled {
			pooled.Add(one.agreement)
		}
		if traces[i].Swept {
			swept.Add(one.agreement)
		}
	}
	if !r.Partial {
		r.Groups = append(r.Groups, pooledGroup(&pooled, &swept))
	}
	return r, nil
}

func replayTrace(ctx context.Context, t *recording.Trace) (g Group, a *recording.Agreement, err error) {
	base := model.Config{
		Seed:    1,
		Machine: model.Machine{Cores: 2, WallPhase: model.Absent, SweepPhase: model.Absent, Quantum: model.DefaultQuantum},
		Costs:   model.DefaultCosts(),
		Store:   model.Store{Append: model.DefaultAppend()},
	}
	e, err := t.Open(base)
	if err != nil {
		return g, nil, err
	}
	if _, a, err = recording.Replay(ctx, &e.Config, e.Requests, model.Observer{}, nil); err != nil {
		return g, nil, err
	}
	g = Group{Name: t.Name, Title: e.Title}
	same := sameOutcome(a, t.SameLeast)
	share := Line{Quantity: "share of an outcome, percentage points", Got: none, Want: none, Lo: none, Hi: none, Floor: none, Kind: Points, Limit: Number(t.ShareMost), Verdict: Agrees}
	worst := 0.0
	for _, d := range a.Shares() {
		if math.Abs(d.Points) > math.Abs(worst) {
			worst, share.Why = d.Points, d.Outcome
		}
	}
	share.Difference = Number(worst)
	if math.Abs(worst) > t.ShareMost {
		share.Verdict = Differs
	}
	g.Lines = []Line{same, share}
	if t.SojournMost > 0 {
		g.Lines = append(g.Lines, sojourns(a, t.SojournMost)...)
	}
	return g, a, nil
}

// sojourns are the quantiles of a trace that is replayed with its recorded
// times.
func sojourns(a *recording.Agreement, most float64) (lines []Line) {
	for i := range a.Sojourn {
		q := &a.Sojourn[i]
		l := Line{Quantity: fmt.Sprintf("arrival to answer p%g, ms", 100*q.P), Kind: Ratio, Got: Number(q.Simulated), Want: Number(q.Recorded),
			Difference: Number(q.Off() / 100), Lo: none, Hi: none, Floor: none, Limit: Number(most / 100), Verdict: Agrees}
		if math.Abs(q.Off()) > most {
			l.Verdict = Differs
		}
		lines = append(lines, l)
	}
	return lines
}

// sameOutcome is the share of sends with the recorded outcome.
func sameOutcome(a *recording.Agreement, least float64) Line {
	return atLeast("same outcome", a.SameOutcome, a.Scored, least)
}

// atLeast is a share, in percent.
func atLeast(what string, k, n int64, least float64) Line {
	got := 100 * float64(k) / float64(max(n, 1))
	l := Line{
		Quantity: fmt.Sprintf("%s, %% of %s", what, numeral.Count(n)), Got: Number(got), Want: none, Difference: none,
		Kind: Share, Lo: none, Hi: none, Floor: none, Limit: Number(least), Verdict: Agrees,
	}
	switch {
	case n == 0:
		l.Got, l.Verdict, l.Why = none, CantTell, "there are none"
	case got < least:
		l.Verdict = Differs
	}
	return l
}

// pooledGroup is the group of the pooled figures.
func pooledGroup(pooled, swept *recording.Agreement) Group {
	g := Group{Name: "pooled"}
	for _, t := range recording.Traces {
		if t.Pooled {
			g.Title = strings.TrimPrefix(g.Title+", "+t.Name, ", ")
		}
	}
	for _, f := range recording.PooledFigures(pooled, swept) {
		g.Lines = append(g.Lines, atLeast(f.What, f.K, f.N, f.Least))
	}
	return g
}
