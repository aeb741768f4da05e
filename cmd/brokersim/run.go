package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/summary"
	"brokersim/model"
	"brokersim/scenarios"
	"brokersim/sim"
)

func newRun() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Simulate a scenario: summary, error lines, figures",
		Long: `Simulate a scenario and print what happened: the verdict first, the command that
repeats the run last. Figures and result.json go to a folder of their own.

SCENARIO is a bundled name, a path to a TOML file, or - for standard input. Bundled
are
` + wrap(scenarios.Names(), 76) + `

A folder or file that brokersim did not make is never written to; a requests CSV
outside --out is replaced with --force alone.`,
		Example: `  brokersim run incident-208ms
  brokersim run overload -n 20 --json
  brokersim run mine.toml --set broker.sendMessageThreadPoolNums=4 --seed 7
  brokersim run quiet --requests sends.csv --out out/try`,
		Args:              operands("one SCENARIO", 1, 1),
		ValidArgsFunction: cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveDefault),
	}
	s.replicationFlags(cmd)
	s.flags(cmd)
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		from := sourceOf(cmd)
		sc, err := from.load(cmd.Context(), args[0], s.sets)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("seed") {
			sc.Config.Seed = uint64(s.seed.value)
		}
		n, workers := int(s.replications.value), int(s.workers.value)
		return s.do(cmd, &job{
			scenario: model.ScenarioRef{Name: sc.Name, Hash: sc.Hash}, release: sc.OwnRelease(),
			config:   &sc.Config,
			expects:  sc.Expects,
			warnings: sc.Warnings,
			inputs:   from.files,
			repeat:   s.repeat(sc.Config.Seed, "run", args[0]),
			simulate: func(ctx context.Context, watch model.Observer, progress func(sim.Time, int)) (*model.Study, error) {
				return model.Replicate(ctx, &sc.Config, n, workers, watch, progress)
			},
			tell: summary.Write,
		})
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
