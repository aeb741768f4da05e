package model

import (
	"context"
	"slices"
	"testing"

	"brokersim/sim"
)

// diskCache is a page cache on a disk that takes 1 ms for each page and 2 ms
// for each read beside.
func diskCache(t *testing.T, change func(*Config)) (*testStore, *pageCache) {
	return idleCache(t, func(cfg *Config) {
		cfg.Store.PageCache.Disk = 1000 * pageSize
		cfg.Store.PageCache.Latency = must("2ms")
		if change != nil {
			change(cfg)
		}
	})
}

// TestReadsQueueUp: a read takes its latency and its pages, behind those before
// it.
func TestReadsQueueUp(t *testing.T) {
	const ms = sim.Millisecond
	_, c := diskCache(t, nil)
	for _, r := range []struct {
		at    sim.Time
		bytes int64
		end   sim.Time
	}{{10 * ms, 1, 13 * ms}, {11 * ms, 2 * pageSize, 17 * ms}, {30 * ms, 0, 32 * ms}} {
		if got := c.read(r.at, r.bytes); got != r.end {
			t.Errorf("%d bytes at %v: got %v, want %v", r.bytes, r.at, got, r.end)
		}
	}
}

// TestReadsGoFirst: a read that comes during a flush has it take longer, and so
// does one that comes before; the flusher writes nothing meanwhile.
func TestReadsGoFirst(t *testing.T) {
	const ms = sim.Millisecond
	s, c := diskCache(t, nil)
	c.brokerDirty, c.stock, s.flush.wrote = 10, 10, 10*pageSize
	c.read(98*ms, 2*pageSize) // until 102 ms
	s.flush.begin(100*ms, 10*pageSize)
	if s.flush.until != 112*ms {
		t.Fatalf("flush: until %v, want 112ms", s.flush.until)
	}
	c.read(105*ms, pageSize)
	s.flush.advance(114 * ms)
	if !s.flush.flushing {
		t.Error("the flush is over before the read's 3 ms were made up for")
	}
	s.flush.advance(115 * ms)
	if s.flush.flushing || c.stock != 0 {
		t.Errorf("at 115 ms: flushing %v, %d pages left", s.flush.flushing, c.stock)
	}
	// 100 pages above the background limit; 8 ms of 50 are taken away, and the
	// last read has just come.
	c.stock = c.background + 100
	c.startWriting(200 * ms)
	for at := sim.Time(210); at < 260; at += 10 {
		c.read(at*ms, 0)
	}
	c.settle(250 * ms)
	if left := c.stock - c.background; left != 58 {
		t.Errorf("the flusher left %d pages, want 58", left)
	}
}

// TestDeletes: ten files at a time, 100 ms apart, the next ten 10 s after these
// began.
func TestDeletes(t *testing.T) {
	const ms = sim.Millisecond
	_, c := diskCache(t, func(cfg *Config) {
		cfg.Deletes = []Delete{{At: 50 * ms, Files: 12, Unlink: must("30ms"), Journal: true}}
	})
	var at []sim.Time
	for c.next < sim.Never {
		at = append(at, c.next)
		c.advance(c.next)
		if want := at[len(at)-1] + 30*ms; c.disk.until != want || c.journal != want {
			t.Fatalf("unlink at %v: disk until %v, journal until %v, want %v", at[len(at)-1], c.disk.until, c.journal, want)
		}
	}
	var want []sim.Time
	for i := range sim.Time(10) {
		want = append(want, 50*ms+i*130*ms)
	}
	want = append(want, 10_050*ms, 10_180*ms)
	if !slices.Equal(at, want) {
		t.Errorf("got %v, want %v", at, want)
	}
}

// TestJournal: an append that makes a page dirty waits for the unlink, one on a
// page that is dirty already doesn't.
func TestJournal(t *testing.T) {
	const ms = sim.Millisecond
	for _, journal := range []bool{false, true} {
		s, _ := diskCache(t, func(cfg *Config) {
			cfg.Deletes = []Delete{{At: 50 * ms, Files: 1, Unlink: must("30ms"), Journal: journal}}
		})
		var ends []sim.Time
		for i, at := range []sim.Time{10 * ms, 60 * ms, 61 * ms, 62 * ms, 63 * ms} {
			end := s.begin(at, 0, 862, int64(i))
			s.end(end)
			ends = append(ends, end-at)
		}
		fifth := us
		if journal {
			fifth = 17 * ms // the first four fill the page
		}
		if want := []sim.Time{us, us, us, us, fifth}; !slices.Equal(ends, want) {
			t.Errorf("journal %v: got %v, want %v", journal, ends, want)
		}
	}
}

