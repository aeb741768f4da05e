package sim_test

import (
	"fmt"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// M/M/1 at 80 % load: sojourn times have mean 4 ms / (1 - 0.8) = 20 ms.
func Example() {
	const (
		departure = 0 * sim.KindsPerClass // at a tie the server is freed first
		arrival   = 1 * sim.KindsPerClass
	)
	streams := sim.Streams{Seed: 1}
	arrivals, services := streams.Stream("arrivals"), streams.Stream("service")
	draw := func(s *sim.Stream, mean sim.Time) sim.Time {
		return sim.Time(float64(mean) * variate.StandardExponential(s))
	}

	var queue []sim.Time // arrival instants, the customer in service first
	var sum sim.Time
	var served int64
	e := sim.NewEngine(sim.Hour, 0)
	e.After(draw(arrivals, 5*sim.Millisecond), arrival, 0)
	for {
		kind, _, ok := e.Next()
		if !ok {
			break
		}
		switch kind {
		case arrival:
			e.After(draw(arrivals, 5*sim.Millisecond), arrival, 0)
			if queue = append(queue, e.Now()); len(queue) == 1 {
				e.After(draw(services, 4*sim.Millisecond), departure, 0)
			}
		case departure:
			sum += e.Now() - queue[0]
			served++
			if queue = queue[1:]; len(queue) > 0 {
				e.After(draw(services, 4*sim.Millisecond), departure, 0)
			}
		}
	}
	fmt.Printf("%v: %d served, mean sojourn time %.1f ms, error %v\n",
		e.Now(), served, (sum / sim.Time(served)).Milliseconds(), e.Err())
	// Output:
	// 1h0m0s: 719866 served, mean sojourn time 20.3 ms, error <nil>
}
