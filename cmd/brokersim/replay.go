package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/input"
	"brokersim/cmd/brokersim/internal/summary"
	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/plots/numeral"
	"brokersim/scenarios"
	"brokersim/sim"
)

func newReplay() *cobra.Command {
	var r replay
	cmd := &cobra.Command{
		Use:   "replay {--arrivals FILE [--stalls FILE] SCENARIO | --from DIR [SCENARIO]}",
		Short: "Simulate recorded arrivals and stalls, and compare the outcomes",
		Long: `Simulate the arrivals of a recording instead of drawn ones, and hold each
request's outcome against the recorded one, where there is one.

--arrivals takes a requests CSV, as --requests writes it, gzipped or not: of its
columns the simulation reads seq and arrive_ns. --stalls replaces the scenario's
stalls by recorded ones (kind, start_ns, end_ns, window_start_ns). - is standard
input. The scenario's duration, warmup and arrivals are not used: all that was
recorded is replayed, to the first producer's settings.

--from reads a folder with experiment.json, requests.csv.gz, stalls.csv and
sweeps.csv.gz, and takes broker, stalls and delays from it; SCENARIO then gives
costs and cores.

--flush recorded has each append take what it took in the recording (app0_ns to
app1_ns) instead of a draw, and with SYNC_FLUSH each wait for the flush (unlock_ns to
done_ns); where it was rejected there, what the one before took. Stalls of appends
are in these times. --cpu recorded likewise has the send thread take what it took
beside the store: its wake-up when it was idle (enq_ns to deq_ns), its way to the
put lock (deq_ns to lockreq_ns) and, without SYNC_FLUSH, to the answer (unlock_ns to
done_ns). Who waits how long in the queue and what becomes of it is simulated all the
same.`,
		Example: `  brokersim run stall-500ms --requests sends.csv
  brokersim replay --arrivals sends.csv stall-500ms
  brokersim replay --from model/recording/testdata/E7 --json
  brokersim replay --from model/recording/testdata/E19 --flush recorded`,
		Args:              operands("one SCENARIO", 0, 1),
		ValidArgsFunction: cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveDefault),
	}
	f := cmd.Flags()
	f.StringVar(&r.arrivals, "arrivals", "", "recorded arrivals: `FILE`.csv or FILE.csv.gz")
	f.StringVar(&r.stalls, "stalls", "", "recorded stalls: `FILE`.csv")
	f.StringVar(&r.from, "from", "", "`DIR` of a recorded experiment")
	f.Var(&r.flush, "flush", "what appends and flushes take: `drawn|recorded`")
	f.Var(&r.cpu, "cpu", "what the send thread takes beside: `drawn|recorded`")
	r.flags(cmd)
	cmd.RunE = action(r.run)
	return cmd
}

// recordedTimes is a flag that says whether times are drawn or as recorded.
type recordedTimes bool

func (r *recordedTimes) String() string {
	return map[bool]string{false: "drawn", true: "recorded"}[bool(*r)]
}
func (r *recordedTimes) Type() string { return "drawn|recorded" }

func (r *recordedTimes) Set(text string) error {
	if text != "drawn" && text != "recorded" {
		return errors.New("want drawn or recorded")
	}
	*r = text == "recorded"
	return nil
}

type replay struct {
	simulation
	arrivals, stalls, from string
	flush, cpu             recordedTimes
}

