package realstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Errors of an open store.
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("store is closed")
	// ErrFlushTimeout is returned, with a valid Result, by an append under
	// SyncFlush whose flush did not end in time: the message is stored, and may or
	// may not survive a loss of power (PutMessageStatus.FLUSH_DISK_TIMEOUT).
	ErrFlushTimeout = errors.New("flush disk timeout")
	// ErrFailed is returned once the disk or the dispatch to the queues failed:
	// the store takes no more messages until it is opened again.
	ErrFailed = errors.New("store has failed")
	// ErrNoRecord is returned by Get for an offset at which no record starts.
	ErrNoRecord = errors.New("no record")
)

// Result tells where an append went.
type Result struct {
	Offset         int64 // of the first record, in the log
	Bytes          int   // of all its records
	QueueOffset    int64 // of the first message, in its queue
	StoreTimestamp int64 // ms
	Count          int   // messages
}

// Phases are the times of one append, in Options.Nanos. The caller owns it;
// nothing is allocated for it.
type Phases struct {
	Request  int64 // before the put lock was asked for; the record is encoded
	Lock     int64 // the lock is taken
	Append   int64 // the file is there: after any roll and the hook
	Appended int64 // the record is copied
	Unlock   int64 // the lock is released
	Done     int64 // the flush that was waited for is over; else as Unlock
	Roll     int64 // how much of Lock to Append a roll took, 0 for none
}

// Store is an open commit log with its consume queues and index. Its methods
// may be called by several goroutines.
type Store struct {
	o     Options
	t     traits
	dir   string
	v     volume
	lockf *os.File

	put         putLock
	lockedSince atomic.Int64 // ms; 0 while the put lock is free
	// Under the put lock:
	cur      *mappedFile
	lastTime int64
	closing  bool

	files  atomic.Pointer[[]*mappedFile] // consecutive; replaced under the put lock
	fileMu sync.RWMutex                  // held while mappings are read, taken to unmap them
	queues queueTable
	alloc  *allocator
	pool   *pool
	ck     *checkpointFile
	idx    *index

	flushMu    sync.Mutex // one flush of the log at a time
	flushed    atomic.Int64
	committed  atomic.Int64
	physicTime atomic.Int64 // store timestamp up to which the log is on disk
	dispatched atomic.Int64
	logicsTime atomic.Int64 // store timestamp up to which the queues are filled
	failure    atomic.Pointer[error]
	commitLast int64
	flushLast  int64
	queuesLast int64
	group      groupCommit
	encoders   sync.Pool
	recovery   Recovery
	// redispatched, where set, is told now and then where recovery is, and ends it
	// by an error.
	redispatched func(offset int64) error
	aborting     bool     // Open made the abort file
	flusher      *service // nil where a test drives the store
	committer    *service
	dispatcher   *service
	housekeeper  *service
	idle         atomic.Bool // the dispatcher waits to be woken
	seeded       seededBugs
}

// Open opens the store in a directory, makes one in an empty or missing one,
// and recovers what an earlier one left. It refuses a directory that holds
// anything else, or that another process has open. The directory is written.
func Open(dir string, o Options) (*Store, error) {
	if !canMap {
		return nil, fmt.Errorf("%s: a store can be opened on Linux only: %w", dir, errors.ErrUnsupported)
	}
	s, err := newStore(machine{}, dir, o)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		return nil, fmt.Errorf("%s: not a directory", dir)
	}
	if err := checkForeign(s.v, dir); err != nil {
		return nil, err
	}
	if err := s.v.mkdirAll(dir); err != nil {
		return nil, err
	}
	if s.lockf, err = lockDir(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	s.start()
	return s, nil
}

func newStore(v volume, dir string, o Options) (*Store, error) {
	if o.Release == "" {
		d, _ := DefaultOptions("")
		if o.MaxMessageSize == 0 && o.SyncFlushTimeout == 0 { // zero, but for sizes, hooks and clocks
			d.MappedFileSizeCommitLog, d.MappedFileSizeConsumeQueue = o.MappedFileSizeCommitLog, o.MappedFileSizeConsumeQueue
			d.MaxHashSlotNum, d.MaxIndexNum = o.MaxHashSlotNum, o.MaxIndexNum
			d.FlushDiskType, d.Hook, d.Now, d.Nanos = o.FlushDiskType, o.Hook, o.Now, o.Nanos
			o = d
		} else {
			o.Release = d.Release
		}
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	t, err := traitsOf(o.Release)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Nanos == nil {
		base := time.Now()
		o.Nanos = func() int64 { return int64(time.Since(base)) }
	}
	s := &Store{o: o, t: t, dir: dir, v: v}
	s.put.mutex = o.UseReentrantLockWhenPutMessage
	s.files.Store(&[]*mappedFile{})
	s.encoders.New = func() any { return &encoder{} }
	s.queues.init(s)
	return s, nil
}

// start runs the threads.
func (s *Store) start() {
	s.alloc.background = newService()
	s.alloc.background.run(s.alloc.loop)
	s.flusher, s.dispatcher, s.housekeeper = newService(), newService(), newService()
	if s.o.FlushDiskType == SyncFlush {
		s.flusher.run(s.groupCommitLoop)
	} else {
		s.flusher.run(s.flushLoop)
	}
	if s.pool != nil {
		s.committer = newService()
		s.committer.run(s.commitLoop)
	}
	s.dispatcher.run(s.dispatchLoop)
	s.housekeeper.run(s.housekeepLoop)
}

// Append stores one message and returns where. With SyncFlush it returns when
// the message is on disk, unless the message's property WAIT is false. ph may
// be nil.
func (s *Store) Append(m *Message, ph *Phases) (Result, error) {
	p := put{m: m, count: 1}
	q, n, err := s.check(m)
	if err != nil {
		return Result{}, err
	}
	p.bytes, p.crc = n, bodyCRC(m.Body)
	return s.store(&p, q, ph)
}

// AppendBatch stores messages of one queue side by side, or none of them: they
// get consecutive offsets and one store timestamp.
func (s *Store) AppendBatch(ms []Message, ph *Phases) (Result, error) {
	if len(ms) == 0 {
		return Result{}, errors.New("empty batch")
	}
	e := s.encoders.Get().(*encoder)
	defer s.encoders.Put(e)
	p := put{m: &ms[0], count: len(ms)}
	p.batch = e.buf[:0]
	var q *queue
	for i := range ms {
		m := &ms[i]
		var err error
		if m.Topic != p.m.Topic || m.QueueID != p.m.QueueID || m.SysFlag&maskTransaction != 0 {
			err = errors.New("a batch is of one topic and queue, without transactions")
		} else if q, _, err = s.check(m); err == nil {
			p.batch = encode(p.batch, m, Placement{StoreHost: s.o.StoreHost}, len(m.Topic) > maxTopicBytesV1, bodyCRC(m.Body))
		}
		if err == nil && len(p.batch) > min(s.alloc.size-blankHead, s.o.MaxMessageSize+1<<16) {
			err = fmt.Errorf("%w: batch of more than %d bytes; maxMessageSize %d, commit log files of %d",
				ErrTooLarge, len(p.batch), s.o.MaxMessageSize, s.alloc.size)
		}
		if err != nil {
			return Result{}, fmt.Errorf("message %d of %d: %w", i, len(ms), err)
		}
	}
	e.buf, p.bytes = p.batch, len(p.batch)
	return s.store(&p, q, ph)
}

// put is one append: a message, whose record is written in its place, or the
// records of a batch.
type put struct {
	m     *Message
	crc   uint32 // of the message's body
	batch []byte
	bytes int
	count int
}

// encoder holds the records of a batch.
type encoder struct{ buf []byte }

// check finds a message's queue and its record's length, and refuses a message
// that can't be stored.
func (s *Store) check(m *Message) (*queue, int, error) {
	v2 := len(m.Topic) > maxTopicBytesV1
	n := recordSize(m, s.o.StoreHost, v2)
	limited, limit := n, s.o.MaxMessageSize
	if s.t.limitOnBody {
		limited = len(m.Body)
	}
	if limited > limit || s.t.limitOnRecordToo && n > limit+1<<16 || n > s.alloc.size-blankHead {
		return nil, 0, fmt.Errorf("%w: record of %d bytes with a body of %d; maxMessageSize %d, commit log files of %d",
			ErrTooLarge, n, len(m.Body), limit, s.alloc.size)
	}
	if len(m.Properties) > maxPropertiesBytes {
		return nil, 0, fmt.Errorf("%w: %d bytes, at most %d", ErrProperties, len(m.Properties), maxPropertiesBytes)
	}
	if q := s.queues.find(m.Topic, m.QueueID); q != nil {
		return q, n, nil
	}
	if err := checkTopic(m.Topic); err != nil {
		return nil, 0, err
	}
	if v2 && !s.t.recordV2 {
		return nil, 0, fmt.Errorf("%w: %d bytes, at most %d in %s", ErrTopic, len(m.Topic), maxTopicBytesV1, s.o.Release)
	}
	if m.QueueID < 0 {
		return nil, 0, fmt.Errorf("queue id: want at least 0, got %d", m.QueueID)
	}
	return s.queues.add(m.Topic, m.QueueID), n, nil
}

// store appends, and waits for the disk where that is asked for.
func (s *Store) store(p *put, q *queue, ph *Phases) (Result, error) {
	if ph != nil {
		*ph = Phases{Request: s.o.Nanos()}
	}
	r, err := s.append(p, q, ph)
	if ph != nil {
		ph.Done = ph.Unlock
	}
	if err != nil {
		return r, err
	}
	s.wakeThreads()
	if s.o.FlushDiskType == SyncFlush && p.m.Properties.wants() {
		err = s.awaitFlush(r.Offset + int64(r.Bytes))
		if ph != nil {
			ph.Done = s.o.Nanos()
		}
	}
	return r, err
}

// append is what happens under the put lock.
func (s *Store) append(p *put, q *queue, ph *Phases) (r Result, err error) {
	s.put.lock()
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if f := recover(); f != nil {
			err = s.fail(faultError("append", f))
		}
		if s.o.Hook.Unlock != nil {
			s.o.Hook.Unlock()
		}
		s.lockedSince.Store(0)
		s.put.unlock()
		if ph != nil {
			ph.Unlock = s.o.Nanos()
		}
	}()
	now := s.o.Now()
	s.lockedSince.Store(max(now, 1))
	// A clock that goes backwards holds the store's time: recovery relies on
	// records in the order of their times.
	now = max(now, s.lastTime)
	if ph != nil {
		ph.Lock = s.o.Nanos()
	}
	if s.o.Hook.Locked != nil {
		s.o.Hook.Locked()
	}
	if s.closing {
		return r, ErrClosed
	}
	if f := s.failure.Load(); f != nil {
		return r, *f
	}
	f := s.cur
	if f == nil || f.size-int(f.wrote.Load()) < p.bytes+blankHead {
		var start int64
		if ph != nil {
			start = s.o.Nanos()
		}
		if f, err = s.roll(f); err != nil {
			return r, err
		}
		if ph != nil {
			ph.Roll = s.o.Nanos() - start
		}
	}
	at := int(f.wrote.Load())
	r = Result{Offset: f.base + int64(at), Bytes: p.bytes, StoreTimestamp: now, Count: p.count}
	if s.o.Hook.Append != nil {
		s.o.Hook.Append(r.Offset, p.bytes)
	}
	if ph != nil {
		ph.Append = s.o.Nanos()
	}
	next := q.next
	if queued(p.m.SysFlag) {
		r.QueueOffset, next = next, next+int64(p.count)
	}
	dst := f.target()[at:]
	if p.batch == nil {
		encodeInPlace(dst[:p.bytes], p.m, Placement{r.QueueOffset, r.Offset, now, s.o.StoreHost}, len(p.m.Topic) > maxTopicBytesV1, p.crc)
	} else {
		for b, qo, off := p.batch, r.QueueOffset, r.Offset; len(b) > 0; qo++ {
			n := readInt32(b)
			place(b, qo, off, now)
			b, off = b[n:], off+int64(n)
		}
		copyInPlace(dst, p.batch)
	}
	q.next = next
	f.wrote.Store(int64(at + p.bytes))
	if now != s.lastTime {
		f.wroteTime.Store(now)
		s.lastTime = now
	}
	if ph != nil {
		ph.Appended = s.o.Nanos()
	}
	return r, nil
}

// roll ends the present file with a blank record, unless it is full, and takes
// the next.
func (s *Store) roll(f *mappedFile) (*mappedFile, error) {
	base := int64(0)
	if f != nil {
		base = f.end()
		// The blank record goes first, as in the broker: it stays when the next
		// file can't be had.
		if at := f.wrote.Load(); at < int64(f.size) {
			putBlank(f.target()[at:])
			f.wrote.Store(int64(f.size))
		}
	} else if files := *s.files.Load(); len(files) > 0 {
		base = files[len(files)-1].end()
	}
	next, err := s.alloc.take(base)
	if err != nil {
		return nil, err
	}
	next.wroteTime.Store(s.lastTime)
	next.committedTime.Store(s.lastTime)
	if f != nil && f.warmed {
		s.unlockLater(f)
	}
	files := *s.files.Load()
	grown := append(files[:len(files):len(files)], next)
	s.files.Store(&grown)
	s.cur = next
	return next, nil
}

// unlockLater lets go of a finished file's pages (CommitLog.putMessage:
// unlockMappedFile, 6 s later).
func (s *Store) unlockLater(f *mappedFile) {
	time.AfterFunc(6*time.Second, func() {
		s.fileMu.RLock()
		defer s.fileMu.RUnlock()
		if f.m.data() != nil && f.warmed {
			f.m.unlock()
		}
	})
}

