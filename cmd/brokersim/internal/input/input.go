package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of files, in bytes.
const (
	ScenarioMost = 1 << 20 // of a scenario, and of a file that it names
	TableMost    = 4 << 30 // of a CSV
)

// Error is a file that can't be read, with its path as it was given.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string {
	err := e.Err
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e.Path + ": no such file"
	case errors.As(err, &at):
		err = at.Err
	}
	return e.Path + ": " + err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// IsStdin reports whether a path means standard input.
func IsStdin(path string) bool { return path == "-" || path == "/dev/stdin" }

// Open opens a regular file of at most so many bytes; reading more, or after
// ctx has ended, is an error. Errors are of type *Error.
func Open(ctx context.Context, path string, most int64) (fs.File, error) {
	info, err := os.Stat(path) // opening a pipe would wait for its writer
	if err == nil {
		err = regular(info.Mode())
	}
	if err != nil {
		return nil, &Error{path, err}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{path, err}
	}
	return &file{File: f, bounded: bounded{ctx, path, f, most, most}}, nil
}

func regular(mode fs.FileMode) error {
	const want = "want a regular file (- reads standard input)"
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.New("is a folder, want a regular file")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("is a pipe, " + want)
	case mode&fs.ModeDevice != 0:
		return errors.New("is a device, " + want)
	default:
		return errors.New(want)
	}
}

// Read gives the content of a file that Open takes.
func Read(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := Open(ctx, path, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Stdin reads standard input within the same bounds: an interrupt ends the wait
// for it.
func Stdin(ctx context.Context, r io.Reader, most int64) io.Reader {
	return &bounded{ctx, "standard input", &waiting{ctx, r}, most, most}
}

// Dir is the folder at path, whose files are opened as by Open.
func Dir(ctx context.Context, path string) fs.FS { return dir{ctx, path} }

type dir struct {
	ctx  context.Context
	path string
}

func (d dir) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return Open(d.ctx, filepath.Join(d.path, filepath.FromSlash(name)), TableMost)
}

type file struct {
	*os.File
	bounded bounded
}

func (f *file) Read(p []byte) (int, error) { return f.bounded.Read(p) }

// bounded reads at most so many bytes, until ctx ends.
type bounded struct {
	ctx        context.Context
	path       string
	r          io.Reader
	most, left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		return int(b.left), &Error{b.path, fmt.Errorf("want at most %d bytes, it is longer", b.most)}
	}
	b.left -= int64(n)
	if err != nil && err != io.EOF && b.ctx.Err() == nil {
		err = &Error{b.path, err}
	}
	return n, err
}

// waiting is a reader whose Read may wait, until ctx ends. What it reads after
// that is lost.
type waiting struct {
	ctx context.Context
	r   io.Reader
}

func (w *waiting) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	read := make(chan result, 1)
	buffer := make([]byte, len(p))
	go func() {
		n, err := w.r.Read(buffer)
		read <- result{n, err}
	}()
	select {
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	case r := <-read:
		return copy(p, buffer[:r.n]), r.err
	}
}
