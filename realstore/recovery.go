package realstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
)

// Recovery tells what opening a store found and did.
type Recovery struct {
	Clean       bool   // the last stop was clean: no abort file
	From        int64  // where the scan of the log began
	End         int64  // the end of the last sound message, where the log goes on
	Stop        Defect // what stood there
	Messages    int64  // scanned
	Dispatched  int64  // brought into queues or index again
	Removed     int    // files after the end, removed
	Unqueueable int64  // messages that no queue can take: an unsafe topic or an impossible offset
}

// open loads what is there and brings it into order, without threads.
func (s *Store) open() (err error) {
	defer func() {
		if err != nil {
			if s.aborting { // a directory that is refused stays as it was
				err = errors.Join(err, s.v.remove(filepath.Join(s.dir, abortName)))
			}
			err = errors.Join(err, s.release())
		}
	}()
	dir := filepath.Join(s.dir, commitLogDir)
	if err := s.v.mkdirAll(dir); err != nil {
		return err
	}
	es, err := s.v.list(s.dir)
	if err != nil {
		return err
	}
	s.recovery.Clean = true
	for _, e := range es {
		if e.name == abortName {
			s.recovery.Clean = false
		}
	}
	files, err := s.adoptSizes(dir)
	if err != nil {
		return err
	}
	if s.ck, err = openCheckpoint(s.v, s.dir, s.t); err != nil {
		return err
	}
	if s.o.TransientStorePoolEnable && (s.o.FlushDiskType == AsyncFlush || s.t.syncFlushWithPool) {
		if s.pool, err = newPool(s.o.TransientStorePoolSize, s.o.MappedFileSizeCommitLog); err != nil {
			return err
		}
	}
	s.alloc = &allocator{
		dir: dir, v: s.v, size: s.o.MappedFileSizeCommitLog, warm: s.o.WarmMapedFileEnable, sync: s.o.FlushDiskType == SyncFlush,
		pages: s.o.FlushLeastPagesWhenWarmMapedFile, pool: s.pool, fast: s.o.FastFailIfNoBufferInStorePool,
		nanos: s.o.Nanos, notify: s.o.Hook.Allocated,
	}
	loaded := make([]*mappedFile, 0, len(files))
	for _, lf := range files {
		m, err := s.v.open(lf.path)
		if err != nil {
			return err
		}
		f := &mappedFile{base: lf.base, size: int(lf.size), path: lf.path, m: m}
		f.setPositions(lf.size)
		loaded = append(loaded, f)
		s.files.Store(&loaded)
		if int64(len(m.data())) != lf.size {
			return fmt.Errorf("%s: %w: its length changed", lf.path, ErrDamaged)
		}
	}
	if err := guard("recovery", s.recover); err != nil {
		return err
	}
	for _, q := range *s.queues.all.Load() {
		q.next = q.cq.count
	}
	return nil
}

// adoptSizes lists the commit log's files, takes over the sizes that the
// directory was made with, and refuses what does not fit them. An empty last
// file, as a crash can leave it, is removed.
func (s *Store) adoptSizes(dir string) ([]logFile, error) {
	files, others, err := logFiles(s.v, dir)
	if err != nil {
		return nil, err
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("%s: %w: it holds %q", dir, ErrForeign, others[0])
	}
	size := int64(s.o.MappedFileSizeCommitLog)
	if size == 0 && len(files) > 0 {
		size = files[0].size
		if size < 128 {
			return nil, fmt.Errorf("%s: %w: a commit log file of %d bytes", files[0].path, ErrDamaged, size)
		}
	} else if size == 0 {
		size = defaultCommitLogFile
	}
	s.o.MappedFileSizeCommitLog = int(size)
	if n := len(files); n > 0 && files[n-1].size < size && s.hollow(files[n-1]) {
		if err := s.v.remove(files[n-1].path); err != nil {
			return nil, err
		}
		files = files[:n-1]
	}
	if err := checkFiles(files, size); err != nil {
		return nil, err
	}

	if s.o.MappedFileSizeConsumeQueue == 0 {
		s.o.MappedFileSizeConsumeQueue = defaultConsumeQueueFile
		dirs, err := queueDirs(s.v, s.dir)
		if err != nil {
			return nil, err
		}
		for _, d := range dirs {
			qs, _, err := logFiles(s.v, d.path)
			if err != nil {
				return nil, err
			}
			if len(qs) > 0 && qs[0].size >= queueEntryBytes && qs[0].size%queueEntryBytes == 0 {
				s.o.MappedFileSizeConsumeQueue = int(qs[0].size)
				break
			}
		}
	}
	s.o.MappedFileSizeConsumeQueue = (s.o.MappedFileSizeConsumeQueue + queueEntryBytes - 1) / queueEntryBytes * queueEntryBytes
	s.queues.size = int64(s.o.MappedFileSizeConsumeQueue)
	if s.o.MaxHashSlotNum == 0 && s.o.MaxIndexNum == 0 {
		if s.o.MaxHashSlotNum, s.o.MaxIndexNum, err = inferIndexSize(s.v, filepath.Join(s.dir, indexDir)); err != nil {
			return nil, err
		}
	} else if s.o.MaxHashSlotNum == 0 {
		s.o.MaxHashSlotNum = defaultHashSlots
	} else if s.o.MaxIndexNum == 0 {
		s.o.MaxIndexNum = defaultIndexEntries
	}
	return files, checkIndexSize(s.o.MaxHashSlotNum, s.o.MaxIndexNum)
}

