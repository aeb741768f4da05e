package validate

import (
	"cmp"
	"math"
	"slices"

	"brokersim/model"
	"brokersim/sim"
)

// run is what a comparison takes of one run, live or virtual.
type run struct {
	sojourns []sojourn // in order of the instants
	counts   [outcomes]int64
	span     sim.Time
}

// outcomes is more than there are.
const outcomes = 16

// sojourn is the time that a send which was to arrive at an instant was in the
// broker.
type sojourn struct{ due, ns sim.Time }

// take adds a send. One that was refused on arrival has no sojourn.
func (r *run) take(due sim.Time, a *model.Attempt) {
	if a.Outcome == model.Pending {
		return // the run was interrupted before
	}
	r.counts[a.Outcome]++
	if left := max(a.Done, a.Clean); left != model.Absent {
		r.sojourns = append(r.sojourns, sojourn{due, left - due})
	}
}

// sorted gives the times, shortest first.
func (r *run) sorted() []sim.Time {
	out := make([]sim.Time, len(r.sojourns))
	for i, s := range r.sojourns {
		out[i] = s.ns
	}
	slices.Sort(out)
	return out
}

// quantile is the value of rank ceil(p n) of a sorted sample.
func quantile(sorted []sim.Time, p float64) float64 {
	return float64(sorted[rankOf(p, int64(len(sorted)))-1])
}

// rankOf is from 1.
func rankOf(p float64, n int64) int64 { return min(max(int64(math.Ceil(p*float64(n))), 1), n) }

// distance is Kolmogorov-Smirnov's, of sorted samples.
func distance(a, b []sim.Time) (ks float64) {
	na, nb := float64(len(a)), float64(len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		ks = max(ks, math.Abs(float64(i)/na-float64(j)/nb))
	}
	return ks
}

// blocks is into how many blocks of time the bootstrap divides a run:
// neighbours depend on each other.
const blocks = 40

const (
	resamples  = 400
	confidence = 0.95
)

// pool is several runs as one sample, sorted, each value with its run's block.
type pool struct {
	runs  int
	times []sim.Time
	block []int32
	sizes []int64 // of blocks
}

func newPool(runs []run) *pool {
	type value struct {
		ns    sim.Time
		block int32
	}
	var all []value
	p := &pool{runs: len(runs), sizes: make([]int64, len(runs)*blocks)}
	for i := range runs {
		length := max(runs[i].span/blocks, 1)
		for _, s := range runs[i].sojourns {
			b := int32(i*blocks) + int32(min(s.due/length, blocks-1))
			p.sizes[b]++
			all = append(all, value{s.ns, b})
		}
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.block, b.block)) })
	for _, v := range all {
		p.times, p.block = append(p.times, v.ns), append(p.block, v.block)
	}
	return p
}

// resample draws as many runs, and as many blocks of each, with replacement,
// and gives the quantiles, for ps in ascending order.
func (p *pool) resample(s *sim.Stream, ps []float64, out []float64) {
	weights := make([]int64, len(p.sizes))
	n := int64(0)
	for range p.runs {
		from := s.Uint64n(uint64(p.runs)) * blocks
		for range blocks {
			b := from + s.Uint64n(blocks)
			weights[b]++
			n += p.sizes[b]
		}
	}
	seen, k := int64(0), 0
	for i, b := range p.block {
		seen += weights[b]
		for k < len(ps) && n > 0 && seen >= rankOf(ps[k], n) {
			out[k] = float64(p.times[i])
			k++
		}
	}
}

// bootstrap gives, for each of ps, the interval of the ratio of a's quantile to
// b's.
func bootstrap(a, b *pool, ps []float64) (lo, hi []float64) {
	stream := sim.Streams{Seed: 1}.Stream("bootstrap")
	ratios := make([][]float64, len(ps))
	qa, qb := make([]float64, len(ps)), make([]float64, len(ps))
	for range resamples {
		a.resample(stream, ps, qa)
		b.resample(stream, ps, qb)
		for k := range ps {
			ratios[k] = append(ratios[k], qa[k]/max(qb[k], 1))
		}
	}
	const tail = (1 - confidence) / 2
	for k := range ps {
		slices.Sort(ratios[k])
		lo = append(lo, ratios[k][int(tail*resamples)])
		hi = append(hi, ratios[k][resamples-1-int(tail*resamples)])
	}
	return lo, hi
}
