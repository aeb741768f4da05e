package stat

import (
	"math/big"
	"math/bits"
)

// sum128 is a signed 128-bit sum in two's complement.
type sum128 struct {
	hi int64
	lo uint64
}

func (s *sum128) add(v int64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(v), 0)
	s.hi += v>>63 + int64(carry)
}

// addProduct adds v*w for w >= 0.
func (s *sum128) addProduct(v, w int64) {
	hi, lo := bits.Mul64(uint64(v), uint64(w))
	if v < 0 {
		hi -= uint64(w)
	}
	s.merge(sum128{int64(hi), lo})
}

func (s *sum128) merge(o sum128) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + int64(carry)
}

func (s *sum128) big() *big.Int {
	b := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	return b.Add(b, new(big.Int).SetUint64(s.lo))
}

// over returns the sum divided by n > 0, correctly rounded.
func (s *sum128) over(n int64) float64 { return quotient(s.big(), big.NewInt(n)) }

// sum192 is a sum of squares. It holds 2^64 squares of any int64.
type sum192 [3]uint64 // least significant word first

func (s *sum192) addSquare(v int64) {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	hi, lo := bits.Mul64(u, u)
	var carry uint64
	s[0], carry = bits.Add64(s[0], lo, 0)
	s[1], carry = bits.Add64(s[1], hi, carry)
	s[2] += carry
}

func (s *sum192) merge(o sum192) {
	var carry uint64
	s[0], carry = bits.Add64(s[0], o[0], 0)
	s[1], carry = bits.Add64(s[1], o[1], carry)
	s[2] += o[2] + carry
}

func (s *sum192) big() *big.Int {
	b := new(big.Int)
	for i := 2; i >= 0; i-- {
		b.Lsh(b, 64)
		b.Add(b, new(big.Int).SetUint64(s[i]))
	}
	return b
}

// quotient returns a/b correctly rounded, so that no order of operations and
// no architecture shows in it.
func quotient(a, b *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(a, b).Float64()
	return f
}
