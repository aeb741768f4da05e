package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"brokersim/sim"
)

// Seconds prints an instant to the ms: "4.232 s".
func Seconds(t sim.Time) string { return fmt.Sprintf("%.3f s", t.Seconds()) }

// Duration prints a length of time with three significant digits or whole
// units: "250 ms", "1.20 s", "12.3 us".
func Duration(t sim.Time) string {
	switch {
	case t >= sim.Second:
		return Digits(t.Seconds()) + " s"
	case t >= sim.Millisecond:
		return Digits(t.Milliseconds()) + " ms"
	case t >= sim.Microsecond:
		return Digits(float64(t)/1e3) + " us"
	default:
		return strconv.FormatInt(int64(t), 10) + " ns"
	}
}

// Digits prints a number with at least three significant digits and without
// an exponent where that is short.
func Digits(x float64) string {
	switch a := math.Abs(x); {
	case a == 0:
		return "0"
	case a >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case a >= 0.001:
		return strconv.FormatFloat(x, 'f', 3, 64)
	default:
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
}

// Percent prints a share of 1 without its sign to a hundredth, what is smaller
// to two digits: "0.70", "12.07", "0.0013".
func Percent(share float64) string {
	p := share * 100
	if p == 0 || p >= 0.005 {
		return strconv.FormatFloat(p, 'f', 2, 64)
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// Range prints an interval, "1.20 to 3.41", with as many digits as its ends
// need to differ.
func Range(lo, hi float64) string {
	a, b := Digits(lo), Digits(hi)
	for decimals := 1; a == b && lo != hi && decimals <= 6; decimals++ {
		a, b = strconv.FormatFloat(lo, 'f', decimals, 64), strconv.FormatFloat(hi, 'f', decimals, 64)
	}
	return a + " to " + b
}

// Count prints a number with its thousands apart: "1,234,567".
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural prints a count with its noun: "1 stall", "2 stalls".
func Plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Count(n) + " " + noun
}

// Command prints a command line for a POSIX shell.
func Command(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsFunc(a, special) {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// special reports whether a shell might give r a meaning.
func special(r rune) bool {
	return !strings.ContainsRune("-_./:=@%+,", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
