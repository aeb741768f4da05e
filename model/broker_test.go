package model

import (
	"context"
	"errors"
	"strings"
	"testing"

	"brokersim/sim"
)

// TestLedgerIsBounded: what a run keeps of its sends is what is in the
// system, however long it runs.
func TestLedgerIsBounded(t *testing.T) {
	size := func(duration sim.Time) (ring, queue int) {
		b := runBroker(benchConfig(duration))
		if b.attempts.from != b.attempts.next {
			t.Errorf("%d of %d sends left in the ledger", b.attempts.next-b.attempts.from, b.attempts.next)
		}
		return len(b.attempts.ring), len(b.brokers[0].queue.ring)
	}
	ring10, queue10 := size(25 * sim.Second)
	ring100, queue100 := size(205 * sim.Second)
	// A stall of 300 ms at 2,000 sends/s leaves 600 sends in the system.
	if ring10 != ring100 || ring100 > 2048 || queue10 != queue100 || queue100 > 2048 {
		t.Errorf("ledger and queue: %d and %d after 25 s, %d and %d after 205 s", ring10, queue10, ring100, queue100)
	}
}

// TestLedger hands out what is settled in order of Seq, whatever the order of
// settling.
func TestLedger(t *testing.T) {
	var l ledger
	var got []int64
	out := func(a *Attempt) { got = append(got, a.Seq) }
	stream := sim.Streams{Seed: 1}.Stream("order")
	var open []int64
	for range 5000 {
		if len(open) < 300 && stream.Uint64n(2) == 0 {
			open = append(open, l.open().Seq)
			continue
		}
		if len(open) > 0 {
			i := int(stream.Uint64n(uint64(len(open))))
			seq := open[i]
			open = append(open[:i], open[i+1:]...)
			if a := l.at(seq); a.Seq != seq || a.settled {
				t.Fatalf("at(%d): %+v", seq, a)
			}
			l.settle(l.at(seq), out)
		}
	}
	for _, seq := range open {
		l.settle(l.at(seq), out)
	}
	for i, seq := range got {
		if seq != int64(i) {
			t.Fatalf("handed out %d as number %d", seq, i)
		}
	}
	if int64(len(got)) != l.next || l.from != l.next {
		t.Errorf("handed out %d of %d", len(got), l.next)
	}
}

