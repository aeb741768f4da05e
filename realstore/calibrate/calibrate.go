package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brokersim/model"
	"brokersim/realstore/probe"
	"brokersim/scenarios"
	"brokersim/sim"
)

// Options of Fit.
type Options struct {
	Title  string // "" for one made of what was measured
	Origin string // what the reader should know beside, in words
}

// Result is a profile, what is to be known of it, and the run it was held
// against.
type Result struct {
	Profile  *model.Profile
	Warnings []string
	Fitted   int // runs
	HeldOut  int // number of the run that was not fitted, 0 for none
}

// ErrRuns is in the chain of errors of runs that no profile can be made of.
var ErrRuns = errors.New("no profile can be made of these runs")

// Fit makes a profile of all runs but the last, and holds it against that one.
// A single run is fitted and held against nothing. The runs must be of one
// setting.
func Fit(ctx context.Context, runs []*probe.Run, o Options) (*Result, error) {
	if err := sameSetting(runs); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRuns, err)
	}
	res := &Result{Fitted: max(1, len(runs)-1)}
	f := newFitting(runs[:res.Fitted])
	p, err := f.profile()
	if err != nil {
		return nil, err
	}
	p.Title = cmp.Or(o.Title, title(runs))
	res.Profile = p
	res.Warnings = f.warnings
	if len(runs) > 1 {
		held := runs[len(runs)-1]
		res.HeldOut = len(runs)
		if p.Fit, err = compare(ctx, p, f, held); err != nil {
			return nil, err
		}
		for _, fit := range p.Fit {
			if strings.HasSuffix(fit.Quantity, Themselves) {
				continue
			}
			if last := fit.Ratios[len(fit.Ratios)-1].P; last < 0.999 {
				res.warn("%s: the run held out is too short for more than p%g (%d appends, p99.9 wants %d)",
					fit.Quantity, significant(last*100, 6), len(held.Samples), probe.Beyond*1000)
			}
		}
	} else {
		res.warn("one run: nothing was held out, so there is no measure of how good the profile is")
	}
	for _, w := range measured(runs) {
		res.warn("measuring: %s", w)
	}
	p.Origin = origin(runs, res, o.Origin)
	// What is written must read back, and be what was fitted.
	if _, err := scenarios.ParseProfile("profile.toml", p.Encode()); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return res, nil
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// sameSetting refuses runs that differ in what a profile is made on.
func sameSetting(runs []*probe.Run) error {
	if len(runs) == 0 {
		return errors.New("none given")
	}
	var faults []error
	a := runs[0]
	for i, b := range runs[1:] {
		for _, c := range []struct {
			name      string
			want, got any
		}{
			{"flush", a.Settings.Flush, b.Settings.Flush},
			{"kind", a.Settings.Kind, b.Settings.Kind},
			{"rate", a.Settings.Rate, b.Settings.Rate},
			{"body", a.Settings.Body, b.Settings.Body},
			{"file size", a.Settings.FileSize, b.Settings.FileSize},
			{"flush interval", a.Settings.FlushMs, b.Settings.FlushMs},
			{"kernel", a.Environment.Kernel, b.Environment.Kernel},
			{"file system", a.Environment.FileSystem, b.Environment.FileSystem},
			{"mount options", a.Environment.MountOptions, b.Environment.MountOptions},
			{"device", a.Environment.Device, b.Environment.Device},
		} {
			if c.want != c.got {
				faults = append(faults, fmt.Errorf("run %d: %s: want %v as in the first, got %v", i+2, c.name, c.want, c.got))
			}
		}
	}
	return errors.Join(faults...)
}

// fitting is what runs are fitted from.
type fitting struct {
	runs     []*probe.Run
	all      []observation
	span     int64 // ns, of all runs
	perByte  float64
	perEach  float64
	before   []float64 // from wanted to the lock, of those that were not late
	after    []float64 // from the unlock to the end, likewise
	warnings []string
}

