package summary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots"
	"brokersim/sim"
)

func TestWaiting(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	shares := func(count int64, of map[string]float64) model.WaitShares {
		ms := map[string]float64{}
		for name, share := range of {
			ms[name] = 200 * float64(count) * share
		}
		return model.WaitShares{Count: count, Share: of, WaitingMs: ms}
	}
	bounded := shares(2, map[string]float64{"backlog": 1})
	bounded.Lo, bounded.Hi = map[string]float64{"backlog": 0.9}, map[string]float64{"backlog": 1}
	slow := shares(3, map[string]float64{"after_gc": 0.25, "idle": 0.75})
	slow.AtLeastMs = f(7)
	quick := slow
	quick.AtLeastMs = f(0.5)
	for _, c := range []struct {
		name string
		a    *model.Attribution
		r    *model.Recovery
		want string
	}{
		{"a live run", nil, nil, ""},
		{"nothing to tell", &model.Attribution{Slow: quick}, nil, ""},
		{"the greatest first", &model.Attribution{Rejected: shares(2, map[string]float64{"append_stall": 0.5, "after_append_stall": 0.2, "sweep": 0.3}), Slow: slow}, nil, `
Why the rejected sends waited: 2 sends in the send queue, 200 ms each
                                                                          share, %
  append stall        an append stood still, and held the put lock           50.00
  sweep               old enough to be rejected, until the sweeper came      30.00
  after append stall  the send threads worked on what it had left behind     20.00
`},
		{"with intervals", &model.Attribution{Rejected: bounded}, nil, `
Why the rejected sends waited: 2 sends in the send queue, 200 ms each
                                                  share, %    95 % interval
  load  the send threads worked on earlier sends    100.00  90.00 to 100.00
`},
		{"none was rejected", &model.Attribution{Slow: slow}, nil, `
Why the slowest sends waited: 3 sends for 7.00 ms or more in the send queue
                                                                share, %
  wake-up   a send thread was idle, and had to wake                75.00
  after GC  the send threads worked on what it had left behind     25.00
`},
		{"refused alone", &model.Attribution{Slow: slow, Refused: &model.Refusals{Count: 4, While: map[string]int64{"pool": 1, "roll": 3}}}, nil, `
Why sends were refused
  3 sends refused without a wait; file roll: a put waited for the next file, and held the put lock
  1 send refused without a wait; transient pool: it had no buffer left
`},
		{"at once", nil, &model.Recovery{Ms: model.Summary{Count: 2, Max: f(0)}}, `
After stalls
  send queue as short as before at once
`},
		{"once", nil, &model.Recovery{Ms: model.Summary{Count: 1, Max: f(7)}}, `
After stalls
  send queue as short as before 7 ms after the end of the stall
`},
		{"several, and not always", nil, &model.Recovery{Ms: model.Summary{Count: 2, P50: &model.Estimate{Value: 1}, Max: f(7)}, NotRecovered: 1}, `
After stalls
  send queue as short as before, after the end of each of 2 stalls: 1 ms at the median, 7 ms at most
  1 stall after which the send queue was never as short as before, while sends came
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			p := &printer{Writer: &b, style: ui.Style{Width: 120}, Input: Input{Result: &model.Result{Attribution: c.a, Recovery: c.r}, Story: new(Story)}}
			p.waiting()
			p.recovery()
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the wait was for names the mechanism that made the append stalls, if one
// made most of them.
func TestMostOfTheWait(t *testing.T) {
	for _, c := range []struct {
		name      string
		throttled sim.Time // of 300 ms of append stalls
		cause     string
		want      string
	}{
		{"of the scenario", 0, "append_stall", "; 75.00 % of the wait: append stall"},
		{"modelled, the smaller part", 100 * ms, "append_stall", "; 75.00 % of the wait: append stall"},
		{"modelled", 200 * ms, "append_stall", "; 75.00 % of the wait: append stall by dirty throttling"},
		{"another cause", 200 * ms, "flush", "; 75.00 % of the wait: flush"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := new(Story)
			s.stall(model.StallRecord{Where: model.StallAppend, From: 0, To: 200 * ms, BySeq: 1})
			if c.throttled > 0 {
				s.pause(&model.Pause{Mechanism: model.PauseThrottled, From: 0, To: c.throttled, BySeq: 1})
			}
			s.stall(model.StallRecord{Where: model.StallAppend, From: sim.Second, To: sim.Second + 100*ms, BySeq: 2})
			r := &model.Result{Attribution: &model.Attribution{Rejected: model.WaitShares{
				Count: 1, Share: map[string]float64{c.cause: 0.75, "sweep": 0.25}}}}
			if got := (&printer{Input: Input{Result: r, Story: s}}).mostOfTheWait(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// None of them waited.
func TestMostOfTheRefused(t *testing.T) {
	r := &model.Result{Attribution: &model.Attribution{Refused: &model.Refusals{Count: 4, While: map[string]int64{"roll": 3, "backlog": 1}}}}
	if got, want := (&printer{Input: Input{Result: r, Story: new(Story)}}).mostOfTheWait(), "; 75.00 % of them refused for: file roll"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every cause has its words.
func TestCauseWords(t *testing.T) {
	for _, c := range model.CauseList() {
		if name := plots.CauseName(c); causeMeans(c) == "" || name == "" || strings.HasSuffix(name, " ") {
			t.Errorf("%v has no words: %q, %q", c, name, causeMeans(c))
		}
	}
}
