// Package atomicfile writes files beside their place and renames them when they
// are complete: a reader finds the old content or the new, a writer that fails
// leaves the old, and of two writers at a time one's is there whole.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// File is a file in the making: it is beside its place, under a name of its
// own, until Commit.
type File struct {
	*os.File
	path string
}

// Create begins the file that is to be at path.
func Create(path string) (*File, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	for {
		part := filepath.Join(filepath.Dir(path), fmt.Sprintf(".brokersim-%016x.part", rand.Uint64()))
		f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return &File{f, path}, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, saidOf(path, err)
		}
	}
}

// saidOf puts the file's own name in an error of the system.
func saidOf(path string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: link.Op, Path: path, Err: link.Err}
	}
	return err
}

// Write is that of an os.File; its errors name the file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, saidOf(f.path, err)
}

// Commit puts the file in its place. After an error nothing is left of it.
func (f *File) Commit() error { return f.finish(os.Rename) }

// CommitNew is as Commit, but the error wraps fs.ErrExist if a file is there.
func (f *File) CommitNew() error {
	return f.finish(func(part, path string) error {
		// Link alone is atomic, but not to be had everywhere.
		if err := os.Link(part, path); err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, os.Remove(part))
		}
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
		return os.Rename(part, path)
	})
}

func (f *File) finish(place func(part, path string) error) error {
	err := f.Close()
	if err == nil {
		err = place(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return saidOf(f.path, err)
}

// Abandon takes the file away.
func (f *File) Abandon() {
	f.Close()
	os.Remove(f.Name())
}

// WriteFile makes or replaces a file.
func WriteFile(path string, data []byte) error { return write(path, data, (*File).Commit) }

// WriteNew makes a file; the error wraps fs.ErrExist if one is there.
func WriteNew(path string, data []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return write(path, data, (*File).CommitNew)
}

func write(path string, data []byte, commit func(*File) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Abandon()
		return err
	}
	return commit(f)
}
