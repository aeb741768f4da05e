package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/cmd/brokersim/internal/summary"
	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots"
	"brokersim/plots/numeral"
	"brokersim/scenarios"
	"brokersim/sim"
	"brokersim/sim/experiment"
	"brokersim/sim/stat"
)

// job is what a command simulates and how it tells the result.
type job struct {
	scenario model.ScenarioRef
	release  string // that the scenario's file asks for; "": as config
	config   *model.Config
	expects  []scenarios.Expect
	warnings []string
	inputs   []string     // files that were read, which nothing may replace
	folder   string       // the default folder; "": that of the scenario's name
	repeat   string       // the command line that repeats it
	claim    func() error // nil: none; makes what else is written to, once all outputs are known to be possible
	simulate func(ctx context.Context, watch model.Observer, progress func(now sim.Time, done int)) (*model.Study, error)
	extend   func(*model.Result) any // nil: the JSON is the result's alone
	tell     func(io.Writer, ui.Style, summary.Input) error
}

// do simulates, writes what is to be left behind, and tells the result, also
// where something could not be written.
func (s *simulation) do(cmd *cobra.Command, j *job) error {
	folder, err := s.claimFolder(cmd, j)
	if err != nil {
		return err
	}
	defer folder.Abandon() // if nothing is written to it
	story := &summary.Story{Warmup: j.config.Warmup}
	recorder := plots.NewRecorder(j.config.Duration)
	watch := []model.Observer{story.Observer(), recorder.Observer()}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	requests, err := s.createRequests(cmd, cancel)
	if err != nil {
		return outputError("--requests", err)
	}
	if requests != nil {
		watch = append(watch, model.Observer{Attempt: requests.Write})
	}
	if j.claim != nil {
		if err := j.claim(); err != nil {
			if requests != nil {
				requests.Abandon()
			}
			return err
		}
	}

	report, progress := s.progress(cmd, j.config.Duration)
	study, err := j.simulate(ctx, all(watch), report)
	progress.Done()
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		if requests != nil {
			requests.Abandon()
		}
		return fmt.Errorf("%w\nthis repeats it: %s", withStack(err), j.repeat)
	}
	w := &written{cmd: cmd, quiet: s.quiet, partial: interrupted}
	w.requests(s.requests, requests)

	result := study.Result()
	result.Version = version
	result.Scenario = j.scenario
	result.Seed = j.config.Seed
	result.Partial = interrupted
	result.Thresholds = judge(j.expects, study, result)
	result.Warnings = append(result.Warnings, j.warnings...) // never nil

	w.result(folder, j, result)
	w.figures(folder, s.noFigures, plots.Input{
		Name: j.scenario.Name, Title: j.config.Title, Seed: j.config.Seed, Release: j.config.Broker.Release,
		WaitLimitMs: j.config.Broker.WaitTimeMillsInSendQueue, BusyLimitMs: j.config.Broker.OsPageCacheBusyTimeOutMills,
		Duration: j.config.Duration, Partial: result.Partial, Recorder: recorder,
		Latency: spectrum(study.LatencyHistogram(), &result.LatencyMs), Waiting: spectrum(study.WaitingHistogram(), &result.WaitingMs),
	})
	own := cmp.Or(j.release, j.config.Broker.Release)
	err = s.tell(cmd, j, summary.Input{
		Result: result, Study: study, Story: story, About: j.about(), Wrote: w.paths, Repeat: j.repeat,
		Replicates: cmd.Flags().Lookup("replications") != nil,
		Release:    j.config.Broker.Release, Own: own, Changes: j.config.ReleaseChanges(own),
	})
	switch err := errors.Join(append(w.failures, err)...); {
	case err != nil:
		return err
	case cmd.Context().Err() != nil:
		return &exitError{code: exitInterrupted}
	}
	return outcome(result)
}

// claimFolder claims the folder for figures and result.json, once it is known
// that --requests can be written beside it.
func (s *simulation) claimFolder(cmd *cobra.Command, j *job) (*output.Folder, error) {
	if output.IsStdout(s.requests) {
		s.requests = "-"
	}
	if s.json && s.requests == "-" {
		return nil, usageError(cmd, errors.New("--json and --requests - both want stdout: name a file"))
	}
	target, err := s.folder(j)
	if err != nil {
		return nil, err
	}
	if s.requests != "" && s.requests != "-" { // before there is a folder
		if err := output.Replaceable(s.requests, target, s.force, j.inputs); err != nil {
			return nil, outputError("--requests", err)
		}
	}
	folder, err := output.Claim(target)
	if err != nil {
		return nil, outputError("--out", err)
	}
	return folder, nil
}

