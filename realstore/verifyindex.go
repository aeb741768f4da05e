package realstore

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// indexFiles verifies the index files, without the messages.
func (v *verifier) indexFiles() error {
	for i, f := range v.idx.files {
		if v.stop.Load() {
			return nil
		}
		if v.idx.slots == 0 {
			v.fault(f.path, 0, "%d bytes: its numbers of slots and entries can't be found out", f.size)
			continue
		}
		if err := v.indexFile(i, f); err != nil {
			return err
		}
	}
	return nil
}

// indexFile verifies one index file by itself: header, slots and chains. The
// entries of a slot are chained from the newest to the oldest, so one pass in
// their order, with the last entry of each slot so far, says what each must hold.
func (v *verifier) indexFile(i int, f indexFileInfo) error {
	if want := indexBytes(v.idx.slots, v.idx.entries); f.size != want {
		v.fault(f.path, 0, "%d bytes, want %d", f.size, want)
		return nil
	}
	n := int(f.h.IndexCount)
	if n < 1 || n > v.idx.entries {
		v.fault(f.path, 36, "indexCount %d, want 1 to %d", n, v.idx.entries)
		return nil
	}
	if n < v.idx.entries && i < len(v.idx.files)-1 {
		v.fault(f.path, 36, "indexCount %d: only the last file may be less than full", n)
	}
	h, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer h.Close()
	at := int64(indexHeaderBytes + indexSlotBytes*v.idx.slots)
	in := bufio.NewReaderSize(io.NewSectionReader(h, at, f.size-at), 256<<10)
	last := make([]int32, v.idx.slots)
	used := int32(0)
	var e, first IndexEntry
	for k := range n {
		b, err := in.Peek(indexEntryBytes)
		if err != nil {
			return shorter(err)
		}
		prevOffset := e.PhyOffset
		e = readIndexEntry(b)
		in.Discard(indexEntryBytes)
		pos := at + int64(k)*indexEntryBytes
		if k == 0 {
			if e != (IndexEntry{}) {
				v.notice(f.path, pos, "entry 0, which is never used, is not zero")
			}
			e = IndexEntry{}
			continue
		}
		if k == 1 {
			first = e
		} else if e.PhyOffset < prevOffset {
			v.fault(f.path, pos+4, "entry %d is of offset %d, the one before of %d", k, e.PhyOffset, prevOffset)
		}
		if e.KeyHash < 0 {
			v.fault(f.path, pos, "entry %d has a negative hash", k)
			continue
		}
		slot := int(e.KeyHash) % v.idx.slots
		if e.PrevInChain != last[slot] {
			v.fault(f.path, pos+16, "entry %d is chained to %d, the one before it in its slot is %d", k, e.PrevInChain, last[slot])
		}
		if last[slot] == 0 {
			used++
		}
		last[slot] = int32(k)
	}
	if c := f.h.HashSlotCount; c != int32(n)-1 && c != used && c != int32(n) {
		v.fault(f.path, 32, "hashSlotCount %d, want %d, or %d by older releases", c, used, n-1)
	}
	if n > 1 {
		if f.h.BeginPhyOffset != first.PhyOffset {
			v.fault(f.path, 16, "beginPhyOffset %d, the first entry's is %d", f.h.BeginPhyOffset, first.PhyOffset)
		}
		if f.h.EndPhyOffset != e.PhyOffset {
			v.fault(f.path, 24, "endPhyOffset %d, the last entry's is %d", f.h.EndPhyOffset, e.PhyOffset)
		}
	}
	if stray, err := firstNonZero(h, at+int64(n)*indexEntryBytes, f.size); err != nil {
		return err
	} else if stray >= 0 {
		v.notice(f.path, stray, "bytes after the last entry are not zero")
	}

	in.Reset(io.NewSectionReader(h, indexHeaderBytes, at-indexHeaderBytes))
	for slot, want := range last {
		b, err := in.Peek(indexSlotBytes)
		if err != nil {
			return shorter(err)
		}
		got := readInt32(b)
		in.Discard(indexSlotBytes)
		if got != want {
			v.fault(f.path, int64(indexHeaderBytes+indexSlotBytes*slot), "slot %d points to entry %d, its last is %d", slot, got, want)
		}
	}
	return nil
}

