package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/realstore"
	"brokersim/scenarios"
	"brokersim/sim"
)

// The test's binary is the broker's process too.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		if err := serve(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serve(scenario, dir string) error {
	return Serve(config(scenario), Options{Dir: dir, FileSize: 1 << 20}, os.Stdin, os.Stdout)
}

func config(text string) *model.Config {
	sc, err := scenarios.Parse("live.toml", []byte("schema = 1\ntitle = \"t\"\nstory = \"s\"\n"+text), nil)
	if err != nil {
		panic(err)
	}
	return &sc.Config
}

func run(t *testing.T, ctx context.Context, scenario, dir string) (*Record, error) {
	t.Helper()
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("a live run takes its time, and Linux")
	}
	cmd := exec.Command(os.Args[0], "serve", scenario, dir)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return Run(ctx, cmd, config(scenario), 0, nil)
}

const base = `
duration = "900ms"
[broker]
sendMessageThreadPoolNums = %d
useReentrantLockWhenPutMessage = %t
sendThreadPoolQueueCapacity = %d
osPageCacheBusyTimeOutMills = %d
[[producer]]
arrivals = "poisson(rate=%d/s)"
body = "100B"
`

// TestRules runs short scenarios on the wall clock and looks at what must hold
// on any machine, however slow: each send has one outcome, the rules' limits
// are kept, and the store holds what was answered as stored and nothing else.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name     string
		scenario string
		want     []model.Outcome // that must occur
	}{
		{"quiet", fmt.Sprintf(base, 1, false, 10000, 1000, 500), []model.Outcome{model.OK}},
		{"stall", fmt.Sprintf(base, 1, false, 10000, 1000, 500) + `
[[stall]]
where = "append"
at = "200ms"
for = "400ms"
`, []model.Outcome{model.OK, model.TimeoutCleanQueue}},
		{"page cache busy, reentrant lock, 3 threads", fmt.Sprintf(base, 3, true, 10000, 100, 500) + `
[[stall]]
where = "append"
at = "200ms"
until = "700ms"
`, []model.Outcome{model.OK, model.PCBusyCleanQueue, model.RejectRequest}},
		{"full queue", fmt.Sprintf(base, 1, true, 20, 1000, 500) + `
[[stall]]
where = "append"
at = "200ms"
for = "300ms"
`, []model.Outcome{model.OK, model.Overload}},
		{"freeze", fmt.Sprintf(base, 1, false, 10000, 1000, 500) + `
[[stall]]
where = "process"
at = "300ms"
for = "150ms"
[[stall]]
where = "process"
at = "400ms"
for = "100ms"
`, []model.Outcome{model.OK}},
		{"late sweep", fmt.Sprintf(base, 1, false, 10000, 1000, 500) + `
[[stall]]
where = "append"
at = "100ms"
for = "500ms"
[[stall]]
where = "sweep"
at = "300ms"
for = "200ms"
`, []model.Outcome{model.OK, model.TimeoutCleanQueue}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			rec, err := run(t, t.Context(), c.scenario, dir)
			if err != nil {
				t.Fatal(err)
			}
			cfg := config(c.scenario)
			checkRules(t, cfg, rec)
			if err := CheckStore(dir, rec); err != nil {
				t.Errorf("store: %v", err)
			}
			seen := map[model.Outcome]int{}
			for i := range rec.Rows {
				seen[rec.Rows[i].Outcome]++
			}
			for _, o := range c.want {
				if seen[o] == 0 {
					t.Errorf("no send was answered %v: %v", o, seen)
				}
			}
			if rec.Collections != 0 {
				t.Errorf("the collector ran %d times", rec.Collections)
			}
			if len(rec.Stalls) == 0 && len(cfg.Stalls) > 0 {
				t.Error("no stall is recorded")
			}
		})
	}
}

