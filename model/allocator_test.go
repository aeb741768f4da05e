package model_test

import (
	"slices"
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// filing is a broker whose files hold three of its records of 1,215 bytes.
func filing(start model.LogStart, allocate string, sends ...sim.Time) model.Config {
	cfg := bare("4.3.2", 20*sim.Second, at(sends...))
	cfg.Broker.MappedFileSizeCommitLog = 4096
	cfg.Store.Start, cfg.Store.Allocate = start, dist(allocate)
	return cfg
}

// each is n sends, one each ms from the first ms on.
func each(n int) (sends []sim.Time) {
	for i := range n {
		sends = append(sends, sim.Time(i+1)*ms)
	}
	return sends
}

// TestRoll follows the files (facts §6.3): how long each put holds the lock, of
// an append of 1 us. Sends come each ms.
func TestRoll(t *testing.T) {
	const us = sim.Microsecond
	for _, c := range []struct {
		name     string
		start    model.LogStart
		allocate string
		sends    int
		want     []sim.Time
	}{
		{"a spare file costs nothing", model.LogRunning, "3ms", 10, slices.Repeat([]sim.Time{us}, 10)},
		// File 2 is asked for when the fourth send begins with file 1, at 4 ms;
		// the seventh wants it at 7 ms.
		{"slower than the fill", model.LogRunning, "10ms", 8, []sim.Time{us, us, us, us, us, us, 7*ms + us, us}},
		// At 4 ms files 1 and 2 are asked for, which are there at 6 and 8 ms;
		// the seventh wants the latter at 7 ms.
		{"nothing to spare after a restart", model.LogRestarted, "2ms", 8, []sim.Time{us, us, us, 2*ms + us, us, us, ms + us, us}},
		// Files 0 and 1 are there at 3 and 5 ms.
		{"the first put of all asks for two and waits for one", model.LogEmpty, "2ms", 4, []sim.Time{2*ms + us, us, us, ms + us}},
		{"no time at all", model.LogEmpty, "0s", 7, slices.Repeat([]sim.Time{us}, 7)},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := follow(t, filing(c.start, c.allocate, each(c.sends)...))
			var held []sim.Time
			for _, a := range run.rows {
				if a.Outcome != model.OK {
					t.Errorf("seq %d: %v", a.Seq, a.Outcome)
				}
				held = append(held, a.Unlock-a.Lock)
			}
			if !slices.Equal(held, c.want) {
				t.Errorf("lock held: got %v, want %v", held, c.want)
			}
		})
	}
}

// TestRollTimeout: a put waits 5,000 ms at most, in the lock, which makes the
// page cache busy; the request stays, and the next put waits for what is left
// (facts §6.3).
func TestRollTimeout(t *testing.T) {
	cfg := filing(model.LogRestarted, "7s", 1*ms, 2*ms, 3*ms, 100*ms, 1102*ms, 6*sim.Second, 8*sim.Second)
	cfg.Producers[0].Timeout = 0
	run := follow(t, cfg)
	var got []model.Outcome
	for _, a := range run.rows {
		got = append(got, a.Outcome)
	}
	want := []model.Outcome{model.OK, model.OK, model.OK, model.Other, model.RejectRequest, model.OK, model.OK}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if a := run.rows[3]; a.Unlock-a.Lock != 5*sim.Second || a.Code != model.CodeSystemError {
		t.Errorf("the fourth held the lock %v, code %d; want 5s, %d", a.Unlock-a.Lock, a.Code, model.CodeSystemError)
	}
	if a := run.rows[5]; a.Unlock != 7100*ms+sim.Microsecond {
		t.Errorf("the sixth ended at %v, want 7.100001s", a.Unlock)
	}
	const remark = "create mapped file failed, server is busy or broken."
	if len(run.result.Errors) != 2 || run.result.Errors[1].Remark != remark {
		t.Errorf("errors %+v, want one with %q", run.result.Errors, remark)
	}
	if m := run.result.Messages; m.StoredOnce != 5 || m.NotStoredKnown != 2 {
		t.Errorf("messages %+v, want 5 stored and 2 not", m)
	}
}

// TestWarmUp: with warmMapedFileEnable a file takes its pages' time as well.
func TestWarmUp(t *testing.T) {
	cfg := filing(model.LogEmpty, "2ms", 1*ms)
	cfg.Broker.MappedFileSizeCommitLog = 100 * 4096
	cfg.Store.WarmPage = dist("30us")
	for enabled, want := range map[bool]sim.Time{false: 2 * ms, true: 5 * ms} {
		cfg.Broker.WarmMapedFileEnable = enabled
		a := follow(t, cfg).rows[0]
		if got := a.Unlock - a.Lock - sim.Microsecond; got != want {
			t.Errorf("warm %v: waited %v, want %v", enabled, got, want)
		}
	}
}

// TestNoRoomAtAll: a record that fits into no file uses up the rest of one and
// the whole next one, and is answered PUT_OK (facts §6.4).
func TestNoRoomAtAll(t *testing.T) {
	cfg := filing(model.LogRunning, "2ms", each(4)...)
	cfg.Producers[0].Body = size("5KiB")
	for i, a := range follow(t, cfg).rows {
		if a.Outcome != model.OK {
			t.Errorf("send %d: got %v, want OK", i, a.Outcome)
		}
	}
}

// TestRollAllowance: the blank record needs 8 bytes.
func TestRollAllowance(t *testing.T) {
	cfg := filing(model.LogRestarted, "2ms", 1*ms)
	cfg.Store.Filled = 4096 - 1215 - 8
	if a := follow(t, cfg).rows[0]; a.Unlock-a.Lock != sim.Microsecond {
		t.Errorf("a record that leaves just 8 bytes: held %v", a.Unlock-a.Lock)
	}
	cfg.Store.Filled++
	if a := follow(t, cfg).rows[0]; a.Unlock-a.Lock != 2*ms+sim.Microsecond {
		t.Errorf("one that leaves 7: held %v", a.Unlock-a.Lock)
	}
}
