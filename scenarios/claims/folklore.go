package claims

import (
	"brokersim/model"
	"brokersim/sim"
)

// folklore are claims that are made wherever somebody asks.
func folklore() []Claim {
	return []Claim{{
		ID:      "threads",
		Says:    "More send threads never help.",
		Release: fourThreeTwo, Facts: "§5.1, §6.1, §15.1",
		Why: "They don't make the locked append faster: of what is too much hardly less is refused. But each thread that waits at the lock has taken a send out of the queue, where no sweep sees it.",
		Cases: []Case{
			{When: "more messages come than can be stored", Scenario: "overload", Replications: 10, Tests: noHelp,
				Variants: []Variant{{"1 thread", nil}, {"32 threads", []string{"broker.sendMessageThreadPoolNums=32"}}}},
			{When: "appends are held up now and then", Scenario: "stalls", Tests: noHelp,
				Variants: []Variant{{"1 thread", []string{"machine.cores=64"}}, {"32 threads", []string{"machine.cores=64", "broker.sendMessageThreadPoolNums=32"}}}},
			{When: "the flush is synchronous and the release is 4.3.2 (up to 4.6.1)", Scenario: "sync-flush", Replications: 5, Tests: noHelp, Variants: threads("1 thread", "32 threads")},
		},
	}, {
		ID:      "raise-limit",
		Says:    "Raising the wait limit cures it.",
		Release: fourThreeTwo, Facts: "§9, §15.1",
		Why: "A longer limit outlasts a longer stall. It stores nothing faster: what comes in excess is rejected later instead, and from the producers' own timeout on they fail before the broker answers.",
		Cases: []Case{
			{When: "each stall is shorter than the new limit of 1000 ms", Scenario: "long-stall", Variants: raised("600ms", 200, 1000), Tests: cured},
			{When: "more messages come than can be stored", Scenario: "overload", Replications: 10, Tests: cured,
				Variants: []Variant{{"200 ms", nil}, {"1000 ms", []string{"broker.waitTimeMillsInSendQueue=1000"}}}},
			{When: "a stall outlasts the producers' timeout of 3 s", Scenario: "long-stall", Tests: cured,
				Variants: raised("4s", 200, 3000, "broker.osPageCacheBusyTimeOutMills=5000")},
		},
	}, {
		ID:      "busy-loses",
		Says:    "A message that was answered busy may be lost without its producer knowing.",
		Release: fourThreeTwo, Facts: "§1.5, §9.1",
		Why: "A send that was answered busy is not stored, and the answer says so. Only an answer that comes after the producer has given up tells nobody.",
		Cases: []Case{
			{When: "the limits are 200 and 1000 ms", Scenario: "long-stall", Tests: lostUnknown},
			{When: "the limits are 3000 and 5000 ms and a stall lasts 4 s", Scenario: "long-stall", Tests: lostUnknown,
				Variants: raised("4s", 200, 3000, "broker.osPageCacheBusyTimeOutMills=5000")[1:]},
		},
	}, {
		ID:      "busy-duplicates",
		Says:    "A send that was answered busy may be stored all the same, so that sending it again stores it twice.",
		Release: fourThreeTwo, Facts: "§1.5, §13 B14",
		Why: "Who answers busy has the request alone: the sweep has taken it from the queue, and no thread will get it.",
		Cases: []Case{
			{When: "appends are held up now and then", Scenario: "stalls", Replications: 40, Tests: refusedStored},
			{When: "an append is held up for 1.2 s", Scenario: "long-stall", Replications: 40, Tests: refusedStored},
			{When: "32 threads and the sweeper race on 2 cores", Scenario: "stalls", Replications: 60, Tests: refusedStored,
				Variants: []Variant{{"32 threads", []string{"broker.sendMessageThreadPoolNums=32"}}}},
		},
	}, {
		ID:      "at-most-210",
		Says:    "A producer waits at most 210 ms for the answer that the broker is busy.",
		Release: EveryRelease, Facts: "§1.1, §1.6, §15.2",
		Why:   "The period begins when the request is put into the queue; the way there and a sweeper that is late come on top.",
		Cases: within210(ofTimeouts(fromSojourn(215*sim.Millisecond)), "TIMEOUT answers that took 215 ms and more from call to answer"),
	}, {
		ID:      "queue-of-9",
		Says:    "With only 9 sends waiting in the queue none can time out.",
		Release: fourThreeTwo, Facts: "§1.3, §15.2",
		Why: "The sweep looks at the age of the head, not at the length of the queue.",
		Cases: []Case{{When: "9 at most were waiting", Scenario: "incident", Replications: 400,
			Tests: []Test{{Measure{"sends that timed out, of runs in which at most 9 ever waited", Percent, Share, timeoutsOfShort, 0, 0}, Want{"<", hardly}}}}},
	}, {
		ID:      "retries",
		Says:    "Retries make it worse.",
		Release: fourThreeTwo, Facts: "§9.1, §13 B23",
		Why: "A message that is sent again once the stall is over, or to another broker, is stored. Where the broker has no time to spare, or sends time out that are stored all the same, each attempt more is load without a message.",
		Cases: []Case{
			{When: "an append is held up for 1.2 s and the application sends again after 1 s", Scenario: "long-stall", Tests: worse, Variants: against(resend("1s"))},
			{When: "one of two brokers is held up and the client (5.3.0) tries the other", Scenario: "long-stall", Tests: worse, Told: []Measure{attemptsMore},
				Variants: []Variant{
					{"client 5.3.0, no retries", []string{"route.brokers=2", "producer.0.release=5.3.0", "producer.0.retryTimesWhenSendFailed=0"}},
					{"client 5.3.0, 2 retries", []string{"route.brokers=2", "producer.0.release=5.3.0"}},
				}},
			{When: "more messages come than can be stored and the application sends again after 1 s", Scenario: "overload", Replications: 5, Tests: worse, Told: []Measure{attemptsMore},
				Variants: []Variant{{"not sent again", []string{"duration=200s"}}, {"sent again", []string{"duration=200s", "producer.0.handler=resend", "producer.0.resends=3"}}}},
			{When: "limits are high, a stall outlasts the producers' timeout, and they send again after 100 ms", Scenario: "metastable", Replications: 5, Tests: worse, Told: []Measure{attemptsMore}, Variants: against(resend("100ms"))},
		},
	}, {
		ID:      "metastable",
		Says:    "Once the cause is gone, the trouble is soon over.",
		Release: fourThreeTwo, Facts: "§9.1, §15.1",
		Why: "The queue that a stall leaves drains by what the broker can store more than comes. Sends that wait longer than their producers' timeout are sent again and stored twice: if that is more than the broker has to spare, the queue stays full without a cause.",
		Cases: []Case{
			{When: "nothing is sent again", Scenario: "metastable", Replications: 10, Tests: recovers, Told: []Measure{known}},
			{When: "what failed is sent again after 100 ms, and the limits are 20 s", Scenario: "metastable", Replications: 10, Tests: recovers, Told: []Measure{known, twice},
				Variants: []Variant{{"sent again", resend("100ms")}}},
			{When: "what failed is sent again after 100 ms, and the limits are 200 and 1000 ms", Scenario: "metastable", Replications: 10, Tests: recovers, Told: []Measure{known, twice},
				Variants: []Variant{{"sent again, limits as by default", append(resend("100ms"), "broker.waitTimeMillsInSendQueue=200", "broker.osPageCacheBusyTimeOutMills=1000")}}},
		},
	}}
}

