package model_test

import (
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// TestEndTransaction: up to 4.3.0 it waits in the send queue, where it counts,
// is swept at the sends' limit and by PCBUSY, and takes a send thread; since
// 4.3.1 it has a queue, threads and a limit of its own (facts §1.2, §1.4, §5.1).
func TestEndTransaction(t *testing.T) {
	run := func(release string, stall sim.Time) (*course, model.LoadCounts) {
		cfg := bare(release, 12*sim.Second, at(sim.Second, 1010*ms, 1020*ms))
		cfg.Broker.SendMessageThreadPoolNums = 1
		cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, sim.Second+stall)}
		cfg.Loads = []model.Load{{Queue: "endTransaction", Arrivals: at(1005*ms, 1015*ms, 5*sim.Second), Service: dist("1ms")}}
		c := follow(t, cfg)
		return c, c.result.Queues[0]
	}
	for _, release := range []string{"4.0.0-incubating", "4.2.0", "4.3.0"} {
		c, tx := run(release, 500*ms)
		if tx.Arrived != 3 || tx.Served != 1 || tx.TimeoutCleanQueue != 2 {
			t.Errorf("%s: %+v, want 2 of 3 swept with the sends", release, tx)
		}
		// Behind the first send that is swept stand an END_TRANSACTION, a send and
		// what was in front of it is gone already.
		if got := c.rows[1]; got.Outcome != model.TimeoutCleanQueue || got.Qsize != 2 || got.QlenEnq != 2 {
			t.Errorf("%s: %v, size of queue %d and %d on entry, want TIMEOUT_CLEAN_QUEUE, 2 and 2", release, got.Outcome, got.Qsize, got.QlenEnq)
		}
	}
	for _, release := range []string{"4.3.1", "4.9.4", "5.3.3"} {
		c, tx := run(release, 500*ms)
		if tx.Arrived != 3 || tx.Served != 3 {
			t.Errorf("%s: %+v, want all served by their own threads", release, tx)
		}
		if got := c.rows[1]; got.Qsize != 1 {
			t.Errorf("%s: size of queue %d, want 1", release, got.Qsize)
		}
	}
	cfg := bare("4.3.0", 12*sim.Second, at(sim.Second))
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 2500*ms)}
	cfg.Loads = []model.Load{{Queue: "endTransaction", Arrivals: at(1900*ms, 2100*ms), Service: dist("1ms")}}
	// The first is 101 ms old at 2001 ms, when PCBUSY takes all, the second is not
	// gated on arrival as a send would be, and the next sweep takes it.
	if tx := follow(t, cfg).result.Queues[0]; tx.PCBusyCleanQueue != 2 || tx.Served != 0 {
		t.Errorf("a stall of 1.5 s: %+v, want 2 pcbusy", tx)
	}
}

// TestEndTransactionFull: the send queue's capacity is theirs as well.
func TestEndTransactionFull(t *testing.T) {
	cfg := bare("4.3.0", 12*sim.Second, at(sim.Second, 1020*ms))
	cfg.Broker.SendThreadPoolQueueCapacity = 1
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1100*ms)}
	cfg.Loads = []model.Load{{Queue: "endTransaction", Arrivals: at(1010*ms, 1030*ms), Service: dist("1ms")}}
	c := follow(t, cfg)
	if tx := c.result.Queues[0]; tx.Served != 1 || tx.Overload != 1 || c.rows[1].Outcome != model.Overload {
		t.Errorf("got %+v and %v, want 1 served, 1 overload, the send OVERLOAD", tx, c.rows[1].Outcome)
	}
}