// TestNeighbourReads: so many bytes a second as it says, if the disk keeps up,
// and no more than the disk can else.
func TestNeighbourReads(t *testing.T) {
	for _, c := range []struct {
		rate        int64
		least, most sim.Time // of a second of the disk
	}{
		{64 * pageSize, 160 * sim.Millisecond, 200 * sim.Millisecond}, // 64 reads of 3 ms
		{10_000 * pageSize, 970 * sim.Millisecond, 1100 * sim.Millisecond},
	} {
		_, cache := diskCache(t, func(cfg *Config) {
			cfg.Neighbours = []Neighbour{{Name: "n", At: 0, For: must("1s"), Reads: c.rate, ReadSize: pageSize, Tasks: 2}}
		})
		var taken sim.Time
		for cache.next <= sim.Second {
			before := max(cache.disk.until, cache.next)
			cache.advance(cache.next)
			taken += max(0, cache.disk.until-before)
		}
		if taken < c.least || taken > c.most {
			t.Errorf("%d bytes/s: the disk was busy for %v of a second, want %v to %v", c.rate, taken, c.least, c.most)
		}
	}
}

// TestNeighbourComputes: during a burst cores are busy and appends slower.
func TestNeighbourComputes(t *testing.T) {
	const ms = sim.Millisecond
	cfg := storeConfig(nil, "deterministic(rate=100/s)", sim.Second)
	cfg.Store.Append = must("100us")
	cfg.Neighbours = []Neighbour{{Name: "n", At: 200 * ms, Every: must("400ms"), For: must("200ms"), Slows: 50, Cores: 1}}
	b, err := New(cfg, 0, Observer{Attempt: func(a *Attempt) {
		want := 100 * us
		if at := a.Lock % (400 * ms); at >= 200*ms {
			want = 150 * us
		}
		if got := a.Unlock - a.Lock; got != want {
			t.Errorf("append at %v: took %v, want %v", a.Lock, got, want)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if cores := b.brokers[0].cpu.long; cores != 0 { // the burst from 600 to 800 ms is over
		t.Errorf("%d cores are busy at %v", cores, b.Now())
	}
}

// TestWarmUpIsThrottled: the allocator that writes into a new file's pages is a
// task like others to the page cache: beyond the limit it gets as far as the
// disk writes.
func TestWarmUpIsThrottled(t *testing.T) {
	took := func(limit int64) sim.Time {
		cfg := cacheConfig("deterministic(rate=100/s)", 10*sim.Second)
		cfg.Neighbours = nil
		cfg.Store.PageCache.Limit = limit * pageSize
		cfg.Store.Start, cfg.Store.WarmPage = LogEmpty, must("5us")
		cfg.Broker.WarmMapedFileEnable, cfg.Broker.MappedFileSizeCommitLog = true, 32768*pageSize
		var first Attempt
		b, err := New(cfg, 0, Observer{Attempt: func(a *Attempt) {
			if a.Seq == 0 {
				first = *a
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		return first.Unlock - first.Lock
	}
	// 32,768 pages of 5 us; the disk writes 24,414 a second.
	if got := took(1 << 20); got < 163*sim.Millisecond || got > 165*sim.Millisecond {
		t.Errorf("with room for all: waited %v, want 164 ms", got)
	}
	if got := took(16384); got < 500*sim.Millisecond || got > 1300*sim.Millisecond {
		t.Errorf("beyond the limit: waited %v, want 0.5 to 1.3 s", got)
	}
}

// TestSyncFlushWaitsForTheDisk: a SYNC_FLUSH send is answered when the disk,
// which had a file to unlink first, has written its page.
func TestSyncFlushWaitsForTheDisk(t *testing.T) {
	const ms = sim.Millisecond
	answered := func(unlink sim.Time) sim.Time {
		cfg := cacheConfig("trace(10ms, 500ms)", sim.Second)
		cfg.Neighbours = nil
		cfg.Broker.FlushDiskType = SyncFlush
		cfg.Store.Flush = must("4ms") // from 10 ms on
		cfg.Deletes = []Delete{{At: unlink, Files: 1, Unlink: must("30ms")}}
		var done sim.Time
		b, err := New(cfg, 0, Observer{Attempt: func(a *Attempt) {
			if a.Seq == 0 {
				done = a.Done
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		return done
	}
	alone := answered(600 * ms)
	if alone < 14*ms || alone > 15*ms {
		t.Fatalf("alone: answered at %v, want 14 to 15 ms", alone)
	}
	for _, at := range []sim.Time{9 * ms, 12 * ms} {
		want := alone + 30*ms
		if at < 10*ms {
			want -= 1 * ms // it is under way when the flush begins
		}
		if got := answered(at); got < want-20*us || got > want+20*us {
			t.Errorf("a file unlinked at %v: answered at %v, want %v", at, got, want)
		}
	}
}
