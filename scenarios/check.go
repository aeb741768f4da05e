package scenarios

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// The limits of a scenario: beyond them a run would not end within a day or
// not fit in memory.
const (
	fileMost = 1 << 20 // bytes of a scenario or of a file that it names

	textMost     = 1 << 16 // bytes of one quantity's text
	tablesMost   = 10_000  // [[stall]], [[producer]], ... of one kind, and rows of a stall file
	durationMost = 1000 * sim.Hour
	stallsMost   = 1_000_000 // stalls of one run that one [[stall]] with every gives
	serviceMost  = sim.Hour  // mean of what one step of a send takes
	bodyMost     = math.MaxInt32

	coresDefault = 4
)

// config checks a document and turns it into a Config. What it returns is of
// use only if no fault was kept.
func (d *decoder) config(doc *document, root *node) (model.Config, []Expect) {
	c := model.Config{
		Title:    doc.Title,
		Seed:     uint64(doc.Seed),
		Duration: doc.Duration.v,
		Warmup:   doc.Warmup.v,
		Machine: model.Machine{
			Cores:      int(doc.Machine.Cores),
			WallPhase:  doc.Machine.WallPhase.or(model.Absent),
			SweepPhase: doc.Machine.SweepPhase.or(model.Absent),
			NIC:        float64(doc.Machine.NIC.v),
			Quantum:    doc.Machine.Quantum.or(model.DefaultQuantum),
		},
	}
	if root.child("seed") == nil {
		c.Seed = 1
	}
	c.Route = model.Route{Brokers: int(doc.Route.Brokers), Queues: int(doc.Route.Queues)}
	if c.Machine.Cores == 0 {
		c.Machine.Cores = coresDefault
	}
	d.span(doc.Duration, 1, durationMost+1)
	if doc.Warmup.node != nil && c.Duration > 0 && c.Warmup >= c.Duration {
		d.atValue(doc.Warmup.node, "want less than duration = %s, got %s", plain(c.Duration), plain(c.Warmup))
	}
	d.span(doc.Machine.WallPhase, 0, sim.Millisecond)
	d.span(doc.Machine.SweepPhase, 0, 10*sim.Millisecond)
	d.span(doc.Machine.Quantum, sim.Microsecond, sim.Second+1)
	d.bytes(doc.Machine.NIC.size, 1000, 1<<40)
	d.span(doc.Store.Delay, 0, serviceMost+1)

	c.Store = d.store(&doc.Store, taken(doc.Neighbour))
	c.Broker = d.settings(doc.Broker.node, c.Machine.Cores, c.Store.Profile != nil || c.Store.PageCache != nil)
	d.filled(&doc.Store, &c)
	c.Costs = d.costs(&doc.Costs)
	if p := c.Store.Profile; p != nil && p.Handoff.IdleWake.Takes != nil && doc.Costs.Handoff.node == nil {
		c.Costs.Handoff = p.Handoff.IdleWake.Takes
	}
	c.Replica = d.replica(&doc.Replica, &c.Broker)
	c.Neighbours = d.neighbours(doc)
	c.Deletes = d.deletes(doc)
	for i := range doc.Stall {
		c.Stalls = append(c.Stalls, d.stall(&doc.Stall[i], c.Duration)...)
	}
	d.afterPut(doc, &c)
	c.Producers = d.producers(doc.Producer, c.Broker.Release)
	d.onRoute(&c, doc)
	c.Loads = d.loads(doc, c.Broker.Release)
	d.extent(&c, root)
	d.oversized(&c, doc.Producer)
	d.idle(&c, doc)
	if p := c.Store.Profile; p != nil {
		d.mechanisms(doc.Store.node.child("profile"), p, c.Duration)
		d.notes = append(d.notes, p.Mismatches(&c)...)
	}
	expects := d.expects(doc.Threshold)
	for i := range expects {
		c.Thresholds = append(c.Thresholds, model.Threshold{Expect: expects[i].Text})
	}
	return c, expects
}

// expects decodes the [[threshold]] tables.
func (d *decoder) expects(tables []thresholdTable) (expects []Expect) {
	for i := range tables {
		n := tables[i].node.child("expect")
		if n == nil || tables[i].Expect == "" {
			continue
		}
		e, err := ParseExpect(tables[i].Expect)
		if d.parsed(n, err) {
			expects = append(expects, e)
		}
	}
	return expects
}

// loads decodes the [[load]] tables.
func (d *decoder) loads(doc *document, release string) (loads []model.Load) {
	for i := range doc.Load {
		l := &doc.Load[i]
		if _, ok := l.Arrivals.v.(variate.Closed); ok {
			d.inside(l.Arrivals.node, 0, "want an open workload such as poisson(rate=43/s), got %s", l.Arrivals.v)
		}
		loads = append(loads, model.Load{Queue: l.Queue, Arrivals: l.Arrivals.v, Service: l.Service.v, Bytes: l.Bytes.v, Read: l.Read.v, Consumers: d.consumers(l)})
		if d.bytes(l.Read, 0, 1<<30); l.Read.node != nil && doc.Store.Kind != "pagecache" {
			d.atKey(l.Read.node, `goes with store.kind = "pagecache"`)
		}
		d.within(l.Service, serviceMost)
		d.loadQueue(l, release)
	}
	return loads
}

