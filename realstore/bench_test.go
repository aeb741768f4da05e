package realstore

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks come in pairs: the floor, which is the least that an append of
// such a log must do, and the store beside it. Compare their records per second
// (rec/s). -benchtime 3s or so gives both several files of 1 GiB.

const benchFile = 1 << 30

func benchMessage() Message {
	m := numbered(1, 1024)
	m.Properties = MakeProperties("", Property{"UNIQ_KEY", "7F000001000100000000000000000001"}, Property{"WAIT", "true"})
	return m
}

// BenchmarkFloorAppend sums a body and copies a record into a shared mapping of
// a preallocated file of 1 GiB.
func BenchmarkFloorAppend(b *testing.B) {
	m := benchMessage()
	rec, err := AppendRecord(nil, &m, Placement{StoreHost: host("127.0.0.1:1")})
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	var f mapping
	at, n := benchFile, 0
	sum := uint32(0)
	b.ReportAllocs()
	for b.Loop() {
		if at+len(rec) > benchFile {
			b.StopTimer()
			if f != nil {
				f.close()
			}
			if f, err = (machine{}).create(filepath.Join(dir, fmt.Sprint(n)), benchFile, false); err != nil {
				b.Fatal(err)
			}
			at, n = 0, n+1
			b.StartTimer()
		}
		sum ^= crc32.ChecksumIEEE(m.Body)
		at += copy(f.data()[at:], rec)
	}
	report(b, int64(b.N), len(rec))
	f.close()
	_ = sum
}

func report(b *testing.B, records int64, bytes int) {
	b.SetBytes(int64(bytes))
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "rec/s")
}

// BenchmarkAppend appends to a store whose flush is timed, in a closed loop.
func BenchmarkAppend(b *testing.B) {
	for _, release := range []string{"4.3.2", "4.9.4"} {
		for _, timing := range []string{"plain", "phases"} {
			b.Run(release+"/"+timing, func(b *testing.B) {
				o, err := DefaultOptions(release)
				if err != nil {
					b.Fatal(err)
				}
				o.MappedFileSizeCommitLog = benchFile
				o.MessageIndexEnable = false
				o.FlushCommitLogTimed = true
				benchAppend(b, o, timing == "phases")
			})
		}
	}
	b.Run("4.3.2/woken", func(b *testing.B) {
		o, _ := DefaultOptions("4.3.2")
		benchAppend(b, o, false)
	})
	b.Run("4.3.2/pool", func(b *testing.B) {
		o, _ := DefaultOptions("4.3.2")
		o.TransientStorePoolEnable, o.TransientStorePoolSize = true, 3
		benchAppend(b, o, false)
	})
}

func benchAppend(b *testing.B, o Options, phases bool) {
	s := open(b, b.TempDir(), o)
	m := benchMessage()
	var ph *Phases
	if phases {
		ph = &Phases{}
	}
	r, err := s.Append(&m, ph) // the first makes the file
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Append(&m, ph); err != nil {
			b.Fatal(err)
		}
	}
	report(b, int64(b.N), r.Bytes)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

const syncWriters = 32

// BenchmarkFloorSync copies 32 records and syncs them, one after the other.
func BenchmarkFloorSync(b *testing.B) {
	m := benchMessage()
	rec, err := AppendRecord(nil, &m, Placement{StoreHost: host("127.0.0.1:1")})
	if err != nil {
		b.Fatal(err)
	}
	f, err := (machine{}).create(filepath.Join(b.TempDir(), "f"), benchFile, false)
	if err != nil {
		b.Fatal(err)
	}
	at := 0
	for b.Loop() {
		if at+syncWriters*len(rec) > benchFile {
			at = 0
		}
		from := at
		for range syncWriters {
			at += copy(f.data()[at:], rec)
		}
		if err := f.sync(from, at-from); err != nil {
			b.Fatal(err)
		}
	}
	report(b, int64(b.N)*syncWriters, syncWriters*len(rec))
	f.close()
}

// BenchmarkSync has 32 writers wait for the disk.
func BenchmarkSync(b *testing.B) {
	for _, release := range []string{"4.3.2", "4.9.4"} {
		b.Run(release, func(b *testing.B) { benchSync(b, release) })
	}
}

