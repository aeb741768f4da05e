package realstore

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultRelease is the broker's release whose rules and defaults hold where
// Options.Release is empty.
const DefaultRelease = "4.3.2"

// traits are what differs between releases of the broker's store.
type traits struct {
	reentrantLock             bool // useReentrantLockWhenPutMessage's default
	flushTimed                bool // flushCommitLogTimed's default
	putWakesFlush             bool // where the flush isn't timed
	secondFlushUnseen         bool // a sync flush that needs two flushes is answered as a timeout
	syncFlushWithPool         bool // transientStorePoolEnable also with SYNC_FLUSH
	propertiesEndInSeparator  bool
	recordV2                  bool
	limitOnBody               bool // maxMessageSize bounds the body, not the record
	limitOnRecordToo          bool // and the record may be 64 KiB longer
	indexCountsOccupiedSlots  bool // hashSlotCount: slots in use, not entries
	abortHoldsPID             bool
	checkpointHasFlushOffsets bool
}

// changes is the table of what changed, in which release.
var changes = []struct {
	since int
	apply func(*traits)
}{
	{version(4, 0, 0), func(t *traits) {
		*t = traits{putWakesFlush: true, secondFlushUnseen: true, propertiesEndInSeparator: true}
	}},
	{version(4, 8, 0), func(t *traits) { t.secondFlushUnseen = false }},
	{version(4, 9, 1), func(t *traits) {
		t.reentrantLock, t.flushTimed, t.propertiesEndInSeparator = true, true, false
	}},
	{version(4, 9, 4), func(t *traits) { t.limitOnBody, t.indexCountsOccupiedSlots = true, true }},
	{version(4, 9, 5), func(t *traits) { t.limitOnRecordToo = true }},
	{version(5, 0, 0), func(t *traits) { t.syncFlushWithPool, t.abortHoldsPID, t.checkpointHasFlushOffsets = true, true, true }},
	{version(5, 1, 0), func(t *traits) { t.recordV2 = true }},
	{version(5, 2, 0), func(t *traits) { t.propertiesEndInSeparator = true }},
	{version(5, 3, 2), func(t *traits) { t.putWakesFlush = false }},
}

// traitsOf returns the traits of a release, "4.9.4" say.
func traitsOf(release string) (traits, error) {
	var t traits
	if release == "" {
		release = DefaultRelease
	}
	v, err := parseRelease(release)
	if err != nil {
		return t, err
	}
	for _, c := range changes {
		if v >= c.since {
			c.apply(&t)
		}
	}
	return t, nil
}

// version is a release as a number that compares as releases do.
func version(major, minor, patch int) int { return major<<16 | minor<<8 | patch }

// parseRelease turns "4.9.4" into version(4, 9, 4).
func parseRelease(s string) (int, error) {
	v, rest, parts := 0, s, 0
	for more := true; more; parts++ {
		var part string
		part, rest, more = strings.Cut(rest, ".")
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			parts = 9
			break
		}
		v = v<<8 | int(n)
	}
	if parts != 3 || v < 4<<16 || v >= 6<<16 {
		return 0, fmt.Errorf("release %q: want one of 4.0.0 to 5.x, as in \"4.3.2\"", s)
	}
	return v, nil
}
