package output

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brokersim/model"
)

func TestClaim(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"absent", func(*testing.T, string) {}, nil},
		{"empty", func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o777)) }, nil},
		{"ours, with a user's file", func(t *testing.T, path string) {
			_, err := Claim(path)
			check(t, err)
			check(t, os.WriteFile(filepath.Join(path, "notes"), nil, 0o666))
		}, nil},
		{"a user's", func(t *testing.T, path string) {
			check(t, os.Mkdir(path, 0o777))
			check(t, os.WriteFile(filepath.Join(path, "result.json"), nil, 0o666))
		}, ErrNotOurs},
		{"a file", func(t *testing.T, path string) { check(t, os.WriteFile(path, nil, 0o666)) }, ErrNotOurs},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out", "run")
			check(t, os.MkdirAll(filepath.Dir(path), 0o777))
			c.make(t, path)
			f, err := Claim(path)
			if !errors.Is(err, c.want) {
				t.Fatalf("error: got %v, want %v", err, c.want)
			}
			if err != nil {
				return
			}
			check(t, f.Write("result.json", []byte("new")))
			if got, err := os.ReadFile(f.Path("result.json")); err != nil || string(got) != "new" {
				t.Errorf("result.json: got %q, %v", got, err)
			}
			if left, _ := filepath.Glob(f.Path(".*.part")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestReplaceable(t *testing.T) {
	const header = model.RequestsHeader + "\n"
	for _, c := range []struct {
		name, content string
		marked, force bool
		want          error
	}{
		{"empty", "", false, false, nil},
		{"rows", header + "0,1\n", false, false, ErrNotOurs},
		{"rows, by force", header + "0,1\n", false, true, nil},
		{"rows, in a folder of ours", header + "0,1\n", true, false, nil},
		{"another CSV", "seq,send_ns\n0,1\n", false, true, ErrNotOurs},
		{"another CSV, in a folder of ours", "seq,send_ns\n0,1\n", true, false, ErrNotOurs},
		{"a longer head", model.RequestsHeader + ",mine\n", false, true, ErrNotOurs},
		{"a cut head", model.RequestsHeader, false, true, ErrNotOurs},
		{"text", strings.Repeat("text ", 100), false, true, ErrNotOurs},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			if c.marked {
				_, err := Claim(folder)
				check(t, err)
			}
			path := filepath.Join(folder, "sends.csv")
			check(t, os.WriteFile(path, []byte(c.content), 0o666))
			if err := Replaceable(path, folder, c.force, nil); !errors.Is(err, c.want) {
				t.Errorf("error: got %v, want %v", err, c.want)
			}
			link := filepath.Join(t.TempDir(), "link")
			check(t, os.Symlink(path, link))
			if err := Replaceable(link, folder, true, []string{"none", path}); !errors.Is(err, ErrNotOurs) {
				t.Errorf("an input: error %v, want %v", err, ErrNotOurs)
			}
		})
	}
	if err := Replaceable(filepath.Join(t.TempDir(), "none"), "", false, nil); err != nil {
		t.Errorf("absent: error %v", err)
	}
	if err := Replaceable(t.TempDir(), "", true, nil); !errors.Is(err, ErrNotOurs) {
		t.Errorf("a folder: error %v, want %v", err, ErrNotOurs)
	}
}

// What is there stays until the new file is complete, and if it never is.
func TestRequestsAreWrittenBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sends.csv")
	check(t, os.WriteFile(path, []byte("old"), 0o600))
	begin := func() *Requests {
		r, err := CreateRequests(path, nil, func() {})
		check(t, err)
		r.Write(&model.Attempt{Outcome: model.OK})
		return r
	}
	content := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("content: got %q, %v, want %q", got, err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 && want != "old" {
			t.Errorf("left behind: %v", left)
		}
	}
	r := begin()
	content("old")
	r.Abandon()
	content("old")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	one, two := begin(), begin()
	check(t, one.Close())
	check(t, two.Close())
	content(model.RequestsHeader + "\n0,0,")
	r = begin()
	check(t, r.file.File.Close())
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "sends.csv: ") {
		t.Errorf("a write that fails: got error %v", err)
	}
	content(model.RequestsHeader + "\n0,0,")
}