func (r *replay) run(cmd *cobra.Command, args []string) error {
	switch {
	case (r.from == "") == (r.arrivals == ""):
		return usageError(cmd, errors.New("replay: want one of --arrivals and --from"))
	case r.from != "" && r.stalls != "":
		return usageError(cmd, errors.New("replay: --from brings its own stalls, --stalls goes with --arrivals"))
	case r.from == "" && len(args) == 0:
		return usageError(cmd, errors.New("replay: want one SCENARIO, got none"))
	}
	from := sourceOf(cmd)
	if n := countStdin(append(args, r.arrivals, r.stalls)); n > 1 {
		return usageError(cmd, errors.New("replay: standard input can be read once"))
	}
	sc, err := r.base(cmd.Context(), from, args)
	if err != nil {
		return err
	}
	if n := sc.Config.Route.Brokers; n > 1 {
		return badInput(fmt.Errorf("replay: route.brokers: a recording is of one broker, got %d", n))
	}
	if cmd.Flags().Changed("seed") {
		sc.Config.Seed = uint64(r.seed.value)
	}
	read := r.readFiles
	if r.from != "" {
		read = r.readFolder
	}
	e, err := read(cmd.Context(), from, sc)
	if cmd.Context().Err() != nil {
		err = cmd.Context().Err()
	}
	if err == nil {
		err = r.measure(e)
	}
	if err != nil {
		return inputError(err)
	}
	config := &e.Config
	var agreement *recording.Agreement
	return r.do(cmd, &job{
		scenario: model.ScenarioRef{Name: config.Name, Hash: replayHash(sc.Hash, config, e.Requests)},
		config:   config,
		expects:  sc.Expects,
		warnings: slices.Concat(sc.Warnings, e.Warnings),
		inputs:   from.files,
		folder:   r.folderName(),
		repeat:   r.repeat(config.Seed, r.command(args)...),
		simulate: func(ctx context.Context, watch model.Observer, progress func(sim.Time, int)) (study *model.Study, err error) {
			study, agreement, err = recording.Replay(ctx, config, e.Requests, watch, func(now sim.Time) { progress(now, 0) })
			return study, err
		},
		extend: func(result *model.Result) any {
			return struct {
				*model.Result
				Agreement *recording.Agreement `json:"agreement"`
			}{result, agreement}
		},
		tell: func(w io.Writer, style ui.Style, in summary.Input) error {
			return summary.WriteReplay(w, style, in, agreement)
		},
	})
}

// measure has the simulation take what was recorded, as far as was asked for.
func (r *replay) measure(e *recording.Experiment) error {
	if r.flush {
		if err := recording.MeasureFlush(&e.Config, e.Requests); err != nil {
			return fmt.Errorf("--flush recorded: %w", err)
		}
	}
	if r.cpu {
		if err := recording.MeasureCPU(&e.Config, e.Requests); err != nil {
			return fmt.Errorf("--cpu recorded: %w", err)
		}
	}
	return nil
}

// bare is what a folder is replayed with if there is no scenario: the default
// costs, on a machine of two cores.
const bare = `schema = 1
duration = "1s"
[machine]
cores = 2
[[producer]]
arrivals = "deterministic(rate=1/s)"
`

// base gives the scenario that a recording is put into.
func (r *replay) base(ctx context.Context, from *source, args []string) (*scenarios.Scenario, error) {
	for _, set := range r.sets {
		key, _, _ := strings.Cut(set, "=")
		if r.from == "" && (key == "duration" || key == "warmup" || strings.HasPrefix(key, "producer.") && strings.HasSuffix(key, ".arrivals")) {
			return nil, badInput(fmt.Errorf("--set %s: --arrivals takes its place: all that was recorded is replayed", set))
		}
	}
	if r.from != "" {
		for _, set := range r.sets {
			if !slices.ContainsFunc([]string{"machine.cores=", "machine.quantum=", "costs.", "store.append=", "seed="},
				func(prefix string) bool { return strings.HasPrefix(set, prefix) }) {
				return nil, badInput(fmt.Errorf("--set %s: want one of machine.cores, machine.quantum, costs.*, store.append, seed; --from takes the rest from the folder", set))
			}
		}
	}
	if len(args) > 0 {
		return from.load(ctx, args[0], r.sets)
	}
	sc, err := scenarios.Parse("recording.toml", []byte(bare), nil)
	if err == nil {
		sc, err = sc.Override(r.sets...)
	}
	return sc, inputError(err)
}