func newFitting(runs []*probe.Run) *fitting {
	f := &fitting{runs: runs}
	for i, r := range runs {
		f.all = append(f.all, observe(i, r)...)
		f.span += r.Samples[len(r.Samples)-1].End
	}
	for i := range f.all {
		o := &f.all[i]
		if !o.late() {
			f.before = append(f.before, float64(o.before))
		}
		if o.after <= slow {
			f.after = append(f.after, float64(o.after))
		}
	}
	return f
}

func (f *fitting) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

func (f *fitting) profile() (*model.Profile, error) {
	p := &model.Profile{MadeOn: f.madeOn()}
	f.costs()
	usual := f.usual()
	lag := 0.0
	if len(f.before) > 0 {
		lag = median(f.before)
	}
	calm, stalls := separate(f.all, usual, lag, f.rate())
	if len(calm) == 0 {
		return nil, fmt.Errorf("%w: each of %d appends was stalled", ErrRuns, len(f.all))
	}
	beyond := make([]float64, len(calm))
	for i, o := range calm {
		beyond[i] = f.beyond(o)
	}
	slices.Sort(beyond)
	f.perEach = max(0, math.Floor(beyond[len(beyond)/100]))
	p.PerRecord, p.PerByte = f.perEach, f.perByte
	p.Ladder = f.ladder(calm)
	if !slices.ContainsFunc(p.Ladder, func(r model.Rung) bool { return r.Crosses == model.CrossesNone }) {
		return nil, fmt.Errorf("%w: want at least %d appends that cross no boundary of 4 KiB: bodies are too large, or appends too few", ErrRuns, rungLeast)
	}
	p.Stalls = f.stalls(stalls)
	if err := f.flushes(p); err != nil {
		return nil, err
	}
	f.others(p)
	f.judgeLoad(p)
	return p, nil
}

// rate is that of appends, per ns.
func (f *fitting) rate() float64 { return float64(len(f.all)) / float64(f.span) }

func (f *fitting) madeOn() model.MadeOn {
	r := f.runs[0]
	m := model.MadeOn{
		Kernel:       kernel(r.Environment.Kernel),
		FileSystem:   cmp.Or(r.Environment.FileSystem, "unknown"),
		MountOptions: r.Environment.MountOptions,
		Device:       cmp.Or(r.Environment.Device, "unknown"),
		Flush:        mode(r),
		Rate:         r.Settings.Rate,
		BodyMin:      r.Settings.BodyMin,
		BodyMax:      r.Settings.BodyMax,
		Duration:     sim.Time(r.Settings.DurationNs),
		Runs:         int64(len(f.runs)),
	}
	for _, r := range f.runs {
		m.BodyMin, m.BodyMax = min(m.BodyMin, r.Settings.BodyMin), max(m.BodyMax, r.Settings.BodyMax)
	}
	return m
}

// kernel is a release without what its builder adds, "Linux 6.18" of
// "6.18.44-generic": that says more of a machine than of its disk.
func kernel(release string) string {
	major, rest, _ := strings.Cut(release, ".")
	minor := rest
	if i := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' }); i >= 0 {
		minor = rest[:i]
	}
	if _, err := strconv.Atoi(major); err != nil || minor == "" {
		return "unknown"
	}
	return "Linux " + major + "." + minor
}

// mode is how the flush thread got to work. Under group commit each append
// wakes it, and waits.
func mode(r *probe.Run) model.FlushMode {
	if r.Settings.Flush == "timed" {
		return model.FlushTimed
	}
	return model.FlushWoken
}

// costs finds the cost of a byte: the slope, by least squares, of the medians
// of groups of appends alike in size.
func (f *fitting) costs() {
	var quiet []*observation
	for i := range f.all {
		if o := &f.all[i]; o.boundary == model.CrossesNone && o.phase == model.PhaseOutside && o.hold <= slow {
			quiet = append(quiet, o)
		}
	}
	slices.SortStableFunc(quiet, func(a, b *observation) int { return cmp.Compare(a.bytes, b.bytes) })
	const groups = 20
	if len(quiet) < 10*groups || quiet[len(quiet)-1].bytes < quiet[0].bytes+64 {
		f.warn("the bodies are of one size, or too few: no cost of a byte, all of it is the record's")
		return
	}
	var x, y [groups]float64
	var meanX, meanY float64
	for g := range groups {
		part := quiet[g*len(quiet)/groups : (g+1)*len(quiet)/groups]
		holds := make([]float64, len(part))
		for i, o := range part {
			holds[i] = float64(o.hold)
			x[g] += float64(o.bytes) / float64(len(part))
		}
		y[g] = median(holds)
		meanX += x[g] / groups
		meanY += y[g] / groups
	}
	var top, bottom float64
	for g := range groups {
		top += float64((x[g] - meanX) * (y[g] - meanY))
		bottom += float64((x[g] - meanX) * (x[g] - meanX))
	}
	if bottom > 0 {
		f.perByte = significant(max(0, top/bottom), 3)
	}
}

