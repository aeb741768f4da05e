package scenarios

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"brokersim/model"
)

//go:generate go test -run TestSchemaUpToDate -update .

//go:embed *.toml *.conf profiles/*.toml claims/*.toml
var bundle embed.FS

// faultsMost is how many faults one error names; the rest are counted.
const faultsMost = 1000

// Scenario is a checked scenario.
type Scenario struct {
	Name     string       // of the file, without folder and .toml
	Source   []byte       // the file as it is
	Config   model.Config // what a run takes; Config.Thresholds are the texts of Expects
	Expects  []Expect     // the thresholds, parsed, in order
	Hash     string       // 16 hex digits over the text, the files it names and the overrides
	Story    string
	Sets     []string // overrides, in order
	Warnings []string // what is read but has no effect

	filename string
	resolve  func(rel string) ([]byte, error)
}

// readRegular reads a file that a scenario names. Pipes and devices, which may
// never end, are refused.
func readRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readMost(f, fileMost)
}

func readMost(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("want at most %d bytes, the file is longer", most)
	}
	return b, err
}

// OwnRelease is the release that the file itself asks for, whatever the
// overrides say.
func (s *Scenario) OwnRelease() string {
	if len(s.Sets) == 0 {
		return s.Config.Broker.Release
	}
	own, err := Parse(s.filename, s.Source, s.resolve)
	if err != nil { // it needs its overrides
		return s.Config.Broker.Release
	}
	return own.Config.Broker.Release
}

// Named gives the bundled scenario of that name, or an error that says which
// there are.
func Named(name string) (*Scenario, error) {
	src, ok := Source(name)
	if !ok {
		msg := fmt.Sprintf("no bundled scenario %q", name)
		if near := nearest(name, Names()); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, fmt.Errorf("%s; bundled are %s", msg, strings.Join(Names(), ", "))
	}
	return Parse(name+".toml", src, func(rel string) ([]byte, error) { return bundle.ReadFile(path.Join(path.Dir(name), rel)) })
}

// Names lists the bundled scenarios in alphabetical order.
func Names() []string {
	entries, err := fs.Glob(bundle, "*.toml")
	if err != nil {
		panic("scenarios: " + err.Error()) // the pattern is fixed
	}
	for i, e := range entries {
		entries[i] = strings.TrimSuffix(e, ".toml")
	}
	slices.Sort(entries)
	return entries
}

// Bundled reports whether Named knows the name: one of Names, or claims/NAME of
// those that the claims are tested with.
func Bundled(name string) bool {
	if base, ok := strings.CutPrefix(name, "claims/"); ok && fs.ValidPath(base) && path.Base(base) == base {
		info, err := fs.Stat(bundle, name+".toml")
		return err == nil && info.Mode().IsRegular()
	}
	return slices.Contains(Names(), name)
}

// Source gives the text of a bundled scenario as it is.
func Source(name string) ([]byte, bool) {
	if !Bundled(name) {
		return nil, false
	}
	b, err := bundle.ReadFile(name + ".toml")
	return b, err == nil
}

// Parse decodes and checks the text of a scenario. The filename is for faults
// and for the name; resolve gives the content of the files that it names, and
// may be nil if there can be none. All faults are returned at once, as Faults.
func Parse(filename string, src []byte, resolve func(rel string) ([]byte, error)) (*Scenario, error) {
	return parse(filename, src, resolve, nil)
}

// Override returns the scenario with KEY=VALUE put into its text, checked
// anew: "broker.waitTimeMillsInSendQueue=500", "stall.0.for=300ms". Keys of
// arrays of tables take an index from 0; the index after the last adds one.
// VALUE is read as TOML, or as a string where it is none or a string is
// wanted; an empty one takes the key away, so that "machine.sweep_phase=" has
// the phase drawn. Faults name the override.
func (s *Scenario) Override(sets ...string) (*Scenario, error) {
	return parse(s.filename, s.Source, s.resolve, slices.Concat(s.Sets, sets))
}

func parse(filename string, src []byte, resolve func(rel string) ([]byte, error), sets []string) (*Scenario, error) {
	if len(src) > fileMost {
		return nil, Faults{{File: filename, Msg: fmt.Sprintf("want at most %d bytes, got %d", fileMost, len(src))}}
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	d := &decoder{file: filename, lines: linesOf(text), resolve: resolve}
	root, syntax, holed := parseTree(text)
	d.syntax(syntax)
	if root == nil {
		return nil, d.faults.sorted(filename, sets)
	}
	d.holed = holed
	for _, set := range sets {
		if f := override(root, set); f != nil {
			d.faults.add(*f)
		}
	}
	doc := d.decode(root)
	config, expects := d.config(doc, root)
	if d.found() > 0 {
		return nil, d.faults.sorted(filename, sets)
	}
	config.Name = strings.TrimSuffix(filepath.Base(filename), ".toml")
	return &Scenario{
		Name: config.Name, Source: src, Config: config, Expects: expects, Hash: hash(text, d.files, sets),
		Story: doc.Story, Sets: sets, Warnings: d.notes, filename: filename, resolve: resolve,
	}, nil
}

// hash covers all that a scenario is made of. Line ends don't count: a
// checkout may change them.
func hash(text string, files []file, sets []string) string {
	h := sha256.New()
	put := func(s string) {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		_ = binary.Write(h, binary.LittleEndian, uint64(len(s)))
		io.WriteString(h, s)
	}
	put(text)
	put(fmt.Sprint(len(files)))
	for _, f := range files {
		put(f.rel)
		put(string(f.content))
	}
	for _, set := range sets {
		put(set)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
