package model

import "brokersim/sim"

// LockState is what isOSPageCacheBusy sees of the put lock: beginTimeInLock,
// the wall-clock ms at which the present holder got it. It knows neither the
// threads that wait nor how long they have waited (facts §4).
type LockState struct {
	held    bool
	beginMs int64
}

// pageCacheBusyMsMax is the age from which a held lock counts as not busy
// again (DefaultMessageStore.isOSPageCacheBusy; facts §4).
const pageCacheBusyMsMax = 10_000_000

// Acquired notes that a put got the lock at nowMs.
func (l *LockState) Acquired(nowMs int64) { l.held, l.beginMs = true, nowMs }

// Released notes that the holder reset beginTimeInLock.
func (l *LockState) Released() { l.held = false }

// Busy is isOSPageCacheBusy: timeoutMs < age of the present holder <
// 10,000,000 ms, both bounds strict (facts §4).
func (l *LockState) Busy(nowMs, timeoutMs int64) bool {
	age := nowMs - l.beginMs
	return l.held && timeoutMs < age && age < pageCacheBusyMsMax
}

// putLock is CommitLog.putMessageLock: who holds it and who waits.
type putLock struct {
	state   LockState
	held    bool
	spin    bool
	waiting fifo[uint32]
	stream  *sim.Stream
}

func (l *putLock) init(spin bool, stream *sim.Stream) { l.spin, l.stream = spin, stream }

// spinning is the number of threads that burn a core each while they wait.
func (l *putLock) spinning() int {
	if l.spin {
		return l.waiting.n
	}
	return 0
}
