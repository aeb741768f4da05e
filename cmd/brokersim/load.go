package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/input"
	"brokersim/scenarios"
)

// load gives the scenario of an operand, a bundled name or a path, with
// overrides. A bundled name wins over a file of that name, which ./NAME means.
func load(operand string, sets []string) (*scenarios.Scenario, error) {
	var s source
	return s.load(context.Background(), operand, sets)
}

// source reads scenarios and what they name.
type source struct {
	stdin io.Reader // what - and /dev/stdin mean; nil: not taken
	files []string  // those that may have been read, which nothing may replace
}

// sourceOf reads what the command's operands name, standard input included.
func sourceOf(cmd *cobra.Command) *source { return &source{stdin: cmd.InOrStdin()} }

func (s *source) load(ctx context.Context, operand string, sets []string) (*scenarios.Scenario, error) {
	read := func(name string) (*scenarios.Scenario, error) { return s.parse(ctx, name) }
	if !isPath(operand) {
		read = scenarios.Named
	}
	for _, set := range sets {
		_, value, _ := strings.Cut(set, "=") // which may be a file's name
		s.files = append(s.files, strings.Trim(value, `"'`))
	}
	sc, err := read(operand)
	if err == nil && len(sets) > 0 {
		sc, err = sc.Override(sets...)
	}
	if ctx.Err() != nil { // a fault may only be that
		err = ctx.Err()
	}
	return sc, inputError(err)
}

// parse reads a scenario file; files that it names are beside it.
func (s *source) parse(ctx context.Context, path string) (*scenarios.Scenario, error) {
	text, err := s.read(ctx, path)
	if err != nil {
		return nil, err
	}
	name := path
	if input.IsStdin(path) {
		name, path = "stdin.toml", ""
	}
	return scenarios.Parse(name, text, func(rel string) ([]byte, error) {
		rel = filepath.FromSlash(rel)
		if !filepath.IsAbs(rel) {
			rel = filepath.Join(filepath.Dir(path), rel)
		}
		s.files = append(s.files, rel)
		return input.Read(ctx, rel, input.ScenarioMost)
	})
}

func (s *source) read(ctx context.Context, path string) ([]byte, error) {
	if s.stdin != nil && input.IsStdin(path) {
		return io.ReadAll(input.Stdin(ctx, s.stdin, input.ScenarioMost))
	}
	s.files = append(s.files, path)
	return input.Read(ctx, path, input.ScenarioMost)
}

func isPath(operand string) bool {
	if scenarios.Bundled(operand) {
		return false
	}
	if input.IsStdin(operand) || strings.HasSuffix(operand, ".toml") || strings.ContainsAny(operand, `/\`) {
		return true
	}
	_, err := os.Lstat(operand)
	return err == nil
}

// inputError gives the error of reading an input its exit code: whatever is
// wrong with it, it is the input's, unless the reading was interrupted.
func inputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, errors.New("interrupted")}
	default:
		return badInput(err)
	}
}
