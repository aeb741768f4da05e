package recording

import (
	"context"
	"os"
	"testing"

	"brokersim/model"
)

func base() model.Config {
	return model.Config{
		Seed:    1,
		Machine: model.Machine{Cores: 2, WallPhase: model.Absent, SweepPhase: model.Absent, Quantum: model.DefaultQuantum},
		Costs:   model.DefaultCosts(),
		Store:   model.Store{Append: model.DefaultAppend()},
	}
}

func replayDir(t *testing.T, dir string) *Agreement {
	t.Helper()
	e, err := Open(os.DirFS(dir), base())
	if err != nil {
		t.Fatal(err)
	}
	_, a, err := Replay(context.Background(), &e.Config, e.Requests, model.Observer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTraces holds the model against traces of a real 4.3.2 broker, request
// by request. The figures are those that the model must reach; what it
// reaches is logged.
func TestTraces(t *testing.T) {
	percent := func(k, n int64) float64 { return 100 * float64(k) / float64(max(n, 1)) }
	var pooled, swept Agreement
	for _, c := range Traces {
		if c.SameLeast == 0 {
			continue // TestOthersAreReported
		}
		t.Run(c.Name, func(t *testing.T) {
			a := replayDir(t, "testdata/"+c.Name)
			t.Logf("same outcome %.3f %% of %d; alike %d of %d rejected by either; period within 1 ms %d, size equal %d of %d swept in both",
				percent(a.SameOutcome, a.Scored), a.Scored, a.AlikeInBoth, a.RejectedInEither, a.PeriodWithin1ms, a.SizeEqual, a.RejectedInBoth)
			if got := percent(a.SameOutcome, a.Scored); got < c.SameLeast {
				t.Errorf("same outcome: got %.3f %%, want at least %v %%", got, c.SameLeast)
			}
			for _, d := range a.Shares() {
				if d.Points > c.ShareMost || d.Points < -c.ShareMost {
					t.Errorf("share of %s: simulated less recorded is %.2f points, want within %v", d.Outcome, d.Points, c.ShareMost)
				}
			}
			if c.Pooled {
				pooled.Add(a)
			}
			if c.Swept {
				swept.Add(a)
			}
		})
	}
	for _, f := range PooledFigures(&pooled, &swept) {
		got := percent(f.K, f.N)
		t.Logf("pooled: %s: %.3f %%", f.What, got)
		if got < f.Least {
			t.Errorf("pooled: %s: got %.3f %%, want at least %v %%", f.What, got, f.Least)
		}
	}
}

// TestStarvedSweeper: under 32 threads that spin on 2 cores a sweep is now and
// then held up by tens to hundreds of ms, as in E25; with a reentrant lock
// (E9) or one thread (E7) never.
func TestStarvedSweeper(t *testing.T) {
	longest := func(dir string) (ms float64) {
		e, err := Open(os.DirFS("testdata/"+dir), base())
		if err != nil {
			t.Fatal(err)
		}
		obs := model.Observer{AllSweeps: true, Sweep: func(s model.SweepRecord) {
			ms = max(ms, (s.End - s.Nominal).Milliseconds())
		}}
		if _, _, err := Replay(context.Background(), &e.Config, e.Requests, obs, nil); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	for dir, want := range map[string][2]float64{"E7": {0, 5}, "E9": {0, 5}, "E25": {40, 400}} {
		if got := longest(dir); got < want[0] || got > want[1] {
			t.Errorf("%s: longest delay of a sweep: got %.1f ms, want %v to %v", dir, got, want[0], want[1])
		}
	}
}

// TestOthersAreReported replays the traces whose mechanisms a later version
// adds: nothing is asked of their agreement, but they run and say what is
// missing.
func TestOthersAreReported(t *testing.T) {
	for dir, missing := range map[string]bool{"E11": false, "E17": false, "E15": true, "E19": true, "E21": true} {
		e, err := Open(os.DirFS("testdata/"+dir), base())
		if err != nil {
			t.Fatal(err)
		}
		if got := len(e.Warnings) > 0; got != missing {
			t.Errorf("%s: warnings %q, want some: %v", dir, e.Warnings, missing)
		}
		a := replayDir(t, "testdata/"+dir)
		t.Logf("%s: same outcome %.2f %% of %d, %d of %d alike", dir, 100*float64(a.SameOutcome)/float64(a.Scored), a.Scored, a.AlikeInBoth, a.RejectedInEither)
	}
}