func benchSync(b *testing.B, release string) {
	o, err := DefaultOptions(release)
	if err != nil {
		b.Fatal(err)
	}
	o.FlushDiskType = SyncFlush
	o.MessageIndexEnable = false
	s := open(b, b.TempDir(), o)
	m := benchMessage()
	if _, err := s.Append(&m, nil); err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	var left atomic.Int64
	turns := make(chan int64)
	for range syncWriters {
		wg.Go(func() {
			m := benchMessage()
			for n := range turns {
				for range n {
					if _, err := s.Append(&m, nil); err != nil {
						b.Error(err)
					}
				}
				left.Add(-n)
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	const each = 8
	n := max(int64(b.N), 1)
	for i := int64(0); i < n; i += each {
		for range syncWriters {
			turns <- each
		}
	}
	close(turns)
	wg.Wait()
	b.StopTimer()
	report(b, (n+each-1)/each*each*syncWriters, 1)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFloorRead reads and sums the log's records, knowing where they are.
func BenchmarkFloorRead(b *testing.B) {
	dir, bytes := readable(b)
	b.SetBytes(bytes)
	for b.Loop() {
		floorRead(b, dir, bytes)
	}
}

func floorRead(b *testing.B, dir string, bytes int64) {
	d, err := OpenDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	for _, f := range d.files {
		h, err := os.Open(f.path)
		if err != nil {
			b.Fatal(err)
		}
		for at := int64(0); at < f.size && f.base+at < bytes; at += int64(len(buf)) {
			n, err := h.ReadAt(buf, at)
			if err != nil {
				b.Fatal(err)
			}
			crc32.ChecksumIEEE(buf[:n])
		}
		h.Close()
	}
}

// readable makes a store of about 64 MiB.
func readable(b *testing.B) (string, int64) {
	o := small(b, "4.3.2")
	o.MappedFileSizeCommitLog, o.MappedFileSizeConsumeQueue = 16<<20, 12000*queueEntryBytes
	o.MaxHashSlotNum, o.MaxIndexNum = 50000, 200000
	dir := b.TempDir()
	s := open(b, dir, o)
	var n int64
	for i := 0; n < 63<<20; i++ {
		m := numbered(i, 1024)
		r, err := s.Append(&m, nil)
		if err != nil {
			b.Fatal(err)
		}
		n = r.Offset
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, n
}

func BenchmarkScan(b *testing.B) {
	dir, bytes := readable(b)
	d, err := OpenDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Scan(ScanOptions{}, func(int64, *Record, Defect) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	dir, bytes := readable(b)
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		d, err := OpenDir(dir)
		if err != nil {
			b.Fatal(err)
		}
		rep, err := d.Verify(VerifyOptions{})
		if err != nil || rep.Found > 0 {
			b.Fatal(err, rep.Summary(), rep.Faults[0])
		}
	}
}

// BenchmarkRatio measures each pair in turns, some ms each, so that what else
// the machine does meets both.
func BenchmarkRatio(b *testing.B) {
	b.Run("append", func(b *testing.B) {
		m := benchMessage()
		rec, err := AppendRecord(nil, &m, Placement{StoreHost: host("127.0.0.1:1")})
		if err != nil {
			b.Fatal(err)
		}
		o, _ := DefaultOptions("4.3.2")
		o.FlushCommitLogTimed, o.MappedFileSizeCommitLog, o.MessageIndexEnable = true, benchFile, false
		s := open(b, b.TempDir(), o)
		f, err := (machine{}).create(filepath.Join(b.TempDir(), "f"), benchFile, false)
		if err != nil {
			b.Fatal(err)
		}
		const n = 200
		at := 0
		ratio(b, func() {
			if at+n*len(rec) > benchFile {
				at = 0
			}
			for range n {
				crc32.ChecksumIEEE(m.Body)
				at += copy(f.data()[at:], rec)
			}
		}, func() {
			for range n {
				if _, err := s.Append(&m, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		f.close()
		s.Close()
	})
	b.Run("sync", func(b *testing.B) {
		m := benchMessage()
		rec, err := AppendRecord(nil, &m, Placement{StoreHost: host("127.0.0.1:1")})
		if err != nil {
			b.Fatal(err)
		}
		o, _ := DefaultOptions("4.9.4")
		o.FlushDiskType, o.MappedFileSizeCommitLog, o.MessageIndexEnable = SyncFlush, benchFile, false
		s := open(b, b.TempDir(), o)
		f, err := (machine{}).create(filepath.Join(b.TempDir(), "f"), benchFile, false)
		if err != nil {
			b.Fatal(err)
		}
		const each = 8
		var work, done sync.WaitGroup
		turns := make(chan bool)
		for range syncWriters {
			work.Go(func() {
				m := benchMessage()
				for range turns {
					for range each {
						if _, err := s.Append(&m, nil); err != nil {
							b.Error(err)
						}
					}
					done.Done()
				}
			})
		}
		at := 0
		ratio(b, func() {
			for range each {
				from := at
				for range syncWriters {
					at += copy(f.data()[at:], rec)
				}
				if err := f.sync(from, at-from); err != nil {
					b.Fatal(err)
				}
			}
		}, func() {
			done.Add(syncWriters)
			for range syncWriters {
				turns <- true
			}
			done.Wait()
		})
		close(turns)
		work.Wait()
		f.close()
		s.Close()
	})
	dir, bytes := readable(b)
	d, err := OpenDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("scan", func(b *testing.B) {
		ratio(b, func() { floorRead(b, dir, bytes) }, func() {
			if err := d.Scan(ScanOptions{}, func(int64, *Record, Defect) error { return nil }); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("verify", func(b *testing.B) {
		ratio(b, func() { floorRead(b, dir, bytes) }, func() {
			if rep, err := d.Verify(VerifyOptions{}); err != nil || rep.Found > 0 {
				b.Fatal(err, rep)
			}
		})
	})
}

// ratio reports how much of the floor's rate the store reaches: by the sums of
// all turns but the slowest 2 % of each, which other work on the machine made
// slow, and by the medians, which leave out the turns in which the kernel
// allocates and clears memory for the file.
func ratio(b *testing.B, floor, store func()) {
	var fs, ss []time.Duration
	for b.Loop() {
		t0 := time.Now()
		floor()
		t1 := time.Now()
		store()
		fs, ss = append(fs, t1.Sub(t0)), append(ss, time.Since(t1))
	}
	sum := func(d []time.Duration) (t time.Duration) {
		slices.Sort(d)
		for _, x := range d[:max(1, len(d)*98/100)] {
			t += x
		}
		return t
	}
	b.ReportMetric(float64(sum(fs))/float64(sum(ss)), "of-floor")
	b.ReportMetric(float64(fs[len(fs)/2])/float64(ss[len(ss)/2]), "of-floor-median")
}
