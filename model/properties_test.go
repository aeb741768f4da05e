package model_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"brokersim/model"
	"brokersim/sim"
)

// anyConfig draws a valid configuration of a second or two: any release,
// settings, costs, arrivals, stalls and loads, many of them unreasonable.
func anyConfig(t *rapid.T) model.Config {
	release := rapid.SampledFrom(model.Releases()).Draw(t, "release")
	cores := rapid.IntRange(1, 6).Draw(t, "cores")
	settings, err := model.Defaults(release, cores)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "own settings") {
		settings.BrokerFastFailureEnable = rapid.IntRange(0, 5).Draw(t, "sweep") > 0
		settings.WaitTimeMillsInSendQueue = rapid.Int64Range(0, 400).Draw(t, "waitTimeMillsInSendQueue")
		settings.OsPageCacheBusyTimeOutMills = rapid.Int64Range(0, 1200).Draw(t, "osPageCacheBusyTimeOutMills")
		settings.SendMessageThreadPoolNums = rapid.IntRange(1, 33).Draw(t, "sendMessageThreadPoolNums")
		settings.SendThreadPoolQueueCapacity = rapid.Int64Range(1, 300).Draw(t, "sendThreadPoolQueueCapacity")
		settings.UseReentrantLockWhenPutMessage = rapid.Bool().Draw(t, "useReentrantLockWhenPutMessage")
		settings.MappedFileSizeCommitLog = rapid.SampledFrom([]int{6 << 20, 1 << 30}).Draw(t, "mappedFileSizeCommitLog")
		settings.PutThreadPoolQueueCapacity = rapid.Int64Range(1, 100).Draw(t, "putThreadPoolQueueCapacity")
		settings.PutMessageFutureThreadPoolNums = rapid.IntRange(1, 4).Draw(t, "putMessageFutureThreadPoolNums")
	}
	if rapid.Bool().Draw(t, "waits") {
		settings.FlushDiskType = rapid.SampledFrom([]string{model.AsyncFlush, model.SyncFlush}).Draw(t, "flushDiskType")
		settings.BrokerRole = rapid.SampledFrom([]string{model.AsyncMaster, model.SyncMaster}).Draw(t, "brokerRole")
		settings.SyncFlushTimeout = rapid.SampledFrom([]int{0, 1, 30, 300, 5000}).Draw(t, "syncFlushTimeout")
		settings.SlaveTimeout = rapid.SampledFrom([]int{0, 1, 30, 300, 3000}).Draw(t, "slaveTimeout")
		settings.HaMaxGapNotInSync = rapid.SampledFrom([]int64{0, 10 << 20, 256 << 20}).Draw(t, "haMaxGapNotInSync")
		settings.HaHousekeepingInterval = rapid.SampledFrom([]int{100, 20000}).Draw(t, "haHousekeepingInterval")
		settings.InSyncReplicas = rapid.IntRange(1, 3).Draw(t, "inSyncReplicas")
		settings.EnableAutoInSyncReplicas = rapid.Bool().Draw(t, "enableAutoInSyncReplicas")
		settings.EnableSlaveActingMaster = rapid.Bool().Draw(t, "enableSlaveActingMaster")
		settings.AsyncSendEnable = rapid.Bool().Draw(t, "asyncSendEnable")
	}
	duration := sim.Time(rapid.IntRange(1, 2000).Draw(t, "duration ms")) * ms
	cfg := model.Config{
		Seed: rapid.Uint64().Draw(t, "seed"), Duration: duration, Warmup: duration / sim.Time(rapid.IntRange(2, 50).Draw(t, "warmup")),
		Broker:  settings,
		Machine: model.Machine{Cores: cores, WallPhase: model.Absent, SweepPhase: model.Absent, Quantum: model.DefaultQuantum},
		Costs:   model.DefaultCosts(),
		Store:   model.Store{Append: dist(rapid.SampledFrom([]string{"4us", "lognormal(median=12us, p99=3ms)", "exponential(mean=2ms)", "mixture(0.99*1us, 0.01*40ms)", "0us"}).Draw(t, "append"))},
	}
	cfg.Store.Flush = dist(rapid.SampledFrom([]string{"0us", "300us", "lognormal(median=1ms, p99=50ms)", "exponential(mean=20ms)"}).Draw(t, "flush"))
	cfg.Replica = model.DefaultReplica()
	cfg.Replica.Slaves = rapid.IntRange(0, 3).Draw(t, "slaves")
	cfg.Replica.Bandwidth = rapid.SampledFrom([]int64{0, 1 << 20, 1 << 30}).Draw(t, "bandwidth")
	if rapid.Bool().Draw(t, "own costs") {
		cost := rapid.SampledFrom([]string{"0us", "1us", "exponential(mean=100us)", "2ms", "lognormal(median=50us, p99=20ms)"})
		cfg.Costs = model.Costs{
			Network: dist(cost.Draw(t, "network")), Decode: dist(cost.Draw(t, "decode")), Handoff: dist(cost.Draw(t, "handoff")),
			Process: dist(cost.Draw(t, "process")), Finish: dist(cost.Draw(t, "finish")), FirstAnswer: dist(cost.Draw(t, "first answer")),
			Answer: dist(cost.Draw(t, "answer")), SweepLag: dist(cost.Draw(t, "sweep lag")), Submit: dist(cost.Draw(t, "submit")), StackDump: dist("30ms"),
		}
	}
	process := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{
			"poisson(rate=400/s)", "poisson(rate=2000/s)", "deterministic(rate=43/s)", "deterministic(every=500us)",
			"mmpp(low=20/s for 200ms, high=3000/s for 50ms)", "piecewise(0s=43/s, 500ms=2500/s, 700ms=10/s)",
			"trace(0ms, 0ms, 0ms, 1ms, 200ms, 200ms, 201ms, 999ms)", "trace(0ns)",
		}).Draw(t, "arrivals")
	})
	cfg.Route = model.Route{Brokers: rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(t, "brokers"), Queues: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "queues")}
	for i := range rapid.IntRange(1, 3).Draw(t, "producers") {
		p := model.Producer{
			Name: fmt.Sprint("p", i), Arrivals: arrivals(process.Draw(t, "process")), Body: size("uniform(min=1B, max=5MiB)"),
			Timeout: sim.Time(rapid.IntRange(1, 3000).Draw(t, "timeout ms")) * ms,
		}
		if rapid.Bool().Draw(t, "own client") {
			anyClient(t, &p)
		}
		cfg.Producers = append(cfg.Producers, p)
	}
	cfg.Stalls = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.Stall {
		s := model.Stall{Where: rapid.SampledFrom([]model.StallWhere{model.StallAppend, model.StallSweep, model.StallProcess, model.StallGC, model.StallSteal, model.StallCPU, model.StallFlush, model.StallNetwork, model.StallReplica}).Draw(t, "where"),
			Broker: rapid.IntRange(0, max(1, cfg.Route.Brokers)-1).Draw(t, "broker"),
			At:     sim.Time(rapid.IntRange(0, 2000).Draw(t, "at ms")) * ms, Until: model.Absent}
		if s.Where == model.StallCPU {
			s.Tasks = rapid.IntRange(1, 20).Draw(t, "tasks")
		}
		switch length := sim.Time(rapid.IntRange(1, 1500).Draw(t, "length ms")) * ms; rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			s.Until = s.At + length
		case 1:
			s.For = dist(length.String())
		default:
			s.At = rapid.SampledFrom([]sim.Time{model.Absent, s.At}).Draw(t, "first")
			s.Every = dist(rapid.SampledFrom([]string{"200ms", "exponential(mean=150ms)", "50ms"}).Draw(t, "every"))
			s.For = dist(rapid.SampledFrom([]string{"70ms", "lognormal(median=40ms, sigma=1)", "0ms"}).Draw(t, "for"))
		}
		return s
	}), 0, 4).Draw(t, "stalls")
	if rapid.Bool().Draw(t, "own machine") {
		anyLog(t, &cfg)
		anyMachine(t, &cfg)
	}
	traits, err := model.TraitsOf(release)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Machine.NIC = rapid.SampledFrom([]float64{0, 1e9, 100e6}).Draw(t, "nic")
	if rapid.IntRange(0, 3).Draw(t, "long polling") == 0 {
		cfg.Loads = append(cfg.Loads, model.Load{Queue: "pull", Consumers: rapid.IntRange(1, 5).Draw(t, "consumers"), Service: dist("exponential(mean=1ms)")})
	}
	queues := traits.Swept[1:]
	if traits.EndTransactionInSend {
		queues = append(slices.Clone(queues), model.EndTransactionQueue)
	}
	for _, q := range queues {
		if rapid.IntRange(0, 3).Draw(t, "load") == 0 {
			cfg.Loads = append(cfg.Loads, model.Load{Queue: q.String(), Arrivals: arrivals(process.Draw(t, "process")), Service: dist("exponential(mean=30ms)")})
		}
	}
	return cfg
}

