package model_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"brokersim/model"
	"brokersim/scenarios"
	"brokersim/sim"
)

func bundled(t testing.TB, name string) model.Config {
	t.Helper()
	s, err := scenarios.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return s.Config
}

// TestIncident208ms: the bundled incident gives the line of the incident as
// its first rejected send.
func TestIncident208ms(t *testing.T) {
	cfg := bundled(t, "incident-208ms")
	study, err := model.Replicate(context.Background(), &cfg, 1, 1, model.Observer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	errors := study.Result().Errors
	if len(errors) == 0 {
		t.Fatal("no send was rejected")
	}
	const want = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 208ms, size of queue: 8"
	if got := errors[0]; got.Code != 2 || got.Remark != want {
		t.Errorf("first rejected send: got CODE: %d  DESC: %s\nwant CODE: 2  DESC: %s", got.Code, got.Remark, want)
	}
	t.Logf("CODE: %d  DESC: %s", errors[0].Code, errors[0].Remark)
}

// TestIncidentPhases holds the incident's arrivals and draws the phases of
// sweep and wall clock again and again: the first rejected period is always
// 200 to 209 ms, each as often as the others.
func TestIncidentPhases(t *testing.T) {
	cfg := bundled(t, "incident-208ms")
	cfg.Duration = 4300 * ms  // the stall is over by then
	cfg.Warmup = cfg.Duration // rows are enough, without the memory of statistics
	stream := sim.Streams{Seed: 208}.Stream("phases")
	const runs = 2000
	var counts [10]float64
	for range runs {
		cfg.Machine.WallPhase = sim.Time(stream.Uint64n(uint64(ms)))
		cfg.Machine.SweepPhase = sim.Time(stream.Uint64n(uint64(model.SweepPeriod)))
		var first model.Attempt
		b, err := model.New(&cfg, 0, model.Observer{Attempt: func(a *model.Attempt) {
			if first.Outcome == model.Pending && a.Outcome.Rejected() {
				first = *a
			}
		}})
		if err == nil {
			err = b.Run(context.Background(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if first.Outcome != model.TimeoutCleanQueue || first.PeriodMs < 200 || first.PeriodMs >= 210 {
			t.Fatalf("wall phase %v, sweep phase %v: first rejected is %v after %d ms, want TIMEOUT_CLEAN_QUEUE after 200 to 209",
				cfg.Machine.WallPhase, cfg.Machine.SweepPhase, first.Outcome, first.PeriodMs)
		}
		counts[first.PeriodMs-200]++
	}
	chi2 := 0.0
	for _, n := range counts {
		const expected = runs / 10
		chi2 += (n - expected) * (n - expected) / expected
	}
	bound := distuv.ChiSquared{K: 9}.Quantile(0.999)
	t.Logf("periods from 200 ms: %v; chi-square %.1f, bound at 0.1 %% %.1f", counts, chi2, bound)
	if chi2 > bound {
		t.Errorf("not each ms about equally often: %v, chi-square %.1f over %.1f", counts, chi2, bound)
	}
}

// TestStall1200ms follows one stall of the lock holder to the ms (facts
// §15.1): TIMEOUT from the first look at which the first waiting send is 200
// ms old, REJECTREQUEST from the 1001st ms on, one burst of PCBUSY at the
// look after that, REJECTREQUEST until the release.
func TestStall1200ms(t *testing.T) {
	// The lock is held from 1000.7 ms on, in wall ms 1000. Looks at 3, 13, ... ms.
	const begin, release = 1000*ms + 700_000, 2200*ms + 701_000
	times := []sim.Time{begin}
	for at := 1005 * ms; at < 2300*ms; at += 5 * ms {
		times = append(times, at)
	}
	edges := []sim.Time{1103*ms - 1, 1103 * ms, 1104*ms - 1, 1104 * ms, 2001*ms - 1, 2001 * ms, 2003*ms - 1, 2003 * ms, 2003*ms + 1, release - 1, release}
	times = append(times, edges...)
	slices.Sort(times)
	cfg := bare("4.3.2", 3*sim.Second, at(times...))
	cfg.Stalls = []model.Stall{once(model.StallAppend, sim.Second, 1200*ms)}
	c := follow(t, cfg)

	holder := c.rows[0]
	if holder.Lock != begin || holder.Unlock != release || holder.Outcome != model.OK {
		t.Fatalf("holder: %+v", holder)
	}
	// By facts §15.1, request by request: which look takes it, and how.
	look := func(from sim.Time) sim.Time { return (from-3*ms+10*ms-1)/(10*ms)*(10*ms) + 3*ms }
	for _, a := range c.rows[1:] {
		at := a.Arrive
		expired := look((at/ms + 200) * ms) // the look that finds it 200 whole ms old
		want, clean := model.OK, sim.Time(model.Absent)
		switch {
		case at >= 2001*ms && at < release:
			want = model.RejectRequest
		case at < 2001*ms && expired < 2003*ms:
			want, clean = model.TimeoutCleanQueue, expired
		case at < 2001*ms:
			want, clean = model.PCBusyCleanQueue, 2003*ms
		}
		if a.Outcome != want || a.Clean != clean {
			t.Errorf("send at %v: got %v, taken out at %v; want %v at %v", at, a.Outcome, a.Clean, want, clean)
		}
		if clean != model.Absent && a.PeriodMs != int64(clean/ms)-int64(at/ms) {
			t.Errorf("send at %v: period %d, want %d", at, a.PeriodMs, int64(clean/ms)-int64(at/ms))
		}
	}
	if got := c.first(t, model.TimeoutCleanQueue); got.Clean != 1213*ms || got.PeriodMs != 208 {
		t.Errorf("first TIMEOUT at %v after %d ms, want 1.213s after 208", got.Clean, got.PeriodMs)
	}
	var bursts []model.SweepRecord
	for _, s := range c.sweeps {
		if s.PCBusy > 0 {
			bursts = append(bursts, s)
		}
	}
	// From 1795 to 2000 ms one each 5 ms, and the one at 2000.999999 ms.
	if len(bursts) != 1 || bursts[0].Start != 2003*ms || bursts[0].PCBusy != 43 || bursts[0].Timeout != 0 || bursts[0].Qlen != 43 {
		t.Errorf("bursts of PCBUSY: got %+v, want one of all 43 at 2.003s", bursts)
	}
	size := int64(42)
	for _, a := range c.rows {
		if a.Outcome == model.PCBusyCleanQueue {
			if a.Qsize != size {
				t.Errorf("size in the burst: got %d, want %d", a.Qsize, size)
			}
			size--
		}
	}
}

// TestStallLengths: what a stall of the lock holder brings, by its length
// (facts §15.1), and that only the limits decide.
func TestStallLengths(t *testing.T) {
	for _, c := range []struct {
		stall             sim.Time
		waitMs, busyMs    int64
		enabled           bool
		timeout, pc, door bool
	}{
		{195 * ms, 200, 1000, true, false, false, false},
		{215 * ms, 200, 1000, true, true, false, false},
		{1000 * ms, 200, 1000, true, true, false, false},
		{1015 * ms, 200, 1000, true, true, true, true},
		{1200 * ms, 200, 1000, false, false, false, true}, // no sweep, but still the door
		{2900 * ms, 3000, 5000, true, false, false, false},
		{4900 * ms, 3000, 5000, true, true, false, false},
		{5100 * ms, 3000, 5000, true, true, true, true},
		{1200 * ms, 5000, 1000, true, false, true, true}, // PCBUSY ignores age
		{400 * ms, 200, 300, true, true, true, true},
	} {
		cfg := bare("4.3.2", 8*sim.Second, arrivals("deterministic(rate=200/s)"))
		cfg.Broker.WaitTimeMillsInSendQueue, cfg.Broker.OsPageCacheBusyTimeOutMills = c.waitMs, c.busyMs
		cfg.Broker.BrokerFastFailureEnable = c.enabled
		cfg.Stalls = []model.Stall{once(model.StallAppend, sim.Second, c.stall)}
		r := follow(t, cfg)
		got := fmt.Sprint(r.count(model.TimeoutCleanQueue) > 0, r.count(model.PCBusyCleanQueue) > 0, r.count(model.RejectRequest) > 0)
		if want := fmt.Sprint(c.timeout, c.pc, c.door); got != want {
			t.Errorf("stall of %v, limits %d and %d ms, sweep %v: TIMEOUT, PCBUSY, REJECT: got %v, want %v", c.stall, c.waitMs, c.busyMs, c.enabled, got, want)
		}
		if n := r.count(model.Overload) + r.count(model.PCSynchronized); n != 0 {
			t.Errorf("stall of %v: %d others", c.stall, n)
		}
	}
}

// TestFastFailureSwitch: before 4.2.0 there is no brokerFastFailureEnable, the
// sweep is always on (facts §1.1).
func TestFastFailureSwitch(t *testing.T) {
	for release, want := range map[string]bool{"4.1.0-incubating": true, "4.2.0": false} {
		cfg := bare(release, 2*sim.Second, arrivals("deterministic(rate=200/s)"))
		cfg.Broker.BrokerFastFailureEnable = false
		cfg.Stalls = []model.Stall{once(model.StallAppend, sim.Second, 300*ms)}
		if c := follow(t, cfg); (c.count(model.TimeoutCleanQueue) > 0) != want {
			t.Errorf("%s, switched off: TIMEOUT %v, want %v", release, !want, want)
		}
	}
}
