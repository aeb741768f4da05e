package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/realstore"
)

func newStoreRecover() *cobra.Command {
	var to, release string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "recover DIR --to DIR2",
		Short: "Copy what is sound of a store into another folder",
		Long: `Copy the messages of a store up to the first bad one, as the broker's own recovery
keeps them, into DIR2, and make consume queues, index and checkpoint for them anew.
DIR is only read. DIR2 must be empty or missing, and outside of DIR.

Messages keep their offsets, so what follows a bad one can't be kept; it is said how
many sound ones that are, and dump still prints them.`,
		Example: "  brokersim store recover ~/store --to mended && brokersim store verify mended",
		Args:    operands("one DIR", 1, 1),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&to, "to", "", "`DIR2` for the copy")
	f.StringVar(&release, "release", realstore.DefaultRelease, "RocketMQ's `RELEASE` whose index and checkpoint are made")
	f.BoolVar(&quiet, "quiet", false, "no progress on stderr; errors are still told")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		if to == "" {
			return usageError(cmd, errors.New("store recover: want --to DIR2"))
		}
		o, err := realstore.DefaultOptions(release)
		if err != nil {
			return badInput(fmt.Errorf("--release: %w", err))
		}
		o.MappedFileSizeCommitLog, o.MappedFileSizeConsumeQueue, o.MaxHashSlotNum, o.MaxIndexNum = 0, 0, 0, 0
		if err := apart(args[0], to); err != nil {
			return badInput(err)
		}
		ctx, progress := cmd.Context(), newStoreProgress(cmd, quiet)
		salvage, err := realstore.Recover(args[0], to, o, func(done, total int64) error {
			progress.Set(done, total)
			return ctx.Err()
		})
		progress.Done()
		switch {
		case err != nil && errors.Is(err, ctx.Err()):
			return &exitError{exitInterrupted, fmt.Errorf("interrupted: %s is incomplete, remove it", to)}
		case err != nil:
			return storeError(err)
		}
		return tellSalvage(cmd.OutOrStdout(), salvage, to)
	})
	return cmd
}

// apart refuses a target inside the store, whichever way it is named.
func apart(from, to string) error {
	target := resolved(to)
	for _, part := range []string{"", "commitlog", "consumequeue", "index", "config"} {
		rel, err := filepath.Rel(resolved(filepath.Join(from, part)), target)
		if err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("--to %s: it lies in the store %s, which is not to be touched", to, from)
		}
	}
	return nil
}

// resolved is a path without symbolic links, as far as it exists.
func resolved(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	for rest := ""; ; {
		if p, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(p, rest)
		} else if !errors.Is(err, os.ErrNotExist) || path == filepath.Dir(path) {
			return filepath.Join(path, rest)
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

func tellSalvage(w io.Writer, sv realstore.Salvage, to string) error {
	style := ui.StyleOf(w)
	out := bufio.NewWriter(w)
	verdict := "all kept"
	if sv.Stop != realstore.Sound {
		verdict = fmt.Sprintf("cut at offset %d: %v", sv.End, sv.Stop)
	}
	fmt.Fprintf(out, "%s\n", style.Bold(verdict))
	fmt.Fprintf(out, "kept: %s, up to offset %d, in %s\n", numeral.Plural(sv.Messages, "message"), sv.End, to)
	if sv.Stop != realstore.Sound {
		fmt.Fprintf(out, "cut: the bad place and %s after it\n", numeral.Plural(sv.Lost, "sound message"))
	}
	return out.Flush()
}
