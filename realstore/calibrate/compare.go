package calibrate

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"brokersim/model"
	"brokersim/realstore/probe"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// timed is a time with the instant it belongs to.
type timed struct{ at, ns int64 }

// Themselves ends the name of a quantity that the fitted runs, rather than the
// profile, foretell: no profile can be expected to do better.
const Themselves = ", fitted runs"

// foretelling is how often the modelled store goes through a run.
const foretelling = 3

// compare holds a profile against a run: the modelled store gets its arrivals.
func compare(ctx context.Context, p *model.Profile, f *fitting, r *probe.Run) ([]model.Fit, error) {
	// An append counts from when it was wanted: whether a stall takes the
	// processor just before it or within makes no difference then.
	var appends, sojourns [3][]timed // measured, foretold, measured of the fitted runs
	measured := func(in int, r *probe.Run, begin int64) {
		free := int64(0) // since when the thread is
		for i := range r.Samples {
			s := &r.Samples[i]
			appends[in] = append(appends[in], timed{begin + s.Intended, s.Unlock - max(s.Intended, free)})
			sojourns[in] = append(sojourns[in], timed{begin + s.Intended, s.Unlock - s.Intended})
			free = s.End
		}
	}
	measured(0, r, 0)
	for i, fitted := range f.runs {
		measured(2, fitted, int64(i)*r.Settings.DurationNs)
	}
	cfg, err := config(p, f, r)
	if err != nil {
		return nil, err
	}
	span := r.Settings.DurationNs
	for n := range foretelling {
		free := sim.Time(0)
		b, err := model.New(cfg, n, model.Observer{Attempt: func(a *model.Attempt) {
			at := int64(n)*span + int64(a.Arrive)
			appends[1] = append(appends[1], timed{at, int64(a.Unlock - max(a.Arrive, free))})
			sojourns[1] = append(sojourns[1], timed{at, int64(a.Unlock - a.Arrive)})
			free = a.Done
		}})
		if err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
		if err := b.Run(ctx, nil); err != nil {
			return nil, err
		}
	}
	against := fmt.Sprintf("run %d, not fitted", r.Number)
	fits := []model.Fit{
		agreement("append", against, appends[0], appends[1], span),
		agreement("append"+Themselves, against, appends[0], appends[2], span),
	}
	if r.Settings.Flush != "sync" { // the model's appends don't wait for the disk
		fits = append(fits,
			agreement("sojourn", against, sojourns[0], sojourns[1], span),
			agreement("sojourn"+Themselves, against, sojourns[0], sojourns[2], span))
	}
	return fits, nil
}

// config is one send thread with the modelled store, and the run's arrivals and
// sizes. Nothing but the store, and what the probe's own thread spends before
// and after, takes time.
func config(p *model.Profile, f *fitting, r *probe.Run) (*model.Config, error) {
	arrivals := make([]sim.Time, len(r.Samples))
	bodies := make([]float64, len(r.Samples))
	for i := range r.Samples {
		arrivals[i] = sim.Time(r.Samples[i].Intended)
		bodies[i] = float64(max(0, int64(r.Samples[i].Bytes)-recordFixed))
	}
	trace, err := variate.NewTrace(arrivals)
	if err != nil {
		return nil, err
	}
	body, err := variate.NewEmpirical(variate.Bytes, bodies)
	if err != nil {
		return nil, err
	}
	settings, err := model.Defaults(releaseOf(p.MadeOn.Flush), 1)
	if err != nil {
		return nil, err
	}
	settings.BrokerFastFailureEnable = false
	settings.SendMessageThreadPoolNums = 1
	settings.SendThreadPoolQueueCapacity = int64(len(r.Samples)) + 1
	settings.OsPageCacheBusyTimeOutMills = 1 << 40
	settings.MaxMessageSize = 1 << 30
	settings.MappedFileSizeCommitLog = int(r.Settings.FileSize)
	settings.FlushIntervalCommitLog = int(r.Settings.FlushMs)
	settings.FlushCommitLogTimed = p.MadeOn.Flush == model.FlushTimed
	nothing := variate.Must(variate.NewConstant(variate.Duration, 0))
	spent := func(ns []float64) variate.Dist {
		if len(ns) == 0 {
			return nothing
		}
		return variate.Must(variate.NewEmpirical(variate.Duration, ns))
	}
	return &model.Config{
		Name: "calibrate", Seed: r.Settings.Seed, Duration: arrivals[len(arrivals)-1] + 1,
		Broker:  settings,
		Machine: model.Machine{Cores: 64, WallPhase: 0, SweepPhase: 0},
		Costs: model.Costs{
			Network: nothing, Decode: nothing, Handoff: nothing, Process: spent(f.before), Finish: spent(f.after),
			FirstAnswer: nothing, Answer: nothing, SweepLag: nothing,
		},
		Store:     model.Store{Append: nothing, Profile: p},
		Producers: []model.Producer{{Name: "probe", Arrivals: trace, Body: body, Release: settings.Release, Timeout: sim.Hour}},
	}, nil
}

// recordFixed is what the model adds to a body: the topic counts as body here.
const recordFixed = 91

