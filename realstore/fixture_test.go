package realstore

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fixture = "testdata/store-clean/store"

// expectedMessage is a line of expected.jsonl: what the broker's own store reads
// from the fixture.
type expectedMessage struct {
	Type             string            `json:"type"`
	Topic            string            `json:"topic"`
	QueueID          int32             `json:"queue_id"`
	QueueOffset      int64             `json:"queue_offset"`
	PhyOffset        int64             `json:"phy_offset"`
	Size             int32             `json:"size"`
	BornTS           int64             `json:"born_ts"`
	StoreTS          int64             `json:"store_ts"`
	SysFlag          int32             `json:"sys_flag"`
	Flag             int32             `json:"flag"`
	Reconsume        int32             `json:"reconsume"`
	PreparedTxOffset int64             `json:"prepared_tx_offset"`
	BodyCRC          uint32            `json:"body_crc"`
	Properties       map[string]string `json:"properties"`
	BodyLen          int               `json:"body_len"`
	BodySHA1         string            `json:"body_sha1"`
}

func expectedOf(r *Record) expectedMessage {
	sum := sha1.Sum(r.Body)
	return expectedMessage{
		"message", string(r.Topic), r.QueueID, r.QueueOffset, r.PhysicalOffset, r.Size, r.BornTimestamp, r.StoreTimestamp,
		r.SysFlag, r.Flag, r.ReconsumeTimes, r.PreparedOffset, r.BodyCRC, Properties(r.Properties).Map(), len(r.Body), hex.EncodeToString(sum[:]),
	}
}

func expectedMessages(t testing.TB) map[int64]expectedMessage {
	t.Helper()
	f, err := os.Open("testdata/store-clean/expected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[int64]expectedMessage{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m expectedMessage
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.Type == "message" {
			want[m.PhyOffset] = m
		}
	}
	if len(want) != 390 {
		t.Fatalf("%d messages expected, want 390", len(want))
	}
	return want
}

func TestFixtureMessagesAreTheRealStores(t *testing.T) {
	d, err := OpenDir(fixture)
	if err != nil {
		t.Fatal(err)
	}
	want := expectedMessages(t)
	n := 0
	err = d.Scan(ScanOptions{}, func(offset int64, r *Record, defect Defect) error {
		if defect != Sound {
			t.Fatalf("offset %d: %v", offset, defect)
		}
		n++
		if diff := cmp.Diff(want[offset], expectedOf(r)); diff != "" {
			t.Errorf("offset %d (-want +got):\n%s", offset, diff)
		}
		return nil
	})
	if err != nil || n != len(want) {
		t.Errorf("%v, %d messages, want %d", err, n, len(want))
	}
	rep, err := d.Verify(VerifyOptions{})
	if err != nil || rep.Found != 0 || rep.Messages != 390 || rep.IndexKeys != 521 {
		t.Errorf("verify: %v, %s\n%v", err, rep.Summary(), rep.Faults)
	}
}

