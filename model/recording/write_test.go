package recording

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// TestWriteThenOpen: the folder that Write makes of a run replays as that run.
func TestWriteThenOpen(t *testing.T) {
	const ms = sim.Millisecond
	cfg := model.Config{
		Name: "written", Title: "Written", Seed: 3, Duration: 2 * sim.Second,
		Broker:    variate.Must(model.Defaults("4.9.4", 2)),
		Machine:   model.Machine{Cores: 2, WallPhase: 123_456, SweepPhase: 3 * ms, Quantum: model.DefaultQuantum},
		Costs:     model.DefaultCosts(),
		Store:     model.Store{Append: model.DefaultAppend(), Delay: 40 * sim.Microsecond},
		Producers: []model.Producer{{Arrivals: variate.Must(variate.ParseArrivals("poisson(rate=300/s)"))}},
		Stalls: []model.Stall{
			{Where: model.StallAppend, At: 500 * ms, Until: 800 * ms},
			{Where: model.StallProcess, At: 1200 * ms, Until: 1300 * ms},
			{Where: model.StallSweep, At: 600 * ms, Until: 650 * ms},
		},
	}
	cfg.Broker.SendThreadPoolQueueCapacity = 77
	cfg.Broker.BrokerFastFailureEnable = true
	run := Run{Config: &cfg, Wall: model.WallClock{Phase: cfg.Machine.WallPhase}, Delay: cfg.Store.Delay}
	_, err := model.Replicate(t.Context(), &cfg, 1, 1, model.Observer{
		AllSweeps: true,
		Attempt:   func(a *model.Attempt) { run.Attempts = append(run.Attempts, *a) },
		Sweep:     func(s model.SweepRecord) { run.Sweeps = append(run.Sweeps, s) },
		Stall:     func(s model.StallRecord) { run.Stalls = append(run.Stalls, Stall{s, s.From}) },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Write(dir, &run); err != nil {
		t.Fatal(err)
	}
	e, err := Open(os.DirFS(dir), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cfg.Broker, e.Config.Broker); diff != "" {
		t.Errorf("settings (-run +read):\n%s", diff)
	}
	if diff := cmp.Diff(cfg.Machine, e.Config.Machine); diff != "" {
		t.Errorf("machine (-run +read):\n%s", diff)
	}
	if e.Config.Store.Delay != cfg.Store.Delay || e.Config.Name != cfg.Name || e.Config.Title != cfg.Title || len(e.Warnings) > 0 {
		t.Errorf("read delay %v, name %q, title %q, warnings %q", e.Config.Store.Delay, e.Config.Name, e.Config.Title, e.Warnings)
	}
	_, a, err := Replay(t.Context(), &e.Config, e.Requests, model.Observer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Scored != int64(len(run.Attempts)) || a.RejectedInBoth == 0 || 100*a.SameOutcome < 99*a.Scored {
		t.Errorf("agreement: %+v", a)
	}
	if err := Write(dir+"/missing", &run); err == nil {
		t.Error("a folder that isn't there was written to")
	}
}
