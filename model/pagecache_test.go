package model

import (
	"context"
	"testing"

	"brokersim/sim"
)

// cacheConfig is a broker of 4.3.2 on a disk of 100 MB/s (24,414 pages/s) with
// limits of 4,096 and 16,384 pages and a neighbour that writes more than the
// disk can.
func cacheConfig(arrivals string, duration sim.Time) *Config {
	cfg := storeConfig(nil, arrivals, duration)
	release := "4.3.2"
	cfg.Broker, _ = Defaults(release, 2)
	cfg.Store.PageCache = &PageCache{Memory: 1 << 30, Background: 4096 * pageSize, Limit: 16384 * pageSize, Disk: 100_000_000, Tick: 4 * sim.Millisecond}
	cfg.Neighbours = []Neighbour{{Name: "n", At: 100 * sim.Millisecond, Every: must("1s"), For: must("700ms"), Rate: 400_000_000, Tasks: 8}}
	return cfg
}

// idleCache is one without neighbours, its ticks in step with the clock.
func idleCache(t *testing.T, change func(*Config)) (*testStore, *pageCache) {
	t.Helper()
	cfg := cacheConfig("deterministic(rate=1/s)", sim.Second)
	cfg.Neighbours = nil
	if change != nil {
		change(cfg)
	}
	s := newTestStore(t, cfg)
	s.cache.phase = 0
	s.flush.next = sim.Never
	return s, s.cache
}

// TestPauseTicks: a sleep of n ticks lasts more than n and at most n + 1 of
// them: 200 to 204 ms for MAX_PAUSE.
func TestPauseTicks(t *testing.T) {
	_, c := idleCache(t, nil)
	const ms = sim.Millisecond
	for now, want := range map[sim.Time]sim.Time{0: 204 * ms, 1: 204 * ms, 4*ms - 1: 204 * ms, 4 * ms: 208 * ms, 1001 * ms: 1204 * ms} {
		if got := c.wake(now, 50); got != want {
			t.Errorf("50 ticks from %v: until %v, want %v", now, got, want)
		}
	}
}

// TestPositionRatio, with limits of 4,096 and 16,384 pages: nobody is held
// below 10,240 (freerun), 1 at the setpoint of 13,312, 0 from the limit on.
func TestPositionRatio(t *testing.T) {
	_, c := idleCache(t, nil)
	if c.freerun != 10240 {
		t.Fatalf("freerun: got %d, want 10240", c.freerun)
	}
	for _, p := range []struct{ stock, want int64 }{
		// (1 + x^3) * (1 - (stock - setpoint)/span) * 1024 with x = (setpoint -
		// stock)/3072 and span = 8 * 24414 = 195312, each step rounded down.
		{10240, 2079},            // x = 1: 2 * 1.0157; the divisions | 1 take a little
		{13312, 1023},            // x = 0
		{14848, 888},             // x = -0.5: 0.875 * 0.992
		{16000, 335},             // x = -0.875: 0.33 * 0.986
		{16383, 2}, {16384, 0}, { // as good as 0
			20000, 0},
	} {
		c.stock = p.stock
		if got := c.positionRatio(); got < p.want-2 || got > p.want+2 {
			t.Errorf("%d pages: got %d, want %d", p.stock, got, p.want)
		}
	}
}

// TestBalance follows single rounds of balance_dirty_pages.
func TestBalance(t *testing.T) {
	const ms = sim.Millisecond
	for _, p := range []struct {
		name                string
		stock, rate, owed   int64
		pausedTick          int64
		ticks, quota, pages int64
		retry               bool
	}{
		// 16,384 - 8,192 left: 2^(13/2).
		{"free", 8192, 25600, 100, 0, 0, 64, 0, false},
		// 250 * 40 / (1000 * 888/1024 = 867) = 11 ticks. The next quota is what it may
		// write in 11 ticks: 2 are aimed at, 12 more for a rate 2^5 times below the
		// disk's, but 1 + half of wb_max_pause = 14848/763 + 1 = 20 at most.
		{"a task of many pages", 14848, 1000, 40, 0, 11, 42, 0, false},
		// The same that paused 6 ticks ago: 5 are left, less than 1 + half of 11.
		{"one that paused lately", 14848, 1000, 40, 244, 0, 1, 0, false},
		// The longest is the smaller of 50 ticks and what the disk writes in an eighth of the stock.
		{"very slow", 14848, 10, 40, 0, 20, 0, 0, false},
		{"over the limit", 16384, 25600, 1, 0, 22, 0, 0, true},
	} {
		t.Run(p.name, func(t *testing.T) {
			_, c := idleCache(t, nil)
			c.stock, c.rate, c.balancedRate = p.stock, p.rate, p.rate
			c.stampTick = 250
			d := &dirtier{quota: 1, pages: p.owed, owed: p.owed, pausedTick: p.pausedTick}
			if got := c.balance(d, 1000*ms); got != p.ticks || d.retry != p.retry || d.quota != p.quota || d.pages != p.pages {
				t.Errorf("sleeps %d ticks, retry %v, quota %d, pages %d; want %d, %v, %d, %d",
					got, d.retry, d.quota, d.pages, p.ticks, p.retry, p.quota, p.pages)
			}
			if exceeded := p.stock > 16384; c.exceeded != exceeded {
				t.Errorf("exceeded: got %v", c.exceeded)
			}
		})
	}
}

