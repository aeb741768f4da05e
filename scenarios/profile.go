package scenarios

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"brokersim/model"
	"brokersim/sim"
)

// profileDocument is a profile as it is written.
type profileDocument struct {
	Schema  int64               `toml:"schema" need:"true" min:"1" max:"1"`
	Title   string              `toml:"title"`
	Origin  string              `toml:"origin" lines:"true"`
	MadeOn  madeOnTable         `toml:"made_on" need:"true"`
	Cost    costTable           `toml:"cost" need:"true"`
	Ladder  []rungTable         `toml:"ladder" need:"true"`
	Stall   []mechanismTable    `toml:"stall"`
	Flush   []flushProfileTable `toml:"flush" need:"true"`
	Handoff handoffTable        `toml:"handoff"`
	Roll    timesTable          `toml:"roll"`
	Fit     []fitTable          `toml:"fit"`
}

type madeOnTable struct {
	placed
	Kernel       string   `toml:"kernel" need:"true"`
	FileSystem   string   `toml:"file_system" need:"true"`
	MountOptions string   `toml:"mount_options"`
	Device       string   `toml:"device" need:"true"`
	Release      string   `toml:"release"`
	Flush        string   `toml:"flush" need:"true" one:"timed,woken"`
	Rate         rate     `toml:"rate" need:"true"`
	BodyMin      size     `toml:"body_min" need:"true"`
	BodyMax      size     `toml:"body_max" need:"true"`
	Duration     duration `toml:"duration" need:"true"`
	Runs         int64    `toml:"runs" min:"1" max:"1000000"`
}

type costTable struct {
	PerRecord dist `toml:"per_record" need:"true" unit:"time"`
	PerByte   dist `toml:"per_byte" need:"true" unit:"time"`
}

type timesTable struct {
	placed
	Count int64    `toml:"count" min:"0" max:"9223372036854775807"`
	Cap   duration `toml:"cap" need:"true"`
	Takes dist     `toml:"takes" need:"true" unit:"time"`
}

type rungTable struct {
	placed
	Crosses string   `toml:"crosses" need:"true" one:"none,4KiB,64KiB,2MiB"`
	Phase   string   `toml:"phase" need:"true" one:"outside,first,inside"`
	Count   int64    `toml:"count" min:"0" max:"9223372036854775807"`
	Cap     duration `toml:"cap" need:"true"`
	Takes   dist     `toml:"takes" need:"true" unit:"time"`
}

type mechanismTable struct {
	placed
	Name  string   `toml:"name" need:"true"`
	On    string   `toml:"on" need:"true" one:"cpu,disk"`
	Every dist     `toml:"every" unit:"time"`
	Each  size     `toml:"each"`
	Share float64  `toml:"share"`
	While string   `toml:"while" one:"inside,outside"`
	Count int64    `toml:"count" min:"0" max:"9223372036854775807"`
	Cap   duration `toml:"cap" need:"true"`
	Takes dist     `toml:"takes" need:"true" unit:"time"`
}

type flushProfileTable struct {
	placed
	Mode   string   `toml:"mode" need:"true" one:"timed,woken"`
	Period duration `toml:"period" need:"true"`
	Count  int64    `toml:"count" min:"0" max:"9223372036854775807"`
	Cap    duration `toml:"cap" need:"true"`
	Takes  dist     `toml:"takes" need:"true" unit:"time"`
}

type handoffTable struct {
	IdleWake timesTable `toml:"idle_wake"`
}

type fitTable struct {
	Quantity    string       `toml:"quantity" need:"true"`
	Against     string       `toml:"against" need:"true"`
	KS          float64      `toml:"ks"`
	Wasserstein float64      `toml:"wasserstein"`
	Ratios      []ratioTable `toml:"ratios"`
}

type ratioTable struct {
	P     float64 `toml:"p" need:"true"`
	Ratio float64 `toml:"ratio" need:"true"`
	Lo    float64 `toml:"lo"`
	Hi    float64 `toml:"hi"`
}

