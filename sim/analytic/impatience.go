package analytic

import (
	"fmt"
	"math"
)

// PatientMM1 is M/M/1+D: customers leave the queue (renege) when they have
// waited for a fixed patience; who is in service stays. Any load will do.
type PatientMM1 struct {
	lossy
	waitServed float64
}

// NewPatientMM1 takes rates and a patience above 0.
func NewPatientMM1(arrivalRate, serviceRate, patience float64) (PatientMM1, error) {
	var f faults
	f.positive("arrival rate", arrivalRate)
	f.positive("service rate", serviceRate)
	f.positive("patience", patience)
	if err := f.err("M/M/1+D"); err != nil {
		return PatientMM1{}, err
	}
	// The offered wait V (of a customer without limit) has, up to a constant,
	// the mass 1 at 0, the density a exp(-(m-a) v) below the patience and
	// a exp(-(m-a) patience) exp(-m (v-patience)) beyond it. All is times
	// exp(z) where that would overflow, z = (m-a) patience < 0.
	load := arrivalRate / serviceRate
	z := (serviceRate - arrivalRate) * patience
	idle := math.Exp(min(z, 0))
	served := arrivalRate * patience * expMean(math.Abs(z)) // below the patience
	lost := load * math.Exp(-max(z, 0))
	sum := idle + served + lost
	timesServed := arrivalRate * patience * patience * expFirst(z)
	q := PatientMM1{lossy: lossy{arrivalRate: arrivalRate, service: 1 / serviceRate}}
	q.loss = min(lost/sum, 1)
	q.waitServed = timesServed / (idle + served)
	q.queueLength = arrivalRate * (timesServed + patience*lost) / sum
	return q, nil
}

// WaitServed returns the mean waiting time of those who are served.
func (q PatientMM1) WaitServed() float64 { return q.waitServed }

// Wait returns the mean waiting time of all, who renege included.
func (q PatientMM1) Wait() float64 { return q.queueLength / q.arrivalRate }

// expMean returns the integral of exp(-z u) over 0 <= u <= 1 for z >= 0.
func expMean(z float64) float64 {
	if z == 0 {
		return 1
	}
	return -math.Expm1(-z) / z
}

// expFirst returns the integral of u exp(-z u) over 0 <= u <= 1, times
// exp(z) if z < 0.
func expFirst(z float64) float64 {
	switch {
	case math.Abs(z) < 0.01:
		series := 1.0/2 - z/3 + z*z/8 - z*z*z/30 + z*z*z*z/144 - z*z*z*z*z/840
		return series * math.Exp(min(z, 0))
	case z < 0:
		return (math.Expm1(z) - z) / (z * z)
	default:
		return (-math.Expm1(-z) - z*math.Exp(-z)) / (z * z)
	}
}

// ExponentialPatience is M/M/1+M: each customer reneges after an exponential
// patience of its own; who is in service stays. Any load will do.
type ExponentialPatience struct{ lossy }

// patienceMax bounds the states that are summed: patience in mean
// interarrival times.
const patienceMax = 1e9

// NewExponentialPatience takes rates above 0 and a mean patience above 0 of at
// most 1e9 mean interarrival times.
func NewExponentialPatience(arrivalRate, serviceRate, patience float64) (ExponentialPatience, error) {
	var f faults
	f.positive("arrival rate", arrivalRate)
	f.positive("service rate", serviceRate)
	f.positive("mean patience", patience)
	if n := arrivalRate * patience; n > patienceMax {
		f = append(f, fmt.Errorf("mean patience: want at most %g mean interarrival times, got %g", patienceMax, n))
	}
	if err := f.err("M/M/1+M"); err != nil {
		return ExponentialPatience{}, err
	}
	// A birth-death process with deaths at serviceRate + (n-1)/patience, summed
	// from its most likely state outwards.
	death := func(n float64) float64 { return serviceRate + (n-1)/patience }
	mode := math.Floor(max((arrivalRate-serviceRate)*patience+1, 0))
	var sum, waiting float64
	count := func(n, w float64) {
		sum += w
		waiting += w * max(n-1, 0)
	}
	count(mode, 1)
	for n, w := mode, 1.0; w > 1e-20; n++ {
		w *= arrivalRate / death(n+1)
		count(n+1, w)
	}
	for n, w := mode, 1.0; n > 0 && w > 1e-20; n-- {
		w *= death(n) / arrivalRate
		count(n-1, w)
	}
	q := ExponentialPatience{lossy{arrivalRate: arrivalRate, service: 1 / serviceRate}}
	q.queueLength = waiting / sum
	q.loss = min(q.queueLength/patience/arrivalRate, 1) // who reneges, of who arrives
	return q, nil
}

// Wait returns the mean waiting time of all, who renege included.
func (q ExponentialPatience) Wait() float64 { return q.queueLength / q.arrivalRate }
