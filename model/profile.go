package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// Profile is what was measured of appends on one disk: the modelled store
// draws from it. Encode writes the TOML that package scenarios reads.
//
// An append takes PerRecord, PerByte for each byte of its record, and a draw
// from the rung of Ladder that it stands on: which is the highest boundary of
// the file that the record crosses, and what the flush thread is doing. What
// else holds it up are the Stalls, each a process of its own. Every table is
// an empirical one and ends at its cap: a tail is never extrapolated.
type Profile struct {
	Title  string
	Origin string // where the numbers come from, in words
	MadeOn MadeOn

	PerRecord float64 // ns
	PerByte   float64 // ns per byte of the record

	Ladder  []Rung
	Stalls  []Mechanism
	Flushes []FlushProfile
	Handoff HandoffProfile
	Roll    Table // the put that finds its file full, the next file being there already
	Fit     []Fit
}

// MadeOn is the setting of the measurement. A run in another one is warned of
// (Profile.Mismatches).
type MadeOn struct {
	Kernel       string
	FileSystem   string
	MountOptions string
	Device       string
	Release      string // whose flush thread was measured; "" if it doesn't matter
	Flush        FlushMode
	Rate         float64 // appends per second
	BodyMin      int64   // bytes
	BodyMax      int64
	Duration     sim.Time // of one run
	Runs         int64
}

// Table is an empirical distribution of a time: its quantiles, of how many
// observations, and the longest there was.
type Table struct {
	Count int64
	Cap   sim.Time
	Takes variate.Dist // ns; nil: not measured
}

// Boundary is the highest boundary of its file that a record crosses: it is
// the first to touch what lies behind, a page (4 KiB), what one fault maps
// around it (64 KiB), a folio that is allocated in one piece (2 MiB).
type Boundary uint8

// The boundaries, lowest first.
const (
	CrossesNone Boundary = iota
	Crosses4KiB
	Crosses64KiB
	Crosses2MiB
	boundaries
)

var (
	boundaryNames = [boundaries]string{"none", "4KiB", "64KiB", "2MiB"}
	boundarySizes = [boundaries]int64{0, 4 << 10, 64 << 10, 2 << 20}
)

func (b Boundary) String() string { return boundaryNames[b] }

// BoundaryNames lists what ParseBoundary takes.
func BoundaryNames() []string { return boundaryNames[:] }

// ParseBoundary is the inverse of String.
func ParseBoundary(s string) (Boundary, bool) {
	i := slices.Index(boundaryNames[:], s)
	return Boundary(max(i, 0)), i >= 0
}

// CrossedBy is the highest boundary that a record of so many bytes crosses at
// an offset of its file. A record that begins on a boundary crosses it.
func CrossedBy(offset, length int64) Boundary {
	for b := boundaries - 1; b > CrossesNone; b-- {
		if crosses(offset, length, boundarySizes[b]) {
			return b
		}
	}
	return CrossesNone
}

// crosses reports whether [offset, offset+length) holds a multiple of size.
func crosses(offset, length, size int64) bool {
	return (offset+size-1)/size*size < offset+length
}

// Phase is what the flush thread is doing when an append begins. msync write
// protects what it writes, so the first append after it began, or ended, pays
// for a fault again.
type Phase uint8

// The phases of an append.
const (
	PhaseOutside Phase = iota // no flush under way
	PhaseFirst                // the first since a flush began or ended
	PhaseInside               // a flush under way
	phases
)

var phaseNames = [phases]string{"outside", "first", "inside"}

func (p Phase) String() string { return phaseNames[p] }

// PhaseNames lists what ParsePhase takes.
func PhaseNames() []string { return phaseNames[:] }

// ParsePhase is the inverse of String.
func ParsePhase(s string) (Phase, bool) {
	i := slices.Index(phaseNames[:], s)
	return Phase(max(i, 0)), i >= 0
}

// Rung is one class of the boundary ladder: what an append takes beyond
// PerRecord and PerByte.
type Rung struct {
	Crosses Boundary
	Phase   Phase
	Table
}

