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
	config   *model.Config
	expects  []scenarios.Expect
	warnings []string
	repeat   string // the command line that repeats it
	simulate func(ctx context.Context, watch model.Observer, progress func(now sim.Time, done int)) (*model.Study, error)
	extend   func(*model.Result) any // nil: the JSON is the result's alone
	tell     func(io.Writer, ui.Style, summary.Input) error
}

// do simulates, writes what is to be left behind, and tells the result.
func (s *simulation) do(cmd *cobra.Command, j *job) error {
	if s.json && s.requests == "-" {
		return usageError(cmd, errors.New("--json and --requests - both want stdout: name a file"))
	}
	folder, err := output.Claim(cmp.Or(s.out, filepath.Join("out", folderName(j.scenario.Name))))
	if err != nil {
		return outputError("--out", err)
	}
	defer folder.Abandon() // if nothing is written to it
	story := &summary.Story{Warmup: j.config.Warmup}
	recorder := plots.NewRecorder(j.config.Duration)
	watch := []model.Observer{story.Observer(), recorder.Observer()}
	requests, err := s.createRequests(cmd)
	if err != nil {
		return outputError("--requests", err)
	}
	if requests != nil {
		watch = append(watch, model.Observer{Attempt: requests.Write})
	}

	report, progress := s.progress(cmd, j.config.Duration)
	study, err := j.simulate(cmd.Context(), all(watch), report)
	progress.Done()
	interrupted := errors.Is(err, context.Canceled)
	if requests != nil {
		if failed := requests.Close(); failed != nil {
			return fmt.Errorf("--requests: %w", failed)
		}
	}
	if err != nil && !interrupted {
		return fmt.Errorf("%w\nthis repeats it: %s", withStack(err), j.repeat)
	}

	result := study.Result()
	result.Version = version
	result.Scenario = j.scenario
	result.Seed = j.config.Seed
	result.Partial = interrupted
	result.Thresholds = judge(j.expects, study, result)
	result.Warnings = append(result.Warnings, j.warnings...) // never nil
	result.Warnings = append(result.Warnings, unsupported(j.config.Broker.Release)...)

	wrote, err := s.write(folder, j, study, recorder, result)
	if err != nil {
		return err
	}
	in := summary.Input{
		Result: result, Study: study, Story: story, About: j.about(), Wrote: wrote, Repeat: j.repeat,
		Replicates: cmd.Flags().Lookup("replications") != nil,
	}
	if err := s.tell(cmd, j, in); err != nil {
		return err
	}
	return outcome(result)
}

// unsupported warns of what the release does and the model doesn't.
func unsupported(release string) []string {
	traits, err := model.TraitsOf(release)
	if err != nil {
		return nil // there would be no result
	}
	return traits.Unsupported()
}

// createRequests begins the CSV of --requests; nil if there is to be none.
func (s *simulation) createRequests(cmd *cobra.Command) (*output.Requests, error) {
	if s.requests == "" {
		return nil, nil
	}
	return output.CreateRequests(s.requests, cmd.OutOrStdout())
}

// progress is that of virtual time, or of replications if there are several.
func (s *simulation) progress(cmd *cobra.Command, duration sim.Time) (report func(now sim.Time, done int), p *ui.Progress) {
	var talk io.Writer = cmd.ErrOrStderr()
	if s.quiet {
		talk = io.Discard
	}
	if n := s.replications.value; n > 1 {
		p = ui.NewProgress(talk, numeral.Count)
		return func(_ sim.Time, done int) { p.Set(int64(done), n) }, p
	}
	p = ui.NewProgress(talk, func(v int64) string { return numeral.Duration(sim.Time(v)) })
	return func(now sim.Time, _ int) { p.Set(int64(now), int64(duration)) }, p
}

// write leaves figures and result.json in the folder.
func (s *simulation) write(folder *output.Folder, j *job, study *model.Study, recorder *plots.Recorder, result *model.Result) ([]string, error) {
	data, err := j.encode(result)
	if err != nil {
		return nil, err
	}
	if err := folder.Write("result.json", data); err != nil {
		return nil, err
	}
	wrote := []string{folder.Path("result.json")}
	if s.requests != "" && s.requests != "-" {
		wrote = append(wrote, s.requests)
	}
	if s.noFigures {
		return wrote, nil
	}
	config := j.config
	figures, err := plots.Write(folder.Path(""), plots.Input{
		Name: j.scenario.Name, Title: config.Title, Seed: config.Seed, Release: config.Broker.Release,
		WaitLimitMs: config.Broker.WaitTimeMillsInSendQueue, BusyLimitMs: config.Broker.OsPageCacheBusyTimeOutMills,
		Duration: config.Duration, Partial: result.Partial, Recorder: recorder,
		Latency: spectrum(study.LatencyHistogram(), &result.LatencyMs), Waiting: spectrum(study.WaitingHistogram(), &result.WaitingMs),
	})
	if err != nil {
		return nil, err
	}
	return append(wrote, inBraces(figures)), nil
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

// folderName is the default folder of a scenario.
func folderName(scenario string) string {
	if scenario == "" || scenario == "." || scenario == ".." {
		return "scenario"
	}
	return scenario
}

// inBraces names figures, which are there as PNG and SVG, as a shell would.
func inBraces(paths []string) string {
	var names []string
	for _, path := range paths {
		if name, ok := strings.CutSuffix(filepath.Base(path), ".png"); ok {
			names = append(names, name)
		}
	}
	return filepath.Join(filepath.Dir(paths[0]), "{"+strings.Join(names, ",")+"}.{png,svg}")
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
