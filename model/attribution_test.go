package model_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brokersim/model"
	"brokersim/sim"
)

// TestWaitsAddUp: whatever is simulated, what each send waited for adds up to
// its time in the queue, to the ns; the result has the sum of it; and that
// somebody looks on changes nothing.
func TestWaitsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyConfig(t)
		c := follow(t, cfg)
		waits := map[int64]model.Wait{}
		for _, w := range c.waits {
			if _, twice := waits[w.Seq]; twice {
				t.Fatalf("attempt %d left the queue twice", w.Seq)
			}
			waits[w.Seq] = w
		}
		var swept model.Waits
		count := int64(0)
		for i := range c.rows {
			a := &c.rows[i]
			w, left := waits[a.Seq]
			if to := max(a.Deq, a.Clean); left != (to != model.Absent) || left && (w.From != a.Enq || w.To != to || w.Swept != (a.Clean != model.Absent)) {
				t.Fatalf("attempt %+v, wait %+v", *a, w)
			}
			if !left {
				continue
			}
			if w.By.Total() != w.To-w.From {
				t.Fatalf("attempt %d waited %v, by cause %v", a.Seq, w.To-w.From, w.By.Total())
			}
			for c, d := range w.By {
				if d < 0 || d > 0 && !slices.Contains(model.CauseList(), model.Cause(c)) {
					t.Fatalf("attempt %d waited %v for %v", a.Seq, d, model.Cause(c))
				}
			}
			if !w.Swept && w.By[model.CauseSweep] > 0 {
				t.Fatalf("attempt %d was taken, and waited for a sweep: %v", a.Seq, w.By)
			}
			if w.Swept && a.Send >= cfg.Warmup {
				count++
				for c, d := range w.By {
					swept[c] += d
				}
			}
		}
		r := c.result.Attribution.Rejected
		if r.Count != count || !cmp.Equal(r.WaitingMs, inMs(swept)) {
			t.Fatalf("result %+v, want %d: %v", r, count, inMs(swept))
		}
		alone, err := model.Replicate(context.Background(), &cfg, 1, 1, model.Observer{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.result, alone.Result()); diff != "" {
			t.Fatalf("a run that nobody watches differs:\n%s", diff)
		}
	})
}

func inMs(w model.Waits) map[string]float64 {
	by := map[string]float64{}
	for c, d := range w {
		if d > 0 {
			by[model.Cause(c).String()] = d.Milliseconds()
		}
	}
	return by
}

