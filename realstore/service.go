package realstore

import (
	"sync/atomic"
	"time"
)

// service is a thread of the store that works, waits, and can be woken
// (ServiceThread): wakes that come while it works are one.
type service struct {
	wake    chan struct{}
	pending atomic.Bool
	quit    chan struct{}
	done    chan struct{}
	timer   *time.Timer
}

func newService() *service {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &service{wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), timer: t}
}

// run starts the loop; it ends when body returns, which must be soon after
// stopping is closed.
func (s *service) run(body func()) {
	go func() {
		defer close(s.done)
		body()
	}()
}

func (s *service) wakeup() {
	if s.pending.Load() || !s.pending.CompareAndSwap(false, true) {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// wait returns after d, or when woken, or at once when stopping; it tells
// whether the service goes on.
func (s *service) wait(d time.Duration) bool {
	s.timer.Reset(d)
	select {
	case <-s.wake:
	case <-s.timer.C:
	case <-s.quit:
		return false
	}
	s.timer.Stop()
	// Not before what is to be done next is looked at: a wake from here on counts
	// for the round after.
	select {
	case <-s.wake:
	default:
	}
	s.pending.Store(false)
	return true
}

// sleep returns after d, whatever wakes.
func (s *service) sleep(d time.Duration) bool {
	s.timer.Reset(d)
	select {
	case <-s.timer.C:
		return true
	case <-s.quit:
		return false
	}
}

// stop ends the service and waits for it.
func (s *service) stop() {
	close(s.quit)
	<-s.done
}
