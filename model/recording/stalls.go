package recording

import (
	"io"
	"slices"

	"brokersim/model"
	"brokersim/sim"
)

// stallsMax bounds the stalls of a run.
const stallsMax = 1_000_000

// ReadStalls reads a stalls CSV: an append stall holds what begins from
// window_start_ns (start_ns where that is empty) until end_ns; a freeze,
// a gc or a steal stops the process from start_ns to end_ns, a sweep stall the
// sweeper.
func ReadStalls(file string, r io.Reader) ([]model.Stall, error) {
	t, err := newTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("kind", "start_ns", "end_ns"); err != nil {
		return nil, err
	}
	kind, start, end, window := t.column("kind"), t.column("start_ns"), t.column("end_ns"), t.column("window_start_ns")
	var stalls []model.Stall
	for t.next() {
		stall := model.Stall{}
		from, okFrom := t.whole(start, 0, timeMax)
		until, okUntil := t.whole(end, 0, timeMax)
		opens, okOpens := t.whole(window, 0, timeMax)
		switch t.cell(kind) {
		case "append":
			stall.Where = model.StallAppend
			if okOpens {
				from, okFrom = opens, true
			}
		case "freeze":
			stall.Where = model.StallProcess
		case "gc":
			stall.Where = model.StallGC
		case "steal":
			stall.Where = model.StallSteal
		case "sweep":
			stall.Where = model.StallSweep
		default:
			t.bad("kind: want append, freeze, gc, steal or sweep, got %.40q", t.cell(kind))
			continue
		}
		if !okFrom || !okUntil {
			if t.cell(start) == "" || t.cell(end) == "" {
				t.bad("start_ns and end_ns: want a number, got %.40q and %.40q", t.cell(start), t.cell(end))
			}
			continue
		}
		if until <= from {
			t.bad("end_ns: want more than its start %d, got %d", from, until)
			continue
		}
		stall.At, stall.Until = sim.Time(from), sim.Time(until)
		if len(stalls) == stallsMax {
			t.bad("more than %d stalls", stallsMax)
			break
		}
		stalls = append(stalls, stall)
	}
	return stalls, t.err()
}

// signalled is how long a process may still run after the freeze began.
const signalled = sim.Millisecond

// thaw ends each freeze where its process is first seen to do something: it
// reads a request, or ends a stalled append. The recorded end is when the one
// who had sent SIGCONT looked at the clock, up to 5 ms later in the traces.
func thaw(stalls []model.Stall, arrivals []sim.Time) {
	for i := range stalls {
		f := &stalls[i]
		if !f.Where.Freezes() {
			continue
		}
		sign := func(t sim.Time) {
			if t > f.At+signalled && t < f.Until {
				f.Until = t
			}
		}
		if at, _ := slices.BinarySearch(arrivals, f.At+signalled+1); at < len(arrivals) {
			sign(arrivals[at])
		}
		for j := range stalls {
			if stalls[j].Where == model.StallAppend {
				sign(stalls[j].Until)
			}
		}
	}
}

// ReadSweepPhase reads the recorded sweeps and returns the phase of their
// fixed rate: the median of start_ns less 10 ms for each sweep before it. It
// is all that a replay takes from them.
func ReadSweepPhase(file string, r io.Reader) (sim.Time, error) {
	t, err := newTable(file, r)
	if err != nil {
		return 0, err
	}
	if err := t.require("sweep", "start_ns"); err != nil {
		return 0, err
	}
	n, start := t.column("sweep"), t.column("start_ns")
	var offsets []int64
	for t.next() {
		k, ok := t.whole(n, 0, timeMax/int64(model.SweepPeriod))
		at, ok2 := t.whole(start, -timeMax, timeMax)
		if ok && ok2 {
			offsets = append(offsets, at-k*int64(model.SweepPeriod))
		}
	}
	if err := t.err(); err != nil {
		return 0, err
	}
	if len(offsets) == 0 {
		return 0, &Fault{File: file, Msg: "no sweeps in it"}
	}
	return phaseOf(offsets), nil
}
