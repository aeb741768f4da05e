package scenarios

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"golang.org/x/tools/txtar"
)

// seeds gives f the bundled scenarios and the golden inputs.
func seeds(f *testing.F, add func(text string)) {
	for _, name := range Names() {
		src, _ := Source(name)
		add(string(src))
	}
	names, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		add(string(ar.Files[0].Data))
	}
}

// Whatever the bytes: no panic, and each fault stands within the text.
func FuzzParse(f *testing.F) {
	seeds(f, func(text string) { f.Add(text, "broker.waitTimeMillsInSendQueue=500") })
	f.Add("\x05", "0") // toml puts the fault at -1
	f.Add(minimal, "stall.0.for=300ms")
	f.Add(minimal, "producer.0={arrivals=\"x\"}")
	f.Fuzz(func(t *testing.T, text, set string) {
		resolve := func(rel string) ([]byte, error) { return []byte(text), nil }
		for _, sets := range [][]string{nil, {set}} {
			s, err := parse("f.toml", []byte(text), resolve, sets)
			if err == nil {
				if s.Config.Duration <= 0 || len(s.Config.Producers) == 0 || s.Config.Producers[0].Arrivals == nil {
					t.Fatalf("accepted without a duration or arrivals: %+v", s.Config)
				}
				continue
			}
			var faults Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("got %T %v, want Faults", err, err)
			}
			lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
			for _, fault := range faults {
				if fault.Set != "" || fault.File != "f.toml" || fault.Line == 0 {
					continue
				}
				if fault.Line < 1 || fault.Line > len(lines) || fault.Column < 1 || fault.Column > len(lines[fault.Line-1])+1 {
					t.Fatalf("fault outside the text: %+v", fault)
				}
			}
		}
	})
}

// Whatever toml decodes, the scanner finds a place for each key and element.
func FuzzPlaces(f *testing.F) {
	seeds(f, func(text string) { f.Add(text) })
	for _, text := range []string{
		"a.b.c = 1\na.b.d = 2\n[a.e]\nf = 1979-05-27 07:32:00\n",
		"\"a.b\".'c d' = [1, [2, {x = 'y', z.w = 3}], ]\n",
		"[[a]]\n[[a.b]]\nx = 1\n[[a.b]]\n[a.c]\ny = 2\n[[a]]\nz = '''\n''''\n",
		"a = \"\"\"x\\\"\"\"\"\"\nb = '' # c\r\n[ \"\\u0061b\" . c ] # d\r\n",
		"a = { # c\n b = [ # ]\n 1,\n ],\n}\n",
		"''''''", "\"\"\"\"\"\"", "'' = 1\n\"\" .a = 1\n",
		"a = \"\\x41\\e\\\\\"\nb='#'\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimPrefix(text, "\ufeff")
		if strings.IndexFunc(text, notText) >= 0 {
			return // refused before it is scanned
		}
		places, _, stop := scanPlaces(text)
		if stop != nil && stop.limit {
			return
		}
		var tree map[string]any
		if _, err := toml.Decode(text, &tree); err != nil {
			return
		}
		if stop != nil {
			t.Fatalf("toml decodes what the scanner stops at: %v at %d", stop, stop.offset)
		}
		covers(t, tree, places, "")
	})
}

// covers fails where a decoded value has no place, or a string's place is not
// that of its text.
func covers(t *testing.T, value any, p *place, path string) {
	if p == nil {
		t.Fatalf("%s has no place", path)
	}
	switch v := value.(type) {
	case map[string]any:
		if _, ok := v[""]; ok {
			return // toml mistakes arrays of arrays under empty keys for arrays of tables
		}
		for k, kid := range v {
			covers(t, kid, p.kid(k), join(path, k))
		}
		if len(p.kids) != len(v) {
			t.Fatalf("%s: %d places for %d keys", path, len(p.kids), len(v))
		}
	case []map[string]any:
		for i, item := range v {
			covers(t, item, p.item(i), join(path, "#"))
		}
	case []any:
		for i, item := range v {
			covers(t, item, p.item(i), join(path, "#"))
		}
		if len(p.items) != len(v) {
			t.Fatalf("%s: %d places for %d elements", path, len(p.items), len(v))
		}
	}
}
