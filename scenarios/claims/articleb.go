package claims

import (
	"slices"
	"strconv"

	"brokersim/model"
	"brokersim/scenarios"
)

// articleB are the claims B1 to B24 of facts §13: an article on broker.conf and
// the errors that say "busy".
func articleB() []Claim {
	return []Claim{{
		ID:      "B1",
		Says:    "The wait limit is checked every 10 seconds.",
		Release: EveryRelease, Facts: "§1.1",
		Why: "The period is 10 in MILLISECONDS.",
		Cases: []Case{{When: "nothing disturbs the sweeper", Scenario: "steady", Replications: 5, Tests: []Test{
			{Measure{"time from one sweep to the next", Ms, Mean, sweepGap, 0, 0}, Want{">", 9000}},
		}}},
	}, {
		ID:      "B2",
		Says:    "The errors that say busy are due to the put lock being held for more than 1 s.",
		Release: fourThreeTwo, Facts: "§1.2, §2.1, §4, §13 B2",
		Why: "Tried with appends that are held up for less than 1 s: an error that comes all the same has another condition. TIMEOUT_CLEAN_QUEUE looks at the wait alone, OVERLOAD at the room in the queue.",
		Cases: []Case{
			{When: "the error is PCBUSY_CLEAN_QUEUE", Scenario: "long-stall", Variants: short, Tests: noneOf(model.PCBusyCleanQueue)},
			{When: "the error is REJECTREQUEST", Scenario: "long-stall", Variants: short, Tests: noneOf(model.RejectRequest)},
			{When: "the error is TIMEOUT_CLEAN_QUEUE", Scenario: "long-stall", Variants: short, Tests: noneOf(model.TimeoutCleanQueue)},
			{When: "the error is OVERLOAD", Scenario: "long-stall", Tests: noneOf(model.Overload),
				Variants: []Variant{{"900 ms, room for 30", append([]string{"broker.sendThreadPoolQueueCapacity=30"}, short[0].Sets...)}}},
		},
	}, {
		ID:      "B3",
		Says:    "One of the errors reads [REJECTREQUEST]system busy too many requests and system thread pool busy.",
		Release: EveryRelease, Facts: "§2.1, §13 B3",
		Why: "It mixes the remark of REJECTREQUEST with a log text of OVERLOAD; no answer reads so.",
		Cases: []Case{{When: "a stall of 1.2 s meets a queue with room for 8", Scenario: "long-stall", Replications: 200,
			Variants: []Variant{{"room for 8", []string{"broker.sendThreadPoolQueueCapacity=8", "producer.0.arrivals=poisson(rate=60/s)"}}},
			Tests:    []Test{{Measure{"error lines that read so", Percent, Share, linesThatRead("[REJECTREQUEST]system busy too many requests and system thread pool busy"), 0, 0}, Want{">", hardly}}},
			Told: []Measure{
				{"error lines that read " + model.RemarkRejectRequest, Percent, Share, linesThatRead(model.RemarkRejectRequest), 0, 0},
				{"error lines that read " + model.RemarkOverload, Percent, Share, linesThatRead(model.RemarkOverload), 0, 0},
			}}},
	}, {
		ID:      "B7",
		Says:    "TIMEOUT errors come several at once, as many as are waiting.",
		Release: fourThreeTwo, Facts: "§1.3",
		Why: "A sweep answers those at the head that are over the limit, and leaves the younger ones.",
		Cases: []Case{
			{When: "an append is held up", Scenario: "stalls", Replications: 10, Tests: clearsAll, Told: []Measure{perSweep}},
			{When: "the sweeper is late by 400 ms as well", Scenario: "long-stall", Tests: clearsAll, Told: []Measure{perSweep},
				Variants: []Variant{{"sweeper late", []string{"stall.0.for=900ms", "stall.1.where=sweep", "stall.1.at=2.1s", "stall.1.for=450ms"}}}},
		},
	}, {
		ID:      "B8",
		Says:    "The send that is answered TIMEOUT_CLEAN_QUEUE may be the one that is being processed.",
		Release: EveryRelease, Facts: "§1.4, §13 B8",
		Why: "A thread that processes a send has taken it out of the queue; the sweep sees the queue alone.",
		Cases: []Case{{When: "appends are held up now and then", Scenario: "stalls", Replications: 40, Tests: []Test{
			{Measure{"swept sends that a thread had taken", Percent, Share,
				func(o *Observed) (part, whole float64) { return float64(o.SweptTaken), float64(len(o.Rejected)) }, 0, 0}, Want{">", hardly}},
		}}},
	}, {
		ID:      "B9",
		Says:    "The client does not retry what was answered busy (code 2).",
		Release: EveryRelease, Facts: "§9.1, §13 B9",
		Why: "It throws MQBrokerException at once. Since client 5.3.0 SYSTEM_BUSY is among the codes that are retried.",
		Cases: []Case{
			{When: "the client is 4.3.2", Scenario: "long-stall", Variants: client("4.3.2"), Tests: noRetry},
			{When: "the client is 5.2.0", Scenario: "long-stall", Variants: client("5.2.0"), Tests: noRetry},
			{When: "the client is 5.3.0", Scenario: "long-stall", Variants: client("5.3.0"), Tests: noRetry},
			{When: "the client is 5.3.3 and sends asynchronously", Scenario: "long-stall", Variants: client("5.3.3", "producer.0.mode=async"), Tests: noRetry},
		},
	}, {
		ID:      "B10",
		Says:    "Only SUCCESS gives the application a result; every other code throws.",
		Release: EveryRelease, Facts: "§3.3, §9.2, §13 B10",
		Why: "Codes 10, 11 and 12 say that the message is stored, but not yet flushed or replicated: they give a SendResult as well.",
		Cases: []Case{
			{When: "the answer is TIMEOUT_CLEAN_QUEUE (code 2)", Scenario: "stalls", Replications: 5, Tests: throws(func(a *model.AttemptCounts) int64 { return a.TimeoutCleanQueue + a.PCBusyCleanQueue + a.RejectRequest })},
			{When: "the answer is FLUSH_DISK_TIMEOUT (code 10)", Scenario: "sync-flush", Replications: 5, Tests: throws(func(a *model.AttemptCounts) int64 { return a.FlushDiskTimeout }),
				Variants: []Variant{{"a flush of 6 s", []string{"broker.release=4.9.4", "store.flush=1ms", "stall.0.where=flush", "stall.0.at=5s", "stall.0.for=6s", "producer.0.timeout=10s"}}}},
			{When: "the answer is SLAVE_NOT_AVAILABLE (code 11)", Scenario: "sync-master", Replications: 5, Tests: throws(func(a *model.AttemptCounts) int64 { return a.SlaveNotAvailable }),
				Variants: []Variant{{"no slave", []string{"replica.slaves=0"}}}},
			{When: "the answer is FLUSH_SLAVE_TIMEOUT (code 12)", Scenario: "sync-master", Replications: 5, Tests: throws(func(a *model.AttemptCounts) int64 { return a.FlushSlaveTimeout }),
				Variants: []Variant{{"a slave that stands still for 8 s", []string{"broker.release=4.9.4", "stall.0.where=replica", "stall.0.at=5s", "stall.0.for=8s", "producer.0.timeout=10s"}}}},
		},
	}, {
		ID:      "B11",
		Says:    "A message is tried as many times as retryTimesWhenSendFailed says.",
		Release: EveryRelease, Facts: "§9.1, §13 B11",
		Why: "Synchronous sends are tried once more than that, the others once. Tried with 2 retries and a client that retries \"busy\".",
		Cases: []Case{
			{When: "the mode is SYNC", Scenario: "long-stall", Variants: client("5.3.0", "producer.0.retryTimesWhenSendFailed=2"), Tests: triedTwice},
			{When: "the mode is ASYNC", Scenario: "long-stall", Variants: client("5.3.0", "producer.0.mode=async"), Tests: triedTwice},
			{When: "the mode is ONEWAY", Scenario: "long-stall", Variants: client("5.3.0", "producer.0.mode=oneway"), Tests: triedTwice},
		},
	}, {
		ID:      "B12",
		Says:    "A higher waitTimeMillsInSendQueue makes \"broker busy\" go away.",
		Release: fourThreeTwo, Facts: "§9, §15.1, §13 B12",
		Why: "It does for stalls that are shorter than the new limit. A longer stall brings the busy limit, and at 3000 ms the producers give up before the broker answers, while the message may still be stored.",
		Cases: []Case{
			{When: "stalls last 500 ms", Scenario: "long-stall", Variants: raised("500ms", 200, 3000), Tests: cured},
			{When: "stalls last 1.2 s", Scenario: "long-stall", Variants: raised("1200ms", 200, 3000), Tests: cured},
			{When: "stalls last 4 s and both limits are raised", Scenario: "long-stall", Tests: cured,
				Variants: raised("4s", 200, 3000, "broker.osPageCacheBusyTimeOutMills=5000"),
				Told:     []Measure{{"messages stored whose producers think that they failed", Percent, Share, fate(storedThoughtFailed), 1, 1}}},
		},
	}, {
		ID:      "B13",
		Says:    "A higher osPageCacheBusyTimeOutMills makes \"system busy\" go away.",
		Release: fourThreeTwo, Facts: "§2.1, §4, §13 B13",
		Why: "REJECTREQUEST goes, since nobody looks at the lock that is stuck; OVERLOAD, which says \"system busy\" too, has another condition.",
		Cases: []Case{
			{When: "it is REJECTREQUEST", Scenario: "long-stall", Tests: noneOfB(model.RejectRequest),
				Variants: []Variant{{"1000 ms", nil}, {"5000 ms", []string{"broker.osPageCacheBusyTimeOutMills=5000"}}},
				Told:     []Measure{{"sends refused in all, 5000 ms less 1000 ms", Points, Minus, rejected, 1, 0}}},
			{When: "it is OVERLOAD", Scenario: "long-stall", Tests: noneOfB(model.Overload),
				Variants: []Variant{{"1000 ms", []string{"broker.sendThreadPoolQueueCapacity=30"}}, {"5000 ms", []string{"broker.sendThreadPoolQueueCapacity=30", "broker.osPageCacheBusyTimeOutMills=5000"}}}},
		},
	}, {
		ID:      "B14",
		Says:    "\"System busy\" loses the message, \"broker busy\" does not.",
		Release: fourThreeTwo, Facts: "§1.5, §13 B14",
		Why: "None of these answers stores the message, and each tells its producer so: they do not differ.",
		Cases: []Case{{When: "an append is held up for 1.2 s", Scenario: "long-stall", Tests: []Test{
			{Measure{"sends answered \"system busy\" that were not stored", Percent, Share, notStored(model.RejectRequest, model.Overload), 0, 0}, Want{">", 0.99}},
			{Measure{"sends answered \"broker busy\" that were not stored", Percent, Share, notStored(model.TimeoutCleanQueue, model.PCBusyCleanQueue), 0, 0}, Want{"<", 0.01}},
		}}},
	}, {
		ID:      "B15",
		Says:    "sendMessageThreadPoolNums is 1 by default.",
		Release: EveryRelease, Facts: "§5.1, §13 B15",
		Why: "It is min(cores, 4) since 4.9.1. Taken for a machine of 8 cores.",
		Table: &Table{What: "send threads", Unit: Number, Want: []Want{{"<", 1.5}},
			Of: func(s *model.Settings, _ *model.Traits) float64 { return float64(s.SendMessageThreadPoolNums) }},
	}, {
		ID:      "B16",
		Says:    "With more than one send thread, useReentrantLockWhenPutMessage should be true.",
		Release: fourThreeTwo, Facts: "§6.2, §13 B16",
		Why: "Threads that spin take the cores from whoever else is ready, the sweeper too; as long as there are cores for all, it is the same.",
		Cases: []Case{
			{When: "32 threads wait on 2 cores", Scenario: "stalls", Replications: 10, Tests: lateSpin, Variants: locks(32, 2)},
			{When: "2 threads wait on 8 cores", Scenario: "stalls", Replications: 10, Tests: lateSpin, Variants: locks(2, 8)},
		},
	}, {
		ID:      "B17",
		Says:    "With one send thread the broker still takes sends from many threads at once.",
		Release: fourThreeTwo, Facts: "§5.1, §13 B17",
		Why: "Clients may be many, and all of them are served; but the broker works at one send at a time.",
		Cases: []Case{
			{When: "it is about clients: 8 producers, each with an eighth of the load", Scenario: "steady", Replications: 5, Variants: eightProducers(),
				Tests: []Test{{Measure{"sends that did not succeed", Percent, Share, failed, 0, 0}, Want{"<", hardly}}}},
			{When: "it is about the broker working at several sends at once", Scenario: "steady", Replications: 5, Variants: eightProducers(),
				Tests: []Test{{Measure{"most sends that threads were at, at one time", Number, Mean, func(o *Observed) (part, whole float64) { return float64(o.AtOnce), 1 }, 0, 0}, Want{">", 1.5}}}},
		},
	}, {
		ID: "B18", Says: "fileReservedTime is 48 by default.", Release: EveryRelease, Facts: "§12, §13 B18",
		Elsewhere: "a default of what is kept on the disk: facts §13 B18 (72 in the code, 48 in the broker.conf that is shipped)",
	}, {
		ID: "B19", Says: "deleteWhen is midnight by default.", Release: EveryRelease, Facts: "§12, §13 B19",
		Elsewhere: "a default of when old files are deleted: facts §13 B19 (\"04\", at four)",
	}, {
		ID: "B20", Says: "A consume queue file of 1000000 has 300,000 entries.", Release: EveryRelease, Facts: "§10.6, §10.8, §13 B20",
		Elsewhere: "a file's size: facts §13 B20 (the key counts bytes, and an entry has 20: 50,000 entries)",
	}, {
		ID:      "B21",
		Says:    "broker.conf takes storePathConsumeQueue, storePathIndex, storeCheckpoint and abortFile.",
		Release: EveryRelease, Facts: "§12, §13 B21",
		Why: "No release has such keys, and RocketMQ ignores in silence what it does not know.",
		Table: &Table{What: "of the four keys, known", Unit: Number, Want: []Want{{">", 3.5}},
			Of: func(*model.Settings, *model.Traits) (n float64) {
				for _, key := range []string{"storePathConsumeQueue", "storePathIndex", "storeCheckpoint", "abortFile"} {
					n += oneIf(scenarios.BrokerKey(key))
				}
				return n
			}},
	}, {
		ID: "B22", Says: "With maxMessageSize = 16 MiB messages may have 16 MiB.", Release: EveryRelease, Facts: "§5.2, §9.6, §10.5, §13 B22",
		Elsewhere: "limits of the frame and of the client: facts §13 B22 (a frame has 16777216 bytes with its headers, a client sends 4 MiB)",
	}, {
		ID:      "B23",
		Says:    "An application that reads code 2 can send the message again: it will not be stored twice.",
		Release: fourThreeTwo, Facts: "§1.5, §13 B23",
		Why: "What was answered busy is not stored. What timed out may be, and an application that does not tell the two apart stores it twice.",
		Cases: []Case{
			{When: "the limits are 200 and 1000 ms", Scenario: "long-stall", Tests: notTwice, Told: []Measure{attemptsEach},
				Variants: []Variant{{"sent again after 1 s", resend("1s")}}},
			{When: "it is sent again without back-off", Scenario: "long-stall", Tests: notTwice, Told: []Measure{attemptsEach},
				Variants: []Variant{{"sent again at once", resend("0s")}}},
			{When: "the limits are 3000 and 5000 ms, 80 threads wait, and what timed out is sent again as well", Scenario: "long-stall", Tests: notTwice, Told: []Measure{attemptsEach},
				Variants: []Variant{{"sent again after 1 s", append(resend("1s"), "stall.0.for=4s", "broker.waitTimeMillsInSendQueue=3000", "broker.osPageCacheBusyTimeOutMills=5000",
					"broker.sendMessageThreadPoolNums=80", "broker.useReentrantLockWhenPutMessage=true")}}},
		},
	}, {
		ID:      "B24",
		Says:    "A line that reads \"period in queue: 208ms, size of queue: 8\" fits the limit of 200 ms and the sweep of 10 ms.",
		Release: fourThreeTwo, Facts: "§15.2, §13 B24",
		Why: "The period is 200 to 209 ms by the phase of the sweep, the size is what arrives in that time: 8 behind the first is 43 messages a second.",
		Cases: []Case{
			fits208("43/s"), fits208("10/s"), fits208("400/s"),
		},
	}}
}