// checkRules holds every row against the rules, with the run's own times.
func checkRules(t *testing.T, cfg *model.Config, rec *Record) {
	t.Helper()
	sends, err := model.Sends(cfg, 0, sendsMost)
	if err != nil {
		t.Fatal(err)
	}
	if len(sends) != len(rec.Rows) {
		t.Fatalf("%d sends have a row, %d were drawn", len(rec.Rows), len(sends))
	}
	for i := range rec.Rows {
		r := &rec.Rows[i]
		switch {
		case r.Send != sends[i].Send || r.Due != sends[i].Arrive || r.Body != sends[i].Body:
			t.Errorf("send %d: not the one that was drawn: %+v, want %+v", i, r, sends[i])
		case r.Arrive < r.Due:
			t.Errorf("send %d arrived at %v, before its time %v", i, r.Arrive, r.Due)
		case r.Outcome == model.Pending:
			t.Errorf("send %d has no outcome", i)
		case r.Outcome == model.TimeoutCleanQueue && r.PeriodMs < cfg.Broker.WaitTimeMillsInSendQueue:
			t.Errorf("send %d: timeout after %d ms", i, r.PeriodMs)
		case r.Clean != model.Absent && r.PeriodMs != rec.Wall.Ms(r.Clean)-r.CreateMs:
			t.Errorf("send %d: period %d ms, %d by its times", i, r.PeriodMs, rec.Wall.Ms(r.Clean)-r.CreateMs)
		case r.Outcome == model.Overload && r.QlenEnq != 0, r.Outcome == model.OK && r.QlenEnq == 0:
			t.Errorf("send %d: %v with a queue of %d", i, r.Outcome, r.QlenEnq)
		case int64(r.QlenEnq) > cfg.Broker.SendThreadPoolQueueCapacity:
			t.Errorf("send %d: queue of %d, capacity %d", i, r.QlenEnq, cfg.Broker.SendThreadPoolQueueCapacity)
		case r.Outcome == model.OK && r.Offset == model.Absent:
			t.Errorf("send %d: stored nowhere", i)
		}
	}
	// One holder of the lock at a time, and one taker of each send.
	rows := slices.Clone(rec.Rows)
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Lock == model.Absent })
	slices.SortFunc(rows, func(a, b Row) int { return int(a.Offset - b.Offset) })
	for i := range rows[1:] {
		if rows[i+1].Lock < rows[i].App1 {
			t.Errorf("sends %d and %d: the lock was taken at %v, the append before it ended at %v", rows[i].Seq, rows[i+1].Seq, rows[i+1].Lock, rows[i].App1)
		}
	}
	for i, s := range rec.Sweeps {
		if s.Start < s.Nominal || s.N != int64(i)+1 || i > 0 && s.Nominal-rec.Sweeps[i-1].Nominal != model.SweepPeriod {
			t.Errorf("sweep %d: %+v", i, s)
		}
	}
	if _, err := rec.Ledger(cfg, 0, model.Observer{}, nil); err != nil {
		t.Error(err)
	}
}

