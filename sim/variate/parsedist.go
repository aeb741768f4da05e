package variate

import (
	"math"
	"strconv"
	"strings"
)

// ParseDist reads a distribution of a quantity of that unit, spelt as the
// package comment's table says. The error is a ParseErrors.
func ParseDist(text string, unit Unit) (Dist, error) {
	f := faults{text: text}
	var d Dist
	if n, ok := f.readText("a distribution or " + unit.example()); ok {
		d = f.dist(&n, unit)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// distForm is how one distribution is read. build returns nil after a fault.
type distForm struct {
	name   string
	build  func(f *faults, call *node, unit Unit) Dist
	bounds bool   // it also takes shift= and max=
	takes  string // its parameters, as in an error
}

var distForms []distForm

func init() { // not a literal: mixtures read distributions
	distForms = []distForm{
		{"constant", (*faults).constant, false, "..."},
		{"exponential", (*faults).exponential, true, "mean=..."},
		{"uniform", (*faults).uniform, false, "min=..., max=..."},
		{"lognormal", (*faults).lognormal, true, "median=..., p99=..."},
		{"weibull", (*faults).weibull, true, "scale=..., shape=..."},
		{"gamma", (*faults).gamma, true, "mean=..., shape=..."},
		{"erlang", (*faults).erlang, true, "k=..., mean=..."},
		{"pareto", (*faults).pareto, true, "min=..., alpha=..."},
		{"gpd", (*faults).gpd, true, "scale=..., shape=..."},
		{"hyperexponential", (*faults).hyperexponential, true, "p=..., mean1=..., mean2=..."},
		{"empirical", (*faults).empirical, false, "..., ..."},
		{"quantiles", (*faults).quantiles, false, "0=..., 0.5=..., 1=..."},
		{"mixture", (*faults).mixture, true, "0.9*..., 0.1*..."},
	}
}

// dist gives a value its meaning; nil after a fault.
func (f *faults) dist(n *node, unit Unit) Dist {
	switch n.kind {
	case stringKind:
		f.add(n.off, n.end, "want a distribution or %s, got a string", unit.example())
		return nil
	case wordKind:
		if _, problem := scanNumber(n.text); problem == notDigit {
			for _, form := range distForms {
				if form.name == n.text {
					f.add(n.off, n.end, "%s: want its parameters in parentheses, as in %[1]s(%s)", n.text, form.takes)
					return nil
				}
			}
			f.addNear(n.off, n.end, nearestDist(n.text), "%q is neither %s nor a distribution with parameters in parentheses", shorten(n.text), unit.example())
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
		if form.name != n.text {
			continue
		}
		if form.bounds {
			return f.bounded(n, unit, form.build)
		}
		return form.build(f, n, unit)
	}
	f.addNear(n.off, n.off+len(n.text), nearestDist(n.text), "unknown distribution %q", shorten(n.text))
	return nil
}

func nearestDist(name string) string {
	names := make([]string, len(distForms))
	for i, form := range distForms {
		names[i] = form.name
	}
	return nearest(name, names)
}

// bounded takes shift= and max= out of a call and lets build read the rest.
func (f *faults) bounded(call *node, unit Unit, build func(*faults, *node, Unit) Dist) Dist {
	rest, bounds := *call, *call
	rest.args, bounds.args = nil, nil
	rest.also = []string{"shift", "max"}
	for _, a := range call.args {
		if a.key.text == "shift" || a.key.text == "max" {
			bounds.args = append(bounds.args, a)
		} else {
			rest.args = append(rest.args, a)
		}
	}
	inner := build(f, &rest, unit)
	if len(bounds.args) == 0 {
		return inner
	}
	p := f.parameters(&bounds, "shift", "max")
	shift, limit := 0.0, math.Inf(1)
	if p.has("shift") {
		shift = p.quantity("shift", unit)
	}
	if p.has("max") {
		limit = p.quantity("max", unit)
	}
	if inner == nil || !p.ok() {
		var c checks
		if p.has("max") {
			c.positive(unit, "max", limit)
		}
		p.built(c.err())
		return nil
	}
	if shift == 0 && math.IsInf(limit, 1) {
		return inner
	}
	d, err := NewBounded(unit, inner, shift, limit)
	return built(p, d, err)
}

// built returns the distribution that a constructor made, or nil.
func built[D Dist](p *parameters, d D, err error) Dist {
	if !p.built(err) {
		return nil
	}
	return d
}

func (f *faults) constant(call *node, unit Unit) Dist {
	p := f.unnamed(call)
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
	d, err := NewConstant(unit, value)
	return built(p, d, err)
}

func (f *faults) exponential(call *node, unit Unit) Dist {
	p := f.parameters(call, "mean")
	mean := p.quantity("mean", unit)
	d, err := NewExponential(unit, mean)
	return built(p, d, err)
}

func (f *faults) uniform(call *node, unit Unit) Dist {
	p := f.parameters(call, "min", "max")
	lo, hi := p.quantity("min", unit), p.quantity("max", unit)
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
	if len(quantiles) == 0 {
		names = append(names, "p99") // for the errors
	}
	p := f.parameters(call, names...)
	values := map[string]float64{}
	for _, name := range names {
		switch {
		case !p.has(name):
		case name == "sigma":
			values[name] = p.number(name)
		default:
			values[name] = p.quantity(name, unit)
		}
	}
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
		if p.bad[a.name] || p.bad[b.name] { // neither can be held against the other
			return nil
		}
		d, err := NewLogNormalQuantiles(unit, a.percent, values[a.name], b.percent, values[b.name])
		return built(p, d, err)
	}
	if len(quantiles) > 0 || p.has("median") && p.has("mean") {
		f.add(call.off, call.end, "lognormal: too many parameters, want median and sigma, mean and sigma, or two quantiles")
		return nil
	}
	if !p.has("sigma") {
		p.number("sigma") // is missing
	}
	if p.has("mean") {
		d, err := NewLogNormalMean(unit, values["mean"], values["sigma"])
		return built(p, d, err)
	}
	if !p.has("median") {
		p.quantity("median", unit) // is missing
	}
	d, err := NewLogNormal(unit, values["median"], values["sigma"])
	return built(p, d, err)
}

// percentile reads the name of a quantile in percent, "p99.9".
func percentile(name string) (percent float64, ok bool) {
	percent, ok = percentText(name)
	return percent, ok && percent > 0 && percent < 100
}

// percentText reads "p" and a number.
func percentText(name string) (percent float64, ok bool) {
	rest, ok := strings.CutPrefix(name, "p")
	if !ok {
		return 0, false
	}
	if n, problem := scanNumber(rest); problem != "" || n != len(rest) {
		return 0, false
	}
	percent, err := strconv.ParseFloat(rest, 64)
	return percent, err == nil
}

func (f *faults) weibull(call *node, unit Unit) Dist {
	return quantityAndNumber(f, call, unit, "scale", "shape", NewWeibull)
}

func (f *faults) gamma(call *node, unit Unit) Dist {
	return quantityAndNumber(f, call, unit, "mean", "shape", NewGamma)
}

// quantityAndNumber reads a family that has these two parameters.
func quantityAndNumber[D Dist](f *faults, call *node, unit Unit, quantity, number string, of func(Unit, float64, float64) (D, error)) Dist {
	p := f.parameters(call, quantity, number)
	x, n := p.quantity(quantity, unit), p.number(number)
	d, err := of(unit, x, n)
	return built(p, d, err)
}

func (f *faults) erlang(call *node, unit Unit) Dist {
	p := f.parameters(call, "k", "mean")
	k, mean := p.number("k"), p.quantity("mean", unit)
	if !p.bad["k"] && (k != math.Trunc(k) || k > phasesMax) {
		p.bad["k"] = true
		f.add(p.byName["k"].start(), p.byName["k"].end(), "erlang: k: want a whole number between 1 and %d, got %s", phasesMax, formatNumber(k))
	}
	if p.bad["k"] {
		k = 1
	}
	d, err := NewErlang(unit, int(k), mean)
	return built(p, d, err)
}

func (f *faults) pareto(call *node, unit Unit) Dist {
	return quantityAndNumber(f, call, unit, "min", "alpha", NewPareto)
}

func (f *faults) gpd(call *node, unit Unit) Dist {
	p := f.parameters(call, "location", "scale", "shape")
	location, scale, shape := 0.0, p.quantity("scale", unit), p.signed("shape")
	if p.has("location") {
		location = p.quantity("location", unit)
	}
	d, err := NewGPD(unit, location, scale, shape)
	return built(p, d, err)
}

func (f *faults) hyperexponential(call *node, unit Unit) Dist {
	if len(call.args) > 0 && call.args[0].weight.text != "" {
		return f.hyperexponentialList(call, unit)
	}
	p := f.parameters(call, "p", "mean1", "mean2")
	share, mean1, mean2 := p.number("p"), p.quantity("mean1", unit), p.quantity("mean2", unit)
	if !p.bad["p"] && !(share > 0 && share < 1) {
		f.add(p.byName["p"].start(), p.byName["p"].end(), "hyperexponential: p: want more than 0 and less than 1, got %v", share)
	}
	var c checks
	c.positive(unit, "mean1", mean1)
	c.positive(unit, "mean2", mean2)
	if !p.built(c.err()) {
		return nil
	}
	d, err := NewHyperexponential(unit, []float64{share, 1 - share}, []float64{mean1, mean2})
	return built(p, d, err)
}

// hyperexponentialList reads hyperexponential(WEIGHT*MEAN, ...).
func (f *faults) hyperexponentialList(call *node, unit Unit) Dist {
	p := f.unnamed(call)
	ws, values := f.weighted(call)
	means := make([]float64, len(values))
	for i, n := range values {
		t, ok := f.plainWord(call, n)
		if !ok {
			continue
		}
		before := len(f.list)
		means[i] = f.quantity(t, unit)
		if len(f.list) == before && means[i] < quantityMin {
			f.add(n.off, n.end, "hyperexponential: want a mean of more than 0 (from %s), got %s", unit.format(quantityMin), n.text)
		}
	}
	if !p.ok() {
		return nil
	}
	d, err := NewHyperexponential(unit, ws, means)
	return built(p, d, err)
}

func (f *faults) mixture(call *node, unit Unit) Dist {
	p := f.unnamed(call)
	ws, values := f.weighted(call)
	parts := make([]Dist, len(values))
	for i, n := range values {
		parts[i] = f.dist(n, unit)
	}
	if !p.ok() {
		return nil
	}
	d, err := NewMixture(ws, parts)
	return built(p, d, err)
}

// weighted splits the arguments WEIGHT*VALUE and checks the weights, if all can
// be read.
func (f *faults) weighted(call *node) (ws []float64, values []*node) {
	before := len(f.list)
	for i := range call.args {
		a := &call.args[i]
		switch {
		case a.lasting.text != "":
			f.plain(call, a)
		case a.weight.text == "":
			f.add(a.start(), a.end(), "%s: want WEIGHT*VALUE, got %q", call.text, shorten(f.text[a.start():a.end()]))
		default:
			ws = append(ws, f.number(a.weight))
			values = append(values, &a.value)
		}
	}
	if p := f.unnamed(call); len(f.list) == before && !call.broken {
		var c checks
		newWeights(&c, ws)
		p.built(c.err())
	}
	return ws, values
}

func (f *faults) empirical(call *node, unit Unit) Dist {
	p := f.unnamed(call)
	var samples []float64
	for i := range call.args {
		if t, ok := f.item(call, &call.args[i]); ok {
			samples = append(samples, f.quantity(t, unit))
		}
	}
	if !p.ok() {
		return nil
	}
	d, err := NewEmpirical(unit, samples)
	return built(p, d, err)
}

func (f *faults) quantiles(call *node, unit Unit) Dist {
	p := f.unnamed(call)
	var ps, xs []float64
	for i := range call.args {
		a := &call.args[i]
		if !f.plain(call, a) {
			continue
		}
		if a.key.text == "" {
			f.add(a.start(), a.end(), "quantiles: want PROBABILITY=VALUE, as in 0.5=%s, got %q", unit.format(1000), shorten(a.value.text))
			continue
		}
		before := len(f.list)
		probability, x := f.number(a.key), 0.0
		if t, ok := f.plainWord(call, &a.value); ok {
			x = f.quantity(t, unit)
		}
		if len(f.list) == before { // the others are in order without one at fault
			ps, xs = append(ps, probability), append(xs, x)
			p.byName[formatNumber(probability)] = a
		}
	}
	d, err := NewQuantiles(unit, ps, xs)
	return built(p, d, err)
}
