package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/sim/analytic"
)

func TestTellChecks(t *testing.T) {
	good := analytic.Check{Name: "M/M/1, load 0.5", Quantity: "mean wait, ms", Want: 1, Got: 1.01, Lo: 0.98, Hi: 1.04, Confidence: 0.999, Passed: true}
	second := analytic.Check{Name: "M/M/1, load 0.5", Quantity: "share lost", Want: 0, Got: 0, Confidence: 0.999, Passed: true}
	bad := analytic.Check{Name: "M/D/1, load 0.8", Quantity: "mean wait, ms", Want: 2, Got: 2.1, Lo: 1.8, Hi: 1.9, Confidence: 0.999}
	few := bad
	few.Lo, few.Hi, few.Why = math.NaN(), math.NaN(), "too few"
	for _, c := range []struct {
		name   string
		checks []analytic.Check
		json   bool
		code   int
		want   string
	}{
		{"all pass", []analytic.Check{good, second}, false, 0, `all 2 checks passed

                 closed form  simulated  99.9 % interval
M/M/1, load 0.5
  mean wait, ms         1.00       1.01    0.980 to 1.04  passed
  share lost               0          0           0 to 0  passed
`},
		{"one fails", []analytic.Check{good, bad}, false, exitInternal, `1 of 2 checks failed

                 closed form  simulated  99.9 % interval
M/M/1, load 0.5
  mean wait, ms         1.00       1.01    0.980 to 1.04  passed
M/D/1, load 0.8
  mean wait, ms         2.00       2.10     1.80 to 1.90  FAILED
`},
		{"too few for an interval", []analytic.Check{few}, false, exitUndecided, `none of 1 check failed, 1 undecided: too few customers for an interval

                 closed form  simulated  99.9 % interval
M/D/1, load 0.8
  mean wait, ms         2.00       2.10          too few  undecided
`},
		{"JSON", []analytic.Check{few}, true, exitUndecided, `[
  {
    "name": "M/D/1, load 0.8",
    "quantity": "mean wait, ms",
    "closed_form": 2,
    "simulated": 2.1,
    "lo": null,
    "hi": null,
    "confidence": 0.999,
    "passed": false,
    "no_interval": "too few"
  }
]
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			err := tellChecks(&b, c.checks, c.json)
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			code := 0
			var e *exitError
			if errors.As(err, &e) {
				code = e.code
			}
			if code != c.code {
				t.Errorf("exit code: got %d (%v), want %d", code, err, c.code)
			}
		})
	}
}

// An interrupt ends the checks, not only the wait for them.
func TestVerifyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checks, err := verify(ctx, io.Discard, 1, 1_000_000_000)
	var e *exitError
	if checks != nil || !errors.As(err, &e) || e.code != exitInterrupted {
		t.Errorf("got %d checks, error %v, want exit code %d", len(checks), err, exitInterrupted)
	}
}
