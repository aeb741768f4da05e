package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotOurs is returned when what is to be written would mix with or replace
// what brokersim did not make.
var ErrNotOurs = errors.New("not made by brokersim")

// Marker is the name of the file that marks a folder as made by brokersim.
const Marker = ".brokersim"

const markerText = "This folder was made by brokersim, which may replace its figures and its result.json.\n"

// Folder is a folder that brokersim made.
type Folder struct{ path string }

// Claim makes the folder and those above it. One that is there must be empty
// or hold the marker, else the error wraps ErrNotOurs.
func Claim(path string) (*Folder, error) {
	f := &Folder{path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file, want a folder: %w", path, ErrNotOurs)
	default:
		if _, err := os.Lstat(f.Path(Marker)); err == nil {
			return f, nil
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("folder %s is %w (it has no %s): name another", path, ErrNotOurs, Marker)
		}
	}
	return f, os.WriteFile(f.Path(Marker), []byte(markerText), 0o666)
}

// Path is that of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// Write makes or replaces a file of the folder; a reader finds the old content
// or the new, never a part.
func (f *Folder) Write(name string, data []byte) error {
	part := f.Path(name + ".part")
	if err := os.WriteFile(part, data, 0o666); err != nil {
		return err
	}
	return os.Rename(part, f.Path(name))
}
