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
	AtRisk   model.AtRisk

	Swept [model.Causes]int64 // sends that a sweep took out, by what they waited for longest

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
	cluster, err := model.New(cfg, replication, model.Observer{
		AllSweeps: true,
		Sweep:     func(s model.SweepRecord) { o.Sweeps = append(o.Sweeps, s) },
		Stall:     func(s model.StallRecord) { o.Stalls = append(o.Stalls, s) },
		Queue:     func(_ sim.Time, length int) { o.QueueMost = max(o.QueueMost, length) },
		Waited: func(w *model.Wait) {
			if w.Swept {
				o.Swept[longest(&w.By)]++
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
	if risk := cluster.AtRisk(); risk != nil {
		o.AtRisk = *risk
	}
	o.AtOnce = overlap(taken)
	return o, nil
}

// longest is the cause of the longest part of a wait, what follows from a stall
// being that stall's.
func longest(w *model.Waits) model.Cause {
	var of model.Waits
	var most model.Cause
	for c, d := range w {
		of[model.Cause(c).Of()] += d
	}
	for c, d := range of {
		if d > of[most] {
			most = model.Cause(c)
		}
	}
	return most
}
