package variate

import (
	"math"
	"slices"
	"strings"

	"brokersim/sim"
)

// ParseArrivals reads an arrival process, spelt as the package comment's table
// says. trace("FILE") gives a TraceFile. The error is a ParseErrors.
func ParseArrivals(text string) (Arrivals, error) {
	f := faults{text: text}
	var a Arrivals
	if n, ok := f.readText(`arrivals such as "poisson(rate=43/s)"`); ok {
		a = f.arrivals(&n)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return a, nil
}

// arrivalsForms lists how each process is read; build returns nil after a
// fault.
var arrivalsForms = []struct {
	name  string
	build func(f *faults, call *node) Arrivals
	takes string // an example of its parameters
}{
	{"deterministic", (*faults).deterministic, "rate=43/s"},
	{"poisson", (*faults).poisson, "rate=43/s"},
	{"mmpp", (*faults).mmpp, "low=20/s for 10s, high=400/s for 500ms"},
	{"piecewise", (*faults).piecewise, "0s=43/s, 5s=400/s"},
	{"trace", (*faults).trace, `"requests.csv"`},
	{"closed", (*faults).closed, "n=10, think=1s"},
}

func (f *faults) arrivals(n *node) Arrivals {
	names := make([]string, len(arrivalsForms))
	for i, form := range arrivalsForms {
		if names[i] = form.name; n.kind == callKind && form.name == n.text {
			return form.build(f, n)
		}
	}
	near := nearest(n.text, names)
	if i := slices.Index(names, n.text); i >= 0 {
		f.add(n.off, n.end, "%s: want its parameters in parentheses, as in %[1]s(%s)", n.text, arrivalsForms[i].takes)
		return nil
	}
	f.addNear(n.off, n.off+len(n.text), near, "unknown arrivals %q, want %s, with their parameters in parentheses", shorten(n.text), strings.Join(names, ", "))
	return nil
}

func builtArrivals[A Arrivals](p *parameters, a A, err error) Arrivals {
	if !p.built(err) {
		return nil
	}
	return a
}

func (f *faults) deterministic(call *node) Arrivals {
	p := f.parameters(call, "rate", "every", "phase")
	var phase sim.Time
	if p.has("phase") {
		phase = p.time("phase")
	}
	switch {
	case p.has("rate") && p.has("every"):
		f.add(call.off, call.end, "deterministic: want either rate or every, got both")
		p.rate("rate")
		p.time("every")
	case p.has("every"):
		a, err := NewDeterministicEvery(p.time("every"), phase)
		return builtArrivals(p, a, err)
	default:
		a, err := NewDeterministicRate(p.rate("rate"), phase)
		return builtArrivals(p, a, err)
	}
	return nil
}

func (f *faults) poisson(call *node) Arrivals {
	p := f.parameters(call, "rate")
	rate := p.rate("rate")
	a, err := NewPoisson(rate)
	return builtArrivals(p, a, err)
}

// mmpp reads states, NAME=RATE for TIME.
func (f *faults) mmpp(call *node) Arrivals {
	p := f.unnamed(call)
	var states []MMPPState
	for i := range call.args {
		a := &call.args[i]
		if a.key.text == "" || a.lasting.text == "" {
			f.add(a.start(), a.end(), "mmpp: want NAME=RATE for TIME, as in high=400/s for 500ms, got %q", shorten(f.text[a.start():a.end()]))
			continue
		}
		before := len(f.list)
		st := MMPPState{Name: a.key.text, Mean: f.time(a.lasting)}
		if t, ok := f.plainWord(call, &a.value); ok {
			st.PerSecond = f.rate(t, st.Name)
		}
		states = append(states, st)
		if len(f.list) == before { // else its bounds are not to be spoken of
			p.byName[st.Name] = a
		}
	}
	a, err := NewMMPP(states)
	return builtArrivals(p, a, err)
}

// piecewise reads segments, TIME=RATE.
func (f *faults) piecewise(call *node) Arrivals {
	p := f.unnamed(call)
	var segments []Segment
	for i := range call.args {
		a := &call.args[i]
		if !f.plain(call, a) {
			continue
		}
		if a.key.text == "" {
			f.add(a.start(), a.end(), "piecewise: want TIME=RATE, as in 5s=400/s, got %q", shorten(f.text[a.start():a.end()]))
			continue
		}
		before := len(f.list)
		g := Segment{From: f.time(a.key)}
		timed := len(f.list) == before
		if t, ok := f.plainWord(call, &a.value); ok {
			g.PerSecond = f.rate(t, a.key.text)
		}
		if timed || len(segments) == 0 { // the others are in order without one at fault
			segments = append(segments, g)
		}
		if len(f.list) == before {
			p.byName[formatDuration(float64(g.From))] = a
		}
	}
	a, err := NewPiecewise(segments)
	return builtArrivals(p, a, err)
}

// trace reads the name of a file, or the instants themselves.
func (f *faults) trace(call *node) Arrivals {
	p := f.unnamed(call)
	if len(call.args) == 1 && call.args[0].value.kind == stringKind && call.args[0].key.text == "" && f.plain(call, &call.args[0]) {
		path := call.args[0].value.text
		if path == "" {
			f.add(call.off, call.end, "trace: the name of the file is empty")
			return nil
		}
		return TraceFile{path}
	}
	var at []sim.Time
	for i := range call.args {
		if t, ok := f.item(call, &call.args[i]); ok {
			at = append(at, f.time(t))
		}
	}
	a, err := NewTrace(at)
	return builtArrivals(p, a, err)
}

// closed reads the number of callers and their time to think, a distribution.
func (f *faults) closed(call *node) Arrivals {
	p := f.parameters(call, "n", "think")
	callers := p.number("n")
	whole := callers == math.Trunc(callers) && callers <= callersMax
	if !whole && !p.bad["n"] {
		a := p.byName["n"]
		f.add(a.start(), a.end(), "closed: n: want a whole number between 1 and %d, got %s", callersMax, shorten(a.value.text))
	}
	var think Dist
	switch a := p.byName["think"]; {
	case a == nil:
		p.word("think") // says that it is missing
	default:
		think = f.dist(&a.value, Duration)
	}
	if !p.ok() {
		return nil
	}
	a, err := NewClosed(int(callers), think)
	return builtArrivals(p, a, err)
}

// item returns the word of an argument without key.
func (f *faults) item(call *node, a *arg) (token, bool) {
	if !f.plain(call, a) {
		return token{}, false
	}
	if a.key.text != "" {
		f.add(a.key.off, a.key.end, "%s: want values without names, got %q", call.text, shorten(a.key.text))
		return token{}, false
	}
	return f.plainWord(call, &a.value)
}

// time reads a whole number of ns.
func (f *faults) time(t token) sim.Time {
	at, err := ParseDuration(t.text)
	f.shifted(t.off, err)
	return at
}

func (p *parameters) time(name string) sim.Time { return read(p, name, p.faults.time) }

func (p *parameters) rate(name string) float64 {
	return read(p, name, func(t token) float64 { return p.faults.rate(t, name) })
}

// shifted takes over the faults of a part of the text that begins at off.
func (f *faults) shifted(off int, err error) {
	if err == nil {
		return
	}
	for _, e := range err.(ParseErrors) {
		e.Offset += off
		e.End += off
		f.list = append(f.list, e)
	}
}

func (c *checks) rate(name string, perSecond float64) {
	c.require(perSecond >= rateMin && perSecond <= rateMax, name, "want between %s and %s, got %s", formatRate(rateMin), formatRate(rateMax), formatRate(perSecond))
}

func (c *checks) instant(name string, at sim.Time) {
	c.require(at >= 0 && at <= DrawMax, name, "want between 0s and %s, got %v", formatDuration(DrawMax), at)
}