func (s *Store) wakeThreads() {
	if s.dispatcher == nil {
		return
	}
	if s.idle.Load() {
		s.dispatcher.wakeup()
	}
	switch {
	case s.pool != nil:
		s.committer.wakeup()
	case s.o.FlushDiskType == AsyncFlush && s.t.putWakesFlush && !s.o.FlushCommitLogTimed:
		s.flusher.wakeup()
	}
}

// fail keeps the first error that the store can't go on after.
func (s *Store) fail(err error) error {
	err = fmt.Errorf("%w: %w", ErrFailed, err)
	s.failure.CompareAndSwap(nil, &err)
	return *s.failure.Load()
}

// fileAt returns the file that holds an offset, nil where there is none.
func (s *Store) fileAt(offset int64) *mappedFile {
	files := *s.files.Load()
	if len(files) == 0 || offset < files[0].base {
		return nil
	}
	i := (offset - files[0].base) / int64(files[0].size)
	if i >= int64(len(files)) {
		return nil
	}
	return files[i]
}

// MinOffset is where the log starts.
func (s *Store) MinOffset() int64 {
	if files := *s.files.Load(); len(files) > 0 {
		return files[0].base
	}
	return 0
}

// MaxOffset is the end of what can be read: of what was appended, or with the
// transient pool of what was committed.
func (s *Store) MaxOffset() int64 {
	files := *s.files.Load()
	if len(files) == 0 {
		return 0
	}
	// A pooled file of which nothing is committed yet is preceded by one that may
	// still be committing.
	for i := len(files) - 1; i > 0; i-- {
		if files[i].readable() > 0 || files[i-1].readable() == int64(files[i-1].size) {
			return files[i].base + files[i].readable()
		}
	}
	return files[0].base + files[0].readable()
}

// FlushedOffset is the end of what is on disk, DispatchedOffset of what stands
// in the queues and the index.
func (s *Store) FlushedOffset() int64    { return s.flushed.Load() }
func (s *Store) DispatchedOffset() int64 { return s.dispatched.Load() }

// LockedSince is when the put lock's holder took it, by Options.Now in ms
// (beginTimeInLock), or 0 while it is free.
func (s *Store) LockedSince() int64 { return s.lockedSince.Load() }

// AvailableBuffers is the number of free buffers of the transient pool, and
// whether the pool is in effect at all.
func (s *Store) AvailableBuffers() (n int, enabled bool) {
	if s.pool == nil {
		return 0, false
	}
	return s.pool.available(), true
}

// Recovery tells what Open found and did.
func (s *Store) Recovery() Recovery { return s.recovery }

// Err returns why the store has failed, or nil.
func (s *Store) Err() error {
	if f := s.failure.Load(); f != nil {
		return *f
	}
	return nil
}

// QueueOffset is the number of messages that a queue has had: the offset of its
// next one.
func (s *Store) QueueOffset(topic string, id int32) int64 {
	q := s.queues.find(topic, id)
	if q == nil {
		return 0
	}
	s.put.lock()
	defer s.put.unlock()
	return q.next
}

// Get returns the record at an offset of the log; its bytes are the caller's.
func (s *Store) Get(offset int64) (Record, error) {
	var r Record
	b, err := s.read(offset)
	if err != nil {
		return r, err
	}
	n, d := decode(b, &r, true)
	if d == Sound && r.Magic != MagicBlank {
		d = r.judge(offset)
	}
	if d != Sound || r.Magic == MagicBlank || n == 0 {
		return Record{}, fmt.Errorf("offset %d: %w: %v", offset, ErrNoRecord, d)
	}
	return r, nil
}