// span checks least <= t < limit. A limit of one ns above a whole number of
// microseconds is spelt as that number, which is the most then.
func (d *decoder) span(t duration, least, limit sim.Time) {
	if t.node == nil || t.bad || t.v >= least && t.v < limit {
		return
	}
	from, to := "at least "+plain(least), "less than "+plain(limit)
	if least == 1 {
		from = "more than 0s"
	}
	if limit%sim.Microsecond == 1 {
		to = "at most " + plain(limit-1)
	}
	d.atValue(t.node, "want %s and %s, got %s", from, to, plain(t.v))
}

// plain spells a time without the parts that are 0: 1000h, not 1000h0m0s.
func plain(t sim.Time) string {
	s := t.String()
	if rest, ok := strings.CutSuffix(s, "m0s"); ok {
		s = rest + "m"
	}
	if rest, ok := strings.CutSuffix(s, "h0m"); ok {
		s = rest + "h"
	}
	return s
}

// within checks that a distribution of times has a mean, of at most so much,
// and gives it back.
func (d *decoder) within(x dist, most sim.Time) dist {
	if x.v != nil && !(x.v.Mean() <= float64(most)) {
		d.atValue(x.node, "want a mean of at most %s, got %s", plain(most), spell(x.v.Mean()))
	}
	return x
}

func spell(ns float64) string {
	if math.IsInf(ns, 1) {
		return "an infinite one"
	}
	if ns > float64(math.MaxInt64)/2 {
		return strconv.FormatFloat(ns/1e9, 'g', 4, 64) + "s"
	}
	return plain(sim.Time(ns))
}

// costs are those of the table over the model's defaults.
func (d *decoder) costs(t *costsTable) model.Costs {
	costs := model.DefaultCosts()
	from, into := reflect.ValueOf(t).Elem(), reflect.ValueOf(&costs).Elem()
	for i := range into.NumField() {
		x := from.FieldByName(into.Type().Field(i).Name).Interface().(dist)
		if x = d.within(x, serviceMost); x.v != nil {
			into.Field(i).Set(reflect.ValueOf(x.v))
		}
	}
	if t.Process.node != nil && t.WarmProcess.node == nil {
		costs.WarmProcess = nil
	}
	if t.Finish.node != nil && t.WarmFinish.node == nil {
		costs.WarmFinish = nil
	}
	return costs
}

// stall decodes one [[stall]], or the many of its file.
func (d *decoder) stall(t *stallTable, runs sim.Time) []model.Stall {
	if t.node == nil {
		return nil
	}
	if n := t.node.child("file"); n != nil {
		return d.recorded(n, t, runs)
	}
	s := model.Stall{Broker: int(t.Broker), At: t.At.or(model.Absent), Every: t.Every.v, For: t.For.v, Until: t.Until.or(model.Absent), Tasks: int(t.Tasks)}
	if n := t.node.child("where"); n == nil {
		d.atKey(t.node, `the key "where" is missing`)
	} else if t.Where != "" {
		w, ok := model.ParseStallWhere(t.Where)
		if !ok {
			d.inside(n, 0, "%q is not simulated yet; simulated are %s", t.Where, strings.Join(model.StallWheres(), ", "))
		}
		s.Where = w
		switch tasks := t.node.child("tasks"); {
		case ok && w == model.StallCPU && tasks == nil:
			d.atKey(t.node, `want "tasks", how many threads keep a core busy`)
		case ok && w != model.StallCPU && tasks != nil:
			d.atKey(tasks, `goes with where = "cpu" alone`)
		}
	}
	if n := t.node.child("slave"); n != nil {
		s.Slave = int(t.Slave)
		if s.Where != model.StallNetwork && s.Where != model.StallReplica && t.Where != "" {
			d.atKey(n, `goes with where = "network" or "replica"`)
		}
	}
	d.span(t.At, 0, durationMost+1)
	d.span(t.Until, 0, durationMost+1)
	d.within(t.For, durationMost)
	d.recurs(t.node, t.At, t.Every)
	switch {
	case t.For.node == nil && t.Until.node == nil:
		d.atKey(t.node, `want one of "for" and "until"`)
	case t.For.node != nil && t.Until.node != nil:
		d.atKey(t.Until.node, `want one of "for" and "until", got both`)
	case t.Until.node != nil && t.Every.node != nil:
		d.atKey(t.Until.node, `goes with "at" alone: a stall that comes again takes "for"`)
	case t.Until.node != nil && t.At.node != nil && !t.Until.bad && !t.At.bad && t.Until.v <= t.At.v:
		d.atValue(t.Until.node, "want more than at = %s, got %s", t.At.v, t.Until.v)
	}
	d.lasts(t.For)
	if t.Every.v != nil {
		d.within(t.Every, durationMost)
		if n := float64(runs) / t.Every.v.Mean(); runs > 0 && !(n <= stallsMost) {
			d.atValue(t.Every.node, "want at most %d stalls in a run, got about %.3g: one each %s in %s",
				stallsMost, n, spell(t.Every.v.Mean()), plain(runs))
		}
	}
	d.afterEnd("stall", t.At, runs)
	return []model.Stall{s}
}

