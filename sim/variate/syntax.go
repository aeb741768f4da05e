package variate

import (
	"strings"
	"unicode/utf8"
)

// The texts of distributions and arrivals have one syntax, read here to a
// tree; parsedist.go and parsearrivals.go give it meaning:
//
//	value = call | word | string
//	call  = name "(" [ arg { "," arg } ] ")"
//	arg   = [ word ( "=" | "*" ) ] value [ "for" word ]
//
// A word is a run of anything but blanks and ( ) , = * ".

const (
	textBytesMax = 64 << 10
	nestingMax   = 8
)

// token is a piece of the text, text[off:end] of it.
type token struct {
	off, end int
	text     string
}

type kind uint8

const (
	wordKind kind = iota
	stringKind
	callKind
)

// node is a value; of a call, token is the name and end that of the call.
type node struct {
	kind kind
	token
	end  int
	args []arg
	also []string // names of arguments that are read apart
	// broken says that some arguments could not be read, so that nothing is
	// to be said about missing ones.
	broken bool
}

// arg is an argument; key, weight and lasting are empty where not written.
type arg struct {
	key     token // key=value
	weight  token // weight*value
	value   node
	lasting token // value for lasting
}

// start is where the argument begins.
func (a *arg) start() int {
	switch {
	case a.key.text != "":
		return a.key.off
	case a.weight.text != "":
		return a.weight.off
	}
	return a.value.off
}

func (a *arg) end() int {
	if a.lasting.text != "" {
		return a.lasting.end
	}
	return a.value.end
}

// reader turns the text into a tree.
type reader struct {
	*faults
	pos   int
	ended bool // the text ended within a call, which is reported once
}

// readText reads the whole text; ok is false if there is no tree to look at.
func (f *faults) readText(want string) (node, bool) {
	text := f.text
	r := reader{faults: f}
	switch {
	case len(text) > textBytesMax:
		f.add(0, len(text), "the text has %d bytes, at most %d are read", len(text), textBytesMax)
		return node{}, false
	case !utf8.ValidString(text):
		f.add(0, len(text), "the text is not valid UTF-8")
		return node{}, false
	case strings.TrimSpace(text) == "":
		f.add(0, len(text), "the text is empty, want %s", want)
		return node{}, false
	}
	n, ok := r.value(1)
	if !ok {
		return n, false
	}
	if t := r.peek(); t.text != "" {
		f.add(t.off, len(text), "unexpected %q after the end of %s", shorten(text[t.off:]), shorten(n.text))
	}
	return n, true
}

// peek returns the next token, empty at the end of the text. A string's token
// includes its quotes, the closing one only if there is one.
func (r *reader) peek() token {
	for r.pos < len(r.text) && isBlank(r.text[r.pos]) {
		r.pos++
	}
	off := r.pos
	if off == len(r.text) {
		return token{off, off, ""}
	}
	end := off + 1
	switch c := r.text[off]; {
	case c == '"':
		if i := strings.IndexByte(r.text[end:], '"'); i >= 0 {
			end += i + 1
		} else {
			end = len(r.text)
		}
	case isMark(c):
	default:
		for end < len(r.text) && !isBlank(r.text[end]) && !isMark(r.text[end]) && r.text[end] != '"' {
			end++
		}
	}
	return token{off, end, r.text[off:end]}
}

func (r *reader) next() token {
	t := r.peek()
	r.pos = t.end
	return t
}

// accept takes the next token if it is the given one.
func (r *reader) accept(text string) bool {
	t := r.peek()
	if t.text != text {
		return false
	}
	r.pos = t.end
	return true
}

// word takes the next token if it is a word.
func (r *reader) word() (token, bool) {
	t := r.peek()
	if !isWord(t) {
		r.unexpected(t)
		return t, false
	}
	return r.next(), true
}

func (r *reader) unexpected(t token) {
	if t.text == "" {
		r.ended = true
		r.add(t.off, t.end, "the text ends too early")
		return
	}
	r.add(t.off, t.end, "unexpected %q", shorten(t.text))
}

func (r *reader) value(depth int) (node, bool) {
	if t := r.peek(); strings.HasPrefix(t.text, `"`) {
		r.next()
		if len(t.text) < 2 || !strings.HasSuffix(t.text, `"`) {
			r.add(t.off, t.end, "the string has no closing quote")
			return node{}, false
		}
		return node{kind: stringKind, token: token{t.off, t.end, t.text[1 : len(t.text)-1]}, end: t.end}, true
	}
	t, ok := r.word()
	if !ok {
		return node{}, false
	}
	if !r.accept("(") {
		return node{kind: wordKind, token: t, end: t.end}, true
	}
	if depth > nestingMax {
		r.add(t.off, t.end, "%s is nested %d deep, at most %d are read", shorten(t.text), depth, nestingMax)
		r.pos, r.ended = len(r.text), true
		return node{}, false
	}
	return r.call(t, depth)
}

// call reads the arguments after the opening parenthesis.
func (r *reader) call(name token, depth int) (node, bool) {
	n := node{kind: callKind, token: name}
	if r.accept(")") {
		n.end = r.pos
		return n, true
	}
	for {
		a, ok := r.arg(depth)
		if ok {
			if t := r.peek(); t.text != "," && t.text != ")" {
				if t.text != "" {
					r.add(t.off, t.end, "unexpected %q, want a comma or a closing parenthesis", shorten(t.text))
				}
				ok = false
			}
		}
		if ok {
			n.args = append(n.args, a)
		} else {
			n.broken = true
			r.skipArg()
		}
		switch t := r.next(); t.text {
		case ",":
		case ")":
			n.end = r.pos
			return n, true
		default:
			if !r.ended {
				r.add(name.off, t.end, "%s( has no closing parenthesis", shorten(name.text))
				r.ended = true
			}
			return n, false
		}
	}
}

// skipArg goes to the comma or parenthesis that ends a bad argument.
func (r *reader) skipArg() {
	for depth := 0; ; r.next() {
		switch r.peek().text {
		case "":
			return
		case "(":
			depth++
		case ")":
			if depth == 0 {
				return
			}
			depth--
		case ",":
			if depth == 0 {
				return
			}
		}
	}
}

func (r *reader) arg(depth int) (a arg, ok bool) {
	before := r.pos
	if t := r.peek(); isWord(t) {
		r.next()
		switch {
		case r.accept("="):
			a.key = t
		case r.accept("*"):
			a.weight = t
		default:
			r.pos = before
		}
	}
	if a.value, ok = r.value(depth + 1); !ok {
		return a, false
	}
	if r.accept("for") {
		a.lasting, ok = r.word()
	}
	return a, ok
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isMark(c byte) bool { return c == '(' || c == ')' || c == ',' || c == '=' || c == '*' }

func isWord(t token) bool { return t.text != "" && !isMark(t.text[0]) && t.text[0] != '"' }

// spell writes name(key=value, ...).
func spell(name string, keysAndValues ...string) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('(')
	for i := 0; i < len(keysAndValues); i += 2 {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(keysAndValues[i] + "=" + keysAndValues[i+1])
	}
	b.WriteByte(')')
	return b.String()
}

// spellList writes name(item, ...).
func spellList(name string, items []string) string {
	return name + "(" + strings.Join(items, ", ") + ")"
}