// Mechanism is one mechanism that holds appends up. In time it is a process
// that takes a resource away: an append that begins meanwhile waits until it
// has it back, one under way is longer by as much. By position, it is added to
// a share of the records that cross a multiple of Each.
type Mechanism struct {
	Name  string
	On    Resource
	Every variate.Dist // ns from one to the next; nil: by position
	Each  int64        // bytes
	Share float64      // of the crossings
	While string       // "" always, or "inside" or "outside" a flush
	Table
}

// Resource is what a stall takes away. Stalls on one resource come one after
// the other.
type Resource uint8

// The resources.
const (
	OnCPU Resource = iota
	OnDisk
	resources
)

var resourceNames = [resources]string{"cpu", "disk"}

func (r Resource) String() string { return resourceNames[r] }

// ParseResource is the inverse of String.
func ParseResource(s string) (Resource, bool) {
	i := slices.Index(resourceNames[:], s)
	return Resource(max(i, 0)), i >= 0
}

// FlushMode is how the flush thread gets to work (facts §7.2).
type FlushMode uint8

// The modes.
const (
	FlushTimed FlushMode = iota // it sleeps flushIntervalCommitLog between flushes
	FlushWoken                  // every put wakes it
	FlushSync                   // every put waits for it (SYNC_FLUSH)
	flushModes
)

var flushModeNames = [flushModes]string{"timed", "woken", "sync"}

func (m FlushMode) String() string { return flushModeNames[m] }

// ParseFlushMode is the inverse of String.
func ParseFlushMode(s string) (FlushMode, bool) {
	i := slices.Index(flushModeNames[:], s)
	return FlushMode(max(i, 0)), i >= 0
}

// FlushProfile is what one flush takes in a mode; Period is the interval that
// it was measured with.
type FlushProfile struct {
	Mode   FlushMode
	Period sim.Time
	Table
}

// HandoffProfile are the times until a send thread works that was idle: the
// model takes them for costs.handoff. One that finds the next request there
// goes on at once, which is part of costs.process.
type HandoffProfile struct{ IdleWake Table }

// Fit says how well the profile foretold a run that it was not made from.
type Fit struct {
	Quantity    string  // "append", "sojourn"
	Against     string  // which run
	KS          float64 // Kolmogorov-Smirnov distance
	Wasserstein float64 // over the mean
	Ratios      []QuantileRatio
}

// QuantileRatio is foretold over measured, with its bootstrap interval.
type QuantileRatio struct{ P, Ratio, Lo, Hi float64 }

