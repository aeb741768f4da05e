package scenarios

import (
	"cmp"
	"fmt"
	"math"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// The defaults of [store]: a topic such as TopicTest, properties such as those
// of a message with a tag (UNIQ_KEY, WAIT, TAGS); the kernel's of
// vm.dirty_ratio and the rest on a machine of 8 GiB.
const (
	topicDefault      = 9
	propertiesDefault = 62

	memoryDefault          = 8 << 30
	backgroundRatioDefault = 10
	dirtyRatioDefault      = 20
	writebackDefault       = 5 * sim.Second
	expireDefault          = 30 * sim.Second
	diskDefault            = 100_000_000
	tickDefault            = 4 * sim.Millisecond
	flushDefault           = "constant(1ms)"
	latencyDefault         = "constant(100us)"
	readDefault            = 64 << 10
	unlinkDefault          = "lognormal(median=200ms, p99=1s)"
)

const pageSize = 4096

// store checks [store]; of its memory the neighbours keep so much.
func (d *decoder) store(t *storeTable, taken int64) model.Store {
	s := model.Store{Append: d.within(t.Append, serviceMost).v, Delay: t.Delay.v, Flush: model.DefaultFlush()}
	if t.Append.node == nil {
		s.Append = model.DefaultAppend()
	}
	d.logFiles(t, &s)
	if n := t.node.child("profile"); n != nil && t.Profile != "" {
		s.Profile = d.profile(n, t.Profile)
		if t.Append.node != nil {
			d.atKey(t.Append.node, `want either "append" or "profile", which says what an append takes, got both`)
		}
	}
	if t.Kind == "pagecache" {
		s.PageCache = d.pageCache(t, taken)
		s.Flush = variate.Must(variate.ParseDist(flushDefault, variate.Duration))
	} else if t.Kind != "" || t.node.child("kind") == nil {
		for _, key := range []string{"memory", "dirty_background_ratio", "dirty_background_bytes", "dirty_ratio", "dirty_bytes",
			"dirty_writeback", "dirty_expire", "disk", "disk_latency", "tick", "stable_pages"} {
			if n := t.node.child(key); n != nil {
				d.atKey(n, `goes with kind = "pagecache"`)
			}
		}
	}
	s.Flush = d.within(t.Flush, serviceMost).or(s.Flush)
	if t.Flush.node != nil && s.Profile != nil && s.PageCache == nil {
		d.atKey(t.Flush.node, `want either "flush" or "profile", which says what a flush takes, got both`)
	}
	d.bytes(t.TopicLength, 1, math.MaxUint16)
	d.bytes(t.PropertiesLength, 0, math.MaxInt16)
	if s.Profile != nil || s.PageCache != nil {
		s.TopicLength, s.PropertiesLength = t.TopicLength.or(topicDefault), t.PropertiesLength.or(propertiesDefault)
	} else if t.node.child("profile") == nil {
		for _, x := range []size{t.TopicLength, t.PropertiesLength} {
			if x.node != nil {
				d.atKey(x.node, `goes with "profile" or kind = "pagecache"`)
			}
		}
	}
	return s
}

// logFiles decodes the keys of [store] about the commit log's files; filled is
// checked when the settings are known.
func (d *decoder) logFiles(t *storeTable, s *model.Store) {
	s.Start, _ = model.ParseLogStart(t.Start)
	s.Filled, s.AtRisk = t.Filled.v, t.AtRisk
	s.Allocate = d.within(t.Allocate, serviceMost).or(model.DefaultAllocate())
	s.WarmPage = d.within(t.WarmPage, sim.Second).or(model.DefaultWarmPage())
	s.Commit = d.within(t.Commit, serviceMost).or(model.DefaultCommit())
}

// filled checks how far the last file is written.
func (d *decoder) filled(t *storeTable, c *model.Config) {
	switch {
	case t.Filled.node == nil || t.Filled.bad:
	case c.Store.Start == model.LogEmpty && c.Store.Filled > 0:
		d.atValue(t.Filled.node, `want 0 with start = "empty", which has no file, got %d`, c.Store.Filled)
	default:
		d.bytes(t.Filled, 0, int64(c.Broker.MappedFileSizeCommitLog))
	}
}

// bytes checks least <= s <= most.
func (d *decoder) bytes(s size, least, most int64) {
	if s.node == nil || s.bad || s.v >= least && s.v <= most {
		return
	}
	d.atValue(s.node, "want %d to %d bytes, got %d", least, most, s.v)
}

// pageCache decodes the keys of kind = "pagecache".
func (d *decoder) pageCache(t *storeTable, taken int64) *model.PageCache {
	c := &model.PageCache{
		Memory:      t.Memory.or(memoryDefault) - taken,
		Latency:     d.within(t.DiskLatency, sim.Second).v,
		Disk:        t.Disk.or(diskDefault),
		Tick:        t.Tick.or(tickDefault),
		Writeback:   t.DirtyWriteback.or(writebackDefault),
		Expire:      t.DirtyExpire.or(expireDefault),
		StablePages: t.StablePages,
	}
	if t.DiskLatency.node == nil {
		c.Latency = variate.Must(variate.ParseDist(latencyDefault, variate.Duration))
	}
	before := d.found()
	d.bytes(t.Memory, 1<<20, 1<<50)
	if c.Memory < 1<<20 && !t.Memory.bad && d.found() == before {
		d.atKey(cmp.Or(t.Memory.node, t.node), "want at least 1MiB more than the %d bytes that the neighbours keep, got %d", taken, c.Memory+taken)
	}
	d.bytes(t.Disk.size, pageSize, 1<<40)
	d.span(t.DirtyWriteback, 0, sim.Hour+1)
	d.span(t.DirtyExpire, 0, durationMost+1)
	if n := t.Tick.node; n != nil && !t.Tick.bad && c.Tick != sim.Millisecond && c.Tick != 4*sim.Millisecond && c.Tick != 10*sim.Millisecond {
		d.atValue(n, "want 1ms, 4ms or 10ms, got %s", c.Tick)
	}
	if n := t.DirtyWriteback.node; n != nil && !t.DirtyWriteback.bad && c.Writeback > 0 && c.Writeback < 10*sim.Millisecond {
		d.atValue(n, "want 0s or at least 10ms, got %s", c.Writeback)
	} else if c.Writeback >= 10*sim.Millisecond && c.Expire/c.Writeback >= 10_000 && d.found() == before {
		d.atValue(t.DirtyExpire.node, "want less than 10000 times dirty_writeback = %s, got %s", c.Writeback, c.Expire)
	}
	limit := func(ratio int64, ratioKey string, bytes size, percent int64) (int64, *node) {
		n := t.node.child(ratioKey)
		if n != nil && bytes.node != nil {
			d.atKey(bytes.node, "want one of %q and %q, got both", ratioKey, bytes.node.path[len("store."):])
		}
		d.bytes(bytes, 16*pageSize, 1<<50)
		switch {
		case bytes.node != nil:
			return bytes.v, bytes.node
		case n != nil:
			return c.Memory / 100 * ratio, n
		}
		return c.Memory / 100 * percent, nil
	}
	var low, high *node
	c.Background, low = limit(t.DirtyBackgroundRatio, "dirty_background_ratio", t.DirtyBackgroundBytes, backgroundRatioDefault)
	c.Limit, high = limit(t.DirtyRatio, "dirty_ratio", t.DirtyBytes, dirtyRatioDefault)
	if d.found() > before {
		return c
	}
	if c.Background >= c.Limit {
		// As domain_dirty_limits does; RocketMQ's os.sh asks for 50 and 50.
		c.Background = c.Limit / 2
		d.note(cmp.Or(low, high, t.node), "not below the hard limit of %d bytes: the kernel takes half of that, %d", c.Limit, c.Background)
	}
	if c.Background < 16*pageSize {
		d.atKey(cmp.Or(high, low, t.node), "want limits of at least %d bytes, got %d and %d", 16*pageSize, c.Background, c.Limit)
	}
	return c
}

// neighbours decodes the [[neighbour]] tables.
func (d *decoder) neighbours(doc *document) []model.Neighbour {
	var out []model.Neighbour
	named := map[string]bool{}
	for i := range doc.Neighbour {
		t := &doc.Neighbour[i]
		if t.node == nil {
			continue
		}
		n := model.Neighbour{
			Name: t.Name, Broker: int(t.Broker), At: t.At.or(model.Absent), Every: t.Every.v, For: t.For.v,
			Rate: t.Rate.v, Reads: t.Reads.v, ReadSize: t.ReadSize.or(readDefault), Tasks: max(1, int(t.Tasks)), Cores: int(t.Cores), Slows: int(t.Slows),
		}
		if doc.Store.Kind != "pagecache" {
			for _, x := range []size{t.Rate.size, t.Reads.size, t.Memory} {
				if x.node != nil {
					d.atKey(x.node, `goes with store.kind = "pagecache"`)
				}
			}
		}
		if t.Rate.node == nil && t.Reads.node == nil && t.Memory.node == nil && t.node.child("cores") == nil && t.node.child("slows") == nil {
			d.atKey(t.node, `want what it takes: "rate", "reads", "memory", "cores" or "slows"`)
		}
		if n.Name == "" {
			n.Name = fmt.Sprintf("neighbour-%d", i)
		}
		if named[n.Name] {
			d.atKey(t.node, "the name %q is taken by another neighbour", clip(n.Name))
		}
		named[n.Name] = true
		d.recurs(t.node, t.At, t.Every)
		d.span(t.At, 0, durationMost+1)
		d.within(t.For, durationMost)
		d.bytes(t.Rate.size, 1, 1<<40)
		d.bytes(t.Reads.size, 1, 1<<40)
		d.bytes(t.ReadSize, 512, 1<<30)
		d.bytes(t.Memory, 0, 1<<50)
		d.lasts(t.For)
		if d.within(t.Every, durationMost); t.Every.v != nil && !(t.Every.v.Mean() >= 1e6) {
			d.atValue(t.Every.node, "want a mean of at least 1ms, got %s", t.Every.v)
		}
		if t.For.v != nil && t.Every.v != nil && !(t.For.v.Mean() <= 1e6*t.Every.v.Mean()) {
			d.atValue(t.For.node, "want at most a million times every, got %s", t.For.v)
		}
		d.afterEnd("burst", t.At, doc.Duration.v)
		if writes := writing(&n, doc.Duration.v); writes > writesMost {
			d.atKey(t.node, "want at most %.0e writes of 32 KiB and reads in a run, got about %.3g", float64(writesMost), writes)
		}
		out = append(out, n)
	}
	return out
}

// writesMost bounds the writes of one neighbour in a run, which take time each.
const writesMost = 1e9

// writing is about how many a neighbour would do if nobody throttled it.
func writing(n *model.Neighbour, runs sim.Time) float64 {
	if n.For == nil {
		return 0
	}
	busy := min(n.For.Mean(), float64(runs))
	if n.Every != nil && n.Every.Mean() > 0 {
		busy = float64(runs) * min(1, n.For.Mean()/n.Every.Mean())
	}
	return busy / 1e9 * (float64(n.Rate)/(32<<10) + float64(n.Reads)/float64(max(512, n.ReadSize)))
}

// taken is the memory that the neighbours keep.
func taken(tables []neighbourTable) (bytes int64) {
	for i := range tables {
		bytes += min(tables[i].Memory.v, 1<<50)
	}
	return min(bytes, 1<<51)
}

// deletes decodes the [[delete]] tables.
func (d *decoder) deletes(doc *document) []model.Delete {
	var out []model.Delete
	for i := range doc.Delete {
		t := &doc.Delete[i]
		if t.node == nil {
			continue
		}
		if doc.Store.Kind != "pagecache" {
			d.atKey(t.node, `goes with store.kind = "pagecache"`)
		}
		d.span(t.At, 0, durationMost+1)
		x := model.Delete{Broker: int(t.Broker), At: t.At.v, Files: int(t.Files), Unlink: d.within(t.Unlink, sim.Hour).v, Journal: t.Journal}
		if t.Unlink.node == nil {
			x.Unlink = variate.Must(variate.ParseDist(unlinkDefault, variate.Duration))
		}
		d.afterEnd("delete", t.At, doc.Duration.v)
		out = append(out, x)
	}
	return out
}

// mechanisms refuses a profile whose stalls would be too many in a run.
func (d *decoder) mechanisms(n *node, p *model.Profile, runs sim.Time) {
	for _, m := range p.Stalls {
		if m.Every == nil {
			continue
		}
		if stalls := float64(runs) / m.Every.Mean(); !(stalls <= mechanismMost) {
			d.atValue(n, "want at most %.0e stalls of one kind in a run, got about %.3g: %s, one each %s", float64(mechanismMost), stalls, clip(m.Name), spell(m.Every.Mean()))
		}
	}
}

const mechanismMost = 1e8

// profile reads the profile that store.profile names.
func (d *decoder) profile(n *node, rel string) *model.Profile {
	src, ok := d.fetch(n, rel)
	if !ok {
		return nil
	}
	p, err := ParseProfile(rel, src)
	d.take(err)
	return p
}
