package model_test

import (
	"fmt"
	"slices"
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// syncing is bare with SYNC_FLUSH, which takes 10 ms.
func syncing(release string, duration sim.Time, times ...sim.Time) model.Config {
	cfg := bare(release, duration, at(times...))
	cfg.Broker.SendMessageThreadPoolNums = 1
	cfg.Broker.FlushDiskType = model.SyncFlush
	cfg.Store.Flush = dist("10ms")
	return cfg
}

// mastering is bare with SYNC_MASTER, two slaves needed in 5.x, and a slave
// that is 3 ms away and takes 1 ms for a batch.
func mastering(release string, duration sim.Time, times ...sim.Time) model.Config {
	cfg := bare(release, duration, at(times...))
	cfg.Broker.SendMessageThreadPoolNums = 1
	cfg.Broker.BrokerRole = model.SyncMaster
	cfg.Broker.InSyncReplicas = 2
	cfg.Replica = model.Replica{Slaves: 1, Network: dist("3ms"), Append: dist("1ms")}
	return cfg
}

// TestSyncFlushThroughput: up to 4.6.1 one send thread stores one message a
// flush, and with n each flush serves those that gathered during the one
// before: n in two of them. Since 4.7.0 one thread is enough for any number
// (facts §5.3, §7.3, §13 A9).
func TestSyncFlushThroughput(t *testing.T) {
	for _, c := range []struct {
		release  string
		threads  int
		perFlush float64
	}{{"4.3.2", 1, 1}, {"4.6.1", 1, 1}, {"4.6.1", 8, 4}, {"4.6.1", 32, 16}, {"4.7.0", 1, 50}, {"4.9.4", 1, 50}, {"5.3.3", 1, 50}} {
		t.Run(fmt.Sprint(c.release, " ", c.threads), func(t *testing.T) {
			cfg := syncing(c.release, 2*sim.Second, 0)
			cfg.Producers[0].Arrivals = arrivals("deterministic(rate=5000/s)")
			cfg.Broker.SendMessageThreadPoolNums = c.threads
			cfg.Machine.Cores = 64
			stored := 0
			for _, a := range follow(t, cfg).rows {
				if a.Outcome == model.OK && a.Done >= sim.Second && a.Done < 2*sim.Second {
					stored++
				}
			}
			if got := float64(stored) / 100; got < c.perFlush-0.05*c.perFlush || got > 1.05*c.perFlush {
				t.Errorf("%v messages a flush, want %v", got, c.perFlush)
			}
		})
	}
}

// TestNewFile: the first message of a new file needs two flushes, of which up
// to 4.7.1 the second doesn't count (facts §7.3).
func TestNewFile(t *testing.T) {
	for _, c := range []struct {
		release string
		outcome model.Outcome
		takes   sim.Time
	}{
		{"4.2.0", model.FlushDiskTimeout, 20 * ms}, {"4.6.1", model.FlushDiskTimeout, 20 * ms},
		{"4.7.1", model.FlushDiskTimeout, 20 * ms}, {"4.8.0", model.OK, 20 * ms}, {"5.1.4", model.OK, 20 * ms}, {"5.2.0", model.OK, 21 * ms},
	} {
		t.Run(c.release, func(t *testing.T) {
			cfg := syncing(c.release, 9*sim.Second, 0, sim.Second, 2*sim.Second, 3*sim.Second, 4*sim.Second, 5*sim.Second, 6*sim.Second)
			cfg.Broker.MappedFileSizeCommitLog = 4096 // three of 1215 bytes
			for i, a := range follow(t, cfg).rows {
				want, takes := model.OK, 10*ms
				if i == 3 || i == 6 {
					want, takes = c.outcome, c.takes
				}
				if a.Outcome != want || a.Done-a.Unlock != takes {
					t.Errorf("message %d: got %v after %v, want %v after %v", i, a.Outcome, a.Done-a.Unlock, want, takes)
				}
			}
		})
	}
}

// TestSyncFlushTimeout: who says FLUSH_DISK_TIMEOUT, and when, while a flush
// takes 6 s (facts §7.3).
func TestSyncFlushTimeout(t *testing.T) {
	for _, c := range []struct {
		release string
		outcome model.Outcome
		done    sim.Time
	}{
		{"4.3.2", model.FlushDiskTimeout, 6 * sim.Second}, {"4.6.1", model.FlushDiskTimeout, 6 * sim.Second},
		{"4.7.0", model.FlushDiskTimeout, 7010 * ms}, {"4.7.1", model.OK, 7010 * ms}, {"4.9.2", model.OK, 7010 * ms},
		{"4.9.3", model.FlushDiskTimeout, 6 * sim.Second}, {"5.3.3", model.FlushDiskTimeout, 6 * sim.Second},
	} {
		t.Run(c.release, func(t *testing.T) {
			cfg := syncing(c.release, 20*sim.Second, sim.Second, 15*sim.Second)
			cfg.Stalls = []model.Stall{once(model.StallFlush, sim.Second, 6*sim.Second)}
			rows := follow(t, cfg).rows
			if a := rows[0]; a.Outcome != c.outcome || a.Done-c.done > ms || c.done-a.Done > ms {
				t.Errorf("got %v at %v, want %v at %v", a.Outcome, a.Done, c.outcome, c.done)
			}
			if rows[1].Outcome != model.OK {
				t.Errorf("after it: %v", rows[1].Outcome)
			}
		})
	}
}

// TestNoWait: WAIT=false is answered at once, and what it put is flushed and
// transferred all the same (facts §7.3, §8).
func TestNoWait(t *testing.T) {
	for _, release := range []string{"4.3.2", "4.9.4", "5.3.3"} {
		cfg := syncing(release, 2*sim.Second, sim.Second)
		cfg.Broker.BrokerRole, cfg.Broker.InSyncReplicas, cfg.Replica.Slaves = model.SyncMaster, 2, 1
		cfg.Replica.Network = dist("3ms")
		cfg.Producers[0].NoWait = true
		waits := cfg.Producers[0]
		waits.NoWait, waits.Name, waits.Arrivals = false, "waits", at(1005*ms)
		cfg.Producers = append(cfg.Producers, waits)
		rows := follow(t, cfg).rows
		if a := rows[0]; a.Outcome != model.OK || a.Done != a.Unlock {
			t.Errorf("%s: got %v after %v, want OK at once", release, a.Outcome, a.Done-a.Unlock)
		}
		// The flush that the first one woke ends at 1010 ms; the second's follows.
		if a := rows[1]; a.Outcome != model.OK || a.Done < 1020*ms || a.Done > 1027*ms {
			t.Errorf("%s: the one that waits: got %v at %v", release, a.Outcome, a.Done)
		}
	}
}

// TestFlushAndReplica: up to 4.6.1 one after the other, since 4.7.0 at the same
// time; when both fail the replica's status wins (facts §6.1).
func TestFlushAndReplica(t *testing.T) {
	for _, c := range []struct {
		release string
		takes   sim.Time // 10 ms for the flush; 3 + 1 + 3 ms for the replica
		fails   sim.Time
	}{{"4.3.2", 17 * ms, 10 * sim.Second}, {"4.6.1", 17 * ms, 10 * sim.Second}, {"4.9.4", 10 * ms, 5 * sim.Second}, {"5.3.3", 10 * ms, 5 * sim.Second}} {
		cfg := mastering(c.release, 30*sim.Second, sim.Second, 2*sim.Second)
		cfg.Broker.FlushDiskType, cfg.Store.Flush = model.SyncFlush, dist("10ms")
		cfg.Stalls = []model.Stall{once(model.StallFlush, 2*sim.Second, 20*sim.Second), window(model.StallReplica, 2*sim.Second, 22*sim.Second)}
		rows := follow(t, cfg).rows
		if a := rows[0]; a.Outcome != model.OK || a.Done-a.Unlock != c.takes {
			t.Errorf("%s: got %v after %v, want OK after %v", c.release, a.Outcome, a.Done-a.Unlock, c.takes)
		}
		if a := rows[1]; a.Outcome != model.FlushSlaveTimeout || a.Done-a.Unlock < c.fails-ms || a.Done-a.Unlock > c.fails+ms {
			t.Errorf("%s: both fail: got %v after %v, want FLUSH_SLAVE_TIMEOUT after %v", c.release, a.Outcome, a.Done-a.Unlock, c.fails)
		}
	}
}

// TestReplicaStatuses: what a put is answered by release while the slave
// answers, is gone, or stands still (facts §8).
func TestReplicaStatuses(t *testing.T) {
	for _, c := range []struct {
		releases []string
		there    sim.Time // the slave answers: OK after
		gone     model.Outcome
		goneIn   sim.Time
		still    model.Outcome // the slave stands still for 8 s
		stillIn  sim.Time
	}{
		{[]string{"4.2.0", "4.3.2", "4.6.1"}, 7 * ms, model.SlaveNotAvailable, 0, model.FlushSlaveTimeout, 5 * sim.Second},
		{[]string{"4.7.0", "4.9.2"}, 7 * ms, model.SlaveNotAvailable, 0, model.FlushSlaveTimeout, 5 * sim.Second},
		{[]string{"4.9.3", "4.9.8"}, 7 * ms, model.SlaveNotAvailable, 0, model.FlushSlaveTimeout, 3 * sim.Second},
		{[]string{"5.0.0", "5.3.3"}, 7 * ms, model.FlushSlaveTimeout, 3 * sim.Second, model.FlushSlaveTimeout, 3 * sim.Second},
	} {
		for _, release := range c.releases {
			cfg := mastering(release, 20*sim.Second, sim.Second, 2*sim.Second)
			cfg.Stalls = []model.Stall{window(model.StallReplica, 2*sim.Second, 10*sim.Second)}
			rows := follow(t, cfg).rows
			if a := rows[0]; a.Outcome != model.OK || a.Done-a.Unlock != c.there {
				t.Errorf("%s: got %v after %v, want OK after %v", release, a.Outcome, a.Done-a.Unlock, c.there)
			}
			if a := rows[1]; a.Outcome != c.still || a.Done-a.Unlock != c.stillIn {
				t.Errorf("%s, slave stands still: got %v after %v, want %v after %v", release, a.Outcome, a.Done-a.Unlock, c.still, c.stillIn)
			}
			cfg.Replica.Slaves = 0
			if a := follow(t, cfg).rows[0]; a.Outcome != c.gone || a.Done-a.Unlock != c.goneIn {
				t.Errorf("%s, no slave: got %v after %v, want %v after %v", release, a.Outcome, a.Done-a.Unlock, c.gone, c.goneIn)
			}
		}
	}
}

// TestInSyncReplicas: a SYNC_MASTER of 5.x waits for none while inSyncReplicas
// is 1; with enableSlaveActingMaster too few of them refuse the put before it
// is stored, or lower the number needed (facts §8).
func TestInSyncReplicas(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(*model.Config)
		outcome model.Outcome
		takes   sim.Time
	}{
		{"one", func(c *model.Config) { c.Broker.InSyncReplicas = 1 }, model.OK, 0},
		{"two", func(*model.Config) {}, model.OK, 7 * ms},
		{"three of three, one far", func(c *model.Config) {
			c.Broker.InSyncReplicas, c.Replica.Slaves = 3, 2
			c.Stalls = []model.Stall{{Where: model.StallNetwork, Slave: 2, At: 900 * ms, Until: 1100 * ms}}
		}, model.OK, 107 * ms},
		{"two of three, one far", func(c *model.Config) {
			c.Replica.Slaves = 2
			c.Stalls = []model.Stall{{Where: model.StallNetwork, Slave: 2, At: 900 * ms, Until: 1100 * ms}}
		}, model.OK, 7 * ms},
		{"acting master, no slave", func(c *model.Config) { c.Broker.EnableSlaveActingMaster, c.Replica.Slaves = true, 0 }, model.Other, 0},
		{"acting master, automatic", func(c *model.Config) {
			c.Broker.EnableSlaveActingMaster, c.Broker.EnableAutoInSyncReplicas, c.Replica.Slaves = true, true, 0
		}, model.OK, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := mastering("5.3.3", 9*sim.Second, sim.Second)
			c.edit(&cfg)
			r := follow(t, cfg)
			a := r.rows[0]
			if takes := a.Done - a.Unlock; a.Outcome != c.outcome || a.Outcome == model.OK && (takes < c.takes || takes > c.takes+ms) {
				t.Errorf("got %v after %v, want %v after %v", a.Outcome, a.Done-a.Unlock, c.outcome, c.takes)
			}
			if c.outcome == model.Other {
				if a.Unlock != model.Absent || r.result.Errors[0].Remark != "in-sync replicas not enough" || r.result.Errors[0].Code != 1 {
					t.Errorf("got %+v, %+v", a, r.result.Errors)
				}
			}
		})
	}
}