// checkFiles refuses a log whose files are not all of one length, one after the
// other. A wrong file makes all after it wrong: the first faults are enough.
func checkFiles(files []logFile, size int64) error {
	if size < 1 {
		return fmt.Errorf("%s: %w: the file is empty", files[0].path, ErrDamaged)
	}
	var faults []error
	for i, f := range files {
		switch {
		case f.size != size:
			faults = append(faults, fmt.Errorf("%s: %w: %d bytes, want %d (mappedFileSizeCommitLog)", f.path, ErrDamaged, f.size, size))
		case f.base%size != 0 || f.base != files[0].base+int64(i)*size:
			faults = append(faults, fmt.Errorf("%s: %w: not the next file after %s", f.path, ErrDamaged, fileName(files[max(i-1, 0)].base)))
		}
	}
	if n := len(faults); n > 3 {
		faults = append(faults[:3], fmt.Errorf("and %d more", n-3))
	}
	return errors.Join(faults...)
}

// hollow tells whether a file holds nothing but zeros: one whose allocation a
// crash cut short.
func (s *Store) hollow(f logFile) bool {
	if f.size == 0 {
		return true
	}
	m, err := s.v.open(f.path)
	if err != nil {
		return false
	}
	defer m.close()
	ok := false
	guard(f.path, func() error { ok = zeros(m.data()); return nil })
	return ok
}

