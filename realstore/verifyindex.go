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
	in := bufio.NewReaderSize(io.NewSectionReader(h, at, f.size-at), 64<<10)
	last, err := v.chains(f, at, in)
	if err != nil {
		return shorter(err)
	}
	if stray, err := firstNonZero(h, at+int64(n)*indexEntryBytes, f.size); err != nil {
		return err
	} else if stray >= 0 {
		v.notice(f.path, stray, "bytes after the last entry are not zero")
	}
	in.Reset(io.NewSectionReader(h, indexHeaderBytes, at-indexHeaderBytes))
	return shorter(v.slots(f, in, last))
}

// chains follows the entries of an index file, which begin at a place, and
// returns the last one of each slot.
func (v *verifier) chains(f indexFileInfo, at int64, in *bufio.Reader) (last []int32, err error) {
	n := int(f.h.IndexCount)
	last = make([]int32, v.idx.slots)
	slots, used := uint32(v.idx.slots), int32(0)
	var e, first IndexEntry
	for k := 0; k < n; {
		b, err := in.Peek(indexEntryBytes * min(fillEntries, n-k))
		if len(b) < indexEntryBytes {
			return nil, err
		}
		whole := len(b) / indexEntryBytes * indexEntryBytes
		for b = b[:whole]; len(b) >= indexEntryBytes; b, k = b[indexEntryBytes:], k+1 {
			before := e.PhyOffset
			e = readIndexEntry(b)
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
			} else if e.PhyOffset < before {
				v.fault(f.path, pos+4, "entry %d is of offset %d, the one before of %d", k, e.PhyOffset, before)
			}
			if e.KeyHash < 0 {
				v.fault(f.path, pos, "entry %d has a negative hash", k)
				continue
			}
			slot := &last[uint32(e.KeyHash)%slots]
			if e.PrevInChain != *slot {
				v.fault(f.path, pos+16, "entry %d is chained to %d, the one before it in its slot is %d", k, e.PrevInChain, *slot)
			}
			if *slot == 0 {
				used++
			}
			*slot = int32(k)
		}
		in.Discard(whole)
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
	return last, nil
}

// slots compares the slots of an index file with the last entry of each.
func (v *verifier) slots(f indexFileInfo, in *bufio.Reader, last []int32) error {
	for slot := 0; slot < len(last); {
		b, err := in.Peek(indexSlotBytes * min(4*fillEntries, len(last)-slot))
		if len(b) < indexSlotBytes {
			return err
		}
		whole := len(b) / indexSlotBytes * indexSlotBytes
		for b = b[:whole]; len(b) >= indexSlotBytes; b, slot = b[indexSlotBytes:], slot+1 {
			if got := readInt32(b); got != last[slot] {
				v.fault(f.path, int64(indexHeaderBytes+indexSlotBytes*slot), "slot %d points to entry %d, its last is %d", slot, got, last[slot])
			}
		}
		in.Discard(whole)
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
	file, k int32 // it is entry k of this file
}

// fillEntries is how many entries are decoded at a time.
const fillEntries = 512

func newIndexReader(x *indexFiles) *indexReader {
	return &indexReader{x: x, i: -1, in: bufio.NewReaderSize(nil, 64<<10)}
}

// peek returns the entry after the next n, nil at the end. It stays what it is
// when more are read.
func (r *indexReader) peek(n int) (*located, error) {
	if r.used+n < len(r.have) {
		return &r.have[r.used+n], nil
	}
	return r.fill(n)
}

// fill reads until there are entries beyond the next n.
func (r *indexReader) fill(n int) (*located, error) {
	if r.used > 0 { // into a new slice: somebody may hold an entry of the old one
		r.have, r.used = append(make([]located, 0, fillEntries+8), r.have[r.used:]...), 0
	}
	for len(r.have) <= n {
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
		b, err := r.in.Peek(indexEntryBytes * min(fillEntries, int(f.h.IndexCount)-r.k))
		if len(b) < indexEntryBytes {
			if shorter(err) != nil {
				return nil, err
			}
			r.k = int(f.h.IndexCount)
			continue
		}
		whole := len(b) / indexEntryBytes * indexEntryBytes
		for b = b[:whole]; len(b) > 0; b = b[indexEntryBytes:] {
			r.have = append(r.have, located{readIndexEntry(b), int32(r.i), int32(r.k)})
			r.k++
		}
		r.in.Discard(whole)
	}
	return &r.have[n], nil
}

// place is where an entry lies.
func (r *indexReader) place(e *located) (path string, pos int64) {
	return r.x.files[e.file].path, int64(indexHeaderBytes+indexSlotBytes*r.x.slots) + int64(e.k)*indexEntryBytes
}

// skip passes over an entry that was peeked at.
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
func (v *verifier) indexed(offset int64, r *Record, p *stored, q *queueFiles) error {
	if v.keys == nil {
		return nil
	}
	first := true
	var topic int32
	if q != nil {
		topic = q.hash
	} else {
		topic = topicHash(r.Topic)
	}
	return keyHashes(topic, r, p, func(hash int32) error {
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
			v.entryFault(e, 0, "entry of hash %d for offset %d, want hash %d for offset %d", e.KeyHash, e.PhyOffset, hash, offset)
			v.keys.skip()
			return nil
		case e.PhyOffset < offset:
			v.entryFault(e, 0, "entry for offset %d, where no message has such a key", e.PhyOffset)
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

// entryFault reports a fault at some bytes of an index entry.
func (v *verifier) entryFault(e *located, bytes int64, format string, args ...any) {
	path, pos := v.keys.place(e)
	v.fault(path, pos+bytes, format, args...)
}

func (v *verifier) entryTime(e *located, ts int64) {
	f := &v.idx.files[e.file]
	// The first entry of a file is written before the file's begin timestamp is
	// set to its message's: until then it is the last timestamp of the file before.
	if e.k == 1 {
		after := int64(-1) // where the file before is gone
		if e.file > 0 {
			after = v.idx.files[e.file-1].h.EndTimestamp
		}
		if want := timeDiff(after, ts); after >= 0 && e.TimeDiff != want {
			v.entryFault(e, 12, "entry is of %d s, its message of %d s after the file before", e.TimeDiff, want)
		} else if after < 0 && v.d.files[0].base == 0 && e.TimeDiff != 0 {
			v.entryFault(e, 12, "the first entry is of %d s, want 0", e.TimeDiff)
		}
		if f.h.BeginTimestamp != ts {
			v.fault(f.path, 0, "beginTimestamp %d, the first message's is %d", f.h.BeginTimestamp, ts)
		}
	} else if want := timeDiff(f.h.BeginTimestamp, ts); e.TimeDiff != want {
		v.entryFault(e, 12, "entry is of %d s after the file's begin, its message of %d s", e.TimeDiff, want)
	}
	if f.h.EndPhyOffset == e.PhyOffset && f.h.EndTimestamp != ts {
		v.fault(f.path, 8, "endTimestamp %d, the last message's is %d", f.h.EndTimestamp, ts)
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
				path, pos := v.keys.place(e)
				v.notice(path, pos, "entry for offset %d, behind the log's end", e.PhyOffset)
			} else {
				v.entryFault(e, 0, "entry for offset %d, where no message has such a key", e.PhyOffset)
			}
		}
		v.keys.skip()
	}
}
