package model_test

import (
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// TestFreezesAreToldApart: a collection and a steal stop what a SIGSTOP stops,
// and are recorded as what they are.
func TestFreezesAreToldApart(t *testing.T) {
	run := func(where model.StallWhere) *course {
		cfg := bundled(t, "stall-500ms")
		cfg.Stalls = append(cfg.Stalls, model.Stall{Where: where, At: model.Absent,
			Every: dist("exponential(mean=1s)"), For: dist("uniform(min=1ms, max=300ms)"), Until: model.Absent})
		return follow(t, cfg)
	}
	freeze := run(model.StallProcess)
	for _, where := range []model.StallWhere{model.StallGC, model.StallSteal} {
		other := run(where)
		if other.fingerprint != freeze.fingerprint {
			t.Errorf("%v takes another course than a freeze", where)
		}
		n := 0
		for _, s := range other.stalls {
			if s.Where == where {
				n++
			}
			if s.Where == model.StallProcess {
				t.Errorf("%v is recorded as a freeze", where)
			}
		}
		if n == 0 {
			t.Errorf("no %v is recorded", where)
		}
	}
}

// TestBusyCores: threads of others cost nothing while a core is left, and a
// turn of theirs when none is.
func TestBusyCores(t *testing.T) {
	run := func(tasks int) *course {
		cfg := bare("4.3.2", 10*sim.Second, arrivals("poisson(rate=200/s)"))
		cfg.Machine.Cores = 4
		cfg.Costs = model.DefaultCosts()
		if tasks > 0 {
			cfg.Stalls = []model.Stall{{Where: model.StallCPU, At: 2 * sim.Second, Until: 8 * sim.Second, Tasks: tasks}}
		}
		return follow(t, cfg)
	}
	alone := run(0)
	if run(2).fingerprint != alone.fingerprint {
		t.Error("two tasks on four cores change something")
	}
	waits := func(c *course, from, to sim.Time) (n int, mean sim.Time) {
		for _, a := range c.rows {
			if a.Send >= from && a.Send < to && a.Deq != model.Absent {
				n++
				mean += a.Deq - a.Enq
			}
		}
		return n, mean / sim.Time(max(1, n))
	}
	for _, c := range []struct {
		tasks       int
		least, most sim.Time // of the mean wait in the queue
	}{{4, 1500 * sim.Microsecond, 6 * ms}, {32, 12 * ms, 60 * ms}} {
		busy := run(c.tasks)
		if _, mean := waits(busy, 2*sim.Second, 8*sim.Second); mean < c.least || mean > c.most {
			t.Errorf("%d tasks on four cores: a send waits %v on average, want %v to %v", c.tasks, mean, c.least, c.most)
		}
		if _, mean := waits(busy, 9*sim.Second, 10*sim.Second); mean > ms {
			t.Errorf("%d tasks: a send waits %v when they have ended", c.tasks, mean)
		}
	}
}

// TestSharedCores: what keeps its thread on a core for long takes longer beside
// others, as many times as there are threads for a core.
func TestSharedCores(t *testing.T) {
	for _, c := range []struct {
		tasks           int
		served, timeout int64 // of 4 pulls of 1 s each that come at once; the limit is 5 s
	}{{0, 4, 0}, {3, 4, 0}, {7, 3, 1}, {15, 2, 2}} {
		cfg := bare("4.3.2", 20*sim.Second, at(19*sim.Second))
		cfg.Machine.Cores = 4
		cfg.Broker.PullMessageThreadPoolNums = 1
		cfg.Loads = []model.Load{{Queue: "pull", Arrivals: at(1, 2, 3, 4), Service: dist("1s")}}
		if c.tasks > 0 {
			cfg.Stalls = []model.Stall{{Where: model.StallCPU, At: 0, Until: 18 * sim.Second, Tasks: c.tasks}}
		}
		got := follow(t, cfg).result.Queues[0]
		if got.Served != c.served || got.TimeoutCleanQueue != c.timeout {
			t.Errorf("%d tasks on four cores: %d pulls served, %d timed out, want %d and %d", c.tasks, got.Served, got.TimeoutCleanQueue, c.served, c.timeout)
		}
	}
}
