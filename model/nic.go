package model

import "brokersim/sim"

// nic is a broker's network interface: a link in and a link out, each of which
// sends one frame after the other. What passes in waits before the codec
// threads, so that neither "period in queue" nor the size of a queue knows of
// it (facts §1.6); what passes out is answers and what consumers pull.
type nic struct{ in, out wire }

// wire is one direction. Without a rate it takes no time.
type wire struct {
	perByte float64  // ns
	free    sim.Time // when it has sent what it was given
}

// Bytes on the wire of what isn't a message's body.
const (
	requestHeader = 300  // of a SEND_MESSAGE_V2 request: lengths, header, topic and properties
	answerBytes   = 200  // of its answer
	segmentBytes  = 1448 // what one Ethernet frame takes of a TCP stream with timestamps
	frameBytes    = 90   // and what it takes beside: preamble, gap, Ethernet, IP and TCP headers
)

func newNIC(bytesPerSecond float64) nic {
	if bytesPerSecond == 0 {
		return nic{}
	}
	w := wire{perByte: 1e9 / bytesPerSecond}
	return nic{w, w}
}

func (n *nic) there() bool { return n.in.perByte > 0 }

// pass is when the last of so many bytes, which are there now, has passed.
func (w *wire) pass(now sim.Time, bytes int64) sim.Time {
	if w.perByte == 0 {
		return now
	}
	frames := (bytes + segmentBytes - 1) / segmentBytes
	w.free = max(now, w.free) + sim.Time(float64(bytes+frames*frameBytes)*w.perByte)
	return w.free
}

// wireArrive is the next send of a plain producer at the broker's interface.
func (b *broker) wireArrive(i int) {
	p := &b.producers[i]
	p.hasCore = false
	b.eng.At(b.nic.in.pass(b.eng.Now(), p.nextBody+requestHeader), evArrive, b.id|uint64(i))
}

// wireReach is an attempt there.
func (b *broker) wireReach(i uint32) {
	bytes := b.messages.all[b.flights.all[i].message].body + requestHeader
	b.eng.At(b.nic.in.pass(b.eng.Now(), bytes), evReach, b.id|uint64(i))
}
