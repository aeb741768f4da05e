package sim

import (
	"math"
	"math/bits"
	"testing"
)

func fingerprintOf(words ...uint64) (f Fingerprint) {
	for _, x := range words {
		f.Mix(x)
	}
	return f
}

func TestFingerprintTellsApart(t *testing.T) {
	seen := map[Fingerprint][]uint64{}
	add := func(words ...uint64) {
		t.Helper()
		f := fingerprintOf(words...)
		if old, ok := seen[f]; ok {
			t.Errorf("%d and %d have fingerprint %016x", old, words, f)
		}
		seen[f] = words
	}
	add()
	add(0, 0)
	add(0, 0, 0)
	for _, w := range []uint64{0, 1, 2, 1 << 63} {
		add(w)
		for x := uint64(3); x < 100; x++ {
			add(w, x) // order and leading or trailing zeros count
			add(w, x, 0)
			add(0, w, x)
			add(w, x, 1<<63)
		}
	}
	if got, want := fingerprintOf(1, 2, 3), Fingerprint(0xb15482404db73d1f); got != want {
		t.Errorf("fingerprint of 1, 2, 3: got %#x, want %#x", got, want)
	}
	var a Fingerprint
	a.MixEvent(5, MakeKind(3, 4), 6)
	if b := fingerprintOf(5, uint64(MakeKind(3, 4))<<48|6); a != b {
		t.Errorf("MixEvent: got %#x, want %#x", a, b)
	}
}

// Each bit of a word flips each bit of the fingerprint half of the time.
func TestFingerprintAvalanche(t *testing.T) {
	const n = 2000
	st := Streams{Seed: 1}.Stream("avalanche")
	for bit := range 64 {
		var flips [64]int
		for range n {
			f := Fingerprint(st.Uint64())
			g := f
			x := st.Uint64()
			f.Mix(x)
			g.Mix(x ^ 1<<bit)
			for d := uint64(f ^ g); d != 0; d &= d - 1 {
				flips[bits.TrailingZeros64(d)]++
			}
		}
		for out, c := range flips {
			if math.Abs(float64(c)/n-0.5) > 0.1 {
				t.Errorf("bit %d flips bit %d of the fingerprint in %d of %d", bit, out, c, n)
			}
		}
	}
}