func zeros(b []byte) bool {
	for ; len(b) >= 32; b = b[32:] {
		le := binary.LittleEndian
		if le.Uint64(b)|le.Uint64(b[8:])|le.Uint64(b[16:])|le.Uint64(b[24:]) != 0 {
			return false
		}
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// recover finds the end of the log, cuts off what lies behind it, and brings
// queues and index up to it.
//
// After a clean stop the last three files are scanned, and messages that the
// queues lack are dispatched again (as in 4.9.4; 4.3.2 leaves them out). After a
// crash the scan starts at the newest file that the checkpoint vouches for, and
// everything from there on is dispatched again; the index from where its last
// full file ends. Without queues it starts at the first file.
func (s *Store) recover() error {
	clean, ck := s.recovery.Clean, s.ck.read()
	if err := s.loadQueues(); err != nil {
		return err
	}
	if s.o.MessageIndexEnable {
		s.idx = &index{
			v: s.v, dir: filepath.Join(s.dir, indexDir), slots: s.o.MaxHashSlotNum, entries: s.o.MaxIndexNum,
			perSlot: s.t.indexCountsOccupiedSlots, now: s.o.Now,
			filled: func(ts int64) error {
				s.ck.set(func(c *Checkpoint) { c.IndexMsgTimestamp = max(c.IndexMsgTimestamp, ts) })
				return s.ck.flush()
			},
		}
	}
	files := *s.files.Load()
	start := s.scanFrom(files, clean, ck)
	end, err := s.findEnd(files, start)
	if err != nil {
		return err
	}
	if clean {
		if err := refuseLoss(files, end); err != nil {
			return err
		}
		// From here on the directory changes, and a crash must be seen as one.
		if err := s.makeAbort(); err != nil {
			return err
		}
	}
	if s.idx != nil {
		if err := s.idx.load(clean, ck, end); err != nil {
			return err
		}
	}
	if err := s.cut(end + s.seeded.cutOff); err != nil {
		return err
	}
	s.recovery.End = end
	if !clean {
		// A process that was killed leaves pages that the disk has not got yet. The
		// checkpoint vouches for what lies before the scan.
		for _, f := range *s.files.Load() {
			if f.base >= s.recovery.From {
				if err := f.m.sync(0, f.size); err != nil {
					return err
				}
			}
		}
	}

	from := int64(0)
	if len(files) > 0 {
		from = files[start].base
	}
	if clean {
		if from, err = s.queuesEnd(); err != nil {
			return err
		}
	}
	queuesFrom := from
	if s.idx != nil && s.idx.lastEnd < from && (!clean || s.idx.dropped) {
		from = s.idx.lastEnd
	}
	err = s.redispatch(max(from, s.MinOffset()), queuesFrom, end)
	if errors.Is(err, errQueueGap) {
		// A queue lacks more than what was scanned: all of them from the start.
		for _, q := range *s.queues.all.Load() {
			q.cq.rebuilt = false
		}
		err = s.redispatch(s.MinOffset(), s.MinOffset(), end)
	}
	if err != nil {
		return err
	}
	if err := s.trimQueues(); err != nil {
		return err
	}
	for _, at := range []interface{ Store(int64) }{&s.flushed, &s.committed, &s.dispatched} {
		at.Store(end)
	}
	if s.idx != nil {
		if err := s.idx.flush(); err != nil {
			return err
		}
	}
	return s.flushQueues(0, true)
}

// scanFrom chooses the file at which the scan of the log starts.
func (s *Store) scanFrom(files []*mappedFile, clean bool, ck Checkpoint) int {
	if len(*s.queues.all.Load()) == 0 {
		return 0
	}
	if clean {
		return max(0, len(files)-3)
	}
	var r Record
	for i := len(files) - 1; i > 0; i-- {
		_, d := decode(files[i].m.data(), &r, false)
		if d == Sound && r.Magic != MagicBlank && r.StoreTimestamp != 0 && r.StoreTimestamp <= ck.MinTimestamp() {
			return i
		}
	}
	return 0
}

// findEnd scans records from a file on to the first that is none.
func (s *Store) findEnd(files []*mappedFile, start int) (int64, error) {
	if len(files) == 0 {
		return 0, nil
	}
	s.recovery.From = files[start].base
	var r Record
	end := files[start].base
	for _, f := range files[start:] {
		for at := 0; ; {
			n, d := decode(f.m.data()[at:], &r, s.o.CheckCRCOnRecover)
			if d == Sound && r.Magic != MagicBlank {
				d = r.judge(f.base + int64(at))
			}
			if d != Sound {
				s.recovery.Stop = d
				return end, nil
			}
			if r.Magic == MagicBlank {
				end = f.end()
				break
			}
			s.recovery.Messages++
			s.lastTime = max(s.lastTime, r.StoreTimestamp)
			at += n
			end = f.base + int64(at)
			if at == f.size {
				break
			}
		}
	}
	return end, nil
}

// refuseLoss keeps a store that was stopped cleanly, and has sound records
// after a bad one, from being cut: that is damage, not a crash.
func refuseLoss(files []*mappedFile, end int64) error {
	var r Record
	for _, f := range files {
		if f.base <= end {
			continue
		}
		if _, d := decode(f.m.data(), &r, true); d == Sound && r.Magic != MagicBlank && r.judge(f.base) == Sound {
			return fmt.Errorf("%w: the record at offset %d is bad, but the log goes on at %d; recover it into another directory", ErrDamaged, end, f.base)
		}
	}
	return nil
}

func (s *Store) makeAbort() error {
	text := s.abortText()
	m, err := s.v.create(filepath.Join(s.dir, abortName), int64(len(text)), true)
	if err != nil {
		return err
	}
	s.aborting = true
	copy(m.data(), text)
	return errors.Join(m.sync(0, len(text)), m.close(), s.v.syncDir(s.dir))
}

// cut makes end the log's end: the files behind it go, and what stands behind
// it in its own becomes zero, so that nothing of it can come back.
func (s *Store) cut(end int64) error {
	files := *s.files.Load()
	keep := len(files)
	for ; keep > 0; keep-- {
		if f := files[keep-1]; f.base < end || f.base == end && keep == 1 {
			break
		}
	}
	// From the last backwards, each for good before the next: a gap in the log
	// would look like damage.
	for i := len(files) - 1; i >= keep; i-- {
		s.recovery.Removed++
		if err := errors.Join(files[i].m.close(), s.v.remove(files[i].path), s.v.syncDir(filepath.Join(s.dir, commitLogDir))); err != nil {
			return err
		}
	}
	files = files[:keep:keep]
	s.files.Store(&files)
	for _, f := range files {
		f.wroteTime.Store(s.lastTime)
		f.committedTime.Store(s.lastTime)
	}
	if keep == 0 || files[keep-1].end() <= end {
		return nil
	}
	f := files[keep-1]
	at := end - f.base
	f.setPositions(at)
	s.cur = f
	tail := f.m.data()[at:]
	if zeros(tail) {
		return nil
	}
	clear(tail)
	return f.m.sync(int(at), len(tail))
}

func (s *Store) loadQueues() error {
	dirs, err := queueDirs(s.v, s.dir)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if err := s.queues.of(d.topic, d.id).cq.load(); err != nil {
			return err
		}
	}
	return nil
}

// queuesEnd is the offset after the last message that any queue knows.
func (s *Store) queuesEnd() (int64, error) {
	end := int64(0)
	for _, q := range *s.queues.all.Load() {
		if q.cq.count > q.cq.first {
			e, err := q.cq.entry(q.cq.count - 1)
			if err != nil {
				return 0, err
			}
			if e.Offset <= 1<<62 {
				end = max(end, e.Offset+int64(e.Size))
			}
		}
	}
	return end, nil
}

var errQueueGap = errors.New("queue lacks entries")

// redispatch brings the messages in [from, end) into the index, and those from
// queuesFrom on into the queues. The first message of a queue says how many were
// before it: what the queue holds beyond them may be torn, and is written again.
func (s *Store) redispatch(from, queuesFrom, end int64) error {
	var r Record
	told := from
	for f := s.fileAt(from); f != nil && from < end; f = s.fileAt(from) {
		if s.redispatched != nil && from-told >= aheadBytes {
			if err := s.redispatched(from); err != nil {
				return err
			}
			told = from
		}
		n, d := decode(f.m.data()[from-f.base:], &r, false)
		if d != Sound {
			if from < queuesFrom || s.recovery.Clean {
				// Not scanned: an older file that is damaged. Its rest is left out.
				s.recovery.Unqueueable++
				from = f.end()
				continue
			}
			return fmt.Errorf("offset %d: %w: %v", from, ErrDamaged, d)
		}
		if r.Magic == MagicBlank {
			from = f.end()
			continue
		}
		if err := s.redispatchOne(&r, from >= queuesFrom, queuesFrom > s.MinOffset()); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// redispatchOne brings one message into its queue, if queues is set, and into
// the index. gaps says that a queue must not begin with this message.
func (s *Store) redispatchOne(r *Record, queues, gaps bool) error {
	if !topicIsSafe(r.Topic) {
		s.recovery.Unqueueable++
		return nil
	}
	s.recovery.Dispatched++
	p := parse(r.Properties)
	if queues {
		if queued(r.SysFlag) {
			cq := s.queues.ofBytes(r.Topic, r.QueueID).cq
			if gaps && r.QueueOffset > cq.count {
				return errQueueGap
			}
			if !cq.rebuilt {
				cq.rebuilt = true
				if err := cq.truncate(r.QueueOffset); err != nil {
					return err
				}
			}
			err := cq.put(r.QueueOffset, QueueEntry{r.PhysicalOffset, r.Size, tagsCode(r, &p)})
			if errors.Is(err, errQueueOffset) {
				s.recovery.Unqueueable++
			} else if err != nil {
				return err
			}
		}
		s.logicsTime.Store(max(s.logicsTime.Load(), r.StoreTimestamp))
		s.physicTime.Store(max(s.physicTime.Load(), r.StoreTimestamp))
	}
	if s.idx == nil {
		return nil
	}
	return s.idx.add(r, &p)
}

// trimQueues drops entries from the queues' ends that point to nothing, or to
// another queue's message.
func (s *Store) trimQueues() error {
	for key, q := range *s.queues.all.Load() {
		n := q.cq.count
		for ; n > q.cq.first; n-- {
			e, err := q.cq.entry(n - 1)
			if err != nil {
				return err
			}
			if s.holds(key, n-1, e) {
				break
			}
		}
		if err := q.cq.truncate(n); err != nil {
			return err
		}
	}
	return nil
}

// holds tells whether the log has the message of a queue's entry.
func (s *Store) holds(key queueKey, i int64, e QueueEntry) bool {
	f := s.fileAt(e.Offset)
	if f == nil || e.Offset-f.base >= f.wrote.Load() {
		// What was deleted from the log's start is no fault of the queue.
		return e.Offset >= 0 && e.Offset < s.MinOffset()
	}
	var r Record
	n, d := decode(f.m.data()[e.Offset-f.base:f.wrote.Load()], &r, false)
	return d == Sound && r.Magic != MagicBlank && n == int(e.Size) && string(r.Topic) == key.topic && r.QueueID == key.id && r.QueueOffset == i
}
