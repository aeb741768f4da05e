package realstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// ErrCreateMappedFile is returned by an append that needs a file which could
// not be made, or not in time (PutMessageStatus.CREATE_MAPEDFILE_FAILED).
var ErrCreateMappedFile = errors.New("no commit log file to append to")

// allocateTimeout is how long an append waits for its file
// (AllocateMappedFileService.waitTimeOut).
const allocateTimeout = 5 * time.Second

// allocator makes commit log files ahead of the appends, in a thread of its own
// (AllocateMappedFileService): when a file is begun, the next is ready and the
// one after it is asked for.
type allocator struct {
	dir    string
	v      volume
	size   int
	warm   bool
	sync   bool // warm with syncs
	pages  int
	pool   *pool // nil: none in effect
	fast   bool  // fastFailIfNoBufferInStorePool
	nanos  func() int64
	notify func(base, startNanos, endNanos int64)

	// background is nil where files are made by whoever needs them: in tests
	// that drive a store step by step.
	background *service
	mu         sync.Mutex
	asked      []*allocation
}

type allocation struct {
	base int64
	done chan struct{}
	f    *mappedFile
	err  error
}

func (a *allocator) loop() {
	for {
		a.mu.Lock()
		var next *allocation
		for _, r := range a.asked {
			if r.f == nil && r.err == nil {
				next = r
				break
			}
		}
		a.mu.Unlock()
		if next != nil {
			a.serve(next)
			select {
			case <-a.background.quit:
				return
			default:
			}
			continue
		}
		if !a.background.wait(time.Hour) {
			return
		}
	}
}

func (a *allocator) serve(r *allocation) {
	start := a.nanos()
	f, err := a.make(r.base)
	end := a.nanos()
	a.mu.Lock()
	r.f, r.err = f, err
	a.mu.Unlock()
	close(r.done)
	if err == nil && a.notify != nil {
		a.notify(r.base, start, end)
	}
}

func (a *allocator) make(base int64) (*mappedFile, error) {
	f := &mappedFile{base: base, size: a.size, path: filepath.Join(a.dir, fileName(base))}
	var err error
	if f.m, err = a.v.create(f.path, int64(a.size), false); err != nil {
		return nil, err
	}
	if a.warm {
		err = f.warm(a.sync, a.pages)
	}
	// What is synced into the file is worth nothing while its name may be lost.
	if err = errors.Join(err, a.v.syncDir(a.dir)); err != nil {
		return nil, errors.Join(err, f.m.close(), a.v.remove(f.path))
	}
	if a.pool != nil {
		f.buf = a.pool.borrow()
		f.pooled = f.buf != nil
	}
	return f, nil
}

// ask requests the file at base unless it was asked for already.
func (a *allocator) ask(base int64) *allocation {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, r := range a.asked {
		if r.base == base {
			if r.err == nil {
				return r
			}
			a.asked = append(a.asked[:i], a.asked[i+1:]...) // failed before: once more
			break
		}
	}
	r := &allocation{base: base, done: make(chan struct{})}
	a.asked = append(a.asked, r)
	return r
}

// take returns the file at base, and sees to it that the one after it is made
// too. It runs under the put lock.
func (a *allocator) take(base int64) (*mappedFile, error) {
	if a.pool != nil && a.fast && a.pool.available() <= a.waiting() {
		return nil, fmt.Errorf("%w: transient store pool is not enough, %d buffers free", ErrCreateMappedFile, a.pool.available())
	}
	r := a.ask(base)
	if base+2*int64(a.size) > 0 {
		a.ask(base + int64(a.size))
	}
	if a.background == nil {
		for _, r := range a.asked {
			if r.f == nil && r.err == nil {
				a.serve(r)
			}
		}
	} else {
		a.background.wakeup()
	}
	select {
	case <-r.done:
	default:
		t := time.NewTimer(allocateTimeout)
		defer t.Stop()
		select {
		case <-r.done:
		case <-t.C:
			return nil, fmt.Errorf("%w: %s not made within %v", ErrCreateMappedFile, fileName(base), allocateTimeout)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCreateMappedFile, r.err)
	}
	for i := range a.asked {
		if a.asked[i] == r {
			a.asked = append(a.asked[:i], a.asked[i+1:]...)
			break
		}
	}
	return r.f, nil
}

// waiting counts the requests that no file was made for yet.
func (a *allocator) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, r := range a.asked {
		if r.f == nil {
			n++
		}
	}
	return n
}

// close stops the thread and removes the files that nothing was written to.
func (a *allocator) close() error {
	if a.background != nil {
		a.background.stop()
	}
	var err error
	for _, r := range slices.Backward(a.asked) {
		if r.f == nil {
			continue
		}
		if r.f.warmed {
			err = errors.Join(err, r.f.m.unlock())
		}
		if r.f.buf != nil {
			a.pool.giveBack(r.f.buf)
		}
		err = errors.Join(err, r.f.m.close(), a.v.remove(r.f.path), a.v.syncDir(a.dir))
	}
	a.asked = nil
	return err
}

// pool holds the buffers of transientStorePoolEnable (TransientStorePool).
type pool struct {
	mu   sync.Mutex
	free [][]byte
	all  [][]byte
}

func newPool(n, size int) (*pool, error) {
	p := &pool{}
	for range n {
		b, err := poolBuffer(size)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("transientStorePoolSize %d: buffer of %d bytes: %w", n, size, err), p.close())
		}
		p.free = append(p.free, b)
		p.all = append(p.all, b)
	}
	return p, nil
}

func (p *pool) borrow() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	b := p.free[0]
	p.free = p.free[1:]
	return b
}

func (p *pool) giveBack(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append([][]byte{b}, p.free...)
}

func (p *pool) available() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}

func (p *pool) close() error {
	var err error
	for _, b := range p.all {
		err = errors.Join(err, freePoolBuffer(b))
	}
	p.free, p.all = nil, nil
	return err
}
