package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"brokersim/sim/variate"
)

// decoder turns a tree into a document and keeps every fault that it meets.
type decoder struct {
	file    string
	lines   lines
	resolve func(rel string) ([]byte, error)
	holed   map[int]int // offsets of values that were at fault before the tree was built
	faults  faultList
	lax     bool     // texts and arrays may be empty: a profile, which is written by a program
	notes   []string // warnings
	files   []file   // what resolve gave
}

// at keeps a fault of a node, at an offset of the source.
func (d *decoder) at(n *node, offset int, format string, args ...any) *Fault {
	f := Fault{Key: n.path, Msg: fmt.Sprintf(format, args...), Set: n.set}
	if n.set == "" {
		f.File = d.file
		f.Line, f.Column = d.lines.position(offset)
	}
	return d.faults.add(f)
}

// take keeps the faults of a file that the scenario names.
func (d *decoder) take(err error) {
	var faults Faults
	if errors.As(err, &faults) {
		for _, f := range faults {
			d.faults.add(f)
		}
	}
}

// found is how many faults there are so far.
func (d *decoder) found() int { return len(d.faults.kept) + d.faults.more }

// near is the nearest of the names, which takes time, if anyone will read it.
func (d *decoder) near(name string, names []string) string {
	if d.faults.full() {
		return ""
	}
	return nearest(name, names)
}

// syntax keeps the faults that the text of the file has.
func (d *decoder) syntax(faults []faultAt) {
	for _, fault := range faults {
		f := Fault{File: d.file, Key: fault.key, Msg: fault.msg}
		f.Line, f.Column = d.lines.position(fault.offset)
		d.faults.add(f)
	}
}

// atValue keeps a fault of a value, atKey one of a key or a table.
func (d *decoder) atValue(n *node, format string, args ...any) *Fault {
	return d.at(n, n.valPos, format, args...)
}

func (d *decoder) atKey(n *node, format string, args ...any) *Fault {
	return d.at(n, n.keyPos, format, args...)
}

// inside keeps a fault at an offset inside a string value.
func (d *decoder) inside(n *node, offset int, format string, args ...any) *Fault {
	if n.text < 0 {
		return d.atValue(n, format, args...)
	}
	return d.at(n, n.text+offset, format, args...)
}

// note keeps a warning about a node.
func (d *decoder) note(n *node, format string, args ...any) {
	d.notes = append(d.notes, printable(n.path+": "+fmt.Sprintf(format, args...)))
}

// table decodes a table into a struct of document.go.
func (d *decoder) table(n *node, v reflect.Value) {
	if !n.isTable() {
		d.atValue(n, "want a table, got %s", n.kind())
		return
	}
	if p, ok := v.Addr().Interface().(interface{ put(*node) }); ok {
		p.put(n)
	}
	fields := map[string]int{}
	var names []string
	for i := range v.NumField() {
		if name, ok := v.Type().Field(i).Tag.Lookup("toml"); ok {
			fields[name] = i
			names = append(names, name)
		}
	}
	for _, name := range n.names() {
		if i, ok := fields[name]; ok {
			if kid := n.child(name); kid != nil {
				d.field(kid, v.Field(i), v.Type().Field(i).Tag)
			}
		} else {
			d.atKey(n.keys[name], "unknown key; known here are %s", strings.Join(names, ", ")).Near = cmp.Or(elsewhere(name), d.near(name, names))
		}
	}
	for _, name := range names {
		if v.Type().Field(fields[name]).Tag.Get("need") != "" && n.child(name) == nil {
			d.atKey(n, "the key %q is missing", name)
		}
	}
}

