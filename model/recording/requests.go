package recording

import (
	"io"
	"math"

	"brokersim/model"
	"brokersim/sim"
)

// Recorded is what a recording says became of a request.
type Recorded struct {
	Outcome  model.Outcome // Pending where the recording doesn't say
	PeriodMs int32         // model.Absent where there is none
	Size     int32         // model.Absent where there is none
	Sojourn  sim.Time      // arrive_ns to done_ns; model.Absent where it has none
}

// Requests are recorded arrivals and what became of them, in order of
// arrival.
type Requests struct {
	Arrivals []sim.Time
	Outcomes []Recorded
	times    []times // of the send threads, unless no request has any
}

// ReadRequests reads a requests CSV, gzipped or not. It needs seq and
// arrive_ns in every row; the columns outcome, period_ms, qsize and done_ns, which
// score, may be empty or missing, and so may those that MeasureFlush and
// MeasureCPU want. Arrivals must not go back in time.
func ReadRequests(file string, r io.Reader) (*Requests, error) {
	t, err := newTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("seq", "arrive_ns"); err != nil {
		return nil, err
	}
	seq, arrive := t.column("seq"), t.column("arrive_ns")
	outcome, period, size := t.column("outcome"), t.column("period_ms"), t.column("qsize")
	done, steps := t.column("done_ns"), stepColumns(t)
	out := &Requests{}
	last := sim.Time(0)
	for t.next() {
		if t.cell(seq) == "" {
			t.bad("seq: empty")
		} else {
			t.whole(seq, 0, math.MaxInt64)
		}
		if t.cell(arrive) == "" {
			t.bad("arrive_ns: empty")
			continue
		}
		at, ok := t.whole(arrive, 0, timeMax)
		if !ok {
			continue
		}
		if sim.Time(at) < last {
			t.bad("arrive_ns: %d comes after %d: arrivals must be in order", at, last)
			continue
		}
		last = sim.Time(at)
		rec := Recorded{PeriodMs: model.Absent, Size: model.Absent, Sojourn: model.Absent}
		if text := t.cell(outcome); text != "" {
			o, known := model.ParseOutcome(text)
			if !known {
				t.bad("outcome: unknown %.40q", text)
			}
			rec.Outcome = o
		}
		if v, ok := t.whole(period, 0, math.MaxInt32); ok {
			rec.PeriodMs = int32(v)
		}
		if v, ok := t.whole(size, 0, math.MaxInt32); ok {
			rec.Size = int32(v)
		}
		if v, ok := t.whole(done, at, timeMax); ok {
			rec.Sojourn = sim.Time(v) - last
		}
		out.times = append(out.times, steps.read(t))
		out.Arrivals = append(out.Arrivals, last)
		out.Outcomes = append(out.Outcomes, rec)
	}
	if err := t.err(); err != nil {
		return nil, err
	}
	if len(out.Arrivals) == 0 {
		return nil, &Fault{File: file, Msg: "no requests in it"}
	}
	return out, nil
}
