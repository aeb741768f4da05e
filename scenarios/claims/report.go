package claims

import (
	"math"
	"strconv"
	"strings"
)

// Report is a claim with its verdict, as JSON has it.
type Report struct {
	ID       string    `json:"id"`
	Claim    string    `json:"claim"`
	Release  string    `json:"release"`
	Verdict  Verdict   `json:"verdict"`
	When     []string  `json:"when,omitempty"`      // in these cases it holds, where it doesn't in others
	CantTell []string  `json:"cant_tell,omitempty"` // and in these it can't be told
	Why      string    `json:"why,omitempty"`
	Facts    string    `json:"facts,omitempty"`
	Instead  string    `json:"instead,omitempty"` // where the fact stands, of a claim that is not about behaviour
	Measures []Reading `json:"measures"`
}

// Reading is a measure in its unit.
type Reading struct {
	Case         string   `json:"case"`
	Scenario     string   `json:"scenario,omitempty"`
	Replications int      `json:"replications,omitempty"`
	What         string   `json:"what"`
	Unit         string   `json:"unit"`
	Value        *float64 `json:"value"`
	Lo           *float64 `json:"lo"`
	Hi           *float64 `json:"hi"`
	Why          string   `json:"no_interval,omitempty"`
	Want         string   `json:"want,omitempty"`
	Passed       *bool    `json:"passed,omitempty"` // of what is wanted; absent: can't tell
}

// Report puts a finding in the form of JSON.
func (f *Finding) Report() Report {
	r := Report{
		ID: f.Claim.ID, Claim: f.Claim.Says, Release: f.Claim.Release, Verdict: f.Verdict,
		CantTell: f.When(CantTell), Why: f.Claim.Why, Facts: f.Claim.Facts, Instead: f.Claim.Elsewhere, Measures: []Reading{},
	}
	if f.Verdict == HoldsWhen {
		r.When = f.When(Yes)
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		for k := range c.Measures {
			e := &c.Measures[k]
			x := e.Unit.Factor()
			m := Reading{
				Case: c.When, Scenario: c.Scenario, Replications: c.Replications, What: e.What, Unit: e.Unit.String(),
				Value: finite(e.Value * x), Lo: finite(e.Lo * x), Hi: finite(e.Hi * x), Why: e.Why,
			}
			if e.Want != nil {
				m.Want = e.Want.In(e.Unit)
				if e.Answer != CantTell {
					passed := e.Answer == Yes
					m.Passed = &passed
				}
			}
			r.Measures = append(r.Measures, m)
		}
	}
	return r
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// In prints the bound in a unit: "< 0.1 %".
func (w Want) In(u Unit) string {
	return strings.TrimSpace(w.Op + " " + strconv.FormatFloat(w.Bound*u.Factor(), 'g', 6, 64) + " " + u.String())
}