// The first failed write is told at once.
func TestRequestsThatFail(t *testing.T) {
	failed := 0
	r, err := CreateRequests("-", full{}, func() { failed++ })
	check(t, err)
	for i := range int64(10_000) {
		r.Write(&model.Attempt{Seq: i, Outcome: model.OK})
	}
	if failed != 1 {
		t.Errorf("told %d times, want once", failed)
	}
	if err := r.Close(); err == nil {
		t.Error("Close: no error")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// Runs of the same folder at a time don't mix their files.
func TestWritersAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	done := make(chan error)
	const writers = 8
	for i := range writers {
		go func() {
			f, err := Claim(path)
			for range 20 {
				if err == nil {
					err = f.Write("result.json", bytes.Repeat([]byte{byte('a' + i)}, 1<<16))
				}
			}
			done <- err
		}()
	}
	for range writers {
		check(t, <-done)
	}
	got, err := os.ReadFile(filepath.Join(path, "result.json"))
	check(t, err)
	if len(got) != 1<<16 || bytes.Count(got, got[:1]) != len(got) {
		t.Error("the file is a mixture")
	}
	entries, err := os.ReadDir(path)
	check(t, err)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

// The same bytes each time, and only requests are replaced.
func TestRequestsGzipped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sends.csv.gz")
	var before []byte
	for range 2 {
		r, err := CreateRequests(path, nil, nil)
		check(t, err)
		r.Write(&model.Attempt{Outcome: model.OK})
		check(t, r.Close())
		data, err := os.ReadFile(path)
		check(t, err)
		if before != nil && !bytes.Equal(data, before) {
			t.Error("the same requests, other bytes")
		}
		before = data
	}
	z, err := gzip.NewReader(bytes.NewReader(before))
	check(t, err)
	text, err := io.ReadAll(z)
	check(t, err)
	if got := string(text); !strings.HasPrefix(got, model.RequestsHeader+"\n0,0,") || strings.Count(got, "\n") != 2 {
		t.Errorf("content: got %q", got)
	}
	check(t, os.WriteFile(path, []byte(model.RequestsHeader+"\n"), 0o666))
	if err := Replaceable(path, "", true, nil); !errors.Is(err, ErrNotOurs) {
		t.Errorf("over what isn't gzipped: error %v, want %v", err, ErrNotOurs)
	}
}

// Abandon leaves what was there before Claim, and what was written since.
func TestAbandon(t *testing.T) {
	for _, c := range []struct {
		name  string
		there string // before
		write string // after
		want  []string
	}{
		{"made", "", "", []string{"."}},
		{"partly made", "out", "", []string{".", "out"}},
		{"empty before", "out/run", "", []string{".", "out", "out/run"}},
		{"used", "", "result.json", []string{".", "out", "out/run", "out/run/.brokersim", "out/run/result.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			check(t, os.MkdirAll(filepath.Join(root, filepath.FromSlash(c.there)), 0o777))
			f, err := Claim(filepath.Join(root, "out", "run"))
			check(t, err)
			if c.write != "" {
				check(t, f.Write(c.write, nil))
			}
			f.Abandon()
			var got []string
			check(t, fs.WalkDir(os.DirFS(root), ".", func(path string, _ fs.DirEntry, err error) error {
				got = append(got, path)
				return err
			}))
			if !slices.Equal(got, c.want) {
				t.Errorf("left: got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRequestsToStdout(t *testing.T) {
	var b bytes.Buffer
	r, err := CreateRequests("-", &b, nil)
	check(t, err)
	check(t, r.Close())
	if got, want := b.String(), model.RequestsHeader+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
