package scenarios

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// What a [[producer]] leaves out: the defaults of DefaultMQProducer, and of a
// handler.
const (
	bodyDefault    = "constant(1KiB)"
	timeoutDefault = 3 * sim.Second // sendMsgTimeout
	retriesDefault = 2
	backoffDefault = "constant(1s)"
	resendsDefault = 3
)

func (d *decoder) producers(tables []producerTable, release string) []model.Producer {
	var out []model.Producer
	named := map[string]bool{}
	for i := range tables {
		t := &tables[i]
		if t.node == nil {
			continue
		}
		p := model.Producer{Name: t.Name, Arrivals: t.Arrivals.v, Release: release, Timeout: t.Timeout.or(timeoutDefault)}
		if p.Name == "" {
			p.Name = fmt.Sprintf("producer-%d", i)
		}
		if named[p.Name] {
			d.atKey(t.node, "the name %q is taken by another producer", clip(p.Name))
		}
		named[p.Name] = true
		if n := t.node.child("release"); n != nil && t.Release != "" {
			p.Release = d.release(n, t.Release)
		}
		d.span(t.Timeout, 1, durationMost+1)
		p.Body = d.bodies(t)
		d.client(t, &p)
		d.handler(t, &p)
		out = append(out, p)
	}
	return out
}

// bodies is the distribution of a producer's body sizes.
func (d *decoder) bodies(t *producerTable) variate.Dist {
	n := t.node.child("bodies")
	if n == nil {
		if t.Body.node == nil {
			return variate.Must(variate.ParseDist(bodyDefault, variate.Bytes))
		}
		d.body(t.Body)
		return t.Body.v
	}
	if t.Body.node != nil {
		d.atKey(t.Body.node, `want either "body" or "bodies", got both`)
	}
	if !n.array || len(n.items) == 0 || len(t.Bodies) < len(n.items) { // as was said
		return nil
	}
	sum, shared, whole := 0.0, true, true // whether shares, and all, are well
	var parts []string
	for i := range t.Bodies {
		b := &t.Bodies[i]
		d.body(b.Body)
		if share := b.node.child("share"); share != nil && !(b.Share > 0 && b.Share <= 1) && !math.IsNaN(b.Share) {
			d.atValue(share, "want more than 0 and at most 1, got %s", strconv.FormatFloat(b.Share, 'g', -1, 64))
		}
		shared = shared && b.Share > 0 && b.Share <= 1
		whole = whole && shared && b.Body.v != nil
		sum += b.Share
		if whole {
			parts = append(parts, strconv.FormatFloat(b.Share, 'g', -1, 64)+"*"+b.Body.v.String())
		}
	}
	if shared && math.Abs(sum-1) > 1e-9 {
		d.atKey(n, "want shares that add up to 1, got %s", strconv.FormatFloat(sum, 'g', 10, 64))
		return nil
	}
	if !whole {
		return nil
	}
	mix, err := variate.ParseDist("mixture("+strings.Join(parts, ", ")+")", variate.Bytes)
	if err != nil {
		d.atKey(n, "%s", firstLine(err.Error()))
		return nil
	}
	return mix
}

// body checks the bounds of a body size.
func (d *decoder) body(x dist) {
	if x.v != nil && !(x.v.Mean() <= bodyMost) {
		d.atValue(x.node, "want a mean of at most %d bytes, got %g", bodyMost, x.v.Mean())
	}
}

// sendModes and handlers are what the keys mode and handler name.
var (
	sendModes = map[string]model.SendMode{"": model.SendSync, "sync": model.SendSync, "async": model.SendAsync, "oneway": model.SendOneway}
	handlers  = map[string]model.Handler{"": model.HandlerRethrow, "rethrow": model.HandlerRethrow, "resend": model.HandlerResend, "bak": model.HandlerBak}
)

