package scenarios_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"brokersim/model"
	"brokersim/scenarios"
)

// What had held a send up when it was rejected.
const (
	inARow    = iota // sleeps of one append, one after the other
	onBacklog        // a sleep that began while the send was waiting already
	single           // one sleep, which the send came behind
	causes
)

// cause names what held a send up: the sleeps that it waited through.
func cause(t *testing.T, a *model.Attempt, pauses []model.Pause) int {
	t.Helper()
	var behind []model.Pause
	for _, p := range pauses {
		if p.From < a.Clean && p.To > a.Enq {
			behind = append(behind, p)
		}
	}
	switch {
	case len(behind) == 0:
		t.Fatalf("send %d was rejected without a pause", a.Seq)
	case len(behind) == 1 && behind[0].From <= a.Enq:
		return single
	case len(behind) > 1 && behind[0].BySeq == behind[len(behind)-1].BySeq:
		return inARow
	}
	return onBacklog
}

// TestPageCacheStory runs the incident over the seeds that its story tells of,
// and holds the story's numbers against them.
func TestPageCacheStory(t *testing.T) {
	s, err := scenarios.Named("incident-208ms-pagecache")
	if err != nil {
		t.Fatal(err)
	}
	run := func(seed uint64) (rejected []model.Attempt, pauses []model.Pause) {
		c := s.Config
		c.Seed = seed
		b, err := model.New(&c, 0, model.Observer{
			Pause: func(p *model.Pause) { pauses = append(pauses, *p) },
			Attempt: func(a *model.Attempt) {
				if a.Outcome.Rejected() {
					rejected = append(rejected, *a)
				}
			},
		})
		if err == nil {
			err = b.Run(context.Background(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return rejected, pauses
	}

	rejected, pauses := run(s.Config.Seed)
	if len(rejected) == 0 {
		t.Fatal("no send was rejected")
	}
	if a := rejected[0]; a.Outcome != model.TimeoutCleanQueue || a.PeriodMs != 208 || a.Qsize != 8 || cause(t, &a, pauses) != inARow {
		t.Errorf("the first rejected: %+v", a)
	}
	tells := func(what string) {
		if !strings.Contains(strings.Join(strings.Fields(s.Story), " "), what) {
			t.Errorf("the story does not say %q", what)
		}
	}
	if len(pauses) == 3 {
		tells(fmt.Sprintf("the sleep at %.3f s rejects nobody", pauses[0].From.Seconds()))
		tells(fmt.Sprintf("At %.3f s the send thread sleeps again, wakes after %d ms", pauses[1].From.Seconds(), (pauses[1].To-pauses[1].From)/1e6))
		tells(fmt.Sprintf("came %.0f ms after it began, and the sweep at %.3f s", (rejected[0].Enq - pauses[1].From).Milliseconds(), rejected[0].Clean.Seconds()))
	} else {
		t.Errorf("pauses: got %v, want 3", pauses)
	}

	const seeds = 300
	var runs, first208, some208 int
	var firsts, all [causes]int
	for seed := range uint64(seeds) {
		rejected, pauses := run(seed + 1)
		for _, p := range pauses {
			if took := (p.To - p.From).Milliseconds(); took > 204 {
				t.Fatalf("seed %d: a pause of %v ms, MAX_PAUSE and a tick are 204", seed+1, took)
			}
		}
		if len(rejected) == 0 {
			continue
		}
		runs++
		first, line := &rejected[0], false
		for i := range rejected {
			a := &rejected[i]
			all[cause(t, a, pauses)]++
			line = line || a.PeriodMs == 208 && a.Qsize == 8
			if a.Clean < first.Clean {
				first = a
			}
		}
		firsts[cause(t, first, pauses)]++
		if line {
			some208++
		}
		if first.PeriodMs == 208 && first.Qsize == 8 {
			first208++
		}
	}
	tells(fmt.Sprintf("Over seeds 1 to %d a run rejects somebody in %d of them.", seeds, runs))
	tells(fmt.Sprintf("two sleeps in a row or more in %d, one sleep on top of another's backlog in %d, a single sleep in %d.", firsts[inARow], firsts[onBacklog], firsts[single]))
	tells(fmt.Sprintf("All in all %d sends are rejected: %d, %d and %d.", all[inARow]+all[onBacklog]+all[single], all[inARow], all[onBacklog], all[single]))
	tells(fmt.Sprintf("reads 208ms and 8 in %d runs, some line does in %d;", first208, some208))
}
