package realstore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

const queueEntryBytes = 20

// QueueEntry is one of a consume queue's entries (ConsumeQueue): where the i-th
// message of a queue lies. Entry i is at byte 20*i of the queue.
type QueueEntry struct {
	Offset   int64
	Size     int32
	TagsCode int64 // the tags' hash, or, in the schedule topic, when the message is due
}

// preBlank fills the first file of a queue that starts in the middle
// (ConsumeQueue.fillPreBlank).
var preBlank = QueueEntry{0, math.MaxInt32, 0}

func (e QueueEntry) put(b []byte) {
	binary.BigEndian.PutUint64(b, uint64(e.Offset))
	binary.BigEndian.PutUint32(b[8:], uint32(e.Size))
	binary.BigEndian.PutUint64(b[12:], uint64(e.TagsCode))
}

func readQueueEntry(b []byte) QueueEntry {
	return QueueEntry{int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint64(b[12:]))}
}

// consumeQueue is a queue of an open store. The dispatcher appends to it, the
// flush service syncs it; mu keeps them apart.
type consumeQueue struct {
	v         volume
	dir       string
	fileBytes int64

	mu       sync.Mutex
	files    []*queueFile // the mapped ones: the last, and those before it that are not yet synced
	count    int64        // entries, counted from the queue's first ever
	first    int64        // the first entry that exists
	made     bool         // the directory exists and is durable
	rebuilt  bool         // met by the present recovery
	newFiles bool         // a file's existence is not yet durable
}

type queueFile struct {
	base   int64 // in bytes
	m      mapping
	synced int // bytes from the start that are on disk
	wrote  int
}

var errQueueOffset = errors.New("queue offset out of reach")

func (q *consumeQueue) perFile() int64 { return q.fileBytes / queueEntryBytes }

// load reads how long a queue on disk is. As the broker does it looks at the
// last three files, up to the first entry that is none.
func (q *consumeQueue) load() error {
	files, _, err := logFiles(q.v, q.dir)
	if err != nil || len(files) == 0 {
		return err
	}
	q.made = true
	for i, f := range files {
		if f.size != q.fileBytes || f.base%q.fileBytes != 0 || f.base != files[0].base+int64(i)*q.fileBytes {
			// A file of another length can be the trace of a crash or of another
			// setting: from there on the queue is made again from the log.
			if err := q.dropFrom(files, i); err != nil {
				return err
			}
			files = files[:i]
			break
		}
	}
	if len(files) == 0 {
		return nil
	}
	from := max(0, len(files)-3)
	q.count = files[from].base / queueEntryBytes
	q.first = files[0].base / queueEntryBytes
	for i := from; i < len(files); i++ {
		f, err := q.open(files[i])
		if err != nil {
			return err
		}
		n := 0
		for n+queueEntryBytes <= len(f.m.data()) {
			if e := readQueueEntry(f.m.data()[n:]); e.Offset < 0 || e.Size <= 0 {
				break
			}
			n += queueEntryBytes
		}
		f.wrote, f.synced = n, n
		q.count = (f.base + int64(n)) / queueEntryBytes
		q.files = append(q.files, f)
		if int64(n) < q.fileBytes-q.fileBytes%queueEntryBytes {
			if err := q.dropFrom(files, i+1); err != nil {
				return err
			}
			break
		}
	}
	for q.first < q.count && q.first < files[0].base/queueEntryBytes+q.perFile() {
		e, err := q.entry(q.first)
		if err != nil {
			return err
		}
		if e != preBlank {
			break
		}
		q.first++
	}
	return q.release()
}

func (q *consumeQueue) open(f logFile) (*queueFile, error) {
	m, err := q.v.open(f.path)
	if err != nil {
		return nil, err
	}
	if int64(len(m.data())) != f.size {
		return nil, errors.Join(fmt.Errorf("%s: %w: its length changed", f.path, ErrDamaged), m.close())
	}
	return &queueFile{base: f.base, m: m}, nil
}

func (q *consumeQueue) dropFrom(files []logFile, i int) error {
	for _, f := range files[i:] {
		if err := q.v.remove(f.path); err != nil {
			return err
		}
	}
	return nil
}

// entry reads an entry, from a mapped file or from one mapped for it.
func (q *consumeQueue) entry(i int64) (QueueEntry, error) {
	at := i * queueEntryBytes
	base := at - at%q.fileBytes
	for _, f := range q.files {
		if f.base == base {
			return readQueueEntry(f.m.data()[at-base:]), nil
		}
	}
	f, err := q.open(logFile{base, q.fileBytes, filepath.Join(q.dir, fileName(base))})
	if err != nil {
		return QueueEntry{}, err
	}
	e := readQueueEntry(f.m.data()[at-base:])
	return e, f.m.close()
}

// put writes entry i. The entry after the last is the usual case; one that is
// there already is left alone; one further on starts the queue anew at its own
// place, as a queue does whose first messages were deleted.
func (q *consumeQueue) put(i int64, e QueueEntry) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i < 0 || i > math.MaxInt64/queueEntryBytes-q.fileBytes {
		return fmt.Errorf("%s: entry %d: %w", q.dir, i, errQueueOffset)
	}
	switch {
	case i < q.count:
		return nil
	case i > q.count:
		if err := q.clear(); err != nil {
			return err
		}
		q.first, q.count = i, i
	}
	at := i * queueEntryBytes
	base := at - at%q.fileBytes
	f := q.last()
	if f == nil || f.base != base {
		var err error
		if f, err = q.grow(base); err != nil {
			return err
		}
		for f.wrote < int(at-base) {
			preBlank.put(f.m.data()[f.wrote:])
			f.wrote += queueEntryBytes
		}
	}
	e.put(f.m.data()[at-base:])
	f.wrote = int(at-base) + queueEntryBytes
	q.count = i + 1
	return nil
}