// anyLog has the broker write to its files in any way.
func anyLog(t *rapid.T, cfg *model.Config) {
	s := &cfg.Broker
	s.WarmMapedFileEnable = rapid.Bool().Draw(t, "warmMapedFileEnable")
	s.TransientStorePoolEnable = rapid.Bool().Draw(t, "transientStorePoolEnable")
	s.TransientStorePoolSize = rapid.IntRange(0, 5).Draw(t, "transientStorePoolSize")
	s.FastFailIfNoBufferInStorePool = rapid.Bool().Draw(t, "fastFailIfNoBufferInStorePool")
	s.CommitIntervalCommitLog = rapid.SampledFrom([]int{1, 10, 200}).Draw(t, "commitIntervalCommitLog")
	s.CommitCommitLogLeastPages = rapid.SampledFrom([]int{0, 1, 4, 1000}).Draw(t, "commitCommitLogLeastPages")
	s.CommitCommitLogThoroughInterval = rapid.SampledFrom([]int{0, 10, 200}).Draw(t, "commitCommitLogThoroughInterval")
	s.WakeCommitWhenPutMessage = rapid.Bool().Draw(t, "wakeCommitWhenPutMessage")
	cfg.Store.Start = rapid.SampledFrom([]model.LogStart{model.LogRunning, model.LogRestarted, model.LogEmpty}).Draw(t, "start")
	if cfg.Store.Start != model.LogEmpty {
		cfg.Store.Filled = rapid.Int64Range(0, int64(s.MappedFileSizeCommitLog)).Draw(t, "filled")
	}
	takes := rapid.SampledFrom([]string{"0ms", "70us", "exponential(mean=20ms)", "6s"})
	cfg.Store.Allocate, cfg.Store.Commit = dist(takes.Draw(t, "allocate")), dist(takes.Draw(t, "commit"))
	cfg.Store.WarmPage = dist("1us")
	cfg.Store.AtRisk = rapid.Bool().Draw(t, "at risk")
	if rapid.Bool().Draw(t, "commit stall") {
		cfg.Stalls = append(cfg.Stalls, once(model.StallCommit, 100*ms, 300*ms))
	}
}