// Check reports, joined, what a run can't use.
func (p *Profile) Check() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, c := range []struct {
		name string
		v    float64
	}{{"per record", p.PerRecord}, {"per byte", p.PerByte}} {
		if !(c.v >= 0 && c.v <= 1e9) {
			bad("%s: want 0 to 1s, got %v ns", c.name, c.v)
		}
	}
	var seen [boundaries][phases]bool
	for _, r := range p.Ladder {
		if r.Crosses >= boundaries || r.Phase >= phases {
			bad("ladder: no such rung: %d, %d", r.Crosses, r.Phase)
			continue
		}
		name := fmt.Sprintf("ladder %s %s", r.Crosses, r.Phase)
		if seen[r.Crosses][r.Phase] {
			bad("%s: is there twice", name)
		}
		seen[r.Crosses][r.Phase] = true
		r.check(name, bad)
	}
	if seen[CrossesNone] == [phases]bool{} {
		bad("ladder: want a rung that crosses none")
	}
	for i := range p.Stalls {
		s := &p.Stalls[i]
		name := fmt.Sprintf("stall %q", s.Name)
		s.check(name, bad)
		switch {
		case s.On >= resources:
			bad("%s: no such resource: %d", name, s.On)
		case (s.Every == nil) == (s.Each == 0):
			bad("%s: want one of every and each", name)
		case s.Every != nil && !(s.Every.Mean() >= 1e6):
			bad("%s: every: want a mean of at least 1ms, got %v", name, s.Every)
		case s.Every == nil && (s.Each < 0 || !(s.Share > 0 && s.Share <= 1)):
			bad("%s: want each of at least 1 byte and a share above 0, at most 1, got %d and %v", name, s.Each, s.Share)
		case s.While != "" && s.While != "inside" && s.While != "outside":
			bad("%s: while: want inside or outside, got %q", name, s.While)
		}
	}
	if load := p.load(); !(load <= loadMost) {
		bad("stalls: want them to take up to %v of the time, got %.3g", loadMost, load)
	}
	for _, f := range p.Flushes {
		f.check("flush "+f.Mode.String(), bad)
	}
	for name, t := range map[string]Table{"roll": p.Roll, "idle wake": p.Handoff.IdleWake} {
		if t.Takes != nil {
			t.check(name, bad)
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// loadMost bounds the share of time that stall processes take: more would never
// let an append end.
const loadMost = 0.9

// load is that share.
func (p *Profile) load() (load float64) {
	for _, s := range p.Stalls {
		if s.Every != nil && s.Takes != nil {
			load += s.Takes.Mean() / s.Every.Mean()
		}
	}
	return load
}

func (t *Table) check(name string, bad func(format string, args ...any)) {
	switch {
	case t.Takes == nil:
		bad("%s: want what it takes", name)
	case t.Cap < 0 || t.Cap > sim.Hour:
		bad("%s: cap: want 0s to 1h, got %v", name, t.Cap)
	case !(t.Takes.Quantile(1) <= float64(t.Cap)+0.5):
		bad("%s: want a table that ends at its cap of %v, got up to %v", name, t.Cap, t.Takes.Quantile(1))
	}
}

// flush is the profile of that mode, or of the other where it has none.
func (p *Profile) flush(mode FlushMode) (f FlushProfile, exact bool) {
	for _, f = range p.Flushes {
		if f.Mode == mode {
			return f, true
		}
	}
	return f, false
}

// rung is the table of a class: its own, or that of the class most like it:
// the same boundary in another phase, else the next lower boundary.
func (p *Profile) rung(b Boundary, phase Phase) (Table, bool) {
	order := [phases][phases]Phase{
		PhaseOutside: {PhaseOutside, PhaseInside, PhaseFirst},
		PhaseFirst:   {PhaseFirst, PhaseInside, PhaseOutside},
		PhaseInside:  {PhaseInside, PhaseFirst, PhaseOutside},
	}[phase]
	for at := int(b); at >= 0; at-- {
		for _, ph := range order {
			for _, r := range p.Ladder {
				if r.Crosses == Boundary(at) && r.Phase == ph {
					return r.Table, at == int(b) && ph == phase
				}
			}
		}
	}
	return Table{}, false
}

// Mismatches says in what a configuration differs from the setting in which
// the profile was made, and which of its classes it borrows: what a run's
// result should warn of.
func (p *Profile) Mismatches(c *Config) []string {
	var out []string
	say := func(format string, args ...any) {
		out = append(out, "store.profile: "+fmt.Sprintf(format, args...))
	}
	m := &p.MadeOn
	if traits, err := TraitsOf(c.Broker.Release); err == nil {
		mode := traits.FlushMode(&c.Broker)
		if mode != m.Flush {
			say("made with a %s flush, the run's is %s", m.Flush, mode)
		}
		if _, ok := p.flush(mode); !ok {
			say("has no flush durations of the %s mode", mode)
		}
	}
	if m.Release != "" && m.Release != c.Broker.Release {
		say("made with release %s, the run's is %s", m.Release, c.Broker.Release)
	}
	rate := 0.0
	least, most := math.Inf(1), 0.0
	for _, producer := range c.Producers {
		if producer.Arrivals != nil {
			rate += producer.Arrivals.Rate()
		}
		if producer.Body != nil {
			least, most = min(least, producer.Body.Quantile(0)), max(most, producer.Body.Quantile(1))
		}
	}
	if m.BodyMax > 0 && least <= most && (least < float64(m.BodyMin) || most > float64(m.BodyMax)) {
		say("made with bodies of %d to %d bytes, the run's are %.0f to %.0f", m.BodyMin, m.BodyMax, least, most)
	}
	if m.Rate > 0 && rate > 0 && (rate < m.Rate/2 || rate > m.Rate*2) {
		say("made at %.6g appends/s, the run has %.6g", m.Rate, rate)
	}
	var borrowed []string
	for b := range boundaries {
		for ph := range phases {
			if _, own := p.rung(b, ph); !own {
				borrowed = append(borrowed, b.String()+" "+ph.String())
			}
		}
	}
	if len(borrowed) > 0 {
		say("has no appends of the rungs %s; those most like them are taken", strings.Join(borrowed, ", "))
	}
	return out
}

// Encode writes the profile as TOML.
func (p *Profile) Encode() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	text := func(key, v string) { line("%s = %s", key, tomlString(v)) }
	table := func(t *Table) {
		line("count = %d", t.Count)
		text("cap", spellTime(t.Cap))
		text("takes", t.Takes.String())
	}
	line("# A profile of brokersim: what appends took on one disk.")
	line("schema = 1")
	text("title", p.Title)
	text("origin", p.Origin)
	m := &p.MadeOn
	line("\n[made_on]")
	text("kernel", m.Kernel)
	text("file_system", m.FileSystem)
	text("mount_options", m.MountOptions)
	text("device", m.Device)
	if m.Release != "" {
		text("release", m.Release)
	}
	text("flush", m.Flush.String())
	text("rate", number(m.Rate)+"/s")
	text("body_min", strconv.FormatInt(m.BodyMin, 10)+"B")
	text("body_max", strconv.FormatInt(m.BodyMax, 10)+"B")
	text("duration", spellTime(m.Duration))
	line("runs = %d", m.Runs)
	line("\n# An append takes per_record, per_byte for each byte of its record, and what its rung says.")
	line("[cost]")
	text("per_record", number(p.PerRecord)+"ns")
	text("per_byte", number(p.PerByte)+"ns")
	for i := range p.Ladder {
		r := &p.Ladder[i]
		line("\n[[ladder]]")
		text("crosses", r.Crosses.String())
		text("phase", r.Phase.String())
		table(&r.Table)
	}
	for i := range p.Stalls {
		s := &p.Stalls[i]
		line("\n[[stall]]")
		text("name", s.Name)
		text("on", s.On.String())
		if s.Every != nil {
			text("every", s.Every.String())
		} else {
			text("each", strconv.FormatInt(s.Each, 10)+"B")
			line("share = %s", decimal(s.Share))
		}
		if s.While != "" {
			text("while", s.While)
		}
		table(&s.Table)
	}
	for i := range p.Flushes {
		f := &p.Flushes[i]
		line("\n[[flush]]")
		text("mode", f.Mode.String())
		text("period", spellTime(f.Period))
		table(&f.Table)
	}
	for _, t := range []struct {
		name string
		*Table
	}{{"handoff.idle_wake", &p.Handoff.IdleWake}, {"roll", &p.Roll}} {
		if t.Takes != nil {
			line("\n[%s]", t.name)
			table(t.Table)
		}
	}
	for _, f := range p.Fit {
		line("\n[[fit]]")
		text("quantity", f.Quantity)
		text("against", f.Against)
		line("ks = %s", decimal(f.KS))
		line("wasserstein = %s", decimal(f.Wasserstein))
		line("ratios = [")
		for _, r := range f.Ratios {
			line("  { p = %s, ratio = %s, lo = %s, hi = %s },", decimal(r.P), decimal(r.Ratio), decimal(r.Lo), decimal(r.Hi))
		}
		line("]")
	}
	return []byte(b.String())
}

// tomlString is a TOML string: over several lines if the text is.
func tomlString(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "?") {
		switch {
		case r == '\\' || r == '"':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	if strings.ContainsAny(s, "\n") {
		return "\"\"\"\n" + b.String() + "\"\"\""
	}
	return `"` + strings.ReplaceAll(b.String(), "\t", `\t`) + `"`
}

// spellTime is a duration as a scenario spells it: one number, one unit.
func spellTime(t sim.Time) string {
	for _, u := range []struct {
		name string
		of   sim.Time
	}{{"s", sim.Second}, {"ms", sim.Millisecond}, {"us", sim.Microsecond}} {
		if t >= u.of {
			return number(float64(t)/float64(u.of)) + u.name
		}
	}
	return number(float64(t)) + "ns"
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// decimal is a TOML float or integer.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
