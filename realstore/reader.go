package realstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Dir is a store's directory that is only read: nothing in it is opened for
// writing, locked or mapped. Its files are not trusted: each length, offset and
// count is checked before it is used, and memory does not grow with the store.
type Dir struct {
	path   string
	files  []logFile
	others []string
}

// reads is what a Dir needs of a volume.
var reads volume = machine{}

// OpenDir looks at the directory of a store: the one that holds commitlog/.
func OpenDir(path string) (*Dir, error) {
	if fi, err := os.Stat(filepath.Join(path, commitLogDir)); err != nil {
		return nil, fmt.Errorf("%s: %w: no %s in it", path, ErrForeign, commitLogDir)
	} else if !fi.IsDir() {
		return nil, fmt.Errorf("%s: %w: %s is no directory", path, ErrForeign, commitLogDir)
	}
	d := &Dir{path: path}
	var err error
	d.files, d.others, err = logFiles(reads, filepath.Join(path, commitLogDir))
	return d, err
}

// FileInfo describes a file of the commit log or of a queue.
type FileInfo struct {
	Path string
	Base int64 // the offset of its first byte
	Size int64
}

// QueueInfo describes a consume queue on disk.
type QueueInfo struct {
	Topic    string
	QueueID  int32
	Files    int
	FileSize int64
	Min, Max int64 // entries [Min, Max), by what the files hold
}

// IndexInfo describes an index file.
type IndexInfo struct {
	Path           string
	Size           int64
	Header         IndexHeader
	Slots, Entries int // maxHashSlotNum and maxIndexNum, 0 where unknown
}

// Info is what a store's directory looks like from outside.
type Info struct {
	CommitLog  []FileInfo
	Queues     []QueueInfo
	Index      []IndexInfo
	Checkpoint *Checkpoint // nil where there is none
	Abort      bool        // the last stop was no clean one, or the store is open
}

// Info reads the directory's outlines, not the messages.
func (d *Dir) Info() (Info, error) {
	var in Info
	for _, f := range d.files {
		in.CommitLog = append(in.CommitLog, FileInfo{f.path, f.base, f.size})
	}
	dirs, err := queueDirs(reads, d.path)
	if err != nil {
		return in, err
	}
	for _, qd := range dirs {
		q, err := openQueueFiles(qd)
		if err != nil {
			return in, err
		}
		in.Queues = append(in.Queues, QueueInfo{qd.topic, qd.id, len(q.files), q.fileSize(), q.min(), q.max()})
	}
	ix, err := openIndexFiles(filepath.Join(d.path, indexDir), 0, 0)
	if err != nil {
		return in, err
	}
	for _, f := range ix.files {
		in.Index = append(in.Index, IndexInfo{f.path, f.size, f.h, ix.slots, ix.entries})
	}
	if b, err := readSome(filepath.Join(d.path, checkpointName), 0, 40); err == nil && len(b) == 40 {
		c := parseCheckpoint(b)
		in.Checkpoint = &c
	}
	_, err = os.Stat(filepath.Join(d.path, abortName))
	in.Abort = err == nil
	return in, nil
}

var errNoFile = errors.New("no regular file")

