package realstore

import (
	"path/filepath"
)

// inferIndexSize finds maxHashSlotNum and maxIndexNum of the index files in a
// directory: nothing in them says so, but where the entries begin, the first
// and the last of them must repeat the header's offsets.
func inferIndexSize(v volume, dir string) (slots, entries int, ok bool) {
	es, err := v.list(dir)
	if err != nil {
		return 0, 0, false
	}
	for _, e := range es {
		if !e.file() || !isIndexName(e.name) {
			continue
		}
		if e.size == indexBytes(defaultHashSlots, defaultIndexEntries) {
			return defaultHashSlots, defaultIndexEntries, true
		}
		m, err := v.open(filepath.Join(dir, e.name))
		if err != nil {
			return 0, 0, false
		}
		guard(e.name, func() error { slots, entries, ok = inferSlots(m.data()); return nil })
		m.close()
		if ok {
			return slots, entries, true
		}
	}
	return 0, 0, false
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
		// The last entry's slot points to it.
		slot := readInt32(b[indexHeaderBytes+indexSlotBytes*(int(final.KeyHash)%s):])
		if slot == int32(last) {
			return s, (len(b) - at) / indexEntryBytes, true
		}
	}
	return 0, 0, false
}

func readInt32(b []byte) int32 {
	return int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
}
