package claims

import (
	"strings"

	"brokersim/model"
)

// The bounds that decide, where a difference of less would matter to nobody.
const (
	hardly = 0.001 // a share that is as good as none
	aPoint = 0.01  // a percentage point
)

// fourThreeTwo is the release that most of what is said is about.
const fourThreeTwo = "4.3.2"

// articleA are the claims A1 to A12 of facts §13: an analysis of
// TIMEOUT_CLEAN_QUEUE.
func articleA() []Claim {
	return []Claim{{
		ID:      "A1",
		Says:    "The send queue is swept every 10 ms.",
		Release: EveryRelease, Facts: "§1.1",
		Why: "The sweep is scheduled at a fixed rate: a tick that is late doesn't move those that follow, which catch up.",
		Cases: []Case{
			{When: "nothing disturbs the sweeper", Scenario: "steady", Replications: 5, Tests: every10ms},
			{When: "the sweeper is held up for 78 ms each second", Scenario: "steady", Replications: 5, Tests: every10ms,
				Variants: []Variant{{"late", []string{`stall.0.where=sweep`, `stall.0.every=1s`, `stall.0.for=78ms`}}}},
		},
	}, {
		ID:      "A2",
		Says:    "A send waits at most about 210 ms in the queue before TIMEOUT_CLEAN_QUEUE: the limit of 200 ms and one sweep.",
		Release: EveryRelease, Facts: "§1.1, §1.3, §15.2",
		Why:   "200 ms and less than 10 ms more is right for a sweeper that is in time. What keeps its thread from running (a pause of the process, cores taken by threads that spin, a dump of all stacks) is added to the period, and a response callback at the head of the queue stops it.",
		Cases: within210(ofTimeouts(fromPeriod(210)), "TIMEOUT answers that read 210 ms and more"),
	}, {
		ID:      "A3",
		Says:    "Four queues are swept: send after 200 ms, pull after 5 s, heartbeat after 31 s, transaction after 3 s.",
		Release: EveryRelease, Facts: "§1.2, §13 A3",
		Why: "Which queues are swept grew from release to release.",
		Table: &Table{What: "queues swept", Unit: Number, Want: []Want{{">", 3.5}, {"<", 4.5}},
			Of: func(_ *model.Settings, t *model.Traits) float64 { return float64(len(t.Swept)) }},
	}, {
		ID:      "A4",
		Says:    "A send is taken out of the queue when it has waited more than the limit.",
		Release: EveryRelease, Facts: "§1.3",
		Why: "The test is >=, in whole milliseconds: one that has waited 200 ms exactly is taken out as well.",
		Cases: []Case{{When: "the limit is 200 ms", Scenario: "incident", Replications: 400, Tests: []Test{
			{Measure{"TIMEOUT answers that read 200 ms exactly", Percent, Share, ofTimeouts(readsLimit), 0, 0}, Want{"<", hardly}},
		}}},
	}, {
		ID:      "A5",
		Says:    "The page cache counts as busy when the put lock has been held for more than 1 s.",
		Release: EveryRelease, Facts: "§4",
		Why: "What counts is how long its holder of this moment has had the lock, strictly more than osPageCacheBusyTimeOutMills; waits for the lock and many shorter holds don't.",
		Cases: []Case{
			{When: "one append holds the lock for 1.2 s", Scenario: "long-stall", Tests: []Test{busySome}},
			{When: "one append holds the lock for 990 ms", Scenario: "long-stall", Tests: []Test{busyNone},
				Variants: []Variant{{"990 ms", []string{"stall.0.for=990ms"}}}},
			{When: "two appends in a row hold it for 900 ms each", Scenario: "long-stall", Tests: []Test{busyNone},
				Variants: []Variant{{"900 ms twice", []string{"stall.0.for=900ms", "stall.1.where=append", "stall.1.at=2.1s", "stall.1.for=900ms"}}}},
		},
	}, {
		ID:      "A6",
		Says:    "TIMEOUT_CLEAN_QUEUE comes more easily than PCBUSY_CLEAN_QUEUE and REJECTREQUEST.",
		Release: EveryRelease, Facts: "§15.1",
		Why: "A stall of 200 to 1000 ms gives the first alone, and a longer one gives it first; with limits the other way round it is the reverse.",
		Cases: []Case{
			{When: "the limits are 200 and 1000 ms", Scenario: "stalls", Tests: []Test{timeoutsLeadBusy}},
			{When: "the wait limit is raised to 3000 ms and the busy limit is not", Scenario: "stalls", Tests: []Test{timeoutsLeadBusy},
				Variants: []Variant{{"3000 ms", []string{"broker.waitTimeMillsInSendQueue=3000", "stall.0.for=lognormal(median=300ms, sigma=1)", "stall.0.every=exponential(mean=2s)"}}}},
		},
	}, {
		ID:      "A7",
		Says:    "The send queue has room for 10,000, and there is 1 send thread.",
		Release: EveryRelease, Facts: "§5.1, §13 A7",
		Why: "sendMessageThreadPoolNums is min(cores, 4) since 4.9.1; the room has not changed. Taken for a machine of 8 cores.",
		Table: &Table{What: "send threads, if there is room for 10,000", Unit: Number, Want: []Want{{"<", 1.5}},
			Of: func(s *model.Settings, _ *model.Traits) float64 {
				return float64(int64(s.SendMessageThreadPoolNums) + abs(s.SendThreadPoolQueueCapacity-10000))
			}},
	}, {
		ID:      "A8",
		Says:    "The put lock is a spin lock by default.",
		Release: EveryRelease, Facts: "§6.2, §13 A8",
		Why: "useReentrantLockWhenPutMessage is true by default since 4.9.1.",
		Table: &Table{What: "spin lock by default (1: yes)", Unit: Number, Want: []Want{{">", 0.5}},
			Of: func(s *model.Settings, _ *model.Traits) float64 { return oneIf(!s.UseReentrantLockWhenPutMessage) }},
	}, {
		ID:      "A9",
		Says:    "More send threads store no more messages, since the append is behind a lock.",
		Release: fourThreeTwo, Facts: "§5.3, §6.1, §7.3, §13 A9",
		Why: "What the lock covers is done by one thread at a time. Where the thread waits outside the lock, for a flush or a replica, the number of threads is the number of sends that can wait at once.",
		Cases: []Case{
			{When: "flush and replica are asynchronous", Scenario: "overload", Replications: 10, Variants: threads("1 thread", "16 threads"), Tests: storesNoMore},
			{When: "the flush is synchronous and the release is 4.3.2 (up to 4.6.1)", Scenario: "sync-flush", Replications: 5, Variants: threads("1 thread", "16 threads"), Tests: storesNoMore},
			{When: "the replica is synchronous and the release is 4.3.2 (up to 4.6.1)", Scenario: "sync-master", Replications: 5, Variants: threads("1 thread", "16 threads"), Tests: storesNoMore},
			{When: "the flush is synchronous and the release is 4.9.4 (from 4.7.0)", Scenario: "sync-flush", Replications: 5, Variants: threads("1 thread", "16 threads", "broker.release=4.9.4"), Tests: storesNoMore},
		},
	}, {
		ID:      "A10",
		Says:    "More than one send thread breaks the order of messages.",
		Release: fourThreeTwo, Facts: "§13 A10",
		Why: "Two threads that have taken two sends of one producer race for the lock. A thread alone can't be overtaken.",
		Cases: []Case{
			{When: "there are 4 threads and the producer does not wait for answers", Scenario: "stalls", Replications: 10, Tests: []Test{inverted},
				Variants: []Variant{{"4 threads", []string{"broker.sendMessageThreadPoolNums=4"}}}},
			{When: "there are 4 threads and a producer waits for each answer before it sends the next", Scenario: "stalls", Replications: 10, Tests: []Test{inverted},
				Variants: []Variant{{"4 threads, a producer that waits", []string{"broker.sendMessageThreadPoolNums=4", "producer.0.arrivals=closed(n=1, think=2ms)"}}}},
			{When: "there is 1 thread", Scenario: "stalls", Replications: 10, Tests: []Test{inverted}},
		},
	}, {
		ID: "A11", Says: "A rejected send is answered at once, from the thread that rejects it.",
		Release: EveryRelease, Facts: "§1.5",
		Elsewhere: "which thread writes the answer is code, not behaviour: facts §1.5 (returnResponse, correct)",
	}, {
		ID:      "A12",
		Says:    "The cause of TIMEOUT_CLEAN_QUEUE is an append that meets a flush of the page cache and takes more than 200 ms.",
		Release: fourThreeTwo, Facts: "§6.3, §7, §8, §13 A12",
		Why: "It is one of the causes. Whatever keeps the head of the queue waiting for 200 ms does it: plain overload, a pause of the process, a wait for a flush or a replica.",
		Cases: []Case{
			{When: "appends are held up now and then", Scenario: "stalls", Tests: []Test{byAppendStall}},
			{When: "more messages come than can be stored", Scenario: "overload", Replications: 10, Tests: []Test{byAppendStall}},
			{When: "the whole process stands still", Scenario: "freeze", Tests: []Test{byAppendStall}},
			{When: "a put waits for a new file", Scenario: "file-roll", Replications: 5, Tests: []Test{byAppendStall}},
			{When: "a send waits for its flush (SYNC_FLUSH)", Scenario: "sync-flush", Replications: 5, Tests: []Test{byAppendStall}},
			{When: "a send waits for the slave (SYNC_MASTER)", Scenario: "sync-master", Replications: 5, Tests: []Test{byAppendStall}},
		},
	}}
}

