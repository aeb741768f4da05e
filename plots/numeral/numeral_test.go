package numeral

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brokersim/sim"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"seconds", Seconds(4231814 * sim.Microsecond), "4.232 s"},
		{"seconds of an hour", Seconds(sim.Hour), "3,600.000 s"},
		{"duration in s", Duration(1200 * sim.Millisecond), "1.2 s"},
		{"whole seconds", Duration(10 * sim.Second), "10 s"},
		{"28.05 s", Duration(27999 * sim.Millisecond), "28 s"},
		{"just a minute", Duration(sim.Minute - 1), "1 min"},
		{"a minute", Duration(sim.Minute), "1 min"},
		{"a minute and more", Duration(90 * sim.Second), "1 min 30 s"},
		{"an hour", Duration(sim.Hour), "1 h"},
		{"hours", Duration(900*sim.Hour + 30*sim.Minute), "900 h 30 min"},
		{"almost an hour", Duration(sim.Hour - 1), "1 h"},
		{"duration in ms", Duration(250 * sim.Millisecond), "250 ms"},
		{"almost a second", Duration(sim.Second - 1), "1 s"},
		{"duration in us", Duration(12345), "12.3 us"},
		{"duration in ns", Duration(17), "17 ns"},
		{"no time", Duration(0), "0 ns"},
		{"digits of 0", Digits(0), "0"},
		{"digits of NaN", Digits(math.NaN()), "0"},
		{"digits of a small", Digits(0.02345), "0.023"},
		{"digits of a smaller", Digits(0.002345), "0.0023"},
		{"digits of a tiny", Digits(0.00002345), "0.000023"},
		{"digits below 1", Digits(0.9996), "1.00"},
		{"digits below 10", Digits(9.996), "10.0"},
		{"digits below 100", Digits(99.96), "100"},
		{"digits of a thousand", Digits(1934.6), "1,935"},
		{"digits of a negative", Digits(-1.234), "-1.23"},
		{"short", Short(1.2), "1.2"},
		{"short of hundreds", Short(200), "200"},
		{"percent of 0", Percent(0), "0.00"},
		{"percent", Percent(0.00698), "0.70"},
		{"percent of a tiny", Percent(0.0000123), "< 0.01"},
		{"percent of almost all", Percent(0.999999), "99.99"},
		{"percent of all", Percent(1), "100.00"},
		{"bound", AtMost(0.00101), "0.11"},
		{"tiny bound", AtMost(1.5e-7), "0.01"},
		{"bound that is all", AtMost(1), "100.00"},
		{"share rounded up", Share(2, 3), "66.67"},
		{"share, half up", Share(5, 100_000), "0.01"},
		{"share of almost all", Share(99_999, 100_000), "99.99"},
		{"share of all", Share(7, 7), "100.00"},
		{"share of one in a million", Share(1, 1_000_000), "< 0.01"},
		{"share of none", Share(0, 0), "-"},
		{"count", Count(1234567), "1,234,567"},
		{"count of 3 digits", Count(999), "999"},
		{"count of a negative", Count(-123456), "-123,456"},
		{"plural of 1", Plural(1, "stall"), "1 stall"},
		{"plural", Plural(2000, "stall"), "2,000 stalls"},
		{"range", Range(1.2, 3.41), "1.20 to 3.41"},
		{"narrow range", Range(201.04, 201.31), "201.0 to 201.3"},
		{"range of thousands", Range(3004, 3005), "3,004 to 3,005"},
		{"empty range", Range(2, 2), "2.00 to 2.00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}

// No number has an exponent or more than three digits without a comma.
func TestPlainNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e15, 1e15).Draw(t, "x") * math.Pow10(-rapid.IntRange(0, 24).Draw(t, "scale"))
		d := sim.Time(rapid.Int64().Draw(t, "duration"))
		for _, s := range []string{Digits(x), Short(x), Percent(math.Abs(x)), Duration(d)} {
			whole, _, _ := strings.Cut(strings.TrimPrefix(strings.Fields(s)[0], "-"), ".")
			if strings.ContainsAny(s, "e") || len(strings.Split(whole, ",")[0]) > 3 {
				t.Fatalf("%q of %v, %v", s, x, int64(d))
			}
		}
	})
}
