package realstore

import (
	"sync/atomic"
)

// mappedFile is one file of an open commit log. Positions count bytes from its
// start: appended, handed to the file by the commit thread, and on disk.
type mappedFile struct {
	base   int64
	size   int
	path   string
	m      mapping
	buf    []byte // of the transient pool, until all of it is committed
	pooled bool
	warmed bool

	wrote     atomic.Int64
	committed atomic.Int64 // pooled files only
	flushed   atomic.Int64
	// The store timestamps of the last record below wrote and committed. Each is
	// set after its position, so that whoever reads the time first, the position
	// next, has a position that covers the time.
	wroteTime     atomic.Int64
	committedTime atomic.Int64
}

func (f *mappedFile) end() int64 { return f.base + int64(f.size) }

// readable is how far the file itself holds what was appended.
func (f *mappedFile) readable() int64 {
	if f.pooled {
		return f.committed.Load()
	}
	return f.wrote.Load()
}

// readableTime is the store timestamp that readable, called afterwards, covers.
func (f *mappedFile) readableTime() int64 {
	if f.pooled {
		return f.committedTime.Load()
	}
	return f.wroteTime.Load()
}

// target is where appends go.
func (f *mappedFile) target() []byte {
	if f.buf != nil {
		return f.buf
	}
	return f.m.data()
}

// setPositions takes the file as read from disk up to n.
func (f *mappedFile) setPositions(n int64) {
	f.wrote.Store(n)
	f.committed.Store(n)
	f.flushed.Store(n)
}

// warm touches each page of a new file and pins it
// (DefaultMappedFile.warmMappedFile).
func (f *mappedFile) warm(sync bool, leastPages int) error {
	err := guard(f.path, func() error {
		b, synced := f.m.data(), 0
		for i := 0; i < len(b); i += pageBytes {
			b[i] = 0
			if sync && (i-synced)/pageBytes >= leastPages {
				if err := f.m.sync(synced, i-synced); err != nil {
					return err
				}
				synced = i
			}
		}
		if sync {
			return f.m.sync(0, len(b))
		}
		return nil
	})
	if err == nil {
		f.m.lock() // a limit on locked memory only costs the pinning
		f.warmed = true
	}
	return err
}
