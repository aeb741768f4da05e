package variate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"brokersim/sim"
)

// Unit is the base unit of a distributed quantity, and so of its parameters.
type Unit uint8

// The units: a Duration in ns, Bytes in bytes, a Count in ones.
const (
	Duration Unit = iota
	Bytes
	Count
)

func (u Unit) String() string { return unitNames[u] }

var unitNames = [...]string{Duration: "duration", Bytes: "size", Count: "count"}

const (
	quantityMax = 1 << 63 // of any parameter in base units: as a float64, the largest int64
	quantityMin = 1e-9    // of one that must be positive
	rateMax     = 1e9     // arrivals/s: one a ns
	rateMin     = 1e-9    // arrivals/s: one in 32 years

	numberBytesMax = 400 // of one number's text, so that exact arithmetic stays cheap
	exponentMax    = 400
)

// scale is a unit's name and what it is worth in base units.
type scale struct {
	name     string
	num, den int64
}

var durationScales = []scale{
	{"ns", 1, 1}, {"us", 1e3, 1}, {"µs", 1e3, 1}, {"μs", 1e3, 1}, {"ms", 1e6, 1}, {"s", 1e9, 1},
	{"m", 60e9, 1}, {"min", 60e9, 1}, {"h", 3600e9, 1},
}

var byteScales = []scale{
	{"TiB", 1 << 40, 1}, {"GiB", 1 << 30, 1}, {"MiB", 1 << 20, 1}, {"KiB", 1 << 10, 1},
	{"TB", 1e12, 1}, {"GB", 1e9, 1}, {"MB", 1e6, 1}, {"kB", 1e3, 1}, {"KB", 1e3, 1}, {"B", 1, 1},
}

var countScales = []scale{{"", 1, 1}}

var rateScales = []scale{
	{"/s", 1, 1}, {"/ms", 1e3, 1}, {"/us", 1e6, 1}, {"/m", 1, 60}, {"/min", 1, 60}, {"/h", 1, 3600},
}

func (u Unit) scales() []scale {
	switch u {
	case Bytes:
		return byteScales
	case Count:
		return countScales
	}
	return durationScales
}

// example is how errors say what was wanted.
func (u Unit) example() string {
	switch u {
	case Bytes:
		return `a size such as "16KiB"`
	case Count:
		return `a plain number such as "12"`
	}
	return `a duration such as "208ms"`
}

// ParseDuration reads an exact decimal with a unit: ns, us (or µs), ms, s, m
// (or min), h, as in "208ms", "1.5s", "2h". Signs, units in a row ("1h30m"),
// fractions of a nanosecond and what an int64 can't hold are refused.
func ParseDuration(text string) (sim.Time, error) {
	n, err := parseWhole(text, Duration)
	return sim.Time(n), err
}

// ParseBytes reads an exact number of bytes with a unit: B; kB (or KB), MB,
// GB, TB in powers of 1000; KiB, MiB, GiB, TiB in powers of 1024.
func ParseBytes(text string) (int64, error) { return parseWhole(text, Bytes) }

// ParseRate reads a rate in arrivals per second, to the nearest float64: a
// decimal followed by /s, /ms, /us, /m (or /min) or /h, as in "43/s", "6/min".
func ParseRate(text string) (float64, error) {
	var f faults
	rate := f.rate(token{0, len(text), text}, "rate")
	return rate, f.err()
}

func parseWhole(text string, unit Unit) (int64, error) {
	var f faults
	tok := token{0, len(text), text}
	r := f.rational(tok, unit.scales(), unit.example())
	switch {
	case r == nil:
	case !r.IsInt():
		f.add(tok.off, tok.end, "%q is not a whole number of %s", shorten(text), [...]string{"ns", "bytes", "ones"}[unit])
	case !r.Num().IsInt64():
		f.add(tok.off, tok.end, "%q is too large, want at most %s", shorten(text), unit.format(quantityMax))
	default:
		return r.Num().Int64(), nil
	}
	return 0, f.err()
}

// quantity reads a distribution's parameter in base units. It may be a
// fraction of one: a mean of 12.5ns is a fine mean.
func (f *faults) quantity(tok token, unit Unit) float64 {
	r := f.rational(tok, unit.scales(), unit.example())
	if r == nil {
		return 0
	}
	x := f.float(tok, r)
	if x > quantityMax {
		f.add(tok.off, tok.end, "%q is too large, want at most %s", shorten(tok.text), unit.format(quantityMax))
		return 0
	}
	return x
}

// rate reads a rate within [rateMin, rateMax], or 0.
func (f *faults) rate(tok token, name string) float64 {
	r := f.rational(tok, rateScales, `a rate such as "43/s"`)
	if r == nil {
		return 0
	}
	rate := f.float(tok, r)
	if rate > rateMax || rate > 0 && rate < rateMin {
		f.add(tok.off, tok.end, "%s: want between %s and %s, got %q", name, formatRate(rateMin), formatRate(rateMax), shorten(tok.text))
	}
	return rate
}

// number reads a number without a unit.
func (f *faults) number(tok token) float64 {
	r := f.rational(tok, countScales, `a plain number such as "0.9"`)
	if r == nil {
		return 0
	}
	return f.float(tok, r)
}

