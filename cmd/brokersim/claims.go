package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/cmd/brokersim/internal/summary"
	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots"
	"brokersim/plots/numeral"
	"brokersim/scenarios/claims"
)

// claimStudy is the command claims, with its flags.
type claimStudy struct {
	seed, workers, replications whole
	json, quiet, noFigures      bool
	out                         string
}

func newClaims() *cobra.Command {
	s := claimStudy{
		seed:         whole{value: 1, least: 0, most: math.MaxInt64},
		replications: whole{value: replicationsMost, least: 2, most: replicationsMost},
		workers:      whole{value: int64(min(runtime.GOMAXPROCS(0), workersMost)), least: 1, most: workersMost},
	}
	cmd := &cobra.Command{
		Use:   "claims [ID]",
		Short: "Put to the test what people say about busy brokers",
		Long: `Simulate, for each popular claim, the cases in which it is tried, and say whether it
holds, holds in some of them, or does not hold, with the figures that decide. It
takes about a minute. With ID, explain that claim: the rule behind it, the numbers
of each variant, the commands that repeat them, and figures.

A claim holds in a case where all of an interval (at 99 % confidence) meets the
bound that the claim comes to. Variants differ in the overrides named, and meet the
same arrivals and stalls. Exit code 98 if a claim can't be told.`,
		Example: `  brokersim claims
  brokersim claims A9
  brokersim claims raise-limit --seed 7 --json`,
		Args:              operands("at most one ID", 0, 1),
		ValidArgsFunction: cobra.FixedCompletions(claimIDs(), cobra.ShellCompDirectiveNoFileComp),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(&s.seed, "seed", "root of all random streams")
	f.VarP(&s.replications, "replications", "n", "replications of each case at most: fewer are quicker, and decide less")
	f.VarP(&s.workers, "workers", "j", "replications at a time; no result depends on it")
	f.BoolVar(&s.json, "json", false, "print the claims as JSON and nothing else")
	f.StringVar(&s.out, "out", "", "`DIR` for the figures of a claim (default out/claim-<ID>)")
	f.BoolVar(&s.noFigures, "no-figures", false, "draw no figures")
	f.BoolVar(&s.quiet, "quiet", false, "no progress on stderr; errors are still told")
	f.Lookup("replications").DefValue = ""
	cmd.RunE = action(s.run)
	return cmd
}

func claimIDs() (ids []string) {
	for _, c := range claims.All() {
		ids = append(ids, c.ID)
	}
	return ids
}

func (s *claimStudy) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		if s.out != "" {
			return usageError(cmd, errors.New("--out: the figures are of one claim, name its ID"))
		}
		findings, interrupted, err := s.evaluate(cmd, claims.All())
		if err != nil {
			return err
		}
		return s.tell(cmd, findings, interrupted, func(w io.Writer) error {
			return summary.WriteClaims(w, ui.StyleOf(w), findings, s.repeat(args))
		})
	}
	c, err := claims.Named(args[0])
	if err != nil {
		return badInput(err)
	}
	var folder *output.Folder
	if !s.json && !s.noFigures && len(c.Cases) > 0 {
		if folder, err = output.Claim(cmp.Or(s.out, filepath.Join("out", "claim-"+c.ID))); err != nil {
			return outputError("--out", err)
		}
		defer folder.Abandon() // if nothing is written to it
	}
	findings, interrupted, err := s.evaluate(cmd, []claims.Claim{c})
	if err != nil {
		return err
	}
	var wrote []string
	if !interrupted && folder != nil {
		if wrote, err = s.figures(cmd.Context(), &c, folder); err != nil {
			return err
		}
	}
	return s.tell(cmd, findings, interrupted, func(w io.Writer) error {
		return summary.WriteClaim(w, ui.StyleOf(w), &findings[0], wrote, uint64(s.seed.value), s.repeat(args))
	})
}

