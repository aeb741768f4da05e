package sim

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	low  = 2 * KindsPerClass
	mid  = 5*KindsPerClass + 7
	high = 15*KindsPerClass + KindsPerClass - 1
)

func TestErrors(t *testing.T) {
	at := func(now Time, do func(e *Engine)) func() *Engine {
		return func() *Engine {
			e := NewEngine(Never, 0)
			e.At(now, low, 0)
			e.Next()
			do(e)
			return e
		}
	}
	for _, test := range []struct {
		name string
		run  func() *Engine
		want error
		says string
	}{
		{"past", at(Second, func(e *Engine) { e.At(Second-1, mid, 0) }), ErrPast,
			"sim: event of kind 5.7 scheduled for 999.999999ms at 1s: before the current time"},
		{"past timer", at(Second, func(e *Engine) { e.StartTimer(-1, mid, 0) }), ErrPast, "-1ns at 1s"},
		{"negative time at 0", at(0, func(e *Engine) { e.At(-1, mid, 0) }), ErrPast, "-1ns at 0s"},
		{"horizon in the past", at(Second, func(e *Engine) { e.SetHorizon(Millisecond) }), ErrPast, "horizon 1ms at 1s"},
		{"negative horizon", func() *Engine { return NewEngine(-5, 0) }, ErrPast, "horizon -5ns at 0s"},
		{"negative delay", at(Second, func(e *Engine) { e.After(-1, mid, 0) }), ErrNegativeDelay, "-1ns after 1s"},
		{"most negative delay", at(Second, func(e *Engine) { e.After(math.MinInt64, mid, 0) }), ErrNegativeDelay, "after 1s"},
		{"never", at(Second, func(e *Engine) { e.At(Never, mid, 0) }), ErrOverflow, "scheduled for never at 1s, want at most 320255h58m24.606846974s"},
		{"just too late", at(Second, func(e *Engine) { e.StartTimer(MaxTime+1, mid, 0) }), ErrOverflow, "at 1s"},
		{"delay to just too late", at(Second, func(e *Engine) { e.After(MaxTime-Second+1, mid, 0) }), ErrOverflow, "after 1s"},
		{"sum beyond int64", at(MaxTime, func(e *Engine) { e.After(Never, mid, 0) }), ErrOverflow, "never after"},
		{"argument", at(Second, func(e *Engine) { e.At(Second, mid, ArgMax+1) }), ErrArgument, "argument 281474976710656, want at most 281474976710655"},
		{"argument of delay", at(Second, func(e *Engine) { e.After(1, mid, ArgMax+1) }), ErrArgument, "event of kind 5.7 at 1.000000001s"},
		{"argument of timer", at(Second, func(e *Engine) { e.StartTimer(Second, mid, math.MaxUint64) }), ErrArgument, ""},
		{"kind", at(Second, func(e *Engine) { e.At(Second, 1<<15, 0) }), ErrKind, "kind 32768, want below 32768"},
		{"runaway", func() *Engine {
			e := NewEngine(Second, 1000)
			for e.At(0, low, 0); ; e.After(0, low, 0) {
				if _, _, ok := e.Next(); !ok {
					return e
				}
			}
		}, ErrRunaway, "more than 1000 events by 0s"},
		{"the first one stays", at(Second, func(e *Engine) { e.After(-1, mid, 0); e.At(0, mid, 0) }), ErrNegativeDelay, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := test.run()
			if err := e.Err(); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got error %q, want %q and in it %q", err, test.want, test.says)
			}
			now := e.Now()
			e.After(1, low, 0)
			e.SetHorizon(MaxTime)
			if k, _, ok := e.Next(); ok || e.Now() != now {
				t.Errorf("after the error: event %v, clock from %v to %v", k, now, e.Now())
			}
		})
	}
}

func TestLargestValuesAreFine(t *testing.T) {
	e := NewEngine(Never, 3)
	e.At(MaxTime, high, ArgMax)
	e.StartTimer(MaxTime, high, ArgMax)
	e.After(0, low, ArgMax)
	type got struct {
		Now Time
		K   Kind
		Arg uint64
	}
	var all []got
	for {
		k, arg, ok := e.Next()
		if !ok {
			break
		}
		all = append(all, got{e.Now(), k, arg})
	}
	want := []got{{0, low, ArgMax}, {MaxTime, high, ArgMax}, {MaxTime, high, ArgMax}}
	if d := cmp.Diff(want, all); d != "" || e.Err() != nil {
		t.Errorf("events (-want +got):\n%serror %v", d, e.Err())
	}
}

func TestMakeKind(t *testing.T) {
	if k := MakeKind(15, 2047); k != high || k.Class() != 15 {
		t.Errorf("got %v of class %d, want %v of class 15", k, k.Class(), Kind(high))
	}
	for _, bad := range [][2]int{{16, 0}, {-1, 0}, {0, 2048}, {0, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("MakeKind(%d, %d) did not panic", bad[0], bad[1])
				}
			}()
			MakeKind(bad[0], bad[1])
		}()
	}
}

