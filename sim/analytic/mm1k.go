package analytic

import (
	"fmt"
	"math"
)

// MM1K is the M/M/1 queue that loses customers who find k in the system, the
// one in service included. Any load will do.
type MM1K struct{ lossy }

// placesMax bounds the time that summing takes.
const placesMax = 1_000_000

// NewMM1K takes rates above 0, and 1 to 1,000,000 places.
func NewMM1K(arrivalRate, serviceRate float64, k int) (MM1K, error) {
	var f faults
	f.positive("arrival rate", arrivalRate)
	f.positive("service rate", serviceRate)
	if k < 1 || k > placesMax {
		f = append(f, fmt.Errorf("places: want 1 to %d, got %d", placesMax, k))
	}
	if err := f.err("M/M/1/K"); err != nil {
		return MM1K{}, err
	}
	// Weights load^n, counted from the end where they are largest.
	load := arrivalRate / serviceRate
	var sum, waiting, full float64
	for n := range k + 1 {
		w := math.Pow(load, float64(n))
		if load > 1 {
			w = math.Pow(load, float64(n-k))
		}
		sum += w
		waiting += w * float64(max(n-1, 0))
		full = w
	}
	return MM1K{lossy{arrivalRate, 1 / serviceRate, full / sum, waiting / sum}}, nil
}

// Wait returns the mean waiting time of those who are served.
func (q MM1K) Wait() float64 { return q.queueLength / (q.arrivalRate * (1 - q.loss)) }
