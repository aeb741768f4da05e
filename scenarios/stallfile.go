package scenarios

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"brokersim/model"
	"brokersim/sim"
)

// stallColumns are the columns of a stall file. Only kind and the times are
// read: window_* (as asked for) for an append, where they are given, and
// start_ns, end_ns (as it was) for the rest.
var stallColumns = []string{"kind", "index", "by_seq", "start_ns", "end_ns", "window_start_ns", "window_end_ns"}

// stallKinds are the kinds of a stall file: those of [[stall]], and freeze for
// process.
var stallKinds = map[string]model.StallWhere{
	"append": model.StallAppend, "sweep": model.StallSweep, "process": model.StallProcess, "freeze": model.StallProcess,
	"gc": model.StallGC, "steal": model.StallSteal,
	"flush": model.StallFlush, "network": model.StallNetwork, "replica": model.StallReplica, "commit": model.StallCommit,
}

// stallFile decodes the file of a [[stall]].
func (d *decoder) stallFile(n *node, rel string) []model.Stall {
	text, ok := d.fetch(n, rel)
	if !ok {
		return nil
	}
	stalls, err := ParseStalls(rel, text)
	d.take(err)
	if err == nil && len(stalls) == 0 {
		d.note(n, "no stalls are in %s", rel)
	}
	return stalls
}

// ParseStalls reads recorded stalls: a CSV file with the columns
//
//	kind,index,by_seq,start_ns,end_ns,window_start_ns,window_end_ns
//
// in any order. Each row becomes a window (At and Until). The error is Faults,
// each naming its line.
func ParseStalls(name string, src []byte) ([]model.Stall, error) {
	var faults faultList
	fault := func(line int, key, format string, args ...any) {
		faults.add(Fault{File: name, Line: line, Key: key, Msg: fmt.Sprintf(format, args...)})
	}
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(src), "\ufeff")))
	r.FieldsPerRecord = -1
	head, err := r.Read()
	if err != nil {
		fault(1, "", "want the columns %s, got none", strings.Join(stallColumns, ","))
		return nil, faults.all(name)
	}
	at := map[string]int{}
	for _, column := range stallColumns {
		if at[column] = slices.Index(head, column); at[column] < 0 && column != "index" && column != "by_seq" {
			fault(1, column, "the column is missing")
		}
	}
	if len(faults.kept) > 0 {
		return nil, faults.all(name)
	}
	var stalls []model.Stall
	for rows := 0; ; rows++ {
		row, err := r.Read()
		line, _ := r.FieldPos(0)
		switch {
		case errors.Is(err, io.EOF):
			if len(faults.kept) > 0 {
				return nil, faults.all(name)
			}
			return stalls, nil
		case err != nil:
			var pe *csv.ParseError
			if errors.As(err, &pe) {
				line, err = pe.Line, pe.Err
			}
			fault(line, "", "not CSV: %s", err)
			return nil, faults.all(name)
		case rows == tablesMost:
			fault(line, "", "want at most %d stalls", tablesMost)
			return nil, faults.all(name)
		case len(row) != len(head):
			fault(line, "", "want %d fields, got %d", len(head), len(row))
			continue
		}
		where, ok := stallKinds[row[at["kind"]]]
		if !ok {
			fault(line, "kind", "want append, sweep, process, freeze, gc, steal, flush, network or replica, got %q", clip(row[at["kind"]]))
			continue
		}
		from, to := "start_ns", "end_ns"
		if windowed := row[at["window_start_ns"]] != ""; windowed && where == model.StallAppend || row[at[from]] == "" {
			from, to = "window_start_ns", "window_end_ns"
		}
		begin, okBegin := stallTime(row[at[from]])
		end, okEnd := stallTime(row[at[to]])
		switch {
		case !okBegin:
			fault(line, from, "want %s, got %q", bounds(0, int64(durationMost)), clip(row[at[from]]))
		case !okEnd:
			fault(line, to, "want %s, got %q", bounds(0, int64(durationMost)), clip(row[at[to]]))
		case end <= begin:
			fault(line, to, "want more than %s = %d, got %d", from, begin, end)
		default:
			stalls = append(stalls, model.Stall{Where: where, At: begin, Until: end})
		}
	}
}

func stallTime(s string) (sim.Time, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return sim.Time(n), err == nil && n >= 0 && n <= int64(durationMost)
}
