package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"brokersim/model"
)

// Requests is a requests CSV that is being written.
type Requests struct {
	*model.RequestsWriter
	file *os.File // nil: not ours to close
}

// CreateRequests begins a requests CSV at path, or on stdout for "-". A file
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
	return &Requests{model.NewRequestsWriter(file), file}, nil
}

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
	head := make([]byte, len(model.RequestsHeader)+1)
	n, err := io.ReadFull(file, head)
	if n > 0 && (err != nil || string(head) != model.RequestsHeader+"\n") {
		return nil, errors.Join(fmt.Errorf("%s is there and no requests CSV: %w", path, ErrNotOurs), file.Close())
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, errors.Join(err, file.Truncate(0))
}

// Close ends the file and returns the first error of writing it.
func (r *Requests) Close() error {
	err := r.Flush()
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return err
}
