package model

import (
	"math/bits"

	"brokersim/sim"
	"brokersim/sim/stat"
)

// WaitStats are the waits of one replication by cause.
type WaitStats struct {
	swept   waitSum
	refused [Causes]int64 // sends that were refused, by what the broker was at
	atOnce  int64         // sends that a thread took without a wait
	taken   []waitSum     // those that waited, by waitCell
}

type waitSum struct {
	count int64
	by    Waits
}

func (s *waitSum) merge(o *waitSum) {
	s.count += o.count
	s.by.add(&o.by)
}

// waitCell puts waiting times in cells, four to the octave.
func waitCell(d sim.Time) int {
	octave := bits.Len64(uint64(d))
	if octave <= 2 {
		return int(d)
	}
	return octave<<2 | int(d>>(octave-3))&3
}

// waitCellLeast is the shortest waiting time of a cell.
func waitCellLeast(cell int) sim.Time {
	if cell < 4 {
		return sim.Time(cell)
	}
	return sim.Time(4|cell&3) << (cell>>2 - 3)
}

// of is the sum of the taken sends that waited so long.
func (s *WaitStats) of(d sim.Time) *waitSum {
	cell := waitCell(d)
	for cell >= len(s.taken) {
		s.taken = append(s.taken, waitSum{})
	}
	return &s.taken[cell]
}

func (s *WaitStats) add(w *Wait) {
	switch {
	case w.Swept:
		s.swept.count++
		s.swept.by.add(&w.By)
	case w.To == w.From:
		s.atOnce++
	default:
		sum := s.of(w.To - w.From)
		sum.count++
		sum.by.add(&w.By)
	}
}

func (s *WaitStats) merge(o *WaitStats) {
	s.swept.merge(&o.swept)
	for c, n := range o.refused {
		s.refused[c] += n
	}
	s.atOnce += o.atOnce
	for cell := range o.taken {
		if cell == len(s.taken) {
			s.taken = append(s.taken, waitSum{})
		}
		s.taken[cell].merge(&o.taken[cell])
	}
}

// slowShare is the part of the taken sends that counts as slow.
const slowShare = 100

// slow sums up the slowest 1 % of the taken sends, or a little more: whole
// cells, each send of which waited at least so long.
func (s *WaitStats) slow() (slow waitSum, least sim.Time) {
	taken := s.atOnce
	for i := range s.taken {
		taken += s.taken[i].count
	}
	for cell := len(s.taken) - 1; cell >= 0 && slow.count*slowShare < taken; cell-- {
		if s.taken[cell].count > 0 {
			slow.merge(&s.taken[cell])
			least = waitCellLeast(cell)
		}
	}
	return slow, least
}

// causeStudy gathers the WaitStats and recoveries of replications.
type causeStudy struct {
	known    bool // of all of them
	all      WaitStats
	swept    []Waits // by replication, of those that swept any
	recovery pooled
	one      Sample // the recoveries of the first
	never    int64
}

func (s *causeStudy) add(stats *Stats) {
	if stats.Waits == nil {
		return
	}
	s.all.merge(stats.Waits)
	if stats.Waits.swept.count > 0 {
		s.swept = append(s.swept, stats.Waits.swept.by)
	}
	recovery := &s.one
	if s.known {
		recovery = new(Sample)
	}
	for _, d := range stats.Recovery {
		recovery.add(int64(d))
	}
	s.recovery.add(recovery)
	s.never += stats.Unrecovered
	s.known = true
}

// attribution is nil where nothing of it is known.
func (s *causeStudy) attribution(replications int) *Attribution {
	if !s.known {
		return nil
	}
	a := &Attribution{Rejected: s.all.swept.shares()}
	if r := &a.Rejected; len(r.Share) > 0 {
		s.intervals(r, replications)
	}
	for c, n := range s.all.refused {
		if n > 0 {
			if a.Refused == nil {
				a.Refused = &Refusals{While: map[string]int64{}}
			}
			a.Refused.Count += n
			a.Refused.While[Cause(c).String()] = n
		}
	}
	slow, least := s.all.slow()
	a.Slow = slow.shares()
	if slow.count > 0 {
		ms := least.Milliseconds()
		a.Slow.AtLeastMs = &ms
		a.Slow.NoInterval = "which sends are slow is read off the same sample"
	}
	return a
}

// shares is what a sum says, without intervals.
func (s *waitSum) shares() WaitShares {
	r := WaitShares{Count: s.count, WaitingMs: map[string]float64{}, Share: map[string]float64{}}
	total := float64(s.by.Total())
	for c, d := range s.by {
		if d > 0 {
			r.WaitingMs[Cause(c).String()] = d.Milliseconds()
			r.Share[Cause(c).String()] = float64(d) / total
		}
	}
	return r
}

// intervals are those of the shares over replications: each is a ratio of sums.
func (s *causeStudy) intervals(r *WaitShares, replications int) {
	if replications == 1 {
		r.NoInterval = "sends of one run that are rejected together waited for the same"
		return
	}
	lo, hi := map[string]float64{}, map[string]float64{}
	parts, totals := make([]float64, len(s.swept)), make([]float64, len(s.swept))
	for c, d := range s.all.swept.by {
		if d == 0 {
			continue
		}
		for i := range s.swept {
			parts[i], totals[i] = float64(s.swept[i][c]), float64(s.swept[i].Total())
		}
		share := stat.RatioInterval(parts, totals, Confidence)
		if !share.OK() {
			r.NoInterval = share.Why
			return
		}
		name := Cause(c).String()
		lo[name], hi[name] = max(share.Lo, 0), min(share.Hi, 1)
	}
	r.Lo, r.Hi = lo, hi
}