// field decodes one value.
func (d *decoder) field(n *node, v reflect.Value, tag reflect.StructTag) {
	if d.isHole(n) {
		hollow(n, v)
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = d.textOf(n, tag)
	case *int64:
		least, _ := strconv.ParseInt(tag.Get("min"), 10, 64)
		most, _ := strconv.ParseInt(tag.Get("max"), 10, 64)
		*p = d.integer(n, least, most)
	case *float64:
		*p = d.number(n, cmp.Or(tag.Get("want"), "a finite number"))
	case *duration:
		p.node = n
		text, ok := d.quantity(n, `a duration with its unit such as "10s"`)
		if ok {
			v, err := variate.ParseDuration(text)
			p.v, ok = v, d.parsed(n, err)
		}
		p.bad = !ok
	case *dist:
		p.node = n
		unit, example := variate.Duration, "250ms"
		if tag.Get("unit") == "bytes" {
			unit, example = variate.Bytes, "1KiB"
		}
		if text, ok := d.quantity(n, fmt.Sprintf("a quantity with its unit such as %q, or a distribution", example)); ok {
			v, err := variate.ParseDist(text, unit)
			if d.parsed(n, err) {
				p.v = v
			}
		}
	case *arrivals:
		p.node = n
		if text, ok := d.quantity(n, "an arrival process such as \"poisson(rate=43/s)\""); ok {
			p.v = d.arrivals(n, text)
		}
	case *bool:
		b, ok := n.value.(bool)
		if !ok {
			d.atValue(n, "want true or false, got %s", n.kind())
		}
		*p = b
	case *size:
		d.size(n, p, "", `a size with its unit such as "64MiB"`)
	case *byteRate:
		d.size(n, &p.size, "/s", `a size per second such as "120MB/s"`)
	case *rate:
		p.node = n
		if text, ok := d.quantity(n, `a rate such as "20000/s"`); ok {
			v, err := variate.ParseRate(text)
			d.parsed(n, err)
			p.v = v
		}
	case *brokerTable:
		if p.node = n; !n.isTable() {
			d.atValue(n, "want a table, got %s", n.kind())
			p.node = nil
		}
	default:
		if v.Kind() == reflect.Slice {
			d.slice(n, v, tag)
		} else {
			d.table(n, v)
		}
	}
}

// hollow marks a value at fault, of which that was said.
func hollow(n *node, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *duration:
		p.node, p.bad = n, true
	case *dist:
		p.node = n
	case *arrivals:
		p.node = n
	case *size:
		p.node, p.bad = n, true
	case *byteRate:
		p.node, p.bad = n, true
	case *rate:
		p.node = n
	case *float64:
		*p = math.NaN()
	}
}

// size decodes a number of bytes, followed by a suffix.
func (d *decoder) size(n *node, p *size, suffix, want string) {
	p.node = n
	text, ok := d.quantity(n, want)
	if ok {
		head, has := strings.CutSuffix(strings.TrimSpace(text), suffix)
		if ok = has; !has {
			d.inside(n, 0, "want %s, got %q", want, clip(text))
		} else {
			v, err := variate.ParseBytes(head)
			p.v, ok = v, d.parsed(n, err)
		}
	}
	p.bad = !ok
}

// isHole reports a value whose fault is known already.
func (d *decoder) isHole(n *node) bool {
	_, hole := d.holed[n.valPos]
	return hole && n.set == "" && n.value != nil
}

// slice decodes an array of tables.
func (d *decoder) slice(n *node, v reflect.Value, tag reflect.StructTag) {
	switch {
	case !n.array:
		d.atValue(n, "want an array of tables, written [[%s]], got %s", n.path, n.kind())
		return
	case len(n.items) == 0 && !d.lax:
		or := ", or no such key"
		if tag.Get("need") != "" {
			or = ""
		}
		what := "[[" + n.path + "]]"
		if strings.Contains(n.path, ".") {
			what = "element"
		}
		d.atKey(n, "want at least one %s%s", what, or)
		return
	case len(n.items) > tablesMost:
		d.atValue(n, "want at most %d tables, got %d", tablesMost, len(n.items))
		return
	}
	for _, item := range n.items {
		element := reflect.New(v.Type().Elem()).Elem()
		d.table(item, element)
		v.Set(reflect.Append(v, element))
	}
}

// str is the text of a string value. An override's is its text as it was
// written, whatever else it could be.
func (d *decoder) str(n *node) (string, bool) {
	if s, ok := n.value.(string); ok {
		return s, true
	}
	if n.set != "" && n.value != nil {
		return strings.TrimSpace(n.raw), true
	}
	return "", false
}