// TestFixtureAcknowledged compares what the producer was told with what is there.
func TestFixtureAcknowledged(t *testing.T) {
	f, err := os.Open("testdata/store-clean/sent.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	byID := map[string]Record{}
	d, err := OpenDir(fixture)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Scan(ScanOptions{}, func(_ int64, r *Record, _ Defect) error {
		c := *r
		c.Body, c.Topic = bytes.Clone(r.Body), bytes.Clone(r.Topic)
		byID[r.MessageID()] = c
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m struct {
			Kind, Topic, Status string
			QueueID             int32  `json:"queue_id"`
			QueueOffset         int64  `json:"queue_offset"`
			ID                  string `json:"offset_msg_id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID == "" || strings.Contains(m.ID, ",") || m.Kind != "plain" {
			continue
		}
		r, ok := byID[m.ID]
		if !ok || string(r.Topic) != m.Topic || r.QueueID != m.QueueID || r.QueueOffset != m.QueueOffset {
			t.Errorf("%s: found %v: %s/%d %d, acknowledged %s/%d %d", m.ID, ok, r.Topic, r.QueueID, r.QueueOffset, m.Topic, m.QueueID, m.QueueOffset)
		}
		checked++
	}
	if checked < 40 {
		t.Errorf("only %d acknowledgements compared", checked)
	}
}

// copyStore copies a store, to be written to.
func copyStore(t testing.TB, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func storeFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	for _, sub := range []string{commitLogDir, consumeQueueDir, indexDir} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(dir, p)
				files = append(files, rel)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return append(files, checkpointName)
}

// TestFixtureOpensUnchanged opens the broker's store and closes it: log, queues,
// index and checkpoint keep their bytes, and the broker reads it afterwards.
func TestFixtureOpensUnchanged(t *testing.T) {
	dir := copyStore(t, fixture)
	s := open(t, dir, Options{})
	if rec := s.Recovery(); !rec.Clean || rec.End != 469669 || rec.Dispatched != 0 {
		t.Errorf("recovery %+v", rec)
	}
	if n := s.QueueOffset("TopicA", 1); n == 0 {
		t.Error("queue TopicA/1 is empty")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range storeFiles(t, fixture) {
		want, err := os.ReadFile(filepath.Join(fixture, f))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, changed: %v", f, err, !bytes.Equal(got, want))
		}
	}
}

// TestFixtureRewritten stores the fixture's messages again, at the same times,
// and compares the bytes: all of the log but the blank records' tails, all of
// the queues, and of the index all but the files' names.
func TestFixtureRewritten(t *testing.T) {
	d, err := OpenDir(fixture)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := small(t, "4.3.2")
	o.MappedFileSizeCommitLog = 65536
	var now atomic.Int64 // the store's threads read it too
	o.Now = now.Load
	o.StoreHost = host("127.0.0.1:21911")
	var blanks [][2]int64
	var s *Store
	end := int64(0)
	err = d.Scan(ScanOptions{}, func(offset int64, r *Record, _ Defect) error {
		if s == nil {
			o.StoreHost = r.StoreHost
			s = open(t, dir, o)
		}
		if offset != end {
			blanks = append(blanks, [2]int64{end + blankHead, offset})
		}
		end = offset + int64(r.Size)
		now.Store(r.StoreTimestamp)
		m := r.Message()
		m.Body = bytes.Clone(m.Body)
		m.SysFlag = r.SysFlag
		res, err := s.Append(&m, nil)
		if err != nil {
			return err
		}
		if res.Offset != offset || res.QueueOffset != r.QueueOffset || res.StoreTimestamp != r.StoreTimestamp {
			t.Errorf("message at %d, queue offset %d, %d: stored at %+v", offset, r.QueueOffset, r.StoreTimestamp, res)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ours, theirs := storeFiles(t, dir), storeFiles(t, fixture)
	if len(ours) != len(theirs) {
		t.Fatalf("files %q, want %q", ours, theirs)
	}
	for i, f := range theirs {
		want, err1 := os.ReadFile(filepath.Join(fixture, f))
		got, err2 := os.ReadFile(filepath.Join(dir, ours[i]))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if strings.HasPrefix(f, commitLogDir) {
			var base int64
			fmt.Sscanf(filepath.Base(f), "%d", &base)
			for _, b := range blanks {
				if b[0] >= base && b[1] <= base+65536 {
					clear(want[b[0]-base : b[1]-base])
					clear(got[b[0]-base : b[1]-base])
				}
			}
		} else if !strings.HasPrefix(f, indexDir) && ours[i] != f {
			t.Errorf("file %s, want %s", ours[i], f)
		}
		if f == checkpointName {
			continue // our index timestamp is set at other moments
		}
		if !bytes.Equal(got, want) {
			at := 0
			for at < len(want) && at < len(got) && got[at] == want[at] {
				at++
			}
			t.Errorf("%s: %d bytes, want %d; the first difference is at %d", f, len(got), len(want), at)
		}
	}
	realStore(t, dir)
}

// TestFixtureFromTheLogAlone rebuilds queues and index of the fixture's log alone.
func TestFixtureFromTheLogAlone(t *testing.T) {
	to := filepath.Join(t.TempDir(), "to")
	o := small(t, "4.3.2")
	sv, err := Recover(fixture, to, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sv != (Salvage{End: 469669, Messages: 390}) {
		t.Errorf("salvage %+v", sv)
	}
	for _, f := range storeFiles(t, fixture) {
		if strings.HasPrefix(f, indexDir) || f == checkpointName {
			continue
		}
		want, _ := os.ReadFile(filepath.Join(fixture, f))
		got, err := os.ReadFile(filepath.Join(to, f))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, differs: %v", f, err, !bytes.Equal(got, want))
		}
	}
	d, err := OpenDir(to)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := d.Verify(VerifyOptions{})
	if err != nil || !rep.OK() || rep.IndexKeys != 521 {
		t.Errorf("verify: %v, %s %v", err, rep.Summary(), rep.Faults)
	}
}
