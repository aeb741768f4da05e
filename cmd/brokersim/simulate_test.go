package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/experiment"
)

// A run whose books don't add up fails, with the line that repeats it and
// without a number.
func TestFailedRunSaysHowToRepeatIt(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"books", fmt.Errorf("replication 0: %w: 3 sends arrived, 2 have an outcome", model.ErrBooks),
			"brokersim: replication 0: books don't add up: 3 sends arrived, 2 have an outcome\nthis repeats it: brokersim run x --seed 7\n"},
		{"panic", &experiment.PanicError{Value: "index out of range", Stack: []byte("model/queue.go:1")},
			"brokersim: panic: index out of range\nmodel/queue.go:1\nthis repeats it: brokersim run x --seed 7\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&stdout)
			cmd.SetErr(&stderr)
			cmd.SetContext(t.Context())
			s := &simulation{out: filepath.Join(t.TempDir(), "x")}
			do := action(func(cmd *cobra.Command, _ []string) error {
				return s.do(cmd, &job{config: new(model.Config), repeat: "brokersim run x --seed 7",
					simulate: func(context.Context, model.Observer, func(sim.Time, int)) (*model.Study, error) {
						return new(model.Study), c.err
					}})
			})
			if got := exitCode(do(cmd, nil), &stderr); got != exitInternal {
				t.Errorf("exit code: got %d, want %d", got, exitInternal)
			}
			if got := stderr.String(); got != c.want {
				t.Errorf("stderr: got %q, want %q", got, c.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout: got %q, want nothing", stdout.String())
			}
		})
	}
}

// A panic is an internal error, not the 2 that Go ends with.
func TestPanicIsInternal(t *testing.T) {
	var stderr bytes.Buffer
	if got := run([]string{"list"}, nil, panics{}, &stderr); got != exitInternal {
		t.Errorf("exit code: got %d, want %d", got, exitInternal)
	}
	if got := stderr.String(); !strings.HasPrefix(got, "brokersim: internal error: no stream\n") {
		t.Errorf("stderr: got %q", got)
	}
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("no stream") }

// What can't be printed is an error.
func TestStdoutThatFails(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", "quiet"}, {"version"}, {"verify", "--customers", "1000"},
		{"run", "incident-208ms", "--no-figures"}, {"run", "incident-208ms", "--no-figures", "--json"},
		{"run", "incident-208ms", "--no-figures", "--requests", "-"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			if got := run(args, nil, full{}, &stderr); got != exitInternal || !strings.Contains(stderr.String(), "device is full") {
				t.Errorf("exit code %d, stderr %q: want %d and the error", got, stderr.String(), exitInternal)
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("device is full") }