func TestHorizon(t *testing.T) {
	e := NewEngine(Second, 0)
	e.At(Second, low, 1)
	e.At(Second+1, low, 2)
	if _, arg, ok := e.Next(); !ok || arg != 1 {
		t.Errorf("at the horizon: got event %d, %v; want 1", arg, ok)
	}
	for range 2 {
		if _, arg, ok := e.Next(); ok || e.Now() != Second || e.Pending() != 1 {
			t.Errorf("past the horizon: got event %d, clock %v, %d pending", arg, e.Now(), e.Pending())
		}
	}
	e.SetHorizon(Minute)
	e.At(Second, low, 3) // the clock has not passed it
	for _, want := range []uint64{3, 2} {
		if _, arg, ok := e.Next(); !ok || arg != want {
			t.Errorf("after the horizon was moved: got event %d, %v; want %d", arg, ok, want)
		}
	}
	if _, _, ok := e.Next(); ok || e.Now() != Minute {
		t.Errorf("empty: clock %v, want %v", e.Now(), Minute)
	}
	e.SetHorizon(Never)
	if _, _, ok := e.Next(); ok || e.Now() != Minute {
		t.Errorf("empty and without a horizon: clock %v, want %v", e.Now(), Minute)
	}
}

func TestTimers(t *testing.T) {
	e := NewEngine(Never, 0)
	if e.Cancel(Timer{}) {
		t.Error("cancelled the zero Timer of a new engine")
	}
	a := e.StartTimer(Second, low, 1)
	b := e.StartTimer(Second, low, 2)
	if e.Cancel(Timer{}) || e.Cancel(Timer{slot: 99, gen: 1}) {
		t.Error("cancelled a Timer that is none")
	}
	if e.Pending() != 2 || !e.Cancel(a) || e.Cancel(a) || e.Pending() != 1 {
		t.Errorf("a was not cancelled once; %d pending", e.Pending())
	}
	if _, arg, ok := e.Next(); !ok || arg != 2 || e.Cancel(b) {
		t.Errorf("got event %d, %v; want 2, which can't be cancelled any more", arg, ok)
	}
	c := e.StartTimer(2*Second, low, 3) // in a slot used before
	if e.Cancel(a) || e.Cancel(b) || !e.Cancel(c) {
		t.Error("an old Timer cancelled a new one")
	}
	if _, arg, ok := e.Next(); ok || e.Now() != Second || e.Events() != 1 {
		t.Errorf("got event %d, clock %v, %d events; want none, 1s, 1", arg, e.Now(), e.Events())
	}
}

// hold keeps n events and n timers going, one of which is cancelled in each step.
func hold(e *Engine, s *Stream, n int) func() {
	timers := make([]Timer, n)
	delay := func() Time { return Time(s.Uint64n(uint64(Second))) }
	for i := range n {
		e.After(delay(), low, uint64(i))
		timers[i] = e.StartTimer(e.Now()+delay(), mid, uint64(i))
	}
	return func() {
		k, arg, _ := e.Next()
		if k == low {
			e.After(delay(), low, arg)
			arg = s.Uint64n(uint64(n))
			e.Cancel(timers[arg])
		}
		timers[arg] = e.StartTimer(e.Now()+delay(), mid, arg)
	}
}

func TestNoAllocationPerEvent(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 20_000} {
		step := hold(NewEngine(Never, 0), Streams{}.Stream("hold"), n)
		for range 20 * n {
			step()
		}
		const steps = 10_000
		allocs := testing.AllocsPerRun(5, func() {
			for range steps {
				step()
			}
		})
		if perEvent := allocs / steps; perEvent > 0.001 {
			t.Errorf("%d pending: %.4f allocations per event", 2*n, perEvent)
		}
	}
}

// The queue of a peak must not stay after it.
func TestMemoryFollowsPending(t *testing.T) {
	var before, peak, after runtime.MemStats
	e := NewEngine(Never, 0)
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 400_000
	s := Streams{}.Stream("peak")
	for i := range uint64(n) {
		e.At(Time(s.Uint64n(uint64(Second))), Kind(s.Uint64n(high)), i)
	}
	runtime.GC()
	runtime.ReadMemStats(&peak)
	for {
		if _, _, ok := e.Next(); !ok {
			break
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := float64(peak.HeapAlloc-before.HeapAlloc) / n; got > 18 {
		t.Errorf("%.1f bytes per pending event, want about 16.6", got)
	}
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 256<<10 {
		t.Errorf("%d bytes are left after the peak", got)
	}
	runtime.KeepAlive(e)
}
