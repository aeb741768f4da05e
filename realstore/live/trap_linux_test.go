package live

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brokersim/realstore"
	"brokersim/sim"
)

// TestPageFaultDoesNotStopTheSweeper: an append that stands still without
// giving its processor back, as one in a page fault does, must not stop the
// rest. It would as soon as anything stopped the world: the collector, say.
func TestPageFaultDoesNotStopTheSweeper(t *testing.T) {
	if testing.Short() {
		t.Skip("a live run takes its time")
	}
	const stallAt, stallFor = 200 * sim.Millisecond, 400 * time.Millisecond
	cfg := config(fmt.Sprintf(base, 1, false, 10000, 1000, 500))
	b, err := newBroker(cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o, err := b.storeOptions(Options{Dir: dir, FileSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var from, to sim.Time
	o.Hook.Append = func(int64, int) {
		if from == 0 && b.measuring && b.clock.now() >= stallAt {
			from = b.clock.now()
			faultFor(stallFor)
			to = b.clock.now()
		}
	}
	if b.store, err = realstore.Open(dir, o); err != nil {
		t.Fatal(err)
	}
	if err := b.warmUp(); err != nil {
		t.Fatal(err)
	}
	rec, err := b.serve(func(int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	due, sweeps := 0, 0
	for _, s := range rec.Sweeps {
		if from < s.Nominal && s.Nominal < from+sim.Time(stallFor) {
			due++
			if s.Start < s.Nominal+stallAt/2 { // a machine may be slow, but not that slow
				sweeps++
			}
		}
	}
	if 2*sweeps < due || rec.Collections != 0 {
		t.Errorf("during a stall of %v: %d of %d sweeps; the collector ran %d times", to-from, sweeps, due, rec.Collections)
	}
}

// faultFor keeps this goroutine's processor, as a page fault does: the
// scheduler's signal is blocked, and the loop calls nothing at which it could
// give way.
func faultFor(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var urgent, before unix.Sigset_t
	urgent.Val[0] = 1 << (unix.SIGURG - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &urgent, &before); err != nil {
		panic(err)
	}
	var over atomic.Bool
	time.AfterFunc(d, func() { over.Store(true) })
	// The bound is for the case that the world has been stopped, and with it
	// the timer.
	for i := int64(0); i < 5e9 && !over.Load(); i++ {
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err != nil {
		panic(err)
	}
}
