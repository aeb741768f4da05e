package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/sim/analytic"
)

func newVerify() *cobra.Command {
	seed := whole{value: 1, least: 0, most: math.MaxInt64}
	customers := whole{value: 400_000, least: 1000, most: 100_000_000}
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare the kernel with closed forms",
		Long: fmt.Sprintf(`Simulate queues whose behaviour is known in closed form with the kernel that the
broker runs on, and compare: each closed form must lie within the interval of the
simulated figure at %g %% confidence, and the waiting times of a queue without a
closed form must equal Lindley's recursion to the ns. Exit code 1 if one fails, 98
if there were too few customers for an interval.`, analytic.CheckConfidence*100),
		Example: "  brokersim verify\n  brokersim verify --customers 2000000 --seed 7",
		Args:    operands("no operand", 0, 0),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(&seed, "seed", "root of all random streams")
	f.Var(&customers, "customers", "customers of each queue")
	f.BoolVar(&asJSON, "json", false, "print a JSON array")
	f.BoolVar(&quiet, "quiet", false, "no progress on stderr; errors are still told")
	cmd.RunE = action(func(cmd *cobra.Command, _ []string) error {
		checks, err := verify(cmd.Context(), talkOf(cmd, quiet), uint64(seed.value), int(customers.value))
		if err != nil {
			return err
		}
		return tellChecks(cmd.OutOrStdout(), checks, asJSON)
	})
	return cmd
}

// verify makes the checks, with progress, until ctx ends.
func verify(ctx context.Context, talk io.Writer, seed uint64, customers int) ([]analytic.Check, error) {
	progress := ui.NewProgress(talk, numeral.Count)
	defer progress.Done()
	checks, err := analytic.Verify(ctx, seed, customers, func(done, total int) { progress.Set(int64(done), int64(total)) })
	if err != nil {
		return nil, &exitError{exitInterrupted, errors.New("interrupted")}
	}
	return checks, nil
}

// check is an analytic.Check as JSON has it, which knows no NaN.
type check struct {
	Name       string   `json:"name"`
	Quantity   string   `json:"quantity"`
	Want       float64  `json:"closed_form"`
	Got        *float64 `json:"simulated"`
	Lo         *float64 `json:"lo"`
	Hi         *float64 `json:"hi"`
	Confidence float64  `json:"confidence"`
	Passed     bool     `json:"passed"`
	Why        string   `json:"no_interval,omitempty"`
}

func tellChecks(out io.Writer, checks []analytic.Check, asJSON bool) error {
	var failed, undecided int64
	for _, c := range checks {
		switch {
		case isUndecided(c):
			undecided++
		case !c.Passed:
			failed++
		}
	}
	write := func() error { return printChecks(out, checks, failed, undecided) }
	if asJSON {
		write = func() error { return writeChecks(out, checks) }
	}
	err := write()
	switch {
	case err != nil:
		return err
	case failed > 0:
		return &exitError{code: exitInternal}
	case undecided > 0:
		return &exitError{code: exitUndecided}
	}
	return nil
}

// isUndecided reports whether a check has no interval to hold its closed form
// against.
func isUndecided(c analytic.Check) bool { return !c.Passed && math.IsNaN(c.Lo) && math.IsNaN(c.Hi) }

func writeChecks(out io.Writer, checks []analytic.Check) error {
	list := make([]check, len(checks))
	for i, c := range checks {
		list[i] = check{c.Name, c.Quantity, c.Want, number(c.Got), number(c.Lo), number(c.Hi), c.Confidence, c.Passed, c.Why}
	}
	data, err := encode(list)
	if err == nil {
		_, err = out.Write(data)
	}
	return err
}

func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func printChecks(w io.Writer, checks []analytic.Check, failed, undecided int64) error {
	style := ui.StyleOf(w)
	out := bufio.NewWriter(w)
	all := numeral.Plural(int64(len(checks)), "check")
	verdict := "all " + all + " passed"
	switch {
	case failed > 0:
		verdict = fmt.Sprintf("%s of %s failed", numeral.Count(failed), all)
	case undecided > 0:
		verdict = fmt.Sprintf("none of %s failed, %s undecided: too few customers for an interval", all, numeral.Count(undecided))
	}
	fmt.Fprintf(out, "%s\n\n", style.Bold(verdict))
	t := ui.NewTable("", ">closed form", ">simulated", fmt.Sprintf(">%g %% interval", analytic.CheckConfidence*100), "")
	for _, c := range checks {
		bounds, mark := c.Why, style.Green("passed")
		if c.Why == "" {
			bounds = numeral.Digits(c.Lo) + " to " + numeral.Digits(c.Hi)
		}
		switch {
		case isUndecided(c):
			mark = "undecided"
		case !c.Passed:
			mark = style.Red("FAILED")
		}
		t.Row("  "+c.Quantity, numeral.Digits(c.Want), numeral.Digits(c.Got), bounds, mark)
	}
	lines := t.Lines()
	fmt.Fprintln(out, lines[0])
	for i, c := range checks {
		if i == 0 || c.Name != checks[i-1].Name {
			fmt.Fprintln(out, c.Name)
		}
		fmt.Fprintln(out, lines[1+i])
	}
	return out.Flush()
}
