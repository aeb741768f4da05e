package scenarios

import (
	"math"
	"slices"
	"sort"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// The limits of a run as a whole.
const (
	eventsMost = 1e9     // arrivals, all producers and loads together
	memoryMost = 1 << 30 // bytes that requests in the system take at one time
	// What one takes: its record, its events, and the room that rings have
	// which double. Records are kept in order from the oldest request that has
	// no answer, so that one answered early takes room until then.
	memoryEach = 512
	tail       = 0.999 // the quantile of times without a bound that is reckoned with
)

// extent refuses a run that would not end or not fit, and warns of one whose
// sends no codec thread could decode.
func (d *decoder) extent(c *model.Config, root *node) {
	n := root.child("duration")
	if n == nil || c.Duration <= 0 {
		return
	}
	sends := 0.0
	for i := range c.Producers {
		sends += sending(c, &c.Producers[i])
	}
	queued := math.Min(sends, float64(c.Broker.SendThreadPoolQueueCapacity))
	all := sends
	for _, l := range c.Loads {
		requests := arriving(l.Arrivals, c.Duration)
		all += requests
		queued += math.Min(requests, float64(capacity(&c.Broker, l.Queue)))
		all += pulling(c, &l, sends)
	}
	if !(all <= eventsMost) {
		d.atValue(n, "want at most 1e9 arrivals in a run, got about %.3g in %s", all, plain(c.Duration))
	}
	if queued*memoryEach > memoryMost {
		at := root.child("broker")
		if at == nil {
			at = n
		}
		d.atKey(at, "want queues of at most %d bytes, got up to %.4g: %d for each of %.4g waiting requests",
			memoryMost, queued*memoryEach, memoryEach, queued)
	}
	d.held(c, root.child("producer"), sends)
}

// held bounds the sends in the system: what comes faster than its connection's
// codec thread decodes, which grows for as long as it does, and what comes
// while the oldest send is on its way.
func (d *decoder) held(c *model.Config, at *node, sends float64) {
	stay := staying(c, sends)
	came, undecoded := 0.0, 0.0
	var producers []*node
	if at != nil {
		producers = at.items
	}
	for i, p := range c.Producers {
		if p.Arrivals == nil {
			continue
		}
		came += most(p.Arrivals, stay, c.Duration) * float64(1+retried(&p))
		if c.Costs.Decode == nil || !(c.Costs.Decode.Mean() > 0) {
			continue
		}
		decoded := 1e9 / c.Costs.Decode.Mean()
		behind := backlog(p.Arrivals, decoded, c.Duration)
		undecoded += behind
		if rate := peak(p.Arrivals); behind >= 1 && i < len(producers) {
			d.note(producers[i].child("arrivals"), "up to %.3g sends/s, of which the codec thread of one connection decodes %.3g/s (costs.decode): about %.3g are behind at worst; more connections are more producers",
				rate, decoded, behind)
		}
	}
	if held := math.Min(came+undecoded, sends); held*memoryEach > memoryMost && at != nil {
		d.atKey(at, "want at most %d bytes of sends in the system at one time, got about %.3g: %d for each of %.3g, as up to %.3g are not decoded yet and %.3g come in the %s that one may stay",
			memoryMost, held*memoryEach, memoryEach, held, math.Min(undecoded, sends), math.Min(came, sends), plain(stay-stay%sim.Millisecond))
	}
}

// staying is about how long the send that stays longest does: behind a full
// queue, or until the sweep takes it out of there, then behind all threads at
// the put lock, and behind the longest stall.
func staying(c *model.Config, sends float64) sim.Time {
	quantile := func(x variate.Dist) float64 {
		if x == nil {
			return 0
		}
		return x.Quantile(tail)
	}
	locked := float64(c.Store.Delay)
	if c.Store.Append != nil {
		locked += c.Store.Append.Mean()
	}
	own := quantile(c.Costs.Process) + quantile(c.Costs.Finish) + afterPutStay(c, quantile)
	threads := float64(c.Broker.SendMessageThreadPoolNums)
	waiting := math.Min(sends, float64(c.Broker.SendThreadPoolQueueCapacity)) * math.Max(locked, (own+locked)/threads)
	if c.Broker.BrokerFastFailureEnable {
		waiting = math.Min(waiting, float64(sim.Time(c.Broker.WaitTimeMillsInSendQueue)*sim.Millisecond+10*sim.Millisecond))
	}
	stalled := 0.0
	for _, s := range c.Stalls {
		switch {
		case s.For != nil:
			stalled = math.Max(stalled, quantile(s.For))
		case s.Until > s.At:
			stalled = math.Max(stalled, float64(s.Until-s.At))
		}
	}
	ns := float64(2*quantile(c.Costs.Network)) + waiting + own + float64(math.Min(threads, sends)*locked) + stalled
	return sim.Time(math.Min(ns, float64(durationMost)))
}

// sending is about how many attempts a producer makes at most.
func sending(c *model.Config, p *model.Producer) float64 {
	n := arriving(p.Arrivals, c.Duration)
	if closed, ok := p.Arrivals.(variate.Closed); ok && c.Costs.Network != nil {
		call := closed.Think().Mean() + 2*c.Costs.Network.Mean() + turnMost
		n = float64(closed.Callers()) * (1 + float64(c.Duration)/call)
	}
	return n * float64(1+retried(p)) * float64(1+p.Resends)
}

// retried is how often a producer's client tries again after an answer or a
// timeout that is to be reckoned with.
func retried(p *model.Producer) int {
	traits, err := model.TraitsOf(p.Release)
	switch {
	case err != nil || p.Mode == model.SendOneway:
		return 0
	case p.Mode == model.SendAsync && traits.AsyncRetryUntimed:
		return p.RetryTimesWhenSendAsyncFailed
	case p.Mode == model.SendSync && (traits.SystemBusyRetried || traits.TimeoutPerAttempt):
		return p.RetryTimesWhenSendFailed
	}
	return 0
}

// pulling is about how many pulls the consumers of a load make at most: each one
// for a message, and one at a time.
func pulling(c *model.Config, l *model.Load, sends float64) float64 {
	if l.Consumers == 0 || l.Service == nil {
		return 0
	}
	round := l.Service.Mean()
	if c.Costs.Network != nil {
		round += 2 * c.Costs.Network.Mean()
	}
	return float64(l.Consumers) * math.Min(sends, float64(c.Duration)/round)
}

// turnMost is what a client takes at least, in ns, before it calls again.
const turnMost = 1e4

// afterPutStay is what a send waits for flush and replica: without a slave,
// until it times out.
func afterPutStay(c *model.Config, quantile func(variate.Dist) float64) (stay float64) {
	if c.Broker.FlushDiskType == model.SyncFlush {
		stay = 2 * quantile(c.Store.Flush)
	}
	if c.Broker.BrokerRole == model.SyncMaster {
		stay += 2*quantile(c.Replica.Network) + quantile(c.Replica.Append)
		if c.Replica.Slaves < c.Broker.InSyncReplicas-1 {
			stay += float64(sim.Time(c.Broker.SlaveTimeout) * sim.Millisecond)
		}
	}
	return stay
}

// arriving is about how many arrive before an instant.
func arriving(a variate.Arrivals, in sim.Time) float64 {
	switch a := a.(type) {
	case nil:
		return 0
	case variate.Deterministic:
		return max(0, a.Rate()*(in-a.Phase()).Seconds())
	case variate.Trace:
		return float64(before(a.Instants(), in))
	case variate.Closed: // calls that take a millisecond
		return float64(a.Callers()) * (1 + float64(in)/(a.Think().Mean()+1e6))
	case variate.Piecewise:
		n := 0.0
		each(a.Segments(), in, func(rate float64, lasts sim.Time) { n += float64(rate * lasts.Seconds()) })
		return n
	default:
		return a.Rate() * in.Seconds()
	}
}

// before counts the instants before one.
func before(at []sim.Time, in sim.Time) int {
	n, _ := slices.BinarySearch(at, in)
	return n
}

// each gives the segments before an instant, with how long each lasts.
func each(segments []variate.Segment, in sim.Time, of func(rate float64, lasts sim.Time)) {
	for i, g := range segments {
		end := in
		if i+1 < len(segments) {
			end = min(in, segments[i+1].From)
		}
		if end > g.From {
			of(g.PerSecond, end-g.From)
		}
	}
}

// peak is the highest rate of arrivals per second.
func peak(a variate.Arrivals) float64 {
	highest := a.Rate()
	switch a := a.(type) {
	case variate.Piecewise:
		for _, g := range a.Segments() {
			highest = max(highest, g.PerSecond)
		}
	case variate.MMPP:
		for _, s := range a.States() {
			highest = max(highest, s.PerSecond)
		}
	}
	return highest
}

// most is about how many arrive at most in any stretch of that length.
func most(a variate.Arrivals, stretch, in sim.Time) float64 {
	if trace, ok := a.(variate.Trace); ok {
		at := trace.Instants()
		at = at[:before(at, in)]
		n, from := 0, 0
		for i := range at {
			for at[i]-at[from] > stretch {
				from++
			}
			n = max(n, i-from+1)
		}
		return float64(n)
	}
	if closed, ok := a.(variate.Closed); ok {
		return float64(closed.Callers())
	}
	n := peak(a) * min(stretch, in).Seconds()
	if _, ok := a.(variate.MMPP); !ok {
		n = min(n, arriving(a, in))
	}
	return n
}

// backlog is about how many arrivals are behind at most, of which so many in a
// second are dealt with.
func backlog(a variate.Arrivals, decoded float64, in sim.Time) float64 {
	behind, highest := 0.0, 0.0
	grow := func(rate float64, lasts sim.Time) {
		behind = max(0, behind+float64((rate-decoded)*lasts.Seconds()))
		highest = max(highest, behind)
	}
	switch a := a.(type) {
	case variate.Piecewise:
		each(a.Segments(), in, grow)
	case variate.MMPP:
		for _, s := range a.States() { // a state may last several times its mean
			behind = 0
			grow(s.PerSecond, min(in, 8*s.Mean))
		}
		behind = 0
		grow(a.Rate(), in)
	case variate.Trace:
		last := sim.Time(0)
		for _, at := range a.Instants()[:before(a.Instants(), in)] {
			behind = 1 + max(0, behind-float64(decoded*(at-last).Seconds()))
			highest, last = max(highest, behind), at
		}
		if highest <= 1000 { // at one instant, or nearly
			return 0
		}
	case variate.Closed: // the next ones wait for those before
		return 0
	default:
		grow(a.Rate(), in)
	}
	return highest
}

// capacity is that of the queue of a [[load]].
func capacity(s *model.Settings, queue string) int64 {
	return map[string]int64{
		"pull":           s.PullThreadPoolQueueCapacity,
		"litePull":       s.LitePullThreadPoolQueueCapacity,
		"heartbeat":      s.HeartbeatThreadPoolQueueCapacity,
		"endTransaction": s.EndTransactionPoolQueueCapacity,
		"ack":            s.AckThreadPoolQueueCapacity,
		"adminBroker":    s.AdminBrokerThreadPoolQueueCapacity,
	}[queue]
}

// oversized warns of bodies that the broker's maxMessageSize refuses.
func (d *decoder) oversized(c *model.Config, tables []producerTable) {
	traits, err := model.TraitsOf(c.Broker.Release)
	if err != nil || len(c.Producers) != len(tables) {
		return
	}
	limit := c.Broker.MaxMessageSize
	largest := sort.Search(int(limit)+1, func(body int) bool { return traits.Illegal(int64(body), limit) }) - 1
	for i, p := range c.Producers {
		if p.Body == nil {
			continue
		}
		share := 1 - p.Body.CDF(float64(largest)+0.5)
		if share*arriving(p.Arrivals, c.Duration) < 1e-3 {
			continue
		}
		at := tables[i].node
		for _, key := range []string{"body", "bodies"} {
			if n := at.child(key); n != nil {
				at = n
			}
		}
		counts := "the whole record counts"
		if traits.LimitsBodyOnly {
			counts = "the body counts"
		}
		d.note(at, "%.3g %% of the messages are over broker.maxMessageSize = %d, which %s answers with MESSAGE_ILLEGAL: %s, so that a body may have %d bytes",
			100*share, limit, c.Broker.Release, counts, max(0, largest))
	}
}

// idle warns of arrivals of which no run, or hardly one, has any that count.
func (d *decoder) idle(c *model.Config, doc *document) {
	if c.Duration <= 0 {
		return
	}
	for i := range doc.Producer {
		d.idleArrivals(c, doc.Producer[i].Arrivals)
	}
	for i := range doc.Load {
		d.idleArrivals(c, doc.Load[i].Arrivals)
	}
}

func (d *decoder) idleArrivals(c *model.Config, a arrivals) {
	if a.v == nil || a.node == nil {
		return
	}
	first := sim.Time(0)
	switch v := a.v.(type) {
	case variate.Deterministic:
		first = v.Phase()
	case variate.Trace:
		at := v.Instants()
		first = at[0]
		if in := before(at, c.Duration); in > 0 && in < len(at) {
			d.note(a.node, "%d of %d arrivals come after the end of arrivals at %s", len(at)-in, len(at), plain(c.Duration))
		}
	case variate.Piecewise:
		for _, g := range v.Segments() {
			if first = g.From; g.PerSecond > 0 {
				break
			}
		}
	}
	n := arriving(a.v, c.Duration)
	switch counted := n - arriving(a.v, c.Warmup); {
	case first >= c.Duration:
		d.note(a.node, "none arrives: the first would at %s, after the end of arrivals at %s", plain(first), plain(c.Duration))
	case n < 1 && first == 0:
		d.note(a.node, "about %.3g arrivals are to be expected in %s: a run may have none", n, plain(c.Duration))
	case counted <= 0 && c.Warmup < c.Duration:
		d.note(a.node, "all arrive before warmup = %s: none is counted", plain(c.Warmup))
	}
}
