package sim

// Fingerprint is a running hash of a trajectory.
type Fingerprint uint64

// Mix folds a word in.
func (f *Fingerprint) Mix(x uint64) {
	h := uint64(*f) ^ x
	h *= 0x9e3779b97f4a7c15
	*f = Fingerprint(h ^ h>>29)
}
