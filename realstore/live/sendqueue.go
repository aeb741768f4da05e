package live

import (
	"sync"

	"brokersim/model"
	"brokersim/sim"
)

// sendQueue is the send executor's queue between threads. It wakes as a
// LinkedBlockingQueue does: an offer into an empty queue wakes one taker, and
// each taker that leaves something behind wakes the next.
type sendQueue struct {
	mu       sync.Mutex
	notEmpty *sync.Cond
	q        *model.Queue
	closed   bool
	now      func() sim.Time
}

func newSendQueue(capacity int, now func() sim.Time) *sendQueue {
	s := &sendQueue{q: model.NewQueue(capacity), now: now}
	s.notEmpty = sync.NewCond(&s.mu)
	return s
}

// offer appends the row's send and notes in the row when, and the size just
// after; false means full. From a successful offer on the row is the taker's or
// the sweeper's.
func (s *sendQueue) offer(r *Row) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Enq = s.now()
	empty := s.q.Len() == 0
	if !s.q.Offer(model.Waiting{ID: uint64(r.Seq), CreateMs: r.CreateMs}) {
		return false
	}
	r.QlenEnq = int32(s.q.Len())
	if empty {
		s.notEmpty.Signal()
	}
	return true
}

// take removes the head, waiting for one; not ok means closed.
func (s *sendQueue) take() (w model.Waiting, at sim.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.closed {
			return w, 0, false
		}
		if w, ok = s.q.Poll(); ok {
			if s.q.Len() > 0 {
				s.notEmpty.Signal()
			}
			return w, s.now(), true
		}
		s.notEmpty.Wait()
	}
}

func (s *sendQueue) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.q.Len()
}

// close makes all takes fail from now on, whatever still waits.
func (s *sendQueue) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.notEmpty.Broadcast()
}