func (q *consumeQueue) last() *queueFile {
	if len(q.files) == 0 {
		return nil
	}
	return q.files[len(q.files)-1]
}

func (q *consumeQueue) grow(base int64) (*queueFile, error) {
	if !q.made {
		if err := q.v.mkdirAll(q.dir); err != nil {
			return nil, err
		}
		q.made = true
	}
	m, err := q.v.create(filepath.Join(q.dir, fileName(base)), q.fileBytes, false)
	if err != nil {
		return nil, err
	}
	f := &queueFile{base: base, m: m}
	q.files = append(q.files, f)
	q.newFiles = true
	return f, nil
}

// clear removes all files of the queue.
func (q *consumeQueue) clear() error {
	for _, f := range q.files {
		if err := f.m.close(); err != nil {
			return err
		}
	}
	q.files = nil
	files, _, err := logFiles(q.v, q.dir)
	if err != nil {
		return err
	}
	q.first, q.count = 0, 0
	return q.dropFrom(files, 0)
}

// truncate keeps the first n entries and writes zeros over the rest, so that
// nothing stale can be taken for an entry after the next crash.
func (q *consumeQueue) truncate(n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n >= q.count {
		return nil
	}
	if n <= q.first {
		return q.clear()
	}
	at := n * queueEntryBytes
	base := at - at%q.fileBytes
	for _, f := range q.files {
		if err := f.m.close(); err != nil {
			return err
		}
	}
	q.files = nil
	files, _, err := logFiles(q.v, q.dir)
	if err != nil {
		return err
	}
	for i, lf := range files {
		if lf.base > base {
			if err := q.dropFrom(files, i); err != nil {
				return err
			}
			break
		}
		if lf.base == base {
			f, err := q.open(lf)
			if err != nil {
				return err
			}
			clear(f.m.data()[at-base:])
			f.wrote = int(at - base)
			if err := f.m.sync(0, len(f.m.data())); err != nil {
				return err
			}
			f.synced = f.wrote
			q.files = []*queueFile{f}
		}
	}
	q.count = n
	return q.v.syncDir(q.dir)
}

// flush syncs what is at least leastPages pages long, 0 for everything
// (ConsumeQueue.flush), and forgets the mappings of finished files.
func (q *consumeQueue) flush(leastPages int) error {
	type piece struct {
		f        *queueFile
		from, to int
	}
	var buf [4]piece
	todo := buf[:0]
	q.mu.Lock()
	for _, f := range q.files {
		full := f.wrote+queueEntryBytes > int(q.fileBytes)
		if f.wrote > f.synced && (leastPages == 0 || full || f.wrote/pageBytes-f.synced/pageBytes >= leastPages) {
			todo = append(todo, piece{f, f.synced, f.wrote})
		}
	}
	syncDir := q.newFiles && len(todo) > 0
	if syncDir {
		q.newFiles = false
	}
	q.mu.Unlock()
	for _, p := range todo {
		if err := p.f.m.sync(p.from, p.to-p.from); err != nil {
			return err
		}
	}
	if syncDir {
		for _, d := range [...]string{q.dir, filepath.Dir(q.dir), filepath.Dir(filepath.Dir(q.dir))} {
			if err := q.v.syncDir(d); err != nil {
				return err
			}
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range todo {
		p.f.synced = max(p.f.synced, p.to)
	}
	return q.release()
}

// release unmaps the finished and synced files but the last.
func (q *consumeQueue) release() error {
	for len(q.files) > 1 && q.files[0].synced == q.files[0].wrote {
		if err := q.files[0].m.close(); err != nil {
			return err
		}
		q.files = q.files[1:]
	}
	return nil
}

func (q *consumeQueue) close() error {
	var err error
	for _, f := range q.files {
		err = errors.Join(err, f.m.close())
	}
	q.files = nil
	return err
}

// queueDir is a queue's directory in a store.
type queueDir struct {
	topic string
	id    int32
	path  string
}

// queueDirs lists the queues that a store has on disk, by topic and id.
func queueDirs(v volume, root string) ([]queueDir, error) {
	base := filepath.Join(root, consumeQueueDir)
	topics, err := v.list(base)
	if err != nil {
		return nil, err
	}
	var dirs []queueDir
	for _, t := range topics {
		if !t.dir || !topicIsSafe(t.name) {
			continue
		}
		ids, err := v.list(filepath.Join(base, t.name))
		if err != nil {
			return nil, err
		}
		from := len(dirs)
		for _, e := range ids {
			if id, err := strconv.ParseInt(e.name, 10, 32); err == nil && e.dir && id >= 0 && strconv.FormatInt(id, 10) == e.name {
				dirs = append(dirs, queueDir{t.name, int32(id), filepath.Join(base, t.name, e.name)})
			}
		}
		slices.SortFunc(dirs[from:], func(a, b queueDir) int { return cmp.Compare(a.id, b.id) })
	}
	return dirs, nil
}