// anyMachine puts the broker on a machine with a disk, beside others.
func anyMachine(t *rapid.T, cfg *model.Config) {
	cached := rapid.Bool().Draw(t, "page cache")
	if cached {
		limit := rapid.Int64Range(1, 64).Draw(t, "limit MiB") << 20
		cfg.Store.PageCache = &model.PageCache{
			Memory: 1 << 30, Background: limit / 2, Limit: limit, Disk: rapid.Int64Range(1, 200).Draw(t, "disk MB/s") * 1_000_000,
			Tick: 4 * ms, Writeback: rapid.SampledFrom([]sim.Time{0, 100 * ms}).Draw(t, "writeback"), Expire: 200 * ms,
			Latency: dist("exponential(mean=5ms)"), StablePages: rapid.Bool().Draw(t, "stable pages"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "deletes") {
			cfg.Deletes = append(cfg.Deletes, model.Delete{At: sim.Time(rapid.IntRange(0, 1000).Draw(t, "delete ms")) * ms,
				Files: rapid.IntRange(1, 30).Draw(t, "files"), Unlink: dist("exponential(mean=100ms)"), Journal: rapid.Bool().Draw(t, "journal")})
		}
		cfg.Loads = append(cfg.Loads, model.Load{Queue: "pull", Arrivals: arrivals("poisson(rate=50/s)"), Service: dist("1ms"), Read: 64 << 10})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "neighbours") {
		n := model.Neighbour{
			Name: fmt.Sprint("n", i), At: model.Absent, Every: dist("exponential(mean=300ms)"), For: dist("exponential(mean=200ms)"),
			Tasks: rapid.IntRange(1, 20).Draw(t, "tasks"), ReadSize: 4096,
			Cores: rapid.IntRange(0, 4).Draw(t, "cores of a neighbour"), Slows: rapid.IntRange(0, 200).Draw(t, "slows"),
		}
		if cached {
			n.Rate, n.Reads = rapid.Int64Range(0, 1e9).Draw(t, "rate"), rapid.Int64Range(0, 1e8).Draw(t, "reads")
		}
		cfg.Neighbours = append(cfg.Neighbours, n)
	}
}

// anyClient has a producer send in any way.
func anyClient(t *rapid.T, p *model.Producer) {
	p.Release = rapid.SampledFrom(append(model.Releases(), "")).Draw(t, "client")
	p.Mode = rapid.SampledFrom([]model.SendMode{model.SendSync, model.SendAsync, model.SendOneway}).Draw(t, "mode")
	p.RetryTimesWhenSendFailed = rapid.IntRange(0, 4).Draw(t, "retryTimesWhenSendFailed")
	p.RetryTimesWhenSendAsyncFailed = rapid.IntRange(0, 4).Draw(t, "retryTimesWhenSendAsyncFailed")
	p.RetryAnotherBrokerWhenNotStoreOK = rapid.Bool().Draw(t, "retryAnotherBrokerWhenNotStoreOK")
	p.SendLatencyFaultEnable = rapid.Bool().Draw(t, "sendLatencyFaultEnable")
	p.Batch = rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "batch")
	p.NoWait = rapid.Bool().Draw(t, "no wait")
	p.Ordered = rapid.IntRange(0, 3).Draw(t, "ordered") == 0
	p.Timeout = rapid.SampledFrom([]sim.Time{0, p.Timeout, 50 * ms}).Draw(t, "timeout")
	if p.Handler = rapid.SampledFrom([]model.Handler{model.HandlerRethrow, model.HandlerResend, model.HandlerBak}).Draw(t, "handler"); p.Handler != model.HandlerRethrow {
		p.Resends = rapid.IntRange(0, 4).Draw(t, "resends")
		p.Backoff = dist(rapid.SampledFrom([]string{"0ms", "exponential(mean=100ms)", "300ms"}).Draw(t, "backoff"))
	}
	if rapid.IntRange(0, 2).Draw(t, "closed") == 0 {
		p.Arrivals = arrivals(rapid.SampledFrom([]string{"closed(n=1, think=1ms)", "closed(n=20, think=exponential(mean=10ms))", "closed(n=3, think=500us)"}).Draw(t, "callers"))
	}
}

