package model

import (
	"fmt"
	"testing"

	"brokersim/sim"
)

func constantly(t sim.Time) sampler { return sampler{constant: t} }

// TestStallEnd asks a set, in turn, when what begins now and would last 1 ms
// ends.
func TestStallEnd(t *testing.T) {
	const ms = sim.Millisecond
	type ask struct {
		now, end sim.Time // in ms
		stalled  bool
	}
	once := func(at, length sim.Time) onceStall { return onceStall{at * ms, constantly(length * ms)} }
	every := func(at, every, length sim.Time) stallSource {
		return stallSource{at: at * ms, every: constantly(every * ms), length: constantly(length * ms), until: Absent}
	}
	for _, c := range []struct {
		name string
		set  stallSet
		asks []ask
	}{
		{"none", stallSet{}, []ask{{5, 6, false}}},
		{"once, before", stallSet{once: []onceStall{once(10, 100)}}, []ask{{9, 10, false}}},
		{"once, at its time", stallSet{once: []onceStall{once(10, 100)}}, []ask{{10, 111, true}, {111, 112, false}}},
		{"once, in full by whoever comes first", stallSet{once: []onceStall{once(10, 100)}}, []ask{{500, 601, true}, {601, 602, false}}},
		{"once, of length 0", stallSet{once: []onceStall{once(10, 0)}}, []ask{{10, 11, true}, {11, 12, false}}},
		{"two that are due: both in full", stallSet{once: []onceStall{once(20, 50), once(10, 100)}}, []ask{{30, 181, true}, {181, 182, false}}},
		{"the second falls into the first", stallSet{once: []onceStall{once(10, 100), once(20, 50)}}, []ask{{10, 111, true}, {111, 162, true}, {162, 163, false}}},
		{"window, before", stallSet{windows: []window{{10 * ms, 100 * ms}}}, []ask{{9, 10, false}}},
		{"window, at its begin", stallSet{windows: []window{{10 * ms, 100 * ms}}}, []ask{{10, 100, true}, {100, 101, false}}},
		{"window, all that begin inside", stallSet{windows: []window{{10 * ms, 100 * ms}}}, []ask{{11, 100, true}, {50, 100, true}, {99, 100, true}, {100, 101, false}}},
		{"window, shorter than what it would take", stallSet{windows: []window{{10 * ms, 10*ms + 1}}}, []ask{{10, 11, true}}},
		{"windows that overlap", stallSet{windows: []window{{50 * ms, 200 * ms}, {10 * ms, 100 * ms}, {20 * ms, 30 * ms}}},
			[]ask{{40, 100, true}, {60, 200, true}, {100, 200, true}, {200, 201, false}}},
		{"window in a long one", stallSet{windows: []window{{10 * ms, 100 * ms}, {20 * ms, 30 * ms}, {90 * ms, 300 * ms}}}, []ask{{35, 100, true}, {95, 300, true}}},
		{"again and again", stallSet{recurs: []stallSource{every(10, 100, 30)}},
			[]ask{{9, 10, false}, {10, 41, true}, {41, 42, false}, {109, 110, false}, {110, 141, true}, {450, 481, true}, {481, 482, false}, {510, 541, true}}},
		{"longer than its period: those within don't begin", stallSet{recurs: []stallSource{every(10, 100, 250)}}, []ask{{10, 261, true}, {261, 262, false}, {310, 561, true}}},
		{"next falls on the end: it doesn't begin", stallSet{recurs: []stallSource{every(10, 101, 100)}}, []ask{{10, 111, true}, {111, 112, false}, {212, 313, true}}},
		{"window and once: in full, and not before the window ends", stallSet{once: []onceStall{once(10, 100)}, windows: []window{{10 * ms, 50 * ms}}}, []ask{{10, 111, true}}},
		{"once in a longer window", stallSet{once: []onceStall{once(10, 20)}, windows: []window{{10 * ms, 50 * ms}}}, []ask{{10, 50, true}}},
		{"once and again at one time: one after the other", stallSet{once: []onceStall{once(10, 20)}, recurs: []stallSource{every(10, 100, 30)}}, []ask{{10, 61, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.set.sort()
			for _, a := range c.asks {
				got := c.set.end(a.now*ms, (a.now+1)*ms)
				if got.at != a.end*ms || got.stalled != a.stalled {
					t.Errorf("at %d ms: got %v %v, want %d ms %v", a.now, got.at, got.stalled, a.end, a.stalled)
				}
			}
		})
	}
}

// TestStallServed: a wait for a core comes on top of a length, never of a
// window.
func TestStallServed(t *testing.T) {
	once := stallSet{once: []onceStall{{0, constantly(5)}}}
	windows := stallSet{windows: []window{{0, 5}}}
	if !once.end(0, 1).served || windows.end(0, 1).served {
		t.Error("want a length served, a window not")
	}
}

// TestSkipTo: whatever the time, the next occurrence is the first after it.
func TestSkipTo(t *testing.T) {
	for _, c := range []struct{ at, every, to, want sim.Time }{
		{10, 100, 0, 110}, {10, 100, 10, 110}, {10, 100, 109, 110}, {10, 100, 110, 210}, {10, 100, 111, 210}, {10, 1, 1_000_000_000, 1_000_000_001},
	} {
		r := stallSource{at: c.at, every: constantly(c.every)}
		if r.skipTo(c.to); r.at != c.want {
			t.Errorf("every %d from %d, after %d: got %d, want %d", c.every, c.at, c.to, r.at, c.want)
		}
	}
	streams := sim.Streams{Seed: 1}
	random := stallSource{every: newSampler(must("exponential(mean=10ms)"), streams.Stream("a"))}
	onceMore := random
	onceMore.every.stream = streams.Stream("a")
	// Skipping moves along the same occurrences.
	var all []sim.Time
	for range 1000 {
		all = append(all, onceMore.at)
		onceMore.skipTo(onceMore.at)
	}
	for i, to := 0, sim.Time(0); to < 5*sim.Second; to += 77 * sim.Millisecond {
		random.skipTo(to)
		for all[i] <= to {
			i++
		}
		if random.at != all[i] {
			t.Fatalf("after %v: got %v, want %v", to, random.at, all[i])
		}
	}
}

// TestFIFO of workers against a slice.
func TestFIFO(t *testing.T) {
	stream := sim.Streams{Seed: 1}.Stream("ops")
	var f fifo[uint32]
	var want []uint32
	for i := range uint32(20000) {
		switch op := stream.Uint64n(5); {
		case op < 2 || len(want) == 0 || len(want) < 100 && i < 1000:
			f.push(i)
			want = append(want, i)
		case op == 2:
			at := int(stream.Uint64n(uint64(len(want))))
			if got := f.removeAt(at); got != want[at] {
				t.Fatalf("removeAt(%d): got %d, want %d", at, got, want[at])
			}
			want = append(want[:at:at], want[at+1:]...)
		default:
			if got, ok := f.pop(); !ok || got != want[0] {
				t.Fatalf("pop: got %d, want %d", got, want[0])
			}
			want = want[1:]
		}
		if f.n != len(want) {
			t.Fatalf("length: got %d, want %d", f.n, len(want))
		}
	}
	if _, ok := new(fifo[uint32]).pop(); ok {
		t.Error("an empty one popped")
	}
}

// TestCPUWait: nobody waits while a core is free; else from half a round of
// the spinning threads to one and a half.
func TestCPUWait(t *testing.T) {
	c := cpu{cores: 2, quantum: 3 * sim.Millisecond, stream: sim.Streams{Seed: 1}.Stream("cpu")}
	for _, spinning := range []int{0, 1} {
		if w := c.wait(spinning); w != 0 {
			t.Errorf("%d spinning: waits %v", spinning, w)
		}
	}
	for _, spinning := range []int{2, 3, 31} {
		round := c.quantum * sim.Time(spinning) / 2
		low, high := round*10, sim.Time(0)
		for range 10000 {
			w := c.wait(spinning)
			low, high = min(low, w), max(high, w)
		}
		if got, want := fmt.Sprint(low/sim.Millisecond, high/sim.Millisecond), fmt.Sprint(round/2/sim.Millisecond, round*3/2/sim.Millisecond); low < round/2 || high > round/2+round || high-low < round*99/100 {
			t.Errorf("%d spinning: waits %s ms, want about %s", spinning, got, want)
		}
	}
}