func (r *replay) readFolder(ctx context.Context, from *source, sc *scenarios.Scenario) (*recording.Experiment, error) {
	for _, name := range recording.Files {
		from.files = append(from.files, filepath.Join(r.from, name))
	}
	info, err := os.Stat(r.from)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--from: %w", &input.Error{Path: r.from, Err: err})
	case !info.IsDir():
		return nil, fmt.Errorf("--from %s: want a folder", r.from)
	}
	e, err := recording.Open(input.Dir(ctx, r.from), sc.Config)
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", r.from, err)
	}
	return e, nil
}

func (r *replay) readFiles(ctx context.Context, from *source, sc *scenarios.Scenario) (*recording.Experiment, error) {
	e := &recording.Experiment{Config: sc.Config}
	requests, err := readTable(ctx, from, r.arrivals, recording.ReadRequests)
	if r.stalls != "" {
		var failed error
		e.Config.Stalls, failed = readTable(ctx, from, r.stalls, recording.ReadStalls)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	e.Requests = requests
	e.Warnings = unused(&sc.Config, requests)
	return e, recording.Drive(&e.Config, requests)
}

// unused says what of a scenario recorded arrivals leave out.
func unused(c *model.Config, requests *recording.Requests) (warnings []string) {
	if c.Warmup > 0 {
		warnings = append(warnings, fmt.Sprintf("warmup: a replay counts every request, the scenario's first %s too", numeral.Duration(c.Warmup)))
	}
	if last := requests.Arrivals[len(requests.Arrivals)-1]; last > c.Duration {
		warnings = append(warnings, fmt.Sprintf("duration: the recording is replayed whole, %s of it, not the scenario's %s", numeral.Duration(last), numeral.Duration(c.Duration)))
	}
	if n := len(c.Producers); n > 1 {
		warnings = append(warnings, fmt.Sprintf("producer: the scenario has %d; the recorded arrivals are the first one's, with its settings, and the others send nothing", n))
	}
	return warnings
}

// readTable reads a CSV, or standard input.
func readTable[T any](ctx context.Context, from *source, path string, read func(string, io.Reader) (T, error)) (T, error) {
	if input.IsStdin(path) {
		return read("stdin", input.Stdin(ctx, from.stdin, input.TableMost))
	}
	from.files = append(from.files, path)
	f, err := input.Open(ctx, path, input.TableMost)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(path, f)
}

func countStdin(paths []string) (n int) {
	for _, path := range paths {
		if input.IsStdin(path) {
			n++
		}
	}
	return n
}

// folderName is that of the recorded folder, whatever the recording calls
// itself.
func (r *replay) folderName() string {
	if r.from == "" {
		return ""
	}
	path, err := filepath.Abs(r.from)
	if err != nil {
		path = r.from
	}
	return filepath.Base(path)
}

// command is the part of the command line that says what is replayed.
func (r *replay) command(args []string) []string {
	command := []string{"replay"}
	for _, f := range []struct{ name, value string }{{"--from", r.from}, {"--arrivals", r.arrivals}, {"--stalls", r.stalls}} {
		if f.value != "" {
			command = append(command, f.name, f.value)
		}
	}
	for _, f := range []struct {
		name string
		is   recordedTimes
	}{{"--flush", r.flush}, {"--cpu", r.cpu}} {
		if f.is {
			command = append(command, f.name, f.is.String())
		}
	}
	return append(command, args...)
}

// replayHash covers the scenario and all that the recording puts in its place.
func replayHash(scenario string, c *model.Config, requests *recording.Requests) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%+v\n%+v\n%d\n", scenario, c.Broker, c.Machine, c.Store.Delay)
	for _, s := range c.Stalls {
		fmt.Fprintln(h, s.Where, int64(s.At), int64(s.Until))
	}
	_ = binary.Write(h, binary.LittleEndian, requests.Arrivals) // a hash takes all
	if m := c.Measured; m != nil {
		for _, times := range [][]sim.Time{m.Append, m.Flush, m.Wake, m.Process, m.Finish} {
			_ = binary.Write(h, binary.LittleEndian, int64(len(times)))
			_ = binary.Write(h, binary.LittleEndian, times)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
