package realstore

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// FlushDiskType says whether an append waits for the disk.
type FlushDiskType uint8

// The values of flushDiskType.
const (
	AsyncFlush FlushDiskType = iota
	SyncFlush
)

func (f FlushDiskType) String() string {
	if f == SyncFlush {
		return "SYNC_FLUSH"
	}
	return "ASYNC_FLUSH"
}

// Options are the settings of a store under RocketMQ's names (MessageStoreConfig),
// the first letter raised. Make them with DefaultOptions, which knows what each
// release's defaults are; the zero Options stand for DefaultOptions("").
type Options struct {
	// Release selects the rules that differ between releases; see DefaultRelease.
	Release string
	// StoreHost stands in each record: brokerIP1 and listenPort. Default 127.0.0.1:10911.
	StoreHost Host

	// Sizes, in bytes or entries. 0 takes what the directory has, and of a new
	// one RocketMQ's: 1 GiB, 6,000,000 bytes, 5,000,000 slots, 20,000,000 entries.
	// A directory made with others is refused. A record longer than a commit log
	// file less 8 bytes can't be stored.
	MappedFileSizeCommitLog    int
	MappedFileSizeConsumeQueue int // rounded up to whole entries of 20 bytes
	MaxHashSlotNum             int
	MaxIndexNum                int
	// MessageIndexEnable switches the index of keys on. Default true.
	MessageIndexEnable bool
	// MaxMessageSize bounds a record, or since 4.9.4 a body. Default 4 MiB.
	MaxMessageSize int

	// FlushDiskType: with SyncFlush an append returns when the message is on disk.
	FlushDiskType FlushDiskType
	// SyncFlushTimeout ends that wait with ErrFlushTimeout; the message stays
	// stored. Default 5 s.
	SyncFlushTimeout time.Duration
	// The flush thread of AsyncFlush: it runs each FlushIntervalCommitLog (500 ms)
	// and, unless FlushCommitLogTimed (default false, since 4.9.1 true), is woken
	// by each append. It writes when FlushCommitLogLeastPages (4) are dirty, or,
	// each FlushCommitLogThoroughInterval (10 s), whatever there is.
	FlushIntervalCommitLog         time.Duration
	FlushCommitLogTimed            bool
	FlushCommitLogLeastPages       int
	FlushCommitLogThoroughInterval time.Duration

	// The flush of the consume queues (1 s, 2 pages, 60 s): the thorough one also
	// writes the checkpoint.
	FlushIntervalConsumeQueue         time.Duration
	FlushConsumeQueueLeastPages       int
	FlushConsumeQueueThoroughInterval time.Duration

	// UseReentrantLockWhenPutMessage takes a mutex instead of spinning. Default
	// false, since 4.9.1 true.
	UseReentrantLockWhenPutMessage bool

	// TransientStorePoolEnable appends to buffers off the heap; a commit thread
	// writes them to the files each CommitIntervalCommitLog (200 ms), and after
	// each append, by CommitCommitLogLeastPages (4) or, each
	// CommitCommitLogThoroughInterval (200 ms), what there is. What is not
	// committed dies with the process. Up to 4.x it has no effect with SyncFlush.
	TransientStorePoolEnable         bool
	TransientStorePoolSize           int // buffers of a file's size. Default 5
	FastFailIfNoBufferInStorePool    bool
	CommitIntervalCommitLog          time.Duration
	CommitCommitLogLeastPages        int
	CommitCommitLogThoroughInterval  time.Duration
	WarmMapedFileEnable              bool // touch and lock each page of a new commit log file
	FlushLeastPagesWhenWarmMapedFile int  // and with SyncFlush sync after so many pages. Default 4096

	// CheckCRCOnRecover tests the bodies' sums while recovering. Default true.
	CheckCRCOnRecover bool

	// Hook sees and delays appends and flushes.
	Hook Hook
	// Now is the wall clock in ms, Nanos a monotonic clock for Phases and Hook;
	// nil takes the machine's.
	Now   func() int64
	Nanos func() int64
}

// Hook are functions that a store calls, for measuring and for stalls that are
// injected. Each may be nil.
type Hook struct {
	// Locked is called under the put lock, just after it was taken.
	Locked func()
	// Append is called under the put lock, after any roll, before the record is
	// copied to the given offset. A stall of the append sleeps here.
	Append func(offset int64, bytes int)
	// Unlock is called under the put lock, just before it is released.
	Unlock func()
	// Flush is called by the flush thread before it syncs [from, to) of the log;
	// Flushed after it, with Nanos before and after the sync.
	Flush   func(from, to int64)
	Flushed func(from, to, startNanos, endNanos int64)
	// Allocated is called by the allocating thread when the file at base is ready.
	Allocated func(base, startNanos, endNanos int64)
}

