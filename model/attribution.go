package model

import "brokersim/sim"

// Cause is what a send thread is at, and with it what the sends behind it wait
// for.
type Cause uint8

// The causes, in the order in which a tie between threads is decided. What is
// between CauseAppendStall and CauseFreeze is a stall: it takes time away that
// no send is served in.
const (
	CauseIdle        Cause = iota // a thread waits for work: the sends wait for it to wake
	CauseBacklog                  // it works, and nothing is the matter with it
	CauseCPU                      // ready, and waits for a core
	CauseLock                     // waits for the put lock, which another one holds and works
	CauseAppendStall              // holds the put lock in an append that is held up
	CauseRoll                     // holds the put lock and waits for the next file
	CausePool                     // no buffer of the transient pool is free
	CauseFlush                    // waits for the flush of what it put (SYNC_FLUSH)
	CauseReplica                  // waits for a replica (SYNC_MASTER)
	CauseGC                       // the whole process stands still: a collection
	CauseSteal                    // likewise: the hypervisor runs somebody else
	CauseFreeze                   // likewise: anything else
	CauseSweep                    // a send that is old enough to be swept waits for the sweeper
	causes

	// Causes is their number, with those that After gives.
	Causes = 2 * int(causes)
)

var causeNames = [causes]string{
	"idle", "backlog", "cpu", "lock", "append_stall", "roll", "pool", "flush", "replica", "gc", "steal", "freeze", "sweep",
}

func (c Cause) String() string {
	if c >= causes {
		return "after_" + causeNames[c-causes]
	}
	return causeNames[c]
}

// Stall reports whether the cause takes time away from the threads' work.
func (c Cause) Stall() bool { return c >= CauseAppendStall && c <= CauseFreeze }

// halt reports whether the whole process stands still.
func (c Cause) halt() bool { return c >= CauseGC && c <= CauseFreeze }

// haltCause is the cause of waiting in a halt.
func haltCause(where StallWhere) Cause {
	switch where {
	case StallGC:
		return CauseGC
	case StallSteal:
		return CauseSteal
	default:
		return CauseFreeze
	}
}

// After is the wait for threads that work, and nothing is the matter with them
// any more, on what had piled up in a stall of cause c.
func (c Cause) After() Cause { return c + causes }

// Of is the stall that a cause comes from; any other cause is its own.
func (c Cause) Of() Cause { return c % causes }

// CauseList lists the causes that a wait can have: the direct ones, then those
// after a stall.
func CauseList() []Cause {
	var list []Cause
	for c := range causes {
		list = append(list, c)
	}
	for c := range causes {
		if c.Stall() {
			list = append(list, c.After())
		}
	}
	return list
}

// Waits is a waiting time, or a sum of them, by cause.
type Waits [Causes]sim.Time

// Total is the waiting time.
func (w *Waits) Total() (total sim.Time) {
	for _, d := range w {
		total += d
	}
	return total
}

func (w *Waits) add(o *Waits) {
	for c, d := range o {
		w[c] += d
	}
}

// most is the cause of the longest part; of equal ones the first.
func (w *Waits) most() (most Cause) {
	for c, d := range w {
		if d > w[most] {
			most = Cause(c)
		}
	}
	return most
}

// Wait is one send's time in the send queue.
type Wait struct {
	Seq      int64
	Broker   int // of the route, from 0
	From, To sim.Time
	Swept    bool  // by the sweeper; else a thread took it
	By       Waits // adds up to To - From
}

// enter notes that a send thread is at something else from now on.
func (b *broker) enter(w uint32, c Cause) {
	if b.workers[w].cause != c {
		b.enters(w, c)
	}
}

func (b *broker) enters(w uint32, c Cause) {
	t := &b.workers[w]
	was := t.cause
	b.cpu.working += onCore[c] - onCore[was]
	t.slept = t.slept || b.sleeps[c]
	t.cause = c
	m := &b.meter
	m.threads[was]--
	m.threads[c]++
	if b.queue.Len() > 0 {
		m.turn(b.eng.Now(), b.dominant())
	}
}

// onCore is 1 for what a thread does on a core. Those that spin for the put
// lock are counted there (putLock.spinning).
var onCore = [causes]int{CauseBacklog: 1}

// sleeping says at which causes a thread gives its core away and comes back to
// caches that others have used.
func sleeping(spin bool) (s [causes]bool) {
	for _, c := range [...]Cause{CauseIdle, CauseAppendStall, CauseRoll, CauseFlush, CauseReplica} {
		s[c] = true
	}
	s[CauseLock] = !spin
	return s
}

// dominant is what the sends in the queue wait for now. While a thread is
// idle, it is that it wakes, or gets a core; else what most threads are at, of
// equally many the first in the order of the causes. A thread that waits for
// the put lock counts as what its holder is at, if that is not simply work.
func (b *broker) dominant() Cause {
	if len(b.workers) == 1 {
		return b.workers[0].cause
	}
	return b.most()
}

// most is dominant of several threads.
func (b *broker) most() Cause {
	threads := b.meter.threads
	if threads[CauseIdle] > 0 {
		if threads[CauseCPU] > 0 {
			return CauseCPU
		}
		return CauseIdle
	}
	if b.lock.held {
		if c := b.workers[b.meter.holder].cause; c != CauseBacklog {
			threads[c] += threads[CauseLock]
			threads[CauseLock] = 0
		}
	}
	most := CauseBacklog
	for c := CauseBacklog; c < causes; c++ {
		if threads[c] > threads[most] {
			most = c
		}
	}
	return most
}