// TestRate follows wb_update_dirty_ratelimit: what a task may write a second
// goes towards what the disk writes over what was made dirty, in small steps,
// each 200 ms at most, and not after a quiet second.
func TestRate(t *testing.T) {
	_, c := idleCache(t, nil)
	c.rate, c.balancedRate, c.stock = 25600, 25600, 14848 // above the setpoint
	for _, p := range []struct{ tick, dirtied, ratio, rate, balanced int64 }{
		{50, 10000, 888, 25600, 25600}, // not yet
		// 30,000 more by tick 100: 100,000/s. The task's rate is 25600 * 888/1024 +
		// 1 = 22201; balanced 22201 * 24414 / 100001 = 5420. The old balanced
		// rate is no lower than the rate: no step.
		{100, 30000, 888, 25600, 5420},
		// 50,000/s: balanced 10840. Down to 22201 are 3399; 25600/6799 = 3, so an
		// eighth of an eighth of them, rounded up: 53.
		{200, 20000, 888, 25547, 10840},
		{500, 0, 888, 25547, 10840}, // quiet for more than 1 s
	} {
		c.total += p.dirtied
		c.updateRate(p.tick, p.ratio)
		if c.rate != p.rate || c.balancedRate != p.balanced {
			t.Errorf("at tick %d: rate %d, balanced %d; want %d, %d", p.tick, c.rate, c.balancedRate, p.rate, p.balanced)
		}
	}
	// Below the setpoint, up: the least of the three is 11,000 above.
	c.rate, c.balancedRate, c.stock = 1000, 12000, 12000
	c.total += 1000
	c.updateRate(600, 2048)
	// 1000 pages in 100 ticks: 2500/s; the task's 2001; balanced 2001 * 24414 / 2501 = 19533.
	// min(12000, 19533, 2001) - 1000 = 1001; 1000/2003 = 0: an eighth of it, 126.
	if c.rate != 1126 {
		t.Errorf("below the setpoint: rate %d, want 1126", c.rate)
	}
}

// TestQuota: a task is looked at after its quota, after 8 pages while the limit
// is exceeded, and when its processor has made many pages dirty.
func TestQuota(t *testing.T) {
	for _, p := range []struct {
		name     string
		exceeded bool
		perCPU   int64
		want     int // pages
	}{
		{"its quota", false, 0, 32},
		{"limit exceeded", true, 0, 8},
		{"processor", false, 250, 6}, // 16,384 / (2 * 32) = 256
	} {
		_, c := idleCache(t, nil)
		c.exceeded, c.perCPU[0] = p.exceeded, p.perCPU
		d := c.writer(0)
		for n := 1; ; n++ {
			if c.dirtied(d, 1); c.quotaReached(d) {
				if n != p.want {
					t.Errorf("%s: after %d pages, want %d", p.name, n, p.want)
				}
				break
			}
		}
	}
}

// TestThrottledInARow: an append that finds the limit exceeded sleeps again
// and again until it no longer is.
func TestThrottledInARow(t *testing.T) {
	const ms = sim.Millisecond
	s, c := idleCache(t, func(cfg *Config) {
		cfg.Store.PageCache.Background, cfg.Store.PageCache.Limit = 32768*pageSize, 65536*pageSize
	})
	// 8,500 pages over the limit at 40,960 ns a page: 348 ms.
	c.stock, c.total, c.exceeded = 65536+8500, 65536+8500, true
	c.startWriting(0)
	c.writer(0).pages = 7
	now := s.begin(1*ms, 0, 862, 5)
	// MAX_PAUSE from 1 ms on is until 204 ms (51 ticks); still over; until 408 ms.
	want := []Pause{{PauseThrottled, 1*ms + us, 204 * ms, 5}, {PauseThrottled, 204 * ms, 408 * ms, 5}}
	if len(s.pauses) != 2 || s.pauses[0] != want[0] || s.pauses[1] != want[1] || now != 408*ms {
		t.Errorf("got %v, ends at %v; want %v", s.pauses, now, want)
	}
	if c.stock >= 65536 {
		t.Errorf("still %d pages", c.stock)
	}
}

