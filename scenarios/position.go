package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// depthMost is how deep tables and arrays may nest, and how many parts a key
// may have: far beyond any scenario, and a guard against stack exhaustion.
const depthMost = 32

// place is where one key, table or element stands in the source: a tree with
// the shape of the decoded file. toml's decoder gives positions in its syntax
// errors only, so that faults of meaning need this second, lenient look.
type place struct {
	key   int // offset of the key (of the value, for an element of an array)
	val   int // offset of the value; of the table's header for a table
	text  int // offset of the first byte inside a string whose bytes stand as they are; or -1
	kids  map[string]*place
	items []*place
}

func (p *place) kid(name string) *place {
	if p == nil {
		return nil
	}
	return p.kids[name]
}

func (p *place) item(i int) *place {
	if p == nil || i >= len(p.items) {
		return nil
	}
	return p.items[i]
}

// add returns the child of that name, made at offset if it is new.
func (p *place) add(name string, offset int) *place {
	if k, ok := p.kids[name]; ok {
		return k
	}
	if p.kids == nil {
		p.kids = map[string]*place{}
	}
	k := &place{key: offset, val: offset, text: -1}
	p.kids[name] = k
	return k
}

// keyPart is one part of a dotted key.
type keyPart struct {
	name   string
	offset int
}

// scanner finds places. It takes every valid TOML file and some invalid ones:
// whether a file is valid is for toml's decoder to say.
type scanner struct {
	src   string
	at    int
	pairs []pair
}

// pair is where one key = value stands, as offsets.
type pair struct{ key, val, end int }

// scanError stops a scan: at an offset, something that can't be followed.
type scanError struct {
	offset int
	msg    string
	limit  bool // a limit of ours, not a fault of syntax
}

func (e *scanError) Error() string { return e.msg }

// scanPlaces returns the places of src and its pairs in order of their ends,
// as far as it got if err is not nil.
func scanPlaces(src string) (root *place, pairs []pair, err *scanError) {
	root = &place{text: -1}
	s := &scanner{src: src}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*scanError)
			if !ok {
				panic(r)
			}
			err = e
		}
		pairs = s.pairs
	}()
	table := root
	for {
		s.skip(true)
		if s.at == len(s.src) {
			return root, nil, nil
		}
		if s.src[s.at] == '[' {
			table = s.header(root)
		} else {
			s.pair(table, 0)
		}
		s.skip(false)
		if s.at < len(s.src) && s.src[s.at] != '\n' {
			s.fail("want the end of the line")
		}
	}
}

func (s *scanner) fail(format string, args ...any) {
	panic(&scanError{offset: s.at, msg: fmt.Sprintf(format, args...)})
}

func (s *scanner) deep(depth int) {
	if depth > depthMost {
		panic(&scanError{offset: s.at, limit: true, msg: fmt.Sprintf("nested deeper than %d", depthMost)})
	}
}

// skip passes blanks and a comment; with lines, any number of lines of them.
func (s *scanner) skip(lines bool) {
	for s.at < len(s.src) {
		switch c := s.src[s.at]; {
		case c == ' ', c == '\t', c == '\r', c == '\n' && lines:
			s.at++
		case c == '#':
			if i := strings.IndexByte(s.src[s.at:], '\n'); i >= 0 {
				s.at += i
			} else {
				s.at = len(s.src)
			}
		default:
			return
		}
	}
}

func (s *scanner) accept(c byte) bool {
	if s.at < len(s.src) && s.src[s.at] == c {
		s.at++
		return true
	}
	return false
}

// header reads [a.b] or [[a.b]] and returns the table that it opens.
func (s *scanner) header(root *place) *place {
	start := s.at
	s.at++
	array := s.accept('[')
	parts := s.key()
	if !s.accept(']') || array && !s.accept(']') {
		s.fail("want ]")
	}
	table := root
	for i, part := range parts {
		table = table.add(part.name, part.offset)
		if last := i == len(parts)-1; last && array {
			table.items = append(table.items, &place{key: part.offset, val: start, text: -1})
		} else if last && len(table.items) == 0 {
			table.key, table.val = part.offset, start
		}
		if n := len(table.items); n > 0 {
			table = table.items[n-1]
		}
	}
	return table
}

// pair reads key = value into table.
func (s *scanner) pair(table *place, depth int) {
	s.skip(false)
	at := pair{key: s.at}
	parts := s.key()
	if !s.accept('=') {
		s.fail("want =")
	}
	s.skip(false)
	s.deep(depth + len(parts))
	for _, part := range parts {
		table = table.add(part.name, part.offset)
	}
	table.key = parts[len(parts)-1].offset
	at.val = s.at
	s.value(table, depth+len(parts))
	at.end = s.at
	s.pairs = append(s.pairs, at)
}

