package analytic

import (
	"fmt"
	"math"
)

// MMc is the queue with Poisson arrivals, exponential service and c servers.
type MMc struct {
	station
	delay float64
	rate  float64
}

// serversMax bounds the time that Erlang's recursion takes.
const serversMax = 1_000_000

// NewMMc takes rates above 0, arrivals slower than all servers together, and 1
// to 1,000,000 servers.
func NewMMc(arrivalRate, serviceRate float64, servers int) (MMc, error) {
	var f faults
	f.positive("arrival rate", arrivalRate)
	f.positive("service rate", serviceRate)
	if servers < 1 || servers > serversMax {
		f = append(f, fmt.Errorf("servers: want 1 to %d, got %d", serversMax, servers))
	}
	c := float64(servers)
	load := arrivalRate / serviceRate / c
	f.load(load, 1, true)
	if err := f.err("M/M/c"); err != nil {
		return MMc{}, err
	}
	// Erlang's loss formula by its recursion (Jagerman 1974), then C from B.
	offered := arrivalRate / serviceRate
	b := 1.0
	for n := 1; n <= servers; n++ {
		b = offered * b / (float64(n) + offered*b)
	}
	delay := b / (1 - load*(1-b))
	rate := c*serviceRate - arrivalRate
	return MMc{station{arrivalRate, 1 / serviceRate, delay / rate, servers}, delay, rate}, nil
}

// Delay returns the probability of having to wait, Erlang's C.
func (q MMc) Delay() float64 { return q.delay }

// WaitCDF returns the probability of waiting at most t.
func (q MMc) WaitCDF(t float64) float64 {
	if t < 0 {
		return 0
	}
	return 1 - q.delay*math.Exp(-q.rate*t)
}

// WaitQuantile returns the p-quantile of the waiting time, 0 <= p < 1.
func (q MMc) WaitQuantile(p float64) float64 { return max(math.Log(q.delay/(1-p))/q.rate, 0) }
