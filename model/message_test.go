package model_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// told writes a course's attempts of one message as times in ms: sent>answered
// and the outcome, or a ! where the producer had given up by then.
func attemptsOf(c *course, message int64) string {
	var out []string
	for _, a := range c.rows {
		if a.Message != message {
			continue
		}
		outcome := a.Outcome.String()
		if a.ClientTimedOut {
			outcome += "!"
		}
		out = append(out, fmt.Sprintf("%.4g>%.4g %s", a.Send.Milliseconds(), max(a.Done, a.Clean, a.Arrive).Milliseconds(), outcome))
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return strings.Join(out, ", ")
}

func number(s string) (x float64) {
	fmt.Sscanf(s, "%g", &x)
	return x
}

// TestClients: one append holds the lock from 0 to 500 ms, or as long as said; a
// message is sent at 10 ms. Sweeps are at 3, 13, 23, ... ms. A client's release
// decides what becomes of it (facts §9.1, §9.3).
func TestClients(t *testing.T) {
	busy := func(p *model.Producer) {}
	impatient := func(p *model.Producer) { p.Timeout = 100 * ms }
	async := func(p *model.Producer) { p.Mode, p.Timeout = model.SendAsync, 100*ms }
	for _, c := range []struct {
		name, releases string
		edit           func(*model.Producer)
		waitMs         int64
		stall          sim.Time
		attempts       string
		fate           model.MessageCounts
	}{
		{"SYSTEM_BUSY is thrown", "4.0.0-incubating 4.2.0 4.3.0 4.9.4 5.2.0", busy, 200, 500 * ms, "10>213 TIMEOUT_CLEAN_QUEUE", model.MessageCounts{NotStoredKnown: 1}},
		{"SYSTEM_BUSY is retried", "5.3.0 5.3.3", busy, 200, 500 * ms, "10>213 TIMEOUT_CLEAN_QUEUE, 213>413 TIMEOUT_CLEAN_QUEUE, 413>500 OK", model.MessageCounts{StoredOnce: 1}},
		{"two retries are all", "5.3.0 5.3.3", busy, 200, 900 * ms, "10>213 TIMEOUT_CLEAN_QUEUE, 213>413 TIMEOUT_CLEAN_QUEUE, 413>613 TIMEOUT_CLEAN_QUEUE", model.MessageCounts{NotStoredKnown: 1}},
		{"the call's time is used up", "5.3.0", func(p *model.Producer) { p.Timeout = 300 * ms }, 200, 900 * ms, "10>213 TIMEOUT_CLEAN_QUEUE, 213>413 TIMEOUT_CLEAN_QUEUE!", model.MessageCounts{NotStoredUnknown: 1}},
		{"a timeout for each attempt", "4.0.0-incubating 4.2.0", impatient, 5000, 350 * ms, "10>350 OK!, 110>350 OK!, 210>350 OK!", model.MessageCounts{StoredMoreThanOnce: 1}},
		{"the last attempt is in time", "4.2.0", impatient, 5000, 250 * ms, "10>250 OK!, 110>250 OK!, 210>250 OK", model.MessageCounts{StoredMoreThanOnce: 1}},
		{"a timeout for the call", "4.3.0 4.9.4 5.3.3", impatient, 5000, 350 * ms, "10>350 OK!", model.MessageCounts{StoredThoughtFailed: 1}},
		{"errors are not retried asynchronously", "4.2.0 4.9.4 5.3.3", func(p *model.Producer) { p.Mode = model.SendAsync }, 200, 500 * ms, "10>213 TIMEOUT_CLEAN_QUEUE", model.MessageCounts{NotStoredKnown: 1}},
		{"late, but before the scan", "4.2.0 4.9.4 5.3.3", async, 5000, 900 * ms, "10>900 OK", model.MessageCounts{StoredOnce: 1}},
		{"asynchronous, no time left", "4.7.0 4.9.4 5.3.3", async, 9000, 4000 * ms, "10>4000 OK!", model.MessageCounts{StoredThoughtFailed: 1}},
		{"one-way", "4.2.0 5.3.3", func(p *model.Producer) { p.Mode = model.SendOneway }, 200, 500 * ms, "10>213 TIMEOUT_CLEAN_QUEUE", model.MessageCounts{NotStoredUnknown: 1}},
		{"to a chosen queue", "4.2.0 5.3.3", func(p *model.Producer) { p.Ordered = true }, 200, 500 * ms, "10>213 TIMEOUT_CLEAN_QUEUE", model.MessageCounts{NotStoredKnown: 1}},
		{"sent again by the application", "4.3.2", func(p *model.Producer) {
			p.Handler, p.Resends, p.Backoff = model.HandlerResend, 5, dist("100ms")
		}, 200, 500 * ms, "10>213 TIMEOUT_CLEAN_QUEUE, 313>500 OK", model.MessageCounts{StoredOnce: 1}},
		{"to another topic after a timeout", "4.3.2", func(p *model.Producer) {
			p.Handler, p.Resends, p.Backoff, p.Timeout = model.HandlerBak, 1, dist("50ms"), 100*ms
		}, 5000, 500 * ms, "10>500 OK!, 160>500 OK!", model.MessageCounts{StoredMoreThanOnce: 1}},
	} {
		for _, release := range strings.Fields(c.releases) {
			t.Run(c.name+" "+release, func(t *testing.T) {
				cfg := bare("4.3.2", sim.Second, at(0))
				cfg.Broker.WaitTimeMillsInSendQueue, cfg.Broker.OsPageCacheBusyTimeOutMills = c.waitMs, 9000
				cfg.Stalls = []model.Stall{window(model.StallAppend, 0, c.stall)}
				p := model.Producer{Arrivals: at(10 * ms), Body: size("1KiB"), Timeout: 3 * sim.Second, Release: release, RetryTimesWhenSendFailed: 2, RetryTimesWhenSendAsyncFailed: 2}
				c.edit(&p)
				cfg.Producers[0].Timeout = 0 // whose only message is in the stall
				cfg.Producers = append(cfg.Producers, p)
				run := follow(t, cfg)
				run.rows = slices.DeleteFunc(run.rows, func(a model.Attempt) bool { return a.Producer == 0 })
				if got := attemptsOf(run, 0); got != c.attempts {
					t.Errorf("attempts:\ngot  %s\nwant %s", got, c.attempts)
				}
				want := c.fate
				want.Offered, want.StoredOnce = 2, want.StoredOnce+1
				if got := run.result.Messages; got != want {
					t.Errorf("messages: got %+v, want %+v", got, want)
				}
			})
		}
	}
}

// TestAsyncRetry: up to client 4.6.1 an asynchronous send that timed out is sent
// again with timeout 0, so that each retry is given up at the scan a second or
// two later (facts §9.3).
func TestAsyncRetry(t *testing.T) {
	cfg := bare("4.3.2", sim.Second, at(0))
	cfg.Broker.WaitTimeMillsInSendQueue, cfg.Broker.OsPageCacheBusyTimeOutMills = 20_000, 20_000
	cfg.Stalls = []model.Stall{window(model.StallAppend, 0, 12*sim.Second)}
	cfg.Producers[0].Timeout = 0
	cfg.Producers = append(cfg.Producers, model.Producer{
		Arrivals: at(10 * ms), Timeout: 3 * sim.Second, Release: "4.6.1", Mode: model.SendAsync, RetryTimesWhenSendAsyncFailed: 2,
	})
	run := follow(t, cfg)
	var sent []sim.Time
	for _, a := range run.rows {
		if a.Producer == 1 {
			sent = append(sent, a.Send)
		}
	}
	if len(sent) != 3 {
		t.Fatalf("%d attempts, want 3", len(sent))
	}
	for i, most := range []sim.Time{5010 * ms, 2001 * ms} {
		least := most - sim.Second
		if gap := sent[i+1] - sent[i]; gap < least || gap > most {
			t.Errorf("retry %d comes %v after the attempt before, want %v to %v", i+1, gap, least, most)
		}
	}
	if want := (model.MessageCounts{Offered: 2, StoredOnce: 1, StoredMoreThanOnce: 1}); run.result.Messages != want {
		t.Errorf("messages: got %+v, want %+v", run.result.Messages, want)
	}
}

// TestClosedLoop: so many callers never have more in the system, and each thinks
// between answer and call.
func TestClosedLoop(t *testing.T) {
	cfg := bare("4.3.2", 5*sim.Second, arrivals("closed(n=7, think=3ms)"))
	cfg.Store.Append = dist("exponential(mean=1ms)")
	cfg.Stalls = []model.Stall{once(model.StallAppend, sim.Second, 300*ms)}
	run := follow(t, cfg)
	type change struct {
		at sim.Time
		by int
	}
	var changes []change
	for _, a := range run.rows {
		changes = append(changes, change{a.Send, 1}, change{a.Resp, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	if most != 7 {
		t.Errorf("up to %d in the system, want 7", most)
	}
	// 7 callers who call every 3.01 ms and what the broker takes, less the stall.
	if n := len(run.rows); n < 4000 || n > 5000 {
		t.Errorf("%d calls", n)
	}
}

// TestOrder: one queue and one send thread keep the order in which a producer
// sends; a message that is sent again comes behind those that didn't need it,
// unless that is to another topic.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*model.Config)
		want int64
	}{
		"in order":         {func(*model.Config) {}, 0},
		"sent again":       {func(c *model.Config) { c.Producers[0].Handler = model.HandlerResend }, 1},
		"to another topic": {func(c *model.Config) { c.Producers[0].Handler = model.HandlerBak }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := bare("4.3.2", sim.Second, at(0, 10*ms, 100*ms))
			cfg.Stalls = []model.Stall{window(model.StallAppend, 0, 250*ms)}
			cfg.Producers[0].Ordered = true
			cfg.Producers[0].Resends, cfg.Producers[0].Backoff = 1, dist("100ms")
			c.edit(&cfg)
			if got := follow(t, cfg).result.Inversions; got != c.want {
				t.Errorf("got %d inversions, want %d", got, c.want)
			}
		})
	}
}

// TestBatch: the messages of a batch share its fate; its records lie in the log
// one after the other.
func TestBatch(t *testing.T) {
	cfg := bare("4.3.2", sim.Second, at(0, 10*ms))
	cfg.Stalls = []model.Stall{window(model.StallAppend, 0, 250*ms)}
	cfg.Producers[0].Batch = 5
	r := follow(t, cfg).result
	if want := (model.MessageCounts{Offered: 10, StoredOnce: 5, NotStoredKnown: 5}); r.Messages != want || r.Attempts.Sent != 2 {
		t.Errorf("got %+v in %d attempts, want %+v in 2", r.Messages, r.Attempts.Sent, want)
	}
}
