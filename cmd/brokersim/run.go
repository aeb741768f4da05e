package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/cmd/brokersim/internal/summary"
	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots"
	"brokersim/scenarios"
	"brokersim/sim"
	"brokersim/sim/experiment"
)

func newRun() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Simulate a scenario: summary, error lines, figures",
		Long: `Simulate a scenario and print what happened: the verdict first, the command that
repeats the run last. Figures and result.json go to a folder of their own.

SCENARIO is a bundled name or a path to a TOML file. Bundled are
` + wrap(scenarios.Names(), 76) + `

A folder or file that brokersim did not make is never written to.`,
		Example: `  brokersim run incident-208ms
  brokersim run overload -n 20 --json
  brokersim run mine.toml --set broker.sendMessageThreadPoolNums=4 --seed 7
  brokersim run quiet --requests sends.csv --out out/try`,
		Args:              operands("one SCENARIO", 1, 1),
		ValidArgsFunction: cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveDefault),
	}
	s.flags(cmd)
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		sc, err := load(args[0], s.sets)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("seed") {
			sc.Config.Seed = uint64(s.seed.value)
		}
		return s.run(cmd, sc, s.repeat(sc.Config.Seed, "run", args[0]))
	})
	return cmd
}

// wrap puts names in lines of at most width bytes, each after two blanks.
func wrap(names []string, width int) string {
	lines := []string{""}
	for _, name := range names {
		if last := &lines[len(lines)-1]; *last != "" && len(*last)+1+len(name) > width {
			lines = append(lines, name)
		} else {
			*last = strings.TrimSpace(*last + " " + name)
		}
	}
	return "  " + strings.Join(lines, "\n  ")
}

// run simulates a scenario and tells the result.
func (s *simulation) run(cmd *cobra.Command, sc *scenarios.Scenario, repeat string) error {
	if s.json && s.requests == "-" {
		return usageError(cmd, errors.New("--json and --requests - both want stdout: name a file"))
	}
	dir := s.out
	if dir == "" {
		dir = filepath.Join("out", folderName(sc.Name))
	}
	folder, err := output.Claim(dir)
	if err != nil {
		return outputError("--out", err)
	}
	story := &summary.Story{Warmup: sc.Config.Warmup}
	recorder := plots.NewRecorder(sc.Config.Duration)
	watch := []model.Observer{story.Observer(), recorder.Observer()}
	var requests *output.Requests
	if s.requests != "" {
		if requests, err = output.CreateRequests(s.requests, cmd.OutOrStdout()); err != nil {
			return outputError("--requests", err)
		}
		watch = append(watch, model.Observer{Attempt: requests.Write})
	}

	study, err := s.replicate(cmd, &sc.Config, all(watch))
	interrupted := errors.Is(err, context.Canceled)
	if requests != nil {
		if failed := requests.Close(); failed != nil {
			return failed
		}
	}
	if err != nil && !interrupted {
		return fmt.Errorf("%w\nthis repeats it: %s", withStack(err), repeat)
	}

	result := study.Result()
	result.Version = version
	result.Scenario = model.ScenarioRef{Name: sc.Name, Hash: sc.Hash}
	result.Seed = sc.Config.Seed
	result.Partial = interrupted
	result.Thresholds = judge(sc.Expects, study, result)
	result.Warnings = append(result.Warnings, sc.Warnings...)

	wrote, err := s.write(folder, sc, study, recorder, result)
	if err != nil {
		return err
	}
	if s.requests != "" && s.requests != "-" {
		wrote = append(wrote, s.requests)
	}
	in := summary.Input{Result: result, Study: study, Story: story, Wrote: wrote, Repeat: repeat}
	if err := s.tell(cmd, in); err != nil {
		return err
	}
	return outcome(result)
}