// recorded decodes the [[stall]] of a file, which stands alone.
func (d *decoder) recorded(n *node, t *stallTable, runs sim.Time) []model.Stall {
	for _, other := range []string{"where", "broker", "at", "every", "for", "until", "tasks", "slave"} {
		if o := t.node.child(other); o != nil {
			d.atKey(o, `want either "file", which says where and when, or %q`, other)
		}
	}
	if t.File == "" { // as was said
		return nil
	}
	stalls := d.stallFile(n, t.File)
	late := 0
	for _, s := range stalls {
		late += b2i(runs > 0 && s.At >= runs)
	}
	if late > 0 {
		d.note(n, "%d of %d stalls come after the end of arrivals at %s", late, len(stalls), plain(runs))
	}
	return stalls
}

// recurs checks that it is said when something happens.
func (d *decoder) recurs(table *node, at duration, every dist) {
	if at.node == nil && every.node == nil {
		d.atKey(table, `want "at" (once), "every" (again and again) or both`)
	}
}

// lasts checks that something takes time.
func (d *decoder) lasts(x dist) {
	if x.v != nil && !(x.v.Mean() > 0) {
		d.atValue(x.node, "want more than 0s, got %s", x.v)
	}
}

// afterEnd warns of what happens when no more sends come.
func (d *decoder) afterEnd(what string, at duration, runs sim.Time) {
	if at.node != nil && runs > 0 && at.v >= runs {
		d.note(at.node, "the %s at %s comes after the end of arrivals at %s", what, plain(at.v), plain(runs))
	}
}

// consumers is how many a [[load]] has that pulls by long polling.
func (d *decoder) consumers(t *loadTable) int {
	if t.node == nil {
		return 0
	}
	arrivals, n := t.node.child("arrivals"), t.node.child("consumers")
	d.body(t.Bytes)
	switch {
	case !t.Longpolling && arrivals == nil:
		d.atKey(t.node, `the key "arrivals" is missing`)
	case !t.Longpolling && n != nil:
		d.atKey(n, `goes with longpolling = true`)
	case !t.Longpolling:
		return 0
	case t.Queue != "pull" && t.Queue != "":
		d.atKey(t.node.child("longpolling"), `goes with queue = "pull"`)
	case arrivals != nil:
		d.atKey(arrivals, `with longpolling it is what is stored that has the pulls come`)
	}
	if n == nil {
		return 1
	}
	return int(t.Consumers)
}

// loadQueue checks that the release has the queue of a [[load]].
func (d *decoder) loadQueue(t *loadTable, release string) {
	since := map[string]string{"litePull": "5.0.0", "ack": "5.0.0", "heartbeat": "4.3.0"}[t.Queue]
	n := t.node.child("queue")
	if n != nil && !hasKey(release, since) {
		d.inside(n, 0, "%s has no %s queue of its own, it came with %s", release, t.Queue, since)
	}
	if n != nil && t.Queue == "endTransaction" && !hasKey(release, "4.3.1") {
		d.note(n, "END_TRANSACTION has no queue of its own in %s, it came with 4.3.1: it waits among the sends, and is swept with them", release)
	}
}

// decode turns a tree into a document.
func (d *decoder) decode(root *node) *document {
	doc := &document{}
	d.table(root, reflect.ValueOf(doc).Elem())
	return doc
}

// fetch gives the content of a file that the scenario names.
func (d *decoder) fetch(n *node, rel string) ([]byte, bool) {
	if d.resolve == nil || strings.TrimSpace(rel) == "" {
		d.inside(n, 0, "want the name of a file beside the scenario, got %q", clip(rel))
		return nil, false
	}
	b, err := d.read(n, rel)
	if errors.Is(err, fs.ErrNotExist) {
		// A bundled scenario that was saved alone names files of the bundle.
		if embedded, bad := bundle.ReadFile(path.Clean(filepath.ToSlash(rel))); bad == nil {
			d.note(n, "%s; the bundled %s is read", unread(err), rel)
			b, err = embedded, nil
		}
	}
	if err != nil {
		d.inside(n, 0, "%s", unread(err))
		return nil, false
	}
	d.files = append(d.files, file{rel, b})
	return b, true
}

// read gives the content of a file: one that an override names is looked for
// in the working directory first, any other beside the scenario.
func (d *decoder) read(n *node, rel string) ([]byte, error) {
	if n.set != "" {
		if b, err := readRegular(filepath.FromSlash(rel)); !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	return d.resolve(rel)
}

// unread says why a file can't be read, and where it was looked for.
func unread(err error) string {
	var at *fs.PathError
	switch {
	case !errors.As(err, &at):
		return err.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "no such file: " + at.Path
	default:
		return at.Path + ": " + at.Err.Error()
	}
}

// file is a file that a scenario names.
type file struct {
	rel     string
	content []byte
}