// textOf decodes a string: one of the list in the tag one, or free text, on one
// line unless the tag lines allows more.
func (d *decoder) textOf(n *node, tag reflect.StructTag) string {
	list := tag.Get("one")
	s, ok := d.str(n)
	if !ok {
		d.atValue(n, "want a string, got %s", n.kind())
		return ""
	}
	if list == "" {
		if !d.lax && strings.TrimSpace(s) == "" {
			d.atValue(n, "want a text, or no such key, got the string %q", clip(s))
			return ""
		}
		return d.line(n, s, tag.Get("lines") != "")
	}
	if names := strings.Split(list, ","); !slices.Contains(names, s) {
		d.inside(n, 0, "want one of %s, got %q", strings.Join(names, ", "), clip(s)).Near = nearest(s, names)
		return ""
	}
	return s
}

// line refuses control characters, which a terminal might obey.
func (d *decoder) line(n *node, s string, lines bool) string {
	for _, r := range s {
		if unicode.IsControl(r) && !(lines && (r == '\n' || r == '\r' || r == '\t')) {
			d.atValue(n, "want a text without control characters, got %q in it", r)
			return ""
		}
	}
	return s
}

// integer decodes a whole number from least to most; it gives least for one
// at fault.
func (d *decoder) integer(n *node, least, most int64) int64 {
	i, ok := n.value.(int64)
	if !ok {
		d.atValue(n, "want %s, got %s", bounds(least, most), n.kind())
		return least
	}
	if i < least || i > most {
		d.atValue(n, "want %s, got %d", bounds(least, most), i)
		return least
	}
	return i
}

// bounds spells a whole number with its bounds.
func bounds(least, most int64) string {
	switch most {
	case least:
		return fmt.Sprintf("%d", least)
	case waitMsMost:
		return fmt.Sprintf("a whole number of ms from %d to %d (1000 h)", least, most)
	case int64(durationMost):
		return fmt.Sprintf("a whole number of ns from %d to %d (1000 h)", least, most)
	default:
		return fmt.Sprintf("a whole number from %d to %d", least, most)
	}
}

// number decodes a finite number, wanted as it says.
func (d *decoder) number(n *node, want string) float64 {
	switch v := n.value.(type) {
	case int64:
		return float64(v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	d.atValue(n, "want %s, got %s", want, n.kind())
	return math.NaN()
}

// quantity is the text of a quantity.
func (d *decoder) quantity(n *node, want string) (string, bool) {
	s, ok := d.str(n)
	if !ok {
		f := d.atValue(n, "want %s, got %s", want, n.kind())
		switch n.value.(type) {
		case int64, float64:
			f.Msg += " without a unit"
		}
		return "", false
	}
	if !utf8.ValidString(s) || len(s) > textMost {
		d.atValue(n, "want at most %d bytes of UTF-8, got %d bytes", textMost, len(s))
		return "", false
	}
	return s, true
}

// parsed keeps the faults that a parser of variate found in n; it reports
// whether there were none.
func (d *decoder) parsed(n *node, err error) bool {
	if err == nil {
		return true
	}
	all := parseErrors(err)
	for _, pe := range all {
		d.inside(n, pe.Offset, "%s", pe.Msg).Near = pe.Near
	}
	if len(all) == 0 {
		d.atValue(n, "%s", firstLine(err.Error()))
	}
	return false
}

// parseErrors are the faults of a text that err is made of.
func parseErrors(err error) variate.ParseErrors {
	var all variate.ParseErrors
	if errors.As(err, &all) {
		return all
	}
	var one *variate.ParseError
	if errors.As(err, &one) {
		return variate.ParseErrors{one}
	}
	return nil
}

// arrivals decodes an arrival process, with the file that it may name.
func (d *decoder) arrivals(n *node, text string) variate.Arrivals {
	a, err := variate.ParseArrivals(text)
	if !d.parsed(n, err) {
		return nil
	}
	trace, ok := a.(variate.TraceFile)
	if !ok {
		return a
	}
	content, ok := d.fetch(n, trace.Path)
	if !ok {
		return nil
	}
	at, err := ParseArrivals(trace.Path, content) // gzipped or not
	if d.take(err); err != nil {
		return nil
	}
	resolved, err := trace.Resolve(at)
	if err != nil {
		d.atValue(n, "%s", err)
		return nil
	}
	return resolved
}
