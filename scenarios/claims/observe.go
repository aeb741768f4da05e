package claims

import (
	"context"

	"brokersim/model"
	"brokersim/sim"
)

// Observed is one replication of one variant.
type Observed struct {
	*model.Stats
	Config   *model.Config
	Rejected []model.Attempt     // refused by the broker, in order of Seq
	Sweeps   []model.SweepRecord // all of them
	Stalls   []model.StallRecord
	Stored   int64 // sends
	Inverted int64 // of them stored after one that was sent later

	RejectedStored int64    // refused and stored all the same
	SweptTaken     int64    // swept although a thread had taken them
	AtOnce         int      // most sends that threads were at, at one time
	QueueMost      int      // longest send queue
	LockMost       sim.Time // longest hold of the put lock
}

// observe runs one replication.
func observe(ctx context.Context, cfg *model.Config, replication int) (*Observed, error) {
	o := &Observed{Config: cfg}
	var taken []span
	latest := sim.Time(-1)
	cluster, err := model.New(cfg, replication, model.Observer{
		AllSweeps: true,
		Sweep:     func(s model.SweepRecord) { o.Sweeps = append(o.Sweeps, s) },
		Stall:     func(s model.StallRecord) { o.Stalls = append(o.Stalls, s) },
		Queue:     func(_ sim.Time, length int) { o.QueueMost = max(o.QueueMost, length) },
		Lock:      func(from, to sim.Time) { o.LockMost = max(o.LockMost, to-from) },
		Attempt: func(a *model.Attempt) {
			if a.Deq != model.Absent {
				taken = append(taken, span{a.Deq, a.Done})
			}
			if a.Outcome.Rejected() {
				o.Rejected = append(o.Rejected, *a)
				if a.Unlock != model.Absent {
					o.RejectedStored++
				}
				if a.Deq != model.Absent && a.Clean != model.Absent {
					o.SweptTaken++
				}
			}
			if a.Unlock != model.Absent {
				o.Stored++
				if a.Lock < latest {
					o.Inverted++
				}
				latest = max(latest, a.Lock)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if err := cluster.Run(ctx, nil); err != nil {
		return nil, err
	}
	o.Stats = cluster.Stats()
	o.AtOnce = overlap(taken)
	return o, nil
}
