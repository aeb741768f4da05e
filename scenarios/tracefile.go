package scenarios

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"brokersim/sim"
)

// ParseArrivals reads the instants of recorded arrivals: the column arrive_ns
// of a CSV file such as the one that --requests writes, in whole ns, never
// decreasing. Rows where it is empty (a send that never arrived) are passed
// over. The file may be gzipped. The error is Faults, each naming its line.
func ParseArrivals(name string, src []byte) ([]sim.Time, error) {
	var faults faultList
	fault := func(line int, key, format string, args ...any) {
		faults.add(Fault{File: name, Line: line, Key: key, Msg: fmt.Sprintf(format, args...)})
	}
	const column = "arrive_ns"
	text, err := gunzip(src)
	if err != nil {
		fault(0, "", "%s", err)
		return nil, faults.all(name)
	}
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff")))
	r.ReuseRecord = true
	head, err := r.Read()
	at := slices.Index(head, column)
	if err != nil || at < 0 {
		fault(1, column, "the column is missing")
		return nil, faults.all(name)
	}
	var out []sim.Time
	last := sim.Time(0)
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			if len(out) == 0 && len(faults.kept) == 0 {
				fault(1, column, "want at least one arrival")
			}
			break
		}
		var pe *csv.ParseError
		if errors.As(err, &pe) {
			fault(pe.Line, "", "not CSV: %s", pe.Err)
			if errors.Is(err, csv.ErrFieldCount) {
				continue
			}
			break
		}
		if row[at] == "" {
			continue
		}
		line, _ := r.FieldPos(at)
		t, err := strconv.ParseInt(row[at], 10, 64)
		switch {
		case err != nil || t < 0 || t > int64(durationMost):
			fault(line, column, "want %s, got %q", bounds(0, int64(durationMost)), clip(row[at]))
		case sim.Time(t) < last:
			fault(line, column, "want at least the %d of the row before, got %d", last, t)
		default:
			last = sim.Time(t)
			out = append(out, last)
		}
	}
	if len(faults.kept) > 0 {
		return nil, faults.all(name)
	}
	return out, nil
}

// unzippedMost bounds what a gzipped file unfolds to, in bytes.
const unzippedMost = 64 << 20

// gunzip unfolds a gzipped text, and gives back any other.
func gunzip(src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, []byte{0x1f, 0x8b}) {
		return src, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	text, err := readMost(z, unzippedMost)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("truncated gzip: it ends in line %d", 1+bytes.Count(text, []byte("\n")))
	}
	return text, err
}
