package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/plots/numeral"
	"brokersim/realstore/live"
	"brokersim/realstore/probe"
	"brokersim/sim"
	"brokersim/sim/stat"
)

// Options of Machine.
type Options struct {
	Dir       string // where stores are made, in a folder that is then removed
	Runs      int    // live ones of each scenario, at least 2
	Profile   *model.Profile
	Scenarios []Scenario
	// Broker is the command whose process is to call Serve with these.
	Broker func(v Variant, dir string, replication int) *exec.Cmd
	// Progress may be nil.
	Progress func(done, total sim.Time)
}

// Serve is the broker's process of a live run.
func Serve(v Variant, dir string, replication int, control io.Reader, out io.Writer) error {
	cfg, err := v.Config()
	if err != nil {
		return err
	}
	return live.Serve(cfg, live.Options{Dir: dir, Replication: replication}, control, out)
}

// Machine is rung 3: virtual runs against live ones on this machine. When ctx
// ends first it has the scenarios of which two rounds were complete. warnings
// are of the profile, each once.
func Machine(ctx context.Context, o Options) (r Rung, warnings []string, err error) {
	r = Rung{Number: 3, Title: "virtual time against the wall clock of this machine"}
	dir, err := os.MkdirTemp(o.Dir, "brokersim-validate-")
	if err != nil {
		return r, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m := machine{Options: o, dir: dir}
	for i := range o.Scenarios {
		m.benches = append(m.benches, &bench{Scenario: &o.Scenarios[i]})
	}
	if err := m.run(ctx); errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		r.Partial = true
	} else if err != nil {
		return r, nil, err
	}
	for _, b := range m.benches {
		if len(b.live) >= 2 {
			r.Groups = append(r.Groups, b.judge())
		}
		for _, w := range b.mismatches {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return r, warnings, nil
}

type machine struct {
	Options
	dir         string
	benches     []*bench
	done, total sim.Time
}

// bench is a scenario with what its runs came to so far.
type bench struct {
	*Scenario
	rate          float64
	full, fitting *model.Config
	mismatches    []string

	virtual, live, replayed []run
	agreement               recording.Agreement
	late                    live.Punctuality
	delay, asked            sim.Time // that of the live appends, and the virtual ones, summed over runs
	repeated                int      // live runs that were disturbed
	disturbed               []string // by what those were that were taken all the same
}

// run finds the rates, then goes through the rounds.
func (m *machine) run(ctx context.Context) error {
	for _, b := range m.benches {
		if err := m.at(b, b.Rates[0]); err != nil {
			return err
		}
		m.total += (b.full.Duration + b.fitting.Duration) * sim.Time(m.Runs)
	}
	for _, b := range m.benches {
		if err := m.pace(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	for i := range m.Runs {
		for _, b := range m.benches {
			if err := m.round(ctx, b, i); err != nil {
				return fmt.Errorf("%s, run %d: %w", b.Name, i+1, err)
			}
		}
	}
	return nil
}

// at sets the rate.
func (m *machine) at(b *bench, rate float64) error {
	full, err := Variant{b.Name, rate, false}.Config()
	if err != nil {
		return err
	}
	fitting, err := Variant{b.Name, rate, true}.Config()
	if err != nil {
		return err
	}
	b.rate, b.full, b.fitting = rate, full, fitting
	if m.Profile != nil {
		own := *m.Profile
		if full.Broker.FlushDiskType == model.SyncFlush { // as broker.virtual has it
			own.Flushes = []model.FlushProfile{{Mode: model.FlushSync}}
		}
		b.mismatches = own.Mismatches(full)
	}
	return nil
}

// pace finds the highest rate that is paced here, or takes the lowest.
func (m *machine) pace(ctx context.Context, b *bench) error {
	for _, rate := range b.Rates[:len(b.Rates)-1] {
		if err := m.at(b, rate); err != nil {
			return err
		}
		m.total += b.fitting.Duration
		rec, err := m.live(ctx, b, true, 0)
		if err != nil {
			return err
		}
		if lateness(rec) <= latenessMost {
			return nil
		}
	}
	return m.at(b, b.Rates[len(b.Rates)-1])
}

// round measures the live broker's threads, then makes a virtual run, a live one
// of the same draws, and its replay.
func (m *machine) round(ctx context.Context, b *bench, replication int) error {
	rec, err := m.live(ctx, b, true, replication)
	if err != nil {
		return err
	}
	broker, err := measure(rec, b.fitting)
	if err != nil {
		return err
	}
	virtual, err := simulate(ctx, broker.virtual(b.full, m.Profile), replication)
	if err != nil {
		return err
	}
	if rec, err = m.undisturbed(ctx, b, replication); err != nil {
		return err
	}
	replayed, agreement, err := m.replay(ctx, b, broker, rec, replication)
	if err != nil {
		return err
	}
	b.virtual, b.live, b.replayed = append(b.virtual, virtual), append(b.live, runOf(rec, b.full)), append(b.replayed, replayed)
	b.agreement.Add(agreement)
	b.late.Add(rec)
	b.delay, b.asked = b.delay+rec.Delay, b.asked+broker.delay
	return nil
}

// undisturbed is a live run that is made again where the machine was at other
// work, by what the machine says of itself and how late the arrivals were, never
// by what came out. Of a scenario's runs as many are repeated as are wanted, at
// most: a machine that is always busy is what it is.
func (m *machine) undisturbed(ctx context.Context, b *bench, replication int) (*live.Record, error) {
	for {
		before := probe.CurrentLoad()
		rec, err := m.live(ctx, b, false, replication)
		if err != nil {
			return nil, err
		}
		why := probe.Disturbed(before, probe.CurrentLoad(), runtime.NumCPU())
		if late := lateness(rec); why == "" && late > latenessMost {
			why = fmt.Sprintf("1 %% of the arrivals were late by more than %s", numeral.Duration(late))
		}
		switch {
		case why == "":
			return rec, nil
		case b.repeated >= m.Runs:
			b.disturbed = append(b.disturbed, why)
			return rec, nil
		}
		b.repeated++
		m.total += b.full.Duration
	}
}

// lateness is by how much a run's arrivals were late, at p99.
func lateness(rec *live.Record) sim.Time {
	var late live.Punctuality
	late.Add(rec)
	return sim.Time(late.Arrivals.Quantile(0.99))
}

// latenessMost is that of a machine that is not busy: the unit of the rules.
const latenessMost = sim.Millisecond

// live is a live run in a store of its own.
func (m *machine) live(ctx context.Context, b *bench, fitting bool, replication int) (*live.Record, error) {
	cfg := b.full
	if fitting {
		cfg = b.fitting
	}
	dir := filepath.Join(m.dir, "store")
	var tell func(sim.Time)
	if m.Progress != nil {
		tell = func(now sim.Time) { m.Progress(m.done+min(now, cfg.Duration), m.total) }
	}
	rec, err := live.Run(ctx, m.Broker(Variant{b.Name, b.rate, fitting}, dir, replication), cfg, replication, tell)
	m.done += cfg.Duration
	return rec, errors.Join(err, os.RemoveAll(dir))
}

func runOf(rec *live.Record, cfg *model.Config) run {
	r := run{span: cfg.Duration}
	for i := range rec.Rows {
		r.take(rec.Rows[i].Due, &rec.Rows[i].Attempt)
	}
	return r
}

// simulate is a virtual run.
func simulate(ctx context.Context, cfg *model.Config, replication int) (run, error) {
	r := run{span: cfg.Duration}
	sends, err := model.Sends(cfg, replication, 1<<30)
	if err != nil {
		return r, err
	}
	b, err := model.New(cfg, replication, model.Observer{Attempt: func(a *model.Attempt) { r.take(sends[a.Seq].Arrive, a) }})
	if err != nil {
		return r, err
	}
	return r, b.Run(ctx, nil)
}

// replay holds a simulation of the live run's own arrivals and stalls against
// it.
func (m *machine) replay(ctx context.Context, b *bench, broker *broker, rec *live.Record, replication int) (run, *recording.Agreement, error) {
	r := run{span: b.full.Duration}
	dir := filepath.Join(m.dir, "record")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return r, nil, err
	}
	if err := rec.Write(dir, b.full, replication); err != nil {
		return r, nil, err
	}
	e, err := recording.Open(os.DirFS(dir), *broker.bare(b.full))
	if err != nil {
		return r, nil, err
	}
	if b.full.Broker.FlushDiskType == model.SyncFlush {
		if err := recording.MeasureFlush(&e.Config, e.Requests); err != nil {
			return r, nil, err
		}
	}
	_, agreement, err := recording.Replay(ctx, &e.Config, e.Requests, model.Observer{Attempt: func(a *model.Attempt) { r.take(a.Arrive, a) }}, nil)
	return r, agreement, err
}

// judge compares what there is.
func (b *bench) judge() Group {
	g := Group{Name: b.Name, Title: b.Title, Lines: compareSojourns(b.virtual, b.live)}
	same := sameOutcome(&b.agreement, cmp.Or(b.SameLeast, replayedLeast))
	same.Quantity = "replayed, " + same.Quantity
	g.Lines = append(append(g.Lines, same), compareCounts(b.virtual, b.replayed, b.live)...)
	at := func(h *stat.Histogram, q float64) string { return numeral.Duration(sim.Time(h.Quantile(q))) }
	g.Notes = []string{fmt.Sprintf("%s sends/s, %s; arrivals late by %s at p50, %s at p99, sweeps by %s at p99",
		numeral.Count(int64(b.rate)), numeral.Plural(int64(len(b.live)), "live run"),
		at(&b.late.Arrivals, 0.5), at(&b.late.Arrivals, 0.99), at(&b.late.Sweeps, 0.99))}
	if b.rate < b.Rates[0] {
		g.Notes = append(g.Notes, fmt.Sprintf("%s/s could not be paced here", numeral.Count(int64(b.Rates[0]))))
	}
	if asked := b.full.Store.Delay; asked > 0 {
		runs := sim.Time(len(b.live))
		g.Notes = append(g.Notes, fmt.Sprintf("the live appends were delayed by %s on average, the virtual ones by %s, as in the runs that measured the threads",
			numeral.Duration(b.delay/runs), numeral.Duration(b.asked/runs)))
	}
	if b.repeated > 0 {
		g.Notes = append(g.Notes, numeral.Plural(int64(b.repeated), "live run")+" repeated, as the machine was at other work")
	}
	if n := len(b.disturbed); n > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("%d of %d live runs were disturbed all the same: %s", n, len(b.live), b.disturbed[n-1]))
	}
	if len(b.disturbed) > 0 || len(b.late.Warnings()) > 0 {
		for i := range g.Lines {
			if l := &g.Lines[i]; l.Verdict == Differs {
				l.Verdict, l.Why = CantTell, "the machine was too busy"
			}
		}
	}
	return g
}