// TestOneFastSlave: up to 4.9 one slave that has it is enough (facts §8).
func TestOneFastSlave(t *testing.T) {
	cfg := mastering("4.9.4", 9*sim.Second, sim.Second)
	cfg.Replica.Slaves = 2
	cfg.Stalls = []model.Stall{{Where: model.StallNetwork, Slave: 1, At: 900 * ms, Until: 8 * sim.Second}}
	if a := follow(t, cfg).rows[0]; a.Outcome != model.OK || a.Done-a.Unlock != 7*ms {
		t.Errorf("got %v after %v", a.Outcome, a.Done-a.Unlock)
	}
}

// TestSlaveFallsBehind: a slave that is too far behind, or was silent for
// haHousekeepingInterval, is not available, and those that wait for it still
// time out (facts §8).
func TestSlaveFallsBehind(t *testing.T) {
	var times []sim.Time
	for i := range sim.Time(40) {
		times = append(times, sim.Second+i*sim.Second)
	}
	cfg := mastering("4.9.4", 60*sim.Second, times...)
	cfg.Stalls = []model.Stall{window(model.StallNetwork, 1500*ms, 31*sim.Second)}
	outcomes := func() (out []model.Outcome) {
		for _, a := range follow(t, cfg).rows {
			out = append(out, a.Outcome)
		}
		return out
	}
	out := outcomes()
	if out[0] != model.OK || out[1] != model.FlushSlaveTimeout {
		t.Errorf("the first two: %v", out[:2])
	}
	// The first that the slave doesn't answer is sent at 2 s.
	if first := slices.Index(out, model.SlaveNotAvailable); first != 21 {
		t.Errorf("closed after 20 s: the first that says so is number %d, want 21: %v", first, out)
	}
	if out[32] != model.OK || out[39] != model.OK {
		t.Errorf("the slave is back: %v", out[30:])
	}
	cfg.Broker.HaMaxGapNotInSync = 3 * 1215
	if first := slices.Index(outcomes(), model.SlaveNotAvailable); first != 3 {
		t.Errorf("three records behind: the first that says so is number %d, want 3: %v", first, outcomes()[:5])
	}
}

