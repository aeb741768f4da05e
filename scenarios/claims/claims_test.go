package claims

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/scenarios"
)

var update = flag.Bool("update", false, "write the README's table of claims")

// findings are those of the command without flags.
var findings = sync.OnceValues(func() (map[string]*Finding, error) {
	all := All()
	list, err := Evaluate(context.Background(), all, Options{Seed: 1})
	byID := map[string]*Finding{}
	for i := range list {
		byID[list[i].Claim.ID] = &list[i]
	}
	return byID, err
})

func found(t *testing.T) map[string]*Finding {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("all claims take some 20 s")
	}
	f, err := findings()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The verdict of each claim follows from figures that are held here against
// bounds of their own: in each case the measure that decides is what it was when
// the case was understood, and lies where the answer says.
func TestVerdicts(t *testing.T) {
	got := found(t)
	told := map[string]bool{}
	for _, c := range verdicts {
		t.Run(c.id, func(t *testing.T) {
			told[c.id] = true
			f := got[c.id]
			if f == nil {
				t.Fatal("no such claim")
			}
			if f.Verdict != c.verdict {
				t.Errorf("verdict: got %v, want %v", f.Verdict, c.verdict)
			}
			if len(f.Cases) != len(c.cases) {
				t.Fatalf("got %d cases, want %d", len(f.Cases), len(c.cases))
			}
			for i, want := range c.cases {
				checkCase(t, &f.Cases[i], want)
			}
		})
	}
	for id := range got {
		if !told[id] {
			t.Errorf("claim %s is not tested", id)
		}
	}
}

func checkCase(t *testing.T, c *CaseFinding, want decided) {
	t.Helper()
	if c.Answer != want.answer {
		t.Errorf("%s: got %v, want %v", c.When, c.Answer, want.answer)
	}
	e := &c.Measures[want.measure]
	x := e.Unit.Factor()
	if !(e.Lo*x >= want.lo && e.Hi*x <= want.hi) {
		t.Errorf("%s: %s: got %g to %g %v, want within %g to %g", c.When, e.What, e.Lo*x, e.Hi*x, e.Unit, want.lo, want.hi)
	}
}

// Every test of every case can come to each answer: figures on the other side of
// its bound turn it, and with it the case and the claim.
func TestContraryFiguresTurnTheVerdict(t *testing.T) {
	for _, c := range All() {
		var cases []CaseFinding
		if c.Table != nil {
			cases = c.Table.find()
		}
		for i := range c.Cases {
			cases = append(cases, CaseFinding{Measures: wanted(&c.Cases[i])})
		}
		if len(cases) == 0 {
			continue
		}
		for i := range cases {
			decide(cases, i, math.NaN())
			for k := range cases[i].Measures {
				e := &cases[i].Measures[k]
				if e.Want == nil {
					continue
				}
				const apart = 1e-3
				yes := e.Want.Bound + apart*(1+math.Abs(e.Want.Bound))
				no := e.Want.Bound - apart*(1+math.Abs(e.Want.Bound))
				if e.Want.Op == "<" {
					yes, no = no, yes
				}
				for _, x := range []struct {
					lo, hi float64
					want   Answer
				}{{yes, yes, Yes}, {no, no, No}, {min(yes, no), max(yes, no), CantTell}, {math.NaN(), math.NaN(), CantTell}} {
					if got := e.Want.Judge(x.lo, x.hi); got != x.want {
						t.Errorf("%s, case %d, %s %s: of %g to %g got %v, want %v", c.ID, i+1, e.What, e.Want.In(e.Unit), x.lo, x.hi, got, x.want)
					}
				}
			}
		}
		each := func(a Answer) Verdict {
			for i := range cases {
				cases[i].Answer = a
			}
			return verdict(cases)
		}
		if got := [...]Verdict{each(Yes), each(No), each(CantTell)}; got != [...]Verdict{Holds, DoesNotHold, Undecided} {
			t.Errorf("%s: with all cases yes, no, can't tell: got %v", c.ID, got)
		}
		if len(cases) > 1 {
			each(No)
			cases[len(cases)-1].Answer = Yes
			if got := verdict(cases); got != HoldsWhen {
				t.Errorf("%s: with one case yes: got %v, want %v", c.ID, got, HoldsWhen)
			}
		}
	}
}

