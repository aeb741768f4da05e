// Package numeral prints numbers as people read them, so that a table, a
// sentence and a figure that tell the same figure tell it alike: thousands
// apart, three significant digits, no exponents, and units a blank away.
package numeral

import (
	"math"
	"strconv"
	"strings"

	"brokersim/sim"
)

// Fixed prints x with so many decimals and its thousands apart: "1,934.5".
func Fixed(x float64, decimals int) string {
	whole, fraction, point := strings.Cut(strconv.FormatFloat(x, 'f', decimals, 64), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + fraction
	}
	return whole
}

// Count prints a whole number with its thousands apart: "1,234,567".
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

// Digits prints a measured number: three significant digits, all of a whole
// part, at least two of what is less than 1 and at most nine decimals.
func Digits(x float64) string {
	switch a := math.Abs(x); {
	case a < 5e-10 || math.IsNaN(x):
		return "0"
	case a >= 99.95:
		return Fixed(x, 0)
	case a >= 9.995:
		return Fixed(x, 1)
	case a >= 0.9995:
		return Fixed(x, 2)
	case a >= 0.00995:
		return Fixed(x, 3)
	default:
		return Fixed(x, min(1-int(math.Floor(math.Log10(a))), 9))
	}
}

// Short is Digits without zeros that end it: "1.2", "250", "0.5".
func Short(x float64) string {
	s := Digits(x)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Range prints an interval, "1.20 to 3.41", with as many digits as its ends
// need to differ.
func Range(lo, hi float64) string {
	a, b := Digits(lo), Digits(hi)
	for decimals := 1; a == b && lo != hi && decimals <= 6; decimals++ {
		a, b = Fixed(lo, decimals), Fixed(hi, decimals)
	}
	return a + " to " + b
}

// Seconds prints an instant to the ms: "4.232 s".
func Seconds(t sim.Time) string { return Fixed(float64(ToMs(t))/1000, 3) + " s" }

// ToMs is an instant in whole ms, to the nearest, as Seconds prints it.
func ToMs(t sim.Time) int64 {
	ms := int64(t / sim.Millisecond)
	if t%sim.Millisecond >= sim.Millisecond/2 {
		ms++
	}
	return ms
}

// Duration prints a length of time in the largest unit that it fills: "250 ms",
// "1.2 s", "12.3 us", and from a minute on in two: "1 min", "2 h 30 min".
func Duration(t sim.Time) string {
	switch {
	case t < 0:
		return "-" + Duration(-max(t, -math.MaxInt64))
	case t >= sim.Hour-sim.Second/2:
		return twoUnits(t, sim.Hour, " h", sim.Minute, " min")
	case t >= sim.Minute-sim.Millisecond/2:
		return twoUnits(t, sim.Minute, " min", sim.Second, " s")
	}
	for _, unit := range []struct {
		length sim.Time
		name   string
	}{{sim.Second, " s"}, {sim.Millisecond, " ms"}, {sim.Microsecond, " us"}} {
		// What rounds to 1000 of a unit is 1 of the next.
		if x := float64(t) / float64(unit.length); x >= 0.9995 {
			return Short(x) + unit.name
		}
	}
	return Count(int64(t)) + " ns"
}

// twoUnits prints t to the nearest small unit.
func twoUnits(t, large sim.Time, largeName string, small sim.Time, smallName string) string {
	n := int64(t / small)
	if t%small >= small/2 {
		n++
	}
	per := int64(large / small)
	s := Count(n/per) + largeName
	if rest := n % per; rest > 0 {
		s += " " + Count(rest) + smallName
	}
	return s
}

// Percent prints a share of 1 to a hundredth of a percent, without the sign:
// "0.70", "12.07". What is little but something is "< 0.01", and only all is
// 100.00.
func Percent(share float64) string {
	switch s := Fixed(share*100, 2); {
	case share > 0 && s == "0.00":
		return "< 0.01"
	case share < 1 && s == "100.00":
		return "99.99"
	default:
		return s
	}
}

// AtMost is Percent of an upper bound, rounded up.
func AtMost(share float64) string {
	return Fixed(min(math.Ceil(share*1e4-1e-9)/100, 100), 2)
}

// Share is Percent of k of n, rounded half up; "-" of none.
func Share(k, n int64) string {
	if n <= 0 {
		return "-"
	}
	switch hundredths := (k*20_000 + n) / (2 * n); {
	case k > 0 && hundredths == 0:
		return "< 0.01"
	case k < n && hundredths >= 10_000:
		return "99.99"
	default:
		return Fixed(float64(hundredths)/100, 2)
	}
}
