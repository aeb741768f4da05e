package claims

import (
	"sort"

	"brokersim/model"
	"brokersim/sim"
)

// articleBPool are the claims of the second article about the transient pool.
func articleBPool() []Claim {
	return []Claim{{
		ID:      "B4",
		Says:    "With transientStorePoolEnable = true the busy errors do not occur.",
		Release: fourThreeTwo, Facts: "§2.3, §6.3, §7.5, §13 B4",
		Why: "Appends no longer meet the page cache's stalls. The wait for a new file is inside the lock as before, overload is overload, and a pool without a free buffer is a cause of REJECTREQUEST of its own.",
		Cases: []Case{
			{When: "a neighbour fills the page cache", Scenario: "neighbour", Replications: 5, Variants: pool(), Tests: noneBusy},
			{When: "more messages come than can be stored", Scenario: "overload", Replications: 5, Variants: pool(), Tests: noneBusy},
			{When: "an append waits for a new file", Scenario: "file-roll", Replications: 5, Variants: pool(), Tests: noneBusy},
			{When: "the pool has 2 buffers", Scenario: "steady", Replications: 5, Variants: pool("broker.transientStorePoolSize=2"), Tests: noneBusy},
		},
	}, {
		ID:      "B5",
		Says:    "With the pool a message can be read only when a commit has copied it to the page cache, 200 ms later at most.",
		Release: fourThreeTwo, Facts: "§7.4, §13 B5",
		Why: "Every put wakes the commit thread, which commits from 4 pages on, and whatever there is 200 ms after it last did so. A put that wakes it sooner has it wait anew: where puts are rare, up to twice as long.",
		Cases: []Case{
			{When: "400 messages come a second", Scenario: "steady", Replications: 5, Variants: pool()[1:], Tests: committedLate},
			{When: "5 messages come a second", Scenario: "steady", Replications: 5, Variants: pool("producer.0.arrivals=poisson(rate=5/s)")[1:], Tests: committedLate},
		},
	}, {
		ID:      "B6",
		Says:    "The pool can lose messages that were acknowledged.",
		Release: fourThreeTwo, Facts: "§7.4, §13 B6",
		Why: "What is in a buffer and not committed goes with the process. Without the pool it is in the page cache, which outlives the process.",
		Cases: []Case{
			{When: "the process is killed", Scenario: "steady", Replications: 5, Variants: pool("store.at_risk=true"), Tests: killLoses},
			{When: "the power fails", Scenario: "steady", Replications: 5, Variants: pool("store.at_risk=true"),
				Tests: []Test{{Measure{"acknowledged messages that a power cut loses, with the pool less without", Number, Minus, powerCut, 1, 0}, Want{">", 0.5}}},
				Told:  []Measure{{"without the pool", Number, Mean, powerCut, 0, 0}, {"with the pool", Number, Mean, powerCut, 1, 1}}},
		},
	}}
}

// folklorePool is what is said of the pool elsewhere.
func folklorePool() []Claim {
	settings := func(tests []Test) []Case {
		return []Case{
			{When: "a neighbour fills the page cache", Scenario: "neighbour", Variants: pool(), Tests: tests},
			{When: "nothing is the matter", Scenario: "steady", Replications: 5, Variants: pool(), Tests: tests},
			{When: "more messages come than can be stored", Scenario: "overload", Replications: 5, Variants: pool(), Tests: tests},
			{When: "an append waits for a new file", Scenario: "file-roll", Replications: 5, Variants: pool(), Tests: tests},
			{When: "the pool has 2 buffers", Scenario: "steady", Replications: 5, Variants: pool("broker.transientStorePoolSize=2"), Tests: tests},
			{When: "the replica is synchronous and there is 1 thread (up to 4.6.1)", Scenario: "sync-master", Replications: 5, Variants: pool("producer.0.arrivals=poisson(rate=200/s)"), Tests: tests,
				Told: []Measure{{"messages stored a second without the pool", PerSecond, Mean, throughput, 0, 0}, {"messages stored a second with the pool", PerSecond, Mean, throughput, 1, 1}}},
		}
	}
	return []Claim{{
		ID:      "pool-helps",
		Says:    "transientStorePoolEnable always helps: fewer sends are refused.",
		Release: fourThreeTwo, Facts: "§2.3, §6.3, §7.4, §7.5",
		Why:   "It takes the page cache out of the put lock, and nothing else.",
		Cases: settings([]Test{{poolRefused, Want{"<", -hardly}}}),
	}, {
		ID:      "pool-hurts",
		Says:    "transientStorePoolEnable always hurts: more sends are refused, or messages are lost.",
		Release: fourThreeTwo, Facts: "§2.3, §6.3, §7.4, §7.5",
		Why: "More are refused where buffers are short: one is the current file's, one the next file's. A SYNC_MASTER's thread waits for what the slave can see only when it is committed: less than 4 pages wait 200 ms, so that one thread stores a handful a second. What it costs otherwise is what a kill loses, and messages that are readable later.",
		Cases: append(settings([]Test{{poolRefused, Want{">", hardly}}}), Case{
			When: "the process is killed", Scenario: "steady", Replications: 5, Variants: pool("store.at_risk=true"),
			Tests: killLoses,
		}),
	}}
}

// pool are a scenario without the pool and with it.
func pool(sets ...string) []Variant {
	return []Variant{{"no pool", sets}, {"pool", append([]string{"broker.transientStorePoolEnable=true"}, sets...)}}
}

var (
	noneBusy = []Test{{Measure{"sends refused, with the pool", Percent, Share, rejected, 1, 1}, Want{"<", hardly}}}

	poolRefused = Measure{"sends refused, with the pool less without", Points, Minus, rejected, 1, 0}

	killLoses = []Test{{Measure{"acknowledged messages that a kill loses, with the pool less without", Number, Minus, killed, 1, 0}, Want{">", 0.5}}}

	committedLate = []Test{
		{Measure{"from stored to committed", Ms, Mean, commitLag, 0, 0}, Want{">", 1}},
		{Measure{"messages committed more than 220 ms after they were stored", Percent, Share, committedAfter(220 * sim.Millisecond), 0, 0}, Want{"<", aPoint}},
	}
)

// committed is when the first commit ends after t; false if there is none, as
// without a pool.
func (o *Observed) committed(t sim.Time) (sim.Time, bool) {
	i := sort.Search(len(o.Commits), func(i int) bool { return o.Commits[i] >= t })
	if i == len(o.Commits) {
		return 0, false
	}
	return o.Commits[i], true
}

// commitLag is the mean time from the end of an append to the commit after it,
// in ms.
func commitLag(o *Observed) (part, whole float64) {
	for _, a := range o.Acknowledged {
		if at, ok := o.committed(a.from); ok {
			part += (at - a.from).Milliseconds()
			whole++
		}
	}
	return part, whole
}

// committedAfter is the share of messages that a commit reaches later than that
// after the end of their append.
func committedAfter(late sim.Time) Quantity {
	return func(o *Observed) (part, whole float64) {
		for _, a := range o.Acknowledged {
			if at, ok := o.committed(a.from); ok {
				part += oneIf(at-a.from > late)
				whole++
			}
		}
		return part, whole
	}
}

// killed and powerCut are how many messages are acknowledged, and lost if the
// process or the machine ends, on average over the run.
func killed(o *Observed) (part, whole float64)   { return o.AtRisk.ProcessKill.Mean, 1 }
func powerCut(o *Observed) (part, whole float64) { return o.AtRisk.PowerCut.Mean, 1 }

// acknowledge notes a stored send with the end of its append and its answer.
func (o *Observed) acknowledge(a *model.Attempt) {
	if a.Outcome == model.OK && a.Unlock != model.Absent {
		o.Acknowledged = append(o.Acknowledged, span{a.Unlock, a.Resp})
	}
}
