package recording

import (
	"context"
	"math"
	"slices"

	"brokersim/model"
	"brokersim/sim"
)

// Agreement is how far a replay agrees with its recording, request by
// request. The four counts after Requests are of requests that the recording
// gives an outcome.
type Agreement struct {
	Requests        int64 `json:"requests"`
	SameOutcome     int64 `json:"same_outcome"`
	RejectedInBoth  int64 `json:"rejected_in_both"` // by a sweep, so that both have a period and a size of queue: what the next two are out of
	PeriodWithin1ms int64 `json:"period_within_1ms"`
	SizeEqual       int64 `json:"size_equal"`

	// Scored is the number of requests with a recorded outcome.
	Scored int64 `json:"scored"`
	// RejectedInEither and AlikeInBoth: of those rejected by either, those
	// rejected alike, the same kind, by both.
	RejectedInEither int64 `json:"rejected_in_either"`
	AlikeInBoth      int64 `json:"alike_in_both"`
	// RefusedInBoth counts all that were rejected in both, whatever the kind.
	RefusedInBoth int64 `json:"refused_in_both"`
	// Confusion counts by recorded and by simulated outcome, in the order of
	// model.Outcome.
	Confusion []Cell `json:"confusion"`
	// PeriodDifferenceMs counts simulated less recorded period, SizeDifference
	// likewise, over RejectedInBoth; the outer cells are "or more".
	PeriodDifferenceMs []Difference `json:"period_difference_ms"`
	SizeDifference     []Difference `json:"size_difference"`

	// Sojourn are quantiles of arrive_ns to done_ns, of the requests that a send
	// thread answered in the recording, and of those in the replay.
	Sojourn []Quantile `json:"sojourn_ms,omitempty"`
}

// Quantile is one of a time, recorded and simulated.
type Quantile struct {
	P         float64 `json:"p"`
	Recorded  float64 `json:"recorded"`
	Simulated float64 `json:"simulated"`
}

// Off is by how much simulated differs from recorded, in percent of that.
func (q *Quantile) Off() float64 { return 100 * (q.Simulated/q.Recorded - 1) }

// Cell is one cell of a confusion table.
type Cell struct {
	Recorded  string `json:"recorded"`
	Simulated string `json:"simulated"`
	Count     int64  `json:"count"`
}

// Difference counts requests by a difference.
type Difference struct {
	By    int64 `json:"by"`
	Count int64 `json:"count"`
}

// differenceMax bounds the listed differences on either side.
const differenceMax = 10

// score is an Agreement in the making.
type score struct {
	Agreement
	recorded  []Recorded
	confusion [16][16]int64
	period    [2*differenceMax + 1]int64
	size      [2*differenceMax + 1]int64
	sojourns  [2][]sim.Time // recorded and simulated
}

func (s *score) attempt(a *model.Attempt) {
	rec := s.recorded[a.Seq]
	s.Requests++
	if rec.Sojourn != model.Absent {
		s.sojourns[0] = append(s.sojourns[0], rec.Sojourn)
	}
	if a.Done != model.Absent {
		s.sojourns[1] = append(s.sojourns[1], a.Done-a.Arrive)
	}
	if rec.Outcome == model.Pending {
		return
	}
	s.Scored++
	s.confusion[rec.Outcome][a.Outcome]++
	same := rec.Outcome == a.Outcome
	if same {
		s.SameOutcome++
	}
	if rec.Outcome.Rejected() || a.Outcome.Rejected() {
		s.RejectedInEither++
		if same {
			s.AlikeInBoth++
		}
	}
	if !rec.Outcome.Rejected() || !a.Outcome.Rejected() {
		return
	}
	s.RefusedInBoth++
	if rec.PeriodMs == model.Absent || rec.Size == model.Absent || a.PeriodMs == model.Absent {
		return
	}
	s.RejectedInBoth++
	dp, ds := a.PeriodMs-int64(rec.PeriodMs), a.Qsize-int64(rec.Size)
	s.period[clamp(dp)+differenceMax]++
	s.size[clamp(ds)+differenceMax]++
	if -1 <= dp && dp <= 1 {
		s.PeriodWithin1ms++
	}
	if ds == 0 {
		s.SizeEqual++
	}
}

func clamp(d int64) int64 { return min(max(d, -differenceMax), differenceMax) }

func (s *score) finish() *Agreement {
	for r := range s.confusion {
		for c, n := range s.confusion[r] {
			if n > 0 {
				s.Confusion = append(s.Confusion, Cell{model.Outcome(r).String(), model.Outcome(c).String(), n})
			}
		}
	}
	differences := func(counts []int64) (out []Difference) {
		for i, n := range counts {
			if n > 0 {
				out = append(out, Difference{int64(i - differenceMax), n})
			}
		}
		return out
	}
	if recorded, simulated := s.sojourns[0], s.sojourns[1]; len(recorded) > 0 && len(simulated) > 0 {
		slices.Sort(recorded)
		slices.Sort(simulated)
		for _, p := range []float64{0.5, 0.9, 0.99} {
			s.Sojourn = append(s.Sojourn, Quantile{p, quantile(recorded, p), quantile(simulated, p)})
		}
	}
	s.PeriodDifferenceMs = differences(s.period[:])
	s.SizeDifference = differences(s.size[:])
	return &s.Agreement
}

// quantile is the smallest of the sorted times that as many are at most, in ms.
func quantile(sorted []sim.Time, p float64) float64 {
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)].Milliseconds()
}

// Add pools another replay's agreement; tables are left out.
func (a *Agreement) Add(o *Agreement) {
	a.Requests += o.Requests
	a.SameOutcome += o.SameOutcome
	a.RejectedInBoth += o.RejectedInBoth
	a.PeriodWithin1ms += o.PeriodWithin1ms
	a.SizeEqual += o.SizeEqual
	a.Scored += o.Scored
	a.RejectedInEither += o.RejectedInEither
	a.AlikeInBoth += o.AlikeInBoth
	a.RefusedInBoth += o.RefusedInBoth
}

// Replay simulates cfg, which Drive has made a replay of requests, and holds
// it against them. Errors are those of model.Replicate; what was computed so
// far is returned with them.
func Replay(ctx context.Context, cfg *model.Config, requests *Requests, obs model.Observer, progress func(sim.Time)) (*model.Study, *Agreement, error) {
	s := score{recorded: requests.Outcomes}
	next := obs.Attempt
	obs.Attempt = func(a *model.Attempt) {
		s.attempt(a)
		if next != nil {
			next(a)
		}
	}
	var report func(sim.Time, int)
	if progress != nil {
		report = func(now sim.Time, _ int) { progress(now) }
	}
	study, err := model.Replicate(ctx, cfg, 1, 1, obs, report)
	return study, s.finish(), err
}
