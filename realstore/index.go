package realstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"time"
)

const (
	indexHeaderBytes = 40
	indexSlotBytes   = 4
	indexEntryBytes  = 20
	indexNameForm    = "20060102150405.000" // without the dot
)

// IndexHeader heads an index file (IndexHeader). IndexCount starts at 1: entry
// 0 is never used.
type IndexHeader struct {
	BeginTimestamp, EndTimestamp int64
	BeginPhyOffset, EndPhyOffset int64
	HashSlotCount, IndexCount    int32
}

// IndexEntry is an entry of an index file: one key of one message.
type IndexEntry struct {
	KeyHash     int32
	PhyOffset   int64
	TimeDiff    int32 // whole seconds since the file's BeginTimestamp
	PrevInChain int32 // the entry before it in the slot, 0 for none
}

func readIndexHeader(b []byte) IndexHeader {
	be := binary.BigEndian
	return IndexHeader{
		int64(be.Uint64(b)), int64(be.Uint64(b[8:])), int64(be.Uint64(b[16:])), int64(be.Uint64(b[24:])),
		int32(be.Uint32(b[32:])), int32(be.Uint32(b[36:])),
	}
}

func (h IndexHeader) put(b []byte) {
	be := binary.BigEndian
	be.PutUint64(b, uint64(h.BeginTimestamp))
	be.PutUint64(b[8:], uint64(h.EndTimestamp))
	be.PutUint64(b[16:], uint64(h.BeginPhyOffset))
	be.PutUint64(b[24:], uint64(h.EndPhyOffset))
	be.PutUint32(b[32:], uint32(h.HashSlotCount))
	be.PutUint32(b[36:], uint32(h.IndexCount))
}

func readIndexEntry(b []byte) IndexEntry {
	be := binary.BigEndian
	return IndexEntry{int32(be.Uint32(b)), int64(be.Uint64(b[4:])), int32(be.Uint32(b[12:])), int32(be.Uint32(b[16:]))}
}

func (e IndexEntry) put(b []byte) {
	be := binary.BigEndian
	be.PutUint32(b, uint32(e.KeyHash))
	be.PutUint64(b[4:], uint64(e.PhyOffset))
	be.PutUint32(b[12:], uint32(e.TimeDiff))
	be.PutUint32(b[16:], uint32(e.PrevInChain))
}

// indexBytes is the length of an index file.
func indexBytes(slots, entries int) int64 {
	return indexHeaderBytes + indexSlotBytes*int64(slots) + indexEntryBytes*int64(entries)
}

// timeDiff is the field of that name for a message stored at ts (IndexFile.putKey).
func timeDiff(begin, ts int64) int32 {
	if begin <= 0 {
		return 0
	}
	return int32(min(max((ts-begin)/1000, 0), math.MaxInt32))
}

// index is the index of an open store. Only the dispatcher touches it, and
// whoever has stopped the dispatcher.
type index struct {
	v              volume
	dir            string
	slots, entries int
	perSlot        bool // what HashSlotCount counts

	m        mapping // the last file; nil before the first
	h        IndexHeader
	lastName string
	lastEnd  int64 // the offset before which messages are in the index already
	endTime  int64
	made     bool
	dropped  bool // load removed files
	now      func() int64
	// filled is told of each file that is full and on disk, with its last timestamp.
	filled func(endTimestamp int64) error
}

// load takes over the index files of a store whose log ends at end. After a
// crash (clean false) only files that are full, whose last timestamp the
// checkpoint vouches for, and whose messages the log still has, are kept: the
// others may be torn, and are made again from where the kept ones end.
func (x *index) load(clean bool, checkpoint Checkpoint, end int64) error {
	es, err := x.v.list(x.dir)
	if err != nil {
		return err
	}
	x.made = len(es) > 0
	kept := true
	for _, e := range es {
		path := filepath.Join(x.dir, e.name)
		if !e.file() || !isIndexName(e.name) {
			continue
		}
		if kept {
			kept, err = x.adopt(path, e, clean, checkpoint, end)
			if err != nil {
				return err
			}
		}
		if !kept { // and none that follows
			x.dropped = true
			if err := x.v.remove(path); err != nil {
				return err
			}
			continue
		}
		x.lastName = e.name
	}
	return nil
}

