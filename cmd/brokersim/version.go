package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is that of the results: it changes when the same scenario and seed
// may give another result, and with each release.
const version = "0.1.0"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  brokersim version",
		Args:    cobra.NoArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionLine())
			return err
		}),
	}
}

func versionLine() string {
	return fmt.Sprintf("brokersim %s %s/%s %s\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
