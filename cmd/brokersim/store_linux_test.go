package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brokersim/realstore"
)

const fixtureStore = "../../realstore/testdata/store-clean"

// TestStoreDumpIsTheRealStores compares each line of dump --json with what the
// broker's own store reads, field by field; dump may have more fields.
func TestStoreDumpIsTheRealStores(t *testing.T) {
	want := map[float64]map[string]any{}
	for _, m := range jsonLines(t, mustRead(t, filepath.Join(fixtureStore, "expected.jsonl"))) {
		if m["type"] == "message" {
			want[m["phy_offset"].(float64)] = m
		}
	}
	lines := jsonLines(t, storeOutput(t, 0, "dump", filepath.Join(fixtureStore, "store"), "--json"))
	if len(lines) != len(want) || len(want) != 390 {
		t.Fatalf("%d lines, %d messages expected, want 390", len(lines), len(want))
	}
	for _, got := range lines {
		message := want[got["phy_offset"].(float64)]
		same := map[string]any{}
		for name := range message {
			same[name] = got[name]
		}
		if diff := cmp.Diff(message, same); diff != "" {
			t.Errorf("offset %v (-want +got):\n%s", got["phy_offset"], diff)
		}
	}
}

func jsonLines(t *testing.T, text []byte) (lines []map[string]any) {
	t.Helper()
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var m map[string]any
		if err := dec.Decode(&m); err == io.EOF {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, m)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func storeOutput(t *testing.T, code int, args ...string) []byte {
	t.Helper()
	var out, talk bytes.Buffer
	if got := run(append([]string{"store"}, args...), nil, &out, &talk); got != code {
		t.Fatalf("store %v: exit code %d, want %d\n%s", args, got, code, talk.Bytes())
	}
	return out.Bytes()
}

// FuzzStore gives all commands a commit log, a queue, an index file and a
// checkpoint of any content. None may panic or take long.
func FuzzStore(f *testing.F) {
	store := filepath.Join(fixtureStore, "store")
	read := func(pattern string) []byte {
		paths, _ := filepath.Glob(filepath.Join(store, pattern))
		if len(paths) == 0 {
			f.Fatalf("no %s", pattern)
		}
		data, err := os.ReadFile(paths[0])
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	f.Add(read("commitlog/*"), read("consumequeue/TopicA/1/*"), read("index/*"), read("checkpoint"), "00000000000000000000")
	f.Add([]byte("\x00\x00\x00\x08\xcb\xd4\x31\x94"), []byte{1}, []byte{}, []byte{}, "09223372036854775800")
	f.Add(bytes.Repeat([]byte("\xff\xff\xff\xff\xda\xa3\x20\xa7"), 64), make([]byte, 20), make([]byte, 40), make([]byte, 5000), "00000000000000000007")
	f.Fuzz(func(t *testing.T, log, queue, index, checkpoint []byte, base string) {
		if base != filepath.Base(base) || len(base) != 20 {
			base = "00000000000000000000"
		}
		dir := t.TempDir()
		for _, file := range []struct {
			path string
			data []byte
		}{{"commitlog/" + base, log}, {"consumequeue/TopicA/1/" + base, queue}, {"index/20261130134016213", index}, {"checkpoint", checkpoint}} {
			path := filepath.Join(dir, file.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Skip(err)
			}
			if err := os.WriteFile(path, file.data, 0o644); err != nil {
				t.Skip(err)
			}
		}
		to := filepath.Join(t.TempDir(), "to")
		for _, args := range [][]string{
			{"info", dir}, {"dump", dir}, {"dump", dir, "--json", "--body", "text"}, {"verify", dir}, {"recover", dir, "--to", to},
		} {
			var out, talk bytes.Buffer
			code := run(append([]string{"store"}, args...), nil, &out, &talk)
			if code > 1 && args[0] != "recover" || bytes.Contains(talk.Bytes(), []byte("internal error")) {
				t.Errorf("store %v: exit code %d\n%s", args, code, talk.Bytes())
			}
		}
	})
}

// BenchmarkStore measures dump and verify in turns with their floor, a
// sequential read of the log and a CRC-32 over it, both from memory.
func BenchmarkStore(b *testing.B) {
	dir, bytes := benchStore(b)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"dump", []string{"dump", dir}},
		{"dump-json", []string{"dump", dir, "--json"}},
		{"verify", []string{"verify", dir}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var floors, ours []time.Duration
			for b.Loop() {
				t0 := time.Now()
				readAndSum(b, dir, bytes)
				t1 := time.Now()
				if code := run(append([]string{"store"}, c.args...), nil, io.Discard, os.Stderr); code != 0 {
					b.Fatalf("exit code %d", code)
				}
				floors, ours = append(floors, t1.Sub(t0)), append(ours, time.Since(t1))
			}
			slices.Sort(floors)
			slices.Sort(ours)
			mid := len(ours) / 2
			b.ReportMetric(floors[mid].Seconds()/ours[mid].Seconds(), "of-floor")
			b.ReportMetric(floors[0].Seconds()/ours[0].Seconds(), "of-floor-fastest")
			b.ReportMetric(float64(bytes)/1e6/ours[mid].Seconds(), "MB/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func benchStore(b *testing.B) (dir string, bytes int64) {
	dir = b.TempDir()
	o, err := realstore.DefaultOptions("")
	if err != nil {
		b.Fatal(err)
	}
	o.MappedFileSizeCommitLog, o.MappedFileSizeConsumeQueue = 64<<20, 20*100_000
	o.MaxHashSlotNum, o.MaxIndexNum = 50_000, 200_000
	s, err := realstore.Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	m := realstore.Message{BornTimestamp: 1796046016175, BornHost: o.StoreHost, Body: make([]byte, 1024)}
	for i := range m.Body {
		m.Body[i] = byte('a' + i%26)
	}
	for i := 0; bytes < 256<<20; i++ {
		m.Topic, m.QueueID = fmt.Sprint("Topic", i%3), int32(i/3%4)
		m.Properties = realstore.MakeProperties("", realstore.Property{Name: "KEYS", Value: fmt.Sprint("order", i)}, realstore.Property{Name: "TAGS", Value: "TagA"},
			realstore.Property{Name: "UNIQ_KEY", Value: fmt.Sprintf("7F00000100010000000000000%07d", i)}, realstore.Property{Name: "WAIT", Value: "true"})
		r, err := s.Append(&m, nil)
		if err != nil {
			b.Fatal(err)
		}
		bytes = r.Offset + int64(r.Bytes)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, bytes
}

func readAndSum(b *testing.B, dir string, bytes int64) {
	b.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "commitlog", "*"))
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		for bytes > 0 {
			n, err := f.Read(buf[:min(int64(len(buf)), bytes)])
			if n == 0 && err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			bytes -= int64(n)
			crc32.ChecksumIEEE(buf[:n])
		}
		f.Close()
	}
}