// releaseOf is one whose flush thread gets to work in that way by default.
func releaseOf(m model.FlushMode) string {
	if m == model.FlushWoken {
		return "4.3.2"
	}
	return "4.9.4"
}

// agreement compares a measured sample with a foretold one, which spans
// foretelling times as long.
func agreement(quantity, against string, measured, foretold []timed, span int64) model.Fit {
	m, s := values(measured), values(foretold)
	ks, w1 := distances(m, s)
	fit := model.Fit{Quantity: quantity, Against: against, KS: significant(ks, 3), Wasserstein: significant(w1/mean(m), 3)}
	blocksM, blocksS := newBlocks(measured, span/blocks), newBlocks(foretold, span/blocks)
	for _, p := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999} {
		if float64(len(m))*(1-p) < probe.Beyond-1e-6 && p > 0.5 {
			break
		}
		ratio := float64(quantile(s, p)) / float64(max(quantile(m, p), 1))
		lo, hi := bootstrap(blocksM, blocksS, p)
		fit.Ratios = append(fit.Ratios, model.QuantileRatio{
			P: p, Ratio: significant(ratio, 4), Lo: significant(min(lo, ratio), 4), Hi: significant(max(hi, ratio), 4),
		})
	}
	return fit
}

func values(x []timed) []int64 {
	out := make([]int64, len(x))
	for i := range x {
		out[i] = x[i].ns
	}
	slices.Sort(out)
	return out
}

func mean(x []int64) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	return max(sum/float64(len(x)), 1)
}

// quantile is the value of rank ceil(p n) of a sorted sample.
func quantile(sorted []int64, p float64) int64 {
	n := len(sorted)
	rank := int(p * float64(n))
	if float64(rank) < p*float64(n) {
		rank++
	}
	return sorted[min(max(rank, 1), n)-1]
}

// distances are Kolmogorov-Smirnov's and Wasserstein's, of sorted samples.
func distances(a, b []int64) (ks, w1 float64) {
	i, j := 0, 0
	last := int64(0)
	na, nb := float64(len(a)), float64(len(b))
	for i < len(a) || j < len(b) {
		var x int64
		if j == len(b) || i < len(a) && a[i] <= b[j] {
			x = a[i]
		} else {
			x = b[j]
		}
		apart := float64(i)/na - float64(j)/nb
		if apart < 0 {
			apart = -apart
		}
		ks = max(ks, apart)
		w1 += float64(apart * float64(x-last))
		last = x
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
	}
	return ks, w1
}

// The bootstrap: neighbours depend on each other, so whole blocks of time are
// drawn, a 40th of a run each.
const (
	blocks     = 40
	resamples  = 400
	confidence = 0.95
)

// blockCounts are histograms of the blocks of a sample, to 1 in 128.
type blockCounts struct {
	counts [][]cell
	cells  int
}

type cell struct {
	at int32
	n  int32
}

func newBlocks(x []timed, length int64) blockCounts {
	var b blockCounts
	for i := 0; i < len(x); {
		block := x[i].at / max(length, 1)
		var in []int32
		for ; i < len(x) && x[i].at/max(length, 1) == block; i++ {
			in = append(in, cellOf(x[i].ns))
		}
		slices.Sort(in)
		var cells []cell
		for _, at := range in {
			if k := len(cells); k > 0 && cells[k-1].at == at {
				cells[k-1].n++
			} else {
				cells = append(cells, cell{at, 1})
			}
			b.cells = max(b.cells, int(at)+1)
		}
		b.counts = append(b.counts, cells)
	}
	return b
}

const cellBits = 7

func cellOf(ns int64) int32 {
	v := uint64(max(ns, 0))
	shift := max(0, bits.Len64(v)-cellBits-1)
	return int32(shift<<cellBits) + int32(v>>shift)
}

// middle of a cell, in ns.
func middle(at int32) float64 {
	shift := max(0, int(at>>cellBits)-1)
	v := float64(uint64(at)-uint64(shift)<<cellBits) * float64(uint64(1)<<shift)
	return v + float64(uint64(1)<<shift-1)/2
}

// resample is the quantile of as many blocks, drawn with replacement.
func (b *blockCounts) resample(p float64, s *sim.Stream, sum []int32) float64 {
	clear(sum)
	n := int32(0)
	for range b.counts {
		for _, c := range b.counts[s.Uint64n(uint64(len(b.counts)))] {
			sum[c.at] += c.n
			n += c.n
		}
	}
	rank := int32(p * float64(n))
	for at, k := range sum {
		if rank -= k; rank < 0 {
			return middle(int32(at))
		}
	}
	return middle(int32(len(sum) - 1))
}

// bootstrap is the interval of the ratio of foretold to measured.
func bootstrap(measured, foretold blockCounts, p float64) (lo, hi float64) {
	stream := sim.Streams{Seed: 1}.Stream("bootstrap")
	m, f := make([]int32, measured.cells), make([]int32, foretold.cells)
	ratios := make([]float64, resamples)
	for i := range ratios {
		ratios[i] = foretold.resample(p, stream, f) / max(measured.resample(p, stream, m), 1)
	}
	slices.Sort(ratios)
	const tail = (1 - confidence) / 2
	return ratios[int(tail*resamples)], ratios[resamples-1-int(tail*resamples)]
}
