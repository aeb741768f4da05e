package sim

import "math/bits"

// An event is 16 bytes without a pointer, so the collector never scans the
// queue. key is time<<4 | class: one comparison orders both. a is the timer
// flag (1 bit), the kind (15 bits) and the argument or timer slot (48 bits).
type event struct{ key, a uint64 }

const (
	timerFlag = 1 << 63
	keyMax    = 1<<64 - 1 // above the key of every event

	chunkLen = 31 // a chunk is 512 bytes
	nearCap  = 64 // a power of two, so that indices can be masked; > chunkLen
	shortRun = 6  // up to here near is updated without branches
)

// pending is the set of pending events, popped in the order of key and, within
// one key, of insertion. It is a monotone radix queue (Ahuja, Mehlhorn, Orlin
// and Tarjan 1990) of 16-way digits with a short sorted run in front:
//
//   - near holds the earliest events, the next one last. A new event below
//     nearEnd is inserted there, by comparison.
//   - All others lie in bucket[16*l+d], where l is the highest hexadecimal
//     digit in which the key differs from base, and d is the key's digit there.
//     Buckets are therefore ordered by index, and appending keeps equal keys in
//     order of insertion without a sequence number.
//
// When near is empty the first bucket refills it; one of more than a chunk is
// not sorted but scattered over the buckets of lower digits first, with base
// moved up to the start of its block. An event is moved at most once per digit,
// and a few times in practice.
//
// Invariants: every key in near is below nearEnd, save in a run of equal keys
// (below); every key in a bucket is >= nearEnd and >= base; base is not later
// than the clock whenever an event can be pushed. In a run of equal keys base
// == nearEnd == the key of all that is in near: the rest of that key waits in
// its bucket, and so do new events of that key.
type pending struct {
	near     [nearCap]event
	n        int // length of near
	nearEnd  uint64
	base     uint64
	occupied [4]uint64 // bit i: bucket i is not empty
	bucket   [256]bucket

	free  *chunk // spare chunks
	nFree int
	nUsed int
}

// A bucket is a first-in first-out list of chunks; all but the last hold
// chunk.n events, the last holds chunkLen-room.
type bucket struct {
	head, tail *chunk
	room       int
}

type chunk struct {
	next *chunk
	n    int
	ev   [chunkLen]event
}

// push adds an event. floor is the lowest key that can still be pushed.
func (q *pending) push(ev event, floor uint64) {
	if ev.key >= q.nearEnd {
		q.put(ev)
		return
	}
	n := q.n
	if n == nearCap || q.base == q.nearEnd {
		q.pushSlow(ev, floor)
		return
	}
	q.n = n + 1
	if n <= shortRun {
		// Where a new event belongs can't be predicted. Each event moves up by
		// whether it comes before the new one, without a branch.
		at := uint64(0)
		for i := uint64(n); i > 0; i-- {
			x := q.near[(i-1)&(nearCap-1)]
			_, after := bits.Sub64(ev.key, x.key, 0)
			q.near[(i-after)&(nearCap-1)] = x
			at += after
		}
		q.near[at&(nearCap-1)] = ev
		return
	}
	for n > 0 && q.near[(n-1)&(nearCap-1)].key <= ev.key {
		q.near[n&(nearCap-1)] = q.near[(n-1)&(nearCap-1)]
		n--
	}
	q.near[n&(nearCap-1)] = ev
}

func (q *pending) pushSlow(ev event, floor uint64) {
	if q.base == q.nearEnd {
		q.leaveRun()
	}
	if q.n == nearCap {
		q.spill(floor)
	}
	q.push(ev, floor)
}

// leaveRun ends a run of equal keys because an event of a lower class, and by
// the invariant at the same instant, comes in between: what is left of the run
// goes back in front of its bucket.
func (q *pending) leaveRun() {
	i := q.base & 15
	q.base &^= 15
	if q.n == 0 {
		return
	}
	c := q.newChunk()
	c.n = q.n
	for j := range q.n {
		c.ev[j] = q.near[q.n-1-j]
	}
	q.n = 0
	b := &q.bucket[i]
	if b.head == nil {
		b.tail, b.room = c, chunkLen-c.n
		q.occupied[0] |= 1 << i
	}
	c.next, b.head = b.head, c
}

// spill moves the later half of near to the buckets, equal keys together.
func (q *pending) spill(floor uint64) {
	if q.occupied == [4]uint64{} {
		q.base = floor
	}
	m := q.n / 2
	q.nearEnd = q.near[m-1].key
	for m < q.n && q.near[m].key == q.nearEnd {
		m++
	}
	for i := m - 1; i >= 0; i-- {
		q.put(q.near[i])
	}
	q.n = copy(q.near[:], q.near[m:q.n])
}