func (x *index) adopt(path string, e entry, clean bool, checkpoint Checkpoint, end int64) (bool, error) {
	if want := indexBytes(x.slots, x.entries); e.size == 0 {
		return false, nil // a crash kept the name alone
	} else if e.size != want {
		return false, fmt.Errorf("%s: %w: %d bytes, want %d by maxHashSlotNum %d and maxIndexNum %d", path, ErrDamaged, e.size, want, x.slots, x.entries)
	}
	m, err := x.v.open(path)
	if err != nil {
		return false, err
	}
	h := readIndexHeader(m.data())
	n := int(h.IndexCount)
	ok := n >= 0 && n <= x.entries && h.EndPhyOffset >= x.lastEnd && (n <= 1 || h.EndPhyOffset >= h.BeginPhyOffset)
	if !clean {
		ok = ok && n == x.entries && h.EndTimestamp <= checkpoint.IndexMsgTimestamp && h.EndPhyOffset < end
	}
	if !ok {
		return false, m.close()
	}
	if x.m != nil {
		if err := x.m.close(); err != nil {
			return false, err
		}
	}
	x.m, x.h = m, h
	x.h.IndexCount = max(1, x.h.IndexCount)
	x.lastEnd, x.endTime = h.EndPhyOffset, h.EndTimestamp
	return true, nil
}

// isIndexName tells whether a name is a time in 17 digits.
func isIndexName(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) == 17
}

// add puts the keys of a message into the index. A message below the index's
// end is there already (IndexService.buildIndex).
func (x *index) add(r *Record, p *stored) error {
	if r.PhysicalOffset < x.lastEnd {
		return nil
	}
	return indexKeys(r, p, func(hash int32) error { return x.put(hash, r.PhysicalOffset, r.StoreTimestamp) })
}

func (x *index) put(hash int32, offset, ts int64) error {
	if x.m == nil || int(x.h.IndexCount) >= x.entries {
		if err := x.grow(); err != nil {
			return err
		}
	}
	b := x.m.data()
	slot := b[indexHeaderBytes+indexSlotBytes*(int(hash)%x.slots):]
	n := x.h.IndexCount
	prev := int32(binary.BigEndian.Uint32(slot))
	if prev <= 0 || prev > n {
		prev = 0
	}
	e := IndexEntry{hash, offset, timeDiff(x.h.BeginTimestamp, ts), prev}
	e.put(b[indexHeaderBytes+indexSlotBytes*x.slots+indexEntryBytes*int(n):])
	binary.BigEndian.PutUint32(slot, uint32(n))
	if n <= 1 {
		x.h.BeginPhyOffset, x.h.BeginTimestamp = offset, ts
	}
	if prev == 0 || !x.perSlot {
		x.h.HashSlotCount++
	}
	x.h.IndexCount++
	x.h.EndPhyOffset, x.h.EndTimestamp = offset, ts
	x.h.put(b)
	x.lastEnd, x.endTime = offset, ts
	return nil
}

// grow syncs the full file, and starts the next one.
func (x *index) grow() error {
	if !x.made {
		if err := x.v.mkdirAll(x.dir); err != nil {
			return err
		}
		x.made = true
	}
	if x.m != nil {
		if err := x.flush(); err != nil {
			return err
		}
		if err := x.filled(x.h.EndTimestamp); err != nil {
			return err
		}
		if err := x.m.close(); err != nil {
			return err
		}
		x.m = nil
	}
	name := x.nextName()
	m, err := x.v.create(filepath.Join(x.dir, name), indexBytes(x.slots, x.entries), true)
	if err != nil {
		return err
	}
	if err := x.v.syncDir(x.dir); err != nil {
		return err
	}
	x.m, x.lastName = m, name
	x.h = IndexHeader{IndexCount: 1}
	// A new file starts where the one before it ended (IndexFile's constructor).
	if x.lastEnd > 0 {
		x.h.BeginPhyOffset, x.h.EndPhyOffset = x.lastEnd, x.lastEnd
	}
	if x.endTime > 0 {
		x.h.BeginTimestamp, x.h.EndTimestamp = x.endTime, x.endTime
	}
	x.h.put(m.data())
	return nil
}

// nextName is the present time in local time, moved past the last file's name:
// two files of one millisecond, and a clock that goes backwards, keep the order.
func (x *index) nextName() string {
	at := time.UnixMilli(x.now())
	name := indexName(at)
	if name <= x.lastName {
		last, err := time.ParseInLocation(indexNameForm, x.lastName[:14]+"."+x.lastName[14:], time.Local)
		if err != nil {
			return name
		}
		for at, name = last, x.lastName; name <= x.lastName; name = indexName(at) {
			at = at.Add(time.Millisecond)
		}
	}
	return name
}

func indexName(t time.Time) string {
	s := t.Format(indexNameForm)
	return s[:14] + s[15:]
}

func (x *index) flush() error {
	if x.m == nil {
		return nil
	}
	return x.m.sync(0, len(x.m.data()))
}

func (x *index) close() error {
	if x.m == nil {
		return nil
	}
	err := x.m.close()
	x.m = nil
	return err
}

// checkIndexSize refuses sizes that no index file can have.
func checkIndexSize(slots, entries int) error {
	if slots < 1 || entries < 2 || indexBytes(slots, entries) > math.MaxInt32 {
		return fmt.Errorf("maxHashSlotNum %d, maxIndexNum %d: want at least 1 and 2, and files below 2 GiB", slots, entries)
	}
	return nil
}
