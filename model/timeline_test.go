package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"brokersim/model"
	"brokersim/sim"
)

// TestFreeze: what stood in the queue when the process froze has aged when it
// runs again and goes with the first look; the looks that were missed follow
// at once and the schedule doesn't move; what was sent meanwhile is stamped
// afresh, and goes with one look 200 ms later if an append still stalls
// (facts §1.1, §1.6, §15.3).
func TestFreeze(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, arrivals("deterministic(every=10ms, phase=2ms)"))
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1700*ms), once(model.StallProcess, 1100*ms, 250*ms)}
	c := follow(t, cfg)
	const thaw = 1350 * ms

	var before, during, after int
	for _, a := range c.rows[1:] {
		switch {
		case a.Send < sim.Second, a.Send >= 1700*ms:
			if a.Outcome != model.OK {
				t.Errorf("send at %v: %v", a.Send, a.Outcome)
			}
		case a.Send == 1002*ms: // holds the lock
		case a.Send < 1100*ms:
			before++
			if a.Outcome != model.TimeoutCleanQueue || a.Clean != thaw || a.PeriodMs != int64((thaw-a.Send)/ms) {
				t.Errorf("queued at %v, before the freeze: got %v after %d ms at %v, want TIMEOUT at its end", a.Send, a.Outcome, a.PeriodMs, a.Clean)
			}
		case a.Send < thaw:
			during++
			if a.Arrive != thaw || a.Enq != thaw || a.CreateMs != int64(thaw/ms) {
				t.Errorf("sent at %v, in the freeze: arrived at %v, stamped %d; want at its end", a.Send, a.Arrive, a.CreateMs)
			}
			if a.Outcome != model.TimeoutCleanQueue || a.Clean != 1553*ms || a.PeriodMs != 203 {
				t.Errorf("sent at %v, in the freeze: got %v after %d ms at %v, want TIMEOUT after 203 at 1.553s", a.Send, a.Outcome, a.PeriodMs, a.Clean)
			}
		default:
			after++
		}
	}
	if before != 9 || during != 25 || after != 35 {
		t.Errorf("sends before, during and after the freeze: got %d, %d, %d, want 9, 25, 35", before, during, after)
	}
	for i, s := range c.sweeps {
		want := max(s.Nominal, s.Start)
		if s.Nominal > 1100*ms && s.Nominal < thaw {
			want = thaw
		} else if s.Start != s.Nominal {
			t.Errorf("sweep %d of %v began at %v", s.N, s.Nominal, s.Start)
		}
		if s.N != int64(i+1) || s.Nominal != sim.Time(i)*10*ms+3*ms || s.Start != want {
			t.Errorf("sweep %d: got %+v, want it to begin at %v", i+1, s, want)
		}
	}
	if got, want := c.stalls, (model.StallRecord{Where: model.StallProcess, From: 1100 * ms, To: thaw, BySeq: model.Absent}); !slices.Contains(got, want) {
		t.Errorf("stalls: got %+v, want %+v among them", got, want)
	}
}

// TestFreezeAlone: a freeze of twice the limit rejects nothing by itself.
func TestFreezeAlone(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, arrivals("deterministic(rate=400/s)"))
	cfg.Stalls = []model.Stall{once(model.StallProcess, sim.Second, 400*ms)}
	if c := follow(t, cfg); c.count(model.OK) != len(c.rows) {
		t.Errorf("%d of %d stored, want all", c.count(model.OK), len(c.rows))
	}
}

