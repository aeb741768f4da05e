package model

import "brokersim/sim"

// replication is the HAService of a SYNC_MASTER: for each slave a thread that
// transfers what is readable, and GroupTransferService, which waits for what
// the slaves have (facts §8).
type replication struct {
	slaves  []slave
	gap     int64 // haSlaveFallbehindMax
	batch   int64
	needed  int // slaves that must have it
	timeout sim.Time
	expires sim.Time // haHousekeepingInterval
	group   groupTransfer
}

// slave is one, its connection and the thread that writes to it.
type slave struct {
	next      int64 // nextTransferFromWhere
	acked     int64 // slaveAckOffset
	bandwidth int64
	sending   bool
	idleSince sim.Time
	look      sim.Timer // the next look of an idle thread, where something is there
	looking   bool
	underWay  fifo[int64] // ends of the batches not acknowledged, oldest first
	arrived   sim.Time    // of the last batch at the slave,
	appended  sim.Time    // stored there,
	answered  sim.Time    // and its acknowledgement here
	silent    sim.Time    // the connection is closed from then
	back      sim.Time    // until then

	network sampler
	append  sampler
	there   stallSet
	here    stallSet // on the way back: windows only
	stands  stallSet
}

const (
	transferIdleWait = 100 * sim.Millisecond // allWaitForRunning(100)
	transferHeader   = 12                    // bytes: offset and size
)

func (r *replication) init(b *broker, streams sim.Streams) {
	if !b.put.replica {
		return
	}
	s, c := &b.cfg.Broker, &b.cfg.Replica
	r.gap, r.batch = s.HaMaxGapNotInSync, int64(s.HaTransferBatchSize)
	r.needed = 1
	if b.traits.ReplicaNeedsInSync {
		r.needed = s.InSyncReplicas - 1
	}
	r.expires = sim.Time(s.HaHousekeepingInterval) * sim.Millisecond
	r.timeout = b.put.syncFlushTimeout
	if b.traits.TransferDeadline {
		r.timeout = sim.Time(s.SlaveTimeout) * sim.Millisecond
	}
	r.slaves = make([]slave, c.Slaves)
	for i := range r.slaves {
		name := "slave " + itoa(i+1)
		v := &r.slaves[i]
		v.next, v.acked, v.bandwidth, v.silent = b.log.wrote, b.log.wrote, c.Bandwidth, sim.Never
		v.network = newSampler(c.Network, streams.Stream(name+" network"))
		v.append = newSampler(c.Append, streams.Stream(name+" append"))
		v.there = stallsAt(b.cfg, b.index(), StallNetwork, i+1, streams)
		v.here = stallSet{windows: v.there.windows}
		v.stands = stallsAt(b.cfg, b.index(), StallReplica, i+1, streams)
	}
}

// connected reports whether the slave's connection stands: housekeeping closes
// one that was silent for too long.
func (v *slave) connected(now sim.Time) bool { return now < v.silent || now >= v.back }

// pushed is push2SlaveMaxOffset: one fast slave is enough for it.
func (r *replication) pushed() (offset int64) {
	for i := range r.slaves {
		offset = max(offset, r.slaves[i].acked)
	}
	return offset
}

// slaveOK is isSlaveOK for a put that ends there; since 5.x nobody asks.
func (b *broker) slaveOK(end int64) bool {
	if b.traits.ReplicaNeedsInSync {
		return true
	}
	r := &b.put.ha
	for i := range r.slaves {
		if r.slaves[i].connected(b.eng.Now()) {
			return end-r.pushed() < r.gap
		}
	}
	return false
}

// inSync is what a broker with enableSlaveActingMaster asks before it stores:
// whether enough replicas, itself among them, are near enough (facts §8).
func (b *broker) inSync() bool {
	s, r := &b.cfg.Broker, &b.put.ha
	if !s.EnableSlaveActingMaster {
		return true
	}
	near := 1
	for i := range r.slaves {
		if v := &r.slaves[i]; v.connected(b.eng.Now()) && b.log.wrote-v.acked < r.gap {
			near++
		}
	}
	needed := s.InSyncReplicas
	if s.EnableAutoInSyncReplicas {
		needed = max(min(needed, near), s.MinInSyncReplicas)
	}
	r.needed = needed - 1
	return near >= needed
}

