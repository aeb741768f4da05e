//go:build !linux

package realstore

import (
	"errors"
	"os"
	"path/filepath"
)

// machine is the file system through plain reads and writes: each file is held
// in memory and written back by sync. It serves Recover; Open needs the shared
// mappings, fallocate and locks of Linux.
type machine struct{}

const canMap = false

func (machine) mkdirAll(dir string) error        { return os.MkdirAll(dir, 0o755) }
func (machine) list(dir string) ([]entry, error) { return osList(dir) }
func (machine) remove(path string) error         { return os.Remove(path) }
func (machine) syncDir(string) error             { return nil }

func (machine) create(path string, size int64, _ bool) (mapping, error) {
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		return nil, err
	}
	return &fileMapping{path, make([]byte, size)}, nil
}

func (machine) open(path string) (mapping, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &fileMapping{path, b}, nil
}

type fileMapping struct {
	path string
	b    []byte
}

func (m *fileMapping) data() []byte { return m.b }

func (m *fileMapping) sync(off, n int) error {
	f, err := os.OpenFile(m.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(m.b[off:off+n], int64(off))
	return errors.Join(err, f.Sync(), f.Close())
}

func (m *fileMapping) writeAt(p []byte, off int) error { copy(m.b[off:], p); return nil }
func (m *fileMapping) lock() error                     { return nil }
func (m *fileMapping) unlock() error                   { return nil }
func (m *fileMapping) close() error                    { m.b = nil; return nil }

func poolBuffer(size int) ([]byte, error) { return make([]byte, size), nil }
func freePoolBuffer([]byte) error         { return nil }

func lockDir(path string) (*os.File, error) {
	return os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE, 0o644)
}

func nextData(_ *os.File, at, _ int64) int64  { return at }
func nextHole(_ *os.File, _, end int64) int64 { return end }
