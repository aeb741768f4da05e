package sim

// Fingerprint is a running hash of a trajectory, from the zero value on. Two
// runs with the same fingerprint took, for all practical purposes, the same
// course; it tells runs apart and is no defence against forgery.
//
// What goes in is the model's choice and part of its contract. Fold in, for
// each event that matters and in this order, what the event is and when
// (MixEvent) and then what came of it (Mix): an outcome, a queue length.
// Leave out what doesn't belong to the trajectory, such as statistics, slots
// of slabs, and events that only observe.
//
// The order of the words counts, as do zeros.
type Fingerprint uint64

// Mix folds a word in. For each word it permutes the 2^64 states, and for each
// state the words: a single difference is never lost in the step it occurs in,
// and spreads over all bits.
func (f *Fingerprint) Mix(x uint64) {
	const m = 0xe9846af9b1a615d // Maiga's xmxmx mixer
	h := uint64(*f) ^ x
	h += 0x9e3779b97f4a7c15
	h ^= h >> 32
	h *= m
	h ^= h >> 32
	h *= m
	h ^= h >> 28
	*f = Fingerprint(h)
}

// MixEvent folds an event in: its time, kind and argument.
func (f *Fingerprint) MixEvent(t Time, k Kind, arg uint64) {
	f.Mix(uint64(t))
	f.Mix(uint64(k)<<48 ^ arg)
}
