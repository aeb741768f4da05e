package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/output"
	"brokersim/cmd/brokersim/internal/ui"
)

// Bounds of flags. A study keeps some hundred bytes of each replication.
const (
	replicationsMost = 100_000
	workersMost      = 1024
)

// whole is a flag whose value is a whole number within bounds.
type whole struct{ value, least, most int64 }

func (w *whole) String() string { return strconv.FormatInt(w.value, 10) }
func (w *whole) Type() string   { return "N" }

func (w *whole) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < w.least || n > w.most {
		return fmt.Errorf("want a whole number from %d to %d", w.least, w.most)
	}
	w.value = n
	return nil
}

// simulation holds the flags of the commands that simulate.
type simulation struct {
	seed         whole
	replications whole
	workers      whole
	sets         []string
	json         bool
	out          string
	requests     string
	force        bool
	quiet        bool
	noFigures    bool
}

func (s *simulation) flags(cmd *cobra.Command) {
	sends := "each send"
	if cmd.Flags().Lookup("replications") != nil {
		sends += " of replication 1"
	}
	s.seed = whole{least: 0, most: math.MaxInt64}
	s.replications.value = 1
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(&s.seed, "seed", "root of all random streams, instead of the scenario's")
	f.StringArrayVar(&s.sets, "set", nil, "put `KEY=VALUE` in the scenario, such as stall.0.for=300ms (repeatable)")
	f.BoolVar(&s.json, "json", false, "print the result as JSON and nothing else")
	f.StringVar(&s.out, "out", "", "`DIR` for figures and result.json (default out/<scenario>)")
	f.StringVar(&s.requests, "requests", "", "write "+sends+" to `FILE` (.csv or .csv.gz), or to stdout for -")
	f.BoolVar(&s.force, "force", false, "replace the requests CSV that is at --requests")
	f.BoolVar(&s.noFigures, "no-figures", false, "draw no figures, and remove earlier ones")
	f.BoolVar(&s.quiet, "quiet", false, "no progress and no notes on stderr; errors are still told")
	f.Lookup("seed").DefValue = ""
}

// replicationFlags adds those for several replications.
func (s *simulation) replicationFlags(cmd *cobra.Command) {
	s.replications = whole{value: 1, least: 1, most: replicationsMost}
	s.workers = whole{value: int64(min(runtime.GOMAXPROCS(0), workersMost)), least: 1, most: workersMost}
	f := cmd.Flags()
	f.VarP(&s.replications, "replications", "n", "independent repetitions, put together with intervals")
	f.VarP(&s.workers, "workers", "j", "replications at a time; no result depends on it")
}

// repeat is the command line that gives the same again.
func (s *simulation) repeat(seed uint64, command ...string) string {
	args := append([]string{"brokersim"}, command...)
	args = append(args, "--seed", strconv.FormatUint(seed, 10))
	if s.replications.value != 1 {
		args = append(args, "-n", s.replications.String())
	}
	for _, set := range s.sets {
		args = append(args, "--set", set)
	}
	for _, f := range []struct{ name, value string }{{"--out", s.out}, {"--requests", s.requests}} {
		if f.value != "" {
			args = append(args, f.name, f.value)
		}
	}
	if s.requests != "" && !output.IsStdout(s.requests) {
		args = append(args, "--force") // it is there by then
	}
	if s.noFigures {
		args = append(args, "--no-figures")
	}
	return ui.Command(args...)
}

// talkOf is where progress and notes go.
func talkOf(cmd *cobra.Command, quiet bool) io.Writer {
	if quiet {
		return io.Discard
	}
	return cmd.ErrOrStderr()
}
