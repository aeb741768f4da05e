package scenarios

import (
	"testing"

	"brokersim/model"
)

func TestExpect(t *testing.T) {
	est := func(v, lo, hi float64) *model.Estimate { return &model.Estimate{Value: v, Lo: &lo, Hi: &hi} }
	most, seven := 300.0, 7.0
	result := &model.Result{
		VirtualSeconds: 10,
		Messages:       model.MessageCounts{Offered: 400, StoredOnce: 390, NotStoredKnown: 10},
		Attempts:       model.AttemptCounts{Sent: 500, Success: 395, TimeoutCleanQueue: 5, RejectRequest: 100},
		LatencyMs:      model.Summary{P99: est(40, 30, 50), Mean: &model.Estimate{Value: 2}, Max: &most},
		Recovery:       &model.Recovery{Ms: model.Summary{Count: 1, P50: &model.Estimate{Value: 7}, Max: &seven}},
		Attribution: &model.Attribution{Rejected: model.WaitShares{Count: 5,
			Share: map[string]float64{"append_stall": 0.9, "sweep": 0.1},
			Lo:    map[string]float64{"append_stall": 0.8, "sweep": 0.05}, Hi: map[string]float64{"append_stall": 0.97, "sweep": 0.2}}},
	}
	for _, c := range []struct {
		text  string
		value float64
		want  string // passed, failed, undecided or none
	}{
		{"fraction(timeout_clean_queue) < 1%", 0.01, "failed"},
		{"fraction(timeout_clean_queue) <= 1%", 0.01, "passed"},
		{"fraction(rejectrequest)>=0.2", 0.2, "passed"},
		{"fraction(not_stored_known) < 3 %", 0.025, "passed"},
		{"count(overload) <= 0", 0, "passed"},
		{"count(sent) > 500", 500, "failed"},
		{"throughput > 39/s", 39.5, "passed"},
		{"goodput > 39/s", 39, "failed"},
		{"p99(latency) < 51ms", 40, "passed"},
		{"p99(latency) < 45ms", 40, "undecided"},
		{"p99(latency) > 0.05s", 40, "failed"},
		{"mean( latency ) <= 2ms", 2, "passed"},
		{"max(latency) < 1s", 300, "passed"},
		{"p50(waiting) < 1s", 0, "none"},
		{"max(latency) > 1s", 300, "failed"},
		{"mean(waiting) >= 1s", 0, "none"},
		{"share(append_stall) > 50%", 0.9, "passed"},
		{"share(append_stall) > 0.95", 0.9, "undecided"},
		{"share(after_gc) <= 1%", 0, "passed"},
		{"max(recovery) < 10ms", 7, "passed"},
	} {
		t.Run(c.text, func(t *testing.T) {
			e, err := ParseExpect(c.text)
			if err != nil {
				t.Fatal(err)
			}
			mark := e.Eval(result)
			got := "undecided"
			switch {
			case mark.Value == nil:
				got = "none"
			case *mark.Value != c.value:
				t.Errorf("value: got %v, want %v", *mark.Value, c.value)
			}
			if mark.Passed != nil {
				got = map[bool]string{true: "passed", false: "failed"}[*mark.Passed]
			}
			if got != c.want || mark.Expect != c.text {
				t.Errorf("got %s %q, want %s", got, mark.Expect, c.want)
			}
		})
	}
	// Of no rejected send: all periods are below a bound, and none is above.
	for text, want := range map[string]bool{
		"max(period_in_queue) < 250ms": true, "p99(period_in_queue) <= 0s": true, "mean(period_in_queue) < 1s": true,
		"max(period_in_queue) > 250ms": false, "p50(period_in_queue) >= 0s": false,
	} {
		e, err := ParseExpect(text)
		if err != nil {
			t.Fatal(err)
		}
		if mark := e.Eval(result); mark.Value != nil || mark.Passed == nil || *mark.Passed != want {
			t.Errorf("%s of no rejected send: got %+v, want %t", text, mark, want)
		}
		if mark := e.Eval(&model.Result{}); mark.Passed != nil {
			t.Errorf("%s of no send: got %t, want undecided", text, *mark.Passed)
		}
	}
	// A stall that is not got over: longer than anything.
	never := &model.Result{Recovery: &model.Recovery{Ms: result.Recovery.Ms, NotRecovered: 1}}
	for text, want := range map[string]bool{"max(recovery) < 10ms": false, "p50(recovery) <= 1h": false, "max(recovery) > 10ms": true} {
		e, err := ParseExpect(text)
		if err != nil {
			t.Fatal(err)
		}
		if mark := e.Eval(never); mark.Value != nil || mark.Passed == nil || *mark.Passed != want {
			t.Errorf("%s of one that is never over: got %+v, want %t", text, mark, want)
		}
		if mark := e.Eval(&model.Result{}); mark.Passed != nil {
			t.Errorf("%s without a stall: got %t, want undecided", text, *mark.Passed)
		}
	}
	if e, _ := ParseExpect("share(gc) < 1%"); e.Eval(&model.Result{}).Passed != nil {
		t.Error("a share without a rejected send is decided")
	}
	if e, _ := ParseExpect("fraction(success) > 1%"); e.Eval(&model.Result{}).Value != nil {
		t.Error("a fraction of nothing has a value")
	}
}
