package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/model/recording/atomicfile"
	"brokersim/plots/numeral"
	"brokersim/realstore/calibrate"
	"brokersim/realstore/probe"
	"brokersim/sim/variate"
)

func newCalibrate() *cobra.Command {
	var c calibration
	cmd := &cobra.Command{
		Use:   "calibrate RUN... -o FILE.toml",
		Short: "Make a profile of measured appends",
		Long: `Fit a profile to runs of probe: what a record and a byte cost, what crossing a
boundary of the file costs in and outside a flush, how often what stalls an append,
flushes, rolls and hand-offs. RUN is the folder of a run, or one that holds runs.

The last run is not fitted: the modelled store is given its arrivals, and what it
makes of them is held against what was measured. No tail is extrapolated. The same
runs give the same file.`,
		Example: `  brokersim calibrate out/probe -o disk.toml
  brokersim run incident-208ms --set store.profile=disk.toml`,
		Args: operands("one RUN at least", 1, 1000),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&c.to, "output", "o", "", "write the profile to `FILE.toml`, or to stdout for -")
	f.StringVar(&c.Title, "title", "", "title of the profile, instead of one of what was measured")
	f.StringVar(&c.Origin, "origin", "", "what a reader should know beside, in words")
	f.BoolVar(&c.json, "json", false, "print what was fitted as JSON")
	f.BoolVar(&c.quiet, "quiet", false, "no warnings on stderr; errors are still told")
	cmd.RunE = action(c.do)
	return cmd
}

type calibration struct {
	calibrate.Options
	to          string
	json, quiet bool
}

func (c *calibration) do(cmd *cobra.Command, args []string) error {
	switch {
	case c.to == "":
		return usageError(cmd, errors.New("calibrate: want -o FILE.toml"))
	case c.to == "-" && c.json:
		return usageError(cmd, errors.New("--json and -o - both want stdout: name a file"))
	}
	if err := replaceable(c.to); err != nil {
		return err
	}
	var runs []*probe.Run
	for _, arg := range args {
		found, err := probe.Find(arg)
		if err != nil {
			return badInput(err)
		}
		for _, dir := range found {
			r, err := probe.Read(os.DirFS(dir), ".")
			if err != nil {
				return badInput(fmt.Errorf("%s: %w", dir, err))
			}
			runs = append(runs, r)
		}
	}
	result, err := calibrate.Fit(cmd.Context(), runs, c.Options)
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.Is(err, calibrate.ErrRuns):
		return badInput(err)
	case err != nil:
		return err
	}
	if !c.quiet {
		for _, w := range result.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
		}
	}
	return c.tell(cmd.OutOrStdout(), result)
}

// profileHead is how a profile begins.
const profileHead = "# A profile of brokersim"

// replaceable refuses to write over what is no profile.
func replaceable(path string) error {
	if path == "-" {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return outputError("-o", err)
	}
	defer f.Close()
	head := make([]byte, len(profileHead))
	n, _ := io.ReadFull(f, head)
	if n > 0 && !bytes.Equal(head[:n], []byte(profileHead)) {
		return outputError("-o", fmt.Errorf("%s is %w: it is no profile; name another", path, output.ErrNotOurs))
	}
	return nil
}

