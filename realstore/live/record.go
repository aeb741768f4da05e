package live

import (
	"cmp"
	"fmt"
	"slices"

	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/sim"
	"brokersim/sim/stat"
)

// Row is a send and what became of it, with what a requests CSV has no column
// for. Its Resp is Absent: an answer's way back is drawn by Record.Ledger.
type Row struct {
	model.Attempt
	Producer int32
	Due      sim.Time // when it was to arrive
	Answered sim.Time // by the broker; Absent: not before the run ended
	Status   model.PutStatus
	Offset   int64    // in the commit log, or Absent
	Held     sim.Time // by stalls and store.delay, under the put lock
}

func newRow(seq int64, s *model.Send) Row {
	return Row{Attempt: s.Attempt(seq), Producer: s.Producer, Due: s.Arrive, Answered: model.Absent, Offset: model.Absent}
}

// answered tells whether it was, within the run.
func (r *Row) answered(end sim.Time) bool { return r.Answered != model.Absent && r.Answered <= end }

// Record is what a live run leaves beside its store.
type Record struct {
	Rows        []Row // by Seq, which is the order of arrival
	Sweeps      []model.SweepRecord
	Stalls      []recording.Stall // in order of their beginning
	Wall        model.WallClock
	End         sim.Time
	Interrupted bool
	Delay       sim.Time // of an append that met no stall, on average: store.delay and what a sleep takes longer
	Collections uint32   // of garbage, while it ran: each stops all threads
	From, To    int64    // the run's messages in the commit log
}

// record gathers what the threads have noted.
func (b *broker) record(end sim.Time, collections uint32) *Record {
	rec := &Record{
		Rows: b.rows, Sweeps: b.sweeps, Wall: b.clock.wall, End: end, Interrupted: b.stop.Load(), Collections: collections,
	}
	if b.cfg.Store.Delay > 0 {
		rec.Delay = meanDelay(b.appends, b.cfg.Store.Delay)
	}
	// A row's append is the one at its offset: the hook can't tell whose it is.
	slices.SortFunc(b.appends, func(x, y appended) int { return cmp.Compare(x.offset, y.offset) })
	for i := range rec.Rows {
		r := &rec.Rows[i]
		k, found := slices.BinarySearchFunc(b.appends, r.Offset, func(a appended, offset int64) int { return cmp.Compare(a.offset, offset) })
		if r.Offset == model.Absent || !found {
			continue
		}
		a := &b.appends[k]
		r.App0 = a.from
		if a.stalled || b.cfg.Store.Delay > 0 {
			r.Held = a.to - a.from
		}
		if !a.stalled && r.App1-a.from < rec.Delay+naturalStall {
			continue
		}
		// Half-way from the append before: in a replay appends begin at slightly
		// other instants, and the same one is to be stalled.
		opens := sim.Time(0)
		if k > 0 {
			opens = b.appends[k-1].from + (a.from-b.appends[k-1].from)/2
		}
		rec.Stalls = append(rec.Stalls, recording.Stall{StallRecord: model.StallRecord{Where: model.StallAppend, From: a.from, To: r.App1, BySeq: r.Seq}, Opens: opens})
	}
	for _, s := range b.stalls {
		rec.Stalls = append(rec.Stalls, recording.Stall{StallRecord: s, Opens: s.From})
	}
	rec.sortStalls()
	return rec
}

// naturalStall is from how much on an append that takes longer than its delay
// counts as stalled, though nobody has injected it: by the unit of the rules.
const naturalStall = sim.Millisecond

// meanDelay is that of the appends that met no stall.
func meanDelay(appends []appended, asked sim.Time) sim.Time {
	var sum, n sim.Time
	for _, a := range appends {
		if held := a.to - a.from; !a.stalled && held < asked+naturalStall {
			sum, n = sum+held, n+1
		}
	}
	return sum / max(n, 1)
}

func (rec *Record) sortStalls() {
	slices.SortStableFunc(rec.Stalls, func(a, b recording.Stall) int { return cmp.Compare(a.From, b.From) })
}

// Ledger puts the run into the books of a replication and tells obs all of it,
// in order. cut, which may be nil, is why the run ended early: what was not
// answered by then is left out.
func (rec *Record) Ledger(cfg *model.Config, replication int, obs model.Observer, cut error) (*model.Ledger, error) {
	ledger, err := model.NewLedger(cfg, replication, obs)
	if err != nil {
		return nil, err
	}
	length := 0
	for _, e := range rec.events(&obs) {
		switch e.kind {
		case eventEnq, eventDeq:
			length += e.by
			obs.Queue(e.at, length)
		case eventLock:
			obs.Lock(e.from, e.at)
		case eventStall:
			obs.Stall(rec.Stalls[e.index].StallRecord)
		case eventSweep:
			obs.Sweep(rec.Sweeps[e.index])
		case eventAnswer:
			r := &rec.Rows[e.index]
			if err := ledger.Settle(&r.Attempt, r.Producer, r.Status, r.Answered); err != nil {
				return nil, err
			}
		}
	}
	return ledger, ledger.Close(rec.End, cut)
}

