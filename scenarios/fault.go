package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fault is one thing wrong with a scenario: where, which key, what was wanted
// and what was got.
type Fault struct {
	File   string // as it was given; "" for an override
	Line   int    // from 1; 0 where no line applies (the file as a whole, an override)
	Column int    // from 1, in bytes as Go's compiler counts; inside a quantity, of the part at fault
	Set    string // KEY=VALUE of the override at fault, or ""
	Key    string // dotted path with indices, "stall.0.for"; "" for the file as a whole
	Msg    string // what was wanted, what was got
	Near   string // the nearest valid name, or ""

	rest int // of a fault that counts others: how many
}

// String prints `file:line:column: key: what; did you mean "x"?`, or
// `--set KEY=VALUE: key: what` for an override.
func (f Fault) String() string {
	var b strings.Builder
	switch {
	case f.Set != "":
		fmt.Fprintf(&b, "--set %s: ", f.Set)
	case f.Line == 0:
		fmt.Fprintf(&b, "%s: ", f.File)
	case f.Column == 0:
		fmt.Fprintf(&b, "%s:%d: ", f.File, f.Line)
	default:
		fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Column)
	}
	if f.Key != "" {
		b.WriteString(f.Key + ": ")
	}
	b.WriteString(f.Msg)
	if f.Near != "" {
		fmt.Fprintf(&b, "; did you mean %q?", f.Near)
	}
	return printable(b.String())
}

// printable spells what a terminal might obey, or not show, as an escape: a
// message has parts of the input in it.
func printable(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// Faults are all the faults of one scenario, in order of position; overrides
// come last. It is never empty when it is returned as an error.
type Faults []Fault

// Error prints one fault per line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// faultList keeps the first faults that are found, and counts the rest.
type faultList struct {
	kept Faults
	more int
}

// add keeps a fault; what it returns may be changed until the next add.
func (l *faultList) add(f Fault) *Fault {
	switch {
	case f.rest > 0:
		l.more += f.rest
		return &f
	case l.full():
		l.more++
		return &f
	}
	l.kept = append(l.kept, f)
	return &l.kept[len(l.kept)-1]
}

// full reports that a fault would only be counted.
func (l *faultList) full() bool { return len(l.kept) >= faultsMost }

// all are the faults found, with one that counts those that were not kept; nil
// if there is none.
func (l *faultList) all(file string) Faults {
	if l.more == 0 {
		return l.kept
	}
	return append(l.kept, l.counted(file))
}

// counted is the fault that stands for those that were not kept.
func (l *faultList) counted(file string) Fault {
	f := Fault{File: file, Msg: fmt.Sprintf("and %d more faults", l.more), rest: l.more}
	if l.more == 1 {
		f.Msg = "and 1 more fault"
	}
	return f
}

// sorted orders the faults: those of the scenario file by position, those of
// the files that it names, those of the overrides in their order; the count of
// those that were not kept comes last.
func (l *faultList) sorted(file string, sets []string) Faults {
	slices.SortStableFunc(l.kept, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(slices.Index(sets, a.Set), slices.Index(sets, b.Set)),
			cmp.Compare(b2i(a.File != file), b2i(b.File != file)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	fs := slices.Compact(l.kept)
	if l.more > 0 {
		fs = append(fs, l.counted(file))
	}
	return fs
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Nearest is the candidate that a wrong name most likely means, or "".
func Nearest(name string, candidates []string) string { return nearest(name, candidates) }

// nearest is the candidate within a third of the name's length (at least two
// edits) of name, letter case aside, or "". Of equally near ones it is the one
// that begins most like name, then the first. Of a name that none is near to,
// it is the first that begins with it, or that it begins with.
func nearest(name string, candidates []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	name = strings.ToLower(name)
	best, least, alike := "", max(2, len(name)/3)+1, 0
	for _, candidate := range candidates {
		c := strings.ToLower(candidate)
		d, a := edits(name, c), 0
		for a < min(len(name), len(c)) && name[a] == c[a] {
			a++
		}
		if d < len(c) && (d < least || d == least && best != "" && a > alike) {
			best, least, alike = candidate, d, a
		}
	}
	if best == "" {
		return begins(name, candidates)
	}
	return best
}

// begins is the first of the candidates that begin with a name of at least
// three bytes, or that it begins with.
func begins(name string, candidates []string) string {
	for _, candidate := range candidates {
		c := strings.ToLower(candidate)
		if min(len(name), len(c)) >= 3 && (strings.HasPrefix(c, name) || strings.HasPrefix(name, c)) {
			return candidate
		}
	}
	return ""
}

// edits is the Levenshtein distance of a and b, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal + b2i(a[i] != b[j])
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
