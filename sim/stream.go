package sim

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream is a named source of random bits: rand/v2's PCG, seeded from the
// root seed, the replication and the stream's name (design: common random
// numbers).
type Stream struct{ rand.PCG }

// Streams makes the streams of one replication.
type Streams struct {
	Seed        uint64
	Replication uint64
}

// Stream returns the stream of that name, at its start.
func (s Streams) Stream(name string) *Stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	n := h.Sum64()
	st := &Stream{}
	st.Seed(mix64(s.Seed^mix64(n)), mix64(s.Replication+0x9e3779b97f4a7c15^n))
	return st
}

func mix64(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Float64 returns a multiple of 2^-53 in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }
