package claims

import (
	"strconv"

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
			{When: "appends are held up now and then", Scenario: "stalls", Tests: refusedStored},
			{When: "an append is held up for 1.2 s", Scenario: "long-stall", Tests: refusedStored},
			{When: "32 threads and the sweeper race on 2 cores", Scenario: "stalls", Replications: 40, Tests: refusedStored,
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
	}}
}

var (
	noHelp = []Test{{Measure{"sends refused, 32 threads over 1", Number, Over, rejected, 1, 0}, Want{">", 0.9}}}

	lostUnknown = []Test{{Measure{"messages not stored, and nobody knows", Percent, Share, fate(notStoredUnknown), 0, 0}, Want{">", hardly}}}

	refusedStored = []Test{{Measure{"refused sends that were stored", Percent, Share,
		func(o *Observed) (part, whole float64) { return float64(o.RejectedStored), float64(len(o.Rejected)) }, 0, 0}, Want{">", hardly}}}
)

func timeoutsOfShort(o *Observed) (part, whole float64) {
	if o.QueueMost > 9 {
		return 0, 0
	}
	return refused(model.TimeoutCleanQueue)(o)
}

func itoa(n int) string { return strconv.Itoa(n) }
