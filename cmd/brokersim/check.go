package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/input"
	"brokersim/scenarios"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Find every fault of scenario files",
		Long: `Check scenario files without running them. Every fault is printed on stdout, as
file:line:column: key: what was wanted and got; a file without one is "ok", with
warnings for what is read but has no effect; - is standard input. Exit code 2 if there is a fault.`,
		Example: "  brokersim check mine.toml\n  brokersim check scenarios/*.toml",
		Args:    operands("at least one FILE", 1, 1<<20),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			out := bufio.NewWriter(cmd.OutOrStdout())
			code := 0
			for _, name := range args {
				sc, err := sourceOf(cmd).load(cmd.Context(), name, nil)
				if cmd.Context().Err() != nil {
					return err
				}
				if err != nil {
					code = exitBadInput
					fmt.Fprintln(out, fault(name, err))
					continue
				}
				fmt.Fprintf(out, "%s: ok\n", name)
				for _, warning := range sc.Warnings {
					fmt.Fprintf(out, "%s: warning: %s\n", name, warning)
				}
			}
			if err := out.Flush(); err != nil || code == 0 {
				return err
			}
			return &exitError{code: code}
		}),
	}
}

// fault names the file in an error that doesn't say where it is.
func fault(name string, err error) string {
	var faults scenarios.Faults
	var unread *input.Error
	switch {
	case errors.As(err, &faults):
		return faults.Error()
	case errors.As(err, &unread):
		return unread.Error()
	}
	return fmt.Sprintf("%s: %v", name, err)
}
