package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/realstore/probe"
	"brokersim/sim"
	"brokersim/sim/variate"
)

func newProbe() *cobra.Command {
	p := probing{Options: probe.DefaultOptions()}
	seed := whole{value: int64(p.Seed), least: 0, most: math.MaxInt64}
	runs := whole{value: int64(p.Runs), least: 1, most: 100}
	cmd := &cobra.Command{
		Use:   "probe --dir DIR",
		Short: "Measure what appends take on a disk",
		Long: fmt.Sprintf(`Append to a commit log of its own under DIR, as an open loop, and keep every time:
waiting, lock, roll, append and flush of each append, from the instant at which it
was intended. The store is removed afterwards. calibrate makes a profile of the
runs, which a scenario's store.profile names.

Each run goes to a folder of its own in --out: samples and flushes as CSV, run.json
with settings, machine, histograms and warnings. A run that is interrupted is
thrown away, complete ones are kept. Measuring needs Linux.

By default it takes %v and %d MiB of the disk; a processor is busy meanwhile.`,
			(time.Duration(p.Runs) * (p.Duration + 2*time.Second)).Round(time.Second), p.DiskBytes()>>20),
		Example: `  brokersim probe --dir .
  brokersim probe --dir . --flush timed --rate 2000/s --body 4KiB --duration 30s`,
		Args: operands("no operand", 0, 0),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&p.dir, "dir", "", "`DIR` on the disk to measure")
	f.Var(&quantity{set: func(text string) (err error) { p.Rate, err = variate.ParseRate(text); return err }, text: "10000/s"}, "rate", "appends, Poisson, as `RATE`")
	f.Var(&quantity{set: p.setBody, text: p.Body.String()}, "body", "`SIZE` of a body, or a distribution")
	f.DurationVar(&p.Duration, "duration", p.Duration, "`TIME` of a run")
	f.Var(&runs, "runs", "runs; calibrate holds a profile against the last")
	f.Var(&quantity{set: choice(probe.FlushModes, func(i int) { p.Flush = probe.FlushMode(i) }), text: p.Flush.String()}, "flush",
		"`MODE`: woken by appends, as up to 4.9.0; timed, as later; or sync")
	f.Var(&quantity{set: choice(probe.Kinds, func(i int) { p.Kind = probe.Kind(i) }), text: p.Kind.String()}, "kind", "`KIND`: mmap, or pool, the transient store pool")
	f.Var(&quantity{set: func(text string) (err error) { p.FileSize, err = variate.ParseBytes(text); return err }, text: "32MiB"}, "file-size", "`SIZE` of a commit log file")
	f.Var(&seed, "seed", "root of instants and sizes")
	f.BoolVar(&p.Keep, "keep", false, "leave the stores in DIR/"+probe.StoreName)
	f.StringVar(&p.out, "out", filepath.Join("out", "probe"), "`DIR` for the runs")
	f.BoolVar(&p.json, "json", false, "print a JSON array of the runs, without their samples")
	f.BoolVar(&p.quiet, "quiet", false, "no progress on stderr; errors are still told")
	cmd.RunE = action(func(cmd *cobra.Command, _ []string) error {
		if p.dir == "" {
			return usageError(cmd, errors.New("probe: want --dir"))
		}
		p.Seed, p.Runs = uint64(seed.value), int(runs.value)
		return p.do(cmd)
	})
	return cmd
}

// quantity is a flag with a parser of its own.
type quantity struct {
	set  func(string) error
	text string
}

func (q *quantity) String() string { return q.text }
func (q *quantity) Type() string   { return "" }
func (q *quantity) Set(text string) error {
	q.text = text
	return q.set(text)
}

// choice parses one of some words.
func choice(of []string, set func(int)) func(string) error {
	return func(text string) error {
		for i, word := range of {
			if text == word {
				set(i)
				return nil
			}
		}
		return fmt.Errorf("want %s", strings.Join(of, ", "))
	}
}

type probing struct {
	probe.Options
	dir, out    string
	json, quiet bool
}

func (p *probing) setBody(text string) (err error) {
	p.Body, err = variate.ParseDist(text, variate.Bytes)
	return err
}

