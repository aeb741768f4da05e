package realstore

import (
	"errors"
	"fmt"
	"path/filepath"
)

// inferIndexSize finds maxHashSlotNum and maxIndexNum of the index files in a
// directory: nothing in them says so, but where the entries begin, the first
// and the last of them must repeat the header's offsets. Without index files the
// sizes are RocketMQ's.
func inferIndexSize(v volume, dir string) (slots, entries int, err error) {
	es, err := v.list(dir)
	if err != nil {
		return 0, 0, err
	}
	unknown := ""
	for _, e := range es {
		if !e.file() || !isIndexName(e.name) {
			continue
		}
		if e.size == indexBytes(defaultHashSlots, defaultIndexEntries) {
			return defaultHashSlots, defaultIndexEntries, nil
		}
		m, err := v.open(filepath.Join(dir, e.name))
		if err != nil {
			return 0, 0, err
		}
		ok := false
		err = guard(e.name, func() error { slots, entries, ok = inferSlots(m.data()); return nil })
		if err = errors.Join(err, m.close()); err != nil || ok {
			return slots, entries, err
		}
		if e.size > 0 && unknown == "" {
			unknown = fmt.Sprintf("%s: %d bytes", filepath.Join(dir, e.name), e.size)
		}
	}
	if unknown != "" {
		return 0, 0, fmt.Errorf("%s: its sizes can't be found out: say maxHashSlotNum and maxIndexNum", unknown)
	}
	return defaultHashSlots, defaultIndexEntries, nil
}

// inferSlots tries each number of slots that the file's length allows.
func inferSlots(b []byte) (slots, entries int, ok bool) {
	if len(b) < indexHeaderBytes+indexSlotBytes+2*indexEntryBytes {
		return 0, 0, false
	}
	h := readIndexHeader(b)
	last := int(h.IndexCount) - 1
	if last < 1 {
		return 0, 0, false
	}
	for s := 1; indexHeaderBytes+indexSlotBytes*s+indexEntryBytes*(last+1) <= len(b); s++ {
		at := indexHeaderBytes + indexSlotBytes*s
		if (len(b)-at)%indexEntryBytes != 0 {
			continue
		}
		first, final := readIndexEntry(b[at+indexEntryBytes:]), readIndexEntry(b[at+indexEntryBytes*last:])
		zeroth := readIndexEntry(b[at:])
		if zeroth != (IndexEntry{}) || first.PhyOffset != h.BeginPhyOffset || final.PhyOffset != h.EndPhyOffset ||
			first.KeyHash < 0 || final.KeyHash < 0 || first.PrevInChain != 0 {
			continue
		}
		entries := (len(b) - at) / indexEntryBytes
		if last < entries && chained(b, s, entries, last) {
			return s, entries, true
		}
	}
	return 0, 0, false
}

// chained tests a number of slots on the chains of up to 1000 entries: each
// leads to an older one of the same slot, and the last is its slot's head.
func chained(b []byte, slots, entries, last int) bool {
	at := indexHeaderBytes + indexSlotBytes*slots
	entry := func(k int) IndexEntry { return readIndexEntry(b[at+indexEntryBytes*k:]) }
	for k := last; k > max(0, last-1000); k-- {
		e := entry(k)
		if e.KeyHash < 0 || e.PrevInChain < 0 || int(e.PrevInChain) >= k {
			return false
		}
		slot := int(e.KeyHash) % slots
		if p := int(e.PrevInChain); p > 0 && int(entry(p).KeyHash)%slots != slot {
			return false
		}
		head := int(readInt32(b[indexHeaderBytes+indexSlotBytes*slot:]))
		// A kill can leave a slot one ahead of the header.
		if head < k || head > last+1 || head >= entries || int(entry(head).KeyHash)%slots != slot {
			return false
		}
	}
	return true
}

func readInt32(b []byte) int32 {
	return int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
}