// key reads a dotted key and the blanks after it.
func (s *scanner) key() []keyPart {
	var parts []keyPart
	for {
		s.skip(false)
		part := keyPart{offset: s.at}
		switch {
		case s.at == len(s.src):
			s.fail("want a key")
		case strings.HasPrefix(s.src[s.at:], `"""`), strings.HasPrefix(s.src[s.at:], "'''"):
			s.fail("want a key on one line")
		case s.src[s.at] == '"':
			start := s.at
			if text := s.str(); text >= 0 {
				part.name = s.src[text : s.at-1]
			} else {
				part.name = unescape(s.src[start+1 : s.at-1])
			}
		case s.src[s.at] == '\'':
			text := s.str()
			part.name = s.src[text : s.at-1]
		default:
			for s.at < len(s.src) && !strings.ContainsRune(" \t\r\n.=[]{},#\"'", rune(s.src[s.at])) {
				s.at++
			}
			if part.name = s.src[part.offset:s.at]; part.name == "" {
				s.fail("want a key")
			}
		}
		parts = append(parts, part)
		s.deep(len(parts))
		s.skip(false)
		if !s.accept('.') {
			return parts
		}
	}
}

// value reads a value into p.
func (s *scanner) value(p *place, depth int) {
	s.deep(depth)
	p.val = s.at
	if s.at == len(s.src) {
		s.fail("want a value")
	}
	switch s.src[s.at] {
	case '"', '\'':
		p.text = s.str()
	case '[':
		s.at++
		for {
			s.skip(true)
			if s.accept(']') {
				return
			}
			item := &place{key: s.at, text: -1}
			p.items = append(p.items, item)
			s.value(item, depth+1)
			s.skip(true)
			if !s.accept(',') && (s.at == len(s.src) || s.src[s.at] != ']') {
				s.fail("want , or ]")
			}
		}
	case '{':
		s.at++
		for {
			s.skip(true)
			if s.accept('}') {
				return
			}
			s.pair(p, depth+1)
			s.skip(true)
			if !s.accept(',') && (s.at == len(s.src) || s.src[s.at] != '}') {
				s.fail("want , or }")
			}
		}
	default:
		for s.at < len(s.src) && !strings.ContainsRune(",]}#\n", rune(s.src[s.at])) {
			s.at++
		}
	}
}

// str passes a string of any of the four kinds. It returns the offset of its
// first byte if it is on one line with no escape, else -1.
func (s *scanner) str() int {
	quote := s.src[s.at]
	if long := strings.Repeat(string(quote), 3); strings.HasPrefix(s.src[s.at:], long) {
		s.at += 3
		for !strings.HasPrefix(s.src[s.at:], long) {
			s.pass(quote, true)
		}
		s.at += 3
		for s.accept(quote) { // two may stand just before the closing three; toml takes more
		}
		return -1
	}
	s.at++
	text := s.at
	for s.at == len(s.src) || s.src[s.at] != quote {
		if s.pass(quote, false) {
			text = -1
		}
	}
	s.at++
	return text
}

// pass passes one byte of a string, or an escape; it reports an escape.
func (s *scanner) pass(quote byte, lines bool) (escape bool) {
	if s.at == len(s.src) || s.src[s.at] == '\n' && !lines {
		s.fail("string without end")
	}
	escape = quote == '"' && s.src[s.at] == '\\'
	s.at++
	if escape {
		if s.at == len(s.src) {
			s.fail("string without end")
		}
		s.at++
	}
	return escape
}

// unescape resolves the escapes of a quoted key.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := 0
		switch s[i] {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'e':
			b.WriteByte(0x1b)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			b.WriteByte(s[i])
		}
		if digits > 0 && i+digits < len(s) {
			if r, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32); err == nil && r <= utf8.MaxRune {
				b.WriteRune(rune(r))
				i += digits
			}
		}
	}
	return b.String()
}

// lines holds the offset of the start of each line of a source.
type lines []int

func linesOf(src string) lines {
	at := lines{0}
	for i := range len(src) {
		if src[i] == '\n' {
			at = append(at, i+1)
		}
	}
	return at
}

// position turns an offset into a line and a column, both from 1, in bytes.
func (at lines) position(offset int) (line, column int) {
	line, exact := slices.BinarySearch(at, offset)
	if exact {
		line++
	}
	return line, offset - at[line-1] + 1
}
