package claims

import (
	"context"
	"errors"
	"fmt"
	"math"

	"brokersim/model"
	"brokersim/scenarios"
	"brokersim/sim/experiment"
)

// Options of an evaluation.
type Options struct {
	Seed         uint64
	Workers      int // at a time; below 1: one for each processor
	Replications int // of each case at most; 0: as many as the case asks for
	Progress     func(done, total int)
}

// Finding is what a claim came to.
type Finding struct {
	Claim   *Claim
	Verdict Verdict
	Cases   []CaseFinding
}

// CaseFinding is what a claim came to in one case.
type CaseFinding struct {
	When         string
	Scenario     string // "": held against the table of releases
	Replications int
	Answer       Answer
	Measures     []Estimate // the tests first
}

// Estimate is a measure with its interval, in the measure's base unit.
type Estimate struct {
	Measure
	Value, Lo, Hi float64 // NaN: there is none
	Why           string  // why not
	Want          *Want   // of a test
	Answer        Answer  // likewise
}

// When lists the cases in which the claim came to that answer.
func (f *Finding) When(a Answer) (when []string) {
	for i := range f.Cases {
		if f.Cases[i].Answer == a {
			when = append(when, f.Cases[i].When)
		}
	}
	return when
}

// trial is a case that is being simulated.
type trial struct {
	of       *Case
	variants []model.Config
	n        int
	columns  [][2]column // by measure: A and B
}

// Evaluate puts claims to the test. The findings depend on the claims and the
// seed alone. When ctx ends first, those that are complete are returned with its
// error.
func Evaluate(ctx context.Context, claims []Claim, o Options) ([]Finding, error) {
	var trials []*trial
	var jobs []job
	byClaim := make([][]*trial, len(claims))
	for i := range claims {
		for k := range claims[i].Cases {
			t, err := newTrial(&claims[i].Cases[k], &o)
			if err != nil {
				return nil, fmt.Errorf("claim %s: %w", claims[i].ID, err)
			}
			trials, byClaim[i] = append(trials, t), append(byClaim[i], t)
			for r := range t.n {
				jobs = append(jobs, job{len(trials) - 1, r})
			}
		}
	}
	one := func(ctx context.Context, i int) ([][2]point, error) {
		return trials[jobs[i].trial].replicate(ctx, jobs[i].replication)
	}
	merged := 0
	merge := func(ts []*trial, points [][2]point) []*trial {
		ts[jobs[merged].trial].add(points)
		merged++
		return ts
	}
	var progress func(int)
	if o.Progress != nil {
		progress = func(done int) { o.Progress(done, len(jobs)) }
	}
	_, err := experiment.Fold(ctx, len(jobs), o.Workers, one, trials, merge, progress)
	if err != nil && !errors.Is(err, ctx.Err()) {
		return nil, err
	}
	var findings []Finding
	for i := range claims {
		f, complete := find(&claims[i], byClaim[i])
		if !complete {
			break
		}
		findings = append(findings, f)
	}
	return findings, err
}

// job is one replication of all variants of a case.
type job struct{ trial, replication int }

// point is a quantity of one replication.
type point struct{ part, whole float64 }

const replicationsDefault = 20

func newTrial(c *Case, o *Options) (*trial, error) {
	t := &trial{of: c, n: c.Replications, columns: make([][2]column, len(c.Tests)+len(c.Told))}
	if t.n == 0 {
		t.n = replicationsDefault
	}
	if o.Replications > 0 {
		t.n = min(t.n, o.Replications)
	}
	for _, v := range c.Runs() {
		cfg, err := c.Config(v, o.Seed)
		if err != nil {
			return nil, err
		}
		t.variants = append(t.variants, *cfg)
	}
	return t, nil
}

// Config is what a run of a variant takes.
func (c *Case) Config(v Variant, seed uint64) (*model.Config, error) {
	sc, err := scenarios.Named("claims/" + c.Scenario)
	if err == nil {
		sc, err = sc.Override(v.Sets...)
	}
	if err != nil {
		return nil, err
	}
	sc.Config.Seed = seed
	return &sc.Config, nil
}

// Runs are the variants of the case; the scenario as it is if there are none.
func (c *Case) Runs() []Variant {
	if len(c.Variants) == 0 {
		return []Variant{{Name: "as it is"}}
	}
	return c.Variants
}

// measures are those that decide, then those that are told.
func (c *Case) measures() []Measure {
	var all []Measure
	for i := range c.Tests {
		all = append(all, c.Tests[i].Measure)
	}
	return append(all, c.Told...)
}

// replicate runs all variants with the same random numbers.
func (t *trial) replicate(ctx context.Context, replication int) ([][2]point, error) {
	observed := make([]*Observed, len(t.variants))
	for i := range t.variants {
		var err error
		if observed[i], err = observe(ctx, &t.variants[i], replication); err != nil {
			return nil, fmt.Errorf("%s: %w", t.of.Scenario, err)
		}
	}
	points := make([][2]point, len(t.columns))
	for i, m := range t.of.measures() {
		for k, v := range [...]int{m.A, m.B} {
			points[i][k].part, points[i][k].whole = m.Of(observed[v])
		}
	}
	return points, nil
}

func (t *trial) add(points [][2]point) {
	for i, p := range points {
		for k := range p {
			t.columns[i][k].add(p[k].part, p[k].whole)
		}
	}
}

// find judges a claim by its trials; complete is false if some are missing.
func find(c *Claim, trials []*trial) (f Finding, complete bool) {
	f = Finding{Claim: c}
	if c.Table != nil {
		f.Cases = c.Table.find()
	}
	for _, t := range trials {
		if len(t.columns[0][0].part) < t.n {
			return f, false
		}
		f.Cases = append(f.Cases, t.find())
	}
	f.Verdict = verdict(f.Cases)
	return f, true
}

func (t *trial) find() CaseFinding {
	c := CaseFinding{When: t.of.When, Scenario: t.of.Scenario, Replications: t.n}
	for i, m := range t.of.measures() {
		x := m.By.interval(&t.columns[i][0], &t.columns[i][1])
		e := Estimate{Measure: m, Value: x.Value, Lo: x.Lo, Hi: x.Hi, Why: x.Why}
		if i < len(t.of.Tests) {
			e.Want = &t.of.Tests[i].Want
			e.Answer = e.Want.Judge(e.Lo, e.Hi)
		}
		c.Measures = append(c.Measures, e)
	}
	c.Answer = all(c.Measures)
	return c
}

// find has a case for each run of releases with the same figure.
func (t *Table) find() (cases []CaseFinding) {
	releases := model.Releases()
	var from string
	for i, release := range releases {
		x := t.figure(release)
		if i == 0 || x != t.figure(releases[i-1]) {
			from = release
		}
		if i+1 < len(releases) && x == t.figure(releases[i+1]) {
			continue
		}
		c := CaseFinding{When: "the release is " + from + " to " + release}
		if from == release {
			c.When = "the release is " + release
		}
		for k := range t.Want {
			e := Estimate{Measure: Measure{What: t.What, Unit: t.Unit}, Value: x, Lo: x, Hi: x, Want: &t.Want[k]}
			e.Answer = e.Want.Judge(x, x)
			c.Measures = append(c.Measures, e)
		}
		c.Answer = all(c.Measures)
		cases = append(cases, c)
	}
	return cases
}

// figure is what a release has; not a number if it is unknown.
func (t *Table) figure(release string) float64 {
	settings, err := model.Defaults(release, tableCores)
	traits, err2 := model.TraitsOf(release)
	if err != nil || err2 != nil {
		return math.NaN()
	}
	return t.Of(&settings, &traits)
}