func shorter(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // shortened since it was listed: the next look will say so
	}
	return err
}

// indexReader reads the entries of all index files in their order, which is the
// messages' order.
type indexReader struct {
	x    *indexFiles
	i    int // file
	k    int // entry
	f    *os.File
	in   *bufio.Reader
	have []located // entries read ahead
	used int       // of them
}

type located struct {
	IndexEntry
	path  string
	pos   int64
	h     *IndexHeader
	first bool  // of its file
	after int64 // if so, the last timestamp of the file before, -1 where that is gone
}

func newIndexReader(x *indexFiles) *indexReader {
	return &indexReader{x: x, i: -1, in: bufio.NewReaderSize(nil, 64<<10)}
}

// peek returns the entry after the next n, nil at the end.
func (r *indexReader) peek(n int) (*located, error) {
	for len(r.have)-r.used <= n {
		for r.f == nil || r.k >= int(r.x.files[r.i].h.IndexCount) {
			if r.f != nil {
				r.f.Close()
				r.f = nil
			}
			if r.i++; r.i >= len(r.x.files) {
				r.i = len(r.x.files)
				return nil, nil
			}
			f := &r.x.files[r.i]
			if f.size != indexBytes(r.x.slots, r.x.entries) || int(f.h.IndexCount) > r.x.entries {
				continue // reported already
			}
			var err error
			if r.f, err = os.Open(f.path); err != nil {
				return nil, err
			}
			r.k = 1
			at := int64(indexHeaderBytes + indexSlotBytes*r.x.slots + indexEntryBytes)
			r.in.Reset(io.NewSectionReader(r.f, at, f.size-at))
		}
		f := &r.x.files[r.i]
		b, err := r.in.Peek(indexEntryBytes)
		if err != nil {
			if shorter(err) != nil {
				return nil, err
			}
			r.k = int(f.h.IndexCount)
			continue
		}
		pos := int64(indexHeaderBytes+indexSlotBytes*r.x.slots) + int64(r.k)*indexEntryBytes
		after := int64(-1)
		if r.i > 0 {
			after = r.x.files[r.i-1].h.EndTimestamp
		}
		r.have = append(r.have, located{readIndexEntry(b), f.path, pos, &f.h, r.k == 1, after})
		r.in.Discard(indexEntryBytes)
		r.k++
	}
	return &r.have[r.used+n], nil
}

func (r *indexReader) skip() {
	if r.used++; r.used == len(r.have) {
		r.have, r.used = r.have[:0], 0
	}
}

// prevKeys are the hashes of the last message that has keys: after a crash its
// entries may stand twice. Of more than there is room for, the first are kept.
type prevKeys struct {
	offset int64
	n      int
	hash   [64]int32
}

func (p *prevKeys) has(e *located) bool {
	if e.PhyOffset != p.offset {
		return false
	}
	for _, h := range p.hash[:p.n] {
		if h == e.KeyHash {
			return true
		}
	}
	return false
}

// indexed compares a message's keys with the next entries of the index.
func (v *verifier) indexed(offset int64, r *Record, p *stored) error {
	if v.keys == nil {
		return nil
	}
	first := true
	return indexKeys(r, p, func(hash int32) error {
		if first {
			// Twice is allowed at the seam of two files only, so look before the keys change.
			for {
				e, err := v.keys.peek(0)
				if err != nil {
					return err
				}
				if e == nil || !v.prev.has(e) {
					break
				}
				v.keys.skip()
			}
			v.prev.offset, v.prev.n, first = offset, 0, false
		}
		if v.prev.n < len(v.prev.hash) {
			v.prev.hash[v.prev.n] = hash
			v.prev.n++
		}
		return v.key(offset, hash, r.StoreTimestamp)
	})
}

