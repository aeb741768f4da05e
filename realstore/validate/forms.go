package validate

import (
	"context"
	"fmt"
	"math"

	"brokersim/sim/analytic"
)

// customers of each station: with fewer some figures have no interval.
const customers = 400_000

// ClosedForms is rung 1: analytic.Verify. When ctx ends first it is skipped.
func ClosedForms(ctx context.Context, progress func(done, total int)) Rung {
	r := Rung{Number: 1, Title: "the kernel against closed forms"}
	checks, err := analytic.Verify(ctx, 1, customers, progress)
	if err != nil {
		r.Partial = true
		return r
	}
	for _, c := range checks {
		if n := len(r.Groups); n == 0 || r.Groups[n-1].Name != c.Name {
			r.Groups = append(r.Groups, Group{Name: c.Name})
		}
		g := &r.Groups[len(r.Groups)-1]
		g.Lines = append(g.Lines, lineOf(c))
	}
	return r
}

func lineOf(c analytic.Check) Line {
	l := Line{
		Quantity: c.Quantity, Got: Number(c.Got), Want: Number(c.Want), Difference: none, Kind: Interval,
		Lo: Number(c.Lo), Hi: Number(c.Hi), Floor: none, Limit: none, Verdict: Agrees, Why: c.Why,
	}
	switch {
	case c.Passed:
	case math.IsNaN(c.Lo) || math.IsNaN(c.Hi):
		l.Verdict = CantTell
	default:
		l.Verdict, l.Why = Differs, fmt.Sprintf("outside the interval at %g %%", c.Confidence*100)
	}
	return l
}