// requestTransfer has a put wait for its slaves, whose threads it wakes.
func (b *broker) requestTransfer(a *attempt) {
	r := &b.put.ha
	r.group.request(b, transferRequest{a.Seq, a.end, b.eng.Now(), r.needed})
	for i := range r.slaves {
		v := &r.slaves[i]
		if v.sending {
			continue
		}
		b.eng.Cancel(v.look)
		v.sending, v.looking = true, false
		b.eng.At(b.wakes(), evTransfer, b.id|uint64(i))
	}
}

// readableAdvanced tells that more of the log is readable although no put says
// so to those that wait for it: the transient pool has committed, or a put
// doesn't wait. Threads that wait look when their wait is over.
func (b *broker) readableAdvanced() {
	b.wakeConsumers()
	if b.put.flush {
		b.put.commit.readable(b)
	}
	r := &b.put.ha
	for i := range r.slaves {
		if v := &r.slaves[i]; !v.sending && !v.looking && v.next < b.log.readable {
			v.looking = true
			v.look = b.eng.StartTimer(nextOf(v.idleSince, transferIdleWait, b.eng.Now()), evTransferLook, b.id|uint64(i))
		}
	}
}

// transferLook is a slave's thread at the end of a wait.
func (b *broker) transferLook(i int) {
	if !b.put.ha.slaves[i].sending {
		b.transfer(i)
	}
}

// transfer is a slave's thread that looks for what is readable: a batch of one
// file, or it waits.
func (b *broker) transfer(i int) {
	r, now := &b.put.ha, b.eng.Now()
	v := &r.slaves[i]
	v.looking = false
	n := min(b.log.readable-v.next, r.batch, b.log.fileSize-v.next%b.log.fileSize)
	if n <= 0 {
		v.sending, v.idleSince = false, now
		return
	}
	v.sending = true
	v.next += n
	v.underWay.push(v.next)
	takes := sim.Time(0)
	if v.bandwidth > 0 {
		takes = sim.Time((n + transferHeader) * int64(sim.Second) / v.bandwidth)
	}
	if b.cfg.Machine.NIC > 0 {
		takes = max(takes, b.nic.out.pass(now, n+transferHeader)-now)
	}
	sent := b.stalledSlave(&v.there, StallNetwork, now, now+takes)
	v.arrived = max(v.arrived, sent+v.network.draw())
	begins := max(v.arrived, v.appended)
	v.appended = b.stalledSlave(&v.stands, StallReplica, begins, begins+v.append.draw())
	v.answered = max(v.answered, v.here.end(v.appended, v.appended).at+v.network.draw())
	if v.answered-now > r.expires && v.silent == sim.Never {
		v.silent, v.back = now+r.expires, v.answered
	}
	b.eng.At(v.answered, evAck, b.id|uint64(i))
	b.then(now+takes, evTransfer, b.id|uint64(i))
}

func (b *broker) stalledSlave(s *stallSet, where StallWhere, now, base sim.Time) sim.Time {
	end := s.end(now, base)
	if end.stalled && b.put.replica { // else no send feels it
		b.stalls()
		b.stalled(base, end.at, 0)
	}
	if end.stalled && b.obs.Stall != nil {
		b.obs.Stall(StallRecord{where, now, end.at, Absent, b.index()})
	}
	return end.at
}

// slaveAnswered is a slave's acknowledgement of a batch.
func (b *broker) slaveAnswered(i int) {
	v := &b.put.ha.slaves[i]
	before := b.put.ha.pushed()
	v.acked, _ = v.underWay.pop()
	if b.eng.Now() >= v.back {
		v.silent = sim.Never
	}
	g := &b.put.ha.group
	switch {
	case v.acked > before:
		g.notify(b)
	case b.traits.ReplicaNeedsInSync && g.waits:
		// A slower slave wakes nobody: the wait of 1 ms under way has to end.
		if ends := nextOf(g.since, sim.Millisecond, b.eng.Now()); ends != g.ends {
			g.ends = ends
			b.eng.At(ends, evTransferDue, b.id)
		}
	}
}