// Write makes an experiment folder of the run, for replay --from; of an
// interrupted one, of what was answered in order.
func (rec *Record) Write(dir string, cfg *model.Config, replication int) error {
	run := &recording.Run{Config: cfg, Wall: rec.Wall, Delay: rec.Delay, Sweeps: rec.Sweeps, Stalls: rec.Stalls}
	keep := model.Observer{Attempt: func(a *model.Attempt) { run.Attempts = append(run.Attempts, *a) }}
	if _, err := rec.Ledger(cfg, replication, keep, nil); err != nil {
		return err
	}
	return recording.Write(dir, run)
}

// event is something to tell, at an instant.
type event struct {
	at    sim.Time
	from  sim.Time // lock taken
	index int32
	by    int // of the queue's length
	kind  eventKind
}

type eventKind uint8

// Of one instant, in this order: a send is queued before it is taken.
const (
	eventStall eventKind = iota
	eventEnq
	eventDeq
	eventLock
	eventAnswer
	eventSweep
)

// events lists what there is to tell obs, in order of time.
func (rec *Record) events(obs *model.Observer) []event {
	var all []event
	tell := func(e event) {
		if e.at <= rec.End {
			all = append(all, e)
		}
	}
	for i := range rec.Rows {
		r := &rec.Rows[i]
		index := int32(i)
		if left := max(r.Deq, r.Clean); obs.Queue != nil && r.QlenEnq > 0 {
			tell(event{at: r.Enq, by: 1, kind: eventEnq, index: index})
			if left != model.Absent {
				tell(event{at: left, by: -1, kind: eventDeq, index: index})
			}
		}
		if obs.Lock != nil && r.Unlock != model.Absent {
			tell(event{at: r.Unlock, from: r.Lock, kind: eventLock, index: index})
		}
		if r.answered(rec.End) {
			tell(event{at: r.Answered, kind: eventAnswer, index: index})
		}
	}
	if obs.Stall != nil {
		for i := range rec.Stalls {
			tell(event{at: rec.Stalls[i].From, kind: eventStall, index: int32(i)})
		}
	}
	if obs.Sweep != nil {
		for i := range rec.Sweeps {
			if s := &rec.Sweeps[i]; obs.AllSweeps || s.PCBusy+s.Timeout > 0 {
				tell(event{at: s.End, kind: eventSweep, index: int32(i)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind)) })
	return all
}

// Punctuality is how late the run's own clockwork was, in ns.
type Punctuality struct {
	Arrivals stat.Histogram // behind their instants
	Sweeps   stat.Histogram // behind their schedule or the end of the sweep before
}

// Add takes those of a run. What a freeze or an injected stall of the sweeper
// held up is not late.
func (p *Punctuality) Add(rec *Record) {
	stalls := rec.holds()
	for i := range rec.Rows {
		r := &rec.Rows[i]
		if r.Arrive > rec.End || r.Answered == model.Absent && r.Enq == model.Absent {
			continue // not sent before the run ended
		}
		p.Arrivals.AddTime(max(0, r.Arrive-stalls.released(r.Due, model.StallProcess)))
	}
	free := sim.Time(0)
	for _, s := range rec.Sweeps {
		p.Sweeps.AddTime(max(0, s.Start-stalls.released(max(s.Nominal, free), model.StallSweep)))
		free = s.End
	}
}

// holds are the stalls of the process and of the sweeper.
type holds []recording.Stall

func (rec *Record) holds() (h holds) {
	for _, s := range rec.Stalls {
		if s.Where != model.StallAppend {
			h = append(h, s)
		}
	}
	return h
}

// released is when what is due at t can happen, behind freezes and, for sweeps,
// stalls of the sweeper.
func (h holds) released(t sim.Time, of model.StallWhere) sim.Time {
	for _, s := range h {
		if (s.Where == of || s.Where == model.StallProcess) && s.From-sim.Millisecond <= t && t < s.To {
			t = s.To
		}
	}
	return t
}

// Warnings say why the run can't be trusted, if so: late by 1 ms, which is what
// the rules count in, or stopped by the collector.
func (p *Punctuality) Warnings() (warnings []string) {
	const trusted = int64(sim.Millisecond)
	for _, of := range []struct {
		what string
		h    *stat.Histogram
	}{{"arrivals", &p.Arrivals}, {"sweeps", &p.Sweeps}} {
		if q := of.h.Quantile(0.99); q > trusted {
			warnings = append(warnings, fmt.Sprintf("1 %% of the %s were late by more than %.1f ms: the machine was busy, this run can't be trusted to the ms", of.what, float64(q)/1e6))
		}
	}
	return warnings
}
