package model

import (
	"context"
	"math"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"brokersim/sim"
	"brokersim/sim/variate"
)

const us = sim.Microsecond

// rungs is a ladder whose classes tell themselves apart: crossing none,
// 4 KiB, 64 KiB, 2 MiB takes 1, 2, 3, 4 us; 10 us more as the first after the
// edge of a flush, 20 us more inside one.
func rungs() (ladder []Rung) {
	for b := range boundaries {
		for ph := range phases {
			takes := (1+sim.Time(b))*us + 10*us*sim.Time(ph)
			ladder = append(ladder, Rung{b, ph, Table{1, sim.Second, must(takes.String())}})
		}
	}
	return ladder
}

func table(takes string) Table { return Table{1, sim.Second, must(takes)} }

// storeConfig is a broker of 4.9.4 with a profile and nothing else.
func storeConfig(p *Profile, arrivals string, duration sim.Time) *Config {
	settings, err := Defaults("4.9.4", 2)
	if err != nil {
		panic(err)
	}
	settings.SendMessageThreadPoolNums = 1
	a, err := variate.ParseArrivals(arrivals)
	if err != nil {
		panic(err)
	}
	body, _ := variate.NewConstant(variate.Bytes, 1024-recordFixed-9-62)
	return &Config{
		Name: "store", Seed: 1, Duration: duration, Broker: settings,
		Machine:   Machine{Cores: 2, Quantum: DefaultQuantum, SweepPhase: 3 * sim.Millisecond},
		Store:     Store{Profile: p, TopicLength: 9, PropertiesLength: 62, Append: must("1us"), Flush: must("0s")},
		Producers: []Producer{{Name: "p", Arrivals: a, Body: body, Timeout: 3 * sim.Second}},
	}
}

func quietProfile() *Profile {
	return &Profile{Ladder: rungs(), Flushes: []FlushProfile{{FlushTimed, 500 * sim.Millisecond, table("10ms")}, {FlushWoken, 500 * sim.Millisecond, table("1ms")}}}
}

// testStore is a modelled store and the log that is written to it.
type testStore struct {
	*modelStore
	cfg   *Config
	log   logEnd
	wrote int64 // when the append under way has ended
}

func newTestStore(t testing.TB, cfg *Config) *testStore {
	t.Helper()
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	traits, err := TraitsOf(cfg.Broker.Release)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(cfg.Broker.MappedFileSizeCommitLog)
	return &testStore{modelStore: newModelStore(cfg, &traits, 0, sim.Streams{Seed: cfg.Seed}), cfg: cfg, log: logEnd{fileSize: size, fileEnd: size}}
}

// begin is the append of a body; the next file is always there.
func (s *testStore) begin(now sim.Time, worker int, body, seq int64) sim.Time {
	length := s.cfg.recordLength(body)
	if !s.log.fits(length) {
		s.log.wrote = s.log.fileEnd
		s.log.fileEnd += s.log.fileSize
		s.rolled = true
	}
	if !s.log.fits(length) {
		length = 0
	}
	s.wrote = s.log.wrote + length
	return s.modelStore.begin(now, worker, s.log.wrote, length, seq)
}

func (s *testStore) end(now sim.Time) {
	s.log.wrote = s.wrote
	s.flush.appended(now, s.wrote)
}