func (p *probing) do(cmd *cobra.Command) error {
	if err := p.Validate(); err != nil {
		return badInput(err)
	}
	folder, err := output.Claim(p.out)
	if err != nil {
		return outputError("--out", err)
	}
	defer folder.Abandon()
	progress := ui.NewProgress(talkOf(cmd, p.quiet), func(v int64) string { return time.Duration(v).Round(time.Second).String() })
	var runs []*probe.Run
	err = probe.Do(cmd.Context(), p.dir, p.Options,
		func(done, total time.Duration) { progress.Set(int64(done), int64(total)) },
		func(r *probe.Run) error {
			if len(runs) == 0 {
				if err := removeRuns(p.out); err != nil {
					return err
				}
			}
			if err := writeRun(folder, r); err != nil {
				return err
			}
			r.Samples, r.Flushes = nil, nil // written
			runs = append(runs, r)
			return nil
		})
	progress.Done()
	interrupted := errors.Is(err, context.Canceled)
	switch {
	case errors.Is(err, probe.ErrInput):
		return badInput(err)
	case err != nil && !interrupted:
		return err
	}
	if err := p.tell(cmd.OutOrStdout(), runs, interrupted); err != nil {
		return err
	}
	if interrupted {
		return &exitError{code: exitInterrupted}
	}
	return nil
}

// writeRun puts a run into a folder of its own.
func writeRun(folder *output.Folder, r *probe.Run) error {
	name := probe.RunName(r.Number)
	if err := os.MkdirAll(folder.Path(name), 0o777); err != nil {
		return err
	}
	return r.Write(func(file string, data []byte) error { return folder.Write(filepath.Join(name, file), data) })
}

// removeRuns takes away the runs of an earlier probe: those of one are fitted
// together.
func removeRuns(out string) error {
	found, _ := probe.Find(out) // none is no error here
	for _, dir := range found {
		if filepath.Clean(dir) == filepath.Clean(out) {
			continue
		}
		if err := probe.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

func (p *probing) tell(w io.Writer, runs []*probe.Run, interrupted bool) error {
	if p.json {
		if runs == nil {
			runs = []*probe.Run{}
		}
		data, err := encode(runs)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	style := ui.StyleOf(w)
	out := bufio.NewWriter(w)
	verdict := ""
	if interrupted {
		verdict = "interrupted; "
	}
	if len(runs) == 0 {
		fmt.Fprintln(out, style.Bold(verdict+"no run was complete"))
		return out.Flush()
	}
	warned := 0
	for _, r := range runs {
		if len(r.Warnings) > 0 {
			warned++
		}
	}
	last := runs[len(runs)-1]
	verdict += fmt.Sprintf("%s of %s appends/s measured", numeral.Plural(int64(len(runs)), "run"), numeral.Digits(last.Settings.Rate))
	if warned > 0 {
		verdict += fmt.Sprintf("; %d of them disturbed or short", warned)
	}
	fmt.Fprintf(out, "%s\n\n", style.Bold(verdict))
	printRuns(out, style, runs)
	e := &last.Environment
	fmt.Fprintf(out, "\n%s on %s, Linux %s, %s, %s flush\n", e.FileSystem, e.Device, e.Kernel, last.Settings.Kind, last.Settings.Flush)
	c := &last.Cost
	fmt.Fprintf(out, "Measuring costs %s a reading of the clock, %s an append (p99 %s).\n", nanoseconds(int64(c.Clock+0.5)), nanoseconds(c.LoopP50), nanoseconds(c.LoopP99))
	for i, r := range runs {
		for _, warning := range r.Warnings {
			fmt.Fprintf(out, "warning: run %d: %s\n", i+1, warning)
		}
	}
	dir := p.out
	fmt.Fprintf(out, "wrote %s to %s\n\n", numeral.Plural(int64(len(runs)), "run"), dir)
	fmt.Fprintln(out, ui.Command("brokersim", "calibrate", dir, "-o", "profile.toml"))
	return out.Flush()
}

// printRuns is a table of each run's parts.
func printRuns(out io.Writer, style ui.Style, runs []*probe.Run) {
	t := ui.NewTable("run", "", ">p50", ">p90", ">p99", ">p99.9", ">p99.99", ">max")
	for i, r := range runs {
		name := fmt.Sprint(i + 1)
		row := func(what string, q probe.Quantiles) {
			t.Row(name, what, nanoseconds(q.P50), nanoseconds(q.P90), nanoseconds(q.P99), nanoseconds(q.P999), nanoseconds(q.P9999), nanoseconds(q.Max))
			name = ""
		}
		row("sojourn", r.Summary.Sojourn)
		for _, part := range r.Summary.Parts {
			if part.Max > 0 {
				row("  "+part.Part, part.Quantiles)
			}
		}
		row("pacer late", r.Summary.PacerLate)
		row("flush thread", r.Summary.FlushTakes)
	}
	t.Write(out, 0, style.Width)
}

// nanoseconds prints a time; 0 is one that the run was too short for.
func nanoseconds(ns int64) string {
	if ns == 0 {
		return "-"
	}
	return numeral.Duration(sim.Time(ns))
}
