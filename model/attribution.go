package model

// Cause is what a send thread is at, and with it what the sends behind it wait
// for.
type Cause uint8

// The causes, in the order in which a tie between threads is decided.
const (
	CauseIdle        Cause = iota // a thread waits for work: the sends wait for it to wake
	CauseBacklog                  // it works, and nothing is the matter with it
	CauseCPU                      // ready, and waits for a core
	CauseLock                     // waits for the put lock, which another one holds and works
	CauseAppendStall              // holds the put lock in an append that is held up
	CauseRoll                     // holds the put lock and waits for the next file
	CauseFlush                    // waits for the flush of what it put (SYNC_FLUSH)
	CauseReplica                  // waits for a replica (SYNC_MASTER)
	CauseFreeze                   // the whole process stands still
	CauseSweep                    // a send that is old enough to be swept waits for the sweeper
	causes
)

var causeNames = [causes]string{
	"idle", "backlog", "cpu", "lock", "append_stall", "roll", "flush", "replica", "freeze", "sweep",
}

func (c Cause) String() string { return causeNames[c] }

// enter notes that a send thread is at something else from now on.
func (b *broker) enter(w uint32, c Cause) {
	t := &b.workers[w]
	b.cpu.working += onCore[c] - onCore[t.cause]
	t.slept = t.slept || b.sleeps[c]
	t.cause = c
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
