package realstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// raceDetector tells whether it is on: what one goroutine does again and again,
// ten times slower then, is done less often.
var raceDetector bool

// small are sizes at which everything rolls soon.
func small(t testing.TB, release string) Options {
	t.Helper()
	o, err := DefaultOptions(release)
	if err != nil {
		t.Fatal(err)
	}
	o.MappedFileSizeCommitLog, o.MappedFileSizeConsumeQueue = 16384, 1000
	o.MaxHashSlotNum, o.MaxIndexNum = 500, 400
	return o
}

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	if !canMap {
		t.Skip("a store is opened on Linux only")
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// numbered makes a message that says which it is.
func numbered(i, bodyBytes int) Message {
	body := make([]byte, bodyBytes)
	for j := range body {
		body[j] = byte('a' + (i+j)%26)
	}
	return Message{
		Topic: fmt.Sprintf("Topic%d", i%3), QueueID: int32(i / 3 % 2), Flag: int32(i), BornTimestamp: 1700000000000 + int64(i),
		BornHost: host("10.0.0.1:4000"), Body: body,
		Properties: MakeProperties("", Property{"TAGS", fmt.Sprint("tag", i%5)}, Property{"KEYS", fmt.Sprintf("k%d half%d", i, i/2)},
			Property{"UNIQ_KEY", fmt.Sprintf("U%08d", i)}, Property{"WAIT", "true"}),
	}
}

// flags lists the numbers of the messages in a store, in order, and fails where
// one is not as numbered made it.
func flags(t testing.TB, s *Store, bodyBytes func(i int) int) []int {
	t.Helper()
	var got []int
	err := s.Scan(0, func(r *Record) error {
		i := int(r.Flag)
		m := numbered(i, bodyBytes(i))
		if !bytes.Equal(r.Body, m.Body) || string(r.Topic) != m.Topic || string(r.Properties) != string(m.Properties) || r.QueueID != m.QueueID {
			t.Errorf("message %d at %d is not what was sent", i, r.PhysicalOffset)
		}
		got = append(got, i)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return got
}

// crashSize is the length of a numbered message's body in tests that say so.
func crashSize(i int) int { return i * 31 % 700 }

// realStore runs the broker's own store over a copy of a directory.
func realStore(t testing.TB, dir string) {
	t.Helper()
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT VERIFIED WITH THE REAL STORE: %s is missing", tool)
		}
	}
	cmd := exec.Command("testdata/verify-store/verify-store", "-q", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		t.Fatalf("verify-store: %v\n%s\n%s", err, out, &stderr)
	}
	var sum struct {
		Type     string
		Messages int `json:"messages_in_commitlog"`
		Read     int `json:"messages_read_by_queue"`
		Orphans  int `json:"in_commitlog_but_in_no_queue"`
		Asked    int `json:"index_keys_asked"`
		Found    int `json:"index_keys_found"`
		Problems int
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil || sum.Type != "summary" {
		t.Fatalf("verify-store: no summary: %v\n%s", err, out)
	}
	// After a crash the broker drops the index files that its checkpoint does not
	// vouch for, and fills in again only what it scans.
	_, err = os.Stat(filepath.Join(dir, abortName))
	keys := err != nil && sum.Asked != sum.Found
	if sum.Problems != 0 || sum.Orphans != 0 || keys || sum.Read != sum.Messages {
		t.Errorf("the real store finds %+v", sum)
	}
	t.Logf("real store: %d messages, %d keys", sum.Messages, sum.Asked)
}

func TestStoreKeepsMessages(t *testing.T) {
	for _, release := range []string{"4.3.2", "4.9.4", "5.3.3"} {
		t.Run(release, func(t *testing.T) {
			dir := t.TempDir()
			size := func(i int) int { return i * 37 % 3000 }
			s := open(t, dir, small(t, release))
			var want []int
			for i := range 700 {
				m := numbered(i, size(i))
				r, err := s.Append(&m, nil)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, i)
				got, err := s.Get(r.Offset)
				if err != nil || got.Flag != int32(i) || got.QueueOffset != r.QueueOffset || got.QueueOffset != int64(i/6) {
					t.Fatalf("message %d: %v, %+v, %+v", i, err, r, got)
				}
			}
			if got := flags(t, s, size); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d messages, want %d", len(got), len(want))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, abortName)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("abort file after a clean stop: %v", err)
			}
			if release != "4.9.4" {
				realStore(t, dir)
			}
			s = open(t, dir, Options{})
			if got := flags(t, s, size); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("opened again: %d messages, want %d", len(got), len(want))
			}
			if rec := s.Recovery(); !rec.Clean || rec.Dispatched != 0 || rec.From == 0 {
				t.Errorf("recovery %+v", rec)
			}
			m := numbered(700, 10)
			if r, err := s.Append(&m, nil); err != nil || r.QueueOffset != 700/6 {
				t.Errorf("append: %v, %+v", err, r)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
