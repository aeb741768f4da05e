package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"brokersim/scenarios"
)

// load gives the scenario of an operand, a bundled name or a path, with
// overrides. A bundled name wins over a file of that name, which ./NAME means.
func load(operand string, sets []string) (*scenarios.Scenario, error) {
	read := scenarios.Named
	if isPath(operand) {
		read = scenarios.Load
	}
	sc, err := read(operand)
	if err == nil && len(sets) > 0 {
		sc, err = sc.Override(sets...)
	}
	return sc, inputError(err)
}

func isPath(operand string) bool {
	if slices.Contains(scenarios.Names(), operand) {
		return false
	}
	if strings.HasSuffix(operand, ".toml") || strings.ContainsAny(operand, `/\`) {
		return true
	}
	info, err := os.Stat(operand)
	return err == nil && !info.IsDir()
}

// inputError gives the error of reading an input its exit code: what the user
// named wrongly or wrote wrongly is bad input, what the system failed to read
// is not.
func inputError(err error) error {
	var path *fs.PathError
	if err == nil || errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EISDIR) {
		return err
	}
	return badInput(err)
}
