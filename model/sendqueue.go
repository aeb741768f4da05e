package model

// Waiting is an entry of a swept queue: which request, and its
// createTimestamp in whole wall-clock ms.
type Waiting struct {
	ID       uint64
	CreateMs int64
}

// Queue is the bounded FIFO of an executor (LinkedBlockingQueue): it holds
// what waits, never what a worker has taken (facts §1.4, §5.1).
type Queue struct {
	ring     []Waiting // length a power of two
	head, n  int
	capacity int
}

// NewQueue returns an empty queue of that capacity.
func NewQueue(capacity int) *Queue {
	return &Queue{ring: make([]Waiting, 64), capacity: capacity}
}

// Len is what the remark calls "size of queue".
func (q *Queue) Len() int { return q.n }

// Offer appends an entry; false means full, and the executor then rejects:
// [OVERLOAD] (facts §2.1).
func (q *Queue) Offer(w Waiting) bool {
	if q.n >= q.capacity {
		return false
	}
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = w
	q.n++
	return true
}

func (q *Queue) grow() {
	ring := make([]Waiting, 2*len(q.ring))
	for i := range q.n {
		ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}

// Peek returns the head without removing it.
func (q *Queue) Peek() (Waiting, bool) {
	if q.n == 0 {
		return Waiting{}, false
	}
	return q.ring[q.head], true
}

// first returns the first send, behind callbacks and END_TRANSACTIONs.
func (q *Queue) first() (Waiting, bool) {
	for i := range q.n {
		if w := q.ring[(q.head+i)&(len(q.ring)-1)]; !w.Foreign() && w.ID&sendLoad == 0 {
			return w, true
		}
	}
	return Waiting{}, false
}

// Poll removes and returns the head.
func (q *Queue) Poll() (Waiting, bool) {
	if q.n == 0 {
		return Waiting{}, false
	}
	w := q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return w, true
}
