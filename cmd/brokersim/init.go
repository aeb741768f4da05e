package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model/recording/atomicfile"
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
			switch {
			case name == "":
				return usageError(cmd, errors.New("init: want a NAME, got an empty one"))
			case strings.ContainsFunc(path, unicode.IsControl):
				return usageError(cmd, fmt.Errorf("init: want a NAME without control characters, got %q", args[0]))
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
	err := atomicfile.WriteNew(path, data)
	switch {
	case errors.Is(err, fs.ErrExist):
		return badInput(fmt.Errorf("init: %s is there already", path))
	case errors.Is(err, fs.ErrNotExist):
		return badInput(fmt.Errorf("init: no folder %s", filepath.Dir(path)))
	}
	return err
}
