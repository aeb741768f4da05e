package realstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A volume is where a store keeps its files: the machine's file system, or, in
// tests, a shadow of one that remembers what has reached the disk.
type volume interface {
	mkdirAll(dir string) error
	// list returns the entries of a directory in the order of their names, and
	// none where it is missing.
	list(dir string) ([]entry, error)
	// create makes a file of the given size, all zero, with its blocks allocated
	// unless sparse, replacing one of that name. Its existence and size are
	// durable only after syncDir of its directory.
	create(path string, size int64, sparse bool) (mapping, error)
	open(path string) (mapping, error)
	remove(path string) error
	syncDir(dir string) error
}

// A mapping is one file of a volume in memory, whole.
type mapping interface {
	// data is the file. Writing to it may fault: see guard.
	data() []byte
	// sync makes a range of the file durable, however it was written.
	sync(off, n int) error
	// writeAt writes through the file, not the mapping.
	writeAt(p []byte, off int) error
	// lock pins the mapping in memory, as far as the machine allows.
	lock() error
	unlock() error
	close() error
}

type entry struct {
	name string
	size int64 // -1: neither a file nor a directory, but a pipe, say, whose open may hang
	dir  bool
}

func (e entry) file() bool { return !e.dir && e.size >= 0 }

// The fixed names under a store's root (StorePathConfigHelper).
const (
	commitLogDir    = "commitlog"
	consumeQueueDir = "consumequeue"
	indexDir        = "index"
	checkpointName  = "checkpoint"
	abortName       = "abort"
	lockName        = "lock"
)

// ours are the names that the broker, of any release, leaves in a store's root.
var ours = []string{
	commitLogDir, consumeQueueDir, indexDir, checkpointName, abortName, lockName,
	"config", "consumequeue_ext", "batchconsumequeue", "timerwheel", "timerlog", "epochFileCheckpoint", "compactionLog",
}

// Errors of Open. The text of each names the file and what is wrong with it.
var (
	// ErrForeign is returned when a directory holds something that no store leaves there.
	ErrForeign = errors.New("not a store's directory")
	// ErrLocked is returned when another process, or another Store of this one, has the directory open.
	ErrLocked = errors.New("store is in use")
	// ErrDamaged is returned for files that recovery can't mend, as one of the wrong length.
	ErrDamaged = errors.New("store is damaged")
)

// checkForeign refuses a directory with anything in it but a store.
func checkForeign(v volume, dir string) error {
	es, err := v.list(dir)
	if err != nil {
		return err
	}
	for _, e := range es {
		if !slices.Contains(ours, e.name) {
			return fmt.Errorf("%s: %w: it holds %q (and %d more entries); name an empty directory or one that a store made", dir, ErrForeign, e.name, len(es)-1)
		}
	}
	return nil
}

// logFile is a file of a commit log or consume queue, named by its first offset.
type logFile struct {
	base int64
	size int64
	path string
}

// fileName is the offset in 20 digits (UtilAll.offset2FileName).
func fileName(base int64) string { return fmt.Sprintf("%020d", base) }

// parseFileName reads the offset of a file's name; ok is false for other names.
func parseFileName(name string) (base int64, ok bool) {
	if len(name) != 20 {
		return 0, false
	}
	for _, c := range []byte(name) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	base, err := strconv.ParseInt(name, 10, 64)
	return base, err == nil
}

// logFiles returns the files of a log in the order of their offsets; others in
// its directory are returned by name.
func logFiles(v volume, dir string) (files []logFile, others []string, err error) {
	es, err := v.list(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range es {
		if base, ok := parseFileName(e.name); ok && e.file() {
			files = append(files, logFile{base, e.size, filepath.Join(dir, e.name)})
		} else {
			others = append(others, e.name)
		}
	}
	slices.SortFunc(files, func(a, b logFile) int { return cmp.Compare(a.base, b.base) })
	return files, others, nil
}

// osList implements list for the machine's directories.
func osList(dir string) ([]entry, error) {
	ds, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	es := make([]entry, 0, len(ds))
	for _, d := range ds {
		fi, err := d.Info()
		if err == nil && fi.Mode()&os.ModeSymlink != 0 {
			if to, err := os.Stat(filepath.Join(dir, d.Name())); err == nil {
				fi = to
			} // else it leads nowhere, and is no file
		}
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				continue // gone since
			}
			return nil, err
		}
		size := fi.Size()
		if !fi.IsDir() && !fi.Mode().IsRegular() {
			size = -1
		}
		es = append(es, entry{d.Name(), size, fi.IsDir()})
	}
	return es, nil
}
