package input

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	check(t, os.WriteFile(path("eight"), []byte("12345678"), 0o666))
	check(t, os.WriteFile(path("nine"), []byte("123456789"), 0o666))
	check(t, os.Mkdir(path("folder"), 0o777))
	check(t, os.Symlink("eight", path("link")))
	check(t, os.Symlink("loop", path("loop")))
	check(t, os.Symlink(os.DevNull, path("device")))
	for _, c := range []struct{ name, want string }{
		{"eight", ""},
		{"link", ""},
		{"nine", "want at most 8 bytes, it is longer"},
		{"none", "no such file"},
		{"folder", "is a folder, want a regular file"},
		{"device", "is a device, want a regular file (- reads standard input)"},
		{"loop", "too many levels of symbolic links"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := Read(t.Context(), path(c.name), 8)
			if c.want == "" {
				if err != nil || string(text) != "12345678" {
					t.Errorf("got %q, %v", text, err)
				}
				return
			}
			if want := path(c.name) + ": " + c.want; err == nil || err.Error() != want {
				t.Errorf("error: got %v, want %s", err, want)
			}
		})
	}
}

// An interrupt ends the reading of a long file, and the wait for a pipe.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "long")
	check(t, os.WriteFile(path, []byte("12345678"), 0o666))
	f, err := Open(ctx, path, 8)
	check(t, err)
	defer f.Close()
	r, w := io.Pipe()
	defer w.Close()
	cancel()
	if n, err := f.Read(make([]byte, 4)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("file: got %d, %v", n, err)
	}
	if n, err := Stdin(ctx, r, 8).Read(make([]byte, 4)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("pipe: got %d, %v", n, err)
	}
	waits := &waiting{ctx, r}
	if n, err := waits.Read(make([]byte, 4)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("pipe, in the middle of a wait: got %d, %v", n, err)
	}
}

func TestStdin(t *testing.T) {
	text, err := io.ReadAll(Stdin(t.Context(), strings.NewReader("12345678"), 8))
	if err != nil || string(text) != "12345678" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := io.ReadAll(Stdin(t.Context(), strings.NewReader("123456789"), 8)); err == nil {
		t.Error("too long: no error")
	}
}

func TestDir(t *testing.T) {
	root := t.TempDir()
	check(t, os.WriteFile(filepath.Join(root, "a"), []byte("1"), 0o666))
	dir := Dir(t.Context(), root)
	if text, err := fs.ReadFile(dir, "a"); err != nil || string(text) != "1" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := dir.Open("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: error %v", err)
	}
	if _, err := dir.Open("../a"); err == nil {
		t.Error("outside: no error")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
