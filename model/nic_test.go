package model_test

import (
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// TestLinkIn: sends pass one after the other before they are stamped; what they
// wait there is in no queue and no period (facts §1.6).
func TestLinkIn(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, at(sim.Second, sim.Second, sim.Second))
	cfg.Machine.NIC = 1e6
	cfg.Producers[0].Body = size("1148B") // with its header one frame of 1448 + 90 bytes
	for i, a := range follow(t, cfg).rows {
		const frame = 1538 * sim.Microsecond
		want := sim.Second + sim.Time(i+1)*frame
		if a.Arrive != want || a.Enq != want || a.CreateMs != int64(want/ms) {
			t.Errorf("send %d: at the codec thread at %v, stamped %d, want %v", i, a.Arrive, a.CreateMs, want)
		}
		if answer := a.Resp - a.Done; answer != 290*sim.Microsecond {
			t.Errorf("send %d: its answer took %v, want 290us of the way out", i, answer)
		}
	}
}

// TestLinkShare: connections share the link, frame by frame as they come.
func TestLinkShare(t *testing.T) {
	cfg := bare("4.3.2", 10*sim.Second, arrivals("poisson(rate=3000/s)"))
	other := cfg.Producers[0]
	other.Name, other.Arrivals = "other", arrivals("poisson(rate=50/s)")
	cfg.Producers = append(cfg.Producers, other)
	cfg.Producers[0].Timeout, cfg.Producers[1].Timeout = 0, 0
	cfg.Machine.NIC = 2e6 // of 1 KiB bodies some 1,400 a second
	worst := sim.Time(0)
	for _, a := range follow(t, cfg).rows {
		if a.Producer == 1 {
			worst = max(worst, a.Arrive-a.Send)
		}
	}
	if worst > 5*ms {
		t.Errorf("a small producer beside one that fills the link waits up to %v", worst)
	}
}

// TestLongPolling: each stored message wakes the parked pulls, each as one new
// request of the pull executor, and each consumer gets every byte of the log;
// what they get passes the link out before the answers behind it (facts §11).
func TestLongPolling(t *testing.T) {
	cfg := bare("4.3.2", 10*sim.Second, arrivals("deterministic(rate=10/s)"))
	cfg.Loads = []model.Load{{Queue: "pull", Consumers: 3, Service: dist("100us")}}
	c := follow(t, cfg)
	stored := int64(len(c.rows))
	// One pull for each message, and one that finds nothing and is parked.
	if got := c.result.Queues[0]; got.Arrived != got.Served || got.Arrived < 6*stored-6 || got.Arrived > 6*stored {
		t.Errorf("%d pulls of 3 consumers for %d messages, %d served; want 2 of each for each", got.Arrived, stored, got.Served)
	}
	alone := cfg
	alone.Loads = nil
	if got := follow(t, alone); len(got.rows) != len(c.rows) || got.rows[5] != c.rows[5] {
		t.Error("consumers move the sends of an idle machine")
	}
	cfg.Machine.NIC, cfg.Producers[0].Arrivals = 100e3, arrivals("poisson(rate=25/s)")
	slow := follow(t, cfg)
	alone.Machine.NIC, alone.Producers = cfg.Machine.NIC, cfg.Producers
	mean := func(c *course) (sum sim.Time) {
		for _, a := range c.rows {
			sum += a.Resp - a.Done
		}
		return sum / sim.Time(len(c.rows))
	}
	if mean(slow) <= mean(follow(t, alone))+ms {
		t.Errorf("answers beside pulls take %v, without %v", mean(slow), mean(follow(t, alone)))
	}
}

// TestPullsTimeOut: a woken pull that waits too long in the queue is swept, and
// its consumer asks again 3 s later.
func TestPullsTimeOut(t *testing.T) {
	cfg := bare("4.3.2", 30*sim.Second, arrivals("deterministic(rate=5/s)"))
	cfg.Broker.PullMessageThreadPoolNums = 1
	cfg.Loads = []model.Load{{Queue: "pull", Consumers: 20, Service: dist("500ms")}}
	got := follow(t, cfg).result.Queues[0]
	if got.TimeoutCleanQueue == 0 || got.Arrived != got.Served+got.TimeoutCleanQueue {
		t.Errorf("got %+v, want some swept, and all accounted for", got)
	}
}