// TestAnyRun: whatever is simulated, the books hold, what happened to a send
// happened in order, the queue is first in, first out, what was rejected was
// never stored, and a second run is the same to the byte.
func TestAnyRun(t *testing.T) { rapid.Check(t, checkAnyRun) }

// FuzzAnyRun is TestAnyRun, led by the coverage.
func FuzzAnyRun(f *testing.F) {
	for i := range uint64(8) { // as many random draws as a configuration takes
		var draws []byte
		for s := rand.NewPCG(i, 0); len(draws) < 1<<12; {
			draws = binary.LittleEndian.AppendUint64(draws, s.Uint64())
		}
		f.Add(draws)
	}
	f.Fuzz(rapid.MakeFuzz(checkAnyRun))
}

func checkAnyRun(t *rapid.T) {
	cfg := anyConfig(t)
	c := follow(t, cfg)
	again := follow(t, cfg)
	if c.fingerprint != again.fingerprint || !slices.Equal(c.rows, again.rows) {
		t.Fatal("two runs differ")
	}
	if a, b := asJSON(t, c.result), asJSON(t, again.result); !bytes.Equal(a, b) {
		t.Fatalf("two results differ:\n%s\n%s", a, b)
	}
	checkRows(t, &cfg, c)
	checkCounts(t, &cfg, c)
}

