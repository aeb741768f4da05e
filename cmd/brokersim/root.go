package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brokersim/cmd/brokersim/internal/input"
	"brokersim/model/recording"
	"brokersim/scenarios"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "brokersim",
		Short: "Simulate how a RocketMQ broker queues, stalls and rejects sends",
		Long: `brokersim simulates the send path of an Apache RocketMQ broker on virtual time,
with the real broker's rules, from a scenario file.

Exit codes: 0 done, and every threshold holds; 1 internal or I/O error; 2 bad
input; 98 a threshold is undecided; 99 a threshold failed; 130 interrupted.`,
		Example: `  brokersim run incident-208ms
  brokersim run incident-208ms --set broker.waitTimeMillsInSendQueue=500
  brokersim init mine && brokersim run mine.toml`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Version = version
	root.SetVersionTemplate(versionLine())
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newRun(), newList(), newShow(), newCheck(), newInit(), newReplay(), newLive(), newLiveBroker(), newProbe(), newCalibrate(), newStore(), newVerify(), newClaims(), newValidate(), newValidateBroker(), newVersion())
	return root
}

// action makes a command's RunE: an error that names no exit code is internal.
func action(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := do(cmd, args)
		var e *exitError
		if err == nil || errors.As(err, &e) {
			return err
		}
		return &exitError{exitInternal, err}
	}
}

// message is what is printed of an error: faults of a file as they are, so
// that an editor finds their place, else with the command's name.
func message(err error) string {
	var inScenario scenarios.Faults
	var inRecording *recording.Fault
	var unread *input.Error
	if errors.As(err, &inScenario) || errors.As(err, &inRecording) || errors.As(err, &unread) {
		return err.Error()
	}
	return "brokersim: " + err.Error()
}

// operands checks the number of a command's operands.
func operands(what string, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(cmd, fmt.Errorf("%s: want %s, got none", cmd.Name(), what))
		case len(args) > most:
			return usageError(cmd, fmt.Errorf("%s: want %s, got %q more", cmd.Name(), what, args[most:]))
		}
		return nil
	}
}

func usageError(cmd *cobra.Command, err error) error {
	return badInput(fmt.Errorf("%w\nsee %s --help", err, cmd.CommandPath()))
}

// flagError names the nearest flag for an unknown one, and says what a switch
// takes.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && value.GetFlag().Value.Type() == "bool" {
		err = fmt.Errorf("invalid argument %q for %q flag: want true or false", value.GetValue(), "--"+value.GetFlag().Name)
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		// cobra compares names of commands; flags are as good.
		names := &cobra.Command{SuggestionsMinimumDistance: 2}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		})
		if near := names.SuggestionsFor(unknown.GetSpecifiedName()); len(near) > 0 {
			err = fmt.Errorf("%w; did you mean --%s?", err, strings.Join(near, " or --"))
		}
	}
	return usageError(cmd, err)
}
