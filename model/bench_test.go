package model

import (
	"context"
	"testing"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// benchConfig is a broker under 2,000 sends/s with an exponential append of
// 0.3 ms mean, the sweep, and an append stall of 300 ms every 10 s.
func benchConfig(duration sim.Time) *Config {
	settings, err := Defaults(DefaultRelease, 2)
	if err != nil {
		panic(err)
	}
	arrivals, err := variate.ParseArrivals("poisson(rate=2000/s)")
	if err != nil {
		panic(err)
	}
	zero := must("0us")
	return &Config{
		Name: "bench", Seed: 1, Duration: duration, Broker: settings,
		Machine:   Machine{Cores: 2, Quantum: DefaultQuantum},
		Costs:     Costs{Network: zero, Decode: zero, Handoff: zero, Process: zero, Finish: zero, FirstAnswer: zero, Answer: zero, SweepLag: zero},
		Store:     Store{Append: must("exponential(mean=300us)")},
		Stalls:    []Stall{{Where: StallAppend, At: 10 * sim.Second, Every: must("10s"), For: must("300ms"), Until: Absent}},
		Producers: []Producer{{Arrivals: arrivals, Body: must1KiB(), Timeout: 3 * sim.Second}},
	}
}

func must1KiB() variate.Dist {
	d, err := variate.ParseDist("1KiB", variate.Bytes)
	if err != nil {
		panic(err)
	}
	return d
}

func runBroker(cfg *Config) *Cluster { return observed(cfg, Observer{}) }

func observed(cfg *Config, obs Observer) *Cluster {
	b, err := New(cfg, 0, obs)
	if err != nil {
		panic(err)
	}
	if err := b.Run(context.Background(), nil); err != nil {
		panic(err)
	}
	return b
}

// handMerged is the same broker without an event list: three clocks, merged
// by hand. It draws from the same variates and keeps the same counters and
// histograms as Broker.
func handMerged(cfg *Config) *Stats {
	streams := sim.Streams{Seed: cfg.Seed}
	arrivals := cfg.Producers[0].Arrivals.Start(streams.Stream("arrivals 0"))
	service := newSampler(cfg.Store.Append, streams.Stream("append"))
	stall := stallSource{at: cfg.Stalls[0].At, every: newSampler(cfg.Stalls[0].Every, nil), length: newSampler(cfg.Stalls[0].For, nil)}
	var (
		stats   Stats
		clock   WallClock
		lock    LockState
		queue   = NewQueue(int(cfg.Broker.SendThreadPoolQueueCapacity))
		swept   = []Swept{{SendQueue, queue, cfg.Broker.WaitTimeMillsInSendQueue}}
		book    ledger
		current *attempt
		serving int64
		unlock  = sim.Never
		sweep   = sim.Time(0)
		limit   = cfg.Broker.OsPageCacheBusyTimeOutMills
	)
	answer := func(a *attempt, now sim.Time, o Outcome, code int32) {
		a.Outcome, a.Code, a.Resp = o, code, now
		a.ClientTimedOut = a.Resp-a.Send > cfg.Producers[0].Timeout
		stats.add(a)
		stats.Messages.add(b2i(a.Unlock != Absent), code == CodeSuccess && !a.ClientTimedOut, a.ClientTimedOut, 1)
		book.settle(a, nil)
	}
	take := func(now sim.Time) {
		w, ok := queue.Poll()
		if !ok {
			unlock = sim.Never
			return
		}
		serving = int64(w.ID)
		current = book.at(serving)
		current.Deq, current.LockReq, current.Lock, current.App0 = now, now, now, now
		lock.Acquired(clock.Ms(now))
		unlock = now + service.draw()
		if stall.at <= now {
			unlock += stall.length.draw()
			stall.skipTo(unlock)
		}
	}
	next, ok := arrivals.Next()
	for {
		switch {
		case unlock <= sweep && unlock <= next:
			now := unlock
			a := book.at(serving)
			a.App1, a.Unlock, a.Done = now, now, now
			lock.Released()
			answer(a, now, OK, CodeSuccess)
			take(now)
		case sweep <= next:
			var s Sweep
			nowMs := clock.Ms(sweep)
			for {
				ans, ok := s.Next(swept, nowMs, lock.Busy(nowMs, limit))
				if !ok {
					break
				}
				a := book.at(int64(ans.ID))
				a.Clean, a.PeriodMs, a.Qsize = sweep, ans.PeriodMs, int64(ans.Size)
				answer(a, sweep, ans.Outcome, CodeSystemBusy)
			}
			sweep += SweepPeriod
		case ok && next < cfg.Duration:
			now := next
			a := book.open()
			a.Send, a.Arrive, a.Body = now, now, 1024
			nowMs := clock.Ms(now)
			if Reject(&lock, nowMs, limit, NoPool) {
				answer(a, now, RejectRequest, CodeSystemBusy)
			} else {
				a.Enq, a.CreateMs = now, nowMs
				if queue.Offer(Waiting{uint64(a.Seq), nowMs}) {
					a.QlenEnq = int32(queue.Len())
				} else {
					answer(a, now, Overload, CodeSystemBusy)
				}
				if unlock == sim.Never {
					take(now)
				}
			}
			next, ok = arrivals.Next()
		}
		if (!ok || next >= cfg.Duration) && unlock == sim.Never && queue.Len() == 0 {
			return &stats
		}
		if !ok || next >= cfg.Duration {
			next = sim.Never
		}
	}
}

// TestHandMergedAgrees: the two loops of the benchmark do the same work.
func TestHandMergedAgrees(t *testing.T) {
	cfg := benchConfig(60 * sim.Second)
	got, want := &runBroker(cfg).books.counted, handMerged(cfg)
	if got.Attempts != want.Attempts || got.Messages != want.Messages {
		t.Errorf("broker %+v, merged by hand %+v", got.Attempts, want.Attempts)
	}
	if got.Attempts.TimeoutCleanQueue == 0 {
		t.Error("no send timed out: the stalls are not at work")
	}
	if g, w := got.Latency.Histogram.Mean(), want.Latency.Histogram.Mean(); g != w {
		t.Errorf("mean latency: broker %v, merged by hand %v", g, w)
	}
}

// BenchmarkBroker runs the broker and the loop merged by hand side by side;
// sends/s of the first over the second is the price of generality.
func BenchmarkBroker(b *testing.B) {
	const duration = 60 * sim.Second
	cfg := benchConfig(duration)
	var sends int64
	report := func(b *testing.B) {
		b.ReportMetric(float64(sends)*float64(b.N)/b.Elapsed().Seconds(), "sends/s")
		b.ReportMetric(duration.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "virtual-s/s")
	}
	b.Run("events", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sends = runBroker(cfg).books.counted.Attempts.Sent
		}
		report(b)
	})
	b.Run("hand-merged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sends = handMerged(cfg).Attempts.Sent
		}
		report(b)
	})
}

