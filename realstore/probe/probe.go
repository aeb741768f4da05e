package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"brokersim/realstore"
)

// StoreName is the folder, under the one that is probed, that the stores are
// made in.
const StoreName = "brokersim-probe"

// ErrInput is in the chain of errors that the caller's input is to blame for.
var ErrInput = errors.New("bad input")

// Do measures o.Runs runs on the disk of dir and gives each, once complete, to
// done. progress, which may be nil, hears of the runs, in ns, while none is
// under way. When ctx ends the run under way is thrown away and the error is
// ctx's. The stores are removed whatever happens, unless o.Keep.
func Do(ctx context.Context, dir string, o Options, progress func(done, total time.Duration), done func(*Run) error) (err error) {
	if !canProbe {
		return fmt.Errorf("probe: %w: appends are measured on Linux only, this is %s", errors.ErrUnsupported, runtime.GOOS)
	}
	if err := o.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	root, err := claim(dir, &o)
	if err != nil {
		return err
	}
	if !o.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	}
	environment, err := environmentOf(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	cost := measureCost(&o)
	if progress == nil {
		progress = func(time.Duration, time.Duration) {}
	}
	total := time.Duration(o.Runs) * o.Duration
	for n := range o.Runs {
		progress(time.Duration(n)*o.Duration, total)
		store := filepath.Join(root, fmt.Sprintf("run-%d", n+1))
		r, err := measure(ctx, store, &o, n)
		if !o.Keep {
			err = errors.Join(err, os.RemoveAll(store))
		}
		if err != nil {
			return err
		}
		r.Environment, r.Cost = environment, cost
		r.summarise()
		if err := done(r); err != nil {
			return err
		}
		if n+1 < o.Runs {
			settle(ctx)
		}
	}
	progress(total, total)
	return ctx.Err()
}

// claim makes the folder for the stores, in dir, which is made if only it is
// missing.
func claim(dir string, o *Options) (string, error) {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w: %w", ErrInput, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInput, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%w: %s: want a folder, this is a file", ErrInput, dir)
	}
	root := filepath.Join(dir, StoreName)
	if entries, err := os.ReadDir(root); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%w: %s holds something already (%q): remove it, or probe another folder", ErrInput, root, entries[0].Name())
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("%w: %w", ErrInput, err)
	}
	if free, need := freeBytes(dir), o.DiskBytes(); free >= 0 && free < need {
		os.Remove(root)
		return "", fmt.Errorf("%w: %s: no space: the runs take %d MiB, %d MiB are free", ErrInput, dir, need>>20, free>>20)
	}
	return root, nil
}

// memoryBeside is what a run may allocate beside its samples before the
// collector goes to work all the same.
const memoryBeside = 512 << 20

// measure does one run in a store of its own.
func measure(ctx context.Context, dir string, o *Options, number int) (*Run, error) {
	p, err := o.plan(number)
	if err != nil {
		return nil, err
	}
	r := &Run{Schema: schema, Number: number + 1, Samples: make([]Sample, len(p.at)), Files: []NewFile{}, Warnings: []string{}}
	r.Settings = o.settings(p)
	watch := newWatcher(o.Duration)
	clock := newClock()
	flushes := newFlushLog(o, len(p.at))
	files := make(chan NewFile, 4096)

	options, err := realstore.DefaultOptions("")
	if err != nil {
		return nil, err
	}
	r.Settings.Release, r.Settings.FlushMs = options.Release, options.FlushIntervalCommitLog.Milliseconds()
	options.MappedFileSizeCommitLog = int(o.FileSize)
	options.MessageIndexEnable = false
	options.FlushCommitLogTimed = o.Flush == Timed
	options.TransientStorePoolEnable = o.Kind == Pool
	options.UseReentrantLockWhenPutMessage = false // nobody contends
	if o.Flush == Sync {
		options.FlushDiskType = realstore.SyncFlush
	}
	options.Nanos = clock.now
	options.Hook.Flushed = flushes.add
	options.Hook.Allocated = func(base, start, end int64) {
		if flushes.on.Load() && start <= end {
			select {
			case files <- NewFile{base, start, end}:
			default:
			}
		}
	}
	procs := runtime.GOMAXPROCS(max(4, runtime.NumCPU()))
	limit := debug.SetMemoryLimit(r.Settings.MemoryLimit)
	percent := debug.SetGCPercent(100)
	var store *realstore.Store
	stuck := false
	defer func() {
		// While a thread is in a page fault nothing may stop the world: not the
		// collector, none of these, nor the store's own end.
		if stuck {
			return
		}
		runtime.GOMAXPROCS(procs)
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		if store != nil {
			store.Close() // once more where it was reached below: harmless
		}
	}()
	if store, err = realstore.Open(dir, options); err != nil {
		return nil, err
	}

	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	a := &appender{plan: p, store: store, clock: clock, samples: r.Samples, stop: &stop}
	if err := a.warmUp(); err != nil {
		return nil, err
	}

	runtime.GC()
	debug.SetGCPercent(-1)
	quickTimers()
	r.IdleWakes = handoffs(clock, &stop)
	r.Before = load()
	clock.reset()
	flushes.begin()
	watch.start(clock)
	if stuck, err = a.await(ctx, o.Duration+patience); stuck {
		return nil, err
	}
	watch.stop()
	r.After = load()
	r.After.AtNs -= r.Before.AtNs
	r.Before.AtNs = 0

	if err = errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	close(files)
	for f := range files {
		r.Files = append(r.Files, f)
	}
	r.Flushes, r.FlushesLost = flushes.taken(), flushes.lost.Load()
	r.Kernel = watch.states
	return r, nil
}

