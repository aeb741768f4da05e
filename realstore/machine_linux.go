package realstore

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// machine is the file system, through shared mappings.
type machine struct{}

// canMap tells whether this system has shared mappings to open a store with.
const canMap = true

func (machine) mkdirAll(dir string) error        { return os.MkdirAll(dir, 0o755) }
func (machine) list(dir string) ([]entry, error) { return osList(dir) }
func (machine) remove(path string) error         { return os.Remove(path) }

func (machine) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (machine) create(path string, size int64, sparse bool) (mapping, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	if err := extend(f, size, sparse); err != nil {
		f.Close()
		os.Remove(path)
		return nil, fmt.Errorf("allocate %d bytes for %s: %w", size, path, err)
	}
	return mapFile(f, size)
}

// extend gives a new file its size. Allocating the blocks finds a full disk
// here, and not as a fault in the middle of an append; where the file system
// can't (tmpfs of old kernels, FUSE), the file is left sparse.
func extend(f *os.File, size int64, sparse bool) error {
	if !sparse {
		for {
			err := unix.Fallocate(int(f.Fd()), 0, 0, size)
			if err == nil {
				return nil
			}
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
				return err
			}
			break
		}
	}
	return f.Truncate(size)
}

func (machine) open(path string) (mapping, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return mapFile(f, fi.Size())
}

// mapFile maps a whole file and closes it: a mapping needs no descriptor.
func mapFile(f *os.File, size int64) (mapping, error) {
	defer f.Close()
	m := &fileMapping{path: f.Name()}
	if size > 0 {
		b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return nil, fmt.Errorf("map %s: %w", f.Name(), err)
		}
		m.b = b
	}
	return m, nil
}

type fileMapping struct {
	path string
	b    []byte
	mu   sync.Mutex
	f    *os.File // once something was written through the file
}

func (m *fileMapping) data() []byte { return m.b }

func (m *fileMapping) sync(off, n int) error {
	if n <= 0 {
		return nil
	}
	m.mu.Lock()
	f := m.f
	m.mu.Unlock()
	if f != nil { // as FileChannel.force(false)
		return retry(func() error { return unix.Fdatasync(int(f.Fd())) })
	}
	n += off % pageBytes // msync wants the start of a page
	off -= off % pageBytes
	return retry(func() error { return unix.Msync(m.b[off:off+n], unix.MS_SYNC) })
}

func (m *fileMapping) writeAt(p []byte, off int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.f == nil {
		f, err := os.OpenFile(m.path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		m.f = f
	}
	_, err := m.f.WriteAt(p, int64(off))
	return err
}

// lock pins the mapping and asks for it to be read ahead (DefaultMappedFile.mlock).
func (m *fileMapping) lock() error {
	err := unix.Mlock(m.b)
	unix.Madvise(m.b, unix.MADV_WILLNEED) // advice
	return err
}

func (m *fileMapping) unlock() error { return unix.Munlock(m.b) }

func (m *fileMapping) close() error {
	var err error
	if m.b != nil {
		err = unix.Munmap(m.b)
		m.b = nil
	}
	if m.f != nil {
		err = errors.Join(err, m.f.Close())
	}
	return err
}

func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// poolBuffer allocates one buffer of the transient pool, pinned where the
// machine allows it.
func poolBuffer(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	unix.Mlock(b) // the broker goes on without, too
	return b, nil
}

func freePoolBuffer(b []byte) error { return unix.Munmap(b) }

// lockDir takes the lock of a store's directory, as the broker does: a lock of
// the first byte of the file named lock. The lock belongs to the open file, so
// that a second Store of this process is refused too, and it meets the broker's
// own, which is one of POSIX.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	err = retry(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l) })
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, fmt.Errorf("%s: %w: another process holds its lock", path, ErrLocked)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if _, err := f.WriteAt([]byte("lock"), 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// nextData returns the first place from at on that may be other than zero, or
// end: the unwritten rest of a preallocated file need not be read.
func nextData(f *os.File, at, end int64) int64 { return seek(f, at, end, unix.SEEK_DATA, at) }

// nextHole returns the first place from at on that lies in a hole, or end.
func nextHole(f *os.File, at, end int64) int64 { return seek(f, at, end, unix.SEEK_HOLE, end) }

func seek(f *os.File, at, end int64, whence int, unknown int64) int64 {
	n, err := unix.Seek(int(f.Fd()), at, whence)
	switch {
	case errors.Is(err, unix.ENXIO):
		return end
	case err != nil || n < at:
		return unknown
	}
	return min(n, end)
}
