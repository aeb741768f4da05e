package plots

import (
	"math/rand/v2"
	"slices"

	"brokersim/model"
	"brokersim/sim"
)

// fake is a small broker with one send thread that feeds figures: Poisson
// arrivals, uniform service, stalls of appends, the sweep. It is no model,
// only a source of likely pictures.
type fake struct {
	duration sim.Time
	rate     float64 // sends/s
	service  sim.Time
	stalls   [][2]sim.Time // at, length
	limit    sim.Time
	busy     sim.Time
	capacity int
}

var stock = fake{duration: 10 * sim.Second, rate: 43, service: 100 * sim.Microsecond, limit: 200 * sim.Millisecond, busy: sim.Second, capacity: 10000}

func (f fake) with(change func(*fake)) fake {
	change(&f)
	return f
}

func (f fake) run(obs model.Observer) {
	const tick = 10 * sim.Millisecond
	rng := rand.New(rand.NewPCG(208, 4))
	var (
		seq             int64
		queue           []*model.Attempt
		settled         = map[int64]*model.Attempt{}
		reported        int64
		serving         *model.Attempt
		lockFrom, freed sim.Time
		stall           int
		sweeps          int64
		arrival         = sim.Time(rng.ExpFloat64() / f.rate * 1e9)
		sweepAt         = 3 * sim.Millisecond
	)
	settle := func(a *model.Attempt, o model.Outcome, at sim.Time) {
		a.Outcome, a.Resp = o, at+50*sim.Microsecond
		settled[a.Seq] = a
		for settled[reported] != nil {
			obs.Attempt(settled[reported])
			delete(settled, reported)
			reported++
		}
	}
	leave := func(a *model.Attempt, now sim.Time, swept bool, cause model.Cause) {
		w := model.Wait{Seq: a.Seq, From: a.Arrive, To: now, Swept: swept}
		w.By[cause] = now - a.Arrive
		if swept { // say, a tenth for the sweeper
			w.By[model.CauseSweep] = w.By[cause] / 10
			w.By[cause] -= w.By[model.CauseSweep]
		}
		obs.Waited(&w)
	}
	start := func(now sim.Time) {
		serving, queue = queue[0], queue[1:]
		leave(serving, now, false, model.CauseBacklog)
		obs.Queue(now, len(queue))
		lockFrom = now
		freed = now + f.service/2 + sim.Time(rng.Int64N(int64(f.service)))
		if stall < len(f.stalls) && now >= f.stalls[stall][0] {
			freed = now + f.stalls[stall][1]
		}
	}
	for arrival < f.duration || serving != nil || len(queue) > 0 {
		now := min(sweepAt, arrival)
		if serving != nil {
			now = min(now, freed)
		}
		switch {
		case serving != nil && now == freed:
			obs.Lock(lockFrom, now)
			if stall < len(f.stalls) && lockFrom >= f.stalls[stall][0] {
				obs.Stall(model.StallRecord{Where: model.StallAppend, From: lockFrom, To: now, BySeq: serving.Seq})
				stall++
			}
			serving.Done = now
			settle(serving, model.OK, now)
			serving = nil
			if len(queue) > 0 {
				start(now)
			}
		case now == arrival:
			a := &model.Attempt{Seq: seq, Send: now - 100*sim.Microsecond, Arrive: now, Done: model.Absent, Clean: model.Absent}
			a.Send = max(a.Send, 0)
			seq++
			arrival = now + sim.Time(rng.ExpFloat64()/f.rate*1e9)
			if arrival >= f.duration {
				arrival = sim.Never
			}
			switch {
			case serving != nil && now-lockFrom > f.busy:
				settle(a, model.RejectRequest, now)
			case len(queue) >= f.capacity:
				settle(a, model.Overload, now)
			default:
				queue = append(queue, a)
				obs.Queue(now, len(queue))
				if serving == nil {
					start(now)
				}
			}
		default:
			sweeps++
			record := model.SweepRecord{N: sweeps, Nominal: sweepAt, Start: now, End: now, Qlen: len(queue)}
			sweepAt += tick
			busy := serving != nil && now-lockFrom > f.busy
			for len(queue) > 0 && (busy || now-queue[0].Arrive >= f.limit) {
				a := queue[0]
				queue = queue[1:]
				obs.Queue(now, len(queue))
				leave(a, now, true, model.CauseAppendStall)
				a.Clean, a.Sweep = now, sweeps
				a.PeriodMs, a.Qsize = int64((now-a.Arrive)/sim.Millisecond), int64(len(queue))
				if busy {
					record.PCBusy++
					settle(a, model.PCBusyCleanQueue, now)
				} else {
					record.Timeout++
					settle(a, model.TimeoutCleanQueue, now)
				}
			}
			if obs.AllSweeps || record.PCBusy+record.Timeout > 0 {
				obs.Sweep(record)
			}
		}
	}
}

// input records a run of f and makes up spectra like those of a histogram.
func (f fake) input(name string) Input {
	r := NewRecorder(f.duration)
	f.run(r.Observer())
	in := Input{
		Name: name, Title: "Made-up data: " + name, Seed: 208, Release: "4.3.2",
		WaitLimitMs: int64(f.limit / sim.Millisecond), BusyLimitMs: int64(f.busy / sim.Millisecond),
		Duration: f.duration, Recorder: r,
	}
	in.Latency = r.spectrum(0.15)
	in.Waiting = r.spectrum(0)
	return in
}

// spectrum is that of the kept samples, each value less base.
func (r *Recorder) spectrum(base float64) (points []Point) {
	var ms []float64
	for _, s := range r.whole.samples {
		ms = append(ms, max(float64(s.sojourn)-0.25+base, 0.001))
	}
	slices.Sort(ms)
	for i, v := range ms {
		points = append(points, Point{P: float64(i+1) / float64(len(ms)), Ms: v})
	}
	return points
}

var pictures = []struct {
	name string
	fake fake
}{
	{"incident", stock.with(func(f *fake) { f.stalls = [][2]sim.Time{{4 * sim.Second, 250 * sim.Millisecond}} })},
	{"quiet", stock},
	{"stall-1200ms", stock.with(func(f *fake) {
		f.rate, f.stalls = 300, [][2]sim.Time{{4 * sim.Second, 1200 * sim.Millisecond}}
	})},
	{"overload", stock.with(func(f *fake) { f.rate, f.service = 320, 4*sim.Millisecond })},
	{"stalls", stock.with(func(f *fake) {
		f.duration, f.rate = 20*sim.Second, 400
		f.capacity = 60
		for i := range sim.Time(8) {
			f.stalls = append(f.stalls, [2]sim.Time{(2*i + 1) * sim.Second, (60 + 40*i) * sim.Millisecond})
		}
	})},
}
