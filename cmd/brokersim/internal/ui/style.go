package ui

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Style is how text is set on a stream: in colour or not, and how wide.
type Style struct {
	Width    int // columns
	Terminal bool
	colour   bool
}

// WidthElsewhere is the width of what is no terminal.
const WidthElsewhere = 100

// StyleOf returns the style for a stream: a terminal has its width, and
// colours unless NO_COLOR (https://no-color.org) or TERM=dumb says otherwise.
func StyleOf(w io.Writer) Style {
	s := Style{Width: WidthElsewhere}
	if f, ok := file(w); ok && IsTerminal(f) {
		s.Terminal = true
		s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.Width = width
		}
	}
	return s
}

// Wrap breaks text between words into lines that fit the width, each after
// indent blanks; a longer word has a line of its own. A unit stays with its
// number.
func (s Style) Wrap(text string, indent int) []string {
	var lines []string
	line := ""
	for _, word := range words(text) {
		switch {
		case line == "":
			line = word
		case indent+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > s.Width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// words splits text where a line may end.
func words(text string) (words []string) {
	for word := range strings.FieldsSeq(text) {
		switch strings.TrimRight(word, ".,;:)") {
		case "%", "h", "min", "s", "ms", "us":
			if len(words) > 0 {
				words[len(words)-1] += " " + word
				continue
			}
		}
		words = append(words, word)
	}
	return words
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// file is the file that w writes to.
func file(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*Output); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	return f, ok
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
