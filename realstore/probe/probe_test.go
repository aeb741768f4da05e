package probe

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"brokersim/realstore"
	"brokersim/sim/variate"
)

// brief are options of a run that takes a moment.
func brief(t *testing.T) Options {
	t.Helper()
	if !canProbe {
		t.Skip("appends are measured on Linux only")
	}
	o := DefaultOptions()
	o.Rate, o.Duration, o.Runs, o.FileSize = 5000, 200*time.Millisecond, 1, 1<<20
	return o
}

func probed(t *testing.T, dir string, o Options) []*Run {
	t.Helper()
	var runs []*Run
	if err := Do(context.Background(), dir, o, nil, func(r *Run) error { runs = append(runs, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return runs
}

// TestRun: each kind and mode gives whole runs, whose parts add up, and leaves
// nothing behind.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		flush FlushMode
		kind  Kind
		rate  float64
	}{{"woken", Woken, Mmap, 5000}, {"timed", Timed, Mmap, 5000}, {"sync", Sync, Mmap, 100}, {"pool", Timed, Pool, 5000}} {
		t.Run(c.name, func(t *testing.T) {
			o := brief(t)
			o.Flush, o.Kind, o.Rate = c.flush, c.kind, c.rate
			dir := t.TempDir()
			r := probed(t, dir, o)[0]
			if entries, _ := os.ReadDir(dir); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
			plan, err := o.plan(0)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(r.Samples), len(plan.at); got != want || got < 10 {
				t.Fatalf("samples: got %d, want %d, at least 10", got, want)
			}
			rolls := 0
			for i := range r.Samples {
				s := &r.Samples[i]
				if err := s.check(); err != nil {
					t.Fatalf("sample %d: %v", i, err)
				}
				if got, want := s.Intended, plan.at[i]; got != want {
					t.Fatalf("sample %d: intended at %d, want %d", i, got, want)
				}
				if got, want := int64(s.Bytes), int64(plan.bodies[i])+envelope; got != want {
					t.Fatalf("sample %d: %d bytes, want %d", i, got, want)
				}
				sum := int64(0)
				for _, p := range Parts {
					sum += p.Of(s)
				}
				if sum != s.Sojourn() {
					t.Fatalf("sample %d: parts add up to %d, sojourn is %d", i, sum, s.Sojourn())
				}
				if s.Roll > 0 {
					rolls++
				}
				if s.Start < s.Intended || i > 0 && s.Start < r.Samples[i-1].End {
					t.Fatalf("sample %d began before it should or could", i)
				}
				if c.flush == Sync && s.Done == s.Unlock {
					t.Fatalf("sample %d: no wait for the sync", i)
				}
			}
			if want := int(plan.written/o.FileSize) - 1; rolls < want {
				t.Errorf("rolls: got %d, want at least %d", rolls, want)
			}
			if c.flush != Timed && len(r.Flushes) == 0 {
				t.Error("no flush was seen")
			}
			if len(r.IdleWakes) < idleWakes || len(r.Kernel) == 0 {
				t.Errorf("hand-offs and kernel: got %d, %d", len(r.IdleWakes), len(r.Kernel))
			}
			if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "too short for p99.9") }) {
				t.Errorf("warnings: want one of a run too short for p99.9, got %q", r.Warnings)
			}
			if r.Cost.Clock <= 0 || r.Cost.LoopP50 <= 0 {
				t.Errorf("measuring cost: got %+v", r.Cost)
			}
			h, err := hdrhistogram.Decode([]byte(r.Histograms["sojourn"]))
			if err != nil || h.TotalCount() != int64(len(r.Samples)) {
				t.Errorf("sojourn histogram: %v", err)
			}
		})
	}
}

// TestRoundTrip: what is read is what was written.
func TestRoundTrip(t *testing.T) {
	r := sample()
	dir := t.TempDir()
	write(t, r, dir)
	got, err := Read(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	found, err := Find(dir)
	if err != nil || len(found) != 1 {
		t.Errorf("Find: got %v, %v", found, err)
	}
	above := t.TempDir()
	for _, n := range []int{2, 1, 10} {
		sub := filepath.Join(above, RunName(n))
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, r, sub)
	}
	found, err = Find(above)
	if want := []string{filepath.Join(above, "run-1"), filepath.Join(above, "run-2"), filepath.Join(above, "run-10")}; err != nil || !slices.Equal(found, want) {
		t.Errorf("Find: got %v, %v, want %v", found, err, want)
	}
}

func write(t *testing.T, r *Run, dir string) {
	t.Helper()
	if err := r.Write(func(name string, data []byte) error { return os.WriteFile(filepath.Join(dir, name), data, 0o666) }); err != nil {
		t.Fatal(err)
	}
}