// RocketMQ's default sizes.
const (
	defaultCommitLogFile    = 1 << 30
	defaultConsumeQueueFile = 300000 * queueEntryBytes
	defaultHashSlots        = 5000000
	defaultIndexEntries     = 20000000
)

// DefaultOptions returns the defaults of a release, "4.9.4" say, or of
// DefaultRelease for "".
func DefaultOptions(release string) (Options, error) {
	t, err := traitsOf(release)
	if err != nil {
		return Options{}, err
	}
	if release == "" {
		release = DefaultRelease
	}
	return Options{
		Release:                           release,
		StoreHost:                         Host{netip.AddrFrom4([4]byte{127, 0, 0, 1}), 10911},
		MessageIndexEnable:                true,
		MaxMessageSize:                    4 << 20,
		SyncFlushTimeout:                  5 * time.Second,
		FlushIntervalCommitLog:            500 * time.Millisecond,
		FlushCommitLogTimed:               t.flushTimed,
		FlushCommitLogLeastPages:          4,
		FlushCommitLogThoroughInterval:    10 * time.Second,
		FlushIntervalConsumeQueue:         time.Second,
		FlushConsumeQueueLeastPages:       2,
		FlushConsumeQueueThoroughInterval: time.Minute,
		UseReentrantLockWhenPutMessage:    t.reentrantLock,
		TransientStorePoolSize:            5,
		CommitIntervalCommitLog:           200 * time.Millisecond,
		CommitCommitLogLeastPages:         4,
		CommitCommitLogThoroughInterval:   200 * time.Millisecond,
		FlushLeastPagesWhenWarmMapedFile:  4096,
		CheckCRCOnRecover:                 true,
	}, nil
}

// setting is one key of broker.conf that a store has.
type setting struct {
	key string
	set func(*Options, string) error
}

// settings, by their names in broker.conf; the old spelling of some beside the new.
var settings = []setting{
	integer("mapedFileSizeCommitLog", func(o *Options) *int { return &o.MappedFileSizeCommitLog }),
	integer("mappedFileSizeCommitLog", func(o *Options) *int { return &o.MappedFileSizeCommitLog }),
	integer("mapedFileSizeConsumeQueue", func(o *Options) *int { return &o.MappedFileSizeConsumeQueue }),
	integer("mappedFileSizeConsumeQueue", func(o *Options) *int { return &o.MappedFileSizeConsumeQueue }),
	integer("maxHashSlotNum", func(o *Options) *int { return &o.MaxHashSlotNum }),
	integer("maxIndexNum", func(o *Options) *int { return &o.MaxIndexNum }),
	boolean("messageIndexEnable", func(o *Options) *bool { return &o.MessageIndexEnable }),
	integer("maxMessageSize", func(o *Options) *int { return &o.MaxMessageSize }),
	{"flushDiskType", func(o *Options, v string) error {
		switch v {
		case "ASYNC_FLUSH":
			o.FlushDiskType = AsyncFlush
		case "SYNC_FLUSH":
			o.FlushDiskType = SyncFlush
		default:
			return errors.New("want ASYNC_FLUSH or SYNC_FLUSH")
		}
		return nil
	}},
	millis("syncFlushTimeout", func(o *Options) *time.Duration { return &o.SyncFlushTimeout }),
	millis("flushIntervalCommitLog", func(o *Options) *time.Duration { return &o.FlushIntervalCommitLog }),
	boolean("flushCommitLogTimed", func(o *Options) *bool { return &o.FlushCommitLogTimed }),
	integer("flushCommitLogLeastPages", func(o *Options) *int { return &o.FlushCommitLogLeastPages }),
	millis("flushCommitLogThoroughInterval", func(o *Options) *time.Duration { return &o.FlushCommitLogThoroughInterval }),
	millis("flushIntervalConsumeQueue", func(o *Options) *time.Duration { return &o.FlushIntervalConsumeQueue }),
	integer("flushConsumeQueueLeastPages", func(o *Options) *int { return &o.FlushConsumeQueueLeastPages }),
	millis("flushConsumeQueueThoroughInterval", func(o *Options) *time.Duration { return &o.FlushConsumeQueueThoroughInterval }),
	boolean("useReentrantLockWhenPutMessage", func(o *Options) *bool { return &o.UseReentrantLockWhenPutMessage }),
	boolean("transientStorePoolEnable", func(o *Options) *bool { return &o.TransientStorePoolEnable }),
	integer("transientStorePoolSize", func(o *Options) *int { return &o.TransientStorePoolSize }),
	boolean("fastFailIfNoBufferInStorePool", func(o *Options) *bool { return &o.FastFailIfNoBufferInStorePool }),
	millis("commitIntervalCommitLog", func(o *Options) *time.Duration { return &o.CommitIntervalCommitLog }),
	integer("commitCommitLogLeastPages", func(o *Options) *int { return &o.CommitCommitLogLeastPages }),
	millis("commitCommitLogThoroughInterval", func(o *Options) *time.Duration { return &o.CommitCommitLogThoroughInterval }),
	boolean("warmMapedFileEnable", func(o *Options) *bool { return &o.WarmMapedFileEnable }),
	integer("flushLeastPagesWhenWarmMapedFile", func(o *Options) *int { return &o.FlushLeastPagesWhenWarmMapedFile }),
	boolean("checkCRCOnRecover", func(o *Options) *bool { return &o.CheckCRCOnRecover }),
}

