package sim

import (
	"container/heap"
	"slices"
)

// reference is the engine spelt out: a heap of (time, class, insertion), and
// cancelling takes the event out.
type reference struct {
	now, horizon Time
	seq          uint64
	h            refHeap
}

type refEvent struct {
	t   Time
	k   Kind
	arg uint64
	seq uint64
}

type refHeap []refEvent

func (h refHeap) Len() int { return len(h) }
func (h refHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.t != b.t:
		return a.t < b.t
	case a.k.Class() != b.k.Class():
		return a.k.Class() < b.k.Class()
	}
	return a.seq < b.seq
}
func (h refHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *refHeap) Push(x any)   { *h = append(*h, x.(refEvent)) }
func (h *refHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// at returns the event's number, by which it can be cancelled.
func (r *reference) at(t Time, k Kind, arg uint64) uint64 {
	r.seq++
	heap.Push(&r.h, refEvent{t, k, arg, r.seq})
	return r.seq
}

func (r *reference) cancel(seq uint64) bool {
	i := slices.IndexFunc(r.h, func(e refEvent) bool { return e.seq == seq })
	if i < 0 {
		return false
	}
	heap.Remove(&r.h, i)
	return true
}

func (r *reference) next() (k Kind, arg uint64, ok bool) {
	if len(r.h) == 0 || r.h[0].t > r.horizon {
		if r.horizon != Never {
			r.now = r.horizon
		}
		return 0, 0, false
	}
	ev := heap.Pop(&r.h).(refEvent)
	r.now = ev.t
	return ev.k, ev.arg, true
}
