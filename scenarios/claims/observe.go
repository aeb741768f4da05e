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
	Stored   int64      // sends
	Tried    []int32    // attempts, by number of the first producer's message
	Commits  []sim.Time // of the transient pool
	Emptied  sim.Time   // the send queue was first empty after the last stall

	Acknowledged []span // stored sends: from the end of the append to the answer

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
	var stallEnds sim.Time
	cluster, err := model.New(cfg, replication, model.Observer{
		AllSweeps: true,
		Sweep:     func(s model.SweepRecord) { o.Sweeps = append(o.Sweeps, s) },
		Stall: func(s model.StallRecord) {
			o.Stalls = append(o.Stalls, s)
			stallEnds, o.Emptied = s.To, model.Absent
		},
		Queue: func(t sim.Time, length int) {
			o.QueueMost = max(o.QueueMost, length)
			if length == 0 && o.Emptied == model.Absent && t >= stallEnds {
				o.Emptied = t
			}
		},
		Lock:   func(from, to sim.Time) { o.LockMost = max(o.LockMost, to-from) },
		Commit: func(t sim.Time, _ int64) { o.Commits = append(o.Commits, t) },
		Attempt: func(a *model.Attempt) {
			if a.Deq != model.Absent {
				taken = append(taken, span{a.Deq, a.Done})
			}
			if a.Producer == 0 {
				o.Tried = append(o.Tried, make([]int32, max(0, int(a.Message)+1-len(o.Tried)))...)
				o.Tried[a.Message]++
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
				o.acknowledge(a)
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