func TestCrossedBy(t *testing.T) {
	for _, c := range []struct {
		offset, length int64
		want           Boundary
	}{
		{0, 1, Crosses2MiB}, {1, 4095, CrossesNone}, {1, 4096, Crosses4KiB}, {4096, 1, Crosses4KiB}, {4095, 1, CrossesNone},
		{65536 - 10, 10, CrossesNone}, {65536 - 10, 11, Crosses64KiB}, {2<<20 - 1, 1, CrossesNone}, {2<<20 - 1, 2, Crosses2MiB},
		{1, 4 << 20, Crosses2MiB},
	} {
		if got := CrossedBy(c.offset, c.length); got != c.want {
			t.Errorf("%d bytes at %d: got %v, want %v", c.length, c.offset, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		offset, length := rapid.Int64Range(0, 5<<20).Draw(t, "offset"), rapid.Int64Range(1, 8000).Draw(t, "length")
		want := CrossesNone
		for at := offset; at < offset+length; at++ {
			for b := Crosses4KiB; b < boundaries; b++ {
				if at%boundarySizes[b] == 0 {
					want = max(want, b)
				}
			}
		}
		if got := CrossedBy(offset, length); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestStoreCosts: what an append takes follows from where its record goes.
func TestStoreCosts(t *testing.T) {
	p := quietProfile()
	p.PerRecord, p.PerByte = 100, 0.5
	s := newTestStore(t, storeConfig(p, "deterministic(rate=1/s)", sim.Second))
	const copying = 100 + 512 // of a record of 1 KiB
	now := sim.Time(0)
	for i := range 5000 {
		want := sim.Time(copying + 1000)
		switch {
		case i%2048 == 0:
			want += 3 * us
		case i%64 == 0:
			want += 2 * us
		case i%4 == 0:
			want += 1 * us
		}
		end := s.begin(now, 0, 862, int64(i))
		if end-now != want {
			t.Fatalf("record %d: took %v, want %v", i, end-now, want)
		}
		s.end(end) // of a store whose flush thread never comes up
		s.flush.next = sim.Never
		now = end
	}
}

// TestStoreRoll: a record that would leave less than 8 bytes goes to the next
// file (facts §6.3), one that fits nowhere is not written (facts §6.4).
func TestStoreRoll(t *testing.T) {
	p := quietProfile()
	p.Roll = table("50us")
	cfg := storeConfig(p, "deterministic(rate=1/s)", sim.Second)
	cfg.Broker.MappedFileSizeCommitLog = 4 * 1024
	s := newTestStore(t, cfg)
	s.flush.next = sim.Never
	for i, want := range []struct {
		took  sim.Time
		wrote int64
	}{
		{4 * us, 1024}, {1 * us, 2048}, {1 * us, 3072},
		{50*us + 4*us, 4096 + 1024}, // 1024 + 8 > 1024 left: the next file, its first page
	} {
		end := s.begin(0, 0, 862, int64(i))
		if end != want.took || s.wrote != want.wrote {
			t.Errorf("record %d: took %v to %d, want %v to %d", i, end, s.wrote, want.took, want.wrote)
		}
		s.end(0)
	}
	if end := s.begin(0, 0, 4096, 9); end != 50*us || s.wrote != 8192 {
		t.Errorf("a record longer than a file: took %v to %d, want 50us to 8192", end, s.wrote)
	}
	cfg.Broker.MappedFileSizeCommitLog = 4*1024 + blankLeast
	s = newTestStore(t, cfg)
	for i := range 4 {
		s.begin(0, 0, 862, int64(i))
		s.end(0)
	}
	if s.wrote != 4*1024 {
		t.Errorf("a record that leaves just 8 bytes: wrote to %d, want 4096", s.wrote)
	}
}

// TestMechanisms: stalls in time hold what begins inside them and stretch what
// is under way; those on one resource queue up; those by position add.
func TestMechanisms(t *testing.T) {
	const ms = sim.Millisecond
	process := func(name string, on Resource, every, takes string) Mechanism {
		return Mechanism{Name: name, On: on, Every: must(every), Table: table(takes)}
	}
	for _, c := range []struct {
		name   string
		stalls []Mechanism
		appends,
		ends []sim.Time
	}{
		{"begins inside", []Mechanism{process("a", OnCPU, "10ms", "3ms")}, []sim.Time{11 * ms, 13 * ms, 23*ms + 1}, []sim.Time{13*ms + us, 13*ms + 2*us, 23*ms + us + 1}},
		{"is under way", []Mechanism{process("a", OnCPU, "10ms", "3ms")}, []sim.Time{10*ms - 400}, []sim.Time{13*ms + 600}},
		{"was over before", []Mechanism{process("a", OnCPU, "10ms", "3ms")}, []sim.Time{14 * ms}, []sim.Time{14*ms + us}},
		{"two on one resource queue up", []Mechanism{process("a", OnDisk, "10ms", "3ms"), process("b", OnDisk, "10ms", "2ms")}, []sim.Time{11 * ms}, []sim.Time{15*ms + us}},
		{"two on two overlap", []Mechanism{process("a", OnCPU, "10ms", "3ms"), process("b", OnDisk, "10ms", "2ms")}, []sim.Time{11 * ms}, []sim.Time{13*ms + us}},
		{"longer than the time between", []Mechanism{process("a", OnCPU, "10ms", "12ms")}, []sim.Time{11 * ms}, nil},
		{"by position", []Mechanism{{Name: "a", Each: 2048, Share: 1, Table: table("5ms")}}, []sim.Time{0, 10 * ms, 20 * ms}, []sim.Time{5*ms + us, 10*ms + us, 25*ms + us}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Profile{Ladder: []Rung{{Table: table("1us")}}, Flushes: quietProfile().Flushes, Stalls: c.stalls}
			if c.ends == nil {
				// A processor that is taken away for longer than until the
				// next time is never given back: refused.
				if err := p.Check(); err == nil || err.Error() != "stalls: want them to take up to 0.9 of the time, got 1.2" {
					t.Errorf("got %v", err)
				}
				return
			}
			s := newTestStore(t, storeConfig(p, "deterministic(rate=1/s)", sim.Second))
			s.flush.next = sim.Never
			now := sim.Time(0)
			for i, at := range c.appends {
				now = max(now, at)
				if now = s.begin(now, 0, 862, int64(i)); now != c.ends[i] {
					t.Errorf("append at %v: ends at %v, want %v", at, now, c.ends[i])
				}
				s.end(now)
			}
		})
	}
}

// TestMechanismCondition: a stall that comes only inside a flush comes at no
// other time.
func TestMechanismCondition(t *testing.T) {
	const ms = sim.Millisecond
	for _, while := range []string{"inside", "outside"} {
		p := quietProfile()
		p.Stalls = []Mechanism{{Name: "a", Every: must("exponential(mean=20ms)"), While: while, Table: table("100us")}}
		p.Flushes[0].Takes = must("100ms")
		cfg := storeConfig(p, "deterministic(rate=5000/s)", 5*sim.Second)
		var pauses []Pause
		b, err := New(cfg, 0, Observer{Pause: func(p *Pause) { pauses = append(pauses, *p) }})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if len(pauses) < 10 {
			t.Fatalf("%s: %d pauses", while, len(pauses))
		}
		// The flush thread looks at its phase and then each 600 ms (500 ms,
		// and a flush of 100 ms).
		first := newTestStore(t, cfg).flush.next
		for _, p := range pauses {
			into := (p.From - first + 600*ms) % (600 * ms)
			if inside := p.From >= first && into < 100*ms; inside != (while == "inside") {
				t.Errorf("%s: a pause at %v, %v after a flush began", while, p.From, into)
			}
		}
	}
}

// TestPeriodOf2MiB: records of 1 KiB at 20,000/s are 20.48 MB/s; those that
// cross 2 MiB come each 102.4 ms.
func TestPeriodOf2MiB(t *testing.T) {
	p := quietProfile()
	p.Flushes[0].Takes = must("0s")
	for i := range p.Ladder {
		if p.Ladder[i].Phase != PhaseOutside {
			p.Ladder[i].Takes = must("0s")
		} else if p.Ladder[i].Crosses == Crosses2MiB {
			p.Ladder[i].Takes = must("300us")
		}
	}
	cfg := storeConfig(p, "deterministic(rate=20000/s)", 2*sim.Second)
	cfg.Store.Profile = p
	var at []sim.Time
	b, err := New(cfg, 0, Observer{Attempt: func(a *Attempt) {
		if a.App1-a.App0 == 300*us {
			at = append(at, a.App0)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if len(at) < 15 {
		t.Fatalf("%d appends of 300us, want about 20", len(at))
	}
	for i := 1; i < len(at); i++ {
		// A flush may hide one of them.
		if d := at[i] - at[i-1]; d%(102_400*us) != 0 {
			t.Errorf("%v after the one before, want a multiple of 102.4ms", d)
		}
	}
}

// TestStoreQuantiles: what the appends of each class take is what the
// profile's table says, within what 20,000 draws may differ.
func TestStoreQuantiles(t *testing.T) {
	p := quietProfile()
	const text = "quantiles(0=1us, 0.5=2us, 0.9=10us, 0.99=50us, 0.999=200us, 1=1ms)"
	for i := range p.Ladder {
		if p.Ladder[i].Phase == PhaseOutside {
			p.Ladder[i].Takes = must(text)
		}
	}
	p.Ladder[0].Takes = must("quantiles(0=100ns, 0.9=1us, 0.99=20us, 1=100us)")
	s := newTestStore(t, storeConfig(p, "deterministic(rate=1/s)", sim.Second))
	s.flush.next = sim.Never
	var took [boundaries][]float64
	now := sim.Time(0)
	for i := range 100_000 {
		class := CrossedBy(s.flush.wrote, 1024)
		end := s.begin(now, 0, 862, int64(i))
		s.end(end)
		s.flush.next = sim.Never
		took[class] = append(took[class], float64(end-now))
		now = end
	}
	for b, x := range took {
		sort.Float64s(x)
		rung, _ := p.rung(Boundary(b), PhaseOutside)
		// Dvoretzky, Kiefer and Wolfowitz at one in a million.
		bound := math.Sqrt(math.Log(2e6) / (2 * float64(len(x))))
		for i, v := range x {
			lo, hi := rung.Takes.CDF(v-1), rung.Takes.CDF(v+1) // whole ns
			if f := float64(i+1) / float64(len(x)); f < lo-bound || f > hi+bound {
				t.Fatalf("crossing %v, %d appends: %.5f of them take up to %v ns, the table says %.5f", Boundary(b), len(x), f, v, hi)
			}
		}
		if last := x[len(x)-1]; last > rung.Takes.Quantile(1) {
			t.Errorf("crossing %v: one took %v ns, the table ends at %v", Boundary(b), last, rung.Takes.Quantile(1))
		}
	}
}

// TestStoreAllocates nothing per append, nor draws from other streams: two
// runs are alike.
func TestStoreAllocates(t *testing.T) {
	p := quietProfile()
	p.Stalls = []Mechanism{{Name: "a", Every: must("exponential(mean=2ms)"), Table: table("10us")}, {Name: "b", Each: 4096, Share: 0.5, Table: table("1us")}}
	cfg := storeConfig(p, "deterministic(rate=1/s)", sim.Second)
	cfg.Store.PageCache = &PageCache{Memory: 1 << 30, Background: 8 << 20, Limit: 16 << 20, Disk: 100_000_000, Tick: 4 * sim.Millisecond, Writeback: 5 * sim.Second, Expire: 30 * sim.Second}
	cfg.Neighbours = []Neighbour{{Name: "n", Every: must("1s"), At: Absent, For: must("500ms"), Rate: 200_000_000, Tasks: 4}}
	s := newTestStore(t, cfg)
	now := sim.Time(0)
	step := func() {
		for range 1000 {
			now = s.begin(now+100*us, 0, 862, 0)
			s.end(now)
		}
	}
	step()
	if n := testing.AllocsPerRun(20, step); n >= 1 {
		t.Errorf("%v allocations in 1000 appends, want none", n)
	}
}

// TestStoreDeterministic: the same run twice, and another with another seed.
func TestStoreDeterministic(t *testing.T) {
	cfg := cacheConfig("poisson(rate=500/s)", 5*sim.Second)
	cfg.Store.Profile = quietProfile()
	var prints []sim.Fingerprint
	for _, seed := range []uint64{1, 1, 2} {
		cfg.Seed = seed
		b, err := New(cfg, 0, Observer{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		prints = append(prints, b.Fingerprint())
	}
	if prints[0] != prints[1] || prints[0] == prints[2] {
		t.Errorf("seeds 1, 1 and 2: got %x", prints)
	}
}

// TestBorrowedRungs: a class that was not measured is that most like it.
func TestBorrowedRungs(t *testing.T) {
	rung := func(b Boundary, ph Phase, takes string) Rung { return Rung{b, ph, table(takes)} }
	p := &Profile{Ladder: []Rung{
		rung(CrossesNone, PhaseOutside, "1us"), rung(CrossesNone, PhaseInside, "2us"),
		rung(Crosses64KiB, PhaseInside, "3us"), rung(Crosses64KiB, PhaseFirst, "4us"),
	}}
	for _, c := range []struct {
		b    Boundary
		ph   Phase
		want float64
		own  bool
	}{
		{CrossesNone, PhaseOutside, 1000, true}, {CrossesNone, PhaseFirst, 2000, false}, {Crosses4KiB, PhaseOutside, 1000, false},
		{Crosses64KiB, PhaseOutside, 3000, false}, {Crosses2MiB, PhaseFirst, 4000, false}, {Crosses2MiB, PhaseInside, 3000, false},
	} {
		got, own := p.rung(c.b, c.ph)
		if got.Takes.Mean() != c.want || own != c.own {
			t.Errorf("%v, %v: got %v, own %v; want %vns, %v", c.b, c.ph, got.Takes, own, c.want, c.own)
		}
	}
}

func TestProfileCheck(t *testing.T) {
	p := &Profile{
		PerRecord: -1, PerByte: math.NaN(),
		Ladder: []Rung{{Crosses4KiB, PhaseFirst, table("1us")}, {Crosses4KiB, PhaseFirst, table("2us")}, {Crosses2MiB, PhaseInside, Table{}},
			{Crosses2MiB, PhaseFirst, Table{1, sim.Millisecond, must("lognormal(median=1us, p99=10us)")}}},
		Stalls: []Mechanism{{Name: "x", Table: table("1us")}, {Name: "y", Every: must("1ns"), Table: table("1us")},
			{Name: "z", Each: 1, Share: 2, While: "asleep", Table: table("1us")}, {Name: "w", Each: 1, Share: 1, While: "asleep", Table: table("1us")}},
	}
	err := p.Check()
	if err == nil {
		t.Fatal("no fault")
	}
	want := []string{
		"ladder 2MiB first: want a table that ends at its cap of 1ms, got up to +Inf",
		"ladder 2MiB inside: want what it takes",
		"ladder 4KiB first: is there twice",
		"ladder: want a rung that crosses none",
		"per byte: want 0 to 1s, got NaN ns",
		"per record: want 0 to 1s, got -1 ns",
		`stall "w": while: want inside or outside, got "asleep"`,
		`stall "x": want one of every and each`,
		`stall "y": every: want a mean of at least 1ms, got constant(1ns)`,
		`stall "z": want each of at least 1 byte and a share above 0, at most 1, got 1 and 2`,
		"stalls: want them to take up to 0.9 of the time, got 1e+03",
	}
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		got = append(got, e.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestMismatches: a run in another setting than the profile's is warned of.
func TestMismatches(t *testing.T) {
	p := quietProfile()
	p.MadeOn = MadeOn{Flush: FlushTimed, Release: "4.9.4", Rate: 100, BodyMin: 800, BodyMax: 1024}
	cfg := storeConfig(p, "poisson(rate=150/s)", sim.Second)
	if got := p.Mismatches(cfg); len(got) != 0 {
		t.Errorf("in the same setting: got %q", got)
	}
	cfg = storeConfig(p, "poisson(rate=250/s)", sim.Second)
	cfg.Broker.Release, cfg.Broker.FlushCommitLogTimed = "4.3.2", false
	cfg.Producers[0].Body = variate.Must(variate.ParseDist("uniform(min=1KiB, max=2KiB)", variate.Bytes))
	p.Ladder, p.Flushes = p.Ladder[:len(p.Ladder)-1], p.Flushes[:1]
	want := []string{
		"store.profile: made with a timed flush, the run's is woken",
		"store.profile: has no flush durations of the woken mode",
		"store.profile: made with release 4.9.4, the run's is 4.3.2",
		"store.profile: made with bodies of 800 to 1024 bytes, the run's are 1024 to 2048",
		"store.profile: made at 100 appends/s, the run has 250",
		"store.profile: has no appends of the rungs 2MiB inside; those most like them are taken",
	}
	if got := p.Mismatches(cfg); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// BenchmarkModelStore is the price of an append by mechanism.
func BenchmarkModelStore(b *testing.B) {
	p := quietProfile()
	for i := range p.Ladder {
		p.Ladder[i].Takes = must("quantiles(0=0us, 0.5=0.1us, 0.9=1us, 0.99=50us, 1=1ms)")
	}
	p.Stalls = []Mechanism{{Name: "a", Every: must("exponential(mean=1s)"), Table: table("1ms")}, {Name: "b", Each: 2 << 20, Share: 0.2, Table: table("18ms")}}
	profile := storeConfig(p, "deterministic(rate=1/s)", sim.Second)
	cache := cacheConfig("deterministic(rate=1/s)", sim.Second)
	quiet := cacheConfig("deterministic(rate=1/s)", sim.Second)
	quiet.Neighbours = nil
	for _, c := range []struct {
		name string
		cfg  *Config
	}{{"profile", profile}, {"page cache", quiet}, {"page cache and neighbour", cache}} {
		b.Run(c.name, func(b *testing.B) {
			s := newTestStore(b, c.cfg)
			now := sim.Time(0)
			b.ReportAllocs()
			for b.Loop() {
				now = s.begin(now+50*us, 0, 862, 0)
				s.end(now)
			}
		})
	}
}
