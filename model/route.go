package model

import (
	"slices"

	"brokersim/sim"
)

// queueRef is a queue of the topic: a broker of the route, and the queue's
// number there.
type queueRef struct{ broker, id int32 }

// none is the broker of no attempt.
const none = -1

// publishInfo is TopicPublishInfo: the queues of a topic, broker by broker,
// and for each thread that sends where it is in the round (facts §9.4). A search
// for a queue that fits moves the round on by one, wherever it ends.
type publishInfo struct {
	queues []queueRef
	which  []uint32 // sendWhichQueue: one for each caller
}

// newPublishInfo is that of a route, each caller beginning anywhere.
func newPublishInfo(cfg *Config, callers int, stream *sim.Stream) publishInfo {
	info := publishInfo{which: make([]uint32, callers)}
	for b := range cfg.brokers() {
		for q := range cfg.queues() {
			info.queues = append(info.queues, queueRef{int32(b), int32(q)})
		}
	}
	for i := range info.which {
		info.which[i] = uint32(stream.Uint64() >> 33)
	}
	return info
}

// at is the place in the list of the i-th queue of a round.
func (t *publishInfo) at(i uint32) int { return int(i % uint32(len(t.queues))) }

func (t *publishInfo) next(caller int32) (i uint32) {
	i = t.which[caller]
	t.which[caller]++
	return i
}

// selectOneMessageQueue is the next queue, or after an attempt on the broker
// last the next one of another broker, if there is any (facts §9.4).
func (t *publishInfo) selectOneMessageQueue(caller, last int32) queueRef {
	if last != none {
		from := t.next(caller)
		for i := range uint32(len(t.queues)) {
			if q := t.queues[t.at(from+i)]; q.broker != last {
				return q
			}
		}
	}
	return t.queues[t.at(t.next(caller))]
}

// FaultRule is which queue MQFaultStrategy.selectOneMessageQueue takes with
// sendLatencyFaultEnable (facts §9.4).
type FaultRule uint8

// The rules, in the order in which the releases had them.
const (
	// FaultSticks takes a queue of an available broker, on a retry only if it
	// is the broker that has just failed: the bug of 4.2.0 to 4.7.1.
	FaultSticks FaultRule = iota
	// FaultAvailable takes a queue of an available broker, the one that has
	// just failed or not.
	FaultAvailable
	// FaultElsewhere takes a queue of an available broker other than the last.
	FaultElsewhere
	// FaultReachable is FaultElsewhere, then any reachable broker other than
	// the last, then any at all.
	FaultReachable
)

// faultTable is LatencyFaultToleranceImpl: how the brokers answered (facts
// §9.5).
type faultTable struct {
	items []faultItem
	worst uint32 // whichItemWorst
}

// faultItem is what a producer remembers of a broker.
type faultItem struct {
	known     bool
	reachable bool
	latencyMs int64
	from      sim.Time // startTimestamp: available again
}

func (f *faultItem) available(now sim.Time) bool { return now >= f.from }

// update is updateFaultItem: a broker that answered late, or not at all, is
// left alone for a while.
func (f *faultTable) update(t *Traits, broker int32, now, latency sim.Time, isolated, reachable bool) {
	ms := int64(latency / sim.Millisecond)
	held := ms
	if isolated {
		held = t.FaultIsolationMs
	}
	item := &f.items[broker]
	*item = faultItem{known: true, reachable: reachable, latencyMs: ms, from: now}
	for i, least := range t.FaultLatencyMaxMs {
		if held < least {
			break
		}
		item.from = now + sim.Time(t.FaultNotAvailableMs[i])*sim.Millisecond
	}
}

// pickOneAtLeast is a broker of the better half of those known, in turn:
// available before not, then by latency, then by when it is available again.
// None is none.
func (f *faultTable) pickOneAtLeast(now sim.Time) int32 {
	var list [brokersMax]int32
	known := list[:0]
	for i := range f.items {
		if f.items[i].known {
			known = append(known, int32(i))
		}
	}
	if len(known) == 0 {
		return none
	}
	slices.SortFunc(known, func(a, b int32) int {
		x, y := &f.items[a], &f.items[b]
		switch xa, ya := x.available(now), y.available(now); {
		case xa != ya && xa:
			return -1
		case xa != ya:
			return 1
		case x.latencyMs != y.latencyMs:
			return int(x.latencyMs - y.latencyMs)
		case x.from != y.from:
			return int(min(max(x.from-y.from, -1), 1))
		}
		return int(a - b)
	})
	half := uint32(len(known) / 2)
	if half == 0 {
		return known[0]
	}
	f.worst++
	return known[(f.worst-1)%half]
}

// choose is MQFaultStrategy.selectOneMessageQueue with sendLatencyFaultEnable.
func (f *faultTable) choose(t *Traits, info *publishInfo, caller, last int32, now sim.Time) queueRef {
	first := func(fits func(*faultItem) bool, elsewhere bool) (queueRef, bool) {
		from := info.next(caller)
		for i := range uint32(len(info.queues)) {
			q := info.queues[info.at(from+i)]
			if fits(&f.items[q.broker]) && !(elsewhere && q.broker == last) {
				return q, true
			}
		}
		return queueRef{}, false
	}
	available := func(item *faultItem) bool { return item.available(now) }
	var q queueRef
	var ok bool
	switch t.FaultRule {
	case FaultReachable:
		if q, ok = first(available, true); ok {
			return q
		}
		if q, ok = first(func(item *faultItem) bool { return !item.known || item.reachable }, true); ok {
			return q
		}
		return info.selectOneMessageQueue(caller, none)
	case FaultSticks:
		q, ok = first(func(item *faultItem) bool {
			return available(item) && (last == none || item == &f.items[last])
		}, false)
	default:
		q, ok = first(available, t.FaultRule == FaultElsewhere)
	}
	if ok {
		return q
	}
	return f.overwrite(info, caller, now)
}

// overwrite is what releases before 5.1.4 do when no broker is to be had: the
// one that pickOneAtLeast finds, and its name and a queue's number are written
// over the next queue of the topic's list, where they stay (facts §9.4).
func (f *faultTable) overwrite(info *publishInfo, caller int32, now sim.Time) queueRef {
	best := f.pickOneAtLeast(now)
	next := &info.queues[info.at(info.next(caller))]
	if best != none {
		perBroker := uint32(len(info.queues) / len(f.items))
		*next = queueRef{best, int32(info.next(caller) % perBroker)}
	}
	return *next
}
