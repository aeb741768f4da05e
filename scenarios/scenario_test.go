package scenarios

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A golden archive in testdata/faults is a scenario (in.toml), the files that
// it names, overrides (sets, one a line) and what comes of it (want).
func TestFaults(t *testing.T) {
	names, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{}
			for _, f := range ar.Files {
				files[f.Name] = f.Data
			}
			got := outcome(files)
			if *update {
				ar.Files = slices.DeleteFunc(ar.Files, func(f txtar.File) bool { return f.Name == "want" })
				ar.Files = append(ar.Files, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(files["want"]), got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// outcome prints the faults, or ok, and the warnings.
func outcome(files map[string][]byte) string {
	resolve := func(rel string) ([]byte, error) {
		if b, ok := files[rel]; ok {
			return b, nil
		}
		return nil, &fs.PathError{Op: "open", Path: "dir/" + rel, Err: fs.ErrNotExist}
	}
	src := files["in.toml"]
	if crlf, ok := files["crlf.toml"]; ok {
		src = bytes.ReplaceAll(crlf, []byte("\n"), []byte("\r\n"))
	}
	var sets []string
	for _, set := range strings.Split(strings.TrimSpace(string(files["sets"])), "\n") {
		if set != "" {
			sets = append(sets, set)
		}
	}
	s, err := parse("in.toml", src, resolve, sets)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	b.WriteString("ok\n")
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func TestBundled(t *testing.T) {
	want := strings.Fields(`burst closed-loop cold-reads delete-0400 file-roll freeze gc-pause incident-208ms incident-208ms-pagecache
		neighbours neighbours-alone nic-full overload pool pool-sync-master queue-full quiet raised-limits retry-storm stall-1200ms
		stall-500ms sweeper-late sync-flush sync-master threads threads-32 two-brokers-one-sick wait-limit`)
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s, err := Named(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != name || s.Config.Name != name {
				t.Errorf("name: got %q and %q, want %q", s.Name, s.Config.Name, name)
			}
			if len(s.Config.Thresholds) != len(s.Expects) {
				t.Errorf("%d thresholds, %d parsed", len(s.Config.Thresholds), len(s.Expects))
			}
			text := "\n" + string(s.Source)
			for _, key := range []string{"schema", "title", "story", "seed", "duration"} {
				if strings.Count(text, "\n"+key+" = ") != 1 {
					t.Errorf("%s does not stand on a line of its own", key)
				}
			}
			if !strings.HasPrefix(text, "\n#:schema scenario.schema.json\n") {
				t.Error("no #:schema line")
			}
			loaded := fromDisk(t, name+".toml")
			if loaded.Hash != s.Hash {
				t.Errorf("hash from disk %s, from the binary %s", loaded.Hash, s.Hash)
			}
		})
	}
}

func TestNamedUnknown(t *testing.T) {
	_, err := Named("incident-208")
	if err == nil || !strings.HasPrefix(err.Error(), `no bundled scenario "incident-208"; did you mean "incident-208ms"?; bundled are burst,`) {
		t.Errorf("got %v", err)
	}
}

const minimal = `schema = 1
duration = "10s"
[[producer]]
arrivals = "poisson(rate=43/s)"
`

func mustParse(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Parse("test.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaults(t *testing.T) {
	c := mustParse(t, minimal).Config
	want, err := model.Defaults(model.DefaultRelease, coresDefault)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c.Broker); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if c.Seed != 1 || c.Warmup != 0 || c.Machine.WallPhase != model.Absent || c.Machine.SweepPhase != model.Absent {
		t.Errorf("got seed %d, warmup %s, machine %+v", c.Seed, c.Warmup, c.Machine)
	}
	p := c.Producers[0]
	if p.Name != "producer-0" || p.Timeout != 3*sim.Second || p.Release != model.DefaultRelease || p.Body.String() != "constant(1KiB)" {
		t.Errorf("got producer %+v", p)
	}
}

func TestConf(t *testing.T) {
	s, err := Named("raised-limits")
	if err != nil {
		t.Fatal(err)
	}
	b := s.Config.Broker
	if b.WaitTimeMillsInSendQueue != 3000 || b.OsPageCacheBusyTimeOutMills != 5000 || b.SendMessageThreadPoolNums != 80 ||
		b.PullMessageThreadPoolNums != 128 || !b.UseReentrantLockWhenPutMessage || b.MaxMessageSize != 16<<20 {
		t.Errorf("got %+v", b)
	}
	unknown := strings.Join(s.Warnings, "\n")
	for _, key := range []string{"storePathConsumeQueue", "storePathIndex", "storeCheckpoint", "abortFile"} {
		if !strings.Contains(unknown, ": "+key+": not a key of RocketMQ") {
			t.Errorf("no warning about %s in\n%s", key, unknown)
		}
	}
	// The table wins over the file, an override over both.
	resolve := func(string) ([]byte, error) {
		return []byte("waitTimeMillsInSendQueue=300\nosPageCacheBusyTimeOutMills=400\n"), nil
	}
	s, err = Parse("x.toml", []byte(minimal+"[broker]\nconf='broker.conf'\nosPageCacheBusyTimeOutMills=500\n"), resolve)
	if err != nil {
		t.Fatal(err)
	}
	if b := s.Config.Broker; b.WaitTimeMillsInSendQueue != 300 || b.OsPageCacheBusyTimeOutMills != 500 {
		t.Errorf("got %+v", b)
	}
	s, err = s.Override("broker.osPageCacheBusyTimeOutMills=600")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Config.Broker.OsPageCacheBusyTimeOutMills; got != 600 {
		t.Errorf("got %d, want 600", got)
	}
}

// fromDisk is the scenario of a file, which names others beside it.
func fromDisk(t *testing.T, path string) *Scenario {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(path, src, func(rel string) ([]byte, error) { return readRegular(filepath.Join(filepath.Dir(path), rel)) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A bundled scenario that was saved elsewhere finds the bundled file that it
// names, and says so; any other file must be there.
func TestSavedAlone(t *testing.T) {
	src, _ := Source("raised-limits")
	mine := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(mine, src, 0o644); err != nil {
		t.Fatal(err)
	}
	s := fromDisk(t, mine)
	want := "broker.conf: no such file: " + filepath.Join(filepath.Dir(mine), "article-broker.conf") + "; the bundled article-broker.conf is read"
	if s.Config.Broker.SendMessageThreadPoolNums != 80 || !slices.Contains(s.Warnings, want) {
		t.Errorf("got %d threads, warnings %q, want %q", s.Config.Broker.SendMessageThreadPoolNums, s.Warnings, want)
	}
	if _, err := s.Override("broker.conf=none.conf"); err == nil || !strings.Contains(err.Error(), "no such file: ") {
		t.Errorf("got %v", err)
	}
}

func TestParseProperties(t *testing.T) {
	const text = "# comment\n! another\r\n\n  a = 1\nb:2\nc 3\nd=4 \ne=x\\\n   y\nf\\=g=\\u0041\\t.\na=5\nalone\n"
	want := []property{{"a", "5", 11}, {"b", "2", 5}, {"c", "3", 6}, {"d", "4 ", 7}, {"e", "xy", 8}, {"f=g", "A\t.", 10}, {"alone", "", 12}}
	if diff := cmp.Diff(want, parseProperties(text), cmp.AllowUnexported(property{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOverride(t *testing.T) {
	base := mustParse(t, minimal)
	s, err := base.Override("broker.waitTimeMillsInSendQueue=500", "broker.release=5.1.4", "stall.0.where=append", "stall.0.at=4s",
		"stall.0.for=300ms", "producer.0.arrivals=poisson(rate=100/s)", "producer.0.name=7", "title=2024", "seed=9")
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config
	if c.Broker.WaitTimeMillsInSendQueue != 500 || c.Broker.Release != "5.1.4" || c.Seed != 9 || c.Title != "2024" ||
		c.Producers[0].Name != "7" || c.Producers[0].Arrivals.Rate() != 100 || len(c.Stalls) != 1 || c.Stalls[0].For.Mean() != 300e6 {
		t.Errorf("got %+v", c)
	}
	if c.Broker.SendMessageThreadPoolNums != 4 {
		t.Errorf("defaults are not those of the overriding release: %+v", c.Broker)
	}
	if base.Config.Seed != 1 {
		t.Error("Override changed the scenario that it was called on")
	}
	twice, err := base.Override("seed=9")
	if err == nil {
		twice, err = twice.Override("seed=10", "title='a b'")
	}
	if err != nil || twice.Config.Seed != 10 || twice.Config.Title != "a b" || len(twice.Sets) != 3 {
		t.Errorf("got %+v, %v", twice, err)
	}
}

func TestUnset(t *testing.T) {
	incident, err := Named("incident-208ms")
	if err != nil {
		t.Fatal(err)
	}
	s, err := incident.Override("machine.sweep_phase=", "broker.waitTimeMillsInSendQueue= ", "broker.listenPort=", "title=", "warmup=", "stall=")
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config
	if c.Machine.SweepPhase != model.Absent || c.Machine.WallPhase != 0 || c.Broker.WaitTimeMillsInSendQueue != 200 || c.Title != "" || len(c.Stalls) != 0 {
		t.Errorf("got %+v", c)
	}
	if s, err = s.Override("stall.0.where=append", "stall.0.at=4s", "stall.0.for=1s"); err != nil || len(s.Config.Stalls) != 1 {
		t.Errorf("a stall after all were unset: %v", err)
	}
	if _, err := incident.Override("duration="); err == nil || !strings.Contains(err.Error(), `the key "duration" is missing`) {
		t.Errorf("got %v", err)
	}
}

func TestHash(t *testing.T) {
	base := mustParse(t, minimal)
	if crlf := mustParse(t, strings.ReplaceAll(minimal, "\n", "\r\n")); crlf.Hash != base.Hash {
		t.Error("line ends change the hash")
	}
	set, err := base.Override("seed=1")
	if err != nil {
		t.Fatal(err)
	}
	conf := func(text string) string {
		s, err := Parse("x.toml", []byte(minimal+"[broker]\nconf='a'\n"), func(string) ([]byte, error) { return []byte(text), nil })
		if err != nil {
			t.Fatal(err)
		}
		return s.Hash
	}
	seen := map[string]bool{}
	for _, h := range []string{base.Hash, mustParse(t, minimal+"# x\n").Hash, set.Hash, conf("brokerName=1"), conf("brokerName=2")} {
		if len(h) != 16 || seen[h] {
			t.Errorf("hash %q: not 16 digits, or seen before", h)
		}
		seen[h] = true
	}
}

// TestInitSuggestions: what a new scenario has as comments can be made use of,
// all at once, but for the file that is not there.
func TestInitSuggestions(t *testing.T) {
	suggestion := regexp.MustCompile(`(?m)^# (\[|[a-zA-Z_]+ = )`)
	text := string(Init("mine"))
	if n := len(suggestion.FindAllString(text, -1)); n < 20 {
		t.Fatalf("%d suggestions, want 20 or more", n)
	}
	text = strings.Replace(suggestion.ReplaceAllString(text, "$1"), "conf = ", "# conf = ", 1)
	s, err := Parse("mine.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Config; c.Broker.FlushDiskType != model.SyncFlush || len(c.Loads) != 1 || c.Stalls[0].Broker != 1 || c.Producers[0].Resends != 3 {
		t.Errorf("got %+v, want what the comments say", c)
	}
}

func TestInit(t *testing.T) {
	for _, name := range []string{"mine", `odd "name" \ here`, "new\nline"} {
		s, err := Parse(name+".toml", Init(name), nil)
		if err != nil {
			t.Errorf("%q: %v", name, err)
		} else if want := strings.ReplaceAll(name, "\n", " "); s.Config.Title != want {
			t.Errorf("title: got %q, want %q", s.Config.Title, want)
		} else if len(s.Warnings) > 0 {
			t.Errorf("%q: warnings %q", name, s.Warnings)
		}
	}
	// What the starter spells out are the defaults, and it names no file.
	c := mustParse(t, string(Init("x"))).Config
	def := mustParse(t, minimal).Config
	if c.Machine.Cores != def.Machine.Cores || c.Store.Append.String() != def.Store.Append.String() || c.Store.Delay != def.Store.Delay ||
		c.Producers[0].Timeout != def.Producers[0].Timeout || c.Producers[0].Body.String() != def.Producers[0].Body.String() ||
		!cmp.Equal(c.Broker, def.Broker) || bytes.Contains(Init("x"), []byte("schema.json")) {
		t.Errorf("not the defaults: %+v", c)
	}
}

// What an override names is a file that ends.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.conf")
	if err := os.WriteFile(long, bytes.Repeat([]byte("#\n"), fileMost), 0o644); err != nil {
		t.Fatal(err)
	}
	none := func(rel string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: rel, Err: fs.ErrNotExist}
	}
	s, err := Parse("refs.toml", []byte(minimal), none)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "none.conf"), "no such file: " + filepath.Join(dir, "none.conf")},
		{"folder", dir, dir + " is not a regular file"},
		{"too long", long, "want at most 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := s.Override("broker.conf=" + c.path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	_, err := Parse("big.toml", bytes.Repeat([]byte("#\n"), fileMost), nil)
	if want := "big.toml: want at most 1048576 bytes, got 2097152"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSchemaUpToDate(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	const name = "scenario.schema.json"
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what go generate makes (-file +generated):\n%s", name, diff)
	}
}

func TestBodies(t *testing.T) {
	s := mustParse(t, minimal+`bodies = [{ share = 0.75, body = "1KiB" }, { share = 0.25, body = "uniform(min=1KiB, max=3KiB)" }]`)
	if got, want := s.Config.Producers[0].Body.Mean(), 0.75*1024+0.25*2048; got != want {
		t.Errorf("mean: got %v, want %v", got, want)
	}
}

func TestReferencedFiles(t *testing.T) {
	files := map[string]string{
		"stalls.csv": "kind,index,by_seq,start_ns,end_ns,window_start_ns,window_end_ns\n" +
			"append,0,7,7003,7500,7000,7150\nfreeze,0,,1001,1403,1000,1400\n",
		"arrivals.csv": "seq,arrive_ns\n0,5\n1,\n2,1000000005\n",
	}
	s, err := Parse("x.toml", []byte(strings.Replace(minimal, "poisson(rate=43/s)", `trace(\"arrivals.csv\")`, 1)+"[[stall]]\nfile='stalls.csv'\n"),
		func(rel string) ([]byte, error) { return []byte(files[rel]), nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Stall{{Where: model.StallAppend, At: 7000, Until: 7150}, {Where: model.StallProcess, At: 1001, Until: 1403}}
	if diff := cmp.Diff(want, s.Config.Stalls); diff != "" {
		t.Errorf("stalls (-want +got):\n%s", diff)
	}
	if got := s.Config.Producers[0].Arrivals.Rate(); got != 1 {
		t.Errorf("rate: got %v, want 1", got)
	}
}

func TestGzippedArrivals(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintln(z, "arrive_ns")
	for i := range 1000 {
		fmt.Fprintln(z, i)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	at, err := ParseArrivals("a.csv.gz", b.Bytes())
	if err != nil || len(at) != 1000 || at[999] != 999 {
		t.Errorf("got %d arrivals, %v", len(at), err)
	}
	if _, err := ParseArrivals("a.csv.gz", b.Bytes()[:b.Len()/2]); err == nil || !strings.Contains(err.Error(), "truncated gzip: it ends in line ") {
		t.Errorf("truncated: got %v", err)
	}
	if _, err := ParseArrivals("a.csv.gz", []byte{0x1f, 0x8b, 0}); err == nil {
		t.Error("no gzip: accepted")
	}
}

// The cost keys are those of the model, neither more nor fewer.
func TestCostKeys(t *testing.T) {
	fields := func(typ reflect.Type) (names []string) {
		for i := range typ.NumField() {
			names = append(names, typ.Field(i).Name)
		}
		slices.Sort(names)
		return names
	}
	if diff := cmp.Diff(fields(reflect.TypeFor[model.Costs]()), fields(reflect.TypeFor[costsTable]())); diff != "" {
		t.Errorf("costs (-model +scenario):\n%s", diff)
	}
}

// Every key of [broker] that the model reads is bounded and described.
func TestBrokerKeys(t *testing.T) {
	for _, k := range brokerKeys {
		if k.doc == "" {
			t.Errorf("%s: no description", k.name)
		}
		if k.kind != reflect.Bool && k.most > waitMsMost {
			t.Errorf("%s: no bound", k.name)
		}
		if slices.Contains(otherKeys, k.name) {
			t.Errorf("%s is read, and listed as not read", k.name)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"append", []string{"sweep", "append"}, "append"},
		{"APEND", []string{"sweep", "append"}, "append"},
		{"4.3.5", []string{"5.3.3", "4.9.5", "4.3.2", "4.3.1"}, "4.3.2"},
		{"x", []string{"at", "on"}, ""},
		{"something else", []string{"release"}, ""},
		{strings.Repeat("a", 1000), []string{strings.Repeat("a", 999)}, ""},
	} {
		if got := nearest(c.name, c.candidates); got != c.want {
			t.Errorf("nearest(%q): got %q, want %q", clip(c.name), got, c.want)
		}
	}
}

// Beyond the faults that one error names the rest are counted, whatever they
// are and wherever they stand.
func TestManyFaults(t *testing.T) {
	var keys, rows strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&keys, "k%d = 1\n", i)
		fmt.Fprintf(&rows, "append,0,,%d,x,,\n", i)
	}
	columns := strings.Join(stallColumns, ",") + "\n"
	for _, c := range []struct{ name, text, file, last string }{
		{"keys", keys.String() + minimal, "", "in.toml: and 500 more faults"},
		{"rows", minimal + "[[stall]]\nfile = 'f'\n", columns + rows.String(), "in.toml: and 500 more faults"},
		{"arrivals", strings.Replace(minimal, "poisson(rate=43/s)", `trace(\"f\")`, 1), "arrive_ns\n" + strings.Repeat("x\n", 1200), "in.toml: and 200 more faults"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("in.toml", []byte(c.text), func(string) ([]byte, error) { return []byte(c.file), nil })
			var faults Faults
			if !errors.As(err, &faults) || len(faults) != faultsMost+1 {
				t.Fatalf("got %d faults, want %d: %.200v", len(faults), faultsMost+1, err)
			}
			if got := faults[faultsMost].String(); got != c.last {
				t.Errorf("got %q, want %q", got, c.last)
			}
		})
	}
}

// A message never has anything in it that a terminal obeys.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain, µs":         "plain, µs",
		"\x1b[2J\x00\n\xff": `\x1b[2J\x00\n\xff`,
		"\u202e\ufffd":      "\\u202e\ufffd",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q): got %q, want %q", in, got, want)
		}
	}
	_, err := mustParse(t, minimal).Override("x=\x1b[2J\n")
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("got %q", err)
	}
}

// What a run holds follows what comes at its most, not what comes at its end.
func TestRates(t *testing.T) {
	parse := func(text string) variate.Arrivals { return variate.Must(variate.ParseArrivals(text)) }
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	burst := parse("piecewise(0s=10/s, 4s=3000/s, 5s=0/s)")
	near("arriving", arriving(burst, 10*sim.Second), 3040)
	near("arriving before the end of the burst", arriving(burst, 4500*sim.Millisecond), 1540)
	near("peak", peak(burst), 3000)
	near("most in 0.1 s", most(burst, 100*sim.Millisecond, 10*sim.Second), 300)
	near("most in a long time", most(burst, 5*sim.Second, 10*sim.Second), 3040)
	near("backlog", backlog(burst, 1000, 10*sim.Second), 2000)
	near("no backlog", backlog(burst, 4000, 10*sim.Second), 0)
	near("trace", most(parse("trace(1ms, 2ms, 3ms, 9ms, 10ms)"), 2*sim.Millisecond, sim.Second), 3)
	near("deterministic", arriving(parse("deterministic(rate=10/s, phase=1s)"), 3*sim.Second), 20)
	near("mmpp", peak(parse("mmpp(a=1/s for 1s, b=9/s for 1s)")), 9)
}
