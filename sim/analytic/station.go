package analytic

import (
	"errors"
	"fmt"
	"math"
)

// station is what all queues without loss have in common, by Little's law
// (1961).
type station struct {
	arrivalRate float64
	service     float64 // mean
	wait        float64 // mean
	servers     int
}

// Utilisation returns the share of its time that a server is busy.
func (s station) Utilisation() float64 {
	return s.arrivalRate * s.service / float64(s.servers)
}

// Wait returns the mean waiting time.
func (s station) Wait() float64 { return s.wait }

// Sojourn returns the mean of waiting and service time together.
func (s station) Sojourn() float64 { return s.wait + s.service }

// QueueLength returns the mean number of those who wait.
func (s station) QueueLength() float64 { return s.arrivalRate * s.wait }

// NumberInSystem returns the mean number of those who wait or are served.
func (s station) NumberInSystem() float64 { return s.arrivalRate * s.Sojourn() }

// lossy is what queues that lose customers have in common.
type lossy struct {
	arrivalRate float64
	service     float64
	loss        float64
	queueLength float64
}

// Loss returns the share of customers that are not served.
func (l lossy) Loss() float64 { return l.loss }

// Utilisation returns the share of its time that the server is busy.
func (l lossy) Utilisation() float64 { return l.arrivalRate * (1 - l.loss) * l.service }

// QueueLength returns the mean number of those who wait.
func (l lossy) QueueLength() float64 { return l.queueLength }

// NumberInSystem returns the mean number of those who wait or are served.
func (l lossy) NumberInSystem() float64 { return l.queueLength + l.Utilisation() }

// faults collects what is wrong with a queue's parameters.
type faults []error

func (f *faults) positive(name string, x float64) {
	if !(x > 0) || math.IsInf(x, 1) {
		*f = append(*f, fmt.Errorf("%s: want above 0 and finite, got %v", name, x))
	}
}

// load is checked only where its parameters are in order.
func (f *faults) load(load, most float64, open bool) {
	switch {
	case len(*f) > 0:
	case open && !(load < most):
		*f = append(*f, fmt.Errorf("load: want below %v, got %v", most, load))
	case !open && !(load <= most):
		*f = append(*f, fmt.Errorf("load: want at most %v, got %v", most, load))
	}
}

// moments checks a mean and a second moment against each other.
func (f *faults) moments(name string, mean, second float64) {
	f.positive("mean "+name, mean)
	if !(second >= mean*mean*(1-1e-12)) || math.IsInf(second, 1) {
		*f = append(*f, fmt.Errorf("second moment of the %s: want at least the mean's square %v and finite, got %v", name, mean*mean, second))
	}
}

func (f faults) err(queue string) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("analytic: %s: %w", queue, errors.Join(f...))
}

// quantile returns the smallest x in [0, +Inf) with cdf(x) >= p, 0 <= p < 1,
// by bisection; scale is a first guess.
func quantile(p, scale float64, cdf func(float64) float64) float64 {
	if cdf(0) >= p {
		return 0
	}
	lo, hi := 0.0, scale
	for cdf(hi) < p && hi < math.MaxFloat64/2 {
		lo, hi = hi, 2*hi
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if cdf(mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
