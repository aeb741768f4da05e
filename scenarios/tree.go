package scenarios

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// node is one value of a scenario, with its place: what toml decodes, joined
// with what scanPlaces finds and what overrides change.
type node struct {
	value  any // string, int64, float64, bool or time.Time; nil for a table or an array
	keys   map[string]*node
	items  []*node
	array  bool
	path   string // "stall.0.for"
	keyPos int    // offset of the key
	valPos int    // offset of the value
	text   int    // offset of the first byte inside a plain string, or -1
	set    string // KEY=VALUE of the override that it comes from, or ""
	raw    string // VALUE as it was written
	unset  bool   // an override took it away, or would have: only its name is of interest
}

// isTable reports whether n is a table.
func (n *node) isTable() bool { return n.value == nil && !n.array }

// child is the value of a key, or nil.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	if kid := n.keys[key]; kid != nil && !kid.unset {
		return kid
	}
	return nil
}

// names are the keys of a table in order of position.
func (n *node) names() []string {
	names := make([]string, 0, len(n.keys))
	for k := range n.keys {
		names = append(names, k)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := n.keys[a].keyPos - n.keys[b].keyPos; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// kind says what n is, with its value, for "got ..." in a message.
func (n *node) kind() string {
	switch v := n.value.(type) {
	case nil:
		if n.array {
			return "an array"
		}
		return "a table"
	case string:
		if n.set != "" { // VALUE, which need not have been meant as one
			return strconv.Quote(clip(v))
		}
		return "the string " + strconv.Quote(clip(v))
	case int64:
		return fmt.Sprintf("the integer %d", v)
	case float64:
		return "the number " + strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case time.Time:
		return "a date or time"
	default:
		return fmt.Sprintf("%v", v)
	}
}

// clip shortens a value for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// build joins a decoded value with its place. A value without a place takes
// its parent's.
func build(value any, p *place, parent *node, path string) *node {
	n := &node{path: path, text: -1}
	if p != nil {
		n.keyPos, n.valPos, n.text = p.key, p.val, p.text
	} else if parent != nil {
		n.keyPos, n.valPos = parent.keyPos, parent.valPos
	}
	switch v := value.(type) {
	case map[string]any:
		n.keys = make(map[string]*node, len(v))
		for k, kid := range v {
			n.keys[k] = build(kid, p.kid(k), n, join(path, k))
		}
	case []map[string]any:
		n.array = true
		for i, item := range v {
			n.items = append(n.items, build(item, p.item(i), n, join(path, strconv.Itoa(i))))
		}
	case []any:
		n.array = true
		for i, item := range v {
			n.items = append(n.items, build(item, p.item(i), n, join(path, strconv.Itoa(i))))
		}
	default:
		n.value = v
	}
	return n
}

func join(path, key string) string {
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || key == "" {
		key = strconv.Quote(clip(key))
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// parseTree decodes src. Where toml stops at one value, at one line, or at a key
// or table that is there twice, that is kept as a fault and the rest is decoded
// without it, so that its faults come to light too. The tree is nil if nothing more can be
// said. Values at fault are 0 in it; holed has their offsets, with the index of
// the fault.
func parseTree(src string) (root *node, faults []faultAt, holed map[int]int) {
	// toml would pass over a second mark, or one of UTF-16, and count its
	// positions from there.
	if bad := strings.IndexFunc(src, notText); bad >= 0 {
		return nil, []faultAt{{offset: bad, msg: "want UTF-8 with at most one byte order mark, at its beginning"}}, nil
	}
	holed = map[int]int{}
	twice := map[string]string{} // tables that are there again, by the name that they got
	mended := -1                 // where the last line that was mended begins
	for {
		places, pairs, stop := scanPlaces(src)
		if stop != nil && stop.limit {
			return nil, append(faults, faultAt{offset: stop.offset, msg: stop.msg}), nil
		}
		var tree map[string]any
		_, err := toml.Decode(src, &tree)
		if err == nil {
			root = build(tree, places, nil, "")
			for name, table := range twice {
				root.join(name, table)
			}
			root.nameHoles(faults, holed)
			return root, faults, holed
		}
		fault := faultAt{msg: firstLine(err.Error())}
		var pe toml.ParseError
		if errors.As(err, &pe) {
			fault = faultAt{offset: max(0, min(pe.Position.Start, len(src))), msg: firstLine(pe.Message)}
		}
		hole, ok := holeFor(pairs, fault.offset)
		if _, again := holed[hole.val]; ok && again && len(faults) < syntaxMost {
			if src, ok = hole.fill(src); ok { // what follows a value at fault
				continue
			}
			return nil, faults, nil
		}
		if !ok || len(faults) == syntaxMost {
			line := lineAt(src, fault.offset)
			if line.from <= mended && len(faults) < syntaxMost {
				return nil, faults, nil // it did not help
			}
			mended = line.from
			if name, table, rest := line.again(src); rest != "" && strings.Contains(fault.msg, "already") {
				faults = append(faults, faultAt{offset: fault.offset, msg: fault.msg, key: table})
				twice[name], src = table, rest
				continue
			}
			faults = append(faults, faultAt{offset: fault.offset, msg: "not TOML: " + fault.msg})
			at, rest := line.mend(src)
			if rest == "" || len(faults) > syntaxMost {
				return nil, faults, nil
			}
			holed[at], src = len(faults)-1, rest
			continue
		}
		if bare := src[hole.val:hole.end]; hole.key >= 0 {
			fault.key = clip(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(src[hole.key:hole.val]), "=")))
		} else if bare != "" && !strings.ContainsAny(bare[:1], "\"'[{") {
			fault.offset = hole.val
			if strings.ContainsAny(bare, "abcdefghijklmnopqrstuvwxyz/%") {
				fault.msg = "want quotes around a text, or a quantity with its unit"
			} else if strings.HasSuffix(fault.msg, "is out of range for int64") {
				fault.msg = fmt.Sprintf("want a whole number of at most %d", math.MaxInt64)
			}
			if got := clip(strings.TrimSpace(bare)); !strings.Contains(fault.msg, got) {
				fault.msg += ", got " + got
			}
		}
		faults = append(faults, fault)
		src, ok = hole.fill(src)
		if !ok {
			return nil, faults, nil
		}
		if hole.key < 0 {
			holed[hole.val] = len(faults) - 1
		}
	}
}

// notText reports a byte order mark, and what a byte that is not UTF-8 decodes
// to.
func notText(r rune) bool { return r == '\ufeff' || r == utf8.RuneError }

// syntaxMost is how many faults of syntax are looked for.
const syntaxMost = 20

// holeFor finds the innermost pair that an offset stands in. Its key is -1 if
// the offset stands in the value.
func holeFor(pairs []pair, offset int) (pair, bool) {
	for _, p := range pairs { // inner pairs end before outer ones
		if offset < p.key || offset > p.end {
			continue
		}
		if offset >= p.val {
			p.key = -1
		}
		return p, true
	}
	return pair{}, false
}

// fill replaces the value by 0, or all of the pair by blanks; lines stay where
// they are. It is false if that changes nothing.
func (p pair) fill(src string) (string, bool) {
	from, with := p.key, ""
	if p.key < 0 {
		from, with = p.val, "0"
	}
	old := src[from:p.end]
	if len(old) < len(with) {
		return src, false
	}
	blank := []byte(with + strings.Repeat(" ", len(old)-len(with)))
	if strings.Contains(old, "\n") { // blanks can't stand for lines inside a value
		return src, false
	}
	filled := src[:from] + string(blank) + src[p.end:]
	return filled, filled != src
}

// span is a line of the source, without its end.
type span struct{ from, to int }

func lineAt(src string, offset int) span {
	from := strings.LastIndexByte(src[:offset], '\n') + 1
	to := strings.IndexByte(src[offset:], '\n')
	if to < 0 {
		return span{from, len(src)}
	}
	return span{from, offset + to}
}

var (
	headerForm = regexp.MustCompile(`^\s*\[\[?\s*([A-Za-z0-9_-]+)\s*\]\]?\s*(?:#.*)?$`)
	entryForm  = regexp.MustCompile(`^\s*[A-Za-z0-9_-]+([ \t]*[=:][ \t]*|[ \t]+)[^ \t=]`)
)

// again gives the table of a header a name that no other has, of the same
// length; rest is "" where the line is no header.
func (l span) again(src string) (name, table, rest string) {
	m := headerForm.FindStringSubmatchIndex(src[l.from:l.to])
	if m == nil {
		return "", "", ""
	}
	from, to := l.from+m[2], l.from+m[3]
	for c := 'a'; c <= 'z'; c++ {
		name = strings.Repeat("z", to-from-1) + string(c)
		if !strings.Contains(src, name) {
			return name, src[from:to], src[:from] + name + src[to:]
		}
	}
	return "", "", ""
}

// mend makes of a line that begins like key = value one of that key with the
// value 0, and says where that is; rest is "" where it doesn't.
func (l span) mend(src string) (at int, rest string) {
	m := entryForm.FindStringSubmatchIndex(src[l.from:l.to])
	if m == nil {
		return 0, ""
	}
	from := l.from + m[2]
	if l.to-from < 2 {
		return 0, ""
	}
	return from + 1, src[:from] + "=0" + strings.Repeat(" ", l.to-from-2) + src[l.to:]
}

// join puts the keys of a table that was there again, under another name, into
// the first of its name, or makes it the last of an array.
func (n *node) join(name, table string) {
	again, first := n.keys[name], n.keys[table]
	delete(n.keys, name)
	switch {
	case again == nil || first == nil || again.array:
	case first.array:
		again.rename(name, join(table, strconv.Itoa(len(first.items))))
		first.items = append(first.items, again)
	default:
		again.rename(name, table)
		for key, kid := range again.keys {
			if _, ok := first.keys[key]; !ok && first.keys != nil {
				first.keys[key] = kid
			}
		}
	}
}

// rename gives all paths in n that begin with one name another.
func (n *node) rename(from, to string) {
	n.path = to + strings.TrimPrefix(n.path, from)
	for _, kid := range n.keys {
		kid.rename(from, to)
	}
	for _, item := range n.items {
		item.rename(from, to)
	}
}

// faultAt is a fault at an offset of the source.
type faultAt struct {
	offset int
	msg    string
	key    string
}

// nameHoles gives the faults of values the path of their key.
func (n *node) nameHoles(faults []faultAt, holed map[int]int) {
	for _, kid := range n.keys {
		if i, ok := holed[kid.valPos]; ok && kid.value != nil {
			faults[i].key = kid.path
		}
		kid.nameHoles(faults, holed)
	}
	for _, item := range n.items {
		item.nameHoles(faults, holed)
	}
}

// firstLine makes a message of toml's one of ours.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = strings.TrimSuffix(s, ".")
	if len(s) > 1 && strings.ToLower(s[1:2]) == s[1:2] { // not TOML
		s = strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// override puts KEY=VALUE into the tree, making tables that are not there and
// at most the next element of an array of tables. VALUE is read as TOML if it
// is TOML, else as a string; where it is empty, the key is taken away.
func override(root *node, set string) *Fault {
	fault := func(format string, args ...any) *Fault { return &Fault{Set: set, Msg: fmt.Sprintf(format, args...)} }
	key, raw, ok := strings.Cut(set, "=")
	if !ok {
		return fault("want KEY=VALUE, or KEY= to unset")
	}
	parts := strings.Split(strings.TrimSpace(key), ".")
	if len(parts) > depthMost {
		return fault("key has %d parts, most %d", len(parts), depthMost)
	}
	n := root
	for i, part := range parts {
		if part == "" {
			return fault("want KEY=VALUE with KEY as in broker.release or stall.0.for")
		}
		last := i == len(parts)-1
		if last && n.array && strings.TrimSpace(raw) == "" {
			return fault("%s: a table of an array can't be unset, only its keys can", join(n.path, part))
		}
		next, err := n.step(part, last, set)
		if err != nil {
			f := fault("%s", err)
			if n.array && last && strings.Trim(part, "0123456789-") != "" { // a key, and no index before it
				f.Near = strings.Join(slices.Insert(parts, i, "0"), ".")
			}
			return f
		}
		n = next
	}
	if strings.TrimSpace(raw) == "" {
		*n = node{path: n.path, text: -1, unset: true}
	} else {
		*n = *build(overrideValue(raw), nil, nil, n.path)
	}
	n.mark(set, raw)
	return nil
}

// elsewhere finds a key by its name alone: the dotted path of the first table
// of document that has it, or "".
func elsewhere(name string) string {
	if slices.Contains(brokerNames, name) {
		return "broker." + name
	}
	t := reflect.TypeFor[document]()
	for i := range t.NumField() {
		f := t.Field(i)
		path, table := f.Tag.Get("toml"), f.Type
		if table.Kind() == reflect.Slice {
			path, table = path+".0", table.Elem()
		}
		for j := 0; table.Kind() == reflect.Struct && j < table.NumField(); j++ {
			if table.Field(j).Tag.Get("toml") == name {
				return path + "." + name
			}
		}
	}
	return ""
}

// mark makes n, and all that is in it, known as put there by an override.
func (n *node) mark(set, raw string) {
	n.set, n.raw = set, raw
	for _, kid := range n.keys {
		kid.mark(set, raw)
	}
	for _, item := range n.items {
		item.mark(set, raw)
	}
}

// step goes from n to its child of that name, made by set if need be.
func (n *node) step(part string, last bool, set string) (*node, error) {
	path := join(n.path, part)
	switch {
	case n.array:
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i > len(n.items) {
			return nil, fmt.Errorf("%s: want an index of %s, 0 to %d (%d adds one)", path, n.path, len(n.items), len(n.items))
		}
		if i == len(n.items) {
			n.items = append(n.items, &node{keys: map[string]*node{}, path: path, text: -1, set: set})
		}
		return n.items[i], nil
	case n.isTable():
		kid := n.keys[part]
		if kid == nil || kid.unset {
			kid = &node{keys: map[string]*node{}, path: path, text: -1, set: set}
			if kid.array = !last && arrayKeys[path]; kid.array {
				kid.keys = nil
			}
			if n.keys == nil {
				n.keys = map[string]*node{}
			}
			n.keys[part] = kid
		}
		return kid, nil
	default:
		return nil, fmt.Errorf("%s: %s is %s, not a table", path, n.path, n.kind())
	}
}

// arrayKeys are the top-level keys that hold arrays of tables.
var arrayKeys = map[string]bool{"neighbour": true, "stall": true, "producer": true, "load": true, "threshold": true}

// overrideValue reads VALUE of --set.
func overrideValue(raw string) any {
	text := strings.TrimSpace(raw)
	if strings.ContainsAny(text, "\n\r#") {
		return raw
	}
	if _, _, stop := scanPlaces("v=" + text); stop != nil {
		return text
	}
	var v map[string]any
	if _, err := toml.Decode("v="+text, &v); err != nil || len(v) != 1 {
		return text
	}
	return v["v"]
}
