package sim

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These bits are promised: a change of them changes every fingerprint.
func TestStreamFirstDraws(t *testing.T) {
	for _, test := range []struct {
		s    Streams
		name string
		want []uint64
	}{
		{Streams{}, "", []uint64{0x929223fdd0457ce3, 0xe8acdaf7a7022d6c, 0x915a94359f062674}},
		{Streams{1, 0}, "arrivals", []uint64{0x3e7ceb896c535ae3, 0x37468b524cfcd44c, 0xd7b4b6b3357a0e5a}},
		{Streams{1, 1}, "arrivals", []uint64{0x4611e949a6e1283, 0x65a7545c53189b2e, 0xb25838d76d947d97}},
		{Streams{1 << 63, 1 << 40}, "stall/append", []uint64{0x1c4f2dca28ea99e1, 0x529502612e37dff1, 0x9c44cd55b41c030a}},
	} {
		st := test.s.Stream(test.name)
		got := []uint64{st.Uint64(), st.Uint64(), st.Uint64()}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%+v %q: first draws (-want +got):\n%s", test.s, test.name, d)
		}
	}
	st := Streams{Seed: 1}.Stream("arrivals")
	if got, want := fmt.Sprint(st.Float64(), st.Uint64n(1000), st.Uint64n(3<<62), st.Perm(8)), "0.24409362893159192 215 11657436821081262787 [2 5 7 1 4 6 0 3]"; got != want {
		t.Errorf("draws: got %s, want %s", got, want)
	}
}

// Streams whose seed, replication and name differ in one place only must agree
// in half of their bits, draw by draw and shifted.
func TestStreamsOfNeighboursAreIndependent(t *testing.T) {
	const draws = 32
	names := []string{"", "a", "b", "aa", "ab", "ba", "arrivals", "arrivals2", "service/1", "service/2"}
	numbers := []uint64{0, 1, 2, 3, 4, 1 << 32, 1 << 63}
	type stream struct {
		id   string
		word [draws]uint64
	}
	var all []stream
	for _, seed := range numbers {
		for _, rep := range numbers {
			for _, name := range names {
				st := Streams{seed, rep}.Stream(name)
				s := stream{id: fmt.Sprintf("seed %d replication %d name %q", seed, rep, name)}
				for i := range s.word {
					s.word[i] = st.Uint64()
				}
				all = append(all, s)
			}
		}
	}
	n := float64(draws * 64)
	var chi2, pairs float64
	for i := range all {
		for j := range i {
			agree, shifted := 0, 0
			for k := range draws {
				agree += 64 - bits.OnesCount64(all[i].word[k]^all[j].word[k])
				shifted += 64 - bits.OnesCount64(all[i].word[k]^all[j].word[(k+1)%draws])
			}
			for _, a := range []int{agree, shifted} {
				z := (float64(a) - n/2) / math.Sqrt(n/4)
				if math.Abs(z) > 6 { // among 240,000: 1 in 2,000 runs
					t.Errorf("%s and %s agree in %d of %.0f bits", all[i].id, all[j].id, a, n)
				}
				chi2 += float64(z * z)
				pairs++
			}
		}
	}
	if dev := math.Abs(chi2-pairs) / math.Sqrt(2*pairs); dev > 5 {
		t.Errorf("agreement of all pairs: mean square %.4f, want 1", chi2/pairs)
	}
}

// A stream does not depend on what other streams there are, nor on their use.
func TestStreamsDoNotMoveEachOther(t *testing.T) {
	s := Streams{Seed: 7, Replication: 3}
	alone := s.Stream("service")
	other, again := s.Stream("arrivals"), s.Stream("service")
	for range 100 {
		other.Uint64()
		if a, b := alone.Uint64(), again.Uint64(); a != b {
			t.Fatalf("got %#x, want %#x", b, a)
		}
	}
}

func TestUint64nAndPermAreUniform(t *testing.T) {
	st := Streams{Seed: 1}.Stream("test")
	if got := st.Uint64n(0); got != 0 {
		t.Errorf("Uint64n(0) = %d", got)
	}
	// Two thirds of 2^64: the naive remainder would hit the lower half twice as often.
	const n = 100_000
	low := 0
	for range n {
		x := st.Uint64n(3 << 62)
		if x >= 3<<62 {
			t.Fatalf("Uint64n(3<<62) = %#x", x)
		}
		if x < 3<<61 {
			low++
		}
	}
	if z := (float64(low) - n/2) / math.Sqrt(n/4); math.Abs(z) > 4 {
		t.Errorf("%d of %d in the lower half", low, n)
	}
	count := map[[4]int]int{}
	for range n {
		count[[4]int(st.Perm(4))]++
	}
	var chi2 float64
	for _, c := range count {
		d := float64(c) - n/24.
		chi2 += float64(d*d) / (n / 24.)
	}
	if len(count) != 24 || chi2 > 49.7 { // 23 degrees of freedom at 0.1 %
		t.Errorf("%d permutations of 4, chi-square %.1f", len(count), chi2)
	}
}
