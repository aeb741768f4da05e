package analytic

import "math"

// MD1 is the queue with Poisson arrivals and constant service.
type MD1 struct {
	station
	// atMost[m] is the probability that at most m wait.
	atMost []float64
}

// md1LoadMax bounds the number of states that the distribution needs.
const md1LoadMax = 0.9999

// NewMD1 takes an arrival rate and a service time above 0, with a load of at
// most 0.9999.
func NewMD1(arrivalRate, service float64) (MD1, error) {
	var f faults
	f.positive("arrival rate", arrivalRate)
	f.positive("service time", service)
	load := arrivalRate * service
	f.load(load, md1LoadMax, false)
	if err := f.err("M/D/1"); err != nil {
		return MD1{}, err
	}
	wait := load * service / (2 * (1 - load))
	return MD1{station{arrivalRate, service, wait, 1}, queueCDF(load)}, nil
}

// queueCDF returns the probabilities that at most 0, 1, 2... wait in M/D/1,
// until the rest is negligible. The probability of n in the system comes from
// those before it by Ramaswami's recursion (1988), in which nothing cancels.
func queueCDF(load float64) []float64 {
	// beyond[i] is the probability of more than i arrivals in one service,
	// summed from the smallest up: 1 minus the others would cancel.
	term := math.Exp(-load)
	terms := []float64{}
	for j := 1; term > 1e-20; j++ {
		terms = append(terms, term)
		term *= load / float64(j)
	}
	beyond := make([]float64, len(terms)-1)
	for i, sum := len(beyond)-1, 0.0; i >= 0; i-- {
		sum += terms[i+1]
		beyond[i] = sum
	}
	at := []float64{1 - load} // n in the system
	cdf := []float64{}
	sum := at[0]
	for n := 1; n == 1 || at[n-1] > 1e-18; n++ {
		var x float64
		if n <= len(beyond) {
			x = at[0] * tail(beyond, n)
		}
		for j := max(1, n+1-len(beyond)); j < n; j++ {
			x += at[j] * tail(beyond, n+1-j)
		}
		x /= 1 - tail(beyond, 1)
		at = append(at, x)
		sum += x
		cdf = append(cdf, min(sum, 1))
	}
	return cdf
}

// tail returns the probability of at least i arrivals.
func tail(beyond []float64, i int) float64 {
	if i > len(beyond) {
		return 0
	}
	return beyond[i-1]
}

// WaitCDF returns the probability of waiting at most t: Erlang's formula in
// the form of Franx (2001), a sum of positive terms.
func (q MD1) WaitCDF(t float64) float64 {
	if t < 0 {
		return 0
	}
	served := math.Floor(t / q.service)
	if served >= float64(len(q.atMost)) {
		return 1
	}
	k := int(served)
	// Whoever waits at most t is served before those who arrive in the rest
	// of the service under way then.
	mean := max(q.arrivalRate*(float64(k+1)*q.service-t), 0)
	var sum float64
	term := math.Exp(-mean)
	for j := 0; j <= k && term > 0; j++ {
		sum += q.atMost[k-j] * term
		term *= mean / float64(j+1)
	}
	return min(sum, 1)
}

// WaitQuantile returns the p-quantile of the waiting time, 0 <= p < 1.
func (q MD1) WaitQuantile(p float64) float64 { return quantile(p, q.service, q.WaitCDF) }
