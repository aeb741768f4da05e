// Command brokersim simulates how an Apache RocketMQ broker queues, stalls and
// rejects sends, from a scenario file, on virtual time.
//
//	brokersim run SCENARIO     simulate: summary, error lines, figures
//	brokersim list             the bundled scenarios
//	brokersim show NAME        print one as it is
//	brokersim check FILE...    find every fault of scenario files
//	brokersim init [NAME]      begin a scenario of one's own
//	brokersim replay SCENARIO  recorded arrivals and stalls instead of drawn ones
//	brokersim live SCENARIO    on the wall clock, over a real store
//	brokersim claims [ID]      what people say about busy brokers, put to the test
//	brokersim verify           the kernel against closed forms
//	brokersim validate         the simulator against a real broker and this machine
//	brokersim version
//
// Standard output is data, standard error is talk. The exit code is 0 when all
// went well and every threshold holds, 1 for an internal or I/O error, 2 for
// bad input, 99 if a threshold failed, 98 if one is undecided, and 130 after
// an interrupt, with a partial result kept.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"brokersim/cmd/brokersim/internal/ui"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the command with its streams; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	// A panic would end the process with 2, which says "bad input".
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(stderr, "brokersim: internal error: %v\n%s", v, debug.Stack())
			code = exitInternal
		}
	}()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	root := newRoot()
	root.SetArgs(slices.Concat([]string{}, args)) // nil would mean os.Args
	root.SetIn(stdin)
	out := ui.NewOutput(stdout)
	root.SetOut(out)
	root.SetErr(stderr)
	code = exitCode(root.ExecuteContext(ctx), stderr)
	if err := out.Err(); err != nil && code != exitInternal { // which has told it
		code = exitCode(&exitError{exitInternal, err}, stderr)
	}
	return code
}

// Exit codes.
const (
	exitInternal    = 1
	exitBadInput    = 2
	exitUndecided   = 98
	exitFailed      = 99
	exitInterrupted = 130
)

// exitError ends the process with a code, and with a message if err is not nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }
func (e *exitError) Unwrap() error { return e.err }

func badInput(err error) error { return &exitError{exitBadInput, err} }

// exitCode prints err, if it has something to say, and returns the code to end
// with.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	var e *exitError
	if !errors.As(err, &e) { // cobra's own: unknown commands and the like
		e = &exitError{exitBadInput, err}
	}
	if e.err != nil {
		fmt.Fprintln(stderr, strings.TrimRight(message(e.err), "\n"))
	}
	return e.code
}