// TestLateSweep: a sweep that is held up finds periods over 210 ms, and the
// ones it missed follow at once (facts §15.2).
func TestLateSweep(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, arrivals("deterministic(every=10ms, phase=2ms)"))
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1500*ms), once(model.StallSweep, 1200*ms, 100*ms)}
	c := follow(t, cfg)
	first := c.first(t, model.TimeoutCleanQueue)
	if first.Send != 1012*ms || first.Clean != 1303*ms || first.PeriodMs != 291 {
		t.Errorf("first TIMEOUT: sent at %v, out at %v after %d ms; want 1.012s, 1.303s, 291", first.Send, first.Clean, first.PeriodMs)
	}
	var got []string
	for _, s := range c.sweeps {
		if s.Nominal >= 1193*ms && s.Nominal <= 1323*ms {
			got = append(got, fmt.Sprint(s.Nominal, " ", s.Start-s.Nominal, " ", s.Timeout))
		}
	}
	want := []string{"1.193s 0s 0", "1.203s 100ms 10"}
	for late := 90; late > 0; late -= 10 {
		want = append(want, fmt.Sprintf("%v %dms 0", 1303*ms-sim.Time(late)*ms, late))
	}
	want = append(want, "1.303s 0s 0", "1.313s 0s 1", "1.323s 0s 1")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nominal time, delay and TIMEOUTs of the sweeps (-want +got):\n%s", diff)
	}
}

// TestAnsweringTakesTime: the first answer of a sweep costs more than the
// others, later ones are judged later, and a sweep of a hundred answers is
// over late without moving the schedule.
func TestAnsweringTakesTime(t *testing.T) {
	times := []sim.Time{1000 * ms}
	for range 100 {
		times = append(times, 1001*ms)
	}
	cfg := bare("4.3.2", 2*sim.Second, at(times...))
	cfg.Costs.FirstAnswer, cfg.Costs.Answer = dist("2ms"), dist("150us")
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1500*ms)}
	c := follow(t, cfg)
	for i, a := range c.rows[1:] {
		want := 1203 * ms
		if i > 0 {
			want += 2*ms + sim.Time(i-1)*150*sim.Microsecond
		}
		if a.Clean != want || a.PeriodMs != int64(want/ms)-1001 || a.Qsize != int64(99-i) {
			t.Fatalf("answer %d: at %v, period %d, size %d; want %v, %d, %d", i, a.Clean, a.PeriodMs, a.Qsize, want, int64(want/ms)-1001, 99-i)
		}
	}
	var got []string
	for _, s := range c.sweeps {
		if s.Nominal >= 1203*ms && s.Nominal <= 1223*ms {
			got = append(got, fmt.Sprint(s.Start, " to ", s.End))
		}
	}
	if diff := cmp.Diff([]string{"1.203s to 1.21985s", "1.21985s to 1.21985s", "1.223s to 1.223s"}, got); diff != "" {
		t.Errorf("sweeps (-want +got):\n%s", diff)
	}
}

// TestOverload: OVERLOAD needs all workers busy and as many waiting as the
// queue takes; until then there is none (facts §2.1, §5.1).
func TestOverload(t *testing.T) {
	for _, threads := range []int{1, 4} {
		t.Run(fmt.Sprint(threads, " threads"), func(t *testing.T) {
			const capacity = 20
			cfg := bare("4.3.2", 2*sim.Second, arrivals("deterministic(every=2ms)"))
			cfg.Machine.Cores = 64
			cfg.Broker.SendMessageThreadPoolNums, cfg.Broker.SendThreadPoolQueueCapacity = threads, capacity
			cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1150*ms)}
			c := follow(t, cfg)
			for _, a := range c.rows {
				// By hand: the first threads sends are taken, the next 20 wait, and
				// all after them up to the end find the queue full.
				n := int(a.Send-sim.Second) / int(2*ms)
				want := model.OK
				if n >= threads+capacity && a.Send < 1150*ms {
					want = model.Overload
				}
				if a.Outcome != want {
					t.Errorf("send %d of the stall: got %v, want %v", n, a.Outcome, want)
				}
				if want == model.Overload && (a.Enq != a.Arrive || a.CreateMs == model.Absent || a.Deq != model.Absent || a.Code != 2 || a.PeriodMs != model.Absent) {
					t.Errorf("OVERLOAD: %+v", a)
				}
				if n >= threads && n < threads+capacity && a.QlenEnq != int32(n-threads+1) {
					t.Errorf("send %d of the stall: size after its offer %d, want %d", n, a.QlenEnq, n-threads+1)
				}
			}
		})
	}
}

