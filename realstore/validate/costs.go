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
}

// measure takes costs from a live run without stalls, of one send thread.
func measure(rec *live.Record, network variate.Dist) (*broker, error) {
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
	return &broker{
		append: seen(hold),
		costs: model.Costs{
			Network: network, Decode: seen(decode), Handoff: seen(handoff), Process: seen(process), Finish: seen(finish),
			FirstAnswer: answer, Answer: answer, SweepLag: seen(lag),
		},
	}, nil
}

// virtual is the configuration of a virtual run of what cfg is live.
func (b *broker) virtual(cfg *model.Config, p *model.Profile) *model.Config {
	v := b.bare(cfg)
	v.Store.Append, v.Store.Profile = nil, p
	return v
}

// bare is that of a replay, which knows the stalls.
func (b *broker) bare(cfg *model.Config) *model.Config {
	v := *cfg
	v.Machine.Cores = runtime.NumCPU()
	v.Costs = b.costs
	v.Store.Append, v.Store.Profile = b.append, nil
	return &v
}
