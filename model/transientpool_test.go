package model

import (
	"context"
	"slices"
	"testing"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// commitEnd is a commit: when it was done, and up to where.
type commitEnd struct {
	at sim.Time
	to int64
}

// poolConfig is a broker with the pool whose records have 1,024 bytes, four to
// a page's 4,096; an append takes 1 us, a commit none, and nothing else any.
func poolConfig(release string, sends ...sim.Time) *Config {
	cfg := storeConfig(nil, "deterministic(rate=1/s)", 10*sim.Second)
	cfg.Broker, _ = Defaults(release, 2)
	cfg.Broker.SendMessageThreadPoolNums = 1
	cfg.Broker.TransientStorePoolEnable = true
	cfg.Producers[0].Arrivals = variate.Must(variate.NewTrace(sends))
	cfg.Producers[0].Body = variate.Must(variate.NewConstant(variate.Bytes, 1024-recordFixed-nameBytes))
	return cfg
}

// commitsOf are a run's commits, and when the thread looks first.
func commitsOf(t *testing.T, cfg *Config) (commits []commitEnd, first sim.Time) {
	t.Helper()
	c, err := New(cfg, 0, Observer{Commit: func(at sim.Time, end int64) { commits = append(commits, commitEnd{at, end}) }})
	if err != nil {
		t.Fatal(err)
	}
	first = c.brokers[0].pool.next
	if err := c.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return commits, first
}

// times are n instants, one each step from the first on.
func times(n int, first, step sim.Time) (at []sim.Time) {
	for i := range n {
		at = append(at, first+sim.Time(i)*step)
	}
	return at
}

// TestCommits follows the commit thread through cases worked out by hand (facts
// §7.4): when it has committed, and up to where. A put ends 1 us after its send.
func TestCommits(t *testing.T) {
	const ms, us, page = sim.Millisecond, sim.Microsecond, pageSize
	for _, c := range []struct {
		name    string
		release string
		change  func(*Config)
		sends   []sim.Time
		want    []commitEnd
	}{
		// lastCommitTimestamp is 0: the first put is committed at once only 200 ms
		// later. The first look is at 50 ms and finds nothing.
		{"four pages are committed at once", "4.3.2", nil, times(17, 60*ms, us*10),
			[]commitEnd{{60*ms + 151*us, 4 * page}, {260*ms + 161*us, 4*page + 1024}}},
		{"less waits for 200 ms after the last commit", "4.3.2", nil, []sim.Time{10 * ms, 20 * ms},
			[]commitEnd{{220*ms + us, 2048}}},
		{"a put finds that 200 ms have passed", "4.3.2", nil, []sim.Time{10 * ms, 205 * ms},
			[]commitEnd{{205*ms + us, 2048}}},
		// Each look is 200 ms after the one before, and sets lastCommitTimestamp
		// whether or not it finds anything, the last one at 2,990.001 ms.
		{"a put that does not is a new wait", "4.3.2", nil, []sim.Time{10 * ms, 190 * ms, 3000 * ms},
			[]commitEnd{{390*ms + us, 2048}, {3200*ms + us, 3072}}},
		{"puts wake it in 5.3.1 whatever the key says", "5.3.1", func(cfg *Config) { cfg.Broker.WakeCommitWhenPutMessage = false },
			times(16, 60*ms, us*10), []commitEnd{{60*ms + 151*us, 4 * page}}},
		{"and in 5.3.2 if it says so", "5.3.2", nil, times(16, 60*ms, us*10), []commitEnd{{60*ms + 151*us, 4 * page}}},
		{"commitCommitLogLeastPages", "4.3.2", func(cfg *Config) { cfg.Broker.CommitCommitLogLeastPages = 1 }, times(4, 60*ms, us*10),
			[]commitEnd{{60*ms + 31*us, page}}},
		{"commitCommitLogThoroughInterval", "4.3.2", func(cfg *Config) { cfg.Broker.CommitCommitLogThoroughInterval = 20 }, []sim.Time{60 * ms},
			[]commitEnd{{60*ms + us, 1024}}},
		{"a commit takes its time, and what came meanwhile is next", "4.3.2", func(cfg *Config) { cfg.Store.Commit = must("3ms") },
			slices.Concat(times(16, 60*ms, us*10), times(16, 61*ms, us*10)),
			[]commitEnd{{63*ms + 151*us, 4 * page}, {66*ms + 151*us, 8 * page}}},
		{"a stall holds the commit, not the puts", "4.3.2", func(cfg *Config) {
			cfg.Stalls = []Stall{{Where: StallCommit, At: 50 * ms, For: must("300ms"), Until: Absent}}
		}, times(16, 60*ms, us*10), []commitEnd{{360*ms + 151*us, 4 * page}}},
		// A file of 4 pages ends with a blank record; its rest is committed when
		// the put that found it full wakes the thread.
		{"a full file whatever there is of it", "4.3.2", func(cfg *Config) { cfg.Broker.MappedFileSizeCommitLog = 2 * page }, times(8, 60*ms, us*10),
			[]commitEnd{{60*ms + 71*us, 2 * page}, {260*ms + 71*us, 2*page + 1024}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := poolConfig(c.release, c.sends...)
			if c.change != nil {
				c.change(cfg)
			}
			// The run ends with its last answer.
			cfg.Producers = append(cfg.Producers, Producer{Name: "late", Arrivals: variate.Must(variate.NewTrace([]sim.Time{9 * sim.Second})), Body: cfg.Producers[0].Body, Timeout: sim.Second})
			got, _ := commitsOf(t, cfg)
			got = slices.DeleteFunc(got, func(c commitEnd) bool { return c.at >= 9*sim.Second })
			if !slices.Equal(got, c.want) {
				t.Errorf("commits: got %v, want %v", got, c.want)
			}
		})
	}
}

// TestCommitTimed: a thread that no put wakes looks each 200 ms.
func TestCommitTimed(t *testing.T) {
	const ms = sim.Millisecond
	cfg := poolConfig("5.3.2", append(times(16, 401*ms, 0), 2000*ms)...)
	cfg.Broker.WakeCommitWhenPutMessage = false
	got, first := commitsOf(t, cfg)
	want := first + 400*ms
	if want < 401*ms {
		want += 200 * ms
	}
	if len(got) != 1 || got[0] != (commitEnd{want, 4 * pageSize}) {
		t.Errorf("looks at %v and each 200 ms: got %v", first, got)
	}
}

// TestPoolDeficient follows the buffers (facts §7.5): the current file has one,
// the spare file one, and a finished file until it is committed.
func TestPoolDeficient(t *testing.T) {
	const ms = sim.Millisecond
	for _, c := range []struct {
		name           string
		start          LogStart
		size           int
		fastFail       bool
		ok, rej, other int64
	}{
		// Files of 7 records; 100 sends, one each ms.
		{"five", LogRunning, 5, false, 100, 0, 0},
		// A roll borrows the third, and the finished file gives its own back with
		// the first put of the next one, before another send comes.
		{"three", LogRunning, 3, false, 100, 0, 0},
		{"two are taken from the beginning", LogRunning, 2, false, 0, 100, 0},
		// The loaded file has none; the roll takes two.
		{"two after a restart", LogRestarted, 2, false, 8, 92, 0},
		// The roll takes the one, and the file behind it has none.
		{"one after a restart", LogRestarted, 1, false, 8, 92, 0},
		{"one, and none without", LogRestarted, 1, true, 8, 92, 0},
		{"two for an empty log", LogEmpty, 2, false, 1, 99, 0},
		{"none", LogEmpty, 0, true, 0, 100, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := poolConfig("4.3.2", times(100, ms, ms)...)
			cfg.Broker.MappedFileSizeCommitLog = 2 * pageSize
			cfg.Store.Start, cfg.Broker.TransientStorePoolSize, cfg.Broker.FastFailIfNoBufferInStorePool = c.start, c.size, c.fastFail
			b, err := New(cfg, 0, Observer{})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			n := b.books.counted.Attempts
			if n.Success != c.ok || n.RejectRequest != c.rej || n.Other != c.other {
				t.Errorf("got %d ok, %d REJECTREQUEST, %d other; want %d, %d, %d", n.Success, n.RejectRequest, n.Other, c.ok, c.rej, c.other)
			}
		})
	}
}

// TestPoolFastFail: without a buffer for one more file the put fails at once
// (facts §6.3).
func TestPoolFastFail(t *testing.T) {
	cfg := poolConfig("4.3.2", times(8, sim.Millisecond, 0)...)
	cfg.Broker.MappedFileSizeCommitLog = 2 * pageSize
	cfg.Store.Start, cfg.Broker.FastFailIfNoBufferInStorePool = LogEmpty, true
	for size, want := range map[int][2]int64{
		// Both files are asked for, the first takes the only buffer, and all that
		// arrived before is served: the eighth wants the second file, which is
		// asked for only then.
		1: {7, 1}, 2: {8, 0},
	} {
		cfg.Broker.TransientStorePoolSize = size
		b, err := New(cfg, 0, Observer{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if n := b.books.counted.Attempts; [2]int64{n.Success, n.Other} != want {
			t.Errorf("pool of %d: got %d ok and %d other, want %v", size, n.Success, n.Other, want)
		}
	}
}
