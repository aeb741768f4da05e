package main

import (
	"github.com/spf13/cobra"

	"brokersim/scenarios"
)

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Print a bundled scenario as it is",
		Long: `Print the file of a bundled scenario, byte for byte: read its story, or begin
one of your own with it.`,
		Example:           "  brokersim show incident-208ms\n  brokersim show overload > mine.toml",
		Args:              operands("one NAME", 1, 1),
		ValidArgsFunction: cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			source, ok := scenarios.Source(args[0])
			if !ok {
				_, err := scenarios.Named(args[0]) // says which there are
				return inputError(err)
			}
			_, err := cmd.OutOrStdout().Write(source)
			return err
		}),
	}
}