// threads are variants with so many send threads as their names begin with.
func threads(few, many string, sets ...string) []Variant {
	variant := func(name string) Variant {
		n, _, _ := strings.Cut(name, " ")
		return Variant{name, append([]string{"broker.sendMessageThreadPoolNums=" + n}, sets...)}
	}
	return []Variant{variant(few), variant(many)}
}

var storesNoMore = []Test{{Measure{"messages stored a second, 16 threads over 1", Number, Over, throughput, 1, 0}, Want{"<", 1.05}}}

var every10ms = []Test{
	{Measure{"time from one sweep to the next", Ms, Mean, sweepGap, 0, 0}, Want{">", 9.9}},
	{Measure{"the same", Ms, Mean, sweepGap, 0, 0}, Want{"<", 10.1}},
}

// within210 are the cases in which a sweeper is in time, or not.
func within210(of Quantity, what string) []Case {
	tests := []Test{{Measure{what, Percent, Share, of, 0, 0}, Want{"<", aPoint}}}
	return []Case{
		{When: "the sweeper is in time", Scenario: "stalls", Replications: 10, Tests: tests},
		{When: "32 threads spin for the lock on 2 cores", Scenario: "stalls", Replications: 10, Tests: tests,
			Variants: []Variant{{"32 threads", []string{"broker.sendMessageThreadPoolNums=32"}}}},
		{When: "the whole process stands still for 250 ms", Scenario: "freeze", Tests: tests},
		{When: "response callbacks are in the send queue (4.7.1 to 4.9.2)", Scenario: "freeze", Replications: 10, Tests: tests,
			Variants: []Variant{{"4.8.0, append stalls", []string{"broker.release=4.8.0", "stall.0.where=append", "stall.0.for=400ms"}}}},
		{When: "appends are held up for 400 ms, and no callbacks are in the send queue (4.3.2)", Scenario: "freeze", Replications: 10, Tests: tests,
			Variants: []Variant{{"4.3.2, append stalls", []string{"stall.0.where=append", "stall.0.for=400ms"}}}},
		{When: "the sweeper dumps all stacks (5.x)", Scenario: "stalls", Replications: 30, Tests: tests,
			Variants: []Variant{{"5.1.4", []string{"broker.release=5.1.4", "broker.sendMessageThreadPoolNums=1"}}}},
	}
}

