package realstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Fault is something wrong with a store's files.
type Fault struct {
	File   string // path
	Offset int64  // in the file, in bytes
	Reason string
	// Notice is set where nothing is lost or wrong to a reader, but a clean stop
	// leaves no such thing: bytes behind the end, say.
	Notice bool
}

func (f Fault) String() string {
	kind := ""
	if f.Notice {
		kind = "notice: "
	}
	return fmt.Sprintf("%s: offset %d: %s%s", f.File, f.Offset, kind, f.Reason)
}

// VerifyOptions are the sizes of index files and the number of faults that are kept.
type VerifyOptions struct {
	MaxHashSlotNum, MaxIndexNum int // 0: found out from the files
	MaxFaults                   int // kept in the report; 0 is 1000
	// Progress, where set, is told now and then how far the log is read, in
	// bytes. An error of it ends Verify with that error.
	Progress func(done, total int64) error
}

// Report is what Verify found.
type Report struct {
	Files     int
	Messages  int64
	Bytes     int64 // of the messages' records
	Queues    int
	IndexKeys int64
	End       int64 // the log's end
	Clean     bool  // no abort file
	Faults    []Fault
	Found     int64 // faults in all, those not kept included
	Notices   int64 // of them
}

// OK tells whether nothing but notices was found.
func (r Report) OK() bool { return r.Found == r.Notices }

// Verify reads a whole store and compares each message with its sum, its place,
// its queue's entry and its keys' index entries; and the queues, the index files
// and the checkpoint with the messages. It writes nothing, and its memory is
// bounded by the number of queues and by maxHashSlotNum, not by the messages.
//
// What has no second copy can't be verified: flag, known bits of the system
// flag, born time and host, store host, a store time between those of the
// neighbours and within the index's second, reconsume times, the prepared
// transaction's offset, properties but TAGS, KEYS, UNIQ_KEY and DELAY, and what
// fills a file up after its last record.
func (d *Dir) Verify(o VerifyOptions) (Report, error) {
	if o.MaxFaults == 0 {
		o.MaxFaults = 1000
	}
	v := &verifier{d: d, max: o.MaxFaults, queues: map[queueKey]*queueFiles{}, progress: o.Progress}
	v.report.Files = len(d.files)
	_, err := os.Stat(filepath.Join(d.path, abortName))
	v.report.Clean = err != nil
	if err := v.open(o); err != nil {
		return v.report, err
	}
	// The index files by themselves, beside the log.
	ix := &verifier{max: o.MaxFaults, idx: v.idx}
	ixDone := make(chan error, 1)
	go func() { ixDone <- ix.indexFiles() }()
	if err = v.log(); err != nil {
		ix.stop.Store(true)
	}
	if err = errors.Join(err, <-ixDone); err != nil {
		return v.report, err
	}
	v.adopt(ix.report)
	if err := v.queueEnds(); err != nil {
		return v.report, err
	}
	if err := v.indexEnd(); err != nil {
		return v.report, err
	}
	return v.report, v.checkpoint()
}

type verifier struct {
	d       *Dir
	max     int
	report  Report
	queues  map[queueKey]*queueFiles
	recent  [64]*queueFiles // those met last, by some bits of topic and id
	order   []*queueFiles
	windows []*queueFiles // with a window, in the order in which they got it
	idx     *indexFiles
	keys    *indexReader
	lastTS  int64 // the latest
	prevTS  int64 // of the message before
	prev    prevKeys

	progress func(done, total int64) error
	stop     atomic.Bool
}

func (v *verifier) fault(file string, offset int64, format string, args ...any) {
	v.note(file, offset, false, format, args...)
}

func (v *verifier) notice(file string, offset int64, format string, args ...any) {
	v.report.Notices++
	v.note(file, offset, true, format, args...)
}

func (v *verifier) note(file string, offset int64, notice bool, format string, args ...any) {
	v.report.Found++
	if len(v.report.Faults) < v.max {
		v.report.Faults = append(v.report.Faults, Fault{file, offset, fmt.Sprintf(format, args...), notice})
	}
}

// adopt adds the faults of a part that was verified beside this one.
func (v *verifier) adopt(r Report) {
	v.report.Found += r.Found
	v.report.Notices += r.Notices
	n := min(len(r.Faults), v.max-len(v.report.Faults))
	v.report.Faults = append(v.report.Faults, r.Faults[:n]...)
}

// logFault reports a fault at an offset of the log.
func (v *verifier) logFault(offset int64, format string, args ...any) {
	file, at := v.place(offset)
	v.fault(file, at, format, args...)
}