func (o *Options) settings(p *plan) Settings {
	s := Settings{
		Rate: o.Rate, Body: o.Body.String(), DurationNs: int64(o.Duration), Flush: o.Flush.String(), Kind: o.Kind.String(),
		FileSize: o.FileSize, Runs: o.Runs, Seed: o.Seed,
		MemoryLimit: int64(len(p.at))*200 + p.longest + memoryBeside,
	}
	for i, n := range p.bodies {
		if i == 0 || int64(n) < s.BodyMin {
			s.BodyMin = int64(n)
		}
		s.BodyMax = max(s.BodyMax, int64(n))
	}
	return s
}

// clock counts ns from an instant that can be set anew.
type clock struct{ base atomic.Pointer[time.Time] }

func newClock() *clock {
	c := &clock{}
	c.reset()
	return c
}

func (c *clock) reset() {
	now := time.Now()
	c.base.Store(&now)
}

func (c *clock) now() int64 { return int64(time.Since(*c.base.Load())) }

// appender is the one thread that appends.
type appender struct {
	plan    *plan
	store   *realstore.Store
	clock   *clock
	samples []Sample
	stop    *atomic.Bool

	own switches // at the last look
}

// warmUp appends unmeasured, so that the first file is there and every path
// was taken once.
func (a *appender) warmUp() error {
	for range 64 {
		m := a.message(1)
		if _, err := a.store.Append(&m, nil); err != nil {
			return err
		}
	}
	return nil
}

func (a *appender) message(body int32) realstore.Message {
	return realstore.Message{Topic: topic, Body: a.plan.body[:min(int(body), len(a.plan.body))]}
}

// spin is how long before an instant the pacer is awake. A sleep of the kernel
// ends some 10 us late, on a virtual machine up to 100.
const spin = int64(100 * time.Microsecond)

// patience is how much longer than planned a run may take, and grace how long an
// append that is under way may, once the run is interrupted: the kernel can hold
// a writer for minutes.
const (
	patience = time.Minute
	grace    = 2 * time.Second
)

// await does a.run, unless an append is stuck: then it goes on without it.
func (a *appender) await(ctx context.Context, most time.Duration) (stuck bool, err error) {
	ran := make(chan error, 1)
	go func() { ran <- a.run() }()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case err := <-ran:
		return false, err
	case <-late.C:
		a.stop.Store(true)
		err = fmt.Errorf("the appends of a run are not done %v after it should have ended: the disk takes less than that rate", patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case failed := <-ran:
		return false, errors.Join(err, failed)
	case <-time.After(grace):
		return true, err
	}
}

// run does all appends of the plan, or as many as there are until it is told
// to stop.
func (a *appender) run() error {
	var phases realstore.Phases
	m := a.message(1)
	end := int64(0)
	a.own = switchesOf()
	for i, intended := range a.plan.at {
		now := a.clock.now()
		for now < intended {
			if left := intended - now - spin; left > 0 {
				sleep(left)
				a.own = switchesOf() // there is time for it, and none later
			}
			now = a.clock.now()
		}
		if a.stop.Load() {
			return nil
		}
		s := &a.samples[i]
		wanted := max(intended, end)
		s.Intended, s.Start = intended, now
		if now-wanted > int64(Slow) {
			a.own = switchesOf() // what came before isn't this append's
		}
		m.Body = a.plan.body[:a.plan.bodies[i]]
		result, err := a.store.Append(&m, &phases)
		end = a.clock.now()
		if err != nil && !errors.Is(err, realstore.ErrFlushTimeout) {
			return fmt.Errorf("append %d of %d: %w", i+1, len(a.samples), err)
		}
		s.Request, s.Lock, s.Append, s.Appended = phases.Request, phases.Lock, phases.Append, phases.Appended
		s.Unlock, s.Done, s.Roll = phases.Unlock, phases.Done, phases.Roll
		s.End, s.Offset, s.Bytes = end, result.Offset, int32(result.Bytes)
		if s.Unlock-wanted > int64(Slow) {
			seen := switchesOf()
			if seen.thread != a.own.thread {
				// After a long time in the kernel the runtime moves a goroutine on:
				// what happened is in the counters of the thread that it left.
				s.Cause = switchesOfThread(a.own.thread).since(a.own)
			} else {
				s.Cause = seen.since(a.own)
			}
			a.own = seen
		}
	}
	return nil
}