// read copies the record at an offset.
func (s *Store) read(offset int64) (b []byte, err error) {
	s.fileMu.RLock()
	defer s.fileMu.RUnlock()
	f := s.fileAt(offset)
	if f == nil || offset-f.base >= f.readable() || f.m.data() == nil {
		return nil, fmt.Errorf("offset %d: %w: the log reaches from %d to %d", offset, ErrNoRecord, s.MinOffset(), s.MaxOffset())
	}
	err = guard(f.path, func() error {
		all := f.m.data()[offset-f.base : f.readable()]
		if len(all) < recordOverhead {
			return fmt.Errorf("offset %d: %w", offset, ErrNoRecord)
		}
		n := int(uint32(readInt32(all)))
		b = append(b, all[:min(len(all), n, maxRecordBytes)]...)
		return nil
	})
	return b, err
}

// Scan calls f with each message from an offset on, which must be a record's or
// at most MinOffset, up to what is readable when it gets there. The record is
// valid until f returns.
func (s *Store) Scan(from int64, f func(r *Record) error) error {
	var r Record
	for from = max(from, s.MinOffset()); from < s.MaxOffset(); {
		b, err := s.read(from)
		if err != nil {
			mf := s.fileAt(from)
			if errors.Is(err, ErrNoRecord) && mf != nil && mf.end()-from < recordOverhead {
				from = mf.end() // a blank record shorter than any message
				continue
			}
			return err
		}
		n, d := decode(b, &r, true)
		switch {
		case d == Sound && r.Magic == MagicBlank:
			from = s.fileAt(from).end()
			continue
		case d == Sound:
			d = r.judge(from)
		}
		if d != Sound {
			return fmt.Errorf("offset %d: %w: %v", from, ErrDamaged, d)
		}
		if err := f(&r); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// Close flushes everything and leaves the directory as a clean stop does: no
// abort file, unless dispatch or the disk failed.
func (s *Store) Close() error {
	s.put.lock()
	if s.closing {
		s.put.unlock()
		return ErrClosed
	}
	s.closing = true
	s.put.unlock()
	for _, t := range []*service{s.committer, s.flusher, s.dispatcher, s.housekeeper} {
		if t != nil {
			t.stop()
		}
	}
	err := s.settle()
	if err == nil && s.failure.Load() == nil {
		err = errors.Join(s.v.remove(filepath.Join(s.dir, abortName)), s.v.syncDir(s.dir))
	}
	return errors.Join(err, s.release())
}

// settle commits, flushes and dispatches all there is, and says so in the checkpoint.
func (s *Store) settle() error {
	for s.pool != nil && s.commitOnce(0) {
	}
	for {
		if more, err := s.flushOnce(0); err != nil {
			return err
		} else if !more {
			break
		}
	}
	s.group.refuse()
	for {
		if n, err := s.dispatch(1 << 20); err != nil {
			return err
		} else if n == 0 {
			break
		}
	}
	if s.idx != nil {
		if err := s.idx.flush(); err != nil {
			return err
		}
	}
	return s.flushQueues(0, true)
}

// release unmaps and closes everything.
func (s *Store) release() error {
	var err error
	if s.alloc != nil {
		err = s.alloc.close()
	}
	s.fileMu.Lock()
	for _, f := range *s.files.Load() {
		if f.warmed {
			f.m.unlock()
		}
		err = errors.Join(err, f.m.close())
	}
	s.fileMu.Unlock()
	err = errors.Join(err, s.queues.close())
	if s.idx != nil {
		err = errors.Join(err, s.idx.close())
	}
	if s.ck != nil {
		err = errors.Join(err, s.ck.m.close())
	}
	if s.pool != nil {
		err = errors.Join(err, s.pool.close())
	}
	if s.lockf != nil {
		err = errors.Join(err, s.lockf.Close())
	}
	return err
}

// abortText is what the abort file holds.
func (s *Store) abortText() string {
	if s.t.abortHoldsPID {
		return strconv.Itoa(os.Getpid())
	}
	return ""
}

// seededBugs are faults that tests put into a store, to see that the power-loss
// test finds them. All are off otherwise.
type seededBugs struct {
	cutOff int64 // recovery cuts the log so far behind its end
}
