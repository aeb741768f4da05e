package model_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brokersim/model"
	"brokersim/sim"
)

// queueOf holds requests 0, 1, 2, ... of these createTimestamps.
func queueOf(createMs ...int64) *model.Queue {
	q := model.NewQueue(1000)
	for i, c := range createMs {
		q.Offer(model.Waiting{ID: uint64(i), CreateMs: c})
	}
	return q
}

// TestSweep: one sweep at 1000 ms (facts §1.2, §1.3, §1.4).
func TestSweep(t *testing.T) {
	send := func(createMs ...int64) []model.Swept {
		return []model.Swept{{Name: model.SendQueue, Queue: queueOf(createMs...), WaitMs: 200}}
	}
	for _, c := range []struct {
		name   string
		queues []model.Swept
		busy   bool
		want   string // queue, id, kind, period, size of each answer
	}{
		{"nothing waits", send(), false, ""},
		{"nothing waits, busy", send(), true, ""},
		{"younger by one ms", send(801), false, ""},
		{"as old as the limit", send(800), false, "send 0 TIMEOUT 200 0"},
		{"size is what is left behind it", send(790, 795, 800, 801, 900), false,
			"send 0 TIMEOUT 210 4, send 1 TIMEOUT 205 3, send 2 TIMEOUT 200 2"},
		{"a young head shields an old second", send(801, 700), false, ""},
		{"busy ignores age", send(700, 999, 1000), true, "send 0 PCBUSY 300 2, send 1 PCBUSY 1 1, send 2 PCBUSY 0 0"},
		{"a stamp of the future", send(1003), true, "send 0 PCBUSY -3 0"},
		{"queues in turn, each with its limit", []model.Swept{
			{Name: model.SendQueue, Queue: queueOf(800), WaitMs: 200},
			{Name: model.PullQueue, Queue: queueOf(0, 501, 0), WaitMs: 500},
			{Name: model.HeartbeatQueue, Queue: queueOf(969), WaitMs: 31},
			{Name: model.EndTransactionQueue, Queue: queueOf(970), WaitMs: 31},
		}, false, "send 0 TIMEOUT 200 0, pull 0 TIMEOUT 1000 2, heartbeat 0 TIMEOUT 31 0"},
		{"busy concerns the send queue alone", []model.Swept{
			{Name: model.SendQueue, Queue: queueOf(999), WaitMs: 200},
			{Name: model.PullQueue, Queue: queueOf(999, 0), WaitMs: 500},
		}, true, "send 0 PCBUSY 1 0"},
		{"busy, and what the pull queue has", []model.Swept{
			{Name: model.SendQueue, Queue: queueOf(), WaitMs: 200},
			{Name: model.PullQueue, Queue: queueOf(500), WaitMs: 500},
		}, true, "pull 0 TIMEOUT 500 0"},
		{"a limit of 0", []model.Swept{{Name: model.SendQueue, Queue: queueOf(1000, 1001), WaitMs: 0}}, false, "send 0 TIMEOUT 0 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			var sweep model.Sweep
			for {
				a, ok := sweep.Next(c.queues, 1000, c.busy)
				if !ok {
					break
				}
				kind := strings.TrimSuffix(a.Outcome.String(), "_CLEAN_QUEUE")
				got = append(got, fmt.Sprint(a.Queue, " ", a.ID, " ", kind, " ", a.PeriodMs, " ", a.Size))
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %q\nwant %q", s, c.want)
			}
			if _, again := sweep.Next(c.queues, 1000, c.busy); again {
				t.Error("a sweep that was over went on")
			}
		})
	}
}

// TestSweepWhileTimePasses: the condition and the clock are asked for every
// answer; once the loop of the page cache was left, it isn't entered again
// before the next sweep (facts §1.2).
func TestSweepWhileTimePasses(t *testing.T) {
	queues := []model.Swept{{Name: model.SendQueue, Queue: queueOf(700, 810, 990, 995), WaitMs: 200}}
	var sweep model.Sweep
	for i, c := range []struct {
		nowMs  int64
		busy   bool
		kind   model.Outcome
		period int64
		size   int
		ok     bool
	}{
		{1000, true, model.PCBusyCleanQueue, 300, 3, true},
		{1011, false, model.TimeoutCleanQueue, 201, 2, true}, // the lock was released, the clock went on
		{1012, true, 0, 0, 0, false},                         // busy again: too late for this sweep
	} {
		a, ok := sweep.Next(queues, c.nowMs, c.busy)
		if ok != c.ok || ok && (a.Outcome != c.kind || a.PeriodMs != c.period || a.Size != c.size) {
			t.Errorf("answer %d: got %+v %v, want %+v", i, a, ok, c)
		}
	}
	if n := queues[0].Queue.Len(); n != 2 {
		t.Errorf("%d left, want 2", n)
	}
}

// TestRemark: the strings, to the byte (facts §1.4, §2.1, §3.3).
func TestRemark(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{model.Answer{Outcome: model.TimeoutCleanQueue, PeriodMs: 208, Size: 8}.Remark(),
			"[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 208ms, size of queue: 8"},
		{model.Answer{Queue: model.PullQueue, Outcome: model.TimeoutCleanQueue, PeriodMs: 5003}.Remark(),
			"[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 5003ms, size of queue: 0"},
		{model.Answer{Outcome: model.PCBusyCleanQueue, PeriodMs: -1, Size: 10000}.Remark(),
			"[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: -1ms, size of queue: 10000"},
		{model.RemarkRejectRequest, "[REJECTREQUEST]system busy, start flow control for a while"},
		{model.RemarkOverload, "[OVERLOAD]system busy, start flow control for a while"},
		{model.RemarkPCSynchronized, "[PC_SYNCHRONIZED]broker busy, start flow control for a while"},
	} {
		if c.got != c.want {
			t.Errorf("got  %q\nwant %q", c.got, c.want)
		}
	}
}

