package validate

import (
	"errors"
	"runtime"
	"slices"

	"brokersim/model"
	"brokersim/realstore/live"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// broker is what was measured of the live broker's threads.
type broker struct {
	costs  model.Costs
	append variate.Dist // under the lock, of appends below 1 ms, without what held them
	delay  sim.Time     // that of an append for which store.delay was asked
	flush  variate.Dist // with SYNC_FLUSH
}

// measure takes costs from a live run of cfg, of one send thread.
//
// A thread that was woken, or slept in an append or for a flush, goes on slower
// than one that did not: the model tells the two apart (model.Costs), and so does
// this. What lies between two requests of a thread that does not sleep, the
// queue's lock that it takes anew, belongs to the second's way to the put lock.
// With SYNC_FLUSH the time from unlock to answer is the flush's, less the wake-ups
// of the two threads.
func measure(rec *live.Record, cfg *model.Config) (*broker, error) {
	sync := cfg.Broker.FlushDiskType == model.SyncFlush
	t := timesOf(rec, sync)
	if len(t.handoff) == 0 || len(t.hold) == 0 || len(t.lag) == 0 {
		return nil, errors.New("the run that was to measure the live broker's threads stored too little: the machine is too slow")
	}
	answer := variate.Must(variate.NewConstant(variate.Duration, float64(sim.Microsecond)))
	seen := func(ns []float64) variate.Dist {
		slices.Sort(ns)
		return variate.Must(variate.NewEmpirical(variate.Duration, ns))
	}
	b := &broker{
		append: seen(t.hold), delay: rec.Delay,
		costs: model.Costs{
			Network: cfg.Costs.Network, Decode: seen(t.decode), Handoff: seen(t.handoff), Process: seen(t.process),
			FirstAnswer: answer, Answer: answer, SweepLag: seen(t.lag),
		},
	}
	if sync {
		wakes := 2 * b.costs.Handoff.Quantile(0.5)
		for i := range t.finish {
			t.finish[i] = max(0, t.finish[i]-wakes)
		}
		b.flush = seen(t.finish)
		return b, nil
	}
	b.costs.Finish = seen(t.finish)
	const fewest = 10 // below, those of a thread that slept stand for all
	if len(t.warmProcess) >= fewest && len(t.warmFinish) >= fewest {
		b.costs.WarmProcess, b.costs.WarmFinish = seen(t.warmProcess), seen(t.warmFinish)
	}
	return b, nil
}

// times are those of a live run by step, in ns.
type times struct {
	decode, handoff, process, warmProcess, hold, finish, warmFinish, lag []float64
}

// timesOf takes a run's steps apart; sync: each send waits for its flush.
func timesOf(rec *live.Record, sync bool) (t times) {
	free := sim.Time(-1) // since when the thread is
	slept := false       // in its last append, or after it
	for i := range rec.Rows {
		r := &rec.Rows[i]
		if r.Unlock == model.Absent {
			continue
		}
		t.decode = append(t.decode, float64(r.Enq-r.Arrive))
		cold, from := true, r.Deq
		switch {
		case free < r.Enq: // it waited for this one
			if r.QlenEnq == 1 {
				t.handoff = append(t.handoff, float64(r.Deq-r.Enq))
			}
		case slept:
			from = free
		default:
			cold, from = false, free
		}
		if cold {
			t.process = append(t.process, float64(r.LockReq-from))
		} else {
			t.warmProcess = append(t.warmProcess, float64(r.LockReq-from))
		}
		slept = r.Held > 0 || sync
		if cold || slept {
			t.finish = append(t.finish, float64(r.Done-r.Unlock))
		} else {
			t.warmFinish = append(t.warmFinish, float64(r.Done-r.Unlock))
		}
		if h := r.Unlock - r.Lock - r.Held; h < sim.Millisecond {
			t.hold = append(t.hold, float64(h))
		}
		free = r.Done
	}
	end := sim.Time(0)
	for _, s := range rec.Sweeps {
		t.lag = append(t.lag, float64(max(0, s.Start-max(s.Nominal, end))))
		end = s.End
	}
	return t
}

// virtual is the configuration of a virtual run of what cfg is live.
func (b *broker) virtual(cfg *model.Config, p *model.Profile) *model.Config {
	v := b.bare(cfg)
	v.Store.Append, v.Store.Profile = nil, p
	if b.flush != nil {
		own := *p
		own.Flushes = []model.FlushProfile{{Mode: model.FlushSync, Table: model.Table{Count: 1, Cap: sim.Hour, Takes: b.flush}}}
		v.Store.Profile = &own
	}
	if v.Store.Delay > 0 {
		v.Store.Delay = b.delay
	}
	return v
}

// bare is that of a replay, which knows the stalls.
func (b *broker) bare(cfg *model.Config) *model.Config {
	v := *cfg
	v.Machine.Cores = runtime.NumCPU()
	v.Costs = b.costs
	v.Store.Append, v.Store.Profile, v.Store.Flush = b.append, nil, b.flush
	return &v
}