// readSome reads up to n bytes of a file at an offset.
func readSome(path string, at int64, n int) ([]byte, error) {
	if fi, err := os.Stat(path); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, errNoFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	n, err = f.ReadAt(b, at)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// ScanOptions choose what Scan shows.
type ScanOptions struct {
	From, To int64 // offsets of the log: records that start in [From, To); To 0 is no bound
	SkipCRC  bool  // leave the bodies' sums untested
	// Resync goes on after bytes that are no record, at the next sound one; else
	// the scan ends there.
	Resync bool
	// Progress, where set, is told now and then the offset up to which the log is
	// read. An error of it ends the scan with that error.
	Progress func(offset int64) error
}

// Scan calls f with each record of the log in order: its offset, the record, and
// what is wrong with it. The record is nil where the bytes are none: f gets the
// offset and the defect, and the scan ends there or, with Resync, goes on. The
// zeros after the log's last record are no defect. A record is valid until f
// returns; an error of f ends the scan.
func (d *Dir) Scan(o ScanOptions, f func(offset int64, r *Record, defect Defect) error) error {
	s := &logScanner{files: d.files, crc: !o.SkipCRC}
	defer s.close()
	return s.run(o, f)
}

// searchBytes is how much is looked at in one go for the next record.
const searchBytes = 64 << 10

// logScanner reads a log's files window by window.
type logScanner struct {
	files []logFile
	crc   bool
	f     *os.File
	name  string
	base  int64
	tell  func(offset int64) error
	ahead *aheadReader
	piece []byte   // the buffer that win lies in, if it is the reader's
	spare [][]byte // for the next reader
	long  []byte   // the buffer of windows that are longer than a piece
	win   []byte   // the file's bytes from at on
	at    int64
	holes holes
	r     Record
	// What the scan saw, for those who ask after it.
	end   int64 // after the last record
	stray int64 // offset of the first bytes after it that are not zero, or -1
}

func (s *logScanner) close() {
	s.stop()
	if s.f != nil {
		s.f.Close()
		s.f = nil
	}
}

// stop ends reading ahead.
func (s *logScanner) stop() {
	if s.ahead == nil {
		return
	}
	s.spare = s.ahead.stop()
	s.ahead, s.piece = nil, nil // win may lie in the piece until it is replaced
}

func (s *logScanner) open(f logFile) error {
	s.close()
	var err error
	s.f, err = os.Open(f.path)
	s.at, s.win, s.name, s.base, s.holes = 0, nil, f.path, f.base, holes{f: s.f, end: f.size}
	return err
}

// bytes returns up to want bytes of the open file from pos on, at least one
// record's head where the file has it; fewer than want at the file's end.
func (s *logScanner) bytes(pos int64, want int) ([]byte, error) {
	if pos >= s.at && pos+int64(want) <= s.at+int64(len(s.win)) {
		return s.win[pos-s.at:], nil
	}
	if s.tell != nil {
		if err := s.tell(s.base + pos); err != nil {
			return nil, err
		}
	}
	var left []byte // of the window
	if pos >= s.at && pos < s.at+int64(len(s.win)) {
		left = s.win[pos-s.at:]
	}
	if from := pos + int64(len(left)); s.ahead == nil || s.ahead.next != from {
		s.stop()
		s.ahead = newAheadReader(s.f, from, s.spare)
	}
	p := s.ahead.take()
	if len(left) <= aheadRoom && want <= len(left)+p.n {
		copy(p.b[aheadRoom-len(left):], left)
		s.win = p.b[aheadRoom-len(left) : aheadRoom+p.n]
		s.keep(p.b)
	} else {
		// It grows by what the file has, not by what is wanted.
		long := append(s.long[:0], left...) // the same bytes, where left is of long
		for ; p.n > 0; p = s.ahead.take() {
			long = append(long, p.b[aheadRoom:aheadRoom+p.n]...)
			if p.err != nil || len(long) >= want {
				break
			}
			s.ahead.giveBack(p.b)
		}
		s.win, s.long = long, long
		s.keep(p.b)
	}
	s.at = pos
	if p.err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, p.err)
	}
	return s.win, nil
}

// keep has the reader fill the buffer again that was kept before this one.
func (s *logScanner) keep(piece []byte) {
	if s.piece != nil {
		s.ahead.giveBack(s.piece)
	}
	s.piece = piece
}

// record reads the record at pos of a file; n is its length where that is known.
func (s *logScanner) record(f logFile, pos int64) (n int, d Defect, err error) {
	left := f.size - pos
	b, err := s.bytes(pos, int(min(left, recordOverhead)))
	if err != nil || len(b) < blankHead {
		return 0, DefectShort, err
	}
	size := int64(binary.BigEndian.Uint32(b))
	magic := binary.BigEndian.Uint32(b[atMagic:])
	switch {
	case magic == MagicBlank:
		s.r = Record{Size: int32(size), Magic: magic}
		if size != left {
			return 0, DefectSize, nil
		}
		return int(size), Sound, nil
	case magic != MagicV1 && magic != MagicV2:
		return 0, DefectMagic, nil
	case size < recordOverhead || size > maxRecordBytes || size > left:
		return 0, DefectSize, nil
	}
	if b, err = s.bytes(pos, int(size)); err != nil {
		return 0, DefectShort, err
	}
	n, d = decode(b, &s.r, s.crc)
	if d == Sound {
		d = s.r.judge(f.base + pos)
	}
	return n, d, nil
}

