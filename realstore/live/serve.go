package live

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"brokersim/model"
	"brokersim/realstore"
)

// Topic is that of all messages of live runs; they go to its queues in turn.
const Topic = "brokersim"

const queues = 4 // defaultTopicQueueNums of a producer's topic

var bornHost = realstore.Host{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Port: 10911}

// ErrNotLive is returned for a directory that holds what no live run has made.
var ErrNotLive = errors.New("not made by a live run")

// Options say where a live run's store is and what it is like.
type Options struct {
	Dir         string // empty, missing, or of earlier live runs
	FileSize    int64  // of the commit log's files, in bytes; 0: DefaultFileSize, or what Dir has
	Replication int    // whose streams are drawn from
}

// DefaultFileSize is that of a new store's commit log files: small beside
// RocketMQ's 1 GiB, as two are allocated at once.
const DefaultFileSize = 64 << 20

// Sizes of a new store's other files, likewise small.
const (
	consumeQueueFile = 20 * 50_000
	indexSlots       = 20_000
	indexEntries     = 80_000
)

// hello is the first that the broker's process says: when its time 0 is, or why
// there will be none.
type hello struct {
	T0      int64 // CLOCK_MONOTONIC, ns
	Err     string
	Refused bool // Err is a fault of the input
}

// farewell is the last: the run, or what went wrong.
type farewell struct {
	Record *Record
	Err    string
}

// Serve is the broker's process: it runs cfg and writes the run, or what went
// wrong, to out for Run, which reads it. The end of control interrupts the run.
// The error is that of writing.
func Serve(cfg *model.Config, o Options, control io.Reader, out io.Writer) error {
	w := gob.NewEncoder(out)
	b, err := start(cfg, o)
	if err != nil {
		return w.Encode(hello{Err: err.Error(), Refused: errors.Is(err, ErrNotLive) || errors.Is(err, realstore.ErrForeign)})
	}
	go func() {
		_, _ = io.Copy(io.Discard, control)
		b.interrupt()
	}()
	rec, err := b.serve(func(t0 int64) error { return w.Encode(hello{T0: t0}) })
	if err != nil {
		return w.Encode(farewell{Err: err.Error()})
	}
	return w.Encode(farewell{Record: rec})
}

// start opens the store and brings the broker to where time 0 can come.
func start(cfg *model.Config, o Options) (*broker, error) {
	if !supported {
		return nil, fmt.Errorf("a live run needs Linux: %w", errors.ErrUnsupported)
	}
	b, err := newBroker(cfg, o.Replication)
	if err != nil {
		return nil, err
	}
	options, err := b.storeOptions(o)
	if err != nil {
		return nil, err
	}
	if b.store, err = realstore.Open(o.Dir, options); err != nil {
		return nil, err
	}
	if err := b.warmUp(); err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	return b, nil
}

// serve runs to the end and closes the store.
func (b *broker) serve(begun func(t0 int64) error) (*Record, error) {
	from := b.store.MaxOffset()
	var failed error
	end, collections := b.run(func() {
		var t0 int64
		if t0, failed = b.clock.monotonicT0(); failed == nil {
			failed = begun(t0)
		}
	})
	rec := b.record(end, collections)
	rec.From, rec.To = from, b.store.MaxOffset()
	return rec, errors.Join(failed, b.store.Err(), b.store.Close())
}