// TestRunaway: a run that is stopped by the limit of events says so, with the
// virtual time.
func TestRunaway(t *testing.T) {
	b, err := newCluster(benchConfig(sim.Hour), 0, Observer{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	err = b.Run(context.Background(), nil)
	if !errors.Is(err, sim.ErrRunaway) || !strings.HasPrefix(err.Error(), "at ") || !strings.Contains(err.Error(), "1000") {
		t.Errorf("got %v, want a runaway of 1000 events with its time", err)
	}
	if b.Now() == 0 || b.Events() != 1000 {
		t.Errorf("stopped at %v after %d events", b.Now(), b.Events())
	}
}

// TestOverflow: times beyond what can be simulated are an error.
func TestOverflow(t *testing.T) {
	cfg := benchConfig(sim.Second)
	cfg.Store.Append = must("1000000h")
	cfg.Stalls = nil
	b, err := New(cfg, 0, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(context.Background(), nil); !errors.Is(err, sim.ErrOverflow) {
		t.Errorf("got %v, want %v", err, sim.ErrOverflow)
	}
}

// TestBooksFail: books that don't add up fail the run.
func TestBooksFail(t *testing.T) {
	for name, spoil := range map[string]func(*Cluster){
		"arrival without outcome": func(b *Cluster) { b.books.arrived++ },
		"stored without answer":   func(b *Cluster) { b.books.stored++ },
		"something open":          func(b *Cluster) { b.books.open++ },
		"left in the queue":       func(b *Cluster) { b.brokers[0].queue.Offer(Waiting{}) },
		"times out of order":      func(b *Cluster) { b.books.err = ErrBooks },
		"counted twice":           func(b *Cluster) { b.books.counted.Attempts.Success++ },
		"fate unknown":            func(b *Cluster) { b.books.counted.Messages.Offered++ },
		"load":                    func(b *Cluster) { b.brokers[0].loads = []load{{count: LoadCounts{Arrived: 1}}} },
	} {
		b := runBroker(benchConfig(sim.Second))
		spoil(b)
		if err := b.checkBooks(); !errors.Is(err, ErrBooks) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestInOrder: each pair of times the other way round is noticed.
func TestInOrder(t *testing.T) {
	stored := blank.Attempt
	stored.Send, stored.Arrive, stored.Enq, stored.Deq, stored.LockReq, stored.Lock = 1, 2, 3, 4, 5, 6
	stored.App0, stored.App1, stored.Unlock, stored.Done, stored.Resp = 6, 7, 7, 8, 9
	swept := blank.Attempt
	swept.Send, swept.Arrive, swept.Enq, swept.Clean, swept.Resp = 1, 2, 3, 4, 5
	refused := blank.Attempt
	refused.Send, refused.Arrive, refused.Resp = 1, 2, 3
	for name, c := range map[string]struct {
		row  Attempt
		edit func(*Attempt)
		want bool
	}{
		"stored":                 {stored, func(*Attempt) {}, true},
		"swept":                  {swept, func(*Attempt) {}, true},
		"refused":                {refused, func(*Attempt) {}, true},
		"arrived before sent":    {refused, func(a *Attempt) { a.Send = 3 }, false},
		"answered before":        {refused, func(a *Attempt) { a.Resp = 1 }, false},
		"queued before arrived":  {stored, func(a *Attempt) { a.Enq = 1 }, false},
		"taken before queued":    {stored, func(a *Attempt) { a.Deq = 2 }, false},
		"asked before taken":     {stored, func(a *Attempt) { a.LockReq = 3 }, false},
		"got before asked":       {stored, func(a *Attempt) { a.Lock = 4 }, false},
		"released before got":    {stored, func(a *Attempt) { a.Unlock = 5 }, false},
		"done before released":   {stored, func(a *Attempt) { a.Done = 6 }, false},
		"answered before done":   {stored, func(a *Attempt) { a.Resp = 7 }, false},
		"taken and swept":        {stored, func(a *Attempt) { a.Clean = 4 }, false},
		"swept before queued":    {swept, func(a *Attempt) { a.Clean = 2 }, false},
		"answered before swept":  {swept, func(a *Attempt) { a.Resp = 3 }, false},
		"swept, queued too soon": {swept, func(a *Attempt) { a.Enq = 1 }, false},
	} {
		a := attempt{Attempt: c.row}
		c.edit(&a.Attempt)
		if got := inOrder(&a); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestLingers: a send that its application makes again long after the end of
// arrivals doesn't have the sweeper at work for ever.
func TestLingers(t *testing.T) {
	cfg := benchConfig(sim.Second)
	cfg.Broker.MaxMessageSize = 1
	cfg.Broker.BrokerFastFailureEnable = true
	p := &cfg.Producers[0]
	p.Handler, p.Resends, p.Backoff = HandlerResend, 1, must("5000h")
	cfg.Stalls = []Stall{{Where: StallSweep, At: 0, For: must("2000h"), Until: Absent}} // whose sweeps come all at once then
	c, err := New(cfg, 0, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(context.Background(), nil); !errors.Is(err, sim.ErrRunaway) || !strings.Contains(err.Error(), "after the last arrival") {
		t.Errorf("got %v, want a runaway", err)
	}
}

// TestStarved: where reads leave the disk no time to write, an append's thread
// gives up waiting, and the run says why.
func TestStarved(t *testing.T) {
	cfg := cacheConfig("poisson(rate=100/s)", 10*sim.Second)
	k := cfg.Store.PageCache
	k.Background, k.Limit, k.Disk, k.Latency = 16*pageSize, 32*pageSize, 1<<20, must("1ms")
	cfg.Neighbours = []Neighbour{{Name: "n", At: 0, For: must("1000h"), Reads: 1 << 30, ReadSize: 1 << 20, Tasks: 4}}
	c, err := New(cfg, 0, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(context.Background(), nil); !errors.Is(err, sim.ErrRunaway) || !strings.Contains(err.Error(), "to make one page dirty") {
		t.Errorf("got %v, want a runaway", err)
	}
}
