package ui

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brokersim/plots/numeral"
)

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
	table.Write(&b, 2, 22)
	const want = "  name    count\n  a           1\n  longer  1,000  note\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	b.Reset()
	table.Write(&b, 2, 20)
	const narrow = "  a\n    count  1\n  longer\n    count  1,000\n           note\n"
	if diff := cmp.Diff(narrow, b.String()); diff != "" {
		t.Errorf("narrow table (-want +got):\n%s", diff)
	}
}

func TestWrap(t *testing.T) {
	style := StyleOf(new(bytes.Buffer))
	if style.Width != WidthElsewhere || style.Terminal {
		t.Errorf("style of a buffer: got %+v, want a width of %d and no terminal", style, WidthElsewhere)
	}
	style.Width = 12
	if diff := cmp.Diff([]string{"a ä b c", "dd", "longer-than-the-line", "e of", "99.98 %;", "end"}, style.Wrap("a ä b c  dd\nlonger-than-the-line e of 99.98 %; end", 4)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
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
	p := NewProgress(&b, numeral.Count)
	p.Set(1, 2)
	p.Done()
	if b.Len() > 0 {
		t.Errorf("progress: got %q, want nothing", b.String())
	}
}
