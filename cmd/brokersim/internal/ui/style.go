package ui

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colours text, or leaves it as it is.
type Style struct{ colour bool }

// StyleOf returns the style for a stream: colours for a terminal, unless
// NO_COLOR (https://no-color.org) or TERM=dumb says otherwise.
func StyleOf(w io.Writer) Style {
	return Style{IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Bold is for headings and verdicts.
func (s Style) Bold(text string) string { return s.in("1", text) }

// Red is for what went wrong.
func (s Style) Red(text string) string { return s.in("31", text) }

// Green is for what holds.
func (s Style) Green(text string) string { return s.in("32", text) }

// Dim is for what can be passed over.
func (s Style) Dim(text string) string { return s.in("2", text) }

func (s Style) in(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