// evaluate puts claims to the test, with progress. An interrupt leaves those that
// are complete.
func (s *claimStudy) evaluate(cmd *cobra.Command, all []claims.Claim) (findings []claims.Finding, interrupted bool, err error) {
	progress := ui.NewProgress(talkOf(cmd, s.quiet), numeral.Count)
	defer progress.Done()
	findings, err = claims.Evaluate(cmd.Context(), all, claims.Options{
		Seed: uint64(s.seed.value), Workers: int(s.workers.value), Replications: int(s.replications.value),
		Progress: func(done, total int) { progress.Set(int64(done), int64(total)) },
	})
	if errors.Is(err, context.Canceled) {
		return findings, true, nil
	}
	return findings, false, withStack(err)
}

// tell prints the findings, of which an interrupt may have left the first only,
// and gives the exit code.
func (s *claimStudy) tell(cmd *cobra.Command, findings []claims.Finding, interrupted bool, write func(io.Writer) error) error {
	var err error
	switch {
	case s.json:
		err = s.writeJSON(cmd.OutOrStdout(), findings, interrupted)
	case len(findings) > 0:
		err = write(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	if interrupted {
		return &exitError{exitInterrupted, errors.New("interrupted")}
	}
	for i := range findings {
		if findings[i].Verdict == claims.Undecided {
			return &exitError{code: exitUndecided}
		}
	}
	return nil
}

func (s *claimStudy) writeJSON(w io.Writer, findings []claims.Finding, partial bool) error {
	report := struct {
		Schema     string          `json:"schema"`
		Version    string          `json:"version"`
		Seed       uint64          `json:"seed"`
		Confidence float64         `json:"confidence"`
		Partial    bool            `json:"partial,omitempty"`
		Claims     []claims.Report `json:"claims"`
	}{"brokersim.claims/1", version, uint64(s.seed.value), claims.Confidence, partial, []claims.Report{}}
	for i := range findings {
		report.Claims = append(report.Claims, findings[i].Report())
	}
	data, err := encode(report)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// repeat is the command line that gives the same again.
func (s *claimStudy) repeat(args []string) string {
	line := append([]string{"brokersim", "claims"}, args...)
	line = append(line, "--seed", s.seed.String())
	if s.replications.value != replicationsMost {
		line = append(line, "-n", s.replications.String())
	}
	if s.out != "" {
		line = append(line, "--out", s.out)
	}
	if s.noFigures {
		line = append(line, "--no-figures")
	}
	return ui.Command(line...)
}

// figures draws the first replication of each variant of a claim's cases.
func (s *claimStudy) figures(ctx context.Context, c *claims.Claim, folder *output.Folder) ([]string, error) {
	var wrote []string
	for i := range c.Cases {
		for _, v := range c.Cases[i].Runs() {
			name := strconv.Itoa(i+1) + "-" + fileName(v.Name)
			in, err := s.draw(ctx, &c.Cases[i], v)
			if err != nil {
				return nil, fmt.Errorf("claims/%s, %s: %w", c.Cases[i].Scenario, v.Name, err)
			}
			for _, f := range []plots.Figure{plots.IncidentTimeline, plots.QueueLock} {
				for _, format := range formats {
					data, err := format.render(f, in)
					if err == nil {
						err = folder.Write(name+"-"+f.String()+format.ext, data)
					}
					if err != nil {
						return nil, err
					}
				}
			}
			wrote = append(wrote, folder.Path(name+"-{"+plots.IncidentTimeline.String()+","+plots.QueueLock.String()+"}.{png,svg}"))
		}
	}
	return wrote, nil
}

// draw runs a variant once for its figures.
func (s *claimStudy) draw(ctx context.Context, c *claims.Case, v claims.Variant) (plots.Input, error) {
	cfg, err := c.Config(v, uint64(s.seed.value))
	if err != nil {
		return plots.Input{}, err
	}
	recorder := plots.NewRecorder(cfg.Duration)
	if _, err := model.Replicate(ctx, cfg, 1, 1, recorder.Observer(), nil); err != nil {
		return plots.Input{}, err
	}
	return plots.Input{
		Name: cfg.Name, Title: "When " + c.When + ": " + v.Name, Seed: cfg.Seed, Release: cfg.Broker.Release,
		WaitLimitMs: cfg.Broker.WaitTimeMillsInSendQueue, BusyLimitMs: cfg.Broker.OsPageCacheBusyTimeOutMills,
		Duration: cfg.Duration, Recorder: recorder,
	}, nil
}

// fileName is a variant's name with what a file name should not have replaced.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, name)
}