func asJSON(t interface{ Fatal(...any) }, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// before reports whether the times that happened are in that order.
func before(times ...sim.Time) bool {
	last := sim.Time(0)
	for _, t := range times {
		if t != model.Absent {
			if t < last {
				return false
			}
			last = t
		}
	}
	return true
}

func checkRows(t *rapid.T, cfg *model.Config, c *course) {
	traits, err := model.TraitsOf(cfg.Broker.Release)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.rows {
		a := &c.rows[i]
		// A put that waited for a file in vain had the lock, and stored nothing.
		taken, swept, stored := a.Deq != model.Absent, a.Clean != model.Absent, a.App1 != model.Absent
		want := map[model.Outcome][3]bool{
			model.OK: {true, false, true}, model.TimeoutCleanQueue: {false, true, false}, model.PCBusyCleanQueue: {false, true, false},
			model.PCSynchronized: {true, false, false}, model.Other: {true, false, false},
			model.FlushDiskTimeout: {true, false, true}, model.FlushSlaveTimeout: {true, false, true}, model.SlaveNotAvailable: {true, false, true},
			model.NoAnswer: {true, false, stored},
		}[a.Outcome]
		if got := [3]bool{taken, swept, stored}; got != want {
			t.Fatalf("taken, swept, stored: got %v, want %v: %+v", got, want, *a)
		}
		if a.Seq != int64(i) || !before(a.Send, a.Arrive, a.Enq, a.Deq, a.LockReq, a.Lock, a.App0, a.App1, a.Unlock, a.Done, a.Resp) || !before(a.Enq, a.Clean, a.Resp) {
			t.Fatalf("out of order: %+v", *a)
		}
		if i > 0 && a.Arrive < c.rows[i-1].Arrive {
			t.Fatalf("send %d arrived before the one before", i)
		}
		switch a.Outcome {
		case model.NoAnswer:
			if !traits.CallbacksInSend && !traits.CallbackPool || a.Resp != model.Absent || !a.ClientTimedOut {
				t.Fatalf("no answer: %+v", *a)
			}
		case model.FlushDiskTimeout:
			if cfg.Broker.FlushDiskType != model.SyncFlush {
				t.Fatalf("FLUSH_DISK_TIMEOUT of an ASYNC_FLUSH: %+v", *a)
			}
		case model.FlushSlaveTimeout, model.SlaveNotAvailable:
			if cfg.Broker.BrokerRole != model.SyncMaster || a.Outcome == model.SlaveNotAvailable && traits.ReplicaNeedsInSync {
				t.Fatalf("%v: %+v", a.Outcome, *a)
			}
		case model.TimeoutCleanQueue:
			if a.PeriodMs < cfg.Broker.WaitTimeMillsInSendQueue {
				t.Fatalf("TIMEOUT after %d ms: %+v", a.PeriodMs, *a)
			}
		case model.PCSynchronized:
			if cfg.Broker.SendMessageThreadPoolNums == 1 {
				t.Fatalf("PC_SYNCHRONIZED with one send thread: %+v", *a)
			}
		case model.RejectRequest:
			if a.CreateMs != model.Absent || a.Enq != model.Absent {
				t.Fatalf("REJECTREQUEST after the stamp: %+v", *a)
			}
		}
		if swept {
			if wait := (a.Clean - a.Enq) / ms; a.PeriodMs < int64(wait) || a.PeriodMs > int64(wait)+1 {
				t.Fatalf("period %d ms of a wait of %v: %+v", a.PeriodMs, a.Clean-a.Enq, *a)
			}
			if !cfg.Broker.BrokerFastFailureEnable && cfg.Broker.Release >= "4.2.0" {
				t.Fatalf("swept with the sweep off: %+v", *a)
			}
		}
		if int64(a.QlenEnq) > cfg.Broker.SendThreadPoolQueueCapacity || a.Qsize >= cfg.Broker.SendThreadPoolQueueCapacity {
			t.Fatalf("more in the queue than it holds: %+v", *a)
		}
	}
	for b := range max(1, cfg.Route.Brokers) {
		checkQueueAndLock(t, slices.DeleteFunc(slices.Clone(c.rows), func(a model.Attempt) bool { return int(a.Broker) != b }))
	}
	if cfg.Route.Brokers > 1 { // whose sweeps they are is not told
		return
	}
	// Sweeps: numbered, one after the other, at their nominal time or later.
	for i, s := range c.sweeps {
		if s.N != int64(i+1) || s.Start < s.Nominal || s.End < s.Start || i > 0 && (s.Nominal != c.sweeps[i-1].Nominal+model.SweepPeriod || s.Start < c.sweeps[i-1].End) {
			t.Fatalf("sweep %d: %+v", i, s)
		}
	}
}

// checkQueueAndLock is of the attempts at one broker.
func checkQueueAndLock(t *rapid.T, rows []model.Attempt) {
	// First in, first out: in order of queueing, they leave in order.
	var queued []model.Attempt
	for _, a := range rows {
		if a.Deq != model.Absent || a.Clean != model.Absent {
			queued = append(queued, a)
		}
	}
	left := func(a model.Attempt) sim.Time { return max(a.Deq, a.Clean) }
	slices.SortStableFunc(queued, func(a, b model.Attempt) int {
		return cmp.Or(cmp.Compare(a.Enq, b.Enq), cmp.Compare(left(a), left(b)))
	})
	for i := 1; i < len(queued); i++ {
		if left(queued[i]) < left(queued[i-1]) {
			t.Fatalf("left the queue before the one before it:\n%+v\n%+v", queued[i-1], queued[i])
		}
	}
	// The put lock is one holder's at a time.
	held := slices.DeleteFunc(rows, func(a model.Attempt) bool { return a.Unlock == model.Absent })
	slices.SortFunc(held, func(a, b model.Attempt) int {
		return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Unlock, b.Unlock))
	})
	for i := 1; i < len(held); i++ {
		if held[i].Lock < held[i-1].Unlock {
			t.Fatalf("two holders of the lock:\n%+v\n%+v", held[i-1], held[i])
		}
	}
}