// float rounds r to the nearest float64; exponentMax keeps it in reach of
// being too large or too small, which is a fault.
func (f *faults) float(tok token, r *big.Rat) float64 {
	x, _ := r.Float64()
	if math.IsInf(x, 0) || x == 0 && r.Sign() != 0 {
		f.add(tok.off, tok.end, "%q is out of range of a number", shorten(tok.text))
		return 0
	}
	return x
}

// rational reads NUMBER UNIT exactly, in base units; nil after a fault.
func (f *faults) rational(tok token, scales []scale, want string) *big.Rat {
	text := tok.text
	n, problem := scanNumber(text)
	if problem != "" {
		f.add(tok.off, tok.end, "%q %s, want %s", shorten(text), problem, want)
		return nil
	}
	name := text[n:]
	for _, sc := range scales {
		if sc.name == name {
			r, ok := new(big.Rat).SetString(text[:n])
			if !ok {
				f.add(tok.off, tok.end, "%q is not a number, want %s", shorten(text), want)
				return nil
			}
			return r.Mul(r, big.NewRat(sc.num, sc.den))
		}
	}
	var names []string
	for _, sc := range scales {
		if sc.name < "~" { // only one spelling of the micro sign's units
			names = append(names, sc.name)
		}
	}
	switch {
	case name == "":
		f.add(tok.off, tok.end, "%q has no unit, want %s", shorten(text), want)
	case len(scales) == 1:
		f.add(tok.off, tok.end, "%q is more than a number, want %s", shorten(text), want)
	default:
		f.addNear(tok.off, tok.end, nearest(name, names), "unknown unit %q in %q, want one of %s", shorten(name), shorten(text), strings.Join(names, " "))
	}
	return nil
}

const notDigit = "does not begin with a digit"

// scanNumber returns the length of the number that text begins with: digits,
// and maybe a point with digits, and maybe an exponent.
func scanNumber(text string) (n int, problem string) {
	digits := func() (any bool) {
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
			any = true
		}
		return any
	}
	lower := strings.ToLower(strings.TrimLeft(text, "+-"))
	switch {
	case text == "":
		return 0, "is empty"
	case strings.HasPrefix(lower, "nan"), strings.HasPrefix(lower, "inf"):
		return 0, "is not finite"
	case text[0] == '-':
		return 0, "is negative"
	case len(text) > numberBytesMax:
		return 0, fmt.Sprintf("has %d bytes, at most %d are read", len(text), numberBytesMax)
	}
	if !digits() {
		return 0, notDigit
	}
	if n < len(text) && text[n] == '.' {
		n++
		if !digits() {
			return 0, "has no digit after the point"
		}
	}
	if n < len(text) && (text[n] == 'e' || text[n] == 'E') {
		n++
		if n < len(text) && (text[n] == '+' || text[n] == '-') {
			n++
		}
		from := n
		if !digits() {
			return 0, "has no digit in the exponent"
		}
		if e, err := strconv.Atoi(text[from:n]); err != nil || e > exponentMax {
			return 0, fmt.Sprintf("has an exponent beyond %d", exponentMax)
		}
	}
	return n, ""
}

// shorten keeps quoted input readable in errors.
func shorten(text string) string {
	if len(text) <= 60 {
		return text
	}
	return text[:48] + "..."
}

// format spells x, in base units, so that it reads back as the same float64.
func (u Unit) format(x float64) string {
	switch u {
	case Bytes:
		return formatBytes(x)
	case Count:
		return formatNumber(x)
	}
	return formatDuration(x)
}

func formatNumber(x float64) string {
	if x == 0 || math.Abs(x) >= 1e-6 && math.Abs(x) < 1e21 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'e', -1, 64)
}

func formatRate(perSecond float64) string { return formatNumber(perSecond) + "/s" }

// formatDuration moves the decimal point of the shortest digits of ns, which
// is exact, to the unit with one to three digits before it.
func formatDuration(ns float64) string {
	if !(ns > 0) || math.IsInf(ns, 0) {
		if ns == 0 {
			return "0s"
		}
		return formatNumber(ns) + "ns"
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(ns, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	unit := "ns"
	switch {
	case e >= 9:
		unit, e = "s", e-9
	case e >= 6:
		unit, e = "ms", e-6
	case e >= 3:
		unit, e = "us", e-3
	}
	if e < -6 {
		return mantissa + "e" + strconv.Itoa(e) + unit
	}
	digits := strings.Replace(mantissa, ".", "", 1)
	if e < 0 {
		return "0." + strings.Repeat("0", -e-1) + digits + unit
	}
	if len(digits) <= e+1 {
		return digits + strings.Repeat("0", e+1-len(digits)) + unit
	}
	return digits[:e+1] + "." + digits[e+1:] + unit
}

// formatBytes takes the first unit that gives a whole number.
func formatBytes(x float64) string {
	for _, sc := range byteScales {
		if q := x / float64(sc.num); q >= 1 && q == math.Trunc(q) && float64(q*float64(sc.num)) == x {
			return formatNumber(q) + sc.name
		}
	}
	return formatNumber(x) + "B"
}