// TestWorkersAtTheLock: with n send threads the first n-1 sends of a stall
// leave the queue, wait at the lock, are never swept and are stored after it,
// whatever the lock (facts §15.1).
func TestWorkersAtTheLock(t *testing.T) {
	for _, c := range []struct {
		threads   int
		reentrant bool
	}{{2, false}, {4, false}, {4, true}, {32, true}} {
		t.Run(fmt.Sprint(c.threads, " threads, reentrant ", c.reentrant), func(t *testing.T) {
			cfg := bare("4.3.2", 2*sim.Second, arrivals("deterministic(every=4ms)"))
			cfg.Machine.Cores = 64
			cfg.Broker.SendMessageThreadPoolNums, cfg.Broker.UseReentrantLockWhenPutMessage = c.threads, c.reentrant
			cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1600*ms)}
			waited := 0
			for _, a := range follow(t, cfg).rows {
				n := int(a.Send-sim.Second) / int(4*ms)
				switch {
				case n <= 0 || a.Send >= 1600*ms:
				case n < c.threads:
					waited++
					if a.Deq != a.Send || a.Lock < 1600*ms || a.Outcome != model.OK {
						t.Errorf("send %d of the stall: taken at %v, lock at %v, %v", n, a.Deq, a.Lock, a.Outcome)
					}
				case a.Send < 1392*ms && a.Outcome != model.TimeoutCleanQueue:
					t.Errorf("send %d of the stall: got %v, want TIMEOUT", n, a.Outcome)
				}
			}
			if waited != c.threads-1 {
				t.Errorf("%d waited at the lock, want %d", waited, c.threads-1)
			}
		})
	}
}

// TestWakeUps: an offer into an empty queue wakes one worker, and each that
// leaves something wakes the next (LinkedBlockingQueue); one that is done
// takes on at once.
func TestWakeUps(t *testing.T) {
	const us = sim.Microsecond
	cfg := bare("4.3.2", 2*sim.Second, at(sim.Second, sim.Second, sim.Second, sim.Second, sim.Second, sim.Second))
	cfg.Broker.SendMessageThreadPoolNums = 4
	cfg.Machine.Cores = 5 // of its own for each thread
	cfg.Costs.Handoff, cfg.Costs.Process = dist("10us"), dist("1ms")
	for i, want := range []struct {
		after  sim.Time
		worker int32
	}{{10 * us, 1}, {20 * us, 2}, {30 * us, 3}, {40 * us, 4}, {1011 * us, 1}, {1021 * us, 2}} {
		if a := follow(t, cfg).rows[i]; a.Deq != sim.Second+want.after || a.Worker != want.worker {
			t.Errorf("send %d: taken after %v by worker %d, want after %v by worker %d", i, a.Deq-sim.Second, a.Worker, want.after, want.worker)
		}
	}
}

// TestLocks: a waiter of the spin lock has it at once; one of the reentrant
// lock has to be woken, and a newcomer may be faster (facts §6.2).
func TestLocks(t *testing.T) {
	const us = sim.Microsecond
	for _, c := range []struct {
		reentrant bool
		locked    [3]sim.Time // after 1 s
	}{
		{false, [3]sim.Time{50 * us, 1050 * us, 2050 * us}},
		{true, [3]sim.Time{50 * us, 2100 * us, 1050 * us}}, // the first thread, done, takes the third send and is faster
	} {
		cfg := bare("4.3.2", 2*sim.Second, at(sim.Second, sim.Second+500*us, sim.Second+1020*us))
		cfg.Broker.SendMessageThreadPoolNums, cfg.Broker.UseReentrantLockWhenPutMessage = 3, c.reentrant
		cfg.Store.Append, cfg.Costs.Handoff = dist("1ms"), dist("50us")
		rows := follow(t, cfg).rows
		for i, want := range c.locked {
			if got := rows[i].Lock - sim.Second; got != want {
				t.Errorf("reentrant %v, send %d: lock after %v, want %v", c.reentrant, i, got, want)
			}
		}
	}
}

