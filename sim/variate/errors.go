package variate

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// ParseError is one fault of a text.
type ParseError struct {
	Offset, End int    // bytes [Offset, End) of the text are at fault
	Msg         string // names the thing, the value and the bound
	Near        string // the nearest valid name, or empty
}

func (e *ParseError) Error() string {
	if e.Near != "" {
		return fmt.Sprintf("byte %d: %s; did you mean %s?", e.Offset, e.Msg, e.Near)
	}
	return fmt.Sprintf("byte %d: %s", e.Offset, e.Msg)
}

// ParseErrors is what the Parse functions return as their error: every fault
// of the text, in order of offset. It is never empty.
type ParseErrors []*ParseError

func (e ParseErrors) Error() string {
	lines := make([]string, len(e))
	for i, f := range e {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a *ParseError.
func (e ParseErrors) Unwrap() []error {
	out := make([]error, len(e))
	for i, f := range e {
		out[i] = f
	}
	return out
}

// faultsMax is how many faults of one text are reported one by one.
const faultsMax = 50

// faults collects the faults of one text.
type faults struct {
	text string
	list ParseErrors
}

func (f *faults) add(off, end int, format string, args ...any) {
	f.list = append(f.list, &ParseError{Offset: off, End: end, Msg: fmt.Sprintf(format, args...)})
}

func (f *faults) addNear(off, end int, near, format string, args ...any) {
	f.add(off, end, format, args...)
	f.list[len(f.list)-1].Near = near
}

func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	sort.SliceStable(f.list, func(i, j int) bool { return f.list[i].Offset < f.list[j].Offset })
	if n := len(f.list); n > faultsMax {
		last := f.list[n-1]
		f.list = f.list[:faultsMax:faultsMax]
		f.add(last.Offset, last.End, "%d more faults, this is the last of them: %s", n-faultsMax, last.Msg)
	}
	return f.list
}

// ParamError is a parameter outside its range: what the constructors return,
// joined where there are several.
type ParamError struct {
	Name string // as spelt in TOML
	Msg  string // names the value and the bound
}

func (e *ParamError) Error() string { return e.Name + ": " + e.Msg }

// checks gathers the ParamErrors of a constructor.
type checks []error

func (c *checks) require(ok bool, name, format string, args ...any) {
	if !ok {
		*c = append(*c, &ParamError{name, fmt.Sprintf(format, args...)})
	}
}

// number checks lo <= x <= hi, which no NaN does.
func (c *checks) number(name string, x, lo, hi float64) {
	c.require(x >= lo && x <= hi, name, "want between %v and %v, got %v", lo, hi, x)
}

// quantity checks 0 <= x <= the largest quantity.
func (c *checks) quantity(unit Unit, name string, x float64) {
	if !(x >= 0 && x <= quantityMax) { // spelt only where wrong: there may be many
		c.require(false, name, "want between %s and %s, got %s", unit.format(0), unit.format(quantityMax), unit.format(x))
	}
}

// positive checks quantityMin <= x <= the largest quantity.
func (c *checks) positive(unit Unit, name string, x float64) {
	if !(x >= quantityMin && x <= quantityMax) {
		c.require(false, name, "want more than 0 (from %s to %s), got %s", unit.format(quantityMin), unit.format(quantityMax), unit.format(x))
	}
}

// below checks lo < hi for two quantities, once each is in its range.
func (c *checks) below(unit Unit, loName string, lo float64, hiName string, hi float64) {
	c.require(lo < hi, hiName, "want more than %s=%s, got %s", loName, unit.format(lo), unit.format(hi))
}

func (c checks) err() error { return errors.Join(c...) }

// Must returns v, or panics with err: for parameters written in the program.
func Must[T any](v T, err error) T {
	if err != nil {
		panic("variate: " + err.Error())
	}
	return v
}

// nearest returns the first name that differs least from got, if that may be a
// slip: a letter in three, or one of them begins with the other.
func nearest(got string, names []string) string {
	best, bestAt := "", 1+max(1, len(got)/3)
	lower := strings.ToLower(got)
	for _, name := range names {
		d := editDistance(lower, strings.ToLower(name))
		if got != "" && name != "" && (strings.HasPrefix(name, got) || strings.HasPrefix(got, name)) {
			d = min(d, 1)
		}
		if d < bestAt {
			best, bestAt = name, d
		}
	}
	return best
}

// editDistance counts letters put in, left out, changed, or swapped with their
// neighbour, in the first 32 bytes.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 32)], b[:min(len(b), 32)]
	var before, last, row [33]int
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last = last, row
		row[0] = i + 1
		for j := range len(b) {
			d := last[j]
			if a[i] != b[j] {
				d++
			}
			row[j+1] = min(d, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