// place turns an offset of the log into a file and an offset in it.
func (v *verifier) place(offset int64) (string, int64) {
	for _, f := range v.d.files {
		if offset >= f.base && offset < f.base+f.size {
			return f.path, offset - f.base
		}
	}
	return filepath.Join(v.d.path, commitLogDir), offset
}

func (v *verifier) open(o VerifyOptions) error {
	dir := filepath.Join(v.d.path, commitLogDir)
	for _, name := range v.d.others {
		v.fault(filepath.Join(dir, name), 0, "no commit log file by its name")
	}
	for i, f := range v.d.files {
		if f.size != v.d.files[0].size {
			v.fault(f.path, 0, "%d bytes, the first file has %d", f.size, v.d.files[0].size)
		}
		if i > 0 && f.base != v.d.files[i-1].base+v.d.files[i-1].size {
			v.fault(f.path, 0, "not the next file after %s", filepath.Base(v.d.files[i-1].path))
		}
	}
	dirs, err := queueDirs(reads, v.d.path)
	if err != nil {
		return err
	}
	for _, qd := range dirs {
		q, err := openQueueFiles(qd)
		if err != nil {
			return err
		}
		for i, f := range q.files {
			if f.size < queueEntryBytes || f.size%queueEntryBytes != 0 {
				v.fault(f.path, 0, "%d bytes, want entries of %d", f.size, queueEntryBytes)
			} else if f.size != q.files[0].size {
				v.fault(f.path, 0, "%d bytes, the first file has %d", f.size, q.files[0].size)
			} else if f.base%f.size != 0 || i > 0 && f.base != q.files[i-1].base+f.size {
				v.fault(f.path, 0, "not the next file of its queue")
			}
		}
		v.queues[queueKey{qd.topic, qd.id}] = q
		v.order = append(v.order, q)
	}
	v.report.Queues = len(v.order)

	if v.idx, err = openIndexFiles(filepath.Join(v.d.path, indexDir), o.MaxHashSlotNum, o.MaxIndexNum); err != nil {
		return err
	}
	for _, p := range v.idx.strange {
		v.fault(p, 0, "no index file by its name")
	}
	if v.idx.slots > 0 && len(v.idx.files) > 0 {
		v.keys = newIndexReader(v.idx)
	}
	return nil
}

// log goes through the messages.
func (v *verifier) log() error {
	s := &logScanner{files: v.d.files, crc: true}
	defer s.close()
	o := ScanOptions{Resync: true}
	if v.progress != nil {
		o.Progress = func(offset int64) error {
			first, last := v.d.files[0], v.d.files[len(v.d.files)-1]
			return v.progress(offset-first.base, last.base+last.size-first.base)
		}
	}
	err := s.run(o, func(offset int64, r *Record, d Defect) error {
		if r == nil {
			v.logFault(offset, "%v", d)
			return nil
		}
		v.report.Messages++
		v.report.Bytes += int64(r.Size)
		if d != Sound {
			v.logFault(offset, "%v", d)
			if d == DefectPlace {
				r.PhysicalOffset = offset
			}
		}
		p := parse(r.Properties)
		v.fields(offset, r, &p)
		q := v.queueOf(r)
		if err := v.entry(offset, r, &p, q); err != nil {
			return err
		}
		return v.indexed(offset, r, &p, q)
	})
	if err != nil {
		return err
	}
	v.report.End = s.end
	if s.stray >= s.end {
		for _, f := range v.d.files {
			if s.stray >= f.base && s.stray < f.base+f.size {
				v.notice(f.path, s.stray-f.base, "bytes after the log's end at %d are not zero", s.end)
			}
		}
	}
	return nil
}

// knownFlags are the bits that any release sets in SYSFLAG.
const knownFlags = 0x7FF

