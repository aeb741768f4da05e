package summary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/sim"
)

// The stages of an attempt add up to the time from call to answer.
func TestWayAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := sim.Time(0)
		next := func() sim.Time {
			at += sim.Time(rapid.Int64Range(0, int64(sim.Second)).Draw(t, "takes"))
			return at
		}
		a := &model.Attempt{Send: next(), Arrive: next(), Enq: model.Absent, Deq: model.Absent, LockReq: model.Absent, Lock: model.Absent,
			Unlock: model.Absent, Done: model.Absent, Clean: model.Absent}
		switch rapid.SampledFrom([]string{"refused", "swept", "not put", "put"}).Draw(t, "fate") {
		case "swept":
			a.Enq, a.Clean = next(), next()
		case "not put":
			a.Enq, a.Deq, a.Done = next(), next(), next()
		case "put":
			a.Enq, a.Deq, a.LockReq, a.Lock, a.Unlock, a.Done = next(), next(), next(), next(), next(), next()
		}
		a.Resp = next()
		w := way(a)
		if got, want := w.total(), a.Resp-a.Send; got != want {
			t.Fatalf("%v in stages, want %v: %v", got, want, w)
		}
	})
}

func TestLatencyCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := sim.Time(rapid.Int64Range(4, int64(sim.Never)).Draw(t, "d"))
		cell := latencyCell(d)
		if least := latencyCellLeast(cell); least > d || d-least > d/4 {
			t.Fatalf("%d is in a cell from %d on", d, least)
		}
		if cell < latencyCell(d-1) {
			t.Fatalf("%d is in a lower cell than %d", d, d-1)
		}
	})
}

// Where nothing went wrong, it is said where the slowest sends were, if they were
// slow.
func TestSlowest(t *testing.T) {
	answered := func(lock, after sim.Time) *model.Attempt {
		return &model.Attempt{Arrive: 0, Enq: 0, Deq: 0, LockReq: 0, Lock: lock, Unlock: lock, Done: lock + after, Clean: model.Absent,
			Resp: lock + after, Outcome: model.OK}
	}
	late := answered(4*sim.Second, 0)
	late.ClientTimedOut = true
	for _, c := range []struct {
		name  string
		sends []*model.Attempt
		want  string
	}{
		{"quick", []*model.Attempt{answered(5*ms, 0)}, ""},
		{"slow", []*model.Attempt{answered(5*ms, 0), answered(60*ms, 20*ms)}, `
Where the slowest sends were: 1 send of 67.1 ms or more
                                                         share, %
  put lock       others held it                             75.00
  after the put  for a flush or a slave, and the answer     25.00
`},
		{"rejected", []*model.Attempt{answered(60*ms, 20*ms), swept(1, 0, 200*ms, model.TimeoutCleanQueue)}, ""},
		{"timed out", []*model.Attempt{answered(60*ms, 20*ms), late}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			s := new(Story)
			for _, a := range c.sends {
				s.attempt(a)
			}
			p := &printer{Writer: &b, style: ui.Style{Width: 100}, Input: Input{Result: &model.Result{Replications: 1}, Story: s}}
			p.slowest()
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
