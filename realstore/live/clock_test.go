package live

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokersim/model"
	"brokersim/sim"
)

// TestClockAgreesWithTheStores: what the rules take for the wall clock's ms is
// what the store writes, at every instant, and time 0 has the phase asked for.
func TestClockAgreesWithTheStores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock{origin: time.Now()}
		phase := sim.Time(rapid.Int64Range(0, int64(sim.Millisecond)-1).Draw(t, "phase"))
		ahead := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "ahead"))
		before := time.Since(c.origin)
		c.begin(ahead, model.WallClock{Phase: phase})
		if d := c.t0 - ahead; d < before || d > time.Since(c.origin)+time.Millisecond {
			t.Fatalf("time 0 is at %v, want %v from %v on, within a ms", c.t0, ahead, before)
		}
		if at := c.origin.UnixNano() + int64(c.t0); at%1e6 != int64(phase) || at/1e6 != c.wallMs {
			t.Fatalf("time 0 is at %d ns, want %v after ms %d", at, phase, c.wallMs)
		}
		at := rapid.Int64Range(0, 1e12).Draw(t, "at") // since the origin
		if got, want := c.wallMs+c.wall.Ms(c.at(at)), (c.origin.UnixNano()+at)/1e6; got != want {
			t.Fatalf("at %d: %d ms, the store's %d", at, got, want)
		}
	})
}

func TestSleepUntil(t *testing.T) {
	c := newClock()
	c.begin(0, model.WallClock{})
	var stop atomic.Bool
	for _, d := range []sim.Time{-sim.Second, 50 * sim.Microsecond, 2 * sim.Millisecond, 30 * sim.Millisecond} {
		if until := c.now() + d; !c.sleepUntil(until, &stop) || c.now() < until {
			t.Errorf("back at %v, want %v", c.now(), until)
		}
	}
	time.AfterFunc(5*time.Millisecond, func() { stop.Store(true) })
	if c.sleepUntil(c.now()+sim.Hour, &stop) {
		t.Error("it was not stopped")
	}
}

// TestSendQueueLosesNothing: whatever the takers' races, each send is taken
// once, in order of the offers, and none waits while a taker sleeps.
func TestSendQueueLosesNothing(t *testing.T) {
	const sends, takers = 20_000, 4
	var now atomic.Int64
	q := newSendQueue(100, func() sim.Time { return sim.Time(now.Add(1)) })
	rows := make([]Row, sends)
	var left atomic.Int64
	var threads sync.WaitGroup
	for range takers {
		threads.Go(func() {
			for {
				w, at, ok := q.take()
				if !ok {
					return
				}
				if rows[w.ID].Deq != 0 {
					t.Errorf("send %d was taken twice", w.ID)
				}
				rows[w.ID].Deq = at
				left.Add(-1)
			}
		})
	}
	for i := range rows {
		rows[i].Seq = int64(i)
		left.Add(1)
		for !q.offer(&rows[i]) {
			time.Sleep(10 * time.Microsecond)
		}
	}
	for left.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	q.close()
	threads.Wait()
	for i := 1; i < sends; i++ {
		if rows[i].Deq <= rows[i-1].Deq || rows[i].Deq <= rows[i].Enq {
			t.Fatalf("send %d: queued at %d, taken at %d, the one before at %d", i, rows[i].Enq, rows[i].Deq, rows[i-1].Deq)
		}
	}
}

func TestWarnings(t *testing.T) {
	of := func(release string) *model.Config {
		return config("duration = \"1s\"\n[broker]\nrelease = \"" + release + "\"\n[[producer]]\narrivals = \"deterministic(rate=1/s)\"\n")
	}
	if got := Warnings(of("4.6.1")); len(got) > 0 {
		t.Errorf("nothing is amiss: %q", got)
	}
	for _, release := range []string{"4.8.0", "4.9.4", "5.3.3"} {
		if got := Warnings(of(release)); len(got) != 1 || !strings.Contains(got[0], "release "+release+" answers") {
			t.Errorf("%s answers by callbacks: %q", release, got)
		}
	}
	cfg := of("4.9.4")
	cfg.Neighbours = make([]model.Neighbour, 1)
	cfg.Store.PageCache = new(model.PageCache)
	cfg.Broker.FlushDiskType = model.SyncFlush
	cfg.Store.Start, cfg.Store.AtRisk, cfg.Producers[0].NoWait = model.LogEmpty, true, true
	got := strings.Join(Warnings(cfg), "\n")
	for _, key := range []string{"[[neighbour]]", "[store]", "release 4.9.4", "store.start", "store.at_risk", "producer.0.wait"} {
		if !strings.Contains(got, key) {
			t.Errorf("%s is not warned of in\n%s", key, got)
		}
	}
}
