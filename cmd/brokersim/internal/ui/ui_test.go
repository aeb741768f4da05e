package ui

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brokersim/sim"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"seconds", Seconds(4231814 * sim.Microsecond), "4.232 s"},
		{"duration in s", Duration(1200 * sim.Millisecond), "1.20 s"},
		{"duration in ms", Duration(250 * sim.Millisecond), "250 ms"},
		{"duration in us", Duration(12345), "12.3 us"},
		{"duration in ns", Duration(17), "17 ns"},
		{"digits of 0", Digits(0), "0"},
		{"digits of a small", Digits(0.02345), "0.023"},
		{"digits of a tiny", Digits(0.00002345), "2.3e-05"},
		{"digits below 1", Digits(0.9996), "1.00"},
		{"digits below 10", Digits(9.996), "10.0"},
		{"digits below 100", Digits(99.96), "100"},
		{"digits of a negative", Digits(-1.234), "-1.23"},
		{"percent of 0", Percent(0), "0.00"},
		{"percent", Percent(0.00698), "0.70"},
		{"percent of a tiny", Percent(0.0000123), "0.0012"},
		{"count", Count(1234567), "1,234,567"},
		{"count of 3 digits", Count(999), "999"},
		{"count of a negative", Count(-123456), "-123,456"},
		{"plural of 1", Plural(1, "stall"), "1 stall"},
		{"plural", Plural(2000, "stall"), "2,000 stalls"},
		{"range", Range(1.2, 3.41), "1.20 to 3.41"},
		{"narrow range", Range(201.04, 201.31), "201.0 to 201.3"},
		{"empty range", Range(2, 2), "2.00 to 2.00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}

// A shell reads back what Command quotes.
func TestCommandIsReadByShell(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.StringMatching(`[ -~\n\tä]{0,8}`), 20, 40).Draw(t, "args")
		out, err := exec.Command("sh", "-c", Command(append([]string{"printf", `%s\0`}, args...)...)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(out), strings.Join(args, "\x00")+"\x00"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestTable(t *testing.T) {
	table := NewTable("name", ">count", "")
	table.Row("a", "1", "")
	table.Row("longer", "1,000", "note")
	var b bytes.Buffer
	table.Write(&b, 2)
	const want = "  name    count\n  a           1\n  longer  1,000  note\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestNothingButTextOffTerminals(t *testing.T) {
	var b bytes.Buffer
	style := StyleOf(&b)
	for _, f := range []func(string) string{style.Bold, style.Red, style.Green, style.Dim} {
		if got := f("text"); got != "text" {
			t.Errorf("style: got %q, want text alone", got)
		}
	}
	p := NewProgress(&b, Count)
	p.Set(1, 2)
	p.Done()
	if b.Len() > 0 {
		t.Errorf("progress: got %q, want nothing", b.String())
	}
}