// median sorts.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// beyond is what an append took beyond the cost of its bytes.
func (f *fitting) beyond(o *observation) float64 {
	return float64(o.hold) - float64(f.perByte*float64(o.bytes))
}

// usual is the median of a class, of what it takes without a stall.
func (f *fitting) usual() func(*observation) float64 {
	var classes [model.Crosses2MiB + 1][model.PhaseInside + 1][]float64
	for i := range f.all {
		if o := &f.all[i]; o.kind() == onRung {
			classes[o.boundary][o.phase] = append(classes[o.boundary][o.phase], float64(o.hold))
		}
	}
	var medians [model.Crosses2MiB + 1][model.PhaseInside + 1]float64
	for b := range classes {
		for ph := range classes[b] {
			if len(classes[b][ph]) > 0 {
				medians[b][ph] = median(classes[b][ph])
			}
		}
	}
	return func(o *observation) float64 { return medians[o.boundary][o.phase] }
}

// rungLeast is how many appends a rung is made of at least; the model takes the
// rung most like it for one that isn't there.
const rungLeast = 10

func (f *fitting) ladder(calm []*observation) []model.Rung {
	var out []model.Rung
	for b := model.CrossesNone; b <= model.Crosses2MiB; b++ {
		for ph := model.PhaseOutside; ph <= model.PhaseInside; ph++ {
			var took []float64
			for _, o := range calm {
				if o.boundary == b && o.phase == ph {
					took = append(took, max(0, f.beyond(o)-f.perEach))
				}
			}
			switch {
			case len(took) >= rungLeast:
				out = append(out, model.Rung{Crosses: b, Phase: ph, Table: table(took)})
			case len(took) > 0:
				f.warn("%d appends cross %s, %s: too few for a rung of their own (%d)", len(took), b, ph, rungLeast)
			}
		}
	}
	return out
}

func (f *fitting) stalls(stalls [throttled + 1][]event) []model.Mechanism {
	var crossings [2]int64
	for i := range f.all {
		o := &f.all[i]
		if o.boundary < model.Crosses4KiB {
			continue
		}
		if o.inside {
			crossings[1]++
		} else {
			crossings[0]++
		}
	}
	var out []model.Mechanism
	for k := preempted; k <= throttled; k++ {
		events := stalls[k]
		if len(events) == 0 {
			continue
		}
		switch n := len(events); {
		case n <= 2*probe.Beyond:
			f.warn("%d stalls by %s: too few to say how long they may last", n, stallNames[k])
		case n < 1000*probe.Beyond:
			f.warn("%d stalls by %s: how long they last beyond p%.4g is not known, and not guessed", n, stallNames[k],
				100*(1-probe.Beyond/float64(n)))
		}
		switch k {
		case pageWait, throttled:
			out = append(out, byPosition(stallNames[k], events, crossings)...)
		case pageWaitInOne:
			out = append(out, mechanism(stallNames[k], model.OnDisk, events, f.span))
		default:
			out = append(out, mechanism(stallNames[k], model.OnCPU, events, f.span))
		}
	}
	return out
}

// judgeLoad warns where stall processes take much of the time.
func (f *fitting) judgeLoad(p *model.Profile) {
	load := 0.0
	for _, m := range p.Stalls {
		if m.Every != nil {
			load += m.Takes.Mean() / m.Every.Mean()
		}
	}
	if load > 0.05 {
		f.warn("stalls take %.0f %% of the time: the profile is that of a busy machine rather than of a disk, and the longest are shortened by as much because the model's overlap", load*100)
	}
}