// groupTransfer is GroupTransferService: it serves the requests strictly one
// after the other, each until its slaves have it or its time is over.
type groupTransfer struct {
	write, read []transferRequest
	at          int
	tries       int      // waits for the request that is served
	until       sim.Time // when it is given up
	state       serviceState
	waits       bool // for a slave,
	since       sim.Time
	ends        sim.Time // of that wait: hardly ever, so that one event looks,
	looks       sim.Time // then, 0 if there is none
	notified    bool     // a slave answered while it didn't wait
	free        sim.Time // as groupCommit's
}

type transferRequest struct {
	seq    int64
	end    int64
	at     sim.Time
	needed int // slaves
}

func (g *groupTransfer) request(b *broker, r transferRequest) {
	g.write = append(g.write, r)
	if g.state == serviceIdle {
		g.state = serviceWoken
		b.eng.At(b.wakes(), evGroupTransfer, b.id)
	}
}

// notify tells that a slave answered.
func (g *groupTransfer) notify(b *broker) {
	if !g.waits {
		g.notified = true
		return
	}
	g.waits = false
	if b.at(b.wakes(), evGroupTransfer, b.id) {
		g.runs(b)
	}
}

// wait waits until then, unless a slave answers; no earlier wait was to last
// longer.
func (g *groupTransfer) wait(b *broker, until sim.Time) {
	g.waits, g.since, g.ends = true, b.eng.Now(), until
	if g.looks == 0 {
		g.looks = until
		b.eng.At(until, evTransferDue, b.id)
	}
}

// waitDue is the end of a wait that may have been over long since.
func (g *groupTransfer) waitDue(b *broker) {
	now := b.eng.Now()
	if g.waits && g.ends <= now {
		b.eng.At(now, evTransferWait, b.id)
	}
	if g.looks != now {
		return
	}
	g.looks = 0
	if g.waits && g.ends > now {
		g.looks = g.ends
		b.eng.At(g.ends, evTransferDue, b.id)
	}
}

// waited is the end of a wait that no slave's answer ended.
func (g *groupTransfer) waited(b *broker) {
	if g.waits && g.ends <= b.eng.Now() {
		g.runs(b)
	}
}

// runs is the thread when it goes on.
func (g *groupTransfer) runs(b *broker) {
	g.waits = false
	if g.state == serviceWoken {
		g.state = serviceRunning
	}
	now := b.eng.Now()
	for {
		if g.at == len(g.read) {
			g.write, g.read = g.read[:0], g.write
			g.at, g.tries = 0, 0
			if len(g.read) == 0 {
				g.state = serviceIdle
				return
			}
		}
		r := &g.read[g.at]
		if g.tries == 0 {
			g.until = r.at + b.put.ha.timeout
			if !b.traits.TransferDeadline {
				g.until = now + b.put.ha.timeout
			}
		}
		has := b.put.ha.has(r)
		givenUp := now >= g.until
		if b.traits.TransferTries > 0 {
			givenUp = g.tries == b.traits.TransferTries
		}
		if !has && !givenUp {
			g.tries++
			if g.notified {
				g.notified = false
				continue
			}
			g.wait(b, g.step(b, now))
			return
		}
		status := PutOK
		if !has {
			status = PutFlushSlaveTimeout
		}
		b.completed(r.seq, waitReplica, status, &g.free)
		g.at, g.tries = g.at+1, 0
	}
}

// step is when a wait ends that no slave's answer ends: waitForRunning(1000),
// in 5.x waitForRunning(1), of which the last one alone counts.
func (g *groupTransfer) step(b *broker, now sim.Time) sim.Time {
	if b.traits.ReplicaNeedsInSync {
		return max(g.until, now+sim.Millisecond)
	}
	return now + sim.Second
}

// has reports whether the slaves have what a request waits for.
func (r *replication) has(q *transferRequest) bool {
	n := 0
	for i := range r.slaves {
		if r.slaves[i].acked >= q.end {
			n++
		}
	}
	return n >= q.needed
}
