package model_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// TestMain fixes the seed of the property tests, unless -rapid.seed says
// otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("208"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

const ms = sim.Millisecond

// dist and size read a distribution of times and of bytes.
func dist(text string) variate.Dist { return variate.Must(variate.ParseDist(text, variate.Duration)) }
func size(text string) variate.Dist { return variate.Must(variate.ParseDist(text, variate.Bytes)) }

func arrivals(text string) variate.Arrivals { return variate.Must(variate.ParseArrivals(text)) }

// at is a trace of arrivals.
func at(times ...sim.Time) variate.Arrivals { return variate.Must(variate.NewTrace(times)) }

// bare is a broker of a release on two cores that has no costs but an append
// of 1 us, with the wall clock in step and the sweeps at 3, 13, 23, ... ms:
// what happens in it can be worked out by hand.
func bare(release string, duration sim.Time, a variate.Arrivals) model.Config {
	return model.Config{
		Seed: 1, Duration: duration,
		Broker:    variate.Must(model.Defaults(release, 2)),
		Machine:   model.Machine{Cores: 2, WallPhase: 0, SweepPhase: 3 * ms, Quantum: model.DefaultQuantum},
		Store:     model.Store{Append: dist("1us")},
		Producers: []model.Producer{{Arrivals: a, Body: size("1KiB"), Timeout: 3 * sim.Second}},
	}
}

// once is a stall of a length, window one with an end.
func once(where model.StallWhere, at, length sim.Time) model.Stall {
	return model.Stall{Where: where, At: at, For: dist(length.String()), Until: model.Absent}
}

func window(where model.StallWhere, at, until sim.Time) model.Stall {
	return model.Stall{Where: where, At: at, Until: until}
}

// course is all that a run showed.
type course struct {
	waits       []model.Wait
	rows        []model.Attempt
	sweeps      []model.SweepRecord // every one
	stalls      []model.StallRecord
	fingerprint sim.Fingerprint
	result      *model.Result
}

func (c *course) count(o model.Outcome) (n int) {
	for _, a := range c.rows {
		if a.Outcome == o {
			n++
		}
	}
	return n
}

// first returns the first row, in order of sending, with that outcome.
func (c *course) first(t *testing.T, o model.Outcome) model.Attempt {
	t.Helper()
	for _, a := range c.rows {
		if a.Outcome == o {
			return a
		}
	}
	t.Fatalf("no %v", o)
	return model.Attempt{}
}

func (c *course) observer() model.Observer {
	return model.Observer{
		AllSweeps: true,
		Attempt:   func(a *model.Attempt) { c.rows = append(c.rows, *a) },
		Waited:    func(w *model.Wait) { c.waits = append(c.waits, *w) },
		Sweep:     func(s model.SweepRecord) { c.sweeps = append(c.sweeps, s) },
		Stall:     func(s model.StallRecord) { c.stalls = append(c.stalls, s) },
	}
}

// follow runs a configuration and keeps its course.
func follow(t interface {
	Helper()
	Fatal(...any)
}, cfg model.Config) *course {
	t.Helper()
	c := new(course)
	b, err := model.New(&cfg, 0, c.observer())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	c.fingerprint = b.Fingerprint()
	study := new(model.Study)
	study.Add(b)
	c.result = study.Result()
	return c
}