// replicate simulates, with progress on a terminal.
func (s *simulation) replicate(cmd *cobra.Command, config *model.Config, watch model.Observer) (*model.Study, error) {
	n := int(s.replications.value)
	total, say := int64(config.Duration), func(v int64) string { return sim.Time(v).String() }
	if step := config.Duration / 1000; step > 0 {
		say = func(v int64) string { return time.Duration(v).Round(time.Second).String() }
	}
	if n > 1 {
		total, say = int64(n), ui.Count
	}
	var talk io.Writer = cmd.ErrOrStderr()
	if s.quiet {
		talk = io.Discard
	}
	progress := ui.NewProgress(talk, total, say)
	defer progress.Done()
	return model.Replicate(cmd.Context(), config, n, int(s.workers.value), watch, func(now sim.Time, done int) {
		progress.Set(max(int64(now), int64(done)))
	})
}

// all tells several observers.
func all(watch []model.Observer) model.Observer {
	var o model.Observer
	for _, w := range watch {
		o.Attempt = both(o.Attempt, w.Attempt)
		o.Sweep = both(o.Sweep, w.Sweep)
		o.Stall = both(o.Stall, w.Stall)
		switch queue := o.Queue; {
		case queue == nil:
			o.Queue = w.Queue
		case w.Queue != nil:
			o.Queue = func(t sim.Time, length int) { queue(t, length); w.Queue(t, length) }
		}
		switch lock := o.Lock; {
		case lock == nil:
			o.Lock = w.Lock
		case w.Lock != nil:
			o.Lock = func(from, to sim.Time) { lock(from, to); w.Lock(from, to) }
		}
		o.AllSweeps = o.AllSweeps || w.AllSweeps
	}
	return o
}

func both[T any](a, b func(T)) func(T) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(v T) { a(v); b(v) }
}

// write leaves figures and result.json in the folder.
func (s *simulation) write(folder *output.Folder, sc *scenarios.Scenario, study *model.Study, recorder *plots.Recorder, result *model.Result) ([]string, error) {
	data, err := encode(result)
	if err != nil {
		return nil, err
	}
	if err := folder.Write("result.json", data); err != nil {
		return nil, err
	}
	wrote := []string{folder.Path("result.json")}
	if s.noFigures {
		return wrote, nil
	}
	config := &sc.Config
	figures, err := plots.Write(folder.Path(""), plots.Input{
		Name: sc.Name, Title: config.Title, Seed: config.Seed, Release: config.Broker.Release,
		WaitLimitMs: config.Broker.WaitTimeMillsInSendQueue, BusyLimitMs: config.Broker.OsPageCacheBusyTimeOutMills,
		Duration: config.Duration, Partial: result.Partial, Recorder: recorder,
		Latency: spectrum(study.LatencyHistogram()), Waiting: spectrum(study.WaitingHistogram()),
	})
	return append(wrote, inPairs(figures)...), err
}

// tell prints the result on stdout; where the requests go there, on stderr.
func (s *simulation) tell(cmd *cobra.Command, in summary.Input) error {
	switch {
	case s.json:
		data, err := encode(in.Result)
		if err == nil {
			_, err = cmd.OutOrStdout().Write(data)
		}
		return err
	case s.requests != "-":
		return summary.Write(cmd.OutOrStdout(), ui.StyleOf(cmd.OutOrStdout()), in)
	case !s.quiet:
		return summary.Write(cmd.ErrOrStderr(), ui.StyleOf(cmd.ErrOrStderr()), in)
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

// folderName is the default folder of a scenario.
func folderName(scenario string) string {
	if scenario == "" || scenario == "." || scenario == ".." {
		return "scenario"
	}
	return scenario
}

// inPairs names a figure that is there as PNG and SVG once.
func inPairs(paths []string) (names []string) {
	for _, path := range paths {
		ext := filepath.Ext(path)
		stem := strings.TrimSuffix(path, ext)
		if n := len(names); n > 0 && strings.HasPrefix(names[n-1], stem+".") {
			names[n-1] += " " + ext
			continue
		}
		names = append(names, path)
	}
	return names
}