// sample is a small run by hand.
func sample() *Run {
	r := &Run{
		Schema: schema, Number: 1,
		Settings:  Settings{Rate: 100, Body: "1KiB", BodyMin: 1024, BodyMax: 1024, DurationNs: 1e9, Flush: "woken", Kind: "mmap", FileSize: 1 << 20, Runs: 1, FlushMs: 500},
		Files:     []NewFile{{1, 2, 3}},
		IdleWakes: []int64{5},
		Kernel:    []KernelState{{1, 2, 3, 4, 5}},
		Flushes:   []Flush{{0, 100, 50, 60}, {100, 200, 60, 70}},
	}
	for i := range int64(20) {
		at := i * 1000
		r.Samples = append(r.Samples, Sample{at, at + 1, at + 2, at + 3, at + 10, at + 11, at + 12, at + 13, at + 14, 5, i * 100, 100, Cause(i % int64(causes))})
	}
	r.summarise()
	return r
}

// TestReadRefuses: a run is untrusted.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		bend func(*Run)
		want string
	}{
		{"schema", func(r *Run) { r.Schema = "else/1" }, "schema"},
		{"rate", func(r *Run) { r.Settings.Rate = 0 }, "rate_per_s"},
		{"flush", func(r *Run) { r.Settings.Flush = "never" }, "flush"},
		{"file size", func(r *Run) { r.Settings.FileSize = 1 << 40 }, "file_size_bytes"},
		{"hand-off", func(r *Run) { r.IdleWakes[0] = -1 }, "idle_wake_ns"},
		{"no samples", func(r *Run) { r.Samples = nil }, "no samples"},
		{"backwards", func(r *Run) { r.Samples[3].Lock = 0 }, "samples.csv.gz:5: lock_ns"},
		{"before the last", func(r *Run) { r.Samples[3].Start = 5; r.Samples[3].Intended = 5 }, "samples.csv.gz:5: start_ns"},
		{"roll", func(r *Run) { r.Samples[3].Roll = 1000 }, "roll"},
		{"flush order", func(r *Run) { r.Flushes[1].Start = 55 }, "flushes.csv.gz:3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sample()
			c.bend(r)
			dir := t.TempDir()
			write(t, r, dir)
			if _, err := Read(os.DirFS(dir), "."); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Read: got %v, want %q in it", err, c.want)
			}
		})
	}
	for _, name := range []string{samplesFile, flushesFile, runFile} {
		t.Run("cut "+name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, sample(), dir)
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, keep := range []int{0, 5, len(data) / 2, len(data) - 9} {
				if err := os.WriteFile(filepath.Join(dir, name), data[:keep], 0o666); err != nil {
					t.Fatal(err)
				}
				if _, err := Read(os.DirFS(dir), "."); err == nil {
					t.Errorf("Read of %d of %d bytes: no error", keep, len(data))
				}
			}
		})
	}
}

func TestValidate(t *testing.T) {
	body := func(text string) variate.Dist { return variate.Must(variate.ParseDist(text, variate.Bytes)) }
	for _, c := range []struct {
		name string
		bend func(*Options)
		want string // "" for none
	}{
		{"default", func(*Options) {}, ""},
		{"rate 0", func(o *Options) { o.Rate = 0 }, "rate"},
		{"rate too high", func(o *Options) { o.Rate = 1e7 }, "rate"},
		{"too many", func(o *Options) { o.Duration = time.Hour }, "rate and duration"},
		{"too few", func(o *Options) { o.Rate = 0.5 }, "rate and duration"},
		{"too brief", func(o *Options) { o.Duration = time.Millisecond }, "duration"},
		{"body 0", func(o *Options) { o.Body = body("0B") }, "body"},
		{"body without end", func(o *Options) { o.Body = body("exponential(mean=1KiB)") }, "body"},
		{"body too large", func(o *Options) { o.Body = body("8MiB") }, "body"},
		{"file too small", func(o *Options) { o.Body = body("1MiB"); o.FileSize = 2 << 20 }, "file size"},
		{"file odd", func(o *Options) { o.FileSize = 1<<20 + 1 }, "file size"},
		{"no runs", func(o *Options) { o.Runs = 0 }, "runs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := DefaultOptions()
			c.bend(&o)
			err := o.Validate()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want+": want") {
				t.Errorf("Validate: got %v, want a fault of %q", err, c.want)
			}
		})
	}
}

// TestRefuses: what Do doesn't begin with.
func TestRefuses(t *testing.T) {
	o := brief(t)
	never := func(*Run) error { t.Error("a run was made"); return nil }
	occupied := t.TempDir()
	other := filepath.Join(occupied, StoreName, "somebody's")
	if err := os.MkdirAll(other, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	huge := o
	huge.Rate, huge.Duration, huge.Body, huge.FileSize = 1000, time.Hour, variate.Must(variate.ParseDist("4000KiB", variate.Bytes)), 1<<30
	for _, c := range []struct {
		name, dir, want string
		o               Options
	}{
		{"missing", filepath.Join(occupied, "none", "deeper"), "no such file", o},
		{"a file", file, "want a folder", o},
		{"occupied", occupied, "holds something already", o},
		{"no space", t.TempDir(), "no space", huge},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Do(context.Background(), c.dir, c.o, nil, never); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Do: got %v, want bad input, %q", err, c.want)
			}
		})
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("what was there before: %v", err)
	}
}

