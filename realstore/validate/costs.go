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
	append variate.Dist // under the lock, of appends below 1 ms
	flush  variate.Dist // with SYNC_FLUSH
}

// measure takes costs from a live run of cfg without stalls, of one send thread.
// With SYNC_FLUSH the time from unlock to answer is the flush's, less the wake-ups
// of the two threads.
func measure(rec *live.Record, cfg *model.Config) (*broker, error) {
	var decode, handoff, process, hold, finish, lag []float64
	free := sim.Time(0) // since when the thread is
	for i := range rec.Rows {
		r := &rec.Rows[i]
		if r.Unlock == model.Absent {
			continue
		}
		decode = append(decode, float64(r.Enq-r.Arrive))
		if r.QlenEnq == 1 && free < r.Enq {
			handoff = append(handoff, float64(r.Deq-r.Enq))
		}
		process = append(process, float64(r.LockReq-r.Deq))
		if h := r.Unlock - r.Lock; h < sim.Millisecond {
			hold = append(hold, float64(h))
		}
		finish = append(finish, float64(r.Done-r.Unlock))
		free = r.Done
	}
	end := sim.Time(0)
	for _, s := range rec.Sweeps {
		lag = append(lag, float64(max(0, s.Start-max(s.Nominal, end))))
		end = s.End
	}
	if len(handoff) == 0 || len(hold) == 0 || len(lag) == 0 {
		return nil, errors.New("the run that was to measure the live broker's threads stored too little: the machine is too slow")
	}
	answer := variate.Must(variate.NewConstant(variate.Duration, float64(sim.Microsecond)))
	seen := func(ns []float64) variate.Dist {
		slices.Sort(ns)
		return variate.Must(variate.NewEmpirical(variate.Duration, ns))
	}
	b := &broker{
		append: seen(hold),
		costs: model.Costs{
			Network: cfg.Costs.Network, Decode: seen(decode), Handoff: seen(handoff), Process: seen(process),
			FirstAnswer: answer, Answer: answer, SweepLag: seen(lag),
		},
	}
	if cfg.Broker.FlushDiskType != model.SyncFlush {
		b.costs.Finish = seen(finish)
		return b, nil
	}
	wakes := 2 * b.costs.Handoff.Quantile(0.5)
	for i := range finish {
		finish[i] = max(0, finish[i]-wakes)
	}
	b.flush = seen(finish)
	return b, nil
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
