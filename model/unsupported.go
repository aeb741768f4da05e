package model

// Unsupported lists what a release does and this version doesn't simulate, so
// that a run can say so.
func (t *Traits) Unsupported() []string {
	var out []string
	if t.CallbacksInSend {
		out = append(out, "release "+t.Release+" puts response callbacks into the send queue, where they count in \"size of queue\" and stop the sweep: not simulated yet")
	}
	if t.SweepDumpsStacks {
		out = append(out, "release "+t.Release+" dumps all thread stacks on the sweeper thread after a timeout, at most once in 15 s: not simulated yet")
	}
	return out
}
