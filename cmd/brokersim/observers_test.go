package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/sim"
)

// Each observer hears what it asks for, and nobody is asked for what no one
// wants to hear.
func TestAll(t *testing.T) {
	heard := map[string]int{}
	hears := func(who string) model.Observer {
		return model.Observer{
			Attempt: func(*model.Attempt) { heard[who+" attempt"]++ },
			Sweep:   func(model.SweepRecord) { heard[who+" sweep"]++ },
			Stall:   func(model.StallRecord) { heard[who+" stall"]++ },
			Pause:   func(*model.Pause) { heard[who+" pause"]++ },
			Waited:  func(*model.Wait) { heard[who+" waited"]++ },
			Queue:   func(sim.Time, int) { heard[who+" queue"]++ },
			Lock:    func(sim.Time, sim.Time) { heard[who+" lock"]++ },
		}
	}
	deaf := model.Observer{AllSweeps: true}
	o := all([]model.Observer{deaf, hears("a"), deaf, hears("b"), {Attempt: func(*model.Attempt) { heard["c attempt"]++ }}})
	o.Attempt(nil)
	o.Sweep(model.SweepRecord{})
	o.Stall(model.StallRecord{})
	o.Pause(nil)
	o.Waited(nil)
	o.Queue(0, 0)
	o.Lock(0, 0)
	want := map[string]int{"c attempt": 1}
	for _, who := range []string{"a", "b"} {
		for _, what := range []string{"attempt", "sweep", "stall", "pause", "waited", "queue", "lock"} {
			want[who+" "+what] = 1
		}
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	if !o.AllSweeps {
		t.Error("AllSweeps: got false, want true")
	}
	if none := all(nil); none.Attempt != nil || none.Sweep != nil || none.Stall != nil || none.Pause != nil || none.Waited != nil || none.Queue != nil || none.Lock != nil {
		t.Error("of nobody: got callbacks, want none")
	}
}
