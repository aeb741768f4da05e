package model

// sendLoad marks a Waiting.ID of the send queue as a request of a load: an
// END_TRANSACTION, which up to 4.3.0 has no queue of its own. It counts in "size
// of queue", is swept with the sends at their limit and by PCBUSY, and takes a
// send thread; nothing gates it on arrival, and it is one-way (facts §1.4, §2.3,
// §5.1, §11). Its service stands for all it does, the put lock included.
const sendLoad = 1 << 39

// offerLoad hands it to the send executor.
func (b *broker) offerLoad(i int) {
	l := &b.loads[i]
	empty := b.queue.Len() == 0
	if !b.queue.Offer(Waiting{sendLoad | uint64(i), b.clock.Ms(b.eng.Now())}) {
		l.count.Overload++ // one-way, so nobody is told (facts §2.1)
		return
	}
	b.books.open++
	b.queueChanged()
	if !empty {
		return
	}
	if wake, w, ok := b.signal(); ok {
		b.eng.At(wake, evTake, b.id|uint64(w))
	}
}

// takeLoad is a send thread that has taken one.
func (b *broker) takeLoad(w uint32, id uint64) {
	b.enter(w, CauseBacklog)
	b.workers[w].load = uint32(id)
	b.eng.At(b.eng.Now()+b.loads[uint32(id)].service.draw(), evSendLoadDone, b.id|uint64(w))
}

// loadServed is the send thread when it is done with it.
func (b *broker) loadServed(w uint32) {
	i := b.workers[w].load
	b.loads[i].count.Served++
	b.fp.MixEvent(b.eng.Now(), evSendLoadDone, b.id|uint64(i))
	b.books.open--
	b.takeNext(w)
}