// put appends an event to its bucket.
func (q *pending) put(ev event) {
	shift := uint(bits.Len64((ev.key^q.base)|1)-1) &^ 3
	i := uint64(shift)<<2 | ev.key>>shift&15
	b := &q.bucket[i&255]
	if b.room == 0 {
		q.extend(b, i)
	}
	b.tail.ev[(chunkLen-b.room)&31] = ev
	b.room--
}

func (q *pending) extend(b *bucket, i uint64) {
	c := q.newChunk()
	if b.tail == nil {
		b.head = c
		q.occupied[i>>6&3] |= 1 << (i & 63)
	} else {
		b.tail.n = chunkLen
		b.tail.next = c
	}
	b.tail, b.room = c, chunkLen
}

// refill moves the earliest events into near, which is empty. Buckets that
// begin at stop or later stay as they are: otherwise base could pass the clock.
func (q *pending) refill(stop uint64) {
	for q.n == 0 {
		i := q.first()
		if i < 0 {
			q.nearEnd = keyMax
			return
		}
		shift := uint(i>>4) * 4
		start := (q.base>>shift&^15 | uint64(i&15)) << shift
		if start >= stop {
			return
		}
		b := &q.bucket[i]
		switch {
		case shift == 0:
			q.base, q.nearEnd = start, start
			q.loadRun(b, i)
		case b.head == b.tail:
			q.load(b, i)
			q.nearEnd = start + 1<<shift
			if q.first() < 0 { // the last block may end at 0
				q.nearEnd = keyMax
			}
		default:
			q.base = start
			q.scatter(q.take(i))
		}
	}
}

// first returns the index of the first bucket that is not empty, or -1.
func (q *pending) first() int {
	for w, x := range &q.occupied {
		if x != 0 {
			return w<<6 | bits.TrailingZeros64(x)
		}
	}
	return -1
}

// take empties bucket i and returns what it held.
func (q *pending) take(i int) bucket {
	b := q.bucket[i]
	q.bucket[i] = bucket{}
	q.occupied[i>>6] &^= 1 << (i & 63)
	return b
}

// load sorts the only chunk of bucket i into near, stably.
func (q *pending) load(b *bucket, i int) {
	c := b.head
	n := chunkLen - b.room
	for k := range n {
		ev := c.ev[k]
		j := k
		for j > 0 && q.near[(j-1)&(nearCap-1)].key <= ev.key {
			q.near[j&(nearCap-1)] = q.near[(j-1)&(nearCap-1)]
			j--
		}
		q.near[j&(nearCap-1)] = ev
	}
	q.n = n
	q.take(i)
	q.release(c)
}

// loadRun takes the first chunk of bucket i, whose keys are all equal.
func (q *pending) loadRun(b *bucket, i int) {
	c := b.head
	n := c.n
	if c == b.tail {
		n = chunkLen - b.room
		q.take(i)
	} else {
		b.head = c.next
	}
	for k, ev := range c.ev[:n] {
		q.near[n-1-k] = ev
	}
	q.n = n
	q.release(c)
}

// scatter puts the events of a list into the buckets of a new base.
func (q *pending) scatter(b bucket) {
	for c := b.head; c != nil; {
		n := c.n
		if c == b.tail {
			n = chunkLen - b.room
		}
		for _, ev := range c.ev[:n] {
			q.put(ev)
		}
		next := c.next
		q.release(c)
		c = next
	}
}

// filter drops the events for which drop is true and keeps the order.
func (q *pending) filter(drop func(event) bool) {
	n := 0
	for _, ev := range q.near[:q.n] {
		if !drop(ev) {
			q.near[n] = ev
			n++
		}
	}
	q.n = n
	for i := range q.bucket {
		if q.bucket[i].head == nil {
			continue
		}
		b := q.take(i)
		for c := b.head; c != nil; {
			n := c.n
			if c == b.tail {
				n = chunkLen - b.room
			}
			for _, ev := range c.ev[:n] {
				if !drop(ev) {
					q.put(ev)
				}
			}
			next := c.next
			q.release(c)
			c = next
		}
	}
}

func (q *pending) newChunk() *chunk {
	q.nUsed++
	c := q.free
	if c == nil {
		return new(chunk)
	}
	q.free, c.next = c.next, nil
	q.nFree--
	return c
}

// release keeps a chunk for reuse unless there are more spare ones than used
// ones: the memory of a peak goes back to the collector when it has drained.
func (q *pending) release(c *chunk) {
	q.nUsed--
	if q.nFree > q.nUsed+64 {
		return
	}
	c.next, q.free = q.free, c
	q.nFree++
}
