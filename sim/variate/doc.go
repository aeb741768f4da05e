// Package variate describes random quantities (service times, stalls, sizes)
// and arrival processes. They are parsed from the texts of a scenario, or made
// by the New functions, and drawn from a [sim.Stream].
//
// # Units
//
// A [Dist] is of one [Unit]: durations are in ns, sizes in bytes, counts in
// ones. Draw returns a float64 of it, never negative and never NaN; [DrawTime]
// and [DrawInt] round to the nearest whole and keep below [DrawMax]. Instants
// of a [Process] are whole ns. A Process keeps the fraction of a ns between
// arrivals, so that rounding does not add up.
//
// # Spelling of distributions
//
// String gives the canonical spelling: it reads back as an equal distribution.
// TIME stands for any quantity of the unit: "12us" of a duration, "16KiB" of a
// size, "3" of a count. Fractions of a ns or byte are fine in a distribution.
//
//	12us                                         a constant
//	constant(12us)
//	exponential(mean=12us)
//	uniform(min=10us, max=20us)                  min included, max not
//	lognormal(median=12us, p99=90us)             any two quantiles; median is p50
//	lognormal(p10=1us, p99.9=2ms)
//	lognormal(median=12us, sigma=0.8)            sigma: of the logarithm
//	lognormal(mean=12us, sigma=0.8)
//	weibull(scale=12us, shape=0.7)
//	gamma(mean=12us, shape=0.5)
//	erlang(k=3, mean=12us)                       mean of the sum of the k
//	pareto(min=10us, alpha=1.5)
//	gpd(location=90us, scale=1ms, shape=0.3)     location may be left out: 0
//	hyperexponential(p=0.9, mean1=5us, mean2=1ms)     p is that of mean1
//	hyperexponential(0.7*5us, 0.2*90us, 0.1*1ms)      any number of them
//	empirical(5us, 12us, 12us, 90us)             one of the samples
//	quantiles(0=5us, 0.5=12us, 0.99=90us, 1=3ms) straight lines in between
//	mixture(0.9*lognormal(median=12us, p99=90us), 0.1*exponential(mean=1ms))
//
// All from exponential on but uniform, empirical and quantiles also take
// shift=TIME, which is added, and max=TIME, which caps what is then larger.
// Weights add up to 1 within 1e-9.
//
// # Spelling of arrivals
//
//	deterministic(rate=43/s)                     at 0, 1/43 s, 2/43 s, ...
//	deterministic(every=23ms, phase=5ms)         at 5ms, 28ms, ...; phase may be left out: 0
//	poisson(rate=43/s)
//	mmpp(low=20/s for 10s, high=400/s for 500ms) states of exponential length, in turn
//	piecewise(0s=43/s, 5s=400/s, 6s=43/s)        Poisson, the rate changing at instants
//	trace("requests.csv")                        a [TraceFile], for the caller to resolve
//	trace(1ms, 5ms, 5ms)                         the instants
//	closed(n=10, think=exponential(mean=1s))     a [Closed], for the caller to drive
//
// Rates are per s, ms, us, m (or min) or h.
//
// # Faults
//
// The Parse functions report all faults of a text as [ParseErrors], each with
// the bytes it is about. A text has at most 64 KiB, and values nest at most 8
// deep. The New functions return [ParamError]s, joined; what they return beside
// an error must not be used. Every parameter has a range in which no draw
// overflows.
//
// # The same bits everywhere
//
// Parameters and draws are made by +, -, *, / and Sqrt only, each product
// rounded on its own, never by math's Exp or Log: the same stream gives the same
// bits on every architecture, and so do Mean, Quantile and CDF. testdata pins
// them. Which words of the stream a draw takes is part of this: to change it
// changes every fingerprint.
package variate
