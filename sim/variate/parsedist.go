package variate

import (
	"strconv"
	"strings"
)

// ParseDist reads a distribution of a quantity of that unit, spelt as the
// package comment's table says. The error is a ParseErrors.
func ParseDist(text string, unit Unit) (Dist, error) {
	var f faults
	var d Dist
	if n, ok := f.readText(text, "a distribution or "+unit.example()); ok {
		d = f.dist(&n, unit)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// distForm is how one distribution is read. build returns nil after a fault.
type distForm struct {
	name  string
	build func(f *faults, call *node, unit Unit) Dist
}

var distForms []distForm

func init() { // not a literal: mixtures read distributions
	distForms = []distForm{
		{"constant", (*faults).constant},
		{"exponential", (*faults).exponential},
		{"uniform", (*faults).uniform},
		{"lognormal", (*faults).lognormal},
	}
}

// dist gives a value its meaning; nil after a fault.
func (f *faults) dist(n *node, unit Unit) Dist {
	switch n.kind {
	case stringKind:
		f.add(n.off, n.end, "want a distribution or %s, got a string", unit.example())
		return nil
	case wordKind:
		if near := nearestDist(n.text); near != "" {
			f.addNear(n.off, n.end, near, "%s has no parameters", shorten(n.text))
			return nil
		}
		begun := len(f.list)
		value := f.quantity(n.token, unit)
		if len(f.list) > begun {
			return nil
		}
		return Constant{value, unit}
	}
	for _, form := range distForms {
		if form.name == n.text {
			return form.build(f, n, unit)
		}
	}
	f.addNear(n.off, n.off+len(n.text), nearestDist(n.text), "unknown distribution %q", shorten(n.text))
	return nil
}

func nearestDist(name string) string {
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		return ""
	}
	names := make([]string, len(distForms))
	for i, form := range distForms {
		names[i] = form.name
	}
	return nearest(name, names)
}

// built returns the distribution that a constructor made, or nil.
func built[D Dist](p *parameters, d D, err error) Dist {
	if !p.built(err) {
		return nil
	}
	return d
}

func (f *faults) constant(call *node, unit Unit) Dist {
	p := f.parameters(&node{kind: callKind, token: call.token, end: call.end})
	if len(call.args) != 1 || call.args[0].key.text != "" {
		if !call.broken {
			f.add(call.off, call.end, "constant: want one value, as in constant(%s)", unit.format(1000))
		}
		return nil
	}
	a := &call.args[0]
	if !f.plain(call, a) {
		return nil
	}
	t, ok := f.plainWord(call, &a.value)
	if !ok {
		return nil
	}
	value := f.quantity(t, unit)
	if !p.ok() {
		return nil
	}
	d, err := NewConstant(unit, value)
	return built(p, d, err)
}

func (f *faults) exponential(call *node, unit Unit) Dist {
	p := f.parameters(call, "mean")
	mean := p.quantity("mean", unit)
	if !p.ok() {
		return nil
	}
	d, err := NewExponential(unit, mean)
	return built(p, d, err)
}

func (f *faults) uniform(call *node, unit Unit) Dist {
	p := f.parameters(call, "min", "max")
	lo, hi := p.quantity("min", unit), p.quantity("max", unit)
	if !p.ok() {
		return nil
	}
	d, err := NewUniform(unit, lo, hi)
	return built(p, d, err)
}

// lognormal reads median or mean with sigma, or two quantiles of which one may
// be called median.
func (f *faults) lognormal(call *node, unit Unit) Dist {
	names := []string{"median", "mean", "sigma"}
	type quantile struct {
		name    string
		percent float64
	}
	var quantiles []quantile
	for _, a := range call.args {
		if q, ok := percentile(a.key.text); ok {
			names = append(names, a.key.text)
			quantiles = append(quantiles, quantile{a.key.text, q})
		}
	}
	names = append(names, "p99") // for the errors; a second time does no harm
	p := f.parameters(call, names...)
	if !p.has("sigma") && !p.has("mean") {
		if p.has("median") {
			quantiles = append(quantiles, quantile{"median", 50})
		}
		if len(quantiles) != 2 {
			if p.ok() {
				f.add(call.off, call.end, "lognormal: want median and sigma, mean and sigma, or two quantiles such as median and p99")
			}
			return nil
		}
		a, b := quantiles[0], quantiles[1]
		if a.percent > b.percent {
			a, b = b, a
		}
		va, vb := p.quantity(a.name, unit), p.quantity(b.name, unit)
		if !p.ok() {
			return nil
		}
		d, err := NewLogNormalQuantiles(unit, a.percent, va, b.percent, vb)
		return built(p, d, err)
	}
	sigma := p.number("sigma")
	if len(quantiles) > 0 || p.has("median") && p.has("mean") {
		f.add(call.off, call.end, "lognormal: too many parameters, want median and sigma, mean and sigma, or two quantiles")
		return nil
	}
	if p.has("mean") {
		mean := p.quantity("mean", unit)
		if !p.ok() {
			return nil
		}
		d, err := NewLogNormalMean(unit, mean, sigma)
		return built(p, d, err)
	}
	median := p.quantity("median", unit)
	if !p.ok() {
		return nil
	}
	d, err := NewLogNormal(unit, median, sigma)
	return built(p, d, err)
}

// percentile reads the name of a quantile in percent, "p99.9".
func percentile(name string) (percent float64, ok bool) {
	rest, ok := strings.CutPrefix(name, "p")
	if !ok {
		return 0, false
	}
	if n, problem := scanNumber(rest); problem != "" || n != len(rest) {
		return 0, false
	}
	percent, err := strconv.ParseFloat(rest, 64)
	return percent, err == nil && percent > 0 && percent < 100
}
