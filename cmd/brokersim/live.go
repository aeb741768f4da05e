package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/cmd/brokersim/internal/summary"
	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots/numeral"
	"brokersim/realstore/live"
	"brokersim/scenarios"
	"brokersim/sim"
	"brokersim/sim/stat"
	"brokersim/sim/variate"
)

// runsMost bounds --runs: each lasts as long as its scenario.
const runsMost = 1000

// liveRun is the command live, with its flags.
type liveRun struct {
	simulation
	dir       string
	record    string
	runs      whole
	fileSize  size
	syncFlush bool
}

// size is a flag whose value is a number of bytes that a commit log's file may
// have.
type size struct{ text string }

func (s *size) String() string { return s.text }
func (s *size) Type() string   { return "SIZE" }

func (s *size) Set(text string) error {
	s.text = text
	const least, most = 64 << 10, math.MaxInt32
	if n := s.bytes(); n < least || n > most {
		return fmt.Errorf("want a size from 64KiB to %d", most)
	}
	return nil
}

func (s *size) bytes() int64 {
	if d, err := variate.ParseDist(s.text, variate.Bytes); err == nil {
		if c, ok := d.(variate.Constant); ok && c.Mean() < 1<<62 {
			return int64(c.Mean())
		}
	}
	return 0
}

func newLive() *cobra.Command {
	var l liveRun
	cmd := &cobra.Command{
		Use:   "live SCENARIO --dir DIR",
		Short: "Run a scenario on the wall clock, over a real store",
		Long: `Run a scenario on the wall clock: the same arrivals as a simulation's, the same
rules from real threads, each message appended to a real commit log in DIR. The
stalls are injected: an append sleeps under the put lock, the sweeper sleeps, the
broker's process is stopped. What a simulation takes from [costs] and store.append
is here what it is on this machine.

DIR is left as a store that RocketMQ can open: commitlog/, consumequeue/, index/,
checkpoint. It must be empty, missing, or left by earlier live runs.

--record DIR writes the run as an experiment, for replay --from: how far the
simulation agrees with it, send by send. With several --runs each goes to a folder
of its own in it.`,
		Example: `  brokersim live incident-208ms --dir store
  brokersim live stall-500ms --dir store --record live && brokersim replay --from live`,
		Args:              operands("one SCENARIO", 1, 1),
		ValidArgsFunction: cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveDefault),
	}
	l.runs = whole{value: 1, least: 1, most: runsMost}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&l.dir, "dir", "", "`DIR` of the store")
	f.Var(&l.runs, "runs", "runs, one after the other, each with draws of its own")
	f.StringVar(&l.record, "record", "", "`DIR` for the run as an experiment")
	f.Var(&l.fileSize, "file-size", fmt.Sprintf("size of a commit log's file (default %d MiB)", live.DefaultFileSize>>20))
	f.BoolVar(&l.syncFlush, "sync-flush", false, "broker.flushDiskType=SYNC_FLUSH: each send waits for the disk")
	l.flags(cmd)
	cmd.RunE = action(l.run)
	return cmd
}

func (l *liveRun) run(cmd *cobra.Command, args []string) error {
	if l.dir == "" {
		return usageError(cmd, errors.New("live: want --dir DIR for the store"))
	}
	sc, err := l.load(cmd, args[0])
	if err != nil {
		return err
	}
	var folders []*output.Folder
	j := &job{
		scenario: model.ScenarioRef{Name: sc.Name, Hash: sc.Hash}, release: sc.OwnRelease(),
		config:   &sc.Config,
		expects:  sc.Expects,
		warnings: slices.Concat(sc.Warnings, live.Warnings(&sc.Config)),
		repeat:   l.repeat(sc.Config.Seed, l.command(args[0])...),
	}
	j.claim = func() (err error) {
		if folders, err = l.claimRecords(); err != nil {
			return outputError("--record", err)
		}
		return nil
	}
	var records []*live.Record
	var late live.Punctuality
	j.simulate = func(ctx context.Context, watch model.Observer, progress func(sim.Time, int)) (study *model.Study, err error) {
		runs := sim.Time(l.runs.value)
		study, records, err = live.Replicate(ctx, &sc.Config, int(runs), func(i int) *exec.Cmd { return l.broker(cmd, args[0], sc, i) },
			watch, func(now sim.Time, done int) {
				progress((sim.Time(done)*sc.Config.Duration+min(now, sc.Config.Duration))/runs, done)
			})
		for i, rec := range records {
			late.Add(rec)
			if folders != nil {
				err = errors.Join(err, rec.Write(folders[i].Path(""), &sc.Config, i))
			}
		}
		abandon(folders[min(len(records), len(folders)):])
		j.warnings = slices.Concat(j.warnings, late.Warnings(), collected(records))
		if errors.Is(err, live.ErrRefused) {
			err = badInput(err)
		}
		return study, err
	}
	j.extend = func(r *model.Result) any {
		r.Fingerprint = "live"
		return struct {
			*model.Result
			Live liveJSON `json:"live"`
		}{r, liveJSON{len(records), latenessOf(&late.Arrivals), latenessOf(&late.Sweeps)}}
	}
	j.tell = func(w io.Writer, style ui.Style, in summary.Input) error {
		in.About = fmt.Sprintf("%s: release %s, seed %d, %s of %s on the wall clock", sc.Config.Title, sc.Config.Broker.Release,
			sc.Config.Seed, numeral.Plural(l.runs.value, "run"), numeral.Duration(sc.Config.Duration))
		in.Wrote = append(in.Wrote, l.dir)
		if l.record != "" {
			in.Wrote = append(in.Wrote, l.record)
		}
		return summary.WriteLive(w, style, in, summary.Live{Arrivals: &late.Arrivals, Sweeps: &late.Sweeps})
	}
	return l.do(cmd, j)
}