var (
	noHelp = []Test{{Measure{"sends refused, 32 threads over 1", Number, Over, rejected, 1, 0}, Want{">", 0.9}}}

	lostUnknown = []Test{{Measure{"messages not stored, and nobody knows", Percent, Share, fate(notStoredUnknown), 0, 0}, Want{">", hardly}}}

	refusedStored = []Test{{Measure{"refused sends that were stored", Percent, Share,
		func(o *Observed) (part, whole float64) { return float64(o.RejectedStored), float64(len(o.Rejected)) }, 0, 0}, Want{">", hardly}}}
)

// against are the case's scenario as it is and with these overrides.
func against(sets []string) []Variant {
	return []Variant{{"not sent again", nil}, {"sent again", sets}}
}

var (
	worse = []Test{{Measure{"messages that are not stored once and known to be, with retries less without", Points, Minus, notWell, 1, 0}, Want{">", hardly}}}

	recovers = []Test{{Measure{"from the stall's end until no more sends wait than when it began, or no more messages come", Seconds, Mean, recovery, 0, 0}, Want{"<", 30}}}

	known        = Measure{"messages that are not stored once and known to be", Percent, Share, notWell, 0, 0}
	twice        = Measure{"messages stored more than once", Percent, Share, fate(storedTwice), 0, 0}
	attemptsMore = Measure{"attempts, with retries over without", Number, Over, func(o *Observed) (part, whole float64) { return float64(o.Attempts.Sent), 1 }, 1, 0}
)

func notWell(o *Observed) (part, whole float64) {
	return float64(o.Messages.Offered - o.Messages.StoredOnce), float64(o.Messages.Offered)
}

// recovery is how long it takes after a stall until no more wait than when it
// began; what has not recovered when the last message has come counts until then.
func recovery(o *Observed) (part, whole float64) {
	for _, d := range o.Recovery {
		part += d.Seconds()
	}
	if n := len(o.Stalls); n > 0 && o.Unrecovered > 0 {
		part += (o.Config.Duration - o.Stalls[n-1].To).Seconds()
	}
	return part, float64(len(o.Recovery)) + float64(o.Unrecovered)
}

func timeoutsOfShort(o *Observed) (part, whole float64) {
	if o.QueueMost > 9 {
		return 0, 0
	}
	return refused(model.TimeoutCleanQueue)(o)
}