// BenchmarkProducers is the broker of BenchmarkBroker, twice, with producers of
// every kind that try again, half of them a closed loop: per attempt, what
// messages cost beside it.
func BenchmarkProducers(b *testing.B) {
	const duration = 60 * sim.Second
	plain := benchConfig(duration)
	retrying := benchConfig(duration)
	retrying.Route = Route{Brokers: 2}
	retrying.Stalls = append(retrying.Stalls, retrying.Stalls[0])
	retrying.Stalls[1].Broker = 1
	retrying.Producers = nil
	for i, arrivals := range []string{"poisson(rate=1000/s)", "poisson(rate=1000/s)", "closed(n=10, think=exponential(mean=5ms))"} {
		a, err := variate.ParseArrivals(arrivals)
		if err != nil {
			b.Fatal(err)
		}
		retrying.Producers = append(retrying.Producers, Producer{
			Name: itoa(i), Arrivals: a, Body: must1KiB(), Timeout: 250 * sim.Millisecond,
			Release: []string{"5.3.3", "4.2.0", "5.3.3"}[i], RetryTimesWhenSendFailed: 2, SendLatencyFaultEnable: true,
			Handler: HandlerResend, Resends: 3, Backoff: must("100ms"),
		})
	}
	for _, c := range []struct {
		name string
		cfg  *Config
	}{{"plain", plain}, {"retrying", retrying}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var attempts, again int64
			for b.Loop() {
				n := &runBroker(c.cfg).books.counted
				attempts, again = n.Attempts.Sent, n.Retries+n.Resends
			}
			b.ReportMetric(float64(attempts)*float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
			b.ReportMetric(float64(again), "again")
		})
	}
}

