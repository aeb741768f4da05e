package realstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestVerifyFindsFlippedBits flips one bit at sampled places of a store's files,
// one at a time: log, queues, index files and checkpoint, each byte as likely as
// the next. What is not found must lie in a field of which no sum and no second
// copy exists, message by message; these fields are printed with their share.
func TestVerifyFindsFlippedBits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(*testing.T) string
		n    int
	}{
		{"of the real broker", func(t *testing.T) string { return copyStore(t, fixture) }, 2000},
		{"of 4.3.2 written here", func(t *testing.T) string { return variedStore(t, "4.3.2") }, 500},
		{"of 5.3.3 written here", func(t *testing.T) string { return variedStore(t, "5.3.3") }, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() || raceDetector {
				c.n /= 10
			}
			flipStore(t, c.make(t), c.n)
		})
	}
}

func flipStore(t *testing.T, dir string, n int) {
	var files []string
	var sizes []int64
	var total int64
	for _, f := range storeFiles(t, dir) {
		fi, err := os.Stat(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		files, sizes, total = append(files, f), append(sizes, fi.Size()), total+fi.Size()
	}
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := d.Verify(VerifyOptions{}); err != nil || rep.Found > 0 {
		t.Fatalf("before any flip: %v, %s %v", err, rep.Summary(), rep.Faults)
	}
	var recs []Record
	err = d.Scan(ScanOptions{}, func(_ int64, r *Record, _ Defect) error {
		c := *r
		c.Topic, c.Properties = bytes.Clone(r.Topic), bytes.Clone(r.Properties)
		recs = append(recs, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(208, 4))
	missed := map[string]int{}
	lost, noticed := 0, 0
	for range n {
		at, i := rnd.Int64N(total), 0
		for at >= sizes[i] {
			at -= sizes[i]
			i++
		}
		bit := byte(1) << rnd.IntN(8)
		path := filepath.Join(dir, files[i])
		flip(t, path, at, bit)
		rep, err := d.Verify(VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		flip(t, path, at, bit)
		if rep.Found > 0 {
			if rep.OK() {
				noticed++
			}
			continue
		}
		lost++
		field, ok := uncovered(recs, files[i], at, bit)
		missed[field]++
		if !ok {
			t.Errorf("bit %#x of %s at %d (%s) not found", bit, files[i], at, field)
		}
	}
	t.Logf("found %d of %d, %d of them as notices", n-lost, n, noticed)
	var names []string
	for f := range missed {
		names = append(names, f)
	}
	slices.Sort(names)
	for _, f := range names {
		t.Logf("no second copy: %-48s %4d of %d (%.2f %%)", f, missed[f], n, 100*float64(missed[f])/float64(n))
	}
}

func flip(t *testing.T, path string, at int64, bit byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	b[0] ^= bit
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// uncovered names the field at a place; ok is true if nothing repeats that bit.
func uncovered(recs []Record, file string, at int64, bit byte) (field string, ok bool) {
	if !strings.HasPrefix(file, commitLogDir) {
		return file, false
	}
	base, _ := parseFileName(filepath.Base(file))
	at += base
	i := slices.IndexFunc(recs, func(r Record) bool { return at < r.PhysicalOffset+int64(r.Size) })
	if i < 0 || at < recs[i].PhysicalOffset {
		head := int64(0) // of the blank record: where the record before it ends
		if i > 0 {
			head = recs[i-1].PhysicalOffset + int64(recs[i-1].Size)
		}
		return "what fills a file up, behind the blank record's head", i > 0 && at >= head+blankHead
	}
	r := &recs[i]
	hosts := [2]int64{4, 4}
	for k, f := range [2]int32{FlagBornHostV6, FlagStoreHostV6} {
		if r.SysFlag&f != 0 {
			hosts[k] = 16
		}
	}
	to := int64(0) // where each field ends
	within := func(n int64) bool { to += n; return at-r.PhysicalOffset < to }
	// weight is what the bit is worth in a big-endian field that has just been passed.
	weight := func() int64 { return int64(bit) << (8 * (to - 1 - (at - r.PhysicalOffset))) }
	p := parse(r.Properties)
	keyed := indexKeys(r, &p, func(int32) error { return errors.New("has one") }) != nil
	switch {
	case within(16): // TOTALSIZE, MAGICCODE, BODYCRC, QUEUEID
		return "head", false
	case within(4):
		return "FLAG", true
	case within(16): // QUEUEOFFSET, PHYSICALOFFSET
		return "offsets", false
	case within(4):
		return "SYSFLAG", weight() <= knownFlags && weight()&int64(maskHosts) == 0
	case within(8):
		return "BORNTIMESTAMP", weight() > 0
	case within(hosts[0]):
		return "BORNHOST, address", true
	case within(4):
		return "BORNHOST, port", weight() < 65536
	case within(8):
		ts := r.StoreTimestamp ^ weight()
		between := (i == 0 || ts >= recs[i-1].StoreTimestamp) && (i == len(recs)-1 || ts <= recs[i+1].StoreTimestamp)
		return "STORETIMESTAMP, between its neighbours'", between && (weight() < 1000 || !keyed)
	case within(hosts[1]):
		return "STOREHOST, address", true
	case within(4):
		return "STOREHOST, port", weight() < 65536
	case within(4):
		return "RECONSUMETIMES", weight() <= 1<<20
	case within(8):
		return "prepared transaction offset", weight() <= r.PhysicalOffset
	}
	props := int64(r.Size) - int64(len(r.Properties))
	if at -= r.PhysicalOffset + props; at < 0 {
		return "body or topic", false
	}
	// The property at the place.
	from := bytes.LastIndexByte(r.Properties[:at], propertySeparator) + 1
	name, _, _ := strings.Cut(string(r.Properties[from:]), "\x01")
	covered := false
	switch name {
	case PropertyTags:
		covered = queued(r.SysFlag) && string(r.Topic) != scheduleTopic
	case PropertyDelay:
		covered = string(r.Topic) == scheduleTopic
	case PropertyKeys, PropertyUniqKey:
		covered = keyed
	}
	return "property " + name, !covered
}

// variedStore makes a store with the shapes that the fixture lacks.
func variedStore(t *testing.T, release string) string {
	dir := t.TempDir()
	o := small(t, release)
	var ts atomic.Int64 // the store's threads read the clock too
	ts.Store(1700000000000)
	o.Now = func() int64 { return ts.Add(137) }
	if release == "5.3.3" {
		o.StoreHost = host("[2001:db8::1]:10911")
	}
	s := open(t, dir, o)
	long := "%RETRY%" + strings.Repeat("g", 150) // a record of version 2
	for i := range 150 {
		m := numbered(i, 50+i*7%900)
		m.Properties = MakeProperties(release, Property{"TAGS", "tag"}, Property{"KEYS", fmt.Sprint("k", i)}, Property{"WAIT", "true"}, Property{"user", fmt.Sprint(i)})
		switch {
		case i%10 == 1:
			m.Properties = ""
		case i%10 == 2:
			m.BornHost = host("[2001:db8::2]:4000")
		case i%10 == 3:
			m.SysFlag, m.PreparedTransactionOffset = FlagCommit, 17
		case i%10 == 4 && release == "5.3.3":
			m.Topic = long
		case i%10 == 5:
			m.Body = nil
		}
		if _, err := s.Append(&m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