func (s *logScanner) run(o ScanOptions, visit func(int64, *Record, Defect) error) error {
	s.stray, s.tell = -1, o.Progress
	hole := int64(-1) // where zeros began that may be the log's end
	for i, f := range s.files {
		if o.To > 0 && f.base >= o.To {
			break
		}
		if f.base+f.size <= o.From && i+1 < len(s.files) {
			continue
		}
		if err := s.open(f); err != nil {
			return err
		}
		for pos := int64(0); pos < f.size; {
			at := f.base + pos
			if o.To > 0 && at >= o.To {
				return nil
			}
			n, d, err := s.record(f, pos)
			if err != nil {
				return err
			}
			if n > 0 && hole >= 0 { // the zeros were not the end
				if at >= o.From {
					if err := visit(hole, nil, DefectMagic); err != nil || !o.Resync {
						return err
					}
				}
				hole = -1
			}
			if n > 0 {
				s.end = at + int64(n)
				if s.r.Magic != MagicBlank && at >= o.From {
					if err := visit(at, &s.r, d); err != nil {
						return err
					}
				}
				pos += int64(n)
				continue
			}
			// No record. Either zeros to the end, or damage.
			zero, next, err := s.search(f, pos, o.Resync)
			if err != nil {
				return err
			}
			switch {
			case zero && next < 0:
				if hole < 0 {
					hole = at
				}
			default:
				if hole >= 0 {
					at, hole = hole, -1
				}
				if at >= o.From {
					if err := visit(at, nil, d); err != nil || !o.Resync {
						return err
					}
				}
			}
			if next < 0 {
				break
			}
			pos = next
		}
	}
	return nil
}

// search looks for the next sound record of a file after a position that has
// none. zero tells whether the position begins with zeros, as the unwritten
// rest of a file does; deep also whether anything else stands in that rest.
func (s *logScanner) search(f logFile, pos int64, deep bool) (zero bool, next int64, err error) {
	head, err := s.bytes(pos, int(min(f.size-pos, blankHead)))
	if err != nil {
		return false, -1, err
	}
	// Fewer bytes than the file had when it was listed are no unwritten rest.
	zero = int64(len(head)) >= min(f.size-pos, blankHead) && zeros(head[:min(len(head), blankHead)])
	if !deep {
		return zero, -1, nil
	}
	// Bytes made to look like records at each place must not take forever.
	budget := 4*f.size + 1<<20
	for from := pos + 1; from < f.size; {
		if end := s.at + int64(len(s.win)); from+atMagic >= end { // the window is done
			// A magic code may lie across its end, but not into a hole.
			if next := s.holes.pass(end); next == f.size {
				break
			} else if next > end {
				from = next
			}
		}
		b, err := s.bytes(from, int(min(f.size-from, searchBytes)))
		if err != nil || len(b) == 0 {
			return zero, -1, err
		}
		j := -1
		if !zeros(b) {
			if s.stray < 0 {
				s.stray = f.base + from
			}
			j = indexMagic(b)
		}
		if j < 0 {
			if int64(len(b)) >= f.size-from {
				break
			}
			from += int64(max(len(b)-atMagic, 1)) // a magic code may straddle the windows
			continue
		}
		from += int64(j) + 1
		if at := from - 1 - atMagic; at > pos && budget > 0 {
			n, d, err := s.record(f, at)
			if err != nil {
				return zero, -1, err
			}
			if n > 0 && d == Sound {
				return zero, at, nil
			}
			budget -= int64(max(n, recordOverhead))
		}
	}
	return zero, -1, nil
}

// holes finds what of a file needs to be read because it may be other than zero.
// What the kernel has read ahead in a hole counts as data from then on, and it
// reads ahead at each read: so where the next hole is, and where it ends, is
// asked before what lies before it is read.
type holes struct {
	f        *os.File
	end      int64
	from, to int64 // the next hole
	looked   bool
}

// pass returns the first place from at on that is not in a hole, or the end.
func (h *holes) pass(at int64) int64 {
	if h.looked && at < h.from {
		return at
	}
	if !h.looked {
		at = nextData(h.f, at, h.end)
	}
	at = max(at, h.to)
	h.from = nextHole(h.f, at, h.end)
	h.to = nextData(h.f, h.from, h.end)
	h.looked = true
	return at
}

var (
	magicHead  = []byte{0xDA, 0xA3, 0x20}
	blankMagic = []byte{0xCB, 0xD4, 0x31, 0x94}
)

// indexMagic finds the first magic code in b.
func indexMagic(b []byte) int {
	i := bytes.Index(b, magicHead)
	if i >= 0 {
		b = b[:i]
	}
	if j := bytes.Index(b, blankMagic); j >= 0 {
		return j
	}
	return i
}

// queueFiles reads the entries of a queue on disk, a window at a time.
type queueFiles struct {
	queueDir
	files []logFile
	win   []byte
	at    int64 // byte offset in the queue of win[0]
	// Verify keeps here what it has seen of the queue.
	next int64 // the queue offset that the next message should have, -1 before the first
	hash int32 // topicHash
}