func readsLimit(o *Observed, a *model.Attempt) bool {
	return a.PeriodMs == o.Config.Broker.WaitTimeMillsInSendQueue
}

var (
	busy     = Measure{"sends answered PCBUSY_CLEAN_QUEUE or REJECTREQUEST", Percent, Share, refused(model.PCBusyCleanQueue, model.RejectRequest), 0, 0}
	busySome = Test{busy, Want{">", hardly}}
	busyNone = Test{busy, Want{"<", hardly}}

	timeoutsLeadBusy = Test{
		Measure{"sends answered TIMEOUT_CLEAN_QUEUE, of those and the two others", Percent, Share, timeoutsOfThree, 0, 0}, Want{">", 0.5}}

	inverted = Test{Measure{"messages stored after one of their queue that was sent later", Percent, Share,
		func(o *Observed) (part, whole float64) { return float64(o.Inversions), float64(o.Stored) }, 0, 0}, Want{">", hardly / 10}}

	byAppendStall = Test{Measure{"sends taken out by a sweep that waited longest for an append that was held up", Percent, Share, sweptBy(model.CauseAppendStall), 0, 0}, Want{">", 0.5}}
)

func timeoutsOfThree(o *Observed) (part, whole float64) {
	for i := range o.Rejected {
		switch o.Rejected[i].Outcome {
		case model.TimeoutCleanQueue:
			part++
			whole++
		case model.PCBusyCleanQueue, model.RejectRequest:
			whole++
		}
	}
	return part, whole
}

// sweptBy is the share of the sends that a sweep took out for which that was the
// cause of most of their wait.
func sweptBy(c model.Cause) Quantity {
	return func(o *Observed) (part, whole float64) {
		for _, n := range o.Swept {
			whole += float64(n)
		}
		return float64(o.Swept[c]), whole
	}
}

func abs(n int64) int64 { return max(n, -n) }
