package sim

// Advance moves the clock to t as if an event of kind k had been scheduled
// there and had come up next, and reports whether it could. It can't when
// something pending comes first (all that stands at the same instant and class
// does: it was scheduled before), when t lies before Now or beyond the
// horizon, or after an error; the event is then to be scheduled with At.
//
// A model whose event leads to just one more calls Advance as the last thing
// it does for it and saves the way through the queue. The trajectory is the
// same, event for event.
//
// It is as long as the compiler inlines, and not longer.
func (e *Engine) Advance(t Time, k Kind) bool {
	first := e.q.nearEnd
	if n := e.q.n; n > 0 {
		first = e.q.near[(n-1)&(nearCap-1)].key
	}
	key := uint64(t)<<4 | uint64(k/KindsPerClass)
	if key >= first || key >= e.stop || t < e.now || k >= Classes*KindsPerClass || e.handled == e.limit {
		return false
	}
	e.handled++
	e.now = t
	return true
}