// TestWaitsByHand: what sends waited for where it can be worked out. Appends
// take 1 us, or as the case says; sweeps are at 3, 13, 23, ... ms.
func TestWaitsByHand(t *testing.T) {
	type by map[string]float64
	slow := func(cfg *model.Config) { cfg.Store.Append = dist("5ms") }
	stall := func(stalls ...model.Stall) func(*model.Config) {
		return func(cfg *model.Config) { cfg.Stalls = stalls }
	}
	for _, c := range []struct {
		name   string
		at     []sim.Time
		change []func(*model.Config)
		want   []by // of each send, in order
	}{
		{"alone", []sim.Time{0}, nil, []by{{}}},
		{"load", []sim.Time{0, 0, 0}, []func(*model.Config){slow}, []by{{}, {"backlog": 5}, {"backlog": 10}}},
		{"stall", []sim.Time{100 * ms, 120 * ms}, []func(*model.Config){stall(once(model.StallAppend, 100*ms, 150*ms))},
			[]by{{}, {"append_stall": 130.001}}},
		// The stall takes 105 ms, 95 of them of the second send; what stands
		// before the third is the load's but for those 95.
		{"behind a stall", []sim.Time{100 * ms, 110 * ms, 205 * ms, 209 * ms},
			[]func(*model.Config){slow, stall(once(model.StallAppend, 100*ms, 100*ms))},
			[]by{{}, {"append_stall": 95}, {"after_append_stall": 5}, {"after_append_stall": 6}}},
		// 1 ms of the stall is after the second came.
		{"a stall explains no more than its length", []sim.Time{100 * ms, 105 * ms, 105 * ms, 107 * ms},
			[]func(*model.Config){slow, stall(once(model.StallAppend, 100*ms, 1*ms))},
			[]by{{}, {"append_stall": 1}, {"append_stall": 1, "backlog": 5}, {"after_append_stall": 1, "backlog": 8}}},
		{"swept", []sim.Time{100 * ms, 101 * ms}, []func(*model.Config){stall(once(model.StallAppend, 100*ms, 400*ms))},
			[]by{{}, {"append_stall": 200, "sweep": 2}}},
		{"the sweeper is late", []sim.Time{100 * ms, 101 * ms}, []func(*model.Config){stall(once(model.StallAppend, 100*ms, 400*ms), once(model.StallSweep, 300*ms, 60*ms))},
			[]by{{}, {"append_stall": 200, "sweep": 62}}},
		{"frozen in the queue", []sim.Time{100 * ms, 101 * ms}, []func(*model.Config){stall(once(model.StallAppend, 100*ms, 400*ms), once(model.StallProcess, 151*ms, 250*ms))},
			[]by{{}, {"append_stall": 50, "freeze": 250}}},
		{"frozen when it is due", []sim.Time{100 * ms, 101 * ms}, []func(*model.Config){stall(once(model.StallAppend, 100*ms, 400*ms), once(model.StallProcess, 302*ms, 98*ms))},
			[]by{{}, {"append_stall": 200, "sweep": 1, "freeze": 98}}},
		{"held up outside by a freeze", []sim.Time{110 * ms, 120 * ms, 130 * ms, 230 * ms, 230 * ms}, []func(*model.Config){slow, stall(once(model.StallProcess, 100*ms, 100*ms))},
			[]by{{}, {"after_freeze": 5}, {"after_freeze": 10}, {}, {"backlog": 5}}},
		{"the page cache is busy", []sim.Time{100 * ms, 1000 * ms}, []func(*model.Config){stall(once(model.StallAppend, 100*ms, 1200*ms))},
			[]by{{}, {"append_stall": 101, "sweep": 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := bare("4.3.2", 2*sim.Second, at(c.at...))
			for _, change := range c.change {
				change(&cfg)
			}
			got := make([]by, len(c.at))
			for _, w := range follow(t, cfg).waits {
				got[w.Seq] = inMs(w.By)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("waits in ms (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecovery: how long stalls are felt. A send takes 10 ms.
func TestRecovery(t *testing.T) {
	every := func(n int, from, apart sim.Time) (times []sim.Time) {
		for i := range n {
			times = append(times, from+sim.Time(i)*apart)
		}
		return times
	}
	for _, c := range []struct {
		name   string
		at     []sim.Time
		stalls []model.Stall
		want   []float64 // ms
		never  int64
	}{
		{"nobody came", []sim.Time{100 * ms, 900 * ms}, []model.Stall{once(model.StallAppend, 100*ms, 50*ms)}, []float64{0}, 0},
		{"too short", []sim.Time{100 * ms, 101 * ms}, []model.Stall{once(model.StallAppend, 100*ms, 9*ms)}, nil, 0},
		// The append ends at 210, when that of 120 is taken; that of 260 is taken at
		// 280, just before the next one comes.
		{"a queue", every(20, 100*ms, 20*ms), []model.Stall{window(model.StallAppend, 100*ms, 210*ms)}, []float64{70}, 0},
		{"another before it is over", every(40, 100*ms, 20*ms), []model.Stall{window(model.StallAppend, 100*ms, 210*ms), window(model.StallAppend, 220*ms, 300*ms)},
			[]float64{120}, 0},
		{"two", every(40, 100*ms, 20*ms), []model.Stall{window(model.StallAppend, 100*ms, 210*ms), window(model.StallAppend, 500*ms, 610*ms)},
			[]float64{70, 70}, 0},
		{"a freeze", every(20, 100*ms, 20*ms), []model.Stall{once(model.StallProcess, 115*ms, 90*ms)}, []float64{70}, 0},
		// As many come as it can take: it goes on until they end.
		{"never", every(90, 100*ms, 10*ms), []model.Stall{window(model.StallAppend, 100*ms, 160*ms)}, nil, 1},
		// Two wait at 20, when the stall begins; at 60 there are five, as one more
		// comes, at 80 two.
		{"back to where it was", append(make([]sim.Time, 5), 30*ms, 40*ms, 50*ms), []model.Stall{window(model.StallAppend, 20*ms, 60*ms)}, []float64{20}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := bare("4.3.2", sim.Second, at(c.at...))
			cfg.Store.Append = dist("10ms")
			cfg.Broker.WaitTimeMillsInSendQueue = 10_000
			cfg.Stalls = c.stalls
			b, err := model.New(&cfg, 0, model.Observer{})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			stats := b.Stats()
			var got []float64
			for _, d := range stats.Recovery {
				got = append(got, d.Milliseconds())
			}
			if diff := cmp.Diff(c.want, got); diff != "" || stats.Unrecovered != c.never {
				t.Errorf("recovered after ms (-want +got), %d never, want %d:\n%s", stats.Unrecovered, c.never, diff)
			}
		})
	}
}

// TestRecordedFlush: what a recording says of the flush is a wait for the flush,
// not load.
func TestRecordedFlush(t *testing.T) {
	cfg := bare("4.3.2", 5*sim.Second, at(sim.Second, 1001*ms))
	cfg.Broker.SendMessageThreadPoolNums, cfg.Broker.FlushDiskType = 1, model.SyncFlush
	cfg.Store.Flush = dist("1ms")
	cfg.Recorded = true
	cfg.Measured = &model.Measured{Append: []sim.Time{1000, 1000}, Flush: []sim.Time{300 * ms, ms}}
	c := follow(t, cfg)
	if o := c.rows[1].Outcome; o != model.TimeoutCleanQueue {
		t.Fatalf("the second: got %v, want it swept", o)
	}
	if got := c.result.Attribution.Rejected.Share; got["flush"] < 0.9 || got["backlog"] > 0.01 {
		t.Errorf("it waited for %v, want the flush", got)
	}
}
