package recording

import (
	"errors"

	"brokersim/model"
	"brokersim/sim"
)

// times are those of one request at its send thread, model.Absent where it did
// not happen or was not recorded.
type times struct{ enq, deq, lockreq, app0, app1, unlock, done sim.Time }

// steps are the columns that times are read from.
type steps struct{ enq, deq, lockreq, app0, app1, unlock, done int }

func stepColumns(t *table) steps {
	return steps{t.column("enq_ns"), t.column("deq_ns"), t.column("lockreq_ns"), t.column("app0_ns"), t.column("app1_ns"), t.column("unlock_ns"), t.column("done_ns")}
}

func (s *steps) read(t *table) times {
	at := func(column int) sim.Time {
		if v, ok := t.whole(column, 0, timeMax); ok {
			return sim.Time(v)
		}
		return model.Absent
	}
	return times{at(s.enq), at(s.deq), at(s.lockreq), at(s.app0), at(s.app1), at(s.unlock), at(s.done)}
}

// MeasureFlush makes cfg, which Drive has made a replay of requests, take what
// the store took as it was recorded, instead of drawing it: each append (app0_ns
// to app1_ns), and with SYNC_FLUSH each wait for the flush (unlock_ns to done_ns,
// with the wake-ups of both threads and the answer). What the recording has no
// time for, because the broker rejected it, takes what the one before took.
// Recorded stalls of appends are in the appends, and dropped.
//
// Neither when a request was taken nor what became of it is read for it.
func MeasureFlush(cfg *model.Config, requests *Requests) error {
	appends := requests.lasting(func(t *times) (from, to sim.Time) { return t.app0, t.app1 })
	if appends == nil {
		return errors.New("no request has both app0_ns and app1_ns: there is no append to take")
	}
	m := measured(cfg)
	m.Append = appends
	if cfg.Broker.FlushDiskType == model.SyncFlush {
		m.Flush = requests.lasting(func(t *times) (from, to sim.Time) { return t.unlock, t.done })
		if m.Flush == nil {
			return errors.New("no request has both unlock_ns and done_ns: there is no flush to take")
		}
	}
	cfg.Store.Delay = 0
	stalls := cfg.Stalls
	cfg.Stalls = nil
	for _, s := range stalls {
		if s.Where != model.StallAppend && s.Where != model.StallFlush {
			cfg.Stalls = append(cfg.Stalls, s)
		}
	}
	return nil
}

// MeasureCPU likewise takes what the send thread took beside the store: to wake
// up, where it was idle (enq_ns to deq_ns), to come to the put lock (deq_ns to
// lockreq_ns), and to answer (unlock_ns to done_ns, without SYNC_FLUSH). It is for
// a broker of one send thread beside which others kept the processors busy.
func MeasureCPU(cfg *model.Config, requests *Requests) error {
	if n := cfg.Broker.SendMessageThreadPoolNums; n != 1 {
		return errors.New("the times of the send thread can be taken where there is one, not several")
	}
	m := measured(cfg)
	m.Process = requests.lasting(func(t *times) (from, to sim.Time) { return t.deq, t.lockreq })
	m.Finish = requests.lasting(func(t *times) (from, to sim.Time) { return t.unlock, t.done })
	idle := sim.Time(0) // from then on
	m.Wake = requests.lasting(func(t *times) (from, to sim.Time) {
		from, to = t.enq, t.deq
		if from < idle {
			from = model.Absent // it was taken by a thread that was at work
		}
		idle = max(idle, t.done)
		return from, to
	})
	if m.Process == nil || m.Finish == nil || m.Wake == nil {
		return errors.New("no request has all of enq_ns, deq_ns, lockreq_ns, unlock_ns and done_ns: there is no work of the send thread to take")
	}
	return nil
}

func measured(cfg *model.Config) *model.Measured {
	if cfg.Measured == nil {
		cfg.Measured = new(model.Measured)
	}
	return cfg.Measured
}

// lasting is how long something took of each request; where that wasn't
// recorded, what it took of the one before, of the first what it took of the
// first that has it. It is nil if none has.
func (r *Requests) lasting(of func(*times) (from, to sim.Time)) []sim.Time {
	out := make([]sim.Time, len(r.times))
	known, first := sim.Time(0), -1
	for i := range r.times {
		if from, to := of(&r.times[i]); from != model.Absent && to >= from {
			known = to - from
			if first < 0 {
				first = i
			}
		}
		out[i] = known
	}
	if first < 0 {
		return nil
	}
	for i := range first {
		out[i] = out[first]
	}
	return out
}
