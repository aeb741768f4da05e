package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// Stream is a named source of random bits: the 128-bit permuted congruential
// generator of math/rand/v2 (PCG-DXSM). The same stream gives the same bits on
// every architecture and in every version.
type Stream struct{ rand.PCG }

// Streams makes the streams of one replication. A stream depends on the root
// seed, the replication and its name only: adding a stream, or a draw to one,
// moves no other, and two configurations that use the same names see the same
// arrivals, services and stalls (common random numbers).
type Streams struct {
	Seed        uint64
	Replication uint64
}

// Stream returns the stream of that name, at its start: asked twice for one
// name it gives the same numbers twice.
//
// The generator's state is the first half of a SHA-256 over seed, replication
// and name, so streams of nearby seeds, replications and names have nothing in
// common. All lie on one cycle of length 2^128: that any two of a million
// streams of 2^40 draws each overlap has probability below 2^-47.
func (s Streams) Stream(name string) *Stream {
	b := []byte("brokersim stream 1\x00")
	b = binary.BigEndian.AppendUint64(b, s.Seed)
	b = binary.BigEndian.AppendUint64(b, s.Replication)
	b = append(b, name...)
	h := sha256.Sum256(b)
	st := &Stream{}
	st.Seed(binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:16]))
	return st
}

// Of returns the streams of a part that has the same names as another: none of
// them has anything in common with s's own.
func (s Streams) Of(part string) Streams {
	return Streams{Seed: s.Stream("of " + part).Uint64(), Replication: s.Replication}
}

// Float64 returns a multiple of 2^-53 in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Uint64n returns an integer in [0, n), each equally likely; 0 if n is 0.
// (Lemire, "Fast random integer generation in an interval", 2019.)
func (s *Stream) Uint64n(n uint64) uint64 {
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Perm returns a permutation of 0..n-1, each equally likely.
func (s *Stream) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		j := int(s.Uint64n(uint64(i) + 1))
		p[i] = p[j]
		p[j] = i
	}
	return p
}
