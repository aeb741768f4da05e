package recording

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"brokersim/sim"
)

// Limits of what a file may make the reader hold.
const (
	rowsMax = 20_000_000
	lineMax = 64 << 10
	textMax = 8 << 30 // bytes of it, unfolded
)

// Fault is something wrong with a recording, with its place.
type Fault struct {
	File string
	Line int // from 1; 0: the whole file
	Msg  string
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Msg
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Msg)
}

// faultsMax is how many faulty rows one error lists.
const faultsMax = 20

// table reads a CSV file of plain cells (no quotes) by column name, gzipped
// or not.
type table struct {
	file    string
	line    int
	in      *bufio.Scanner
	columns []string
	cells   []string
	faults  []error
	more    int // faults beyond faultsMax
	gzipped bool
}

func newTable(file string, r io.Reader) (*table, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	t := &table{file: file}
	in := io.Reader(buffered)
	if magic, _ := buffered.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, t.fault("damaged gzip: %s", strings.TrimPrefix(err.Error(), "gzip: "))
		}
		in, t.gzipped = z, true
	}
	t.in = bufio.NewScanner(&limited{in, textMax})
	t.in.Buffer(make([]byte, 4096), lineMax)
	if !t.in.Scan() {
		if err := t.readError(); err != nil {
			return nil, err
		}
		return nil, t.fault("empty: want a header line")
	}
	t.line = 1
	t.columns = strings.Split(strings.TrimRight(t.in.Text(), "\r"), ",")
	return t, nil
}

// limited is an io.LimitedReader whose end is an error.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("more than %d bytes", int64(textMax))
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func (t *table) fault(format string, args ...any) error {
	return &Fault{t.file, t.line, fmt.Sprintf(format, args...)}
}

// column returns the place of a column, or -1.
func (t *table) column(name string) int { return slices.Index(t.columns, name) }

// require reports all columns that are missing.
func (t *table) require(names ...string) error {
	var missing []string
	for _, n := range names {
		if t.column(n) < 0 {
			missing = append(missing, n)
		}
	}
	first := t.columns[0]
	switch {
	case missing == nil:
		return nil
	case t.in.Err() != nil: // the header is cut
		return t.readError()
	case strings.HasPrefix(first, "\ufeff"):
		return t.fault("a byte order mark before the first column: want a CSV without one")
	case strings.ContainsRune(first, '"'):
		return t.fault("quoted columns (%.40q): want plain cells", first)
	case len(t.columns) == 1 && strings.ContainsAny(first, ";\t"):
		return t.fault("cells separated by %q: want commas", first[strings.IndexAny(first, ";\t")])
	}
	return t.fault("no column %s; the header has %.400q", strings.Join(missing, ", "), strings.Join(t.columns, ","))
}

// next reads a row; false at the end or when reading failed (see err).
func (t *table) next() bool {
	for t.in.Scan() {
		t.line++
		if t.line > rowsMax {
			t.bad("more than %d lines", rowsMax)
			return false
		}
		text := strings.TrimRight(t.in.Text(), "\r")
		if text == "" {
			continue
		}
		t.cells = strings.Split(text, ",")
		if len(t.cells) != len(t.columns) {
			t.bad("%d cells, the header has %d", len(t.cells), len(t.columns))
			continue
		}
		return true
	}
	if err := t.readError(); err != nil {
		t.faults = append(t.faults, err)
	}
	return false
}

func (t *table) readError() error {
	err := t.in.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Fault{t.file, t.line, "the file ends early (truncated gzip)"}
	case errors.Is(err, bufio.ErrTooLong):
		return &Fault{t.file, t.line + 1, fmt.Sprintf("a line of more than %d bytes", lineMax)}
	case t.gzipped && isGzip(err):
		return &Fault{t.file, t.line, "after this line: damaged gzip: " + strings.TrimPrefix(err.Error(), "gzip: ")}
	default:
		return &Fault{t.file, t.line, "after this line: " + err.Error()}
	}
}

// isGzip reports whether what is read is no gzip, rather than can't be read.
func isGzip(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt)
}

func (t *table) bad(format string, args ...any) {
	again := Fault{t.file, t.line, fmt.Sprintf(format, args...)} // of a column that is read twice
	if slices.ContainsFunc(t.faults, func(err error) bool { f, ok := err.(*Fault); return ok && *f == again }) {
		return
	}
	if len(t.faults) == faultsMax {
		t.more++
		return
	}
	t.faults = append(t.faults, t.fault(format, args...))
}

func (t *table) err() error {
	faults := t.faults
	if t.more > 0 {
		faults = append(faults, &Fault{File: t.file, Msg: fmt.Sprintf("and %d more", t.more)})
	}
	return errors.Join(faults...)
}

// cell returns the text of a column, empty where there is no such column.
func (t *table) cell(column int) string {
	if column < 0 {
		return ""
	}
	return t.cells[column]
}

// whole returns a whole number of at least least; ok is false for an empty
// cell and for a fault, which is noted.
func (t *table) whole(column int, least, most int64) (v int64, ok bool) {
	text := t.cell(column)
	if text == "" {
		return 0, false
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.bad("%s: want a whole number, got %.40q", t.columns[column], text)
		return 0, false
	}
	if v < least || v > most {
		t.bad("%s: want %d to %d, got %d", t.columns[column], least, most, v)
		return 0, false
	}
	return v, true
}

// timeMax bounds recorded times: the longest run.
const timeMax = int64(1000 * sim.Hour)