// fields tests what needs no second copy to be impossible.
func (v *verifier) fields(offset int64, r *Record, p *stored) {
	if r.SysFlag&^knownFlags != 0 {
		v.logFault(offset, "unknown bits in SYSFLAG %#x", r.SysFlag)
	}
	if r.SysFlag&FlagCompressed != 0 && r.SysFlag&0x700 == 0 && !zlibHead(r.Body) {
		v.logFault(offset, "SYSFLAG says compressed, the body does not begin as zlib does")
	}
	for _, h := range [2]Host{r.BornHost, r.StoreHost} {
		if h.Port < 0 || h.Port > 65535 {
			v.logFault(offset, "port %d of a host", h.Port)
		}
	}
	switch {
	case r.StoreTimestamp <= 0:
		v.logFault(offset, "store timestamp %d", r.StoreTimestamp)
	case r.BornTimestamp < 0:
		v.logFault(offset, "born timestamp %d", r.BornTimestamp)
	case r.ReconsumeTimes < 0 || r.ReconsumeTimes > 1<<20:
		v.logFault(offset, "reconsume times %d", r.ReconsumeTimes)
	case r.PreparedOffset < 0 || r.PreparedOffset > offset:
		v.logFault(offset, "prepared transaction offset %d is after the message", r.PreparedOffset)
	}
	if !p.proper {
		v.logFault(offset, "properties are no names and values")
	}
	if r.StoreTimestamp < v.prevTS {
		file, at := v.place(offset)
		v.notice(file, at, "store timestamp %d is before that of the message before, %d", r.StoreTimestamp, v.prevTS)
	}
	v.prevTS, v.lastTS = r.StoreTimestamp, max(v.lastTS, r.StoreTimestamp)
}

func zlibHead(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0F == 8 && (int(b[0])<<8|int(b[1]))%31 == 0
}

// queueOf finds a message's queue, nil where there is none.
func (v *verifier) queueOf(r *Record) *queueFiles {
	i := uint(r.QueueID)
	if n := len(r.Topic); n > 0 {
		i += 7 * uint(r.Topic[n-1])
	}
	at := &v.recent[i%uint(len(v.recent))]
	if q := *at; q != nil && q.id == r.QueueID && q.topic == string(r.Topic) {
		return q
	}
	q := v.queues[queueKey{string(r.Topic), r.QueueID}]
	if q != nil {
		*at = q
	}
	return q
}

// entry compares a message with its queue's entry, and its queue offset with
// that of the queue's message before it.
func (v *verifier) entry(offset int64, r *Record, p *stored, q *queueFiles) error {
	if !queued(r.SysFlag) {
		return nil
	}
	if q == nil {
		if v.report.Clean || len(v.order) > 0 {
			v.logFault(offset, "topic %.40q has no queue %d", r.Topic, r.QueueID)
		}
		return nil
	}
	if q.next >= 0 && r.QueueOffset != q.next {
		v.logFault(offset, "queue offset %d, the next of %s/%d is %d", r.QueueOffset, q.topic, q.id, q.next)
	}
	// One wrong offset must not drag all later ones along.
	if q.next < 0 || r.QueueOffset == q.next {
		q.next = r.QueueOffset + 1
	} else if q.next < 1<<58 {
		q.next++
	}
	if len(q.win) == 0 {
		if len(v.windows) >= 1024 {
			v.windows[0].win = nil
			v.windows = append(v.windows[:0], v.windows[1:]...)
		}
		v.windows = append(v.windows, q)
	}
	e, ok, err := q.entry(r.QueueOffset)
	if err != nil {
		return err
	}
	want := QueueEntry{offset, r.Size, tagsCode(r, p)}
	if !ok || e == (QueueEntry{}) {
		v.logFault(offset, "queue %s/%d has no entry %d for it", q.topic, q.id, r.QueueOffset)
	} else if e != want {
		f := q.file(r.QueueOffset * queueEntryBytes)
		v.fault(f.path, r.QueueOffset*queueEntryBytes-f.base, "entry %d is offset %d, size %d, tags %d; the message at %d has size %d, tags %d",
			r.QueueOffset, e.Offset, e.Size, e.TagsCode, offset, r.Size, want.TagsCode)
	}
	return nil
}

// queueEnds looks at what the queues hold before their first and after their
// last message.
func (v *verifier) queueEnds() error {
	min := int64(0)
	if len(v.d.files) > 0 {
		min = v.d.files[0].base
	}
	for _, q := range v.order {
		if len(q.files) == 0 {
			continue
		}
		i := q.files[0].base / queueEntryBytes
		for last := q.files[len(q.files)-1]; ; i++ {
			e, ok, err := q.entry(i)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			f := q.file(i * queueEntryBytes)
			if f == nil || f.base > last.base {
				break
			}
			switch at := i*queueEntryBytes - f.base; {
			case e == preBlank && (q.next < 0 || i < q.next), e == QueueEntry{}:
			case e.Offset >= 0 && e.Offset < min: // of a message that was deleted
			case q.next < 0:
				v.fault(f.path, at, "entry %d of a queue that has no message", i)
			case i >= q.next && e.Offset >= v.report.End:
				v.notice(f.path, at, "entry %d points behind the log's end", i)
			case i >= q.next:
				v.fault(f.path, at, "entry %d after the queue's last message", i)
			}
			if i >= q.next && e == (QueueEntry{}) {
				if n, err := v.tail(f, i*queueEntryBytes-f.base); err != nil {
					return err
				} else if n >= 0 {
					v.notice(f.path, n, "bytes after the queue's last entry are not zero")
				}
				break
			}
			if q.next > 0 && i < q.next-1 { // compared with their messages already
				i = q.next - 1
			}
		}
		q.win = nil
	}
	return nil
}