// ParseProfile decodes and checks the text of a profile, as model.Profile's
// Encode writes it. All faults are returned at once, as Faults.
func ParseProfile(filename string, src []byte) (*model.Profile, error) {
	if len(src) > fileMost {
		return nil, Faults{{File: filename, Msg: fmt.Sprintf("want at most %d bytes, got %d", fileMost, len(src))}}
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	d := &decoder{file: filename, lines: linesOf(text), lax: true}
	root, syntax, holed := parseTree(text)
	d.syntax(syntax)
	if root == nil {
		return nil, d.faults.sorted(filename, nil)
	}
	d.holed = holed
	doc := &profileDocument{}
	d.table(root, reflect.ValueOf(doc).Elem())
	p := d.profileOf(doc, root)
	if d.found() > 0 {
		return nil, d.faults.sorted(filename, nil)
	}
	if err := p.Check(); err != nil {
		return nil, Faults{{File: filename, Msg: firstLine(err.Error())}}
	}
	return p, nil
}

// profileOf checks a document and turns it into a Profile, which is of use
// only if no fault was kept.
func (d *decoder) profileOf(doc *profileDocument, root *node) *model.Profile {
	m := &doc.MadeOn
	mode, _ := model.ParseFlushMode(m.Flush)
	p := &model.Profile{
		Title: doc.Title, Origin: doc.Origin,
		MadeOn: model.MadeOn{
			Kernel: m.Kernel, FileSystem: m.FileSystem, MountOptions: m.MountOptions, Device: m.Device, Release: m.Release,
			Flush: mode, Rate: m.Rate.v, BodyMin: m.BodyMin.v, BodyMax: m.BodyMax.v, Duration: m.Duration.v, Runs: m.Runs,
		},
		PerRecord: d.constant(doc.Cost.PerRecord),
		PerByte:   d.constant(doc.Cost.PerByte),
	}
	if n := m.node.child("release"); n != nil && m.Release != "" {
		p.MadeOn.Release = d.release(n, m.Release)
	}
	if m.BodyMin.node != nil && m.BodyMax.node != nil && !m.BodyMin.bad && !m.BodyMax.bad && m.BodyMax.v < m.BodyMin.v {
		d.atValue(m.BodyMax.node, "want at least body_min = %d bytes, got %d", m.BodyMin.v, m.BodyMax.v)
	}
	d.span(m.Duration, 1, durationMost+1)
	p.Ladder = d.ladder(doc, root)
	for i := range doc.Stall {
		p.Stalls = append(p.Stalls, d.mechanism(&doc.Stall[i]))
	}
	load := 0.0
	for _, m := range p.Stalls {
		if m.Every != nil && m.Takes != nil {
			load += m.Takes.Mean() / m.Every.Mean()
		}
	}
	if load > 0.9 {
		d.atKey(root.child("stall"), "want stalls that take up to 0.9 of the time together, got %.3g", load)
	}
	modes := map[string]bool{}
	for i := range doc.Flush {
		t := &doc.Flush[i]
		mode, ok := model.ParseFlushMode(t.Mode)
		if ok && modes[t.Mode] {
			d.atKey(t.node, "the mode %s is there twice", t.Mode)
		}
		modes[t.Mode] = true
		d.span(t.Period, 0, sim.Hour+1)
		p.Flushes = append(p.Flushes, model.FlushProfile{Mode: mode, Period: t.Period.v, Table: d.times(t.Count, t.Cap, t.Takes)})
	}
	p.Handoff.IdleWake = d.optional(&doc.Handoff.IdleWake)
	p.Roll = d.optional(&doc.Roll)
	for i := range doc.Fit {
		f := &doc.Fit[i]
		fit := model.Fit{Quantity: f.Quantity, Against: f.Against, KS: f.KS, Wasserstein: f.Wasserstein}
		for _, r := range f.Ratios {
			fit.Ratios = append(fit.Ratios, model.QuantileRatio{P: r.P, Ratio: r.Ratio, Lo: r.Lo, Hi: r.Hi})
		}
		p.Fit = append(p.Fit, fit)
	}
	return p
}

// ladder decodes the [[ladder]] tables, each rung of which is there once.
func (d *decoder) ladder(doc *profileDocument, root *node) (ladder []model.Rung) {
	rungs := map[[2]string]bool{}
	none := false
	for i := range doc.Ladder {
		t := &doc.Ladder[i]
		b, okB := model.ParseBoundary(t.Crosses)
		ph, okPh := model.ParsePhase(t.Phase)
		ladder = append(ladder, model.Rung{Crosses: b, Phase: ph, Table: d.times(t.Count, t.Cap, t.Takes)})
		if !okB || !okPh {
			continue
		}
		none = none || b == model.CrossesNone
		if key := [2]string{t.Crosses, t.Phase}; rungs[key] {
			d.atKey(t.node, "the rung %s, %s is there twice", t.Crosses, t.Phase)
		} else {
			rungs[key] = true
		}
	}
	if n := root.child("ladder"); n != nil && n.array && !none {
		d.atKey(n, `want a rung with crosses = "none"`)
	}
	return ladder
}

// constant is a quantity that is no distribution, in ns.
func (d *decoder) constant(x dist) float64 {
	if x.v == nil {
		return 0
	}
	if x.v.Quantile(0) != x.v.Quantile(1) || !(x.v.Mean() <= 1e9) {
		d.atValue(x.node, "want one duration of at most 1s, got %s", x.v)
	}
	return x.v.Mean()
}

// times checks a table: what it takes ends at its cap.
func (d *decoder) times(count int64, limit duration, takes dist) model.Table {
	d.span(limit, 0, sim.Hour+1)
	if takes.v != nil && limit.node != nil && !limit.bad && !(takes.v.Quantile(1) <= float64(limit.v)+0.5) {
		most := "ones without end"
		if longest := takes.v.Quantile(1); !math.IsInf(longest, 1) {
			most = "up to " + spell(longest)
		}
		d.atValue(takes.node, "want times up to cap = %s, got %s", limit.v, most)
	}
	return model.Table{Count: count, Cap: limit.v, Takes: takes.v}
}

// optional is a table that need not be there.
func (d *decoder) optional(t *timesTable) model.Table {
	if t.node == nil {
		return model.Table{}
	}
	return d.times(t.Count, t.Cap, t.Takes)
}

// mechanism checks one [[stall]] of a profile.
func (d *decoder) mechanism(t *mechanismTable) model.Mechanism {
	on, _ := model.ParseResource(t.On)
	m := model.Mechanism{Name: t.Name, On: on, Every: t.Every.v, Each: t.Each.v, Share: t.Share, While: t.While,
		Table: d.times(t.Count, t.Cap, t.Takes)}
	share := t.node.child("share")
	switch {
	case t.node == nil:
	case (t.Every.node == nil) == (t.Each.node == nil):
		d.atKey(t.node, `want one of "every" (in time) and "each" (by position)`)
	case t.Every.node != nil:
		if share != nil {
			d.atKey(share, `goes with "each"`)
		}
		if d.within(t.Every, durationMost); t.Every.v != nil && !(t.Every.v.Mean() >= 1e6) {
			d.atValue(t.Every.node, "want a mean of at least 1ms, got %s", t.Every.v)
		}
	default:
		d.bytes(t.Each, 1, 1<<40)
		if share == nil {
			d.atKey(t.node, `the key "share" is missing`)
		} else if !(t.Share > 0 && t.Share <= 1) {
			d.atValue(share, "want more than 0 and at most 1, got %s", share.kind())
		}
	}
	return m
}