func (c *calibration) tell(w io.Writer, r *calibrate.Result) error {
	text := r.Profile.Encode()
	if c.to == "-" {
		_, err := w.Write(text)
		return err
	}
	if err := atomicfile.WriteFile(c.to, text); err != nil {
		return err
	}
	if c.json {
		data, err := encode(fittedOf(r))
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	return c.print(w, r)
}

// fitted is what --json prints.
type fitted struct {
	Title    string      `json:"title"`
	Fitted   int         `json:"runs_fitted"`
	HeldOut  int         `json:"run_held_out,omitempty"`
	Classes  []class     `json:"classes"`
	Fit      []agreement `json:"fit"`
	Warnings []string    `json:"warnings"`
}

// class is a table of the profile.
type class struct {
	Name  string  `json:"name"`
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ns"`
	P99   float64 `json:"p99_ns"`
	Cap   int64   `json:"cap_ns"`
	Every float64 `json:"every_ns,omitempty"`
	Share float64 `json:"share,omitempty"`
}

// agreement is a model.Fit.
type agreement struct {
	Quantity    string  `json:"quantity"`
	Against     string  `json:"against"`
	KS          float64 `json:"ks"`
	Wasserstein float64 `json:"wasserstein"` // over the mean
	Ratios      []ratio `json:"ratios"`
}

// ratio is that of a quantile foretold to the one measured.
type ratio struct {
	P     float64 `json:"p"`
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

func fittedOf(r *calibrate.Result) fitted {
	out := fitted{
		Title: r.Profile.Title, Fitted: r.Fitted, HeldOut: r.HeldOut, Classes: classes(r.Profile),
		Fit: []agreement{}, Warnings: slices.Concat([]string{}, r.Warnings),
	}
	for _, f := range r.Profile.Fit {
		a := agreement{f.Quantity, f.Against, f.KS, f.Wasserstein, nil}
		for _, q := range f.Ratios {
			a.Ratios = append(a.Ratios, ratio(q))
		}
		out.Fit = append(out.Fit, a)
	}
	return out
}

// classes lists the tables of a profile. A rung's times include the cost of a
// record, without its bytes.
func classes(p *model.Profile) (out []class) {
	add := func(name string, t *model.Table, base, every, share float64) {
		if t.Takes != nil {
			out = append(out, class{name, t.Count, base + t.Takes.Quantile(0.5), base + t.Takes.Quantile(0.99), int64(t.Cap), every, share})
		}
	}
	for i := range p.Ladder {
		r := &p.Ladder[i]
		add(fmt.Sprintf("append crossing %s, %s", r.Crosses, r.Phase), &r.Table, p.PerRecord, 0, 0)
	}
	for i := range p.Stalls {
		s := &p.Stalls[i]
		every := 0.0
		if s.Every != nil {
			every = s.Every.Mean()
		}
		add("stall: "+s.Name, &s.Table, 0, every, s.Share)
	}
	for i := range p.Flushes {
		add("flush, "+p.Flushes[i].Mode.String(), &p.Flushes[i].Table, 0, 0, 0)
	}
	add("roll", &p.Roll, 0, 0, 0)
	add("hand-off", &p.Handoff.IdleWake, 0, 0, 0)
	return out
}

func (c *calibration) print(w io.Writer, r *calibrate.Result) error {
	style := ui.StyleOf(w)
	out := bufio.NewWriter(w)
	verdict := "profile of " + numeral.Plural(int64(r.Fitted), "run") + ", held against none"
	if r.HeldOut > 0 {
		verdict = fmt.Sprintf("profile of %s, held against run %d, which was not fitted", numeral.Plural(int64(r.Fitted), "run"), r.HeldOut)
	}
	fmt.Fprintf(out, "%s\n\n", style.Bold(verdict))
	p := r.Profile
	fmt.Fprintf(out, "a record %s ns, each byte %s ns\n", numeral.Digits(p.PerRecord), numeral.Digits(p.PerByte))
	t := ui.NewTable("", ">seen", ">p50", ">p99", ">longest", "")
	for _, x := range classes(p) {
		note := ""
		switch {
		case x.Every > 0:
			note = "each " + spoken(x.Every)
		case x.Share > 0:
			note = numeral.Percent(x.Share) + " % of the new pages"
		}
		t.Row(x.Name, numeral.Count(x.Count), spoken(x.P50), spoken(x.P99), spoken(float64(x.Cap)), note)
	}
	t.Write(out, 0, style.Width)
	printFit(out, style, p.Fit)
	fmt.Fprintf(out, "wrote %s\n\n", c.to)
	fmt.Fprintln(out, ui.Command("brokersim", "run", "incident-208ms", "--set", "store.profile="+filepath.ToSlash(c.to)))
	return out.Flush()
}

// printFit is a table of how the profile, and the fitted runs themselves,
// foretell the run that was not fitted.
func printFit(out io.Writer, style ui.Style, fits []model.Fit) {
	if len(fits) == 0 {
		return
	}
	heads := []string{"foretold/measured"}
	for _, q := range fits[0].Ratios {
		heads = append(heads, fmt.Sprintf(">p%.6g", q.P*100))
	}
	t := ui.NewTable(append(heads, ">KS", ">W1/mean")...)
	for _, fit := range fits {
		values, bounds := []string{fit.Quantity}, []string{"  95 % interval"}
		for _, q := range fit.Ratios {
			values = append(values, numeral.Digits(q.Ratio))
			bounds = append(bounds, numeral.Digits(q.Lo)+"–"+numeral.Digits(q.Hi))
		}
		t.Row(append(values, numeral.Digits(fit.KS), numeral.Digits(fit.Wasserstein))...)
		t.Row(bounds...)
	}
	fmt.Fprintln(out)
	t.Write(out, 0, style.Width)
}

func spoken(ns float64) string { return nanoseconds(variate.Round(ns)) }