// tail finds the first byte that is not zero from a place in a file on, or -1.
func (v *verifier) tail(f *logFile, at int64) (int64, error) {
	h, err := os.Open(f.path)
	if err != nil {
		return -1, err
	}
	defer h.Close()
	return firstNonZero(h, at, f.size)
}

func firstNonZero(h *os.File, at, end int64) (int64, error) {
	b := make([]byte, 64<<10)
	holes := holes{f: h, end: end}
	for at = holes.pass(at); at < end; at = holes.pass(at) {
		n, err := h.ReadAt(b[:min(int64(len(b)), end-at)], at)
		if n == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return -1, err
			}
			return -1, nil
		}
		if !zeros(b[:n]) {
			for i, c := range b[:n] {
				if c != 0 {
					return at + int64(i), nil
				}
			}
		}
		at += int64(n)
	}
	return -1, nil
}

// checkpoint tests that the checkpoint claims nothing that the log has not.
func (v *verifier) checkpoint() error {
	path := filepath.Join(v.d.path, checkpointName)
	b, err := readSome(path, 0, checkpointBytes+1)
	if os.IsNotExist(err) {
		if v.report.Clean && v.report.Messages > 0 {
			v.notice(path, 0, "missing")
		}
		return nil
	} else if errors.Is(err, errNoFile) {
		v.fault(path, 0, "no regular file")
		return nil
	} else if err != nil {
		return err
	}
	if len(b) != checkpointBytes {
		v.fault(path, int64(len(b)), "%d bytes, want %d", min(len(b), checkpointBytes), checkpointBytes)
	}
	c := parseCheckpoint(b)
	for i, ts := range [...]int64{c.PhysicMsgTimestamp, c.LogicsMsgTimestamp, c.IndexMsgTimestamp} {
		name := [...]string{"physicMsgTimestamp", "logicsMsgTimestamp", "indexMsgTimestamp"}[i]
		switch {
		case ts < 0 || ts > v.lastTS && v.report.Messages > 0:
			v.fault(path, int64(8*i), "%s %d is after the last message's store timestamp %d", name, ts, v.lastTS)
		case v.report.Clean && i < 2 && ts != v.lastTS && v.report.Messages > 0:
			v.notice(path, int64(8*i), "%s %d is not the last message's store timestamp %d", name, ts, v.lastTS)
		case v.report.Clean && i == 2 && ts != 0 && !v.endsIndex(ts):
			v.notice(path, int64(8*i), "%s %d is no index file's last timestamp", name, ts)
		}
	}
	for _, at := range [...]int{24, 32} {
		if len(b) < at+8 {
			break
		}
		if n := int64(readInt32(b[at:]))<<32 | int64(uint32(readInt32(b[at+4:]))); n < 0 || n > v.report.End {
			v.fault(path, int64(at), "offset %d is behind the log's end %d", n, v.report.End)
		}
	}
	if len(b) > 40 {
		for i, x := range b[40:min(len(b), checkpointBytes)] {
			if x != 0 {
				v.notice(path, int64(40+i), "bytes after the fields are not zero")
				break
			}
		}
	}
	return nil
}

func (v *verifier) endsIndex(ts int64) bool {
	for _, f := range v.idx.files {
		if f.h.EndTimestamp == ts {
			return true
		}
	}
	return false
}

// Summary is the verdict in one line.
func (r Report) Summary() string {
	var b strings.Builder
	if r.OK() {
		b.WriteString("sound")
	} else {
		fmt.Fprintf(&b, "%d faults", r.Found-r.Notices)
	}
	if r.Notices > 0 {
		fmt.Fprintf(&b, ", %d notices", r.Notices)
	}
	fmt.Fprintf(&b, ": %d messages, %d bytes in %d files, %d queues, %d keys", r.Messages, r.Bytes, r.Files, r.Queues, r.IndexKeys)
	if !r.Clean {
		b.WriteString("; not stopped cleanly")
	}
	return b.String()
}