// folder is the path of the folder for figures and result.json.
func (s *simulation) folder(j *job) (string, error) {
	if s.out != "" {
		return s.out, nil
	}
	name, err := folderName(cmp.Or(j.folder, j.scenario.Name))
	return filepath.Join("out", name), err
}

// createRequests begins the CSV of --requests; nil if there is to be none.
// The first failed write calls failed.
func (s *simulation) createRequests(cmd *cobra.Command, failed func()) (*output.Requests, error) {
	if s.requests == "" {
		return nil, nil
	}
	return output.CreateRequests(s.requests, cmd.OutOrStdout(), failed)
}

// progress is that of virtual time, or of replications if there are several.
func (s *simulation) progress(cmd *cobra.Command, duration sim.Time) (report func(now sim.Time, done int), p *ui.Progress) {
	talk := talkOf(cmd, s.quiet)
	if n := s.replications.value; n > 1 {
		p = ui.NewProgress(talk, numeral.Count)
		return func(_ sim.Time, done int) { p.Set(int64(done), n) }, p
	}
	p = ui.NewProgress(talk, func(v int64) string { return numeral.Duration(sim.Time(v)) })
	return func(now sim.Time, _ int) { p.Set(int64(now), int64(duration)) }, p
}

// spectrum gives the points of a percentile figure: those of a grid, and those
// that the summary tells as the summary has them.
func spectrum(h *stat.Histogram, s *model.Summary) []plots.Point {
	const perHalving = 16
	var points []plots.Point
	told := func(p float64, e *model.Estimate) {
		if e != nil {
			points = append(points, plots.Point{P: p, Ms: e.Value})
		}
	}
	told(0.5, s.P50)
	told(0.9, s.P90)
	told(0.99, s.P99)
	told(0.999, s.P999)
	for _, p := range h.Spectrum(perHalving) {
		points = append(points, plots.Point{P: p.Quantile, Ms: float64(p.Value) / 1e6})
	}
	slices.SortStableFunc(points, func(a, b plots.Point) int { return cmp.Compare(a.P, b.P) })
	return points
}

// tell prints the result on stdout; where the requests go there, on stderr.
func (s *simulation) tell(cmd *cobra.Command, j *job, in summary.Input) error {
	switch {
	case s.json:
		data, err := j.encode(in.Result)
		if err == nil {
			_, err = cmd.OutOrStdout().Write(data)
		}
		return err
	case s.requests != "-":
		return j.tell(cmd.OutOrStdout(), ui.StyleOf(cmd.OutOrStdout()), in)
	case !s.quiet:
		return j.tell(cmd.ErrOrStderr(), ui.StyleOf(cmd.ErrOrStderr()), in)
	}
	return nil
}

// encode gives JSON as people can read it.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// outcome is the exit code that a result asks for.
func outcome(r *model.Result) error {
	code := 0
	for _, mark := range r.Thresholds {
		switch {
		case mark.Passed == nil:
			code = max(code, exitUndecided)
		case !*mark.Passed:
			code = exitFailed
		}
	}
	if r.Partial {
		code = exitInterrupted
	}
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

// outputError gives a refusal to write the exit code of bad input.
func outputError(flag string, err error) error {
	err = fmt.Errorf("%s: %w", flag, err)
	if errors.Is(err, output.ErrNotOurs) {
		return badInput(err)
	}
	return err
}

// withStack adds the place of a panic in a replication.
func withStack(err error) error {
	var p *experiment.PanicError
	if errors.As(err, &p) {
		return fmt.Errorf("%w\n%s", err, p.Stack)
	}
	return err
}

// encode gives the result JSON, with what the job adds.
func (j *job) encode(r *model.Result) ([]byte, error) {
	if j.extend != nil {
		return encode(j.extend(r))
	}
	return encode(r)
}

// folderName is the default folder of a scenario. A name may come from what
// somebody else recorded: it must not lead out of where it is put.
func folderName(scenario string) (string, error) {
	switch {
	case scenario == "" || scenario == "." || scenario == "..":
		return "scenario", nil
	case strings.ContainsAny(scenario, `/\`) || strings.ContainsFunc(scenario, unicode.IsControl) || !filepath.IsLocal(scenario):
		return "", badInput(fmt.Errorf("%q can't be the name of a folder: name one with --out", scenario))
	}
	return scenario, nil
}

// about says what was simulated.
func (j *job) about() string {
	c := j.config
	s := fmt.Sprintf("%s: release %s, seed %d, %s simulated", cmp.Or(c.Title, c.Name), c.Broker.Release, c.Seed, numeral.Duration(c.Duration))
	if c.Warmup > 0 {
		s += fmt.Sprintf(", the first %s not counted", numeral.Duration(c.Warmup))
	}
	return s
}
