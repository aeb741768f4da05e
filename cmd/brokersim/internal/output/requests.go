package output

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brokersim/model"
	"brokersim/model/recording/atomicfile"
)

// Requests is a requests CSV that is being written.
type Requests struct {
	*model.RequestsWriter
	Rows int64
	zip  *gzip.Writer     // nil: plain
	file *atomicfile.File // nil: not ours to close
}

// IsStdout reports whether a path means standard output.
func IsStdout(path string) bool { return path == "-" || path == "/dev/stdout" }

// Replaceable says whether a requests CSV may be written to path by a command
// that writes to a folder, reads inputs and was told to use force or not. An
// error that wraps ErrNotOurs says what is there: anything but an empty file, a
// requests CSV in that folder, if brokersim made it, or one anywhere by force;
// and never an input.
func Replaceable(path, folder string, force bool, inputs []string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: %w", path, ErrNotOurs)
	case slices.ContainsFunc(inputs, func(input string) bool {
		read, err := os.Stat(input)
		return err == nil && os.SameFile(read, info)
	}):
		return fmt.Errorf("%s is read by the same command: %w", path, ErrNotOurs)
	case info.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch {
	case !isRequests(f, gzipped(path)):
		return fmt.Errorf("%s is there and no requests CSV: %w", path, ErrNotOurs)
	case !force && !(Marked(folder) && sameFolder(filepath.Dir(path), folder)):
		return fmt.Errorf("%s is there and may be a recording, %w: name another, or --force replaces it", path, ErrNotOurs)
	}
	return nil
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// CreateRequests begins a requests CSV that is to be at path, gzipped if that
// ends in .gz, or on stdout for "-". Gzipped it holds no time or name, so that
// the same run gives the same bytes. The first error of writing is told to
// failed at once, and returned by Close.
func CreateRequests(path string, stdout io.Writer, failed func()) (*Requests, error) {
	if IsStdout(path) {
		return &Requests{RequestsWriter: model.NewRequestsWriter(&watched{stdout, failed})}, nil
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	r := &Requests{file: file}
	var w io.Writer = &watched{file, failed}
	if gzipped(path) {
		r.zip = gzip.NewWriter(w)
		w = r.zip
	}
	r.RequestsWriter = model.NewRequestsWriter(w)
	return r, nil
}

// watched tells that writing failed.
type watched struct {
	io.Writer
	failed func()
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.failed()
	}
	return n, err
}

func gzipped(path string) bool { return strings.HasSuffix(path, ".gz") }

// isRequests reports whether a file begins as a requests CSV does.
func isRequests(r io.Reader, zipped bool) bool {
	if zipped {
		z, err := gzip.NewReader(r)
		if err != nil {
			return false
		}
		r = z
	}
	head := make([]byte, len(model.RequestsHeader)+1)
	_, err := io.ReadFull(r, head)
	return err == nil && string(head) == model.RequestsHeader+"\n"
}

// Write adds one row.
func (r *Requests) Write(a *model.Attempt) {
	r.Rows++
	r.RequestsWriter.Write(a)
}

// Close puts the file in its place, or returns the first error of writing it
// and leaves what was there.
func (r *Requests) Close() error {
	err := r.Flush()
	if r.zip != nil && err == nil {
		err = r.zip.Close()
	}
	switch {
	case r.file == nil:
		return err
	case err != nil:
		r.file.Abandon()
		return err
	}
	return r.file.Commit()
}

// Abandon takes away what was written, but from stdout.
func (r *Requests) Abandon() {
	if r.file != nil {
		r.file.Abandon()
	}
}