// sent is what became of one message, read off its attempts.
type sent struct {
	begun            sim.Time
	attempts, stores int
	told, unsure     bool
}

func checkCounts(t *rapid.T, cfg *model.Config, c *course) {
	var attempts, late, again, copies int64
	messages := map[[2]int64]*sent{}
	for i := range c.rows {
		a := &c.rows[i]
		p := &cfg.Producers[a.Producer]
		key := [2]int64{int64(a.Producer), a.Message}
		m := messages[key]
		if m == nil {
			m = &sent{begun: sim.Never}
			messages[key] = m
		}
		m.begun = min(m.begun, a.Send)
		m.attempts++
		oneway := p.Mode == model.SendOneway
		if a.App1 != model.Absent {
			m.stores++
			copies++
		}
		m.told = m.told || oneway || !a.Outcome.Rejected() && a.Outcome != model.Other && !a.ClientTimedOut
		m.unsure = m.unsure || oneway || a.ClientTimedOut
		if a.Send >= cfg.Warmup {
			attempts++
			if a.ClientTimedOut {
				late++
			}
		}
	}
	var want model.MessageCounts
	for key, m := range messages {
		p := &cfg.Producers[key[0]]
		if most := (1 + max(p.RetryTimesWhenSendFailed, p.RetryTimesWhenSendAsyncFailed)) * (1 + p.Resends); m.attempts > most {
			t.Fatalf("%d attempts of a message, want at most %d", m.attempts, most)
		}
		again += int64(m.attempts - 1)
		if m.begun < cfg.Warmup {
			continue
		}
		n := int64(max(1, p.Batch))
		want.Offered += n
		switch {
		case m.stores > 1:
			want.StoredMoreThanOnce += n
		case m.stores == 1 && m.told:
			want.StoredOnce += n
		case m.stores == 1:
			want.StoredThoughtFailed += n
		case m.unsure:
			want.NotStoredUnknown += n
		default:
			want.NotStoredKnown += n
		}
	}
	r := c.result
	if r.Messages != want {
		t.Fatalf("messages: got %+v, want %+v", r.Messages, want)
	}
	if r.Attempts.Sent != attempts || r.Attempts.ClientTimeout != late {
		t.Fatalf("attempts: got %+v, want %d of which %d timed out", r.Attempts, attempts, late)
	}
	if cfg.Warmup == 0 && r.Retries+r.Resends != again || r.Retries+r.Resends > again {
		t.Fatalf("%d retries and %d resends of %d attempts that are not a message's first", r.Retries, r.Resends, again)
	}
	if n := len(r.Brokers); n > 0 {
		var sum int64
		for _, b := range r.Brokers {
			sum += b.Sent
		}
		if sum != attempts || n != cfg.Route.Brokers {
			t.Fatalf("%d attempts at %d brokers, want %d at %d", sum, n, attempts, cfg.Route.Brokers)
		}
	}
	for _, q := range r.Queues {
		if q.Arrived != q.Served+q.TimeoutCleanQueue+q.PCBusyCleanQueue+q.Overload {
			t.Fatalf("queue: %+v", q)
		}
	}
	if n := len(r.Errors); n > model.ErrorLinesMax {
		t.Fatalf("%d error lines", n)
	}
}

