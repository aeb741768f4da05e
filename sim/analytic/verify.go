package analytic

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"brokersim/sim"
	"brokersim/sim/experiment"
	"brokersim/sim/stat"
	"brokersim/sim/variate"
)

// Check is one figure of a simulated station, compared with the closed form,
// each to 9 digits.
type Check struct {
	Name       string  // of the station: "M/M/1, load 0.8"
	Quantity   string  // with its unit: "mean wait, ms"
	Want       float64 // by the closed form
	Got        float64 // by simulation
	Lo, Hi     float64 // Got's interval; NaN if there is none
	Confidence float64
	Passed     bool   // Lo <= Want <= Hi
	Why        string // there is no interval, or no simulation
}

// CheckConfidence is that of each interval. By Bonferroni's inequality a right
// simulator fails one or more of n checks with a probability of at most about
// n/1000 (about, as the intervals of correlated observations are approximate).
const CheckConfidence = 0.999

// Verify simulates each kind of station that has a closed form here, of that
// many customers each (more at high loads), and compares them; and a queue
// without a closed form with Lindley's recursion, customer by customer. With
// fewer than about 400,000 customers some checks may fail for want of an interval.
// Equal seeds give equal checks. progress, if not nil, is called after each
// station. When ctx ends, Verify stops soon, with ctx's cause as the error.
func Verify(ctx context.Context, seed uint64, customers int, progress func(done, total int)) ([]Check, error) {
	all := studies()
	streams := sim.Streams{Seed: seed}
	jobs := len(all) + 1
	checks, err := experiment.Run(ctx, jobs, 0, func(ctx context.Context, i int) ([]Check, error) {
		if i == len(all) {
			return []Check{lindley(ctx, streams, customers)}, context.Cause(ctx)
		}
		return all[i].checks(ctx, streams, customers), context.Cause(ctx)
	}, func(done int) {
		if progress != nil {
			progress(done, jobs)
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		panic(err) // of a replication that panicked
	}
	var flat []Check
	for _, c := range checks {
		flat = append(flat, c...)
	}
	return flat, nil
}

// study is a station and what is known of it. Times are in ms there, in ns in
// the simulation.
type study struct {
	name    string
	factor  int // customers, in multiples
	system  system
	figures []figure
}

type figure struct {
	quantity string
	want     float64
	got      func(*observations) stat.Interval
}

// observations are those of one simulation, without the warm-up.
type observations struct {
	wait, waitServed stat.BatchMeans
	loss             stat.BatchMeans // 1 for lost
	histogram        stat.Histogram  // of wait
	clusters         stat.Clusters
}

const ms = 1e6 // in ns

func meanWait(want float64) figure {
	return figure{"mean wait, ms", want, func(o *observations) stat.Interval {
		return o.wait.Interval(CheckConfidence).Scale(1 / ms)
	}}
}

func meanWaitServed(want float64) figure {
	return figure{"mean wait of the served, ms", want, func(o *observations) stat.Interval {
		return o.waitServed.Interval(CheckConfidence).Scale(1 / ms)
	}}
}

func waitQuantile(p float64, quantile func(p float64) float64) figure {
	return figure{fmt.Sprintf("%g-quantile of the wait, ms", p), quantile(p), func(o *observations) stat.Interval {
		return o.clusters.QuantileInterval(&o.histogram, p, CheckConfidence).Scale(1 / ms)
	}}
}

func loss(want float64) figure {
	return figure{"share lost", want, func(o *observations) stat.Interval {
		return o.loss.FractionInterval(CheckConfidence)
	}}
}

// studies returns the stations; each has a mean service time of 1 ms.
func studies() []study {
	expo := func(mean float64) variate.Dist { return known(variate.NewExponential(variate.Duration, mean*ms)) }
	constant := func(value float64) variate.Dist { return known(variate.NewConstant(variate.Duration, value*ms)) }
	var all []study
	for _, s := range []struct {
		load   float64
		factor int
	}{{0.5, 1}, {0.8, 1}, {0.9, 4}} {
		q := known(NewMM1(s.load, 1))
		all = append(all, study{fmt.Sprintf("M/M/1, load %g", s.load), s.factor,
			system{interarrival: expo(1 / s.load), service: expo(1), servers: 1},
			[]figure{meanWait(q.Wait()), waitQuantile(0.9, q.WaitQuantile), waitQuantile(0.99, q.WaitQuantile)}})
	}
	for _, servers := range []int{2, 16} {
		const load = 0.8
		q := known(NewMMc(load*float64(servers), 1, servers))
		all = append(all, study{fmt.Sprintf("M/M/%d, load %g", servers, load), 1,
			system{interarrival: expo(1 / load / float64(servers)), service: expo(1), servers: servers},
			[]figure{meanWait(q.Wait()), waitQuantile(0.99, q.WaitQuantile)}})
	}
	{
		const load = 0.8
		q := known(NewMD1(load, 1))
		all = append(all, study{"M/D/1, load 0.8", 1,
			system{interarrival: expo(1 / load), service: constant(1), servers: 1},
			[]figure{meanWait(q.Wait()), waitQuantile(0.9, q.WaitQuantile), waitQuantile(0.99, q.WaitQuantile)}})
	}
	{
		const load, sigma = 0.7, 1.0
		q := known(NewMG1(load, 1, math.Exp(sigma*sigma)))
		all = append(all, study{"M/G/1, load 0.7, lognormal service", 2,
			system{interarrival: expo(1 / load), service: known(variate.NewLogNormalMean(variate.Duration, ms, sigma)), servers: 1},
			[]figure{meanWait(q.Wait())}})
	}
	{
		const load, share, short, long = 0.7, 0.9, 0.5, 5.5 // 0.9*0.5 + 0.1*5.5 = 1
		q := known(NewMG1(load, 1, 2*(share*short*short+(1-share)*long*long)))
		all = append(all, study{"M/G/1, load 0.7, hyperexponential service", 2,
			system{interarrival: expo(1 / load), service: known(variate.NewHyperexponential(variate.Duration, []float64{share, 1 - share}, []float64{short * ms, long * ms})), servers: 1},
			[]figure{meanWait(q.Wait())}})
	}
	for _, load := range []float64{0.9, 1.2} {
		const patience = 5
		q := known(NewPatientMM1(load, 1, patience))
		all = append(all, study{fmt.Sprintf("M/M/1+D, load %g, patience 5 ms", load), 1,
			system{interarrival: expo(1 / load), service: expo(1), servers: 1, patience: constant(patience)},
			[]figure{loss(q.Loss()), meanWait(q.Wait()), meanWaitServed(q.WaitServed())}})
		m := known(NewExponentialPatience(load, 1, patience))
		all = append(all, study{fmt.Sprintf("M/M/1+M, load %g, mean patience 5 ms", load), 1,
			system{interarrival: expo(1 / load), service: expo(1), servers: 1, patience: expo(patience)},
			[]figure{loss(m.Loss()), meanWait(m.Wait())}})
	}
	{
		const load, vacation = 0.7, 3
		q := known(NewVacation(load, 1, 2, vacation, vacation*vacation))
		all = append(all, study{"M/M/1 with vacations of 3 ms, load 0.7", 1,
			system{interarrival: expo(1 / load), service: expo(1), servers: 1, vacation: constant(vacation)},
			[]figure{meanWait(q.Wait())}})
		q = known(NewVacation(load, 1, 2, vacation, 2*vacation*vacation))
		all = append(all, study{"M/M/1 with exponential vacations, load 0.7", 1,
			system{interarrival: expo(1 / load), service: expo(1), servers: 1, vacation: expo(vacation)},
			[]figure{meanWait(q.Wait())}})
	}
	for _, load := range []float64{0.7, 1.5} {
		const places = 8
		q := known(NewMM1K(load, 1, places))
		all = append(all, study{fmt.Sprintf("M/M/1/8, load %g", load), 1,
			system{interarrival: expo(1 / load), service: expo(1), servers: 1, places: places},
			[]figure{loss(q.Loss()), meanWaitServed(q.Wait())}})
	}
	return all
}

// known is for parameters that are in the domain.
func known[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func (s study) checks(ctx context.Context, streams sim.Streams, customers int) []Check {
	customers *= s.factor
	var o observations
	var all stat.Tally
	warmUp := int64(customers / 20)
	queue, err := s.system.run(ctx, streams, s.name, customers, func(wait sim.Time, lost bool) {
		all.Add(int64(wait))
		if all.Count() > warmUp {
			o.add(int64(wait), lost)
		}
	})
	if err == nil {
		err = little(&all, &queue, customers)
	}
	var checks []Check
	for _, f := range s.figures {
		c := Check{Name: s.name, Quantity: f.quantity, Want: digits(f.want)}
		i := f.got(&o)
		c.Got, c.Lo, c.Hi, c.Confidence, c.Why = digits(i.Value), digits(i.Lo), digits(i.Hi), i.Confidence, i.Why
		if err != nil {
			c.Why = err.Error()
		}
		c.Passed = c.Why == "" && c.Lo <= c.Want && c.Want <= c.Hi
		checks = append(checks, c)
	}
	return checks
}

// digits rounds x to 9 digits: beyond them closed forms may differ between
// architectures.
func digits(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	if err != nil {
		return x
	}
	return y
}

func (o *observations) add(wait int64, lost bool) {
	o.wait.Add(wait)
	o.histogram.Add(wait)
	o.clusters.Add(wait)
	if lost {
		o.loss.Add(1)
	} else {
		o.loss.Add(0)
		o.waitServed.Add(wait)
	}
}

// little checks the books: everyone was observed once, and the area under the
// queue length is the sum of the waits.
func little(waits *stat.Tally, queue *stat.TimeAverage, customers int) error {
	if waits.Count() != int64(customers) {
		return fmt.Errorf("%d of %d customers observed", waits.Count(), customers)
	}
	if customers == 0 {
		return nil
	}
	sum, area := waits.Mean()*float64(customers), queue.Mean()*float64(queue.Span())
	if math.Abs(sum-area) > 1e-12*sum {
		return fmt.Errorf("waits of %v ns, but an area of %v ns under the queue length", sum, area)
	}
	return nil
}

// lindley simulates a queue with irregular arrivals and services, and counts
// the customers whose wait is not, to the ns, what Lindley's recursion
// (1952) makes of the same draws.
func lindley(ctx context.Context, streams sim.Streams, customers int) Check {
	const name = "GI/G/1, load 0.8, hyperexponential arrivals, lognormal service"
	s := system{
		interarrival: known(variate.NewHyperexponential(variate.Duration, []float64{0.75, 0.25}, []float64{0.5 * ms, 3.5 * ms})),
		service:      known(variate.NewLogNormalMean(variate.Duration, ms, 0.8)),
		servers:      1,
	}
	interarrivals, services := streams.Stream(name+"/interarrival"), streams.Stream(name+"/service")
	variate.DrawTime(s.interarrival, interarrivals) // the first comes to an empty queue
	var want sim.Time
	different := 0
	_, err := s.run(ctx, streams, name, customers, func(wait sim.Time, _ bool) {
		if wait != want {
			different++
		}
		want = max(0, want+variate.DrawTime(s.service, services)-variate.DrawTime(s.interarrival, interarrivals))
	})
	c := Check{Name: name, Quantity: "waits that differ from Lindley's recursion", Got: float64(different), Confidence: 1}
	c.Lo, c.Hi = c.Got, c.Got
	c.Passed = different == 0 && err == nil
	if err != nil {
		c.Why = err.Error()
	}
	return c
}
