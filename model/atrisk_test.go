package model

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// TestAtRisk works out by hand what a crash would lose: four sends at 100 ms,
// one page, flushed after 10 s by the thorough look; with the pool committed
// at once.
func TestAtRisk(t *testing.T) {
	const ms = sim.Millisecond
	run := func(change func(*Config)) *AtRisk {
		cfg := poolConfig("4.9.4", append(times(4, 100*ms, 0), 19_999*ms)...)
		cfg.Duration = 20 * sim.Second
		cfg.Store.AtRisk = true
		change(cfg)
		b, err := New(cfg, 0, Observer{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		return b.AtRisk()
	}
	near := func(name string, got, want float64) {
		if got < want-0.06 || got > want+0.06 {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	plain := run(func(cfg *Config) { cfg.Broker.TransientStorePoolEnable = false })
	if diff := cmp.Diff(Gauge{}, plain.ProcessKill); diff != "" {
		t.Errorf("process killed without the pool (-want +got):\n%s", diff)
	}
	// Four from 0.1 s to the second look after 10 s: the thread decides before it
	// sleeps that it will flush whatever there is.
	if g := plain.PowerCut; g.Max != 4 || g.End != 1 || g.Mean < 4*10.4/20 || g.Mean > 4*10.9/20+0.001 {
		t.Errorf("power cut: got %+v, want 4 of 20 s at most, 1 at the end, a mean of 2.08 to 2.18", g)
	}
	timed := run(func(cfg *Config) {
		cfg.Broker.TransientStorePoolEnable = false
		cfg.Broker.FlushCommitLogLeastPages = 1
	})
	if g := timed.PowerCut; g.Max != 4 || g.Mean > 4*0.5/20 {
		t.Errorf("one page is enough: got %+v, want a mean of less than 0.1", g)
	}
	pool := run(func(*Config) {})
	// Committed when 200 ms have passed since the last commit or look that found
	// nothing, which is 200 ms after the puts.
	near("killed with the pool, mean", pool.ProcessKill.Mean, 4*0.2/20)
	if g := pool.ProcessKill; g.Max != 4 || g.End != 1 {
		t.Errorf("killed with the pool: got %+v, want 4 at most, 1 at the end", g)
	}
	if g := run(func(cfg *Config) { cfg.Broker.CommitCommitLogLeastPages = 1; cfg.Store.Commit = must("5ms") }).ProcessKill; g.Max != 4 {
		t.Errorf("killed during a commit: got %+v, want 4 at most", g)
	}
}

// TestRisk: the gauges count what is acknowledged and not safe, whatever the
// order of answers, commits and flushes.
func TestRisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type record struct {
			end     int64
			acked   bool
			ordinal int64
		}
		var (
			r                     risk
			all                   []record
			saved, flushed, wrote int64
			now                   sim.Time
		)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += sim.Time(rapid.IntRange(0, 5).Draw(t, "later"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				wrote += int64(rapid.IntRange(1, 5).Draw(t, "length"))
				all = append(all, record{end: wrote, ordinal: r.put(wrote)})
			case 1:
				if len(all) > 0 {
					if a := &all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]; !a.acked {
						a.acked = true
						r.acknowledged(now, a.ordinal)
					}
				}
			case 2:
				saved = rapid.Int64Range(saved, wrote).Draw(t, "saved")
				r.committedTo(now, saved)
			default:
				flushed = rapid.Int64Range(flushed, saved).Draw(t, "flushed")
				r.flushedTo(now, flushed)
			}
			var kill, cut int64
			for _, a := range all {
				kill += int64(b2i(a.acked && a.end > saved))
				cut += int64(b2i(a.acked && a.end > flushed))
			}
			if r.kill.n != kill || r.cut.n != cut {
				t.Fatalf("got %d and %d at risk, want %d and %d", r.kill.n, r.cut.n, kill, cut)
			}
		}
	})
}

// TestAtRiskMovesNothing: to ask costs no trajectory.
func TestAtRiskMovesNothing(t *testing.T) {
	cfg := storeConfig(nil, "poisson(rate=3000/s)", 3*sim.Second)
	cfg.Costs = DefaultCosts()
	cfg.Producers[0].Body = variate.Must(variate.ParseDist("1KiB", variate.Bytes))
	without := runBroker(cfg).Fingerprint()
	cfg.Store.AtRisk = true
	if with := runBroker(cfg).Fingerprint(); with != without {
		t.Errorf("fingerprint %v, and %v without", with, without)
	}
}
