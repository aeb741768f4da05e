package summary

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/scenarios/claims"
)

// WriteClaims prints the table of claims: each with its verdict, and the figure
// that decides each of its cases.
func WriteClaims(w io.Writer, style ui.Style, findings []claims.Finding, repeat string) error {
	out := bufio.NewWriter(w)
	p := &printer{Writer: out, style: style}
	fmt.Fprintln(p, style.Bold(tally(findings)))
	p.text(0, 0, plain, fmt.Sprintf("Intervals are at %g %% confidence, ", claims.Confidence*100)+
		`a verdict is what all of them say; "brokersim claims ID" explains one.`)
	for i := range findings {
		f := &findings[i]
		fmt.Fprintf(p, "\n%s  %s\n", style.Bold(f.Claim.ID), mark(style, f.Verdict))
		p.text(2, 0, plain, f.Claim.Says)
		if f.Verdict == claims.NotBehaviour {
			p.text(4, 2, plain, f.Claim.Elsewhere)
		}
		for k := range f.Cases {
			c := &f.Cases[k]
			e := deciding(c)
			p.text(4, 2, plain, fmt.Sprintf("%s: %s: %s (%s), %s", c.Answer, c.When, figure(e), bounds(e), e.What))
		}
	}
	fmt.Fprintf(p, "\n%s\n", repeat)
	return out.Flush()
}

// tally counts the verdicts in words.
func tally(findings []claims.Finding) string {
	var n [claims.Undecided + 1]int64
	for i := range findings {
		n[findings[i].Verdict]++
	}
	words := []string{numeral.Plural(int64(len(findings)), "claim") + ":"}
	for _, v := range []claims.Verdict{claims.Holds, claims.HoldsWhen, claims.DoesNotHold, claims.Undecided, claims.NotBehaviour} {
		switch {
		case n[v] == 0:
		case v == claims.HoldsWhen:
			words = append(words, numeral.Count(n[v])+" hold in some cases,")
		case v == claims.Holds && n[v] > 1:
			words = append(words, numeral.Count(n[v])+" hold,")
		case v == claims.DoesNotHold && n[v] > 1:
			words = append(words, numeral.Count(n[v])+" do not hold,")
		case v == claims.NotBehaviour && n[v] > 1:
			words = append(words, numeral.Count(n[v])+" are not about behaviour,")
		default:
			words = append(words, numeral.Count(n[v])+" "+v.String()+",")
		}
	}
	return strings.TrimSuffix(strings.Join(words, " "), ",")
}

func mark(style ui.Style, v claims.Verdict) string {
	switch v {
	case claims.Holds:
		return style.Green(v.String())
	case claims.DoesNotHold:
		return style.Red(v.String())
	case claims.NotBehaviour:
		return style.Dim(v.String())
	}
	return v.String()
}

// deciding is the test that makes the answer: the first that comes to it.
func deciding(c *claims.CaseFinding) *claims.Estimate {
	for i := range c.Measures {
		if c.Measures[i].Want != nil && c.Measures[i].Answer == c.Answer {
			return &c.Measures[i]
		}
	}
	return &c.Measures[0]
}

// WriteClaim explains one claim.
func WriteClaim(w io.Writer, style ui.Style, f *claims.Finding, wrote []string, seed uint64, repeat string) error {
	out := bufio.NewWriter(w)
	p := &printer{Writer: out, style: style}
	c := f.Claim
	fmt.Fprintf(p, "%s  %s\n", style.Bold(c.ID), mark(style, f.Verdict))
	p.text(0, 0, style.Bold, c.Says)
	about := "release " + c.Release
	if c.Release == claims.EveryRelease {
		about = "every release"
	}
	p.text(0, 0, plain, "About "+about+"; the rules: facts "+c.Facts+" (model/FACTS.md)")
	switch f.Verdict {
	case claims.HoldsWhen:
		for _, when := range f.When(claims.Yes) {
			p.text(2, 2, plain, "holds when "+when)
		}
	case claims.NotBehaviour:
		p.heading("Instead")
		p.text(2, 0, plain, c.Elsewhere)
	}
	if c.Why != "" {
		p.heading("Why")
		p.text(2, 0, plain, c.Why)
	}
	for i := range f.Cases {
		p.claimCase(f, i, seed)
	}
	if len(wrote) > 0 {
		p.heading("Wrote")
		for _, path := range wrote {
			fmt.Fprintln(p, "  "+path)
		}
	}
	fmt.Fprintf(p, "\n%s\n", repeat)
	return out.Flush()
}

// claimCase prints a case: what was run, and what came out.
func (p *printer) claimCase(f *claims.Finding, i int, seed uint64) {
	c := &f.Cases[i]
	p.heading("When %s: %s", c.When, c.Answer)
	if c.Scenario != "" {
		of := &f.Claim.Cases[i]
		p.text(2, 2, plain, fmt.Sprintf("%s of each, with the same random numbers:", numeral.Plural(int64(c.Replications), "replication")))
		for _, v := range of.Runs() {
			args := []string{"brokersim", "run", "claims/" + c.Scenario, "--seed", fmt.Sprint(seed), "-n", fmt.Sprint(c.Replications)}
			for _, set := range v.Sets {
				args = append(args, "--set", set)
			}
			fmt.Fprintf(p, "    %s: %s\n", v.Name, ui.Command(args...))
		}
	}
	t := ui.NewTable("", ">measured", fmt.Sprintf(">%g %% interval", claims.Confidence*100), "wanted", "")
	for k := range c.Measures {
		e := &c.Measures[k]
		want, answer := "", ""
		if e.Want != nil {
			want, answer = e.Want.In(e.Unit), e.Answer.String()
		}
		t.Row(e.What, figure(e), bounds(e), want, answer)
	}
	t.Write(p, 2, p.style.Width)
}

// figure prints an estimate in its unit: "12.1 %".
func figure(e *claims.Estimate) string {
	if math.IsNaN(e.Value) {
		return "none"
	}
	digits := numeral.Digits(e.Value * e.Unit.Factor())
	if exact(e) {
		digits = numeral.Short(e.Value * e.Unit.Factor())
	}
	return strings.TrimSpace(digits + " " + e.Unit.String())
}

// bounds prints an estimate's interval without the unit, or why there is none.
func bounds(e *claims.Estimate) string {
	x := e.Unit.Factor()
	switch {
	case math.IsNaN(e.Lo) || math.IsNaN(e.Hi):
		return e.Why
	case exact(e):
		return "exactly"
	case math.IsInf(e.Hi, 1):
		return "at least that"
	}
	return numeral.Range(e.Lo*x, e.Hi*x)
}

// exact reports whether an interval is too narrow to be told from its value.
func exact(e *claims.Estimate) bool { return e.Hi-e.Lo <= 1e-6*math.Abs(e.Value) }
