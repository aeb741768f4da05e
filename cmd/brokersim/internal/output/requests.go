package output

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"brokersim/model"
)

// Requests is a requests CSV that is being written.
type Requests struct {
	*model.RequestsWriter
	zip  *gzip.Writer // nil: plain
	file *os.File     // nil: not ours to close
}

// CreateRequests begins a requests CSV at path, gzipped if that ends in .gz, or
// on stdout for "-". Gzipped it holds no time or name, so that the same run
// gives the same bytes. A file
// that is there must be empty or a requests CSV, else the error wraps
// ErrNotOurs and the file is as it was.
func CreateRequests(path string, stdout io.Writer) (*Requests, error) {
	if path == "-" {
		return &Requests{RequestsWriter: model.NewRequestsWriter(stdout)}, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		file, err = reopen(path)
	}
	if err != nil {
		return nil, err
	}
	r := &Requests{file: file}
	var w io.Writer = file
	if gzipped(path) {
		r.zip = gzip.NewWriter(file)
		w = r.zip
	}
	r.RequestsWriter = model.NewRequestsWriter(w)
	return r, nil
}

func gzipped(path string) bool { return strings.HasSuffix(path, ".gz") }

// reopen empties a requests CSV.
func reopen(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: %w", path, ErrNotOurs)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if info.Size() > 0 && !isRequests(file, gzipped(path)) {
		return nil, errors.Join(fmt.Errorf("%s is there and no requests CSV: %w", path, ErrNotOurs), file.Close())
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, errors.Join(err, file.Truncate(0))
}

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

// Close ends the file and returns the first error of writing it.
func (r *Requests) Close() error {
	err := r.Flush()
	if r.zip != nil {
		err = errors.Join(err, r.zip.Close())
	}
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return err
}