// TestWriteback: the flusher writes down to the background limit at the disk's
// speed; pages that have expired whatever the limit.
func TestWriteback(t *testing.T) {
	_, c := idleCache(t, nil)
	c.stock, c.total = 4096+1000, 4096+1000
	c.startWriting(0)
	c.advance(500*c.pageTime + 1)
	if c.stock != 4096+500 || !c.writing {
		t.Errorf("after 500 pages' time: %d pages, writing %v; want %d, true", c.stock, c.writing, 4096+500)
	}
	c.advance(10 * sim.Second)
	if c.stock != 4096 || c.writing {
		t.Errorf("in the end: %d pages, writing %v; want 4096, false", c.stock, c.writing)
	}

	_, c = idleCache(t, func(cfg *Config) {
		cfg.Store.PageCache.Writeback, cfg.Store.PageCache.Expire = 5*sim.Second, 30*sim.Second
	})
	c.kupdate, c.next = 2*sim.Second, 2*sim.Second
	c.dirtied(c.writer(0), 100)
	c.advance(10 * sim.Second)
	c.dirtied(c.writer(0), 10)
	// The look at 2 s sees them first, that at 32 s finds them 30 s old.
	if c.advance(32*sim.Second - 1); c.stock != 110 {
		t.Errorf("before they expire: %d pages, want 110", c.stock)
	}
	if c.advance(33 * sim.Second); c.stock != 10 {
		t.Errorf("after the first expired: %d pages, want 10", c.stock)
	}
	if c.advance(43 * sim.Second); c.stock != 0 {
		t.Errorf("after all expired: %d pages, want 0", c.stock)
	}
}

// TestSync: msync takes the time of its pages, and the flusher waits for it.
func TestSync(t *testing.T) {
	s, c := idleCache(t, nil)
	s.flush.leastPages, s.flush.next = 4, 100*sim.Millisecond
	s.flush.decide(0)
	now := sim.Time(0)
	for i := range 40 { // 10 pages
		now = s.begin(now, 0, 862, int64(i))
		s.end(now)
		s.flush.next = 100 * sim.Millisecond
	}
	c.stock, c.total = c.stock+10000, c.total+10000
	c.startWriting(99 * sim.Millisecond)
	s.flush.advance(100 * sim.Millisecond)
	if want := 100*sim.Millisecond + 10*c.pageTime; s.flush.until != want {
		t.Errorf("msync of 10 pages ends at %v, want %v", s.flush.until, want)
	}
	before := c.stock
	if c.advance(s.flush.until); c.stock != before {
		t.Errorf("the flusher wrote %d pages beside msync", before-c.stock)
	}
	s.flush.advance(s.flush.until)
	if c.stock != before-10 {
		t.Errorf("msync wrote %d pages, want 10", before-c.stock)
	}
	if c.advance(s.flush.until + 5*c.pageTime); c.stock != before-15 {
		t.Errorf("then the flusher %d, want 5", before-10-c.stock)
	}
}