// flushes takes what the flush thread's syncs took.
func (f *fitting) flushes(p *model.Profile) error {
	var took []float64
	lost := int64(0)
	for _, r := range f.runs {
		for _, fl := range r.Flushes {
			took = append(took, float64(fl.End-fl.Start))
		}
		lost += r.FlushesLost
	}
	if len(took) == 0 {
		return fmt.Errorf("%w: no flush was seen: probe for longer", ErrRuns)
	}
	if lost > 0 {
		f.warn("%d flushes were not kept", lost)
	}
	period := sim.Time(f.runs[0].Settings.FlushMs) * sim.Millisecond
	p.Flushes = []model.FlushProfile{{Mode: mode(f.runs[0]), Period: period, Table: table(took)}}
	return nil
}

// others are rolls and hand-offs.
func (f *fitting) others(p *model.Profile) {
	var rolls, idle []float64
	for i := range f.all {
		if f.all[i].roll > 0 {
			rolls = append(rolls, float64(f.all[i].roll))
		}
	}
	for _, r := range f.runs {
		for _, v := range r.IdleWakes {
			idle = append(idle, float64(v))
		}
	}
	for _, t := range []struct {
		name string
		ns   []float64
		to   *model.Table
	}{{"roll", rolls, &p.Roll}, {"idle wake-up", idle, &p.Handoff.IdleWake}} {
		if len(t.ns) == 0 {
			f.warn("no %s was seen", t.name)
			continue
		}
		*t.to = table(t.ns)
	}
}

func title(runs []*probe.Run) string {
	r := runs[0]
	disturbed := "other programs at work"
	if !slices.ContainsFunc(runs, func(r *probe.Run) bool { return r.OtherLoad() > probe.OtherLoadMost }) {
		disturbed = "nothing else at work"
	}
	return fmt.Sprintf("%s on %s, %s, %s flush, %g appends/s, %s",
		r.Environment.FileSystem, r.Environment.Device, r.Settings.Kind, r.Settings.Flush, r.Settings.Rate, disturbed)
}

// origin says in words where a profile comes from.
func origin(runs []*probe.Run, res *Result, more string) string {
	r := runs[0]
	var b strings.Builder
	fmt.Fprintf(&b, "Measured by brokersim probe: %d runs of %v, bodies %s, %s store, %s flush, files of %d MiB.\n",
		len(runs), sim.Time(r.Settings.DurationNs), r.Settings.Body, r.Settings.Kind, r.Settings.Flush, r.Settings.FileSize>>20)
	e := &r.Environment
	fmt.Fprintf(&b, "%d CPUs (%s), %d MiB of memory, dirty limits %s, stable pages %t, transparent huge pages %s.\n",
		e.CPUs, e.Arch, e.MemoryKiB>>10, dirtyLimits(e), e.StablePages, cmp.Or(e.THP, "none"))
	if res.HeldOut > 0 {
		fmt.Fprintf(&b, "Fitted to %d of them; [[fit]] holds it against the last, which was not fitted.\n", res.Fitted)
	}
	if more != "" {
		b.WriteString(strings.TrimRight(more, "\n") + "\n")
	}
	if len(res.Warnings) > 0 {
		b.WriteString("To be known:\n")
		for _, w := range res.Warnings {
			b.WriteString("- " + w + "\n")
		}
	}
	return b.String()
}

func dirtyLimits(e *probe.Environment) string {
	limit := func(bytes, ratio int64) string {
		if bytes > 0 {
			return fmt.Sprintf("%d MiB", bytes>>20)
		}
		return fmt.Sprintf("%d %%", ratio)
	}
	return limit(e.BackgroundBytes, e.BackgroundRatio) + " and " + limit(e.DirtyBytes, e.DirtyRatio)
}

// measured are the runs' own warnings, each once, with the runs that have it.
// What differs between runs is figures.
func measured(runs []*probe.Run) []string {
	var out []string
	for i, r := range runs {
		for _, w := range r.Warnings {
			out = append(out, fmt.Sprintf("run %d: %s", i+1, w))
		}
	}
	return out
}