// TestInterrupt: whole runs are kept, the stores are gone.
func TestInterrupt(t *testing.T) {
	o := brief(t)
	o.Runs = 3
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	var runs []*Run
	err := Do(ctx, dir, o, nil, func(r *Run) error { runs = append(runs, r); cancel(); return nil })
	if !errors.Is(err, context.Canceled) || len(runs) != 1 {
		t.Errorf("Do: got %v and %d runs, want canceled and 1", err, len(runs))
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestKeep: the stores are left if asked for.
func TestKeep(t *testing.T) {
	o := brief(t)
	o.Keep = true
	dir := t.TempDir()
	probed(t, dir, o)
	if _, err := os.Stat(filepath.Join(dir, StoreName, "run-1", "commitlog")); err != nil {
		t.Error(err)
	}
}

// TestPlan: instants and sizes are those of the seed, and of the run.
func TestPlan(t *testing.T) {
	o := DefaultOptions()
	o.Rate, o.Duration = 1000, time.Second
	first, _ := o.plan(0)
	again, _ := o.plan(0)
	second, _ := o.plan(1)
	if !slices.Equal(first.at, again.at) || !slices.Equal(first.bodies, again.bodies) {
		t.Error("the same run has another plan")
	}
	if slices.Equal(first.at, second.at) || slices.Equal(first.bodies, second.bodies) {
		t.Error("two runs have one plan")
	}
	if n := len(first.at); n < 850 || n > 1150 {
		t.Errorf("appends: got %d, want about 1000", n)
	}
}

// TestCauses: what the counters of switches mean.
func TestCauses(t *testing.T) {
	then := switches{7, 3, 4}
	for _, c := range []struct {
		now  switches
		want Cause
	}{
		{switches{7, 3, 4}, CauseRan},
		{switches{7, 3, 5}, CausePreempted},
		{switches{7, 4, 5}, CauseSlept},
		{switches{8, 3, 4}, CauseUnknown},
	} {
		if got := c.now.since(then); got != c.want {
			t.Errorf("%+v: got %v, want %v", c.now, got, c.want)
		}
	}
}

// TestThrottling is dirty_freerun_ceiling.
func TestThrottling(t *testing.T) {
	for _, c := range []struct {
		k    KernelState
		want bool
	}{
		{KernelState{Dirty: 140, Writeback: 10, DirtyLimit: 200, BackgroundLimit: 100}, false},
		{KernelState{Dirty: 140, Writeback: 11, DirtyLimit: 200, BackgroundLimit: 100}, true},
		{KernelState{Dirty: 1}, false},
	} {
		if got := c.k.Throttling(); got != c.want {
			t.Errorf("%+v: got %t", c.k, got)
		}
	}
}

// TestStuck: an interrupt doesn't wait for an append that the kernel holds, or
// anything else does.
func TestStuck(t *testing.T) {
	o := brief(t)
	p, err := o.plan(0)
	if err != nil {
		t.Fatal(err)
	}
	options, err := realstore.DefaultOptions("")
	if err != nil {
		t.Fatal(err)
	}
	held, begun := make(chan struct{}), make(chan struct{}, len(p.at))
	options.MappedFileSizeCommitLog = int(o.FileSize)
	options.MessageIndexEnable = false
	options.Hook.Append = func(int64, int) { begun <- struct{}{}; <-held }
	store, err := realstore.Open(filepath.Join(t.TempDir(), "store"), options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var stop atomic.Bool
	a := &appender{plan: p, store: store, clock: newClock(), samples: make([]Sample, len(p.at)), stop: &stop}
	context.AfterFunc(ctx, func() { stop.Store(true) })
	go func() { <-begun; cancel() }()
	stuck, err := a.await(ctx, time.Hour)
	if !stuck || !errors.Is(err, context.Canceled) {
		t.Errorf("await: got %t, %v, want stuck and canceled", stuck, err)
	}
	close(held)
	for !stop.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestFullDisk: blocks are allocated when a file is made, so a full disk is an
// error, not a fault of the process.
func TestFullDisk(t *testing.T) {
	o := brief(t)
	o.Rate, o.FileSize = 2000, 8<<20
	dir := os.Getenv("BROKERSIM_FULL_DISK")
	if dir == "" {
		mount := `mkdir "$1" && mount -t tmpfs -o size=12m tmpfs "$1" && BROKERSIM_FULL_DISK="$1" exec "$2" -test.run='^TestFullDisk$' -test.v`
		out, err := exec.Command("unshare", "-rm", "sh", "-c", mount, "sh", filepath.Join(t.TempDir(), "small"), os.Args[0]).CombinedOutput()
		if !strings.Contains(string(out), "=== RUN") {
			t.Skipf("no mount of one's own here: %v: %s", err, out)
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	err := Do(t.Context(), dir, o, nil, func(*Run) error { return nil })
	if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "no space") {
		t.Errorf("Do: got %v, want no space", err)
	}
	// As if the space had gone meanwhile.
	if err := os.MkdirAll(filepath.Join(dir, "store"), 0o777); err != nil {
		t.Fatal(err)
	}
	o.FileSize = 16 << 20
	if _, err := measure(t.Context(), filepath.Join(dir, "store"), &o, 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("measure: got %v, want ENOSPC", err)
	}
}
