package model

// NoTimestamp is the CreateMs of an entry that is no request: a response
// callback, which shares the send queue (facts §5.3).
const NoTimestamp = -1 << 63

// Foreign reports whether the entry is no RequestTask: the sweep stops at it,
// and a sweep for a busy page cache drops it (facts §1.3, §1.5).
func (w Waiting) Foreign() bool { return w.CreateMs == NoTimestamp }

// callbackPool is the putMessageFuture executor, which no sweep looks at.
type callbackPool struct {
	queue *Queue
	idle  int
}

// respond has the answer written by a callback on an executor: from 4.7.1 to
// 4.9.2 and for batches of 5.x the send executor, else one of its own. A full
// queue refuses the callback, and the answer is lost (facts §5.3).
func (b *broker) respond(a *attempt) {
	if b.traits.CallbackPool && !(b.traits.BatchCallbacksInSend && b.producers[a.Producer].spec.Batch > 1) {
		b.respondPooled(a)
		return
	}
	empty := b.queue.Len() == 0
	if !b.queue.Offer(Waiting{uint64(a.Seq), NoTimestamp}) {
		b.lose(a)
		return
	}
	b.queueChanged()
	if !empty {
		return
	}
	if wake, w, ok := b.signal(); ok {
		b.eng.At(wake, evTake, b.id|uint64(w))
	}
}

// callback is a send thread that runs one.
func (b *broker) callback(w uint32) {
	b.written(b.workers[w].seq)
	b.takeNext(w)
}

func (b *broker) respondPooled(a *attempt) {
	p := &b.put.callbacks
	switch {
	case p.idle > 0:
		p.idle--
		b.eng.At(b.wakes()+b.finish.draw(), evPooled, b.id|uint64(a.Seq))
	case !p.queue.Offer(Waiting{uint64(a.Seq), NoTimestamp}):
		b.lose(a)
	}
}

// pooled is a thread of the pool that has run a callback.
func (b *broker) pooled(seq int64) {
	b.written(seq)
	p := &b.put.callbacks
	if next, ok := p.queue.Poll(); ok {
		b.eng.At(b.eng.Now()+b.finish.draw(), evPooled, b.id|next.ID)
		return
	}
	p.idle++
}

// lose settles an attempt whose answer nobody writes any more: its producer
// waits until it times out. To a one-way send none would have been written.
func (b *broker) lose(a *attempt) {
	if b.producers[a.Producer].spec.Mode == SendOneway {
		b.written(a.Seq)
		return
	}
	b.answer(a, NoAnswer, Absent)
}