// BenchmarkAfterPut is a broker whose puts wait for flush and slave, and whose
// answers are callbacks, beside one that answers at once.
func BenchmarkAfterPut(b *testing.B) {
	const duration = 60 * sim.Second
	plain := benchConfig(duration)
	for _, c := range []struct {
		name, release string
		flush, role   string
	}{
		{"plain", "4.3.2", AsyncFlush, AsyncMaster},
		{"flush and slave, latches", "4.3.2", SyncFlush, SyncMaster},
		{"flush and slave, pool of callbacks", "4.9.4", SyncFlush, SyncMaster},
		{"callbacks in the send queue", "4.9.2", AsyncFlush, AsyncMaster},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := *plain
			cfg.Broker.Release, cfg.Broker.FlushDiskType, cfg.Broker.BrokerRole = c.release, c.flush, c.role
			cfg.Broker.SendMessageThreadPoolNums, cfg.Broker.UseReentrantLockWhenPutMessage = 16, true
			cfg.Store.Flush, cfg.Replica = must("200us"), DefaultReplica()
			b.ReportAllocs()
			var sends int64
			for b.Loop() {
				sends = runBroker(&cfg).books.counted.Attempts.Sent
			}
			b.ReportMetric(float64(sends)*float64(b.N)/b.Elapsed().Seconds(), "sends/s")
		})
	}
}

// everything turns all on in the broker of benchConfig that a send can come by:
// flush, a slave, if asked for the pool, producers that retry, stalls of each
// kind. In 5.x the pool goes with SYNC_FLUSH.
func everything(b *testing.B, release string, pool bool) *Config {
	cfg := benchConfig(60 * sim.Second)
	settings, err := Defaults(release, 2)
	if err != nil {
		b.Fatal(err)
	}
	settings.FlushDiskType, settings.BrokerRole, settings.TransientStorePoolEnable = SyncFlush, SyncMaster, pool
	settings.InSyncReplicas, settings.SendMessageThreadPoolNums, settings.UseReentrantLockWhenPutMessage = 2, 16, true
	cfg.Broker = settings
	cfg.Store = Store{Append: must("exponential(mean=100us)"), Flush: must("exponential(mean=200us)"), Commit: DefaultCommit()}
	cfg.Replica = DefaultReplica()
	for i, where := range []StallWhere{StallFlush, StallReplica, StallNetwork, StallGC, StallSweep} {
		cfg.Stalls = append(cfg.Stalls, Stall{Where: where, At: sim.Time(i+1) * sim.Second, Every: must("10s"), For: must("50ms"), Until: Absent})
	}
	p := &cfg.Producers[0]
	p.Release, p.RetryTimesWhenSendFailed = "5.3.3", 2
	p.Handler, p.Resends, p.Backoff = HandlerResend, 1, must("100ms")
	return cfg
}

// BenchmarkEverything runs the broker of BenchmarkBroker, then with everything
// on and an observer of what each send waited for: attempts/s over the first's
// is the price of the features, of which allocs/attempt is to be nothing but
// the beginning of a run.
func BenchmarkEverything(b *testing.B) {
	var waited sim.Time
	attribution := Observer{Waited: func(w *Wait) { waited += w.To - w.From }}
	for _, c := range []struct {
		name string
		cfg  *Config
		obs  Observer
	}{
		{"plain", benchConfig(60 * sim.Second), Observer{}},
		{"4.3.2, flush and slave", everything(b, "4.3.2", false), attribution},
		{"5.3.3, flush, slave and pool", everything(b, "5.3.3", true), attribution},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var attempts, stored, again int64
			for b.Loop() {
				k := &observed(c.cfg, c.obs).books
				attempts, stored, again = k.counted.Attempts.Sent, k.stored, k.counted.Retries+k.counted.Resends
			}
			b.ReportMetric(float64(attempts)*float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
			b.ReportMetric(float64(attempts), "attempts")
			b.ReportMetric(float64(stored), "stored")
			b.ReportMetric(float64(again), "again")
		})
	}
}
