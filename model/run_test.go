package model_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// TestNoAllocationPerSend: ten times the sends take hardly more allocations.
func TestNoAllocationPerSend(t *testing.T) {
	allocs := func(duration sim.Time) float64 {
		cfg := bundled(t, "stall-1200ms")
		cfg.Duration = duration
		cfg.Producers[0].Arrivals = arrivals("poisson(rate=1000/s)")
		cfg.Stalls = []model.Stall{{Where: model.StallAppend, At: sim.Second, Every: dist("3s"), For: dist("1200ms"), Until: model.Absent}}
		cfg.Broker.SendMessageThreadPoolNums = 4
		return testing.AllocsPerRun(2, func() {
			b, err := model.New(&cfg, 0, model.Observer{})
			if err == nil {
				err = b.Run(context.Background(), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	short, long := allocs(10*sim.Second), allocs(100*sim.Second)
	t.Logf("%v allocations for 10,000 sends, %v for 100,000", short, long)
	if long > short+50 {
		t.Errorf("allocations: %v for 10,000 sends, %v for 100,000; want at most 50 more", short, long)
	}
}

// TestCancel: a run that is cancelled gives what was settled so far; its
// counts add up.
func TestCancel(t *testing.T) {
	for _, replications := range []int{1, 5} {
		cfg := bundled(t, "stall-1200ms")
		cfg.Duration = 1000 * sim.Second
		ctx, cancel := context.WithCancelCause(context.Background())
		cause := errors.New("enough")
		settled := int64(0)
		obs := model.Observer{Attempt: func(a *model.Attempt) {
			if settled++; a.Send > 20*sim.Second {
				cancel(cause)
			}
		}}
		study, err := model.Replicate(ctx, &cfg, replications, 2, obs, nil)
		if !errors.Is(err, context.Canceled) && !errors.Is(err, cause) {
			t.Errorf("%d replications: got %v, want the context's error", replications, err)
		}
		r := study.Result()
		m, n := r.Messages, r.Attempts
		if m.Offered != n.Sent || m.Offered != m.StoredOnce+m.StoredMoreThanOnce+m.NotStoredKnown+m.NotStoredUnknown+m.StoredThoughtFailed {
			t.Errorf("%d replications: messages %+v, attempts %+v", replications, m, n)
		}
		if replications == 1 && (r.Replications != 1 || m.Offered < settled || m.Offered > settled+1000 || r.VirtualSeconds < 20 || r.VirtualSeconds > 200) {
			t.Errorf("got %d sends in %v s, observed %d", m.Offered, r.VirtualSeconds, settled)
		}
		if replications > 1 && r.Replications == replications {
			t.Errorf("all %d replications are said to be complete", replications)
		}
	}
}

// TestCancelledBefore: nothing runs when the context is over already.
func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cfg := bundled(t, "stall-1200ms")
	study, err := model.Replicate(ctx, &cfg, 3, 1, model.Observer{}, nil)
	if !errors.Is(err, context.Canceled) || study == nil || study.Result().Replications != 0 {
		t.Errorf("got %v, %+v", err, study)
	}
}

// TestProgress tells the virtual time of a single run, and the number of
// replications that are done of several.
func TestProgress(t *testing.T) {
	cfg := bundled(t, "quiet")
	cfg.Duration = 1000 * sim.Second
	last, calls := sim.Time(0), 0
	if _, err := model.Replicate(context.Background(), &cfg, 1, 1, model.Observer{}, func(now sim.Time, _ int) {
		if calls++; now < last {
			t.Errorf("progress went back from %v to %v", last, now)
		}
		last = now
	}); err != nil || calls == 0 || last < 900*sim.Second {
		t.Errorf("single run: %d calls, last at %v, %v", calls, last, err)
	}
	cfg.Duration = sim.Second
	most := 0
	if _, err := model.Replicate(context.Background(), &cfg, 4, 2, model.Observer{}, func(_ sim.Time, done int) { most = max(most, done) }); err != nil || most != 4 {
		t.Errorf("4 replications: %d done, %v", most, err)
	}
}

// TestObservedRunIsTheSame: looking on changes nothing.
func TestObservedRunIsTheSame(t *testing.T) {
	cfg := bundled(t, "threads-32")
	b, err := model.New(&cfg, 0, model.Observer{})
	if err == nil {
		err = b.Run(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c := follow(t, cfg); c.fingerprint != b.Fingerprint() {
		t.Errorf("fingerprint %x observed, %x not", c.fingerprint, b.Fingerprint())
	}
}

// TestObserver: the queue's length and the lock as told agree with the rows.
func TestObserver(t *testing.T) {
	cfg := bundled(t, "stall-1200ms")
	var rows []model.Attempt
	lengths := map[sim.Time][]int{}
	held, length, longest := sim.Time(0), 0, 0
	b, err := model.New(&cfg, 0, model.Observer{
		Attempt: func(a *model.Attempt) { rows = append(rows, *a) },
		Queue: func(now sim.Time, n int) {
			if n != length+1 && n != length-1 {
				t.Fatalf("queue went from %d to %d", length, n)
			}
			length, longest = n, max(longest, n)
			lengths[now] = append(lengths[now], n)
		},
		Lock: func(from, to sim.Time) { held += to - from },
	})
	if err == nil {
		err = b.Run(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if length != 0 || longest < 60 {
		t.Errorf("queue: %d at the end, %d at most", length, longest)
	}
	for _, a := range rows {
		if a.Unlock != model.Absent {
			held -= a.Unlock - a.Lock
		}
		if a.Clean != model.Absent {
			found := false
			for _, n := range lengths[a.Clean] {
				found = found || int64(n) == a.Qsize
			}
			if !found {
				t.Fatalf("size of queue %d, the queue was told %v", a.Qsize, lengths[a.Clean])
			}
		}
	}
	if held != 0 {
		t.Errorf("lock: told %v more than the rows have", held)
	}
}

// TestWarmup: sends before it are simulated, not counted, and not among the
// error lines.
func TestWarmup(t *testing.T) {
	cfg := bare("4.3.2", 3*sim.Second, arrivals("deterministic(every=10ms)"))
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1300*ms)}
	cfg.Warmup = 1500 * ms
	c := follow(t, cfg)
	if c.count(model.TimeoutCleanQueue) == 0 {
		t.Fatal("nothing was rejected in the warm-up")
	}
	if r := c.result; r.Messages.Offered != 150 || r.Attempts.TimeoutCleanQueue != 0 || len(r.Errors) != 0 || r.LatencyMs.Count != 150 {
		t.Errorf("got %+v, %+v, errors %v", r.Messages, r.Attempts, r.Errors)
	}
	cfg.Warmup = 1012 * ms
	if r := follow(t, cfg).result; r.Messages.Offered != 198 || r.Attempts.TimeoutCleanQueue != int64(c.count(model.TimeoutCleanQueue))-1 {
		t.Errorf("warm-up of %v: got %+v, %+v", cfg.Warmup, r.Messages, r.Attempts)
	}
}

// TestErrorLines: the first hundred, in order, with code and remark.
func TestErrorLines(t *testing.T) {
	cfg := bare("4.3.2", 3*sim.Second, arrivals("deterministic(every=1ms)"))
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 2500*ms)}
	r := follow(t, cfg).result
	if len(r.Errors) != model.ErrorLinesMax {
		t.Fatalf("%d lines, want %d", len(r.Errors), model.ErrorLinesMax)
	}
	for i, e := range r.Errors {
		if e.Code != 2 || !strings.HasPrefix(e.Remark, "[TIMEOUT_CLEAN_QUEUE]broker busy, ") || i > 0 && e.AtMs < r.Errors[i-1].AtMs {
			t.Errorf("line %d: %+v", i, e)
		}
	}
}

// TestCheck: all that would keep a run from its end, in one go; New refuses
// it.
func TestCheck(t *testing.T) {
	good := func() model.Config { return bare("4.3.2", sim.Second, at(0)) }
	for name, c := range map[string]struct {
		edit func(*model.Config)
		want []string
	}{
		"good":        {func(*model.Config) {}, nil},
		"no producer": {func(c *model.Config) { c.Producers = nil }, nil},
		"release": {func(c *model.Config) { c.Broker.Release = "4.5.0" },
			[]string{`release "4.5.0" is unknown; known are ` + strings.Join(model.Releases(), ", ")}},
		"numbers": {func(c *model.Config) {
			c.Duration, c.Machine.Cores, c.Machine.Quantum, c.Machine.WallPhase, c.Machine.SweepPhase, c.Store.Delay = 0, 0, -1, ms, 10*ms, -1
			c.Broker.SendMessageThreadPoolNums, c.Broker.SendThreadPoolQueueCapacity = 0, -1
		}, []string{
			"duration: want 1 to 1152921504606846974, got 0", "cores: want 1 to 2147483647, got 0", "quantum: want 0 to 3600000000000, got -1",
			"wall phase: want -1 to 999999, got 1000000", "sweep phase: want -1 to 9999999, got 10000000",
			"append delay: want 0 to 1152921504606846974, got -1",
			"threads of the send queue: want 1 to 2147483647, got 0", "capacity of the send queue: want 1 to 2147483647, got -1",
		}},
		"stalls": {func(c *model.Config) {
			c.Stalls = []model.Stall{
				{Where: 99, At: 0, For: dist("1ms"), Until: model.Absent},
				{At: model.Absent, For: dist("1ms"), Until: model.Absent},
				{At: 5, Until: 5},
				{At: 5, Until: model.Absent},
				{At: 5, Until: 9, For: dist("1ms")},
				{At: 5, Until: 9, Every: dist("1s")},
				{At: model.Absent, Every: dist("0s"), For: dist("1ms"), Until: model.Absent},
				{At: -2, For: dist("1ms"), Until: math.MaxInt64},
			}
		}, []string{
			"stall 0: where: no such place: 99", "stall 1: want at, every or both", "stall 2: until: want more than at = 5ns, got 5ns",
			"stall 3: want one of for and until", "stall 4: want one of for and until", "stall 5: want no until with every",
			"stall 6: every: want a mean of at least 1ns, got constant(0s)",
			"stall 7: want at and until from 0 to 320255h58m24.606846974s, got -2ns and never", "stall 7: want one of for and until",
		}},
		"after the put": {func(c *model.Config) {
			c.Broker.FlushDiskType, c.Broker.BrokerRole = "SYNC", model.SyncMaster
			c.Broker.SyncFlushTimeout, c.Broker.PutMessageFutureThreadPoolNums, c.Broker.HaTransferBatchSize = -1, 0, 0
			c.Replica.Slaves, c.Replica.Bandwidth = 17, -1
			c.Stalls = []model.Stall{{Where: model.StallReplica, Slave: 18, Until: 5}}
		}, []string{
			`flushDiskType: want ASYNC_FLUSH or SYNC_FLUSH, got "SYNC"`, "syncFlushTimeout: want 0 to 2147483647, got -1",
			"putMessageFutureThreadPoolNums: want 1 to 2147483647, got 0", "slaves: want 0 to 16, got 17",
			"bandwidth to a slave: want 0 to 9223372036854775807, got -1", "haTransferBatchSize: want 1 to 2147483647, got 0",
			"stall 0: there are 17 slaves, and none of number 18",
		}},
		"arrivals": {func(c *model.Config) { c.Producers = append(c.Producers, model.Producer{}) }, []string{"producer 1: want arrivals"}},
		"loads": {func(c *model.Config) {
			for _, q := range []string{"send", "query", "ack", "pull", "heartbeat"} {
				c.Loads = append(c.Loads, model.Load{Queue: q, Arrivals: at(0), Service: dist("1s")})
			}
			c.Loads[3].Arrivals = nil
			c.Broker.HeartbeatThreadPoolNums = 0
		}, []string{
			`load 0: no such queue beside the send queue: "send"`, `load 1: no such queue beside the send queue: "query"`,
			"load 2: release 4.3.2 has no ack queue", "load 3: want arrivals", "threads of the heartbeat queue: want 1 to 2147483647, got 0",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good()
			c.edit(&cfg)
			var got []string
			_, err := model.New(&cfg, 0, model.Observer{})
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNothingToDo: a run without sends ends, whatever else goes on.
func TestNothingToDo(t *testing.T) {
	cfg := bare("4.3.2", sim.Second, at(2*sim.Second))
	cfg.Stalls = []model.Stall{
		{Where: model.StallProcess, At: 0, Every: dist("10ms"), For: dist("1ms"), Until: model.Absent},
		{Where: model.StallSweep, At: 0, Every: variate.Must(variate.ParseDist("1ms", variate.Duration)), For: dist("2ms"), Until: model.Absent},
	}
	for range 2 {
		r := follow(t, cfg).result
		if r.Messages.Offered != 0 || r.LatencyMs.Mean != nil || r.PeriodMs.Count != 0 {
			t.Errorf("got %+v", r)
		}
		cfg.Producers = nil
	}
}