// TestStalledAppendDoesNotStopTheSweeper: sweeps go on while an append stands
// still under the put lock, and answer what waits behind it.
func TestStalledAppendDoesNotStopTheSweeper(t *testing.T) {
	t.Parallel()
	rec, err := run(t, t.Context(), fmt.Sprintf(base, 1, false, 10000, 1000, 200)+`
[[stall]]
where = "append"
at = "100ms"
for = "600ms"
`, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stall := longest(rec, model.StallAppend)
	if stall.To-stall.From < 600*sim.Millisecond {
		t.Fatalf("stalls: %v", rec.Stalls)
	}
	sweeps, arrivals := 0, 0
	for _, s := range rec.Sweeps {
		if stall.From < s.Start && s.End < stall.To {
			sweeps++
		}
	}
	for i := range rec.Rows {
		if r := &rec.Rows[i]; stall.From < r.Arrive && r.Clean != model.Absent && r.Clean < stall.To {
			arrivals++
		}
	}
	// 60 sweeps are due in it; a machine may be slow, but not that slow.
	if sweeps < 20 || arrivals == 0 {
		t.Errorf("during a stall of %v: %d sweeps, %d sends came and were swept", stall.To-stall.From, sweeps, arrivals)
	}
}

// longest is the longest stall of its kind; a machine has some of its own.
func longest(rec *Record, where model.StallWhere) (l recording.Stall) {
	for _, s := range rec.Stalls {
		if s.Where == where && s.To-s.From > l.To-l.From {
			l = s
		}
	}
	return l
}

// TestFreezeIsReal: while the process is stopped nothing of it happens.
func TestFreezeIsReal(t *testing.T) {
	t.Parallel()
	rec, err := run(t, t.Context(), fmt.Sprintf(base, 2, true, 10000, 1000, 500)+`
[[stall]]
where = "process"
at = "200ms"
for = "300ms"
`, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	freeze := longest(rec, model.StallProcess)
	if freeze.From < 200*sim.Millisecond || freeze.To < 500*sim.Millisecond {
		t.Fatalf("stalls: %v", rec.Stalls)
	}
	from, to := freeze.From+100*sim.Millisecond, freeze.To // it may take a while to stop
	in := func(at sim.Time) bool { return from < at && at < to }
	for i := range rec.Rows {
		if r := &rec.Rows[i]; in(r.Arrive) || in(r.Enq) || in(r.Deq) || in(r.Unlock) || in(r.Clean) {
			t.Errorf("during the freeze from %v to %v: %+v", from, to, r.Attempt)
		}
	}
	for _, s := range rec.Sweeps {
		if in(s.Start) {
			t.Errorf("during the freeze from %v to %v: %+v", from, to, s)
		}
	}
}

// TestInterrupted: the run ends soon, what was answered is kept and adds up,
// and the store is closed.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	scenario := fmt.Sprintf(base, 1, false, 10000, 1000, 200) + `
[[stall]]
where = "append"
at = "100ms"
for = "1h"
[[stall]]
where = "process"
at = "500ms"
for = "1h"
`
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	rec, err := run(t, ctx, scenario, dir)
	if !errors.Is(err, context.DeadlineExceeded) || rec == nil || !rec.Interrupted {
		t.Fatalf("record %v, error %v", rec, err)
	}
	ledger, err := rec.Ledger(config(scenario), 0, model.Observer{}, err)
	if err != nil {
		t.Fatal(err)
	}
	var study model.Study
	study.AddLedger(ledger)
	if sent := study.Result().Attempts.Sent; sent == 0 || sent >= int64(len(rec.Rows)) {
		t.Errorf("%d of %d sends are counted", sent, len(rec.Rows))
	}
	if err := CheckStore(dir, rec); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "abort")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("abort: %v", err)
	}
}

// TestRefusals: what would go wrong is said before anything is written.
func TestRefusals(t *testing.T) {
	good := fmt.Sprintf(base, 1, false, 10, 1000, 50)
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
	}{
		{"a user's file", func(t *testing.T, dir string) { write(t, dir, "notes.txt") }},
		{"another topic", func(t *testing.T, dir string) {
			write(t, dir, "commitlog/00000000000000000000")
			write(t, dir, "consumequeue/orders/0/00000000000000000000")
		}},
		{"a log without queues", func(t *testing.T, dir string) { write(t, dir, "commitlog/00000000000000000000") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, dir)
			before := list(t, dir)
			if _, err := run(t, t.Context(), good, dir); !errors.Is(err, ErrRefused) {
				t.Errorf("error: got %v, want %v", err, ErrRefused)
			}
			if after := list(t, dir); !slices.Equal(before, after) {
				t.Errorf("the directory had %q, has %q", before, after)
			}
		})
	}
	t.Run("in use", func(t *testing.T) {
		dir := t.TempDir()
		s, err := realstore.Open(dir, realstore.Options{MappedFileSizeCommitLog: 1 << 20})
		if err != nil {
			t.Skip(err)
		}
		defer s.Close()
		if _, err := run(t, t.Context(), good, dir); err == nil {
			t.Error("a store that is open was taken")
		}
	})
	for _, c := range []struct{ name, more string }{
		{"threads", "\n[broker]\nsendMessageThreadPoolNums = 5000\n[[producer]]\narrivals = \"deterministic(rate=1/s)\"\n"},
		{"loads", "\n[[producer]]\narrivals = \"deterministic(rate=1/s)\"\n[[load]]\nqueue = \"pull\"\narrivals = \"deterministic(rate=1/s)\"\nservice = \"1ms\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Check(config("duration = \"1s\"" + c.more)); err == nil {
				t.Error("taken")
			}
		})
	}
}

func write(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestTwice: a second run goes on in the first one's store.
func TestTwice(t *testing.T) {
	t.Parallel()
	scenario := fmt.Sprintf(base, 1, false, 10000, 1000, 100)
	dir := t.TempDir()
	var records []*Record
	for range 2 {
		rec, err := run(t, t.Context(), scenario, dir)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, rec)
	}
	if records[1].From < records[0].To {
		t.Errorf("the second run's messages begin at %d, the first one's end at %d", records[1].From, records[0].To)
	}
	for _, rec := range records {
		if err := CheckStore(dir, rec); err != nil {
			t.Error(err)
		}
	}
}

// TestReplay: what a run records, replay --from reads, and the simulation of
// its arrivals and stalls agrees with it, but for a machine's lateness.
func TestReplay(t *testing.T) {
	t.Parallel()
	scenario := fmt.Sprintf(base, 2, true, 10000, 1000, 400) + `
[machine]
wall_phase = "123456ns"
sweep_phase = "3ms"
[store]
delay = "200us"
[[stall]]
where = "append"
at = "100ms"
for = "250ms"
[[stall]]
where = "process"
at = "600ms"
for = "50ms"
[[stall]]
where = "sweep"
at = "700ms"
for = "30ms"
`
	rec, err := run(t, t.Context(), scenario, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg, dir := config(scenario), t.TempDir()
	if err := rec.Write(dir, cfg, 0); err != nil {
		t.Fatal(err)
	}
	e, err := recording.Open(os.DirFS(dir), *cfg)
	if err != nil {
		t.Fatal(err)
	}
	if e.Config.Machine.WallPhase != cfg.Machine.WallPhase || rec.Wall.Phase != cfg.Machine.WallPhase {
		t.Errorf("wall clock's part below a ms: recorded %v, the run's %v, the scenario's %v", e.Config.Machine.WallPhase, rec.Wall.Phase, cfg.Machine.WallPhase)
	}
	if d := e.Config.Store.Delay; d < cfg.Store.Delay || d != rec.Delay {
		t.Errorf("delay: recorded %v, was %v, the scenario's %v", d, rec.Delay, cfg.Store.Delay)
	}
	where := map[model.StallWhere]int{}
	for _, s := range e.Config.Stalls {
		where[s.Where]++
	}
	if where[model.StallAppend] < 1 || where[model.StallProcess] != 1 || where[model.StallSweep] != 1 {
		t.Errorf("stalls: %+v", e.Config.Stalls)
	}
	for i, at := range e.Requests.Arrivals {
		if at != rec.Rows[i].Arrive || e.Requests.Outcomes[i].Outcome != rec.Rows[i].Outcome {
			t.Fatalf("request %d: recorded %v %v, was %v %v", i, at, e.Requests.Outcomes[i].Outcome, rec.Rows[i].Arrive, rec.Rows[i].Outcome)
		}
	}
	_, a, err := recording.Replay(t.Context(), &e.Config, e.Requests, model.Observer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", a)
	if a.Scored != int64(len(rec.Rows)) {
		t.Errorf("%d of %d requests are scored", a.Scored, len(rec.Rows))
	}
	var late Punctuality
	late.Add(rec)
	if w := late.Warnings(); len(w) > 0 {
		t.Skipf("the machine was too busy to compare: %q", w)
	}
	if 10*a.SameOutcome < 9*a.Scored {
		t.Errorf("%d of %d requests agree", a.SameOutcome, a.Scored)
	}
}

// TestObserved: an observer of a live run is told, in order, what one of a
// simulation is told.
func TestObserved(t *testing.T) {
	t.Parallel()
	scenario := fmt.Sprintf(base, 1, false, 10000, 1000, 300) + `
[[stall]]
where = "append"
at = "100ms"
for = "300ms"
`
	rec, err := run(t, t.Context(), scenario, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var told struct{ attempts, sweeps, stalls, locks, length int }
	last := sim.Time(model.Absent)
	at := func(now sim.Time) {
		if now < last {
			t.Errorf("told of %v after %v", now, last)
		}
		last = now
	}
	_, err = rec.Ledger(config(scenario), 0, model.Observer{
		Attempt: func(a *model.Attempt) {
			if a.Seq != int64(told.attempts) || a.Resp <= a.Arrive {
				t.Errorf("attempt %d: %+v", told.attempts, a)
			}
			told.attempts++
		},
		Sweep:     func(s model.SweepRecord) { at(s.End); told.sweeps++ },
		Stall:     func(s model.StallRecord) { at(s.From); told.stalls++ },
		Lock:      func(_, to sim.Time) { at(to); told.locks++ },
		Queue:     func(now sim.Time, length int) { at(now); told.length = length },
		AllSweeps: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for i := range rec.Rows {
		if rec.Rows[i].Unlock != model.Absent {
			stored++
		}
	}
	if told.attempts != len(rec.Rows) || told.sweeps < len(rec.Sweeps)-2 || told.stalls != len(rec.Stalls) || told.locks != stored || told.length != 0 {
		t.Errorf("told of %+v; there were %d sends, %d sweeps, %d locks", told, len(rec.Rows), len(rec.Sweeps), stored)
	}
}
