package scenarios

import (
	"context"
	"testing"

	"brokersim/model"
)

// TestDominantCauses: what the rejected sends of bundled scenarios waited for
// most, and what the slow ones did.
func TestDominantCauses(t *testing.T) {
	for _, c := range []struct {
		name, sets     string
		rejected, slow string  // "": none
		least          float64 // share of the rejected ones' cause
		refused        string  // while most were
	}{
		{"burst", "", "backlog", "backlog", 0.95, ""},
		{"file-roll", "", "roll", "backlog", 0.95, "roll"},
		{"freeze", "", "append_stall", "append_stall", 0.6, ""},
		{"gc-pause", "", "gc", "append_stall", 0.8, ""},
		{"incident-208ms", "", "append_stall", "append_stall", 0.95, ""},
		{"incident-208ms-pagecache", "", "append_stall", "append_stall", 0.95, ""},
		{"overload", "", "backlog", "backlog", 0.95, ""},
		{"queue-full", "", "append_stall", "append_stall", 0.95, "append_stall"},
		{"quiet", "", "", "idle", 0, ""},
		{"raised-limits", "", "append_stall", "append_stall", 0.95, ""},
		{"stall-1200ms", "", "append_stall", "idle", 0.95, "append_stall"},
		{"stall-500ms", "", "append_stall", "append_stall", 0.95, ""},
		// The sweeper's 100 ms are a part of what 8 sends waited; without the
		// append stall nobody would have.
		{"sweeper-late", "", "append_stall", "append_stall", 0.85, ""},
		// The spinning threads take the cores from the one that would come for
		// the next send; one thread, or threads that sleep, wait for the append.
		{"threads", "", "backlog", "backlog", 0.8, ""},
		{"threads-32", "", "cpu", "cpu", 0.8, ""},
		{"threads-32", "broker.sendMessageThreadPoolNums=1", "append_stall", "append_stall", 0.9, ""},
		{"threads-32", "broker.useReentrantLockWhenPutMessage=true", "append_stall", "append_stall", 0.9, ""},
		{"wait-limit", "", "append_stall", "append_stall", 0.95, "append_stall"},
	} {
		t.Run(c.name+" "+c.sets, func(t *testing.T) {
			t.Parallel()
			s := variant(t, c.name, c.sets)
			study, err := model.Replicate(context.Background(), &s.Config, 1, 1, model.Observer{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			a := study.Result().Attribution
			if got := longest(a.Rejected.Share); got != c.rejected || a.Rejected.Share[got] < c.least {
				t.Errorf("rejected sends waited for %v, want at least %v of %s", a.Rejected.Share, c.least, c.rejected)
			}
			if got := longest(a.Slow.Share); got != c.slow {
				t.Errorf("slow sends waited for %v, want most of %s", a.Slow.Share, c.slow)
			}
			refused := ""
			if a.Refused != nil {
				refused = longest(a.Refused.While)
			}
			if refused != c.refused {
				t.Errorf("refused while %q, want %q", refused, c.refused)
			}
		})
	}
}

// longest is the key of the greatest value, "" of none.
func longest[T int64 | float64](of map[string]T) (most string) {
	for _, c := range model.CauseList() {
		if of[c.String()] > of[most] {
			most = c.String()
		}
	}
	return most
}
