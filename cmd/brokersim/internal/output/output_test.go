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
			if left, _ := filepath.Glob(f.Path("*.part")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestRequestsReplaceOnlyRequests(t *testing.T) {
	const header = model.RequestsHeader + "\n"
	for _, c := range []struct {
		name, content string
		want          error
	}{
		{"empty", "", nil},
		{"header alone", header, nil},
		{"rows", header + "0,1\n", nil},
		{"another CSV", "seq,send_ns\n0,1\n", ErrNotOurs},
		{"a longer head", model.RequestsHeader + ",mine\n", ErrNotOurs},
		{"a cut head", model.RequestsHeader, ErrNotOurs},
		{"text", strings.Repeat("text ", 100), ErrNotOurs},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sends.csv")
			check(t, os.WriteFile(path, []byte(c.content), 0o666))
			r, err := CreateRequests(path, nil)
			if !errors.Is(err, c.want) {
				t.Fatalf("error: got %v, want %v", err, c.want)
			}
			want := c.content
			if err == nil {
				want = header
				check(t, r.Close())
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("content: got %q, %v, want %q", got, err, want)
			}
		})
	}
}

// The same bytes each time, and only requests are replaced.
func TestRequestsGzipped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sends.csv.gz")
	var before []byte
	for range 2 {
		r, err := CreateRequests(path, nil)
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
	if _, err := CreateRequests(path, nil); !errors.Is(err, ErrNotOurs) {
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
	r, err := CreateRequests("-", &b)
	check(t, err)
	check(t, r.Close())
	if got, want := b.String(), model.RequestsHeader+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequestsKeepFolders(t *testing.T) {
	if _, err := CreateRequests(t.TempDir(), nil); !errors.Is(err, ErrNotOurs) {
		t.Errorf("error: got %v, want %v", err, ErrNotOurs)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