// TestStablePages: at 20 MB/s, 5,000 records of 1 KiB a second, a flush each
// 500 ms has some 620 pages to write; the append that comes next to its last
// page waits as long as that takes, if pages have to be stable.
func TestStablePages(t *testing.T) {
	for _, stable := range []bool{true, false} {
		cfg := cacheConfig("deterministic(rate=5000/s)", 4*sim.Second)
		cfg.Neighbours = nil
		cfg.Broker, _ = Defaults("4.9.4", 2)
		cfg.Broker.SendMessageThreadPoolNums = 1
		cfg.Store.PageCache.Disk = 20_000_000
		cfg.Store.PageCache.StablePages = stable
		var waits []sim.Time
		b, err := New(cfg, 0, Observer{Pause: func(p *Pause) {
			if p.Mechanism == PauseStablePages {
				waits = append(waits, p.To-p.From)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if !stable {
			if len(waits) != 0 {
				t.Errorf("%d waits without stable pages", len(waits))
			}
			continue
		}
		// Where the last record ends at the end of its page nobody waits.
		if len(waits) < 3 {
			t.Fatalf("waits: %v", waits)
		}
		for _, w := range waits[1:] { // the first flush is earlier
			// 5.12 MB/s come for the 500 ms until the flush and for as long as
			// it lasts: w = 5.12 (0.5 + w) / 20 = 172 ms, from below.
			if w < 145*sim.Millisecond || w > 173*sim.Millisecond {
				t.Errorf("waited %v, want about 172 ms", w)
			}
		}
	}
}

// TestDirtyBalance: what became dirty was written or is there still, the disk
// is never faster than it is, and the limit is exceeded by 3 % at most (that
// is what ratelimit_pages is for) and what each task may still write.
func TestDirtyBalance(t *testing.T) {
	for seed := range uint64(5) {
		cfg := cacheConfig("poisson(rate=2000/s)", 6*sim.Second)
		cfg.Seed = seed
		cfg.Store.PageCache.Writeback, cfg.Store.PageCache.Expire = sim.Second, 2*sim.Second
		s := newTestStore(t, cfg)
		now, written, at := sim.Time(0), int64(0), sim.Time(0)
		most := int64(0)
		for i := range 12_000 {
			now = s.begin(now+500*us, 0, 862, int64(i))
			s.end(now)
			c := s.cache
			c.advance(now)
			if c.total-c.written != c.stock || c.stock < 0 || c.brokerDirty < 0 || c.brokerDirty+c.syncPages > c.stock {
				t.Fatalf("at %v: %d dirtied, %d written, %d there, of them %d and %d the broker's", now, c.total, c.written, c.stock, c.brokerDirty, c.syncPages)
			}
			// Pages that msync is through with count when it ends.
			if n := c.written - written; n > int64((now-at)/c.pageTime)+2+c.total/100 {
				t.Fatalf("at %v: %d pages written in %v", now, n, now-at)
			}
			most = max(most, c.stock)
		}
		c := s.cache
		if n := sim.Time(c.written) * c.pageTime; n > now+sim.Millisecond {
			t.Errorf("%d pages written in %v, the disk needs %v", c.written, now, n)
		}
		bound := c.limit + c.limit/32 + writePages*9
		if most > bound || most < c.freerun {
			t.Errorf("most dirty pages: got %d, want up to %d and more than %d", most, bound, c.freerun)
		}
		if c.written < c.total/2 {
			t.Errorf("%d pages dirtied, only %d written", c.total, c.written)
		}
	}
}

// TestNeighbourThrottled: a neighbour that could write four times what the
// disk can is held to the disk's speed, the stock near the setpoint.
func TestNeighbourThrottled(t *testing.T) {
	cfg := cacheConfig("deterministic(rate=1/s)", sim.Second)
	cfg.Neighbours[0].At, cfg.Neighbours[0].Every, cfg.Neighbours[0].For, cfg.Neighbours[0].Tasks = 0, nil, must("60s"), 1
	c := newTestStore(t, cfg).cache
	c.advance(20 * sim.Second)
	from := c.total
	c.advance(40 * sim.Second)
	rate := (c.total - from) / 20
	if rate < c.bandwidth*97/100 || rate > c.bandwidth*103/100 {
		t.Errorf("%d pages/s dirtied, the disk writes %d", rate, c.bandwidth)
	}
	if setpoint := (c.freerun + c.limit) / 2; c.stock < setpoint*80/100 || c.stock > setpoint*115/100 {
		t.Errorf("%d pages dirty, want near %d", c.stock, setpoint)
	}
}

// TestLimitHolds: tasks that are over the limit when their burst ends get
// nothing for free when the next one begins, however often that is.
func TestLimitHolds(t *testing.T) {
	_, c := idleCache(t, func(cfg *Config) {
		k := cfg.Store.PageCache
		k.Background, k.Limit, k.Disk = 128*pageSize, 256*pageSize, 1_000_000
		cfg.Neighbours = []Neighbour{{Name: "n", At: 0, Every: must("300ms"), For: must("200ms"), Rate: 189_000_000, Tasks: 24}}
	})
	c.advance(10 * sim.Minute)
	if most := c.limit + 2*24*initialQuota; c.stock > most {
		t.Errorf("%d pages are dirty, the limit is %d: want at most %d", c.stock, c.limit, most)
	}
}