// client is how a producer sends, and what it does by itself about an attempt
// that failed.
func (d *decoder) client(t *producerTable, p *model.Producer) {
	or := func(key string, v int64, def int) int {
		if t.node.child(key) == nil {
			return def
		}
		return int(v)
	}
	p.Mode = sendModes[t.Mode]
	p.RetryTimesWhenSendFailed = or("retryTimesWhenSendFailed", t.RetryTimesWhenSendFailed, retriesDefault)
	p.RetryTimesWhenSendAsyncFailed = or("retryTimesWhenSendAsyncFailed", t.RetryTimesWhenSendAsyncFailed, retriesDefault)
	p.RetryAnotherBrokerWhenNotStoreOK = t.RetryAnotherBrokerWhenNotStoreOK
	p.SendLatencyFaultEnable = t.SendLatencyFaultEnable
	p.Batch = int(t.Batch)
	p.NoWait = t.node.child("wait") != nil && !t.Wait
	p.Ordered = t.Ordered
	traits, err := model.TraitsOf(p.Release)
	if err != nil { // as was said
		return
	}
	for _, idle := range []struct {
		key string
		is  bool
		why string
	}{
		{"retryTimesWhenSendFailed", p.Mode != model.SendSync, "is of mode sync alone"},
		{"retryTimesWhenSendFailed", p.Mode == model.SendSync && p.Ordered, "does nothing with ordered: a send to a chosen queue is tried once"},
		{"retryTimesWhenSendAsyncFailed", p.Mode != model.SendAsync, "is of mode async alone"},
		{"retryTimesWhenSendAsyncFailed", p.Mode == model.SendAsync && !traits.AsyncRetryUntimed,
			"does nothing here: a client of release " + p.Release + " never retries errors, and has no time left after a timeout"},
		{"retryAnotherBrokerWhenNotStoreOK", p.Mode != model.SendSync, "is of mode sync alone"},
		{"timeout", p.Mode == model.SendOneway, "does nothing in mode oneway: there is no answer to wait for"},
	} {
		if n := t.node.child(idle.key); n != nil && idle.is {
			d.note(n, "%s", idle.why)
		}
	}
	if closed, ok := p.Arrivals.(variate.Closed); ok && p.Mode == model.SendOneway && !(closed.Think().Mean() >= 1e3) {
		d.inside(t.Arrivals.node, 0, "want callers who think for at least 1us in the mean: with mode oneway there is nothing else that they wait for")
	}
}

// handler is what the application does about a send that failed.
func (d *decoder) handler(t *producerTable, p *model.Producer) {
	p.Handler = handlers[t.Handler]
	if p.Handler == model.HandlerRethrow {
		for _, key := range []string{"backoff", "resends"} {
			if n := t.node.child(key); n != nil {
				d.atKey(n, `goes with handler = "resend" or "bak"`)
			}
		}
		return
	}
	if p.Mode == model.SendOneway {
		d.atValue(t.node.child("handler"), `want none with mode = "oneway": such a send fails unseen`)
	}
	p.Backoff = d.within(t.Backoff, durationMost).v
	if t.Backoff.node == nil {
		p.Backoff = variate.Must(variate.ParseDist(backoffDefault, variate.Duration))
	}
	p.Resends = int(t.Resends)
	if t.node.child("resends") == nil {
		p.Resends = resendsDefault
	}
	if p.Backoff != nil && !(float64(p.Resends)*p.Backoff.Mean() <= float64(durationMost)) {
		d.atKey(cmp.Or(t.Backoff.node, t.node), "want resends times backoff of at most %s, got %d times %s", plain(durationMost), p.Resends, spell(p.Backoff.Mean()))
	}
}

// onRoute checks what names one of the route's brokers, or needs several.
func (d *decoder) onRoute(c *model.Config, doc *document) {
	brokers := max(1, doc.Route.Brokers)
	is := func(table *node, broker int64) {
		if table == nil {
			return
		}
		if n := table.child("broker"); n != nil && broker >= brokers {
			d.atValue(n, "want less than route.brokers = %d: numbers count from 0, got %d", brokers, broker)
		}
	}
	for i := range doc.Stall {
		is(doc.Stall[i].node, doc.Stall[i].Broker)
	}
	for i := range doc.Neighbour {
		is(doc.Neighbour[i].node, doc.Neighbour[i].Broker)
	}
	for i := range doc.Delete {
		is(doc.Delete[i].node, doc.Delete[i].Broker)
	}
	callers := 0
	for i := range doc.Producer {
		t := &doc.Producer[i]
		if closed, ok := t.Arrivals.v.(variate.Closed); ok {
			callers += closed.Callers()
			if callers > callersMost && callers-closed.Callers() <= callersMost {
				d.inside(t.Arrivals.node, 0, "want at most %d callers of all closed workloads, got %d", callersMost, callers)
			}
		}
		if t.node != nil && t.SendLatencyFaultEnable && brokers == 1 {
			d.note(t.node.child("sendLatencyFaultEnable"), "does nothing with route.brokers = 1: there is no other to choose")
		}
	}
}

// callersMost bounds the callers of all closed workloads.
const callersMost = 1_000_000