// TestSpinStarvesTheSweeper: 31 threads that spin on two cores hold up the
// sweeper; a reentrant lock or cores enough don't.
func TestSpinStarvesTheSweeper(t *testing.T) {
	// late is by how much a sweep began late, the one before it being over.
	latest := func(cores int, reentrant bool) (late, whole sim.Time) {
		cfg := bare("4.3.2", 20*sim.Second, arrivals("poisson(rate=450/s)"))
		cfg.Machine.Cores = cores
		cfg.Broker.SendMessageThreadPoolNums, cfg.Broker.UseReentrantLockWhenPutMessage = 32, reentrant
		cfg.Stalls = []model.Stall{{Where: model.StallAppend, At: sim.Second, Every: dist("1s"), For: dist("350ms"), Until: model.Absent}}
		before := sim.Time(0)
		for _, s := range follow(t, cfg).sweeps {
			late, whole = max(late, s.Start-max(s.Nominal, before)), max(whole, s.End-s.Nominal)
			before = s.End
		}
		return late, whole
	}
	if late, whole := latest(2, false); late < 10*ms || whole < 20*ms || whole > 400*ms {
		t.Errorf("spinning on 2 cores: sweeps begin up to %v and end up to %v late, want tens to hundreds of ms", late, whole)
	}
	for _, c := range []struct {
		cores     int
		reentrant bool
	}{{2, true}, {32, false}} {
		if late, whole := latest(c.cores, c.reentrant); late != 0 || whole != 0 {
			t.Errorf("%d cores, reentrant %v: sweeps begin up to %v and end up to %v late, want none late", c.cores, c.reentrant, late, whole)
		}
	}
}

