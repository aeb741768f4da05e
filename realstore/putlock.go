package realstore

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// putLock is the lock under which records are appended: one that spins
// (PutMessageSpinLock), or a mutex (PutMessageReentrantLock, non-fair).
//
// The broker's spinning never gives way. Here it yields the processor every few
// tries: a goroutine that spins on the only processor would keep the holder
// from running.
type putLock struct {
	mutex bool
	held  atomic.Bool
	mu    sync.Mutex
}

func (l *putLock) lock() {
	if l.mutex {
		l.mu.Lock()
		return
	}
	for i := 1; !l.held.CompareAndSwap(false, true); i++ {
		for j := 0; l.held.Load() && j < 64; j++ {
		}
		if i%16 == 0 {
			runtime.Gosched()
		}
	}
}

func (l *putLock) unlock() {
	if l.mutex {
		l.mu.Unlock()
		return
	}
	l.held.Store(false)
}