const queueWindowBytes = 16 << 10

func openQueueFiles(d queueDir) (*queueFiles, error) {
	files, _, err := logFiles(reads, d.path)
	return &queueFiles{queueDir: d, files: files, next: -1, hash: topicHash(d.topic)}, err
}

func (q *queueFiles) fileSize() int64 {
	if len(q.files) == 0 {
		return 0
	}
	return q.files[0].size
}

// entry reads entry i; ok is false where the queue has no such place.
func (q *queueFiles) entry(i int64) (e QueueEntry, ok bool, err error) {
	if len(q.files) == 0 || i < 0 || i > 1<<58 {
		return e, false, nil
	}
	off := i * queueEntryBytes
	if off >= q.at && off+queueEntryBytes <= q.at+int64(len(q.win)) {
		return readQueueEntry(q.win[off-q.at:]), true, nil
	}
	f := q.file(off)
	if f == nil || off+queueEntryBytes > f.base+f.size {
		return e, false, nil
	}
	if q.win == nil {
		q.win = make([]byte, queueWindowBytes)
	}
	b, err := readInto(f.path, off-f.base, q.win[:min(int64(queueWindowBytes), f.base+f.size-off)])
	if err != nil {
		return e, false, err
	}
	q.win, q.at = b, off
	if len(b) < queueEntryBytes {
		return e, false, nil
	}
	return readQueueEntry(b), true, nil
}

func (q *queueFiles) file(off int64) *logFile {
	for lo, hi := 0, len(q.files); lo < hi; {
		mid := (lo + hi) / 2
		switch f := &q.files[mid]; {
		case off < f.base:
			hi = mid
		case off >= f.base+f.size:
			lo = mid + 1
		default:
			return f
		}
	}
	return nil
}

func (q *queueFiles) min() int64 {
	if len(q.files) == 0 {
		return 0
	}
	i := q.files[0].base / queueEntryBytes
	for range q.fileSize() / queueEntryBytes {
		if e, ok, err := q.entry(i); err != nil || !ok || e != preBlank {
			break
		}
		i++
	}
	return i
}

// max counts entries as the broker does on start: in the last file that has any.
func (q *queueFiles) max() int64 {
	for k := len(q.files) - 1; k >= 0; k-- {
		n := q.files[k].base / queueEntryBytes
		for range q.files[k].size / queueEntryBytes {
			if e, ok, err := q.entry(n); err != nil || !ok || e.Offset < 0 || e.Size <= 0 {
				break
			}
			n++
		}
		if n > q.files[k].base/queueEntryBytes || k == 0 {
			return n
		}
	}
	return 0
}

// readInto fills b from a file; a shorter result is the file's end.
func readInto(path string, at int64, b []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.ReadAt(b, at)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// indexFiles reads the entries of all index files in their order.
type indexFiles struct {
	slots, entries int
	files          []indexFileInfo
	strange        []string
}

type indexFileInfo struct {
	path string
	size int64
	h    IndexHeader
}

// openIndexFiles lists the index files; slots and entries 0 are found out.
func openIndexFiles(dir string, slots, entries int) (*indexFiles, error) {
	x := &indexFiles{slots: slots, entries: entries}
	es, err := reads.list(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range es {
		path := filepath.Join(dir, e.name)
		if !e.file() || !isIndexName(e.name) {
			x.strange = append(x.strange, path)
			continue
		}
		b, err := readSome(path, 0, indexHeaderBytes)
		if err != nil {
			return nil, err
		}
		f := indexFileInfo{path: path, size: e.size}
		if len(b) == indexHeaderBytes {
			f.h = readIndexHeader(b)
		}
		x.files = append(x.files, f)
	}
	for _, f := range x.files {
		if x.slots > 0 {
			break
		}
		if x.slots, x.entries, err = slotsOf(f); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// inferBytes bounds the index files whose sizes are found out by looking into
// them; of longer ones only RocketMQ's own is known.
const inferBytes = 64 << 20

func slotsOf(f indexFileInfo) (slots, entries int, err error) {
	if f.size == indexBytes(defaultHashSlots, defaultIndexEntries) {
		return defaultHashSlots, defaultIndexEntries, nil
	}
	if f.size > inferBytes {
		return 0, 0, nil
	}
	b, err := readSome(f.path, 0, int(f.size))
	if err != nil {
		return 0, 0, err
	}
	slots, entries, _ = inferSlots(b)
	return slots, entries, nil
}
