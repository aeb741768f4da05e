package analytic

import "math"

// MM1 is the queue with Poisson arrivals and exponential service.
type MM1 struct {
	station
	rate float64 // at which the conditional waiting time decays
}

// NewMM1 takes rates above 0, arrivals slower than service.
func NewMM1(arrivalRate, serviceRate float64) (MM1, error) {
	var f faults
	f.positive("arrival rate", arrivalRate)
	f.positive("service rate", serviceRate)
	load := arrivalRate / serviceRate
	f.load(load, 1, true)
	if err := f.err("M/M/1"); err != nil {
		return MM1{}, err
	}
	rate := serviceRate - arrivalRate
	return MM1{station{arrivalRate, 1 / serviceRate, load / rate, 1}, rate}, nil
}

// WaitCDF returns the probability of waiting at most t.
func (q MM1) WaitCDF(t float64) float64 {
	if t < 0 {
		return 0
	}
	return 1 - q.Utilisation()*math.Exp(-q.rate*t)
}

// WaitQuantile returns the p-quantile of the waiting time, 0 <= p < 1.
func (q MM1) WaitQuantile(p float64) float64 {
	return max(math.Log(q.Utilisation()/(1-p))/q.rate, 0)
}

// SojournCDF returns the probability of a sojourn of at most t.
func (q MM1) SojournCDF(t float64) float64 { return max(-math.Expm1(-q.rate*t), 0) }

// SojournQuantile returns the p-quantile of the sojourn time, 0 <= p < 1.
func (q MM1) SojournQuantile(p float64) float64 { return -math.Log1p(-p) / q.rate }
