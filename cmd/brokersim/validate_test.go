package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/realstore/validate"
)

// TestTellReport: the text, and the exit code by the worst verdict.
func TestTellReport(t *testing.T) {
	none := validate.Number(math.NaN())
	lines := func(v validate.Verdict) []validate.Line {
		return []validate.Line{
			{Quantity: "sojourn p50, ms", Kind: validate.Ratio, Got: 0.98, Want: 1, Difference: -0.02, Lo: -0.05, Hi: 0.12, Floor: 0.01, Limit: 0.05, Verdict: v, Why: "a reason"},
			{Quantity: "sojourn, KS distance", Kind: validate.Distance, Got: none, Want: none, Difference: 0.02, Lo: 0.01, Hi: 0.04, Floor: 0.015, Limit: 0.06, Verdict: validate.Agrees},
			{Quantity: "replayed, same outcome, % of 1,000", Kind: validate.Share, Got: 99.5, Want: none, Difference: none, Lo: none, Hi: none, Floor: none, Limit: 99, Verdict: validate.Agrees},
			{Quantity: "TIMEOUT_CLEAN_QUEUE, per run", Kind: validate.Count, Got: 90, Want: 88.5, Difference: 1.5, Lo: none, Hi: none, Floor: 4, Limit: 4, Verdict: validate.Agrees},
			{Quantity: "TIMEOUT_CLEAN_QUEUE, per run" + validate.Replayed, Kind: validate.Count, Got: 88, Want: 88.5, Difference: -0.5, Lo: none, Hi: none, Floor: 4, Limit: 4, Verdict: validate.Agrees},
		}
	}
	for _, c := range []struct {
		name    string
		verdict validate.Verdict
		partial bool
		code    int
		head    string
	}{
		{"all agree", validate.Agrees, false, 0, "5 agree"},
		{"one can't be told", validate.CantTell, false, exitUndecided, "1 can't tell, 4 agree"},
		{"one differs", validate.Differs, false, exitInternal, "1 line differs, 4 agree"},
		{"interrupted", validate.Agrees, true, exitInterrupted, "interrupted; 5 agree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r validate.Report
			r.Add(validate.Rung{Number: 3, Title: "virtual", Partial: c.partial, Groups: []validate.Group{{Name: "stall", Title: "a stall", Notes: []string{"a note"}, Lines: lines(c.verdict)}}})
			var b bytes.Buffer
			err := (&validation{}).tell(&b, &r)
			code := 0
			var e *exitError
			if errors.As(err, &e) {
				code = e.code
			}
			if code != c.code {
				t.Errorf("exit code: got %d, want %d", code, c.code)
			}
			head, _, _ := strings.Cut(b.String(), "\n")
			if head != c.head {
				t.Errorf("verdict: got %q, want %q", head, c.head)
			}
			if c.verdict != validate.Agrees || c.partial {
				return
			}
			_, table, _ := strings.Cut(b.String(), "stall: a stall\n")
			want := `  a note
                          virtual  live  off by        interval   floor      limit
  sojourn p50, ms           0.980  1.00  -2.0 %  -5.0 to +12 %   1.0 %      5.0 %  agrees
  sojourn, KS distance                    0.020   0.010 to 0.040  0.015      0.060  agrees
  replayed, same outcome  99.50 %                                         99 %  agrees
  TIMEOUT_CLEAN_QUEUE          90  88.5    +1.5                       4          4  agrees
    replayed                   88  88.5    -0.5                       4          4  agrees
  - a reason
`
			squeeze := func(s string) string {
				var out []string
				for line := range strings.Lines(s) {
					out = append(out, strings.Join(strings.Fields(line), " "))
				}
				return strings.Join(out, "\n")
			}
			if diff := cmp.Diff(squeeze(want), squeeze(table)); diff != "" {
				t.Errorf("table, blanks aside (-want +got):\n%s", diff)
			}
		})
	}
}

// TestValidateInterrupted: what was complete is printed, as JSON too.
func TestValidateInterrupted(t *testing.T) {
	for _, args := range [][]string{{"validate", "--rungs", "1,2"}, {"validate", "--rungs", "3", "--dir", t.TempDir(), "--json"}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		root := newRoot()
		var out, talk bytes.Buffer
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&talk)
		if code := exitCode(root.ExecuteContext(ctx), os.Stderr); code != exitInterrupted || out.Len() == 0 || !strings.Contains(out.String(), "interrupted") && !strings.Contains(out.String(), `"partial": true`) {
			t.Errorf("%q: exit code %d, %q", args, code, out.String())
		}
	}
}