var short = []Variant{{"900 ms", []string{"stall.0.for=900ms"}}}

func noneOf(o model.Outcome) []Test {
	return []Test{{Measure{"sends answered " + o.String(), Percent, Share, refused(o), 0, 0}, Want{"<", hardly}}}
}

// noneOfB is of the second variant.
func noneOfB(o model.Outcome) []Test {
	tests := noneOf(o)
	tests[0].A, tests[0].B = 1, 1
	return tests
}

// notStored is the share of the sends that were answered so and are not stored.
func notStored(outcomes ...model.Outcome) Quantity {
	return func(o *Observed) (part, whole float64) {
		for i := range o.Rejected {
			if a := &o.Rejected[i]; slices.Contains(outcomes, a.Outcome) {
				whole++
				part += oneIf(a.Unlock == model.Absent)
			}
		}
		return part, whole
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// linesThatRead is of the first error lines, which a Result keeps.
func linesThatRead(remark string) Quantity {
	return func(o *Observed) (part, whole float64) {
		for _, line := range o.Errors {
			if line.Remark == remark {
				part++
			}
		}
		return part, float64(len(o.Errors))
	}
}

var (
	clearsAll = []Test{{Measure{"sends that were waiting when a sweep answered TIMEOUT and that it answered", Percent, Share, clearedShare, 0, 0}, Want{">", 0.95}}}
	perSweep  = Measure{"TIMEOUT answers in a sweep that answers any", Number, Mean, answersPerSweep, 0, 0}

	cured = []Test{{Measure{"sends that failed, limit raised", Percent, Share, failed, 1, 1}, Want{"<", hardly}}}

	lateSpin = []Test{{Measure{"TIMEOUT answers that read 210 ms and more, spin less reentrant", Points, Minus, ofTimeouts(fromPeriod(210)), 0, 1}, Want{">", aPoint}}}
)

func clearedShare(o *Observed) (part, whole float64) {
	for _, s := range o.Sweeps {
		if s.Timeout > 0 {
			part += float64(min(s.Timeout, s.Qlen))
			whole += float64(s.Qlen)
		}
	}
	return part, whole
}

func answersPerSweep(o *Observed) (part, whole float64) {
	for _, s := range o.Sweeps {
		if s.Timeout > 0 {
			part += float64(s.Timeout)
			whole++
		}
	}
	return part, whole
}

// client is a producer of another release than the broker's.
func client(release string, sets ...string) []Variant {
	return []Variant{{"client " + release, append([]string{"producer.0.release=" + release}, sets...)}}
}

// resend has the application send again what failed, at most 10 times.
func resend(backoff string) []string {
	return []string{"producer.0.handler=resend", "producer.0.resends=10", "producer.0.backoff=" + backoff}
}

var (
	noRetry = []Test{{Measure{"attempts that the client makes again, of all", Percent, Share, retries, 0, 0}, Want{"<", hardly}}}

	triedTwice = []Test{
		{Measure{"attempts of the message that was tried most", Number, Mean, triedMost, 0, 0}, Want{">", 1.5}},
		{Measure{"the same", Number, Mean, triedMost, 0, 0}, Want{"<", 2.5}},
	}

	notTwice     = []Test{{Measure{"messages stored more than once", Percent, Share, fate(storedTwice), 0, 0}, Want{"<", hardly}}}
	attemptsEach = Measure{"attempts for each message", Number, Mean, attemptsPerMessage, 0, 0}
)

// throws is about the answers of one kind, of runs in which all others are
// SUCCESS: how many of them leave the producer without a result.
func throws(of func(a *model.AttemptCounts) int64) []Test {
	return []Test{{Measure{"messages without a result, of those answered so", Percent, Share, func(o *Observed) (part, whole float64) {
		m := &o.Messages
		return float64(m.NotStoredKnown + m.NotStoredUnknown + m.StoredThoughtFailed), float64(of(&o.Attempts))
	}, 0, 0}, Want{">", 0.5}}}
}

func retries(o *Observed) (part, whole float64) {
	return float64(o.Retries), float64(o.Attempts.Sent)
}

func triedMost(o *Observed) (part, whole float64) {
	var most int32
	for _, tries := range o.Tried {
		most = max(most, tries)
	}
	return float64(most), 1
}

func attemptsPerMessage(o *Observed) (part, whole float64) {
	return float64(o.Attempts.Sent), float64(o.Messages.Offered)
}

// raised are a stall's variants with the wait limit as it was and raised.
func raised(stall string, from, to int, sets ...string) []Variant {
	all := append([]string{"stall.0.for=" + stall}, sets...)
	limit := func(ms int) Variant {
		return Variant{strconv.Itoa(ms) + " ms", append([]string{"broker.waitTimeMillsInSendQueue=" + strconv.Itoa(ms)}, all...)}
	}
	return []Variant{limit(from), limit(to)}
}

// locks are the spin lock and the reentrant one.
func locks(threads, cores int) []Variant {
	sets := []string{"broker.sendMessageThreadPoolNums=" + strconv.Itoa(threads), "machine.cores=" + strconv.Itoa(cores)}
	return []Variant{
		{"spin", append([]string{"broker.useReentrantLockWhenPutMessage=false"}, sets...)},
		{"reentrant", append([]string{"broker.useReentrantLockWhenPutMessage=true"}, sets...)},
	}
}

func eightProducers() []Variant {
	var sets []string
	for i := range 8 {
		sets = append(sets, "producer."+strconv.Itoa(i)+".arrivals=poisson(rate=50/s)")
	}
	return []Variant{{"8 producers", sets}}
}

// fits208 is a case of the incident at another rate.
func fits208(rate string) Case {
	return Case{
		When: "messages come at " + rate, Scenario: "incident", Replications: 400,
		Variants: []Variant{{rate, []string{"producer.0.arrivals=poisson(rate=" + rate + ")"}}},
		Tests: []Test{
			{Measure{"lines that read 200 to 209 ms", Percent, Share, ofTimeouts(func(_ *Observed, a *model.Attempt) bool { return a.PeriodMs >= 200 && a.PeriodMs < 210 }), 0, 0}, Want{">", 0.9}},
			{Measure{"lines that read a size of 8", Percent, Share, ofTimeouts(func(_ *Observed, a *model.Attempt) bool { return a.Qsize == 8 }), 0, 0}, Want{">", 5 * aPoint}},
		},
		Told: []Measure{{"lines that read 208 ms and 8", Percent, Share, ofTimeouts(func(_ *Observed, a *model.Attempt) bool { return a.PeriodMs == 208 && a.Qsize == 8 }), 0, 0}},
	}
}
