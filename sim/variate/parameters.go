package variate

import (
	"errors"
	"slices"
	"strings"
)

// parameters reads the key=value arguments of a call.
type parameters struct {
	*faults
	call   *node
	begun  int // faults when it began
	byName map[string]*arg
	names  []string
	// bad are names whose values could not be read: what is missing or at
	// fault itself is not held against its bounds as well.
	bad map[string]bool
	// meant are names that something misspelt or misplaced may stand for;
	// they are not also reported as missing.
	meant map[string]bool
}

// parameters files the call's arguments by key and reports what is not
// key=value, unknown or twice there.
func (f *faults) parameters(call *node, names ...string) *parameters {
	p := &parameters{faults: f, call: call, begun: len(f.list), byName: map[string]*arg{}, names: names, bad: map[string]bool{}, meant: map[string]bool{}}
	all := strings.Join(p.known(), ", ")
	for i := range call.args {
		a := &call.args[i]
		f.plain(call, a)
		switch {
		case a.key.text != "":
			p.file(a.key.text, a)
		case a.weight.text == "":
			f.add(a.start(), a.end(), "%s: want name=value with a name of %s, got %q", call.text, all, shorten(a.value.text))
			fallthrough
		default:
			for _, name := range names {
				p.meant[name] = true
			}
		}
	}
	return p
}

// unnamed watches over a call whose arguments are not parameters.
func (f *faults) unnamed(call *node) *parameters {
	return &parameters{faults: f, call: call, begun: len(f.list), byName: map[string]*arg{}}
}

// known are the names that the call takes, those that are read elsewhere
// included.
func (p *parameters) known() []string { return slices.Concat(p.names, p.call.also) }

// plain reports "for" and weights where they have no meaning.
func (f *faults) plain(call *node, a *arg) bool {
	switch {
	case a.lasting.text != "":
		f.add(a.lasting.off, a.lasting.end, "%s: \"for %s\" has no meaning here", call.text, shorten(a.lasting.text))
	case a.weight.text != "":
		f.add(a.weight.off, a.weight.end, "%s: a weight has no meaning here, got %q", call.text, shorten(a.weight.text))
	default:
		return true
	}
	return false
}

func (p *parameters) file(key string, a *arg) {
	for _, name := range p.names {
		if name == key {
			if p.byName[key] != nil {
				p.add(a.start(), a.end(), "%s: %s is given twice", p.call.text, key)
				return
			}
			p.byName[key] = a
			return
		}
	}
	if _, ok := percentText(key); ok && slices.Contains(p.names, "median") {
		p.meant["p99"] = true
		near := ""
		if digits, ok := strings.CutPrefix(key, "p99"); ok && strings.Trim(digits, "0123456789") == "" {
			near = "p99." + digits
		}
		p.addNear(a.key.off, a.key.end, near, "%s: want a quantile above p0 and below p100, got %q", p.call.text, shorten(key))
		return
	}
	near := nearest(key, p.known())
	p.meant[near] = true
	p.addNear(a.key.off, a.key.end, near, "%s: unknown parameter %q, want %s", p.call.text, shorten(key), strings.Join(p.known(), ", "))
}

func (p *parameters) has(name string) bool { return p.byName[name] != nil }

// word returns the parameter's value, reporting one that is missing or not a
// word.
func (p *parameters) word(name string) (token, bool) {
	a := p.byName[name]
	switch {
	case a == nil && (p.call.broken || p.meant[name]):
		return token{}, false
	case a == nil:
		p.add(p.call.off, p.call.end, "%s: %s is missing", p.call.text, name)
		return token{}, false
	}
	return p.plainWord(p.call, &a.value)
}

// plainWord returns the text of a value that must be a word.
func (f *faults) plainWord(call, n *node) (token, bool) {
	switch n.kind {
	case callKind:
		f.add(n.off, n.end, "%s: want a quantity, got %s(...)", call.text, shorten(n.text))
		return token{}, false
	case stringKind:
		f.add(n.off, n.end, "%s: want a quantity, got a string", call.text)
		return token{}, false
	}
	return n.token, true
}

// read reads a parameter's value; the zero value stands for one at fault.
func read[T any](p *parameters, name string, of func(token) T) (value T) {
	before := len(p.list)
	t, ok := p.word(name)
	if ok {
		value = of(t)
	}
	if !ok || len(p.list) > before {
		p.bad[name] = true
	}
	return value
}

func (p *parameters) quantity(name string, unit Unit) float64 {
	return read(p, name, func(t token) float64 { return p.faults.quantity(t, unit) })
}

func (p *parameters) number(name string) float64 { return read(p, name, p.faults.number) }

// signed reads a number that may be negative.
func (p *parameters) signed(name string) float64 {
	return read(p, name, func(t token) float64 {
		if rest, negative := strings.CutPrefix(t.text, "-"); negative && rest != "" && rest[0] != '-' {
			t.text = rest
			return -p.faults.number(t)
		}
		return p.faults.number(t)
	})
}

// ok says that nothing was wrong with the call so far.
func (p *parameters) ok() bool { return len(p.list) == p.begun && !p.call.broken }

// built places a constructor's faults at the parameters they name, and reports
// whether there were none in the call at all. After a fault of the text only
// those count that are about a parameter that was read well.
func (p *parameters) built(err error) bool {
	whole := p.ok()
	for _, e := range unjoin(err) {
		off, end, msg := p.call.off, p.call.end, e.Error()
		var pe *ParamError
		if errors.As(e, &pe) {
			a := p.byName[pe.Name]
			if !whole && (a == nil || p.bad[pe.Name]) {
				continue
			}
			if a != nil {
				off, end = a.start(), a.end()
			}
			if pe.Name == p.call.text {
				msg = pe.Msg
			}
		}
		p.add(off, end, "%s: %s", p.call.text, msg)
	}
	return p.ok()
}

func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}