// storeOptions are those of the store as the scenario asks for them.
func (b *broker) storeOptions(o Options) (realstore.Options, error) {
	s := &b.cfg.Broker
	options, err := realstore.DefaultOptions(s.Release)
	if err != nil {
		return options, err
	}
	used, err := checkDir(o.Dir)
	if err != nil {
		return options, err
	}
	options.MappedFileSizeCommitLog = int(o.FileSize)
	if !used {
		// A used directory keeps its sizes.
		options.MappedFileSizeConsumeQueue, options.MaxHashSlotNum, options.MaxIndexNum = consumeQueueFile, indexSlots, indexEntries
		if o.FileSize == 0 {
			options.MappedFileSizeCommitLog = min(DefaultFileSize, s.MappedFileSizeCommitLog)
		}
	}
	options.MaxMessageSize = int(min(s.MaxMessageSize, 16<<20))
	if s.FlushDiskType == model.SyncFlush {
		options.FlushDiskType = realstore.SyncFlush
	}
	if s.SyncFlushTimeout > 0 {
		options.SyncFlushTimeout = ms(s.SyncFlushTimeout)
	}
	options.TransientStorePoolEnable, options.TransientStorePoolSize = s.TransientStorePoolEnable, s.TransientStorePoolSize
	options.FastFailIfNoBufferInStorePool = s.FastFailIfNoBufferInStorePool
	options.CommitIntervalCommitLog = ms(s.CommitIntervalCommitLog)
	options.CommitCommitLogLeastPages = s.CommitCommitLogLeastPages
	options.CommitCommitLogThoroughInterval = ms(s.CommitCommitLogThoroughInterval)
	options.WarmMapedFileEnable = s.WarmMapedFileEnable
	options.UseReentrantLockWhenPutMessage = s.UseReentrantLockWhenPutMessage
	options.FlushIntervalCommitLog = ms(s.FlushIntervalCommitLog)
	options.FlushCommitLogTimed = s.FlushCommitLogTimed
	options.FlushCommitLogLeastPages = s.FlushCommitLogLeastPages
	options.FlushCommitLogThoroughInterval = max(ms(s.FlushCommitLogThoroughInterval), ms(1))
	options.Now, options.Nanos = b.clock.unixMs, b.clock.sinceOrigin
	options.Hook.Append = b.hookAppend
	return options, nil
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// checkDir refuses a directory with messages of others in it; used tells
// whether there is a store of live runs. What is no store at all the store
// itself refuses.
func checkDir(dir string) (used bool, err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return false, fmt.Errorf("%s: %w: it is a file", dir, ErrNotLive)
	}
	logs, err := os.ReadDir(filepath.Join(dir, "commitlog"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	topics, err := os.ReadDir(filepath.Join(dir, "consumequeue"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	ours := len(logs) == 0
	for _, t := range topics {
		ours = t.Name() == Topic
		if !ours {
			return false, fmt.Errorf("%s: %w: it has messages of topic %q; name an empty directory", dir, ErrNotLive, t.Name())
		}
	}
	if !ours {
		return false, fmt.Errorf("%s: %w: it has a commit log, and no queue of topic %q; name an empty directory", dir, ErrNotLive, Topic)
	}
	return len(logs) > 0, nil
}

// CheckStore holds the store of live runs, closed, against the record of one of
// them: each message that was answered as stored is there once, and none that
// was refused. The error lists, up to ten, those of which that isn't so.
func CheckStore(dir string, rec *Record) error {
	s, err := realstore.Open(dir, realstore.Options{})
	if err != nil {
		return err
	}
	there := make([]int, len(rec.Rows))
	err = s.Scan(rec.From, func(r *realstore.Record) error {
		if r.PhysicalOffset >= rec.To {
			return io.EOF
		}
		if n := int(r.Flag) - 1; n >= 0 && n < len(there) {
			there[n]++
		}
		return nil
	})
	if err = errors.Join(ignore(err, io.EOF), s.Close()); err != nil {
		return err
	}
	var faults []error
	for i := range rec.Rows {
		r := &rec.Rows[i]
		want := 0
		if r.Unlock != model.Absent {
			want = 1
		}
		if (there[i] != want || want == 1 && r.Answered != model.Absent && r.Outcome.Rejected()) && len(faults) < 10 {
			faults = append(faults, fmt.Errorf("send %d, answered %v: stored %d times", r.Seq, r.Outcome, there[i]))
		}
	}
	return errors.Join(faults...)
}

func ignore(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}
