package realstore

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestScanReadsAhead scans a log whose records are shorter and longer than what
// is read at a time, and stops in the middle of it.
func TestScanReadsAhead(t *testing.T) {
	o := small(t, "4.9.4")
	o.MappedFileSizeCommitLog, o.MaxMessageSize = 16<<20, 8<<20
	dir := t.TempDir()
	s := open(t, dir, o)
	rnd := rand.New(rand.NewPCG(1, 2))
	var sizes []int
	for total := 0; total < 40<<20; {
		size := [...]int{10, 3000, aheadRoom + 100, aheadBytes - 50, aheadBytes + 1, 3*aheadBytes + 777}[rnd.IntN(6)]
		m := numbered(len(sizes), size)
		if _, err := s.Append(&m, nil); err != nil {
			t.Fatal(err)
		}
		sizes, total = append(sizes, size), total+size
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{len(sizes), 7} {
		n := 0
		err := d.Scan(ScanOptions{Resync: true}, func(offset int64, r *Record, defect Defect) error {
			if defect != Sound || int(r.Flag) != n || len(r.Body) != sizes[n] || r.Body[0] != byte('a'+n%26) {
				t.Fatalf("message %d at %d: %v, flag %d, %d bytes, want %d", n, offset, defect, r.Flag, len(r.Body), sizes[n])
			}
			if n++; n == stop {
				return os.ErrClosed
			}
			return nil
		})
		if n != stop || err != os.ErrClosed {
			t.Errorf("%d messages, %v, want %d and what the visitor returned", n, err, stop)
		}
	}
	if rep := mustVerify(t, dir); rep.Found > 0 {
		t.Errorf("%s %v", rep.Summary(), rep.Faults)
	}
}

// TestHolesAreNotRead looks for the data of a sparse file.
func TestHolesAreNotRead(t *testing.T) {
	const size, second, page = 64 << 20, 32 << 20, 1 << 16
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, second} {
		if _, err := f.WriteAt([]byte{1}, at); err != nil {
			t.Fatal(err)
		}
	}
	if nextHole(f, 0, size) == size {
		t.Skip("no holes here")
	}
	h := holes{f: f, end: size}
	b := make([]byte, page)
	read, ones := int64(0), 0
	for at := h.pass(0); at < size; at = h.pass(at) {
		n, err := f.ReadAt(b, at) // the kernel may read ahead of it
		if err != nil {
			t.Fatal(err)
		}
		ones += bytes.Count(b[:n], []byte{1})
		at += int64(n)
		read += int64(n)
	}
	if ones != 2 || read > 16<<20 {
		t.Errorf("%d of 2 bytes found, %d read of %d", ones, read, size)
	}
}

// TestPropertiesByWord compares the parser of records with the map that the
// broker's own parser fills.
func TestPropertiesByWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"TAGS", "KEYS", "UNIQ_KEY", "DELAY", "K", "longer than eight bytes", "", "\x00", "\x01", "\x02", "\x03", "é"})
		text := strings.Join(rapid.SliceOf(word).Draw(t, "words"), "")
		if rapid.Bool().Draw(t, "joined") {
			text = strings.Join(rapid.SliceOf(rapid.Custom(func(t *rapid.T) string { return word.Draw(t, "n") + "\x01" + word.Draw(t, "v") })).Draw(t, "pairs"), "\x02")
		}
		want := Properties(text).Map()
		got := parse([]byte(text))
		for name, value := range map[string][]byte{"TAGS": got.tags, "KEYS": got.keys, "UNIQ_KEY": got.uniqKey, "DELAY": got.delay} {
			if string(value) != want[name] {
				t.Errorf("%q: %s is %q, want %q", text, name, value, want[name])
			}
		}
		proper := true
		for part := range strings.SplitSeq(strings.TrimSuffix(text, "\x02"), "\x02") {
			name, value, ok := strings.Cut(part, "\x01")
			proper = proper && (text == "" || ok && name != "" && !strings.Contains(value, "\x01"))
		}
		if got.proper != proper {
			t.Errorf("%q: proper is %v, want %v", text, got.proper, proper)
		}
	})
}
