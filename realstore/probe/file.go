package probe

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names of a run's files.
const (
	runFile     = "run.json"
	samplesFile = "samples.csv.gz"
	flushesFile = "flushes.csv.gz"
)

// SampleColumns and FlushColumns are the heads of the two tables.
var (
	SampleColumns = []string{"intended_ns", "start_ns", "request_ns", "lock_ns", "append_ns", "appended_ns", "unlock_ns",
		"done_ns", "end_ns", "roll_ns", "offset", "bytes", "cause"}
	FlushColumns = []string{"from", "to", "start_ns", "end_ns"}
)

// Write puts a run into a folder, which must be there.
func (r *Run) Write(write func(name string, data []byte) error) error {
	samples, err := packed(SampleColumns, len(r.Samples), func(b []byte, i int) []byte {
		s := &r.Samples[i]
		for _, v := range [...]int64{s.Intended, s.Start, s.Request, s.Lock, s.Append, s.Appended, s.Unlock, s.Done, s.End, s.Roll, s.Offset, int64(s.Bytes)} {
			b = append(strconv.AppendInt(b, v, 10), ',')
		}
		return append(b, s.Cause.String()...)
	})
	if err != nil {
		return err
	}
	flushes, err := packed(FlushColumns, len(r.Flushes), func(b []byte, i int) []byte {
		f := &r.Flushes[i]
		for _, v := range [...]int64{f.From, f.To, f.Start, f.End} {
			b = append(strconv.AppendInt(b, v, 10), ',')
		}
		return b[:len(b)-1]
	})
	if err != nil {
		return err
	}
	about, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(write(samplesFile, samples), write(flushesFile, flushes), write(runFile, append(about, '\n')))
}

// packed is a gzipped CSV.
func packed(columns []string, rows int, row func([]byte, int) []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(z, 1<<16)
	w.WriteString(strings.Join(columns, ",") + "\n")
	var line []byte
	for i := range rows {
		line = append(row(line[:0], i), '\n')
		w.Write(line)
	}
	err = errors.Join(w.Flush(), z.Close())
	return out.Bytes(), err
}

// Bounds of what is read: a run is a file that anybody may have written.
const (
	aboutMost = 256 << 20
	lineMost  = 1 << 10
)

// Read reads the run in a folder of fsys. Errors name file and line.
func Read(fsys fs.FS, dir string) (*Run, error) {
	r := &Run{}
	name := path.Join(dir, runFile)
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	about, err := io.ReadAll(io.LimitReader(f, aboutMost+1))
	if err != nil {
		return nil, err
	}
	if len(about) > aboutMost {
		return nil, fmt.Errorf("%s: want at most %d bytes", name, aboutMost)
	}
	if err := json.Unmarshal(about, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Schema != schema {
		return nil, fmt.Errorf("%s: schema: want %q, got %q", name, schema, r.Schema)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	err = unpack(fsys, path.Join(dir, samplesFile), SampleColumns, samplesMost, func(f []int64, last string) error {
		s := Sample{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], int32(min(max(f[11], 0), math.MaxInt32)), 0}
		c := slices.Index(causeNames[:], last)
		if c < 0 {
			return fmt.Errorf("cause: want one of %q, got %q", causeNames[1:], last)
		}
		s.Cause = Cause(c)
		if n := len(r.Samples); n > 0 && s.Start < r.Samples[n-1].End {
			return fmt.Errorf("start_ns: want at least %d, when the append before ended, got %d", r.Samples[n-1].End, s.Start)
		}
		if err := s.check(); err != nil {
			return err
		}
		r.Samples = append(r.Samples, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(r.Samples) == 0 {
		return nil, fmt.Errorf("%s: no samples", path.Join(dir, samplesFile))
	}
	err = unpack(fsys, path.Join(dir, flushesFile), FlushColumns, flushesMost, func(f []int64, _ string) error {
		v := Flush{f[0], f[1], f[2], f[3]}
		before := Flush{}
		if n := len(r.Flushes); n > 0 {
			before = r.Flushes[n-1]
		}
		if v.Start < before.End || v.End < v.Start || v.End > timeMost || v.From < 0 || v.To < v.From || v.To > offsetMost {
			return fmt.Errorf("want a flush after the one before, got %d to %d, %d ns to %d ns", v.From, v.To, v.Start, v.End)
		}
		r.Flushes = append(r.Flushes, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// check is of run.json, as far as anything relies on it.
func (r *Run) check() error {
	s := &r.Settings
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !(s.Rate > 0 && s.Rate <= rateMost) {
		bad("rate_per_s: want more than 0, at most %g, got %v", rateMost, s.Rate)
	}
	if !slices.Contains(FlushModes, s.Flush) {
		bad("flush: want one of %v, got %q", FlushModes, s.Flush)
	}
	if !slices.Contains(Kinds, s.Kind) {
		bad("kind: want one of %v, got %q", Kinds, s.Kind)
	}
	if s.FileSize < 4096 || s.FileSize > math.MaxInt32 {
		bad("file_size_bytes: want 4096 to %d, got %d", math.MaxInt32, s.FileSize)
	}
	if s.BodyMin < 1 || s.BodyMax < s.BodyMin || s.BodyMax > bodyMost {
		bad("body_min_bytes, body_max_bytes: want 1 to %d, got %d and %d", bodyMost, s.BodyMin, s.BodyMax)
	}
	if s.DurationNs < 1 || s.DurationNs > timeMost || s.FlushMs < 1 || s.FlushMs > math.MaxInt32 {
		bad("duration_ns, flush_interval_ms: out of bounds: %d, %d", s.DurationNs, s.FlushMs)
	}
	for _, v := range r.IdleWakes {
		if v < 0 || v > timeMost {
			bad("idle_wake_ns: out of bounds: %d", v)
			break
		}
	}
	return errors.Join(faults...)
}

// unpack reads a gzipped CSV of whole numbers, but for its last column where
// that is a word, and gives each line to row.
func unpack(fsys fs.FS, name string, columns []string, most int, row func(fields []int64, last string) error) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, lineMost), lineMost)
	words := columns[len(columns)-1] == "cause"
	fields := make([]int64, len(columns))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			if line != strings.Join(columns, ",") {
				return fmt.Errorf("%s:1: want the columns %s", name, strings.Join(columns, ","))
			}
			continue
		}
		if n > most+1 {
			return fmt.Errorf("%s:%d: want at most %d lines", name, n, most)
		}
		last := ""
		for i := range columns {
			text, rest, more := strings.Cut(line, ",")
			if more != (i+1 < len(columns)) {
				return fmt.Errorf("%s:%d: want %d fields", name, n, len(columns))
			}
			line = rest
			if words && i+1 == len(columns) {
				last = text
				break
			}
			if fields[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				return fmt.Errorf("%s:%d: %s: want a whole number, got %q", name, n, columns[i], text)
			}
		}
		if err := row(fields, last); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Find lists the folders of runs that path means: itself, or those in it, in
// the order of their numbers.
func Find(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, runFile)); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for n := range runsMost {
		name := RunName(n + 1)
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.IsDir() }) {
			if _, err := os.Stat(filepath.Join(dir, name, runFile)); err == nil {
				found = append(found, filepath.Join(dir, name))
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no run of a probe in it (want %s, or folders as %s)", dir, runFile, RunName(1))
	}
	return found, nil
}

// RunName is that of the folder of a run.
func RunName(number int) string { return "run-" + strconv.Itoa(number) }

// Remove takes away the folder of a run, and nothing else that is in it.
func Remove(dir string) error {
	for _, name := range []string{runFile, samplesFile, flushesFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(dir)
}
