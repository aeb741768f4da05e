package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/realstore"
)

func newStore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store {info|dump|verify|recover} DIR",
		Short: "Look into a store on disk, a real broker's or one made here",
		Long: `Look into the store of a RocketMQ broker, or of brokersim live: DIR is the folder
that holds commitlog/ (storePathRootDir). Nothing in it is written, locked or
trusted, and memory does not grow with it.`,
		Example: `  brokersim store info ~/store
  brokersim store dump ~/store --topic TopicA --limit 10
  brokersim store verify ~/store
  brokersim store recover ~/store --to mended`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError(cmd, fmt.Errorf("store: unknown command %q, want info, dump, verify or recover", args[0]))
		}
		return cmd.Help()
	}
	cmd.AddCommand(newStoreInfo(), newStoreDump(), newStoreVerify(), newStoreRecover())
	return cmd
}

// storeError gives the refusal of a directory the exit code of bad input.
func storeError(err error) error {
	if errors.Is(err, realstore.ErrForeign) {
		return badInput(err)
	}
	return inputError(err)
}

// byteSize prints a number of bytes: "64 KiB", "1.46 GiB".
func byteSize(n int64) string {
	units := [...]string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	if x == float64(int64(x)) {
		return numeral.Count(int64(x)) + " " + units[i]
	}
	return numeral.Digits(x) + " " + units[i]
}

// storeTime prints a time in ms since 1970, in UTC.
func storeTime(ms int64) string {
	var c secondText
	return string(c.append(nil, ms))
}

// secondText appends times and keeps the text of the last second: one message's
// is most often the next one's.
type secondText struct {
	second int64
	text   []byte
}

func (c *secondText) append(b []byte, ms int64) []byte {
	second, rest := ms/1000, ms%1000
	if rest < 0 {
		second, rest = second-1, rest+1000
	}
	if c.text == nil || second != c.second {
		c.second = second
		c.text = time.Unix(second, 0).UTC().AppendFormat(c.text[:0], "2006-01-02T15:04:05")
	}
	b = append(b, c.text...)
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10), 'Z')
}

// appendPrintable appends a text of a store. What could break a line or steer a
// terminal is escaped as in Go.
func appendPrintable(b, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c >= utf8.RuneSelf || c == 0x7F {
			return appendEscaped(b, text)
		}
	}
	return append(b, text...)
}

func appendEscaped(b, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, fmt.Sprintf(`\x%02x`, text[0])...)
		case unicode.IsPrint(r):
			b = append(b, text[:n]...)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b = append(b, q[1:len(q)-1]...)
		}
		text = text[n:]
	}
	return b
}

func printable(text string) string { return string(appendPrintable(nil, []byte(text))) }

func newStoreProgress(cmd *cobra.Command, quiet bool) *ui.Progress {
	return ui.NewProgress(talkOf(cmd, quiet), byteSize)
}
