package model_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// liveConfig is a broker with all that a live run takes from the model: two
// producers, drawn phases, stalls of each place, one of them recurring.
func liveConfig() model.Config {
	cfg := bare("4.3.2", 3*sim.Second, arrivals("poisson(rate=400/s)"))
	cfg.Machine.Cores = 8
	cfg.Machine.WallPhase, cfg.Machine.SweepPhase = model.Absent, model.Absent
	cfg.Costs = model.DefaultCosts()
	cfg.Broker.MaxMessageSize = 2000
	cfg.Broker.OsPageCacheBusyTimeOutMills = 250
	cfg.Producers = append(cfg.Producers, model.Producer{Arrivals: arrivals("deterministic(rate=50/s)"), Body: size("exponential(mean=1KiB)"), Timeout: 240 * ms})
	cfg.Stalls = []model.Stall{
		once(model.StallAppend, 500*ms, 350*ms),
		window(model.StallAppend, 1500*ms, 1750*ms),
		{Where: model.StallAppend, At: model.Absent, Every: dist("exponential(mean=400ms)"), For: dist("10ms"), Until: model.Absent},
		once(model.StallSweep, 1600*ms, 30*ms),
	}
	return cfg
}

// TestSendsAreThoseOfASimulation: a run on another clock gets the arrivals,
// bodies and phases that a simulation draws.
func TestSendsAreThoseOfASimulation(t *testing.T) {
	cfg := liveConfig()
	cfg.Costs.Decode = nil // no codec thread is in the way
	course := follow(t, cfg)
	sends, err := model.Sends(&cfg, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(sends) != len(course.rows) {
		t.Fatalf("got %d sends, want %d", len(sends), len(course.rows))
	}
	for i, s := range sends {
		if a := course.rows[i]; s.Send != a.Send || s.Arrive != a.Arrive || s.Body != a.Body {
			t.Fatalf("send %d: got %+v, want %+v", i, s, a)
		}
	}
	wall, sweep := model.Phases(&cfg, 0)
	if course.sweeps[0].Nominal != sweep {
		t.Errorf("first sweep: got %v, want %v", sweep, course.sweeps[0].Nominal)
	}
	for _, a := range course.rows {
		if a.Enq != model.Absent && wall.Ms(a.Enq) != a.CreateMs {
			t.Fatalf("wall clock at %v: got %d ms, want %d", a.Enq, wall.Ms(a.Enq), a.CreateMs)
		}
	}
	if _, err := model.Sends(&cfg, 0, len(sends)-1); err == nil {
		t.Error("more sends than were allowed")
	}
}

// TestLedgerKeepsTheBooksOfASimulation: the attempts of a simulation, entered
// as those of a live run, give the same result to the last digit.
func TestLedgerKeepsTheBooksOfASimulation(t *testing.T) {
	cfg := liveConfig()
	course := follow(t, cfg)
	var seen []model.Attempt
	ledger, err := model.NewLedger(&cfg, 0, model.Observer{Attempt: func(a *model.Attempt) { seen = append(seen, *a) }})
	if err != nil {
		t.Fatal(err)
	}
	sends, err := model.Sends(&cfg, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	answered := func(a *model.Attempt) sim.Time { return max(a.Done, a.Clean, a.Enq, a.Arrive) }
	rows := slices.Clone(course.rows)
	slices.SortStableFunc(rows, func(a, b model.Attempt) int { return cmp.Compare(answered(&a), answered(&b)) })
	status := map[model.Outcome]model.PutStatus{model.Other: model.PutMessageIllegal}
	end := sim.Time(0)
	for i := range rows {
		a := rows[i]
		end = answered(&a)
		a.Resp, a.ClientTimedOut = model.Absent, false // the ledger's to find
		if err := ledger.Settle(&a, sends[a.Seq].Producer, status[a.Outcome], end); err != nil {
			t.Fatal(err)
		}
	}
	if err := ledger.Close(end, nil); err != nil {
		t.Fatal(err)
	}
	var study model.Study
	study.AddLedger(ledger)
	course.result.Attribution, course.result.Recovery = nil, nil // nobody has told the ledger
	if diff := gocmp.Diff(course.result, study.Result()); diff != "" {
		t.Errorf("result (-simulated +entered):\n%s", diff)
	}
	if diff := gocmp.Diff(course.rows, seen); diff != "" {
		t.Errorf("attempts (-simulated +entered):\n%s", diff)
	}
	for _, o := range []model.Outcome{model.TimeoutCleanQueue, model.PCBusyCleanQueue, model.RejectRequest, model.Other} {
		course.first(t, o) // or the test is about less than it says
	}
}

// TestLedgerChecks: what can't be is refused.
func TestLedgerChecks(t *testing.T) {
	cfg := bare("4.3.2", sim.Second, at(0))
	s := model.Send{Body: 1}
	for _, c := range []struct {
		name   string
		spoil  func(*model.Attempt)
		status model.PutStatus
	}{
		{"stored, answered as refused", func(a *model.Attempt) { a.Outcome = model.TimeoutCleanQueue }, model.PutOK},
		{"answered as stored, not stored", func(a *model.Attempt) { a.Lock, a.Unlock = model.Absent, model.Absent }, model.PutOK},
		{"taken and swept", func(a *model.Attempt) { a.Clean = 5 }, model.PutOK},
		{"taken before it came", func(a *model.Attempt) { a.Deq = a.Enq - 1 }, model.PutOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger, err := model.NewLedger(&cfg, 0, model.Observer{})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attempt(0)
			a.Arrive, a.Enq, a.Deq, a.LockReq, a.Lock, a.App0, a.App1, a.Unlock, a.Done = 1, 2, 3, 4, 4, 4, 5, 5, 6
			a.Outcome = model.OK
			c.spoil(&a)
			err = errors.Join(ledger.Settle(&a, 0, c.status, 6), ledger.Close(6, nil))
			if !errors.Is(err, model.ErrBooks) {
				t.Errorf("error: got %v, want %v", err, model.ErrBooks)
			}
		})
	}
}

// TestFreezesInOrder: of several sources, by their beginning; those that recur
// go on after their own end.
func TestFreezesInOrder(t *testing.T) {
	cfg := bare("4.3.2", sim.Second, at(0))
	cfg.Stalls = []model.Stall{
		once(model.StallProcess, 25*ms, 5*ms),
		window(model.StallProcess, 12*ms, 14*ms),
		{Where: model.StallProcess, At: 10 * ms, Every: dist("10ms"), For: dist("12ms"), Until: model.Absent},
		once(model.StallAppend, 0, ms),
	}
	f := model.NewFreezes(&cfg, 0)
	type freeze struct{ From, To sim.Time }
	var got []freeze
	for range 5 {
		from, to, ok := f.Next()
		if !ok {
			t.Fatal("no more")
		}
		got = append(got, freeze{from, to})
	}
	want := []freeze{{10 * ms, 22 * ms}, {12 * ms, 14 * ms}, {25 * ms, 30 * ms}, {30 * ms, 42 * ms}, {50 * ms, 62 * ms}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("freezes (-want +got):\n%s", diff)
	}
	cfg.Stalls = cfg.Stalls[:2]
	f = model.NewFreezes(&cfg, 0)
	for range 2 {
		f.Next()
	}
	if _, _, ok := f.Next(); ok {
		t.Error("a third freeze of two")
	}
}

// TestNotLive: what a live run can't do is named key by key.
func TestNotLive(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*model.Producer)
		want []string // how the faults begin
	}{
		"the defaults of a client":  {func(p *model.Producer) { p.RetryTimesWhenSendFailed = 2 }, nil},
		"a client that retries":     {func(p *model.Producer) { p.Release, p.RetryTimesWhenSendFailed = "5.3.3", 2 }, []string{"retryTimesWhenSendFailed: a client of release 5.3.3 sends again after SYSTEM_BUSY"}},
		"timeouts that are retried": {func(p *model.Producer) { p.Release, p.RetryTimesWhenSendFailed = "4.2.0", 1 }, []string{"retryTimesWhenSendFailed: a client of release 4.2.0 sends again after a timeout"}},
		"it has no retries":         {func(p *model.Producer) { p.Release = "5.3.3" }, nil},
		"all else": {func(p *model.Producer) {
			p.Arrivals, p.Mode, p.Batch, p.Handler = arrivals("closed(n=2, think=1s)"), model.SendAsync, 2, model.HandlerResend
		}, []string{"arrivals: ", "mode: ", "batch: ", "handler: "}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := bare("4.3.2", sim.Second, at(0))
			c.edit(&cfg.Producers[0])
			got := cfg.Producers[0].NotLive(&cfg)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			_, err := model.Sends(&cfg, 0, 10)
			if _, closed := cfg.Producers[0].Arrivals.(variate.Closed); closed != (err != nil) {
				t.Errorf("sends: %v", err)
			}
		})
	}
}
