package model_test

import (
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// burstAndStall is one send thread that answers by callbacks: two sends come
// while an append takes 50 ms, so that the first one's callback queues behind
// the second; the second's append stalls. Two more come before it has begun and
// one after.
func burstAndStall(release string, stall sim.Time) model.Config {
	cfg := bare(release, 5*sim.Second, at(sim.Second, 1001*ms, 1002*ms, 1060*ms, 1070*ms))
	cfg.Broker.SendMessageThreadPoolNums = 1
	cfg.Stalls = []model.Stall{once(model.StallAppend, sim.Second, 50*ms), once(model.StallAppend, 1050*ms, stall)}
	cfg.Producers[0].Timeout = 30 * sim.Second
	return cfg
}

// TestCallbackStopsSweep: from 4.7.1 to 4.9.2 a callback at the head of the
// send queue ends the sweep, whatever waits behind it (facts §1.3, §5.3).
func TestCallbackStopsSweep(t *testing.T) {
	const OK, swept = model.OK, model.TimeoutCleanQueue
	for release, want := range map[string][5]model.Outcome{
		"4.3.2": {OK, OK, swept, swept, swept},
		"4.7.0": {OK, OK, swept, swept, swept},
		"4.7.1": {OK, OK, swept, OK, OK},
		"4.9.2": {OK, OK, swept, OK, OK},
		"4.9.3": {OK, OK, swept, swept, swept},
		"5.3.3": {OK, OK, swept, swept, swept},
	} {
		cfg := burstAndStall(release, 600*ms)
		rows := follow(t, cfg).rows
		for i, a := range rows {
			if a.Outcome != want[i] {
				t.Errorf("%s: send %d: got %v, want %v", release, i, a.Outcome, want[i])
			}
		}
		// The callback waits in the queue for as long as the append stalls, and
		// counts in its size.
		inQueue := release == "4.7.1" || release == "4.9.2"
		if late := rows[0].Done > 1600*ms; late != inQueue {
			t.Errorf("%s: the first is answered at %v", release, rows[0].Done)
		}
		if size, want := rows[2].Qsize, map[bool]int64{true: 3, false: 2}[inQueue]; size != want {
			t.Errorf("%s: size of queue %d, want %d", release, size, want)
		}
	}
}

// TestCallbackLost: a sweep for a busy page cache drops callbacks: the message
// is stored, and nobody answers (facts §1.5, §5.3). In 5.x those of batches.
func TestCallbackLost(t *testing.T) {
	for _, c := range []struct {
		release string
		batch   int
		want    model.Outcome
	}{
		{"4.6.1", 1, model.OK}, {"4.7.0", 1, model.OK}, {"4.7.1", 1, model.NoAnswer}, {"4.9.2", 1, model.NoAnswer},
		{"4.9.3", 1, model.OK}, {"4.9.3", 2, model.OK}, {"5.0.0", 1, model.OK}, {"5.0.0", 2, model.NoAnswer}, {"5.3.3", 2, model.NoAnswer},
	} {
		cfg := burstAndStall(c.release, 1500*ms)
		cfg.Producers[0].Batch = c.batch
		r := follow(t, cfg)
		a := r.rows[0]
		if a.Outcome != c.want || a.Unlock == model.Absent {
			t.Errorf("%s, batch of %d: got %v, want %v and stored", c.release, c.batch, a.Outcome, c.want)
		}
		if lost := c.want == model.NoAnswer; lost && (r.result.Attempts.ClientTimeout != 1 || r.result.Messages.StoredThoughtFailed != int64(c.batch) || !a.ClientTimedOut) {
			t.Errorf("%s: got %+v, %+v", c.release, r.result.Attempts, r.result.Messages)
		}
	}
}

// TestCallbackRefused: a full queue refuses the callback, and the answer is
// lost (facts §5.3).
func TestCallbackRefused(t *testing.T) {
	cfg := bare("4.9.2", 3*sim.Second, at(sim.Second, 1001*ms, 1002*ms))
	cfg.Broker.SendMessageThreadPoolNums = 1
	cfg.Broker.SendThreadPoolQueueCapacity = 2
	cfg.Stalls = []model.Stall{once(model.StallAppend, sim.Second, 50*ms)}
	rows := follow(t, cfg).rows
	if rows[0].Outcome != model.NoAnswer || rows[1].Outcome != model.OK || rows[2].Outcome != model.OK {
		t.Errorf("send queue: got %v, %v, %v", rows[0].Outcome, rows[1].Outcome, rows[2].Outcome)
	}

	cfg = bare("4.9.4", 3*sim.Second, at(sim.Second, sim.Second, sim.Second))
	cfg.Broker.SendMessageThreadPoolNums, cfg.Broker.PutMessageFutureThreadPoolNums, cfg.Broker.PutThreadPoolQueueCapacity = 1, 1, 1
	cfg.Costs.Finish = dist("10ms")
	rows = follow(t, cfg).rows
	if rows[0].Outcome != model.OK || rows[1].Outcome != model.OK || rows[2].Outcome != model.NoAnswer {
		t.Errorf("pool: got %v, %v, %v", rows[0].Outcome, rows[1].Outcome, rows[2].Outcome)
	}
}

// TestAsyncSendEnable: with false the send thread of 5.x waits for the flush
// and answers itself (facts §5.3).
func TestAsyncSendEnable(t *testing.T) {
	for async, taken := range map[bool]sim.Time{true: 1001 * ms, false: 1010 * ms} {
		cfg := syncing("5.3.3", 3*sim.Second, sim.Second, 1001*ms)
		cfg.Broker.AsyncSendEnable = async
		rows := follow(t, cfg).rows
		if a := rows[1]; a.Outcome != model.OK || a.Deq < taken || a.Deq > taken+ms {
			t.Errorf("asyncSendEnable %v: taken at %v, want %v", async, a.Deq, taken)
		}
	}
}

// TestStackDump: the first TIMEOUT of a 5.x sweep in 15 s dumps all stacks on
// the sweeper: those answered after it are older by that (facts §1.3).
func TestStackDump(t *testing.T) {
	for release, dumps := range map[string]bool{"4.9.4": false, "5.0.0": true, "5.3.3": true} {
		cfg := bare(release, 40*sim.Second, at(sim.Second, 1001*ms, 1002*ms, 10*sim.Second, 10001*ms, 10002*ms, 20*sim.Second, 20001*ms, 20002*ms))
		cfg.Broker.SendMessageThreadPoolNums = 1
		cfg.Costs.StackDump = dist("100ms")
		cfg.Stalls = []model.Stall{once(model.StallAppend, sim.Second, 500*ms), once(model.StallAppend, 10*sim.Second, 500*ms), once(model.StallAppend, 20*sim.Second, 500*ms)}
		rows := follow(t, cfg).rows
		for i, first := range []int{1, 4, 7} {
			// The looks are at 3, 13, 23, ... ms.
			want := [2]int64{202, 201}
			if dumps && i != 1 {
				want[1] = 301
			}
			if got := [2]int64{rows[first].PeriodMs, rows[first+1].PeriodMs}; got != want {
				t.Errorf("%s, stall %d: periods %v, want %v", release, i, got, want)
			}
		}
	}
}
