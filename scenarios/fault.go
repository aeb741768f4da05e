package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	return b.String()
}

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

// sorted orders the faults: those of the scenario file by position, those of
// the files that it names, those of the overrides in their order.
func (fs Faults) sorted(file string, sets []string) Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(slices.Index(sets, a.Set), slices.Index(sets, b.Set)),
			cmp.Compare(b2i(a.File != file), b2i(b.File != file)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(fs)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// nearest is the candidate within a third of the name's length (at least two
// edits) of name, letter case aside, or "". Of equally near ones it is the one
// that begins most like name, then the first.
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
	return best
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