// load gives the scenario, if it can be run live.
func (l *liveRun) load(cmd *cobra.Command, operand string) (*scenarios.Scenario, error) {
	sc, err := load(operand, l.sets)
	if err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("seed") {
		sc.Config.Seed = uint64(l.seed.value)
	}
	if l.syncFlush {
		sc.Config.Broker.FlushDiskType = model.SyncFlush
	}
	if err := live.Check(&sc.Config); err != nil {
		return nil, badInput(fmt.Errorf("live: %w", err))
	}
	return sc, nil
}

// claimRecords makes the folder of each run's experiment.
func (l *liveRun) claimRecords() (folders []*output.Folder, err error) {
	if l.record == "" {
		return nil, nil
	}
	paths := []string{l.record}
	if l.runs.value > 1 {
		paths = nil
		for i := range l.runs.value {
			paths = append(paths, filepath.Join(l.record, fmt.Sprintf("run-%d", i+1)))
		}
	}
	for _, path := range paths {
		folder, err := output.Claim(path)
		if err != nil {
			abandon(folders)
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

func abandon(folders []*output.Folder) {
	for _, f := range folders {
		f.Abandon()
	}
}

// command is the part of the command line that says what is run.
func (l *liveRun) command(operand string) []string {
	command := []string{"live", operand, "--dir", l.dir}
	if l.runs.value != 1 {
		command = append(command, "--runs", l.runs.String())
	}
	for _, f := range []struct{ name, value string }{{"--record", l.record}, {"--file-size", l.fileSize.text}} {
		if f.value != "" {
			command = append(command, f.name, f.value)
		}
	}
	if l.syncFlush {
		command = append(command, "--sync-flush")
	}
	return command
}

// broker is the command whose process is the broker of run i: this program.
func (l *liveRun) broker(cmd *cobra.Command, operand string, sc *scenarios.Scenario, i int) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := []string{
		os.Args[0], brokerCommand, operand, "--dir", l.dir, "--hash", sc.Hash, "--replication", strconv.Itoa(i),
		"--seed", strconv.FormatUint(sc.Config.Seed, 10), "--file-size", strconv.FormatInt(l.fileSize.bytes(), 10),
		"--sync-flush=" + strconv.FormatBool(l.syncFlush),
	}
	for _, set := range l.sets {
		args = append(args, "--set", set)
	}
	return &exec.Cmd{Path: self, Args: args, Stderr: cmd.ErrOrStderr()}
}

// collected warns of garbage collections.
func collected(records []*live.Record) (warnings []string) {
	for i, rec := range records {
		if rec.Collections > 0 {
			warnings = append(warnings, fmt.Sprintf("run %d: the collector stopped all threads %d times: there was too little memory", i+1, rec.Collections))
		}
	}
	return warnings
}

// liveJSON is what the result JSON of a live run has beside a simulation's.
type liveJSON struct {
	Runs        int      `json:"runs"`
	ArrivalLate lateness `json:"arrival_late_us"`
	SweepLate   lateness `json:"sweep_late_us"`
}

type lateness struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

func latenessOf(h *stat.Histogram) lateness {
	q := func(q float64) float64 { return float64(h.Quantile(q)) / 1e3 }
	return lateness{h.Count(), q(0.5), q(0.9), q(0.99), q(0.999), float64(h.Max()) / 1e3}
}

// brokerCommand is the name of the hidden command that live starts.
const brokerCommand = "live-broker"

// newLiveBroker is the broker's process of a live run. Its standard input and
// output are live.Run's.
func newLiveBroker() *cobra.Command {
	var o live.Options
	var syncFlush bool
	var seed uint64
	var hash string
	var sets []string
	cmd := &cobra.Command{Use: brokerCommand + " SCENARIO", Hidden: true, Args: operands("one SCENARIO", 1, 1)}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "")
	f.Int64Var(&o.FileSize, "file-size", 0, "")
	f.BoolVar(&syncFlush, "sync-flush", false, "")
	f.IntVar(&o.Replication, "replication", 0, "")
	f.Uint64Var(&seed, "seed", 0, "")
	f.StringVar(&hash, "hash", "", "")
	f.StringArrayVar(&sets, "set", nil, "")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		sc, err := load(args[0], sets)
		if err != nil {
			return err
		}
		if sc.Hash != hash {
			return badInput(fmt.Errorf("%s: it has changed since the run was begun", args[0]))
		}
		sc.Config.Seed = seed
		if syncFlush {
			sc.Config.Broker.FlushDiskType = model.SyncFlush
		}
		return live.Serve(&sc.Config, o, control(cmd), cmd.OutOrStdout())
	})
	return cmd
}

// control is the standard input of a broker's process, which ends at a signal
// too: either ends the run.
func control(cmd *cobra.Command) io.Reader {
	control, ends := io.Pipe()
	context.AfterFunc(cmd.Context(), func() { _ = ends.Close() })
	go func() {
		_, err := io.Copy(ends, cmd.InOrStdin())
		_ = ends.CloseWithError(err)
	}()
	return control
}
