package recording

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/sim"
)

const measuredRows = `seq,arrive_ns,enq_ns,deq_ns,lockreq_ns,app0_ns,app1_ns,unlock_ns,done_ns,outcome
0,1000,1100,,,,,,,TIMEOUT_CLEAN_QUEUE
1,2000,2100,2150,2200,2210,2300,2305,3000,OK
2,2500,2600,3000,3010,3020,3021,3022,3900,OK
3,4000,4100,,,,,,,TIMEOUT_CLEAN_QUEUE
4,5000,5100,5170,5180,5190,5200,5201,5300,OK
`

// TestMeasured: of each request the recorded times; of one that the broker
// rejected, those of the one before, or of the first that has any.
func TestMeasured(t *testing.T) {
	requests, err := ReadRequests("requests.csv", strings.NewReader(measuredRows))
	if err != nil {
		t.Fatal(err)
	}
	cfg := base()
	if cfg.Broker, err = model.Defaults("4.3.2", 2); err != nil {
		t.Fatal(err)
	}
	cfg.Broker.FlushDiskType = model.SyncFlush
	cfg.Store.Delay = 5
	cfg.Stalls = []model.Stall{{Where: model.StallAppend}, {Where: model.StallSweep}, {Where: model.StallFlush}, {Where: model.StallProcess}}
	if err := MeasureFlush(&cfg, requests); err != nil {
		t.Fatal(err)
	}
	if err := MeasureCPU(&cfg, requests); err != nil {
		t.Fatal(err)
	}
	want := &model.Measured{
		Append: []sim.Time{90, 90, 1, 1, 10},
		Flush:  []sim.Time{695, 695, 878, 878, 99},
		// The second was taken by a thread at work.
		Wake:    []sim.Time{50, 50, 50, 50, 70},
		Process: []sim.Time{50, 50, 10, 10, 10},
		Finish:  []sim.Time{695, 695, 878, 878, 99},
	}
	if diff := cmp.Diff(want, cfg.Measured); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(cfg.Stalls) != 2 || cfg.Stalls[0].Where != model.StallSweep || cfg.Stalls[1].Where != model.StallProcess || cfg.Store.Delay != 0 {
		t.Errorf("stalls that are in the recorded times: got %+v, delay %v", cfg.Stalls, cfg.Store.Delay)
	}
}

// TestNothingMeasured: without the times there is nothing to take.
func TestNothingMeasured(t *testing.T) {
	requests, err := ReadRequests("requests.csv", strings.NewReader("seq,arrive_ns,app0_ns,app1_ns\n0,1,2,3\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := base()
	cfg.Broker.SendMessageThreadPoolNums = 1
	if err := MeasureFlush(&cfg, requests); err != nil {
		t.Errorf("appends are there: %v", err)
	}
	cfg.Broker.FlushDiskType = model.SyncFlush
	if err := MeasureFlush(&cfg, requests); err == nil || !strings.Contains(err.Error(), "no flush to take") {
		t.Errorf("no flush: %v", err)
	}
	if err := MeasureCPU(&cfg, requests); err == nil || !strings.Contains(err.Error(), "no work of the send thread") {
		t.Errorf("no work: %v", err)
	}
	cfg.Broker.SendMessageThreadPoolNums = 2
	if err := MeasureCPU(&cfg, requests); err == nil || !strings.Contains(err.Error(), "not several") {
		t.Errorf("two threads: %v", err)
	}
	requests.times[0].app1 = model.Absent
	if err := MeasureFlush(&cfg, requests); err == nil || !strings.Contains(err.Error(), "no append to take") {
		t.Errorf("no append: %v", err)
	}
}

// TestOutcomesOnlyScore: a replay with recorded flushes is the same whatever the
// recording says became of the requests, when they were taken and by whom.
func TestOutcomesOnlyScore(t *testing.T) {
	run := func(forget bool) string {
		trace := &Trace{Name: "E19", Flush: true}
		e, err := trace.Open(base())
		if err != nil {
			t.Fatal(err)
		}
		if forget {
			for i := range e.Requests.Outcomes {
				e.Requests.Outcomes[i] = Recorded{}
				x := &e.Requests.times[i]
				x.enq, x.deq, x.lockreq = model.Absent, model.Absent, model.Absent
			}
			e.Config.Measured = nil
			if err := MeasureFlush(&e.Config, e.Requests); err != nil {
				t.Fatal(err)
			}
		}
		study, _, err := Replay(context.Background(), &e.Config, e.Requests, model.Observer{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return study.Result().Fingerprint
	}
	if a, b := run(false), run(true); a != b {
		t.Errorf("got %s and %s", a, b)
	}
}
