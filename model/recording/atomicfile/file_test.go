package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new")
	check(t, WriteNew(path, []byte("first")))
	if err := WriteNew(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error: got %v, want %v", err, fs.ErrExist)
	}
	f, err := Create(path)
	check(t, err)
	if err := f.CommitNew(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made meanwhile: error %v, want %v", err, fs.ErrExist)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	if got, err := os.ReadFile(path); err != nil || string(got) != "first" || len(entries) != 1 {
		t.Errorf("got %q, %v, %d files", got, err, len(entries))
	}
}

// What was there stays until the new file is complete.
func TestAbandon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	check(t, WriteFile(path, []byte("old")))
	f, err := Create(path)
	check(t, err)
	_, err = f.Write([]byte("new"))
	check(t, err)
	f.Abandon()
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Create(filepath.Join(path, "below a file")); err == nil {
		t.Error("a file is a folder")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