// TestOtherQueues: requests of the other queues time out at their own limits,
// with the same remark, in the releases that sweep them (facts §1.2, §11).
func TestOtherQueues(t *testing.T) {
	for _, c := range []struct {
		release, queue string
		limitMs        int64
		set            func(*model.Settings)
		swept          bool
	}{
		{"4.3.2", "pull", 5000, func(s *model.Settings) { s.PullMessageThreadPoolNums = 1 }, true},
		{"4.3.2", "heartbeat", 31000, func(s *model.Settings) { s.HeartbeatThreadPoolNums = 1 }, true},
		{"4.3.2", "endTransaction", 3000, func(s *model.Settings) { s.EndTransactionThreadPoolNums = 1 }, true},
		{"5.1.4", "litePull", 5000, func(s *model.Settings) { s.LitePullMessageThreadPoolNums = 1 }, true},
		{"5.1.4", "ack", 3000, func(s *model.Settings) { s.AckMessageThreadPoolNums = 1 }, true},
		{"5.3.3", "adminBroker", 5000, func(s *model.Settings) { s.AdminBrokerThreadPoolNums = 1 }, true},
		{"5.1.4", "adminBroker", 0, func(s *model.Settings) { s.AdminBrokerThreadPoolNums = 1 }, false},
		{"4.1.0-incubating", "pull", 0, func(s *model.Settings) { s.PullMessageThreadPoolNums = 1 }, false},
		{"4.3.2", "pull", 777, func(s *model.Settings) { s.PullMessageThreadPoolNums, s.WaitTimeMillsInPullQueue = 1, 777 }, true},
	} {
		t.Run(c.release+" "+c.queue, func(t *testing.T) {
			cfg := bare(c.release, sim.Second, at(0))
			c.set(&cfg.Broker)
			// The first has the only thread for 70 s; two more wait.
			cfg.Loads = []model.Load{{Queue: c.queue, Arrivals: at(100*ms, 150*ms, 153*ms), Service: dist("70s")}}
			r := follow(t, cfg).result
			want := model.LoadCounts{Queue: c.queue, Arrived: 3, Served: 3}
			if c.swept {
				want.Served, want.TimeoutCleanQueue = 1, 2
			}
			if diff := cmp.Diff([]model.LoadCounts{want}, r.Queues); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			var lines []model.ErrorLine
			if c.swept {
				// Looks at 3, 13, ... ms: the one at or after 150 ms and the limit.
				look := func(fromMs int64) int64 { return (150+fromMs-3+9)/10*10 + 3 }
				line := func(create, size int64) model.ErrorLine {
					at := look(c.limitMs + create - 150)
					return model.ErrorLine{AtMs: float64(at), Code: 2, Remark: fmt.Sprintf(
						"[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: %dms, size of queue: %d", at-create, size)}
				}
				lines = []model.ErrorLine{line(150, 1), line(153, 0)}
			}
			if diff := cmp.Diff(lines, r.Errors, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoadsOfOneQueue share its threads and its capacity.
func TestLoadsOfOneQueue(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, at(0))
	cfg.Broker.PullMessageThreadPoolNums, cfg.Broker.PullThreadPoolQueueCapacity = 1, 2
	cfg.Loads = []model.Load{
		{Queue: "pull", Arrivals: at(100*ms, 103*ms), Service: dist("6s")},
		{Queue: "pull", Arrivals: at(101*ms, 102*ms, 10*sim.Second), Service: dist("1ms")},
	}
	want := []model.LoadCounts{
		{Queue: "pull", Arrived: 2, Served: 1, Overload: 1},
		{Queue: "pull", Arrived: 2, TimeoutCleanQueue: 2},
	}
	r := follow(t, cfg).result
	if diff := cmp.Diff(want, r.Queues); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	// The look at 5103 ms finds both expired; the refusal was long before.
	var got []string
	for _, e := range r.Errors {
		got = append(got, fmt.Sprint(e.AtMs, " ", e.Remark[:10]))
	}
	if diff := cmp.Diff([]string{"103 [OVERLOAD]", "5103 [TIMEOUT_C", "5103 [TIMEOUT_C"}, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	cfg.Warmup = sim.Second
	if r := follow(t, cfg).result; len(r.Errors) != 2 {
		t.Errorf("errors after the warm-up: got %v", r.Errors)
	}
}

// TestEndTransactionIsOneWay: when its queue is full nobody is told, when it
// waits too long the sweep answers all the same (facts §1.5, §2.1, §11).
func TestEndTransactionIsOneWay(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, at(0))
	cfg.Broker.EndTransactionThreadPoolNums, cfg.Broker.EndTransactionPoolQueueCapacity = 1, 1
	cfg.Loads = []model.Load{{Queue: "endTransaction", Arrivals: at(100*ms, 101*ms, 102*ms), Service: dist("6s")}}
	r := follow(t, cfg).result
	if want := (model.LoadCounts{Queue: "endTransaction", Arrived: 3, Served: 1, TimeoutCleanQueue: 1, Overload: 1}); r.Queues[0] != want {
		t.Errorf("got %+v, want %+v", r.Queues[0], want)
	}
	if len(r.Errors) != 1 || r.Errors[0].AtMs != 3103 {
		t.Errorf("errors: got %+v, want one at 3103 ms", r.Errors)
	}
}

// TestPCSynchronized: only a send that came in before the lock was held too
// long and reaches the store's check after it sees [PC_SYNCHRONIZED]; it is
// 1 up to 5.2.0 and 2 from 5.3.0 on (facts §3.4, §3.3).
func TestPCSynchronized(t *testing.T) {
	for release, code := range map[string]int32{"4.3.2": 1, "4.9.4": 1, "5.2.0": 1, "5.3.0": 2} {
		// 20 ms from the queue to the check. The first has the lock from 1020 ms
		// on; the others arrive at 2000.5 (at the check at 2020.5: still in the
		// 1000th ms) and at 2001 ms.
		cfg := bare(release, 4*sim.Second, at(sim.Second, 2000*ms+500_000, 2001*ms))
		cfg.Broker.SendMessageThreadPoolNums = 3
		cfg.Costs.Process = dist("20ms")
		cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 2500*ms)}
		c := follow(t, cfg)
		if a := c.rows[1]; a.Outcome != model.OK || a.Lock != 2500*ms {
			t.Errorf("%s: at the check in the 1000th ms: got %v, lock at %v", release, a.Outcome, a.Lock)
		}
		a := c.rows[2]
		if a.Outcome != model.PCSynchronized || a.Code != code || a.Done != 2021*ms || a.LockReq != model.Absent {
			t.Errorf("%s: at the check in the 1001st ms: got %v, code %d, done at %v", release, a.Outcome, a.Code, a.Done)
		}
		want := model.ErrorLine{AtMs: 2021, Code: int(code), Remark: model.RemarkPCSynchronized}
		if diff := cmp.Diff([]model.ErrorLine{want}, c.result.Errors); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", release, diff)
		}
	}
}

// TestIllegalBody: too large a message is answered with MESSAGE_ILLEGAL.
func TestIllegalBody(t *testing.T) {
	cfg := bare("4.9.4", sim.Second, at(0))
	cfg.Producers[0].Body = size("4194305B")
	c := follow(t, cfg)
	if a := c.rows[0]; a.Outcome != model.Other || a.Code != 13 || a.Unlock != model.Absent {
		t.Errorf("got %+v", a)
	}
	if got := c.result.Messages; got.NotStoredKnown != 1 || got.Offered != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestClientTimeout: a producer that gave up doesn't know; the broker may
// have stored the message all the same (design: fates of messages).
func TestClientTimeout(t *testing.T) {
	cfg := bare("4.3.2", 6*sim.Second, at(sim.Second, 1100*ms, 4000*ms+1001))
	cfg.Broker.WaitTimeMillsInSendQueue, cfg.Broker.OsPageCacheBusyTimeOutMills = 5000, 5000
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 4100*ms)}
	c := follow(t, cfg)
	// Sent at 1 and 1.1 s, answered at 4.1 s: 3.1 s and, behind it, 3.000001 s.
	for i, want := range []bool{true, true, false} {
		if c.rows[i].ClientTimedOut != want || c.rows[i].Outcome != model.OK {
			t.Errorf("send %d: timed out %v, %v", i, c.rows[i].ClientTimedOut, c.rows[i].Outcome)
		}
	}
	if got := c.result.Messages; got.StoredThoughtFailed != 2 || got.StoredOnce != 1 {
		t.Errorf("got %+v", got)
	}
	if got := c.result.Attempts; got.ClientTimeout != 2 || got.Success != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestConnectionKeepsOrder: sends of one producer overtake each other neither
// on the network nor while they are decoded.
func TestConnectionKeepsOrder(t *testing.T) {
	cfg := bare("4.3.2", sim.Second, arrivals("poisson(rate=5000/s)"))
	cfg.Costs.Network, cfg.Costs.Decode = dist("exponential(mean=1ms)"), dist("exponential(mean=1ms)")
	rows := follow(t, cfg).rows
	for i := 1; i < len(rows); i++ {
		if rows[i].Arrive < rows[i-1].Arrive || rows[i].Enq < rows[i-1].Enq || rows[i].Deq < rows[i-1].Deq {
			t.Fatalf("send %d overtook the one before: %+v, %+v", i, rows[i-1], rows[i])
		}
	}
}

// TestCommonArrivals: settings move neither the arrivals nor the stalls of a
// seed (common random numbers).
func TestCommonArrivals(t *testing.T) {
	run := func(edit func(*model.Config)) (arrive []sim.Time, stalls []sim.Time) {
		cfg := bundled(t, "stall-500ms")
		cfg.Duration = 6 * sim.Second
		cfg.Stalls = append(cfg.Stalls, model.Stall{Where: model.StallProcess, At: model.Absent,
			Every: dist("exponential(mean=400ms)"), For: dist("uniform(min=1ms, max=50ms)"), Until: model.Absent})
		edit(&cfg)
		c := follow(t, cfg)
		for _, a := range c.rows {
			arrive = append(arrive, a.Arrive)
		}
		for _, s := range c.stalls {
			if s.Where == model.StallProcess {
				stalls = append(stalls, s.From, s.To)
			}
		}
		return arrive, stalls[:min(20, len(stalls))]
	}
	arrive, stalls := run(func(*model.Config) {})
	for name, edit := range map[string]func(*model.Config){
		"limit":        func(c *model.Config) { c.Broker.WaitTimeMillsInSendQueue = 100 },
		"threads":      func(c *model.Config) { c.Broker.SendMessageThreadPoolNums = 4; c.Machine.Cores = 8 },
		"slow appends": func(c *model.Config) { c.Store.Append = dist("exponential(mean=1ms)") },
		"release":      func(c *model.Config) { c.Broker.Release = "5.3.3" },
	} {
		a, s := run(edit)
		if !slices.Equal(a, arrive) {
			t.Errorf("%s moves the arrivals", name)
		}
		if !slices.Equal(s, stalls) {
			t.Errorf("%s moves the stalls", name)
		}
	}
}