// wanted are the tests of a case without figures.
func wanted(c *Case) (tests []Estimate) {
	for i := range c.Tests {
		tests = append(tests, Estimate{Measure: c.Tests[i].Measure, Want: &c.Tests[i].Want})
	}
	return tests
}

// decide gives each measure of a case the figure x.
func decide(cases []CaseFinding, i int, x float64) {
	for k := range cases[i].Measures {
		e := &cases[i].Measures[k]
		e.Value, e.Lo, e.Hi = x, x, x
		if e.Want != nil {
			e.Answer = e.Want.Judge(x, x)
		}
	}
	cases[i].Answer = all(cases[i].Measures)
}

// A case of several tests is as its worst.
func TestAll(t *testing.T) {
	w := &Want{"<", 1}
	for _, c := range []struct {
		name    string
		answers []Answer
		want    Answer
	}{
		{"all", []Answer{Yes, Yes}, Yes},
		{"one not", []Answer{Yes, No, CantTell}, No},
		{"one can't be told", []Answer{CantTell, Yes}, CantTell},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := Estimate{Answer: No} // of which nothing is wanted
			tests := []Estimate{told}
			for _, a := range c.answers {
				tests = append(tests, Estimate{Want: w, Answer: a})
			}
			if got := all(tests); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// What a claim is about is in the model: when that is taken away, so is the
// verdict.
func TestVerdictsFollowTheScenario(t *testing.T) {
	if raceEnabled {
		t.Skip("a race detector finds nothing here")
	}
	for _, c := range []struct {
		name, id string
		sets     []string // in each variant of the first case
		was, is  Answer
	}{
		{"a sweeper that is held up is not within 210 ms", "A2", []string{"stall.1.where=sweep", "stall.1.every=500ms", "stall.1.for=100ms"}, Yes, No},
		{"shorter stalls don't make the page cache busy", "A5", []string{"stall.0.for=900ms"}, Yes, No},
		{"a limit above the stall is never met", "queue-of-9", []string{"broker.waitTimeMillsInSendQueue=300"}, No, Yes},
		{"no sweep, no cure needed and no error", "B2", []string{"stall.0.for=1500ms"}, Yes, No},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim, err := Named(c.id)
			if err != nil {
				t.Fatal(err)
			}
			answer := func(sets []string) Answer {
				one := claim.Cases[0]
				one.Variants = nil
				for _, v := range claim.Cases[0].Runs() {
					v.Sets = append(v.Sets[:len(v.Sets):len(v.Sets)], sets...)
					one.Variants = append(one.Variants, v)
				}
				f, err := Evaluate(context.Background(), []Claim{{ID: c.id, Cases: []Case{one}}}, Options{Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				return f[0].Cases[0].Answer
			}
			if got := answer(nil); got != c.was {
				t.Errorf("as it is: got %v, want %v", got, c.was)
			}
			if got := answer(c.sets); got != c.is {
				t.Errorf("with %v: got %v, want %v", c.sets, got, c.is)
			}
		})
	}
}

func TestFindingsDoNotDependOnWorkers(t *testing.T) {
	var text [2][]byte
	for i, workers := range []int{1, 3} {
		f, err := Evaluate(context.Background(), All()[:3], Options{Seed: 3, Workers: workers, Replications: 3})
		if err != nil {
			t.Fatal(err)
		}
		for k := range f {
			j, err := json.Marshal(f[k].Report())
			if err != nil {
				t.Fatal(err)
			}
			text[i] = append(text[i], j...)
		}
	}
	if !bytes.Equal(text[0], text[1]) {
		t.Errorf("1 worker and 3 differ:\n%s", cmp.Diff(string(text[0]), string(text[1])))
	}
}

// The table is complete: each claim of the facts has its line.
func TestComplete(t *testing.T) {
	seen := map[string]bool{}
	scenario := map[string]bool{}
	for _, c := range All() {
		if seen[c.ID] {
			t.Errorf("claim %s is there twice", c.ID)
		}
		seen[c.ID] = true
		ways := 0
		for _, there := range []bool{len(c.Cases) > 0, c.Table != nil, c.Elsewhere != ""} {
			if there {
				ways++
			}
		}
		if ways != 1 || c.Says == "" || c.Release == "" || c.Facts == "" || (c.Why == "") != (c.Elsewhere != "") {
			t.Errorf("claim %s: want one of cases, table and elsewhere, and what it says, is about and why", c.ID)
		}
		when := map[string]bool{}
		for i := range c.Cases {
			scenario[c.Cases[i].Scenario] = true
			if len(c.Cases[i].Tests) == 0 || when[c.Cases[i].When] || c.Cases[i].When == "" {
				t.Errorf("claim %s, case %d: want a condition of its own and a test", c.ID, i+1)
			}
			when[c.Cases[i].When] = true
		}
	}
	for i := range 12 {
		if id := fmt.Sprintf("A%d", i+1); !seen[id] {
			t.Errorf("claim %s is missing", id)
		}
	}
	for i := range 24 {
		if id := fmt.Sprintf("B%d", i+1); !seen[id] {
			t.Errorf("claim %s is missing", id)
		}
	}
	files, err := fs.Glob(os.DirFS("."), "*.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".toml")
		if !scenario[name] {
			t.Errorf("%s is no claim's", file)
		}
		sc, err := scenarios.Named("claims/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sc.Story == "" || sc.Config.Title == "" || len(sc.Expects) > 0 || len(sc.Warnings) > 0 {
			t.Errorf("%s: want a title and a story, no threshold and no warning, got %q", file, sc.Warnings)
		}
	}
}

// Settings that a variant overrides are read: no run warns of it.
func TestVariantsHaveAnEffect(t *testing.T) {
	for _, c := range All() {
		for i := range c.Cases {
			base, err := scenarios.Named("claims/" + c.Cases[i].Scenario)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range c.Cases[i].Variants {
				sc, err := base.Override(v.Sets...)
				if err != nil {
					t.Errorf("%s, case %d, %s: %v", c.ID, i+1, v.Name, err)
					continue
				}
				if len(sc.Warnings) > 0 {
					t.Errorf("%s, case %d, %s: %q", c.ID, i+1, v.Name, sc.Warnings)
				}
			}
		}
	}
}

func TestUnknownClaim(t *testing.T) {
	_, err := Named("raise-limits")
	if err == nil || !strings.Contains(err.Error(), `did you mean "raise-limit"?`) {
		t.Errorf("got %v, want the nearest ID", err)
	}
}

// An interrupt leaves the claims that are complete.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	table := Claim{ID: "table", Table: &Table{Want: []Want{{">", 0}}, Of: func(*model.Settings, *model.Traits) float64 { return 1 }}}
	long, err := Named("A1")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Evaluate(ctx, []Claim{table, long, table}, Options{Progress: func(done, total int) { cancel() }, Workers: 1})
	if err == nil || len(f) != 1 || f[0].Verdict != Holds {
		t.Errorf("got %v and %d findings, want an error and the first claim", err, len(f))
	}
}

// The README's table is what the command finds.
func TestREADME(t *testing.T) {
	got := found(t)
	path := filepath.Join("..", "..", "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- claims -->\n", "<!-- /claims -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md has no %q ... %q", begin, end)
	}
	table := markdown(got)
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, table); diff != "" {
		t.Errorf("go test ./scenarios/claims -run README -update writes it (-README +now):\n%s", diff)
	}
}

// markdown is the table of all claims.
func markdown(got map[string]*Finding) string {
	var b strings.Builder
	b.WriteString("| | claim | verdict |\n|---|---|---|\n")
	for _, c := range All() {
		f := got[c.ID]
		says := f.Verdict.String()
		switch f.Verdict {
		case HoldsWhen:
			says += " " + strings.Join(f.When(Yes), "; or ")
		case NotBehaviour:
			says += ": " + c.Elsewhere
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.ID, c.Says, says)
	}
	return b.String()
}
