package model

import (
	"slices"
	"testing"

	"brokersim/sim"
)

const flushTestMs = sim.Millisecond

// TestFlushThread follows the thread through cases worked out by hand (facts
// §7.2): when it flushes, how far.
func TestFlushThread(t *testing.T) {
	type put struct {
		at    sim.Time
		wrote int64
	}
	type flush struct {
		from, until sim.Time
		target      int64
	}
	const ms, page = flushTestMs, pageSize
	for _, c := range []struct {
		name     string
		mode     FlushMode
		fileSize int64
		puts     []put
		until    sim.Time
		want     []flush
	}{
		{"four pages are flushed at the next look", FlushTimed, 1 << 20, []put{{100 * ms, 4 * page}}, 3000 * ms,
			[]flush{{500 * ms, 510 * ms, 4 * page}}},
		{"three are not, nor four bytes short of four", FlushTimed, 1 << 20, []put{{100 * ms, 3 * page}, {700 * ms, 4*page - 4}}, 3000 * ms, nil},
		{"it sleeps after a flush, not from its beginning", FlushTimed, 1 << 20, []put{{100 * ms, 4 * page}, {505 * ms, 9 * page}}, 3000 * ms,
			[]flush{{500 * ms, 510 * ms, 4 * page}, {1010 * ms, 1020 * ms, 9 * page}}},
		{"whole pages count, from the page flushed last", FlushTimed, 1 << 20, []put{{100 * ms, 4*page + 4000}, {600 * ms, 8 * page}}, 1100 * ms,
			[]flush{{500 * ms, 510 * ms, 4*page + 4000}, {1010 * ms, 1020 * ms, 8 * page}}},
		{"a byte is flushed after 10 s", FlushTimed, 1 << 20, []put{{100 * ms, 1}}, 10_600 * ms,
			[]flush{{10_500 * ms, 10_510 * ms, 1}}},
		{"a full file first, the next one at the next look", FlushTimed, 8 * page, []put{{100 * ms, 13 * page}}, 2000 * ms,
			[]flush{{500 * ms, 510 * ms, 8 * page}, {1010 * ms, 1020 * ms, 13 * page}}},
		{"a full file whatever is dirty of it", FlushTimed, 2 * page, []put{{100 * ms, 2*page + 10}}, 3000 * ms,
			[]flush{{500 * ms, 510 * ms, 2 * page}}},
		{"a put wakes it", FlushWoken, 1 << 20, []put{{100 * ms, 4 * page}, {200 * ms, 5 * page}}, 400 * ms,
			[]flush{{100 * ms, 110 * ms, 4 * page}}},
		{"a put during a flush has it look again at once", FlushWoken, 1 << 20, []put{{100 * ms, 4 * page}, {105 * ms, 8 * page}}, 400 * ms,
			[]flush{{100 * ms, 110 * ms, 4 * page}, {110 * ms, 120 * ms, 8 * page}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := flushThread{mode: c.mode, interval: 500 * ms, thorough: 10_000 * ms, leastPages: 4, fileSize: c.fileSize, takes: sampler{constant: 10 * ms}, next: 500 * ms}
			f.decide(0)
			var got []flush
			look := func(until sim.Time) {
				for {
					at := f.next
					if f.flushing {
						at = f.until
					}
					if at > until {
						return
					}
					n := f.flushes
					f.advance(at)
					if f.flushes > n {
						got = append(got, flush{f.from, f.until, f.target})
					}
				}
			}
			for _, p := range c.puts {
				look(p.at)
				f.appended(p.at, p.wrote)
			}
			look(c.until)
			if !slices.Equal(got, c.want) {
				t.Errorf("flushes: got %v, want %v", got, c.want)
			}
		})
	}
}

// TestFlushPhases: the first append after either end of a flush is told apart.
func TestFlushPhases(t *testing.T) {
	const ms = flushTestMs
	f := flushThread{interval: 500 * ms, thorough: 10_000 * ms, leastPages: 4, fileSize: 1 << 20, takes: sampler{constant: 10 * ms}, next: 500 * ms}
	f.decide(0)
	f.appended(1*ms, 4*pageSize)
	for _, c := range []struct {
		at   sim.Time
		want Phase
	}{
		{499 * ms, PhaseOutside}, {500 * ms, PhaseFirst}, {500 * ms, PhaseInside}, {509 * ms, PhaseInside},
		{510 * ms, PhaseFirst}, {511 * ms, PhaseOutside},
	} {
		f.advance(c.at)
		if got := f.phase(); got != c.want {
			t.Errorf("at %v: got %v, want %v", c.at, got, c.want)
		}
	}
}

// TestFlushMode: which releases and settings have puts wake the thread.
func TestFlushMode(t *testing.T) {
	set := func(v bool) *bool { return &v }
	for _, c := range []struct {
		release     string
		timed, wake *bool
		want        FlushMode
	}{
		{"4.2.0", nil, nil, FlushWoken},
		{"4.3.2", nil, nil, FlushWoken},
		{"4.9.0", nil, nil, FlushWoken},
		{"4.9.0", set(true), nil, FlushTimed},
		{"4.9.1", nil, nil, FlushTimed},
		{"5.3.1", set(false), nil, FlushWoken},
		{"5.3.2", set(false), nil, FlushTimed},
		{"5.3.2", set(false), set(true), FlushWoken},
		{"5.3.3", nil, set(true), FlushTimed}, // it sleeps and does not notice
	} {
		s, err := Defaults(c.release, 2)
		if err != nil {
			t.Fatal(err)
		}
		if c.timed != nil {
			s.FlushCommitLogTimed = *c.timed
		}
		if c.wake != nil {
			s.WakeFlushWhenPutMessage = *c.wake
		}
		traits, _ := TraitsOf(c.release)
		if got := traits.FlushMode(&s); got != c.want {
			t.Errorf("%s, timed %v, wake %v: got %v, want %v", c.release, s.FlushCommitLogTimed, s.WakeFlushWhenPutMessage, got, c.want)
		}
	}
}
