package model

import "brokersim/sim"

// AtRisk is what a crash would have lost of what was acknowledged to its
// producers, over a run: in messages, of one broker or of all.
type AtRisk struct {
	ProcessKill Gauge `json:"process_kill"` // not committed yet, by the transient pool
	PowerCut    Gauge `json:"power_cut"`    // not flushed yet
}

// Gauge is a number over time.
type Gauge struct {
	Mean float64 `json:"mean"` // time average
	Max  float64 `json:"max"`
	End  float64 `json:"end"` // when the last send was answered
}

// risk follows the records of a broker's log from the end of their put until
// they are flushed. It is there where the store works by mechanism, with the
// transient pool, and where it is asked for (Store.AtRisk): the flush thread of
// another store decides nothing, and is not simulated.
type risk struct {
	records fifo[logged]
	next    int64 // ordinal of the next record
	flushed int64 // those below are flushed: of the first one in records
	saved   int64 // and those below are committed
	kill    gauge
	cut     gauge
}

// logged is a record of the log.
type logged struct {
	end   int64
	acked bool
}

// gauge integrates a number over time.
type gauge struct {
	n, most int64
	area    float64 // ns
	at      sim.Time
}

// add changes the number at t. What the page cache did is sometimes known ahead
// of time; then t is not before the change that was known first.
func (g *gauge) add(t sim.Time, n int64) {
	if t > g.at {
		g.area += float64(float64(g.n) * float64(t-g.at))
		g.at = t
	}
	g.n += n
	g.most = max(g.most, g.n)
}

func (g *gauge) gauge(end sim.Time) Gauge {
	g.add(end, 0)
	return Gauge{g.area / max(1, float64(g.at)), float64(g.most), float64(g.n)}
}

func (r *risk) record(i int64) *logged {
	return &r.records.ring[(r.records.head+int(i-r.flushed))&(len(r.records.ring)-1)]
}

// put is a record at the end of the log; it gives its ordinal.
func (r *risk) put(end int64) int64 {
	r.records.push(logged{end: end})
	r.next++
	return r.next - 1
}

// acknowledged is its answer.
func (r *risk) acknowledged(t sim.Time, ordinal int64) {
	if ordinal < r.flushed {
		return
	}
	r.record(ordinal).acked = true
	r.cut.add(t, 1)
	if ordinal >= r.saved {
		r.kill.add(t, 1)
	}
}

// committedTo and flushedTo move the ends of what is safe.
func (r *risk) committedTo(t sim.Time, end int64) {
	for ; r.saved < r.next && r.record(r.saved).end <= end; r.saved++ {
		if r.record(r.saved).acked {
			r.kill.add(t, -1)
		}
	}
}

func (r *risk) flushedTo(t sim.Time, end int64) {
	r.committedTo(t, end)
	for r.flushed < r.next && r.record(r.flushed).end <= end {
		if first, _ := r.records.pop(); first.acked {
			r.cut.add(t, -1)
		}
		r.flushed++
	}
}

// initFlush gives the broker the flush thread that its store has, or one beside
// it where it is asked what is at risk.
func (b *broker) initFlush(streams sim.Streams) {
	switch {
	case b.store != nil:
		b.flush = &b.store.flush
	case b.pool != nil || b.cfg.Store.AtRisk:
		b.flush = newFlushThread(b.cfg, &b.traits, streams)
		b.flush.takes = newSampler(b.cfg.Store.Flush, streams.Stream("flush"))
	default:
		return
	}
	b.risk = new(risk)
	b.flush.risk = b.risk
	b.Cluster.atRisk = true
}

// acknowledged notes the answer to a put that is stored.
func (b *broker) acknowledged(a *attempt) {
	now := b.eng.Now()
	b.flush.advance(now)
	b.risk.acknowledged(now, a.ordinal)
}

// readableTo tells who follows the log that it is readable up to there.
func (b *broker) readableTo() {
	now := b.eng.Now()
	b.risk.committedTo(now, b.log.readable)
	b.flush.appended(now, b.log.readable)
}

// AtRisk is that of all brokers; nil where it is not followed.
func (c *Cluster) AtRisk() *AtRisk {
	if !c.atRisk {
		return nil
	}
	all := new(AtRisk)
	for i := range c.brokers {
		b := &c.brokers[i]
		b.flush.advance(c.eng.Now())
		all.ProcessKill.merge(b.risk.kill.gauge(c.eng.Now()))
		all.PowerCut.merge(b.risk.cut.gauge(c.eng.Now()))
	}
	return all
}

// merge adds another broker's: they don't crash together, but each alone may.
func (g *Gauge) merge(o Gauge) {
	g.Mean += o.Mean
	g.Max = max(g.Max, o.Max)
	g.End += o.End
}

// over is that of replications: the means of what they had, and the most of all.
func (r *AtRisk) over(replications int) *AtRisk {
	if r == nil || replications == 0 {
		return nil
	}
	each := func(g Gauge) Gauge {
		return Gauge{g.Mean / float64(replications), g.Max, g.End / float64(replications)}
	}
	return &AtRisk{each(r.ProcessKill), each(r.PowerCut)}
}
