package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"brokersim/model/recording/atomicfile"
)

// ErrNotOurs is returned when what is to be written would mix with or replace
// what brokersim did not make.
var ErrNotOurs = errors.New("not made by brokersim")

// Marker is the name of the file that marks a folder as made by brokersim.
const Marker = ".brokersim"

const markerText = "This folder was made by brokersim, which may replace its figures and its result.json.\n"

// Folder is a folder that brokersim made.
type Folder struct {
	path  string
	made  []string // folders that Claim made, the innermost first
	fresh bool     // Claim marked it
	used  bool     // something was written to it
}

// Claim makes the folder and those above it. One that is there must be empty
// or hold the marker, else the error wraps ErrNotOurs.
func Claim(path string) (*Folder, error) {
	f := &Folder{path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.made = missing(path)
		if err := os.MkdirAll(path, 0o777); err != nil {
			f.Abandon()
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file, want a folder: %w", path, ErrNotOurs)
	default:
		if Marked(path) {
			return f, nil
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		if Marked(path) {
			return f, nil // another run's claim, just now
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("folder %s is %w (it has no %s): name another", path, ErrNotOurs, Marker)
		}
	}
	f.fresh = true
	if err := os.WriteFile(f.Path(Marker), []byte(markerText), 0o666); err != nil {
		f.Abandon()
		return nil, err
	}
	return f, nil
}

// missing lists the folders of a path that are not there, the innermost first.
func missing(path string) (folders []string) {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return folders
		}
		folders = append(folders, path)
	}
}

// Abandon takes back what Claim made, as long as nothing else is there.
func (f *Folder) Abandon() {
	if !f.fresh && len(f.made) == 0 || f.used {
		return
	}
	if f.fresh {
		os.Remove(f.Path(Marker))
	}
	for _, path := range f.made {
		if os.Remove(path) != nil { // not empty
			return
		}
	}
}

// Path is that of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// Marked reports whether the folder at path is one that brokersim made.
func Marked(path string) bool {
	info, err := os.Lstat(filepath.Join(path, Marker))
	return err == nil && info.Mode().IsRegular()
}

// Write makes or replaces a file of the folder.
func (f *Folder) Write(name string, data []byte) error {
	if err := f.use(); err != nil {
		return err
	}
	return atomicfile.WriteFile(f.Path(name), data)
}

// use says that the folder is to stay. A run that claimed it first may have
// abandoned it since.
func (f *Folder) use() error {
	if f.used {
		return nil
	}
	f.used = true
	if Marked(f.path) {
		return nil
	}
	if err := os.MkdirAll(f.path, 0o777); err != nil {
		return err
	}
	return os.WriteFile(f.Path(Marker), []byte(markerText), 0o666)
}

// Remove takes away a file of the folder, if it is there.
func (f *Folder) Remove(name string) error {
	err := os.Remove(f.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
