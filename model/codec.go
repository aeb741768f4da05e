package model

import "brokersim/sim"

// codecThreads are the NettyServerCodecThreads of one port, which decode, ask
// rejectRequest and hand to the executors. A connection is pinned to one of
// them, which takes its requests one after the other, and those of every other
// connection that it has (facts §2.2).
const codecThreads = 8

// codecs is when each thread is through with what it has; of the two ports,
// which share the send queue, the main one's first.
type codecs [2 * codecThreads]sim.Time

// codecOf is the thread that has the connection of producer i, in the order in
// which connections come: netty hands them out in turn.
func (c *Config) codecOf(i int) int {
	thread := i % codecThreads
	if client, err := TraitsOf(c.Producers[i].release(c)); err == nil && client.VIPChannel {
		thread += codecThreads
	}
	return thread
}

// reserve is when the thread begins with a request that is there now, and, if
// that is later, when it will be through with it.
func (b *broker) reserve(thread int, now sim.Time) (begins, through sim.Time) {
	if b.codec[thread] <= now {
		return now, 0
	}
	return b.queuesUp(thread)
}

func (b *broker) queuesUp(thread int) (begins, through sim.Time) {
	begins = b.codec[thread]
	b.codec[thread] += b.decode.draw()
	return begins, b.codec[thread]
}

// decodes is when the thread, which has begun with a request now, is through
// with it. Of a recording the arrivals are when the thread took each.
func (b *broker) decodes(p *producer, l *link, through sim.Time) sim.Time {
	switch {
	case b.cfg.Recorded:
		l.offered = max(l.offered, b.eng.Now()+b.decode.draw())
		return l.offered
	case through == 0:
		b.codec[p.codec] = b.eng.Now() + b.decode.draw()
		return b.codec[p.codec]
	default:
		return max(through, b.eng.Now()) // it may have stood still meanwhile
	}
}