// TestFiveWaits: up to 4.6.1 GroupTransferService waits five times for a
// request, whatever ends the waits: answers of a slave that catches up use
// them up, long before 5 s (facts §8).
func TestFiveWaits(t *testing.T) {
	for release, want := range map[string]model.Outcome{"4.6.1": model.FlushSlaveTimeout, "4.7.0": model.OK} {
		cfg := mastering(release, 5*sim.Second, sim.Second)
		cfg.Broker.HaTransferBatchSize = 100 // 13 answers for a record
		cfg.Replica.Bandwidth = 10_000
		a := follow(t, cfg).rows[0]
		if a.Outcome != want || a.Done-a.Unlock > 200*ms {
			t.Errorf("%s: got %v after %v, want %v", release, a.Outcome, a.Done-a.Unlock, want)
		}
	}
}

// TestAsyncMaster waits for nothing, whatever becomes of the slaves (facts §8).
func TestAsyncMaster(t *testing.T) {
	cfg := mastering("4.3.2", 3*sim.Second, sim.Second, 1100*ms, 2*sim.Second)
	cfg.Broker.BrokerRole = model.AsyncMaster
	want := follow(t, cfg).rows
	cfg.Replica, cfg.Stalls = model.Replica{}, []model.Stall{window(model.StallReplica, 0, 3*sim.Second), window(model.StallFlush, 0, 3*sim.Second)}
	if got := follow(t, cfg).rows; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestTransferBatches: a batch holds what is readable, up to
// haTransferBatchSize, and the link's bandwidth delays each (facts §8).
func TestTransferBatches(t *testing.T) {
	cfg := mastering("4.9.4", 9*sim.Second, sim.Second)
	cfg.Producers[0].Body = size("99809B") // a record of 100,000 bytes
	cfg.Replica.Bandwidth = 1_000_000
	a := follow(t, cfg).rows[0]
	// 100,000 bytes and four headers, then the way there, 1 ms and the way back.
	if want := 100048*sim.Microsecond + 7*ms; a.Outcome != model.OK || a.Done-a.Unlock != want {
		t.Errorf("got %v after %v, want OK after %v", a.Outcome, a.Done-a.Unlock, want)
	}
}

// TestPoolAndReplica: with the transient pool the slave sees a put only once it
// is committed, which a lone put waits for up to 200 ms, and the transfer that
// it woke has found nothing and waits 100 ms: a lone caller gets a handful of
// answers a second (facts §7.4, §8).
func TestPoolAndReplica(t *testing.T) {
	for pool, want := range map[bool][2]int{false: {120, 150}, true: {3, 10}} {
		cfg := mastering("4.3.2", 10*sim.Second, 0)
		cfg.Producers[0].Arrivals = arrivals("closed(n=1, think=0s)")
		cfg.Broker.TransientStorePoolEnable = pool
		perSecond := len(follow(t, cfg).rows) / 10
		if perSecond < want[0] || perSecond > want[1] {
			t.Errorf("pool %v: %d answers a second, want %d to %d", pool, perSecond, want[0], want[1])
		}
	}
}

// TestPoolAndSyncFlush: only 5.x has both; before 5.2.0 a put is not committed
// when its flush looks, and times out at once; since, the flush looks again
// (facts §7.3, §7.5).
func TestPoolAndSyncFlush(t *testing.T) {
	for release, want := range map[string]model.Outcome{"4.9.4": model.OK, "5.1.4": model.FlushDiskTimeout, "5.2.0": model.OK, "5.3.3": model.OK} {
		cfg := syncing(release, 3*sim.Second, sim.Second)
		cfg.Broker.TransientStorePoolEnable = true
		if a := follow(t, cfg).rows[0]; a.Outcome != want {
			t.Errorf("%s: got %v after %v, want %v", release, a.Outcome, a.Done-a.Unlock, want)
		}
	}
}
