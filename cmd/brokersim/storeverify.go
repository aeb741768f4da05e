package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/realstore"
)

func newStoreVerify() *cobra.Command {
	most := whole{value: 1000, least: 1, most: math.MaxInt32}
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Find what is wrong with a store",
		Long: `Read a whole store and compare each message with its CRC, its place, its consume
queue entry and its index entries, and queues, index files and checkpoint with the
messages. Nothing is written. A notice is what a clean stop does not leave, but no
reader minds, such as bytes behind the end.

No second copy exists of flag, born time and host, store host, the store time
within its second, reconsume times, prepared transaction offset, properties but
TAGS, KEYS, UNIQ_KEY and DELAY, and the bytes that fill a file up: a change there
is found only where it makes a value that can't be.

Exit code 0: nothing but notices; 1: faults, or the store can't be read.`,
		Example: "  brokersim store verify ~/store\n  brokersim store verify ~/store --json",
		Args:    operands("one DIR", 1, 1),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(&most, "faults", "print so many faults and notices at most")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON")
	f.BoolVar(&quiet, "quiet", false, "no progress on stderr; errors are still told")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		report, err := verifyStore(cmd, args[0], int(most.value), quiet)
		if err != nil {
			return err
		}
		if err := tellReport(cmd.OutOrStdout(), report, asJSON); err != nil || report.OK() {
			return err
		}
		return &exitError{code: exitInternal}
	})
	return cmd
}

func verifyStore(cmd *cobra.Command, path string, most int, quiet bool) (realstore.Report, error) {
	dir, err := realstore.OpenDir(path)
	if err != nil {
		return realstore.Report{}, storeError(err)
	}
	progress := newStoreProgress(cmd, quiet)
	defer progress.Done()
	ctx := cmd.Context()
	report, err := dir.Verify(realstore.VerifyOptions{MaxFaults: most, Progress: func(done, total int64) error {
		progress.Set(done, total)
		return ctx.Err()
	}})
	if err != nil && ctx.Err() != nil {
		err = &exitError{exitInterrupted, errors.New("interrupted")}
	}
	return report, err
}

// storeReport is a realstore.Report as JSON has it.
type storeReport struct {
	Sound     bool         `json:"sound"`
	Faults    int64        `json:"faults"`
	Notices   int64        `json:"notices"`
	Messages  int64        `json:"messages"`
	Bytes     int64        `json:"bytes"`
	Files     int          `json:"files"`
	Queues    int          `json:"queues"`
	IndexKeys int64        `json:"index_keys"`
	End       int64        `json:"end"`
	Clean     bool         `json:"stopped_cleanly"`
	Found     []storeFault `json:"found"`
}

type storeFault struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
	Notice bool   `json:"notice"`
}

func tellReport(w io.Writer, r realstore.Report, asJSON bool) error {
	if asJSON {
		out := storeReport{r.OK(), r.Found - r.Notices, r.Notices, r.Messages, r.Bytes, r.Files, r.Queues, r.IndexKeys, r.End, r.Clean, []storeFault{}}
		for _, f := range r.Faults {
			out.Found = append(out.Found, storeFault{f.File, f.Offset, f.Reason, f.Notice})
		}
		data, err := encode(out)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	style := ui.StyleOf(w)
	out := bufio.NewWriter(w)
	verdict := style.Green("sound")
	if !r.OK() {
		verdict = style.Red(numeral.Plural(r.Found-r.Notices, "fault"))
	}
	if r.Notices > 0 {
		verdict += ", " + numeral.Plural(r.Notices, "notice")
	}
	if !r.Clean {
		verdict += "; not stopped cleanly, or in use"
	}
	fmt.Fprintln(out, style.Bold(verdict))
	fmt.Fprintf(out, "%s, %s in %s, %s, %s\n", numeral.Plural(r.Messages, "message"), byteSize(r.Bytes),
		numeral.Plural(int64(r.Files), "file"), numeral.Plural(int64(r.Queues), "queue"), numeral.Plural(r.IndexKeys, "key"))
	for _, f := range r.Faults {
		fmt.Fprintln(out, printable(f.String()))
	}
	if n := r.Found - int64(len(r.Faults)); n > 0 {
		fmt.Fprintf(out, "and %s more: --faults prints them\n", numeral.Count(n))
	}
	return out.Flush()
}
