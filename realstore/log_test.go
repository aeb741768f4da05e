package realstore

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// inMemory is a directory whose syncs cost nothing, where there is one.
var inMemory = func() string {
	if fi, err := os.Stat("/dev/shm"); err == nil && fi.IsDir() {
		return "/dev/shm"
	}
	return ""
}()

// TestLogAgainstSlice drives a store and a slice of messages side by side.
func TestLogAgainstSlice(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		f.Value.Set("15")
		defer f.Value.Set(f.DefValue)
	}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(inMemory, "realstore")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		o, _ := DefaultOptions(rapid.SampledFrom([]string{"4.2.0", "4.3.2", "4.9.4", "5.3.3"}).Draw(t, "release"))
		o.MappedFileSizeCommitLog = rapid.SampledFrom([]int{4096, 5000, 16384}).Draw(t, "file")
		o.MappedFileSizeConsumeQueue, o.MaxHashSlotNum, o.MaxIndexNum = 200, 10, 12
		o.TransientStorePoolEnable = rapid.Bool().Draw(t, "pool")
		o.TransientStorePoolSize = rapid.IntRange(1, 4).Draw(t, "buffers")
		o.WarmMapedFileEnable = rapid.Bool().Draw(t, "warm")
		o.UseReentrantLockWhenPutMessage = rapid.Bool().Draw(t, "reentrant")
		if rapid.IntRange(0, 4).Draw(t, "sync") == 0 {
			o.FlushDiskType = SyncFlush
		}
		s, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		type stored struct {
			at int64
			m  Message
		}
		var model []stored
		next := map[queueKey]int64{}
		message := func() Message {
			m := Message{
				Topic: rapid.SampledFrom([]string{"A", "B", "%RETRY%g"}).Draw(t, "topic"), QueueID: int32(rapid.IntRange(0, 2).Draw(t, "queue")),
				Flag: rapid.Int32().Draw(t, "flag"), SysFlag: rapid.SampledFrom([]int32{0, 0, 0, FlagPrepared, FlagCommit, FlagRollback}).Draw(t, "sysFlag"),
				BornTimestamp: 1, BornHost: host("1.2.3.4:5"), Body: rapid.SliceOfN(rapid.Byte(), 0, 1500).Draw(t, "body"),
			}
			if rapid.Bool().Draw(t, "tagged") {
				m.Properties = MakeProperties(o.Release, Property{"TAGS", "t"}, Property{"KEYS", rapid.StringMatching(`[a-z]{1,5}( [a-z]{1,5})?`).Draw(t, "keys")})
			}
			return m
		}
		defer func() { s.Close() }()
		check := func(r Result, err error, ms ...Message) {
			// Up to 4.7.1 the first message of a file is answered so: see TestFirstMessageOfAFile.
			if err != nil && !errors.Is(err, ErrFlushTimeout) {
				t.Fatal(err)
			}
			at := r.Offset
			key := queueKey{ms[0].Topic, ms[0].QueueID}
			want := next[key]
			if !queued(ms[0].SysFlag) {
				want = 0
			} else {
				next[key] += int64(len(ms))
			}
			if r.QueueOffset != want || r.Count != len(ms) {
				t.Fatalf("result %+v, want queue offset %d, %d messages", r, want, len(ms))
			}
			for _, m := range ms {
				model = append(model, stored{at, m})
				at += int64(recordSize(&m, o.StoreHost, false))
			}
			if at != r.Offset+int64(r.Bytes) {
				t.Fatalf("%d bytes, want %d", r.Bytes, at-r.Offset)
			}
		}
		compare := func() {
			i := 0
			if err := s.Scan(0, func(r *Record) error {
				if i >= len(model) {
					return fmt.Errorf("message at %d was never sent", r.PhysicalOffset)
				}
				w := model[i]
				if r.PhysicalOffset != w.at || !bytes.Equal(r.Body, w.m.Body) || string(r.Topic) != w.m.Topic || r.Flag != w.m.Flag || r.SysFlag != w.m.SysFlag {
					return fmt.Errorf("message %d at %d, want one at %d", i, r.PhysicalOffset, w.at)
				}
				i++
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if i != len(model) && !o.TransientStorePoolEnable { // committed later
				t.Fatalf("%d messages, want %d", i, len(model))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(*rapid.T) {
				m := message()
				r, err := s.Append(&m, nil)
				check(r, err, m)
			},
			"batch": func(*rapid.T) {
				ms := []Message{message()}
				ms[0].SysFlag = 0
				ms[0].Body = ms[0].Body[:min(len(ms[0].Body), 500)]
				for range rapid.IntRange(0, 3).Draw(t, "more") {
					m := ms[0]
					m.Flag++
					ms = append(ms, m)
				}
				r, err := s.AppendBatch(ms, nil)
				check(r, err, ms...)
			},
			"get": func(*rapid.T) {
				if len(model) == 0 {
					return
				}
				w := model[rapid.IntRange(0, len(model)-1).Draw(t, "which")]
				r, err := s.Get(w.at)
				if err != nil && !o.TransientStorePoolEnable || err == nil && !bytes.Equal(r.Body, w.m.Body) {
					t.Fatalf("get %d: %v", w.at, err)
				}
			},
			"reopen": func(*rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = Open(dir, o); err != nil {
					t.Fatal(err)
				}
				compare()
			},
			"": func(*rapid.T) {},
		})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := d.Verify(VerifyOptions{MaxHashSlotNum: 10, MaxIndexNum: 12})
		if err != nil || rep.Found > 0 || rep.Messages != int64(len(model)) {
			t.Fatalf("verify: %v, %s, %v; want %d messages", err, rep.Summary(), rep.Faults, len(model))
		}
	})
}

