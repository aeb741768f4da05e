package variate

import (
	"math"

	"brokersim/sim"
)

// LogNormal is the distribution of exp(mu + sigma Z), Z standard normal. It
// remembers the parameters that it was given, and is spelt by them.
type LogNormal struct {
	median    float64 // exp(mu)
	mu, sigma float64
	given     lognormalGiven
	unit      Unit
}

type lognormalGiven struct {
	mean   float64 // or 0
	qa, qb float64 // quantiles in percent, or 0
	va, vb float64 // and their values
}

const sigmaMax = 20

// NewLogNormal returns the lognormal of that median and sigma, 0 <= sigma <=
// 20, the standard deviation of its logarithm.
func NewLogNormal(unit Unit, median, sigma float64) (LogNormal, error) {
	var c checks
	c.positive(unit, "median", median)
	c.number("sigma", sigma, 0, sigmaMax)
	return LogNormal{median: median, mu: log(median), sigma: sigma, unit: unit}, c.err()
}

// NewLogNormalMean returns the lognormal of that mean and sigma.
func NewLogNormalMean(unit Unit, mean, sigma float64) (LogNormal, error) {
	var c checks
	c.positive(unit, "mean", mean)
	c.number("sigma", sigma, 0, sigmaMax)
	variance := float64(sigma * sigma)
	return LogNormal{
		median: float64(mean * exp(float64(-0.5*variance))),
		mu:     log(mean) - float64(0.5*variance),
		sigma:  sigma,
		given:  lognormalGiven{mean: mean},
		unit:   unit,
	}, c.err()
}

// NewLogNormalQuantiles returns the lognormal whose quantiles at qa and qb
// percent, 0 < qa < qb < 100, are va <= vb.
func NewLogNormalQuantiles(unit Unit, qa, va, qb, vb float64) (LogNormal, error) {
	var c checks
	nameA, nameB := percentileName(qa), percentileName(qb)
	c.require(qa > 0 && qa < qb && qb < 100, nameB, "want two different quantiles above p0 and below p100, in order")
	c.positive(unit, nameA, va)
	c.positive(unit, nameB, vb)
	if len(c) > 0 {
		return LogNormal{}, c.err()
	}
	c.require(va <= vb, nameB, "want at least %s=%s, got %s", nameA, unit.format(va), unit.format(vb))
	za, zb := normalQuantile(qa/100), normalQuantile(qb/100)
	sigma := log(vb/va) / (zb - za)
	c.require(sigma <= sigmaMax, nameB, "these quantiles are too far apart: want a sigma of at most %v, got %v", sigmaMax, sigma)
	mu := log(va) - float64(za*sigma)
	d := LogNormal{median: exp(mu), mu: mu, sigma: sigma, given: lognormalGiven{qa: qa, qb: qb, va: va, vb: vb}, unit: unit}
	switch {
	case qa == 50:
		d.median = va
	case qb == 50:
		d.median = vb
	}
	c.require(d.median <= quantityMax && d.median >= quantityMin, nameB, "the median of these quantiles is out of range: %s", unit.format(d.median))
	return d, c.err()
}

// Draw implements Dist.
func (d LogNormal) Draw(s *sim.Stream) float64 { return drawLogNormal(s, d.median, d.sigma) }

// drawLogNormal is apart so that Draw is inlined and a call through Dist does
// not copy the whole LogNormal; so are those of other large distributions.
func drawLogNormal(s *sim.Stream, median, sigma float64) float64 {
	return float64(median * exp(float64(sigma*StandardNormal(s))))
}

// Median returns exp(mu), in base units.
func (d LogNormal) Median() float64 { return d.median }

// Sigma returns the standard deviation of the logarithm.
func (d LogNormal) Sigma() float64 { return d.sigma }

// Mean implements Dist.
func (d LogNormal) Mean() float64 {
	if d.given.mean != 0 {
		return d.given.mean
	}
	return float64(d.median * exp(float64(0.5*float64(d.sigma*d.sigma))))
}

// Quantile implements Dist.
func (d LogNormal) Quantile(p float64) float64 {
	if d.sigma == 0 {
		return d.median
	}
	return float64(d.median * exp(float64(d.sigma*normalQuantile(p))))
}

// CDF implements Dist.
func (d LogNormal) CDF(x float64) float64 {
	switch {
	case !(x > 0):
		return 0
	case d.sigma == 0:
		return step(x >= d.median)
	}
	below, _ := normalTails((log(x) - d.mu) / d.sigma)
	return below
}

func (d LogNormal) String() string {
	const name = "lognormal"
	switch g := d.given; {
	case g.mean != 0:
		return spell(name, "mean", d.unit.format(g.mean), "sigma", formatNumber(d.sigma))
	case g.qa != 0:
		return spell(name, percentileName(g.qa), d.unit.format(g.va), percentileName(g.qb), d.unit.format(g.vb))
	}
	return spell(name, "median", d.unit.format(d.median), "sigma", formatNumber(d.sigma))
}

func (d LogNormal) meanUpTo(limit float64) float64 {
	if d.sigma == 0 {
		return min(d.median, limit)
	}
	z := (log(limit) - d.mu) / d.sigma
	below, _ := normalTails(z - d.sigma)
	_, above := normalTails(z)
	return float64(d.Mean()*below) + float64(limit*above)
}

// percentileName spells a quantile in percent: median, p99, p99.9.
func percentileName(q float64) string {
	if q == 50 || math.IsNaN(q) {
		return "median"
	}
	return "p" + formatNumber(q)
}
