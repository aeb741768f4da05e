package sim

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// A driver performs operations on an engine and on the reference and compares
// all that can be seen.
type driver struct {
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	e      *Engine
	r      *reference
	timers []Timer
	seqs   []uint64
	arg    uint64
}

func newDriver(t interface {
	Helper()
	Fatalf(string, ...any)
}, horizon Time) *driver {
	return &driver{t: t, e: NewEngine(horizon, 0), r: &reference{horizon: horizon}}
}

func (d *driver) schedule(delay Time, class int, timer bool) {
	if delay > MaxTime-d.e.Now() {
		delay = MaxTime - d.e.Now()
	}
	d.arg++
	k := MakeKind(class, int(d.arg%KindsPerClass))
	t := d.e.Now() + delay
	seq := d.r.at(t, k, d.arg)
	if timer {
		d.timers = append(d.timers, d.e.StartTimer(t, k, d.arg))
		d.seqs = append(d.seqs, seq)
	} else {
		d.e.At(t, k, d.arg)
	}
}

// cancel cancels the i-th last timer, fired or cancelled already or not.
func (d *driver) cancel(i int) {
	d.t.Helper()
	if len(d.timers) == 0 {
		return
	}
	i = len(d.timers) - 1 - i%len(d.timers)
	got, want := d.e.Cancel(d.timers[i]), d.r.cancel(d.seqs[i])
	if got != want {
		d.t.Fatalf("cancel of timer %d at %v: got %v, want %v", i, d.e.Now(), got, want)
	}
	if got && d.e.dead > max(sweepMin, d.e.Pending()) {
		d.t.Fatalf("%d cancelled events wait for a sweep among %d pending", d.e.dead, d.e.Pending())
	}
}

func (d *driver) next() bool {
	d.t.Helper()
	k, arg, ok := d.e.Next()
	wk, warg, wok := d.r.next()
	if k != wk || arg != warg || ok != wok || d.e.Now() != d.r.now || d.e.Pending() != len(d.r.h) {
		d.t.Fatalf("next: got kind %v, argument %d, %v at %d with %d pending; want %v, %d, %v at %d with %d pending",
			k, arg, ok, d.e.Now(), d.e.Pending(), wk, warg, wok, d.r.now, len(d.r.h))
	}
	return ok
}

func (d *driver) extend(by Time) {
	if d.r.horizon > MaxTime-by {
		return
	}
	d.r.horizon += by
	d.e.SetHorizon(d.r.horizon)
}

// check looks inside: the invariants of pending, and the books of timers.
func (d *driver) check() {
	d.t.Helper()
	q := &d.e.q
	events, dead, timers := 0, 0, 0
	count := func(ev event) {
		events++
		if ev.a >= timerFlag {
			timers++
			if d.e.slots[uint32(ev.a)].cancelled {
				dead++
			}
		}
	}
	for i, ev := range q.near[:q.n] {
		count(ev)
		if i > 0 && ev.key > q.near[i-1].key || ev.key >= q.nearEnd && q.base != q.nearEnd {
			d.t.Fatalf("near holds %#x at %d of %d, nearEnd %#x", ev.key, i, q.n, q.nearEnd)
		}
	}
	chunks := 0
	for i, b := range &q.bucket {
		if (b.head != nil) != (q.occupied[i/64]>>(i%64)&1 == 1) {
			d.t.Fatalf("bucket %d is not as the bit map says", i)
		}
		for c := b.head; c != nil; c = c.next {
			chunks++
			n := c.n
			if c == b.tail {
				n = chunkLen - b.room
			}
			for _, ev := range c.ev[:n] {
				count(ev)
				level := (bits.Len64((ev.key^q.base)|1) - 1) / 4
				if want := 16*level + int(ev.key>>(4*level)&15); i != want || ev.key < q.nearEnd || ev.key < q.base {
					d.t.Fatalf("bucket %d holds %#x, base %#x, nearEnd %#x, want bucket %d", i, ev.key, q.base, q.nearEnd, want)
				}
			}
		}
	}
	switch {
	case events != d.e.Pending()+dead || dead != d.e.dead:
		d.t.Fatalf("%d events, %d of them cancelled, in the queue; the books say %d pending and %d cancelled", events, dead, d.e.Pending(), d.e.dead)
	case timers+len(d.e.spare) != len(d.e.slots):
		d.t.Fatalf("%d slots for %d timers and %d spare", len(d.e.slots), timers, len(d.e.spare))
	case chunks != q.nUsed:
		d.t.Fatalf("%d chunks, want %d", q.nUsed, chunks)
	}
}

func (d *driver) drain() {
	d.t.Helper()
	d.check()
	d.r.horizon = Never
	d.e.SetHorizon(Never)
	for d.next() {
	}
	d.check()
	if err := d.e.Err(); err != nil {
		d.t.Fatalf("error %v", err)
	}
}

// delays of every size, with many ties.
func delayFrom(scale, x uint64) Time {
	switch scale % 8 {
	case 0:
		return 0
	case 1:
		return Time(x % 4)
	case 2:
		return Time(x%16) * 10
	case 3:
		return Time(x % 300)
	case 4:
		return Time(x%8) * Millisecond
	case 5:
		return Time(x % uint64(Second))
	case 6:
		return Time(x % uint64(100*Hour))
	}
	return Time(x % uint64(MaxTime))
}

func TestOrderEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		horizon := Never
		if rapid.Bool().Draw(t, "bounded") {
			horizon = delayFrom(rapid.Uint64().Draw(t, "scale"), rapid.Uint64().Draw(t, "horizon"))
		}
		d := newDriver(t, horizon)
		delay := rapid.Custom(func(t *rapid.T) Time {
			return delayFrom(rapid.Uint64().Draw(t, "scale"), rapid.Uint64().Draw(t, "x"))
		})
		class := rapid.IntRange(0, Classes-1)
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				d.schedule(delay.Draw(t, "delay"), class.Draw(t, "class"), rapid.Bool().Draw(t, "timer"))
			},
			"burst": func(t *rapid.T) {
				at, c := delay.Draw(t, "delay"), class.Draw(t, "class")
				for range rapid.IntRange(1, 150).Draw(t, "n") {
					d.schedule(at, c, false)
				}
			},
			"spread": func(t *rapid.T) {
				scale, seed := rapid.Uint64().Draw(t, "scale"), rapid.Uint64().Draw(t, "seed")
				rng := rand.New(rand.NewPCG(seed, 0))
				for range rapid.IntRange(1, 150).Draw(t, "n") {
					d.schedule(delayFrom(scale, rng.Uint64()), rng.IntN(Classes), rng.IntN(2) == 0)
				}
			},
			"cancel": func(t *rapid.T) { d.cancel(rapid.IntRange(0, 1000).Draw(t, "timer")) },
			"cancel many": func(t *rapid.T) {
				first := rapid.IntRange(0, 100).Draw(t, "timer")
				for i := range rapid.IntRange(1, 300).Draw(t, "n") {
					d.cancel(first + i)
				}
			},
			"next": func(*rapid.T) { d.next() },
			"next many": func(t *rapid.T) {
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					d.next()
				}
			},
			"":       func(*rapid.T) { d.check() }, // after each of the others
			"extend": func(t *rapid.T) { d.extend(delay.Draw(t, "by")) },
		})
		d.drain()
	})
}

// The events are rescheduled while they are handled, among many pending ones,
// as in a model; so near fills, spills and refills all the time.
func TestOrderInLongRuns(t *testing.T) {
	for _, test := range []struct {
		name           string
		pending, steps int
		scale          func(*rand.Rand) uint64
	}{
		{"tiny", 3, 20_000, func(r *rand.Rand) uint64 { return 5 }},
		{"near only", 60, 20_000, func(r *rand.Rand) uint64 { return 5 }},
		{"uniform", 2000, 30_000, func(r *rand.Rand) uint64 { return 5 }},
		{"same instant", 300, 30_000, func(r *rand.Rand) uint64 { return uint64(r.IntN(40) / 38) }},
		{"few instants", 3000, 30_000, func(r *rand.Rand) uint64 { return 4 }},
		{"all scales but the largest", 1000, 30_000, func(r *rand.Rand) uint64 { return uint64(r.IntN(6)) }},
		{"short and long", 5000, 30_000, func(r *rand.Rand) uint64 { return 3 + uint64(r.IntN(2)*r.IntN(2)*3) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			d := newDriver(t, Hour)
			add := func() {
				d.schedule(delayFrom(test.scale(rng), rng.Uint64()), rng.IntN(Classes), rng.IntN(4) == 0)
			}
			for range test.pending {
				add()
			}
			for i := range test.steps {
				if i%1000 == 0 {
					d.check()
				}
				if !d.next() {
					d.extend(Hour)
				}
				if d.e.Pending() < test.pending || rng.IntN(2) == 0 {
					add()
				}
				if d.e.Pending() > test.pending && rng.IntN(4) == 0 {
					d.cancel(rng.IntN(100))
				}
			}
			d.drain()
		})
	}
}

func FuzzOrder(f *testing.F) {
	f.Add(uint64(0), []byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"))
	f.Add(uint64(3), []byte{0x60, 0x60, 0x60, 0x90, 0x91, 0xe5, 0xa0, 0xb3, 0x61, 0xc1, 0xe5})
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		if len(ops) > 64 {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		d := newDriver(t, delayFrom(seed, seed>>3))
		for _, op := range ops {
			n := 1 + int(op&15)
			switch scale := uint64(op >> 4); {
			case scale < 8:
				delay := delayFrom(scale, rng.Uint64())
				for range n * n {
					if op&1 == 0 {
						delay = delayFrom(scale, rng.Uint64())
					}
					d.schedule(delay, rng.IntN(Classes), rng.IntN(2) == 0)
				}
			case scale < 10:
				for i := range n * n {
					d.cancel(i + int(scale))
				}
			case scale < 12:
				d.extend(delayFrom(uint64(n), rng.Uint64()))
			default:
				for range n * n {
					d.next()
				}
			}
		}
		d.drain()
	})
}

// A queue that held nothing but cancelled timers has looked past the clock.
func TestOrderAfterCancelledTimersRanOut(t *testing.T) {
	d := newDriver(t, Never)
	for i := range Time(100) {
		d.schedule(i, 15, false)
	}
	for i := range Time(60) {
		d.schedule(Hour+i*Minute, 3, true)
	}
	for range 100 {
		d.next()
	}
	for i := range 60 {
		d.cancel(i)
	}
	if d.next() {
		t.Fatal("a cancelled timer fired")
	}
	for i := range Time(300) {
		d.schedule(300-i, int(i)%Classes, false)
	}
	d.drain()
}

// Timers that are nearly always cancelled must not pile up.
func TestCancelledTimersAreSwept(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := newDriver(t, Never)
	for i := range 20_000 {
		d.schedule(Time(rng.Uint64N(uint64(Hour))), rng.IntN(Classes), true)
		if i >= 50 {
			d.cancel(50)
		}
		if i%100 == 0 {
			d.schedule(Time(rng.Uint64N(uint64(Second))), rng.IntN(Classes), false)
			d.next()
			d.check()
		}
	}
	if n := len(d.e.slots); n > 50+sweepMin+2 {
		t.Errorf("%d slots for 50 timers", n)
	}
	d.drain()
}