func TestConcurrentAppends(t *testing.T) {
	for _, mode := range []struct {
		name    string
		release string
		flush   FlushDiskType
		pool    bool
		mutex   bool
	}{{"async spin", "4.3.2", AsyncFlush, false, false}, {"async mutex", "4.9.4", AsyncFlush, false, true}, {"sync", "4.9.4", SyncFlush, false, true}, {"pool", "4.3.2", AsyncFlush, true, false}} {
		t.Run(mode.name, func(t *testing.T) {
			o := small(t, mode.release)
			o.MappedFileSizeCommitLog = 1 << 18
			o.FlushDiskType, o.TransientStorePoolEnable, o.UseReentrantLockWhenPutMessage = mode.flush, mode.pool, mode.mutex
			dir := t.TempDir()
			s := open(t, dir, o)
			var wg sync.WaitGroup
			const writers, each = 8, 100
			for w := range writers {
				wg.Go(func() {
					var ph Phases
					for n := range each {
						i := w*each + n
						m := numbered(i, crashSize(i))
						r, err := s.Append(&m, &ph)
						if err != nil {
							t.Error(err)
							return
						}
						if ph.Request > ph.Lock || ph.Lock > ph.Append || ph.Append > ph.Appended || ph.Appended > ph.Unlock || ph.Unlock > ph.Done {
							t.Errorf("phases out of order: %+v", ph)
						}
						if mode.flush == SyncFlush && s.FlushedOffset() < r.Offset+int64(r.Bytes) {
							t.Errorf("acknowledged at %d, on disk up to %d", r.Offset, s.FlushedOffset())
						}
					}
				})
			}
			wg.Wait()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, Options{})
			got := flags(t, s, crashSize)
			slices.Sort(got)
			if len(got) != writers*each || got[0] != 0 || got[len(got)-1] != writers*each-1 {
				t.Errorf("%d messages, want %d", len(got), writers*each)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d, _ := OpenDir(dir)
			if rep, err := d.Verify(VerifyOptions{}); err != nil || rep.Found > 0 {
				t.Errorf("verify: %v, %s %v", err, rep.Summary(), rep.Faults)
			}
		})
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	for _, flush := range []FlushDiskType{AsyncFlush, SyncFlush} {
		o := small(t, "4.9.4")
		o.MappedFileSizeCommitLog, o.FlushDiskType = 16<<20, flush
		o.MappedFileSizeConsumeQueue, o.MaxIndexNum = 6000000, 100000
		s := open(t, t.TempDir(), o)
		m := numbered(1, 1024)
		var ph Phases
		n := testing.AllocsPerRun(1000, func() {
			if _, err := s.Append(&m, &ph); err != nil {
				t.Fatal(err)
			}
		})
		if n >= 1 {
			t.Errorf("%v: %v allocations per append", flush, n)
		}
		s.Close()
	}
}

func TestHooks(t *testing.T) {
	o := small(t, "4.9.4")
	o.FlushDiskType = SyncFlush
	var s *Store
	var locked, appended, unlocked, flushes, allocated atomic.Int64
	var stall atomic.Bool
	o.Hook = Hook{
		Locked: func() {
			locked.Add(1)
			if s.LockedSince() == 0 {
				t.Error("the lock is held since never")
			}
		},
		Append: func(offset int64, bytes int) {
			if appended.Add(1); stall.Load() {
				time.Sleep(30 * time.Millisecond)
			}
		},
		Unlock:    func() { unlocked.Add(1) },
		Flush:     func(from, to int64) { flushes.Add(1) },
		Flushed:   func(from, to, start, end int64) { allocatedAfter(t, start, end) },
		Allocated: func(base, start, end int64) { allocated.Add(1); allocatedAfter(t, start, end) },
	}
	s = open(t, t.TempDir(), o)
	m := numbered(1, 100)
	for range 100 {
		if _, err := s.Append(&m, nil); err != nil {
			t.Fatal(err)
		}
	}
	stall.Store(true)
	var ph Phases
	if _, err := s.Append(&m, &ph); err != nil {
		t.Fatal(err)
	}
	if d := ph.Append - ph.Lock; d < 30e6 {
		t.Errorf("a stall of 30 ms under the lock shows as %d ns", d)
	}
	if s.LockedSince() != 0 {
		t.Error("the lock is free, and held")
	}
	s.Close()
	if locked.Load() != 101 || appended.Load() != 101 || unlocked.Load() != 101 || flushes.Load() == 0 || allocated.Load() < 2 {
		t.Errorf("hooks: locked %d, append %d, unlock %d, flush %d, allocated %d", locked.Load(), appended.Load(), unlocked.Load(), flushes.Load(), allocated.Load())
	}
}

func allocatedAfter(t *testing.T, start, end int64) {
	if end < start {
		t.Errorf("ends at %d, before it starts at %d", end, start)
	}
}

func TestSyncFlushTimeout(t *testing.T) {
	o := small(t, "4.9.4")
	o.FlushDiskType, o.SyncFlushTimeout = SyncFlush, 10*time.Millisecond
	release := make(chan struct{})
	o.Hook.Flush = func(int64, int64) { <-release }
	s := open(t, t.TempDir(), o)
	m := numbered(1, 100)
	r, err := s.Append(&m, nil)
	if !errors.Is(err, ErrFlushTimeout) || r.Bytes == 0 {
		t.Errorf("append: %v, %+v", err, r)
	}
	if _, err := s.Get(r.Offset); err != nil {
		t.Errorf("the message is stored all the same: %v", err)
	}
	quick := numbered(2, 100)
	quick.Properties = "WAIT\x01false\x02"
	if _, err := s.Append(&quick, nil); err != nil {
		t.Errorf("WAIT=false: %v", err)
	}
	close(release)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFirstMessageOfAFile sees the quirk of 4.7.1 and before, and its end.
func TestFirstMessageOfAFile(t *testing.T) {
	for release, want := range map[string]bool{"4.3.2": true, "4.7.1": true, "4.8.0": false, "4.9.4": false} {
		o := small(t, release)
		o.FlushDiskType = SyncFlush
		s := open(t, t.TempDir(), o)
		timeouts := 0
		for i := range 60 {
			m := numbered(i, 1000)
			r, err := s.Append(&m, nil)
			if errors.Is(err, ErrFlushTimeout) && r.Offset%16384 == 0 && s.FlushedOffset() >= r.Offset+int64(r.Bytes) {
				timeouts++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if timeouts > 0 != want {
			t.Errorf("%s: %d first messages answered as timeouts", release, timeouts)
		}
		s.Close()
	}
}

func TestClockGoesBackwards(t *testing.T) {
	dir := t.TempDir()
	o := small(t, "4.3.2")
	var now atomic.Int64
	now.Store(1700000000000)
	o.Now = func() int64 { return now.Add(-10000) }
	s := open(t, dir, o)
	last := int64(0)
	for i := range 500 {
		m := numbered(i, 100)
		r, err := s.Append(&m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.StoreTimestamp < last {
			t.Fatalf("store timestamp %d after %d", r.StoreTimestamp, last)
		}
		last = r.StoreTimestamp
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d, _ := OpenDir(dir)
	rep, err := d.Verify(VerifyOptions{})
	if err != nil || rep.Found > 0 || rep.IndexKeys != 1500 {
		t.Errorf("verify: %v, %s %v", err, rep.Summary(), rep.Faults)
	}
}

func TestOpenRefuses(t *testing.T) {
	sub := func(name, content string) func(string) {
		return func(dir string) {
			p := filepath.Join(dir, name)
			os.MkdirAll(filepath.Dir(p), 0o755)
			os.WriteFile(p, []byte(content), 0o644)
		}
	}
	for _, tc := range []struct {
		name    string
		prepare func(dir string)
		o       func(*Options)
		want    error
		text    string
	}{
		{"a file of somebody", sub("thesis.tex", "x"), nil, ErrForeign, "thesis.tex"},
		{"a file in the log", sub("commitlog/notes", "x"), nil, ErrForeign, "notes"},
		{"another length", nil, func(o *Options) { o.MappedFileSizeCommitLog = 32768 }, ErrDamaged, "32768"},
		{"a file in the middle is missing", func(dir string) { os.Remove(filepath.Join(dir, "commitlog", fileName(131072))) }, nil, ErrDamaged, fileName(65536)},
		{"the first file is short", func(dir string) { os.Truncate(filepath.Join(dir, "commitlog", fileName(0)), 100) }, nil, ErrDamaged, ""},
		{"a bad record before good ones", func(dir string) {
			f, _ := os.OpenFile(filepath.Join(dir, "commitlog", fileName(327680)), os.O_RDWR, 0)
			f.WriteAt([]byte{1}, 4)
			f.Close()
		}, nil, ErrDamaged, "327680"},
		{"options", nil, func(o *Options) { o.MaxMessageSize, o.SyncFlushTimeout, o.Release = -1, -1, "3.2.6" }, nil, "maxMessageSize: want 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := copyStore(t, fixture)
			if tc.prepare != nil {
				tc.prepare(dir)
			}
			o, _ := DefaultOptions("4.3.2")
			if tc.o != nil {
				tc.o(&o)
			}
			s, err := Open(dir, o)
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v, want %v with %q", err, tc.want, tc.text)
			}
			t.Log(err)
			if tc.want == ErrForeign {
				if _, err := os.Stat(filepath.Join(dir, abortName)); err == nil {
					t.Error("the directory was written")
				}
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir, small(t, ""))
		defer s.Close()
		if _, err := Open(dir, small(t, "")); !errors.Is(err, ErrLocked) {
			t.Errorf("%v, want locked", err)
		}
	})
}

func TestAppendRefuses(t *testing.T) {
	s := open(t, t.TempDir(), small(t, "4.3.2"))
	ok := numbered(1, 10)
	for name, change := range map[string]func(*Message){
		"topic": func(m *Message) { m.Topic = "a/../b" }, "long topic": func(m *Message) { m.Topic = strings.Repeat("t", 128) },
		"no topic": func(m *Message) { m.Topic = "" }, "queue": func(m *Message) { m.QueueID = -1 },
		"larger than a file": func(m *Message) { m.Body = make([]byte, 16384) }, "properties": func(m *Message) { m.Properties = Properties(make([]byte, 40000)) },
	} {
		m := ok
		change(&m)
		if _, err := s.Append(&m, nil); err == nil {
			t.Errorf("%s: stored", name)
		}
		if _, err := s.AppendBatch([]Message{ok, m}, nil); err == nil {
			t.Errorf("batch, %s: stored", name)
		}
	}
	if s.MaxOffset() != 0 {
		t.Errorf("something was written: %d", s.MaxOffset())
	}
	s.Close()
	if _, err := s.Append(&ok, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}

func TestPoolDeficient(t *testing.T) {
	o := small(t, "4.3.2")
	o.TransientStorePoolEnable, o.TransientStorePoolSize, o.FastFailIfNoBufferInStorePool = true, 1, true
	o.CommitIntervalCommitLog = time.Hour
	s := open(t, t.TempDir(), o)
	if n, on := s.AvailableBuffers(); n != 1 || !on {
		t.Errorf("%d buffers, %v", n, on)
	}
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		m := numbered(i, 1000)
		_, err = s.Append(&m, nil)
	}
	if !errors.Is(err, ErrCreateMappedFile) {
		t.Errorf("append without a buffer: %v", err)
	}
	s.Close()
}

func TestOptionsOfReleases(t *testing.T) {
	for release, want := range map[string][3]bool{"4.2.0": {}, "4.9.0": {}, "4.9.1": {true, true}, "5.3.3": {true, true}} {
		o, err := DefaultOptions(release)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{o.UseReentrantLockWhenPutMessage, o.FlushCommitLogTimed}; got != want {
			t.Errorf("%s: %v, want %v", release, got, want)
		}
	}
	for _, bad := range []string{"4", "4.3", "4.3.2.1", "3.2.6", "6.0.0", "4.x.1", "4.3.-2", "4.3.999"} {
		if _, err := DefaultOptions(bad); err == nil {
			t.Errorf("release %q is known", bad)
		}
	}
	var o Options
	for key, value := range map[string]string{"flushDiskType": "SYNC_FLUSH", "mapedFileSizeCommitLog": "65536", "transientStorePoolEnable": "true", "flushIntervalCommitLog": "250"} {
		if err := o.Set(key, value); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(Options{FlushDiskType: SyncFlush, MappedFileSizeCommitLog: 65536, TransientStorePoolEnable: true, FlushIntervalCommitLog: 250 * time.Millisecond}, o,
		cmp.FilterPath(func(p cmp.Path) bool {
			return p.String() == "Hook" || p.String() == "Now" || p.String() == "Nanos" || p.String() == "StoreHost"
		}, cmp.Ignore())); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	if err := o.Set("brokerName", "x"); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("unknown key: %v", err)
	}
	if err := o.Set("maxIndexNum", "many"); err == nil {
		t.Error("a number of letters")
	}
}
