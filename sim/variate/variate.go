package variate

import "brokersim/sim"

// Dist is a distribution of a non-negative quantity in base units: ns for a
// duration, bytes for a size, 1 for a count. It holds no state.
type Dist interface {
	Draw(*sim.Stream) float64
	Mean() float64              // +Inf where there is none
	Quantile(p float64) float64 // 0 <= p <= 1
	CDF(x float64) float64
	String() string // its TOML spelling
}

// Arrivals describes an arrival process; Start gives a fresh copy of its state.
type Arrivals interface {
	Start(*sim.Stream) Process
	Rate() float64  // long-run arrivals per second
	String() string // its TOML spelling
}

// Process yields the instants of arrivals, never decreasing; ok is false when
// there are no more.
type Process interface {
	Next() (at sim.Time, ok bool)
}