// TestAnyWorkers: the result is the same whatever the number of workers.
func TestAnyWorkers(t *testing.T) {
	cfg := bundled(t, "stall-1200ms")
	cfg.Duration = 6 * sim.Second
	var want []byte
	for _, workers := range []int{1, 2, 4, 13} {
		study, err := model.Replicate(context.Background(), &cfg, 7, workers, model.Observer{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := asJSON(t, study.Result())
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("-j %d:\n%s\n-j 1:\n%s", workers, got, want)
		}
	}
}

// TestLongerStall: a longer stall never rejects fewer.
func TestLongerStall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := bare("4.3.2", 2500*ms, arrivals(rapid.SampledFrom([]string{"poisson(rate=300/s)", "deterministic(rate=43/s)", "mmpp(low=100/s for 300ms, high=600/s for 100ms)"}).Draw(t, "arrivals")))
		cfg.Warmup = cfg.Duration // rows are enough
		cfg.Seed = rapid.Uint64().Draw(t, "seed")
		cfg.Machine.WallPhase, cfg.Machine.SweepPhase = model.Absent, model.Absent
		cfg.Store.Append = dist(rapid.SampledFrom([]string{"10us", "1ms", "3ms", "4ms"}).Draw(t, "append"))
		rejected := func(length sim.Time) int {
			cfg.Stalls = []model.Stall{once(model.StallAppend, 100*ms, length)}
			c := follow(t, cfg)
			return len(c.rows) - c.count(model.OK)
		}
		short := sim.Time(rapid.IntRange(1, 1800).Draw(t, "short ms")) * ms
		long := short + sim.Time(rapid.IntRange(1, 600).Draw(t, "longer by ms"))*ms
		if a, b := rejected(short), rejected(long); b < a {
			t.Fatalf("a stall of %v rejects %d, one of %v only %d", short, a, long, b)
		}
	})
}

// TestHigherLimit: with one thread, a constant service and a lock that is
// never held too long, raising the limit by more than a service and a sweep's
// period never gives more TIMEOUTs: whoever was in time before is in time
// still, for the queue is the longer one and the thread no idler. (Random
// services or a smaller step can give one more.)
func TestHigherLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := bare("4.3.2", 2*sim.Second, arrivals(rapid.SampledFrom([]string{"poisson(rate=300/s)", "poisson(rate=240/s)", "mmpp(low=100/s for 300ms, high=600/s for 100ms)"}).Draw(t, "arrivals")))
		cfg.Warmup = cfg.Duration // rows are enough
		cfg.Seed = rapid.Uint64().Draw(t, "seed")
		cfg.Machine.WallPhase, cfg.Machine.SweepPhase = model.Absent, model.Absent
		cfg.Store.Append = dist("4ms")
		cfg.Stalls = []model.Stall{once(model.StallAppend, 100*ms, sim.Time(rapid.IntRange(1, 900).Draw(t, "stall ms"))*ms)}
		timeouts := func(limitMs int64) int {
			cfg.Broker.WaitTimeMillsInSendQueue = limitMs
			return follow(t, cfg).count(model.TimeoutCleanQueue)
		}
		low := rapid.Int64Range(20, 600).Draw(t, "limit")
		high := low + rapid.Int64Range(15, 500).Draw(t, "raised by")
		if a, b := timeouts(low), timeouts(high); b > a {
			t.Fatalf("limit of %d ms: %d TIMEOUTs; of %d ms: %d", low, a, high, b)
		}
	})
}