// TestBusy: isOSPageCacheBusy, both bounds strict, of the present holder only
// (facts §4).
func TestBusy(t *testing.T) {
	for _, c := range []struct {
		name           string
		beginMs, nowMs int64
		timeoutMs      int64
		held, want     bool
	}{
		{"not held", 0, 5000, 1000, false, false},
		{"just got", 5000, 5000, 1000, true, false},
		{"at the limit", 5000, 6000, 1000, true, false},
		{"one more", 5000, 6001, 1000, true, true},
		{"the last that is busy", 5000, 5000 + 9_999_999, 1000, true, true},
		{"the first that is not again", 5000, 5000 + 10_000_000, 1000, true, false},
		{"begun at wall ms 0", 0, 1001, 1000, true, true},
		{"clock set back", 5000, 4000, 1000, true, false},
		{"limit 0", 5000, 5001, 0, true, true},
	} {
		var l model.LockState
		if c.held {
			l.Acquired(c.beginMs)
		}
		if got := l.Busy(c.nowMs, c.timeoutMs); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
		if got := model.Reject(&l, c.nowMs, c.timeoutMs, model.NoPool); got != c.want {
			t.Errorf("%s: rejectRequest: got %v", c.name, got)
		}
		if got := model.Reject(&l, c.nowMs, c.timeoutMs, 1); got != c.want {
			t.Errorf("%s: rejectRequest with a buffer left: got %v", c.name, got)
		}
		if !model.Reject(&l, c.nowMs, c.timeoutMs, 0) {
			t.Errorf("%s: rejectRequest with no buffer left: got false", c.name)
		}
		l.Released()
		if l.Busy(c.nowMs, c.timeoutMs) {
			t.Errorf("%s: busy after the release", c.name)
		}
	}
	// The next holder starts anew: a row of medium holds is never busy.
	var l model.LockState
	for begin := int64(0); begin < 5000; begin += 900 {
		l.Acquired(begin)
		if l.Busy(begin+899, 1000) {
			t.Errorf("busy %d ms after the first of a row of holds of 900 ms", begin+899)
		}
	}
}

// TestBusyTruncates: begin and now are each cut to whole ms, so that a lock
// counts as busy from 1000 to 1001 ms on, by the phase (facts §15.3, 2).
func TestBusyTruncates(t *testing.T) {
	for _, c := range []struct {
		phase, begin, busyFrom sim.Time
	}{
		{0, 5 * ms, 1006 * ms},
		{0, 5*ms + 999_999, 1006 * ms}, // 1000.000001 ms later
		{0, 6*ms - 1, 1006 * ms},
		{400_000, 5*ms + 599_999, 1006*ms - 400_000},
		{400_000, 5*ms + 600_000, 1007*ms - 400_000},
	} {
		clock := model.WallClock{Phase: c.phase}
		var l model.LockState
		l.Acquired(clock.Ms(c.begin))
		if l.Busy(clock.Ms(c.busyFrom-1), 1000) || !l.Busy(clock.Ms(c.busyFrom), 1000) {
			t.Errorf("phase %v, lock got at %v: not busy from %v on", c.phase, c.begin, c.busyFrom)
		}
	}
}

func TestWallClock(t *testing.T) {
	for _, c := range []struct {
		phase, t sim.Time
		want     int64
	}{
		{0, 0, 0}, {0, ms - 1, 0}, {0, ms, 1}, {0, 208 * ms, 208}, {0, 209*ms - 1, 208},
		{1, ms - 1, 1}, {ms - 1, 0, 0}, {ms - 1, 1, 1},
		{0, -1, -1}, {0, -ms, -1}, {0, -ms - 1, -2}, {1, -1, 0}, {400_000, -ms, -1}, {400_000, -400_000, 0}, {400_000, -400_001, -1},
	} {
		if got := (model.WallClock{Phase: c.phase}).Ms(c.t); got != c.want {
			t.Errorf("phase %d at %d: got %d, want %d", c.phase, c.t, got, c.want)
		}
	}
	if t.Failed() {
		return
	}
	rapid.Check(t, func(t *rapid.T) {
		clock := model.WallClock{Phase: sim.Time(rapid.Int64Range(0, int64(ms)-1).Draw(t, "phase"))}
		want := rapid.Int64Range(0, 1<<40).Draw(t, "ms")
		first := clock.FirstAt(want)
		if clock.Ms(first) < want || first > 0 && clock.Ms(first-1) >= want {
			t.Fatalf("phase %d: %d is not the first instant of ms %d", clock.Phase, first, want)
		}
	})
}

// TestQueue holds the ring against a slice.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(0, 200).Draw(t, "capacity")
		q := model.NewQueue(capacity)
		var want []model.Waiting
		for i := range rapid.IntRange(0, 600).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "op") > 0 {
				w := model.Waiting{ID: uint64(i), CreateMs: int64(i)}
				if ok := q.Offer(w); ok != (len(want) < capacity) {
					t.Fatalf("offer with %d of %d: %v", len(want), capacity, ok)
				} else if ok {
					want = append(want, w)
				}
			} else {
				peek, there := q.Peek()
				got, ok := q.Poll()
				if ok != (len(want) > 0) || there != ok || peek != got {
					t.Fatalf("poll of %d: %v %v, peek %v %v", len(want), got, ok, peek, there)
				}
				if ok {
					if got != want[0] {
						t.Fatalf("poll: got %v, want %v", got, want[0])
					}
					want = want[1:]
				}
			}
			if q.Len() != len(want) {
				t.Fatalf("length: got %d, want %d", q.Len(), len(want))
			}
		}
	})
}
