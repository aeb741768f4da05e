package realstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Recover copies the messages of a store into another directory, up to the
// first bad record, as the broker's recovery keeps them, and makes consume
// queues, index and checkpoint for them anew. The source is only read. The
// target must be empty or missing. Offsets stay what they are, so what follows
// a bad record can't be kept: Salvage says how much that is.
//
// progress, which may be nil, is told now and then how far that is, in bytes: the
// log is read, copied, and read again. An error of it ends Recover with that
// error.
//
// Only Linux holds large stores: elsewhere the log is held in memory.
func Recover(from, to string, o Options, progress func(done, total int64) error) (Salvage, error) {
	var sv Salvage
	d, err := OpenDir(from)
	if err != nil {
		return sv, err
	}
	if es, err := osList(to); err != nil {
		return sv, err
	} else if len(es) > 0 {
		return sv, fmt.Errorf("%s: %w: recover into an empty directory, it holds %q", to, ErrForeign, es[0].name)
	}
	if rel, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(rel) {
		return sv, fmt.Errorf("%s lies inside %s", to, from)
	}
	if len(d.files) > 0 {
		files, n := d.files, len(d.files)
		if n > 1 && files[n-1].size < files[0].size { // cut short: what it has is copied
			files = files[:n-1]
		}
		if err := checkFiles(files, files[0].size); err != nil {
			return sv, err
		}
		o.MappedFileSizeCommitLog = int(d.files[0].size)
	}
	tell := d.steps(3, progress)
	if sv, err = d.salvage(tell); err != nil {
		return sv, err
	}
	log := filepath.Join(to, commitLogDir)
	if err := os.MkdirAll(log, 0o755); err != nil {
		return sv, err
	}
	for _, f := range d.files {
		if f.base >= sv.End {
			break
		}
		copied := func(n int64) error { return tell(1, f.base+n) }
		if err := copyFile(filepath.Join(log, fileName(f.base)), f.path, min(f.size, sv.End-f.base), f.size, copied); err != nil {
			return sv, err
		}
	}
	if err := copyConfig(from, to); err != nil {
		return sv, err
	}
	// An abort file and no checkpoint make recovery start at the first file.
	if err := os.WriteFile(filepath.Join(to, abortName), nil, 0o644); err != nil {
		return sv, err
	}
	s, err := newStore(machine{}, to, o)
	if err != nil {
		return sv, err
	}
	s.redispatched = func(offset int64) error { return tell(2, offset) }
	if err := s.open(); err != nil {
		return sv, err
	}
	if s.recovery.End != sv.End {
		err = fmt.Errorf("%s: recovered up to %d, copied up to %d", to, s.recovery.End, sv.End)
	}
	if err = errors.Join(err, s.settle()); err == nil {
		err = s.v.remove(filepath.Join(to, abortName))
	}
	return sv, errors.Join(err, s.release())
}

// Salvage tells what Recover kept.
type Salvage struct {
	End      int64 // the log's end in the copy
	Messages int64 // kept
	Lost     int64 // sound messages after the end: not kept
	Stop     Defect
}

// steps tells how far a work in several steps is, each of which goes through
// the log: of one of them, from 0, the offset reached.
func (d *Dir) steps(n int64, progress func(done, total int64) error) func(step, offset int64) error {
	if progress == nil || len(d.files) == 0 {
		return func(int64, int64) error { return nil }
	}
	first, last := d.files[0], d.files[len(d.files)-1]
	size := last.base + last.size - first.base
	return func(step, offset int64) error { return progress(step*size+offset-first.base, n*size) }
}

// salvage finds where the log must end, and how many sound messages follow.
func (d *Dir) salvage(tell func(step, offset int64) error) (Salvage, error) {
	var sv Salvage
	s := &logScanner{files: d.files, crc: true}
	defer s.close()
	stopped := false
	o := ScanOptions{Resync: true, Progress: func(offset int64) error { return tell(0, offset) }}
	err := s.run(o, func(offset int64, r *Record, defect Defect) error {
		switch {
		case defect != Sound && !stopped:
			stopped, sv.Stop, sv.End = true, defect, offset
		case defect == Sound && stopped:
			sv.Lost++
		case defect == Sound:
			sv.Messages++
		}
		return nil
	})
	if !stopped {
		sv.End = s.end
	}
	if len(d.files) > 0 {
		sv.End = max(sv.End, d.files[0].base)
	}
	return sv, err
}

// copyFile copies the first n bytes and leaves the rest of the file's size zero.
func copyFile(to, from string, n, size int64, tell func(copied int64) error) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	const atATime = 16 << 20
	for done := int64(0); done < n && err == nil; {
		var k int64
		if k, err = io.CopyN(out, in, min(atATime, n-done)); err == nil {
			done += k
			err = tell(done)
		}
	}
	if errors.Is(err, io.EOF) { // shortened since it was listed
		err = nil
	}
	return errors.Join(err, out.Truncate(size), out.Sync(), out.Close())
}

// copyConfig takes the broker's config/ along, which names the topics.
func copyConfig(from, to string) error {
	es, err := osList(filepath.Join(from, "config"))
	if err != nil || len(es) == 0 {
		return err
	}
	if err := os.MkdirAll(filepath.Join(to, "config"), 0o755); err != nil {
		return err
	}
	for _, e := range es {
		if !e.file() || e.size > 64<<20 {
			continue
		}
		if err := copyFile(filepath.Join(to, "config", e.name), filepath.Join(from, "config", e.name), e.size, e.size, func(int64) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
