package scenarios

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
)

// Every bundled profile decodes, and reads back what Encode makes of it.
func TestProfiles(t *testing.T) {
	names, err := filepath.Glob("profiles/*.toml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no profiles: %v", err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParseProfile(name, src)
		if err != nil {
			t.Fatal(err)
		}
		text := p.Encode()
		again, err := ParseProfile("encoded", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(p, again) {
			t.Errorf("%s: reads back otherwise:\n%s", name, text)
		}
		if second := again.Encode(); !bytes.Equal(text, second) {
			t.Errorf("%s: encoded twice (-first +second):\n%s", name, cmp.Diff(string(text), string(second)))
		}
	}
}

// A profile's texts survive, whatever is in them.
func TestProfileTexts(t *testing.T) {
	src, err := os.ReadFile("profiles/ext4-quiet.toml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseProfile("p", src)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", `a "b" \ c`, "two\nlines\n", "\"\"\"", "\t", "µs — ü", `\u0041`} {
		p.Origin = text
		got, err := ParseProfile("p", p.Encode())
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got.Origin != text {
			t.Errorf("got %q, want %q", got.Origin, text)
		}
	}
}

const withProfile = minimal + `[store]
profile = "p.toml"
`

// parseWith parses a scenario whose files all have that content.
func parseWith(t *testing.T, text string, content []byte) *Scenario {
	t.Helper()
	s, err := Parse("test.toml", []byte(text), func(string) ([]byte, error) { return content, nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A run in another setting than its profile's says so.
func TestProfileWarnings(t *testing.T) {
	src, err := os.ReadFile("profiles/ext4-quiet.toml")
	if err != nil {
		t.Fatal(err)
	}
	s := parseWith(t, withProfile, src)
	got := strings.Join(s.Warnings, "\n")
	for _, want := range []string{
		"store.profile: made with a timed flush, the run's is woken",
		"store.profile: made at 20000 appends/s, the run has 43",
		"store.profile: has no appends of the rungs 4KiB first, 64KiB first, 64KiB inside, 2MiB first, 2MiB inside; those most like them are taken",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if s.Config.Costs.Handoff != s.Config.Store.Profile.Handoff.IdleWake.Takes {
		t.Error("costs.handoff is not the profile's")
	}
	same, err := s.Override("broker.release=4.9.4", "producer.0.arrivals=poisson(rate=20000/s)")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range same.Warnings {
		if strings.Contains(w, "made ") {
			t.Errorf("in the same setting: %s", w)
		}
	}
}

// A file that an override names is looked for in the working directory first.
func TestProfileOverride(t *testing.T) {
	s, err := Named("quiet")
	if err != nil {
		t.Fatal(err)
	}
	bundled, err := s.Override("store.profile=profiles/ext4-quiet.toml")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(t.TempDir(), "mine.toml")
	p := *bundled.Config.Store.Profile
	p.Title = "mine"
	if err := os.WriteFile(mine, p.Encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	own, err := s.Override("store.profile=" + mine)
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Config.Store.Profile.Title; got != "mine" {
		t.Errorf("got %q", got)
	}
	if own.Hash == bundled.Hash {
		t.Error("another profile, the same hash")
	}
}

// The keys of [store] and [[neighbour]] come to where they belong.
func TestPageCacheKeys(t *testing.T) {
	s := mustParse(t, minimal+`[store]
kind = "pagecache"
memory = "10GiB"
dirty_background_ratio = 5
dirty_ratio = 15
dirty_writeback = "1s"
dirty_expire = "2s"
disk = "120MB/s"
disk_latency = "8ms"
tick = "10ms"
stable_pages = true
flush = "2ms"
topic_length = "20B"
properties_length = "100B"
append = "3us"
[[neighbour]]
every = "exponential(mean=60s)"
for = "2s"
rate = "1GB/s"
memory = "1GiB"
[[neighbour]]
at = "1s"
for = "2s"
reads = "10MB/s"
read_size = "4KiB"
tasks = 3
cores = 2
slows = 30
memory = "1GiB"
[[delete]]
at = "4s"
files = 24
unlink = "100ms"
journal = true
[[load]]
queue = "pull"
arrivals = "poisson(rate=10/s)"
service = "1ms"
read = "64KiB"
[broker]
mapedFileSizeCommitLog = 1048576
flushIntervalCommitLog = 100
`)
	c := s.Config
	const memory = 8 << 30 // what the neighbours leave
	want := &model.PageCache{Memory: memory, Background: memory / 100 * 5, Limit: memory / 100 * 15, Disk: 120_000_000,
		Tick: 10_000_000, Writeback: 1_000_000_000, Expire: 2_000_000_000, StablePages: true}
	if c.Store.PageCache.Latency.Mean() != 8e6 {
		t.Errorf("disk_latency: got %v", c.Store.PageCache.Latency)
	}
	c.Store.PageCache.Latency = nil
	if diff := cmp.Diff(want, c.Store.PageCache); diff != "" {
		t.Errorf("page cache (-want +got):\n%s", diff)
	}
	if d := c.Deletes; len(d) != 1 || d[0].At != 4e9 || d[0].Files != 24 || d[0].Unlink.Mean() != 1e8 || !d[0].Journal {
		t.Errorf("deletes: got %+v", d)
	}
	if n := c.Neighbours[1]; n.Rate != 0 || n.Reads != 10_000_000 || n.ReadSize != 4096 || n.Tasks != 3 || n.Cores != 2 || n.Slows != 30 {
		t.Errorf("neighbour: got %+v", n)
	}
	if c.Loads[0].Read != 64<<10 {
		t.Errorf("load: got %+v", c.Loads[0])
	}
	if c.Store.TopicLength != 20 || c.Store.PropertiesLength != 100 || c.Store.Flush.Mean() != 2e6 || c.Store.Append.Mean() != 3000 {
		t.Errorf("store: got %+v", c.Store)
	}
	if n := c.Neighbours; len(n) != 2 || n[0].Name != "neighbour-0" || n[0].Tasks != 1 || n[0].Rate != 1_000_000_000 || n[0].At != model.Absent {
		t.Errorf("neighbours: got %+v", n)
	}
	if c.Broker.MappedFileSizeCommitLog != 1<<20 || c.Broker.FlushIntervalCommitLog != 100 || len(s.Warnings) != 0 {
		t.Errorf("broker: got %+v, warnings %q", c.Broker, s.Warnings)
	}
}

// What the kernel does with limits as RocketMQ's os.sh sets them, 50 and 50.
func TestEqualLimits(t *testing.T) {
	s := mustParse(t, minimal+"[store]\nkind = 'pagecache'\ndirty_background_ratio = 50\ndirty_ratio = 50\nmemory = '1GiB'\n")
	c := s.Config.Store.PageCache
	if c.Limit != (1<<30)/100*50 || c.Background != c.Limit/2 {
		t.Errorf("got %d and %d", c.Background, c.Limit)
	}
	if len(s.Warnings) != 1 || !strings.HasPrefix(s.Warnings[0], "store.dirty_background_ratio: not below the hard limit") {
		t.Errorf("warnings: %q", s.Warnings)
	}
}

// Keys of the commit log's file and flush are noted where nothing reads them.
func TestStoreKeysWithoutStore(t *testing.T) {
	s := mustParse(t, minimal+"[broker]\nflushIntervalCommitLog = 100\n")
	if len(s.Warnings) != 1 || !strings.HasPrefix(s.Warnings[0], "broker.flushIntervalCommitLog: no effect") {
		t.Errorf("got %q", s.Warnings)
	}
}

func FuzzProfile(f *testing.F) {
	names, _ := filepath.Glob("profiles/*.toml")
	for _, name := range names {
		if src, err := os.ReadFile(name); err == nil {
			f.Add(src)
		}
	}
	f.Add([]byte("schema = 1\n[[ladder]]\ncrosses = 'none'\n[[stall]]\nevery = '0s'\n[cost]\nper_byte = 'exponential(mean=1ns)'\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := ParseProfile("f.toml", src)
		if err != nil {
			var faults Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("not Faults: %v", err)
			}
			return
		}
		if _, err := ParseProfile("encoded", p.Encode()); err != nil {
			t.Fatalf("does not read back: %v\n%s", err, p.Encode())
		}
	})
}

// The profile derived from published tables gives back what they say of the
// setting that they were made in: 1 KiB records at 20,000/s, timed flush.
func TestQuietProfile(t *testing.T) {
	s, err := Named("quiet")
	if err == nil {
		s, err = s.Override("store.profile=profiles/ext4-quiet.toml", "broker.release=4.9.4", "broker.sendMessageThreadPoolNums=1",
			"producer.0.arrivals=deterministic(rate=20000/s)", "producer.0.body=862B", "duration=30s", "costs.process=1us", "costs.finish=1us")
	}
	if err != nil {
		t.Fatal(err)
	}
	var took []float64 // us
	var folios, over100us, over1ms int
	b, err := model.New(&s.Config, 0, model.Observer{Attempt: func(a *model.Attempt) {
		x := float64(a.App1-a.App0) / 1e3
		took = append(took, x)
		if x > 100 {
			over100us++
			if a.Seq%2048 == 0 {
				folios++
			}
		}
		if x > 1000 {
			over1ms++
		}
	}})
	if err == nil {
		err = b.Run(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(took)
	for _, c := range []struct {
		what             string
		got, least, most float64
	}{
		{"median, us: a copy into a resident page", took[len(took)/2], 0.04, 0.25},
		{"longest, us: the host's memory and a preemption", took[len(took)-1], 20_000, 48_500},
		{"a second that take more than 100 us", float64(over100us) / 30, 9, 21},
		{"a second that take more than 1 ms", float64(over1ms) / 30, 2, 2.8},
		{"share of crossings of 2 MiB over 100 us", float64(folios) / (30 * 20_000.0 / 2048), 38.0/49 - 0.06, 38.0/49 + 0.06},
	} {
		t.Logf("%s: %.3g", c.what, c.got)
		if c.got < c.least || c.got > c.most {
			t.Errorf("%s: got %.4g, want %v to %v", c.what, c.got, c.least, c.most)
		}
	}
}