func integer(key string, at func(*Options) *int) setting {
	return setting{key, func(o *Options, v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err == nil {
			*at(o) = int(n)
		}
		return err
	}}
}

func millis(key string, at func(*Options) *time.Duration) setting {
	return setting{key, func(o *Options, v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err == nil {
			*at(o) = time.Duration(n) * time.Millisecond
		}
		return err
	}}
}

func boolean(key string, at func(*Options) *bool) setting {
	return setting{key, func(o *Options, v string) error {
		b, err := strconv.ParseBool(strings.ToLower(v))
		if err == nil {
			*at(o) = b
		}
		return err
	}}
}

// ErrUnknownKey is returned by Set for a key that is none of the store's.
var ErrUnknownKey = errors.New("no setting of the store")

// Set changes the setting of a key of broker.conf: flushDiskType, times in ms.
func (o *Options) Set(key, value string) error {
	for _, s := range settings {
		if s.key == key {
			if err := s.set(o, value); err != nil {
				return fmt.Errorf("%s: %q: %w", key, value, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%s: %w", key, ErrUnknownKey)
}

// Validate returns all that is wrong with the options.
func (o *Options) Validate() error {
	var faults []error
	_, err := traitsOf(o.Release)
	faults = append(faults, err)
	within := func(key string, got, lo, hi int64, orZero bool) {
		if (got < lo || got > hi) && !(orZero && got == 0) {
			faults = append(faults, fmt.Errorf("%s: want %d to %d, got %d", key, lo, hi, got))
		}
	}
	within("mappedFileSizeCommitLog", int64(o.MappedFileSizeCommitLog), 128, math.MaxInt32, true)
	within("mappedFileSizeConsumeQueue", int64(o.MappedFileSizeConsumeQueue), queueEntryBytes, math.MaxInt32-queueEntryBytes, true)
	within("maxHashSlotNum", int64(o.MaxHashSlotNum), 1, 1<<28, true)
	within("maxIndexNum", int64(o.MaxIndexNum), 2, 1<<26, true)
	within("maxMessageSize", int64(o.MaxMessageSize), 1, 16<<20, false)
	within("flushDiskType", int64(o.FlushDiskType), 0, 1, false)
	within("flushCommitLogLeastPages", int64(o.FlushCommitLogLeastPages), 0, math.MaxInt32, false)
	within("flushConsumeQueueLeastPages", int64(o.FlushConsumeQueueLeastPages), 0, math.MaxInt32, false)
	within("commitCommitLogLeastPages", int64(o.CommitCommitLogLeastPages), 0, math.MaxInt32, false)
	within("flushLeastPagesWhenWarmMapedFile", int64(o.FlushLeastPagesWhenWarmMapedFile), 1, math.MaxInt32, false)
	within("transientStorePoolSize", int64(o.TransientStorePoolSize), 0, 1<<16, false)
	for _, d := range []struct {
		key string
		d   time.Duration
	}{
		{"syncFlushTimeout", o.SyncFlushTimeout}, {"flushIntervalCommitLog", o.FlushIntervalCommitLog},
		{"flushCommitLogThoroughInterval", o.FlushCommitLogThoroughInterval}, {"flushIntervalConsumeQueue", o.FlushIntervalConsumeQueue},
		{"flushConsumeQueueThoroughInterval", o.FlushConsumeQueueThoroughInterval}, {"commitIntervalCommitLog", o.CommitIntervalCommitLog},
		{"commitCommitLogThoroughInterval", o.CommitCommitLogThoroughInterval},
	} {
		if d.d < time.Millisecond || d.d > math.MaxInt32*time.Millisecond {
			faults = append(faults, fmt.Errorf("%s: want 1 ms to %d ms, got %v", d.key, math.MaxInt32, d.d))
		}
	}
	return errors.Join(faults...)
}