// key takes the index entry of one key of a message.
func (v *verifier) key(offset int64, hash int32, ts int64) error {
	v.report.IndexKeys++
	for {
		e, err := v.keys.peek(0)
		if err != nil {
			return err
		}
		if e == nil {
			if v.report.Clean {
				v.logFault(offset, "a key is missing in the index")
			}
			return nil
		}
		min := v.d.files[0].base
		switch {
		case e.PhyOffset == offset && e.KeyHash == hash:
			v.entryTime(e, ts)
			v.keys.skip()
			return nil
		case e.PhyOffset < min: // of a message that was deleted
			v.keys.skip()
		case e.PhyOffset == offset || e.KeyHash == hash && e.PhyOffset != offset && v.fitsAfter(offset):
			v.fault(e.path, e.pos, "entry of hash %d for offset %d, want hash %d for offset %d", e.KeyHash, e.PhyOffset, hash, offset)
			v.keys.skip()
			return nil
		case e.PhyOffset < offset:
			v.fault(e.path, e.pos, "entry for offset %d, where no message has such a key", e.PhyOffset)
			v.keys.skip()
		default:
			v.logFault(offset, "a key is missing in the index")
			return nil
		}
	}
}

// fitsAfter tells whether the entry after the next is near the given offset:
// then the next alone is wrong, and not the message.
func (v *verifier) fitsAfter(offset int64) bool {
	e, err := v.keys.peek(1)
	if err != nil || e == nil {
		return true
	}
	return e.PhyOffset >= offset && e.PhyOffset < offset+2*maxRecordBytes
}

func (v *verifier) entryTime(e *located, ts int64) {
	// The first entry of a file is written before the file's begin timestamp is
	// set to its message's: until then it is the last timestamp of the file before.
	if e.first {
		if want := timeDiff(e.after, ts); e.after >= 0 && e.TimeDiff != want {
			v.fault(e.path, e.pos+12, "entry is of %d s, its message of %d s after the file before", e.TimeDiff, want)
		} else if e.after < 0 && v.d.files[0].base == 0 && e.TimeDiff != 0 {
			v.fault(e.path, e.pos+12, "the first entry is of %d s, want 0", e.TimeDiff)
		}
		if e.h.BeginTimestamp != ts {
			v.fault(e.path, 0, "beginTimestamp %d, the first message's is %d", e.h.BeginTimestamp, ts)
		}
	} else if want := timeDiff(e.h.BeginTimestamp, ts); e.TimeDiff != want {
		v.fault(e.path, e.pos+12, "entry is of %d s after the file's begin, its message of %d s", e.TimeDiff, want)
	}
	if e.h.EndPhyOffset == e.PhyOffset && e.h.EndTimestamp != ts {
		v.fault(e.path, 8, "endTimestamp %d, the last message's is %d", e.h.EndTimestamp, ts)
	}
}

// indexEnd looks for entries after the last message's.
func (v *verifier) indexEnd() error {
	if v.keys == nil {
		return nil
	}
	defer func() {
		if v.keys.f != nil {
			v.keys.f.Close()
		}
	}()
	for {
		e, err := v.keys.peek(0)
		if err != nil || e == nil {
			return err
		}
		if !v.prev.has(e) && (e.PhyOffset >= v.report.End || len(v.d.files) > 0 && e.PhyOffset >= v.d.files[0].base) {
			if e.PhyOffset >= v.report.End && !v.report.Clean {
				v.notice(e.path, e.pos, "entry for offset %d, behind the log's end", e.PhyOffset)
			} else {
				v.fault(e.path, e.pos, "entry for offset %d, where no message has such a key", e.PhyOffset)
			}
		}
		v.keys.skip()
	}
}