// switches counts how often a thread was switched off.
type switches struct {
	thread                 int
	voluntary, involuntary int64
}

func (now switches) since(then switches) Cause {
	switch {
	case now.thread != then.thread:
		return CauseUnknown
	case now.voluntary > then.voluntary:
		return CauseSlept
	case now.involuntary > then.involuntary:
		return CausePreempted
	default:
		return CauseRan
	}
}

// flushLog keeps what the flush thread did, without allocating.
type flushLog struct {
	flushes []Flush
	n       atomic.Int64
	lost    atomic.Int64
	on      atomic.Bool
}

const flushesMost = 1 << 20

func newFlushLog(o *Options, appends int) *flushLog {
	room := int(o.Duration/(100*time.Millisecond)) + 1024
	if o.Flush != Timed {
		room = appends + 1024
	}
	return &flushLog{flushes: make([]Flush, min(room, flushesMost))}
}

func (l *flushLog) begin() { l.on.Store(true) }

// add is called by one thread at a time.
func (l *flushLog) add(from, to, start, end int64) {
	n := l.n.Load()
	switch {
	case !l.on.Load():
	case int(n) == len(l.flushes):
		l.lost.Add(1)
	default:
		l.flushes[n] = Flush{from, to, start, end}
		l.n.Store(n + 1)
	}
}

// taken leaves out what began before the run or ended after its close.
func (l *flushLog) taken() []Flush {
	kept := l.flushes[:0]
	for _, f := range l.flushes[:l.n.Load()] {
		if f.Start >= 0 && f.End >= f.Start && f.End < timeMost {
			kept = append(kept, f)
		}
	}
	return kept
}

// Of the hand-offs. The sends are far enough apart for the receiver, and its
// thread, to fall asleep.
const (
	idleWakes = 300
	idleEvery = int64(1500 * time.Microsecond)
)

// handoffs measures how long a goroutine that waits at a channel takes until
// it works.
func handoffs(c *clock, stop *atomic.Bool) []int64 {
	ch := make(chan int64, idleWakes)
	idle := make([]int64, 0, idleWakes)
	finished := make(chan bool)
	go func() {
		defer close(finished)
		for sent := range ch {
			if got := c.now() - sent; len(idle) < cap(idle) {
				idle = append(idle, max(got, 0))
			}
		}
	}()
	next := c.now()
	for range idleWakes {
		for next += idleEvery; c.now() < next; {
			if left := next - c.now() - spin; left > 0 {
				sleep(left)
			}
		}
		if stop.Load() {
			break
		}
		ch <- c.now()
	}
	close(ch)
	<-finished
	return idle
}

// measureCost paces appends that do nothing.
func measureCost(o *Options) Cost {
	const reads, turns = 20000, 2000
	c := newClock()
	first := c.now()
	for range reads - 1 {
		c.now()
	}
	cost := Cost{Clock: float64(c.now()-first) / reads, LoopTurns: turns}
	quickTimers()
	var h histogram
	every := max(1, min(int64(1e9/o.Rate), int64(100*time.Microsecond)))
	samples := make([]Sample, turns)
	for i := range samples {
		s := &samples[i]
		s.Intended = first + int64(i+1)*every
		now := c.now()
		if i == 0 {
			first = now
			s.Intended = first + every
		}
		for now < s.Intended {
			if left := s.Intended - now - spin; left > 0 {
				sleep(left)
			}
			now = c.now()
		}
		s.Start = now
		for range 6 { // as an append reads the clock
			s.Unlock = c.now()
		}
		s.End = c.now()
		h.add(s.End - s.Start)
	}
	cost.LoopP50, cost.LoopP99, cost.LoopP999, cost.LoopMax = h.quantile(0.5), h.quantile(0.99), h.quantile(0.999), h.max()
	return cost
}

// settle lets the disk finish with the files of the run before.
func settle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
}

// watcher keeps what the kernel says of dirty pages.
type watcher struct {
	states []KernelState
	quit   chan struct{}
	done   chan struct{}
}

const watchEvery = 100 * time.Millisecond

func newWatcher(d time.Duration) *watcher {
	return &watcher{
		states: make([]KernelState, 0, int(d/watchEvery)*2+100),
		quit:   make(chan struct{}), done: make(chan struct{}),
	}
}

func (w *watcher) start(c *clock) {
	read, closeAll := kernelReader()
	go func() {
		defer close(w.done)
		defer closeAll()
		t := time.NewTicker(watchEvery)
		defer t.Stop()
		for {
			if len(w.states) < cap(w.states) {
				s := read()
				s.At = c.now()
				w.states = append(w.states, s)
			}
			select {
			case <-w.quit:
				return
			case <-t.C:
			}
		}
	}()
}

func (w *watcher) stop() {
	close(w.quit)
	<-w.done
}
