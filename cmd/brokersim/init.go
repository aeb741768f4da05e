package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/scenarios"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [NAME]",
		Short: "Begin a scenario of your own",
		Long: `Write NAME.toml (scenario.toml if there is no NAME), a commented scenario to start
from. A file that is there is left alone.`,
		Example: "  brokersim init\n  brokersim init mine && brokersim run mine.toml",
		Args:    operands("at most one NAME", 0, 1),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			path := "scenario.toml"
			if len(args) > 0 {
				path = strings.TrimSuffix(args[0], ".toml") + ".toml"
			}
			name := strings.TrimSuffix(filepath.Base(path), ".toml")
			if name == "" {
				return usageError(cmd, errors.New("init: want a NAME, got an empty one"))
			}
			if err := create(path, scenarios.Init(name)); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; next: %s\n", path, ui.Command("brokersim", "run", path))
			return nil
		}),
	}
}

// create writes a file that must not be there yet.
func create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return badInput(fmt.Errorf("init: %s is there already", path))
	}
	if err != nil {
		return inputError(err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
