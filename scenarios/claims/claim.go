package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brokersim/model"
	"brokersim/scenarios"
)

// Claim is something that people say, and what would show it.
type Claim struct {
	ID      string // A and B as in facts §13, or a name
	Says    string // the claim in one sentence
	Release string // that it is about, or EveryRelease
	Facts   string // where in model/FACTS.md the rules stand
	Why     string // what decides it

	// One of these: tried by simulation, held against the settings of each
	// release, or not about behaviour, with a pointer to the fact.
	Cases     []Case
	Table     *Table
	Elsewhere string
}

// EveryRelease is the Release of a claim about all that the model knows.
const EveryRelease = "all"

// Case is one condition under which a claim is tried.
type Case struct {
	When         string    // completes "holds when"
	Scenario     string    // claims/NAME.toml
	Replications int       // 0: 20
	Variants     []Variant // none: the scenario as it is
	Tests        []Test    // the claim holds in this case if all pass
	Told         []Measure // what else is worth telling
}

// Variant is the case's scenario with overrides.
type Variant struct {
	Name string
	Sets []string // KEY=VALUE, as --set takes them
}

// Measure is what is read off the replications of a case's variants.
type Measure struct {
	What string
	Unit Unit
	By   Estimator
	Of   Quantity
	A, B int // variants: that measured, and that of Minus and Over which it is held against
}

// Test is a measure with what is wanted of it.
type Test struct {
	Measure
	Want
}

// Want is a bound in the measure's base unit: a share of 1, ms, s, a number.
type Want struct {
	Op    string // < or >
	Bound float64
}

// Unit says how a figure is printed.
type Unit uint8

// The units.
const (
	Percent   Unit = iota // of shares of 1
	Points                // of differences of shares: percentage points
	Ms                    // ms
	Seconds               // s
	PerSecond             // 1/s
	Number                // a count or a ratio
)

var unitNames = [...]string{"%", "points", "ms", "s", "/s", ""}

func (u Unit) String() string { return unitNames[u] }

// Factor is what a figure is multiplied by to be in its unit.
func (u Unit) Factor() float64 {
	if u <= Points {
		return 100
	}
	return 1
}

// Answer is what a test, or a case, comes to.
type Answer uint8

// The answers.
const (
	No Answer = iota
	CantTell
	Yes
)

var answerNames = [...]string{"no", "can't tell", "yes"}

func (a Answer) String() string { return answerNames[a] }

// Judge holds an interval against the bound: Yes if all of it meets the bound,
// No if none of it does.
func (w Want) Judge(lo, hi float64) Answer {
	var yes int
	for _, x := range [...]float64{lo, hi} {
		if x < w.Bound && w.Op == "<" || x > w.Bound && w.Op == ">" {
			yes++
		}
	}
	if lo != lo || hi != hi { // not a number: there is no interval
		return CantTell
	}
	return [...]Answer{No, CantTell, Yes}[yes]
}

// Table is a claim about settings or traits: what each release has.
type Table struct {
	What string
	Unit Unit
	Of   func(s *model.Settings, t *model.Traits) float64
	Want []Want
}

// tableCores is the machine for defaults that go by the number of cores.
const tableCores = 8

// Verdict is what a claim comes to.
type Verdict uint8

// The verdicts.
const (
	NotBehaviour Verdict = iota
	Holds
	HoldsWhen
	DoesNotHold
	Undecided
)

var verdictNames = [...]string{"not about behaviour", "holds", "holds when", "does not hold", "can't tell"}

func (v Verdict) String() string { return verdictNames[v] }

// MarshalText spells the verdict as String does.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// verdict is that of a claim with these answers in its cases.
func verdict(cases []CaseFinding) Verdict {
	var n [Yes + 1]int
	for i := range cases {
		n[cases[i].Answer]++
	}
	switch {
	case len(cases) == 0:
		return NotBehaviour
	case n[Yes] == len(cases):
		return Holds
	case n[No] == len(cases):
		return DoesNotHold
	case n[Yes] > 0 && n[No] > 0:
		return HoldsWhen
	}
	return Undecided
}

// all is the answer of tests that must all pass.
func all(tests []Estimate) Answer {
	answer := Yes
	for i := range tests {
		if tests[i].Want != nil {
			answer = min(answer, tests[i].Answer)
		}
	}
	return answer
}

// All lists the claims in the order of the table: those of facts §13, then
// what else is said.
func All() []Claim {
	return slices.SortedStableFunc(slices.Values(slices.Concat(articleA(), articleB(), articleBPool(), folklore(), folklorePool())), func(a, b Claim) int {
		return cmp.Compare(a.number(), b.number())
	})
}

// number is the claim's in the table: those of the articles in their order, then
// all others.
func (c *Claim) number() int {
	n, err := strconv.Atoi(c.ID[1:])
	switch {
	case err != nil:
		return 1000
	case c.ID[0] == 'B':
		return 100 + n
	}
	return n
}

// Named returns the claim of that ID, or an error that says which there are.
func Named(id string) (Claim, error) {
	var ids []string
	for _, c := range All() {
		if c.ID == id {
			return c, nil
		}
		ids = append(ids, c.ID)
	}
	msg := fmt.Sprintf("no claim %q", id)
	if near := scenarios.Nearest(id, ids); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return Claim{}, fmt.Errorf("%s; there are %s", msg, strings.Join(ids, ", "))
}
