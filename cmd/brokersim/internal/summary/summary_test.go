package summary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/sim"
)

const ms = sim.Millisecond

// swept is a send that the sweeper took out.
func swept(seq int64, send, clean sim.Time, o model.Outcome) *model.Attempt {
	return &model.Attempt{Seq: seq, Send: send, Arrive: send, Enq: send, Deq: model.Absent, Done: model.Absent,
		Clean: clean, Resp: clean + ms, Code: 2, Outcome: o, PeriodMs: int64((clean - send) / ms), Qsize: 3}
}

// lines are the rows of a story and its notes.
func lines(s *Story, r *model.Result) string {
	var b strings.Builder
	for _, row := range s.rows(r) {
		fmt.Fprintf(&b, "%v %s\n", row.at, row.text)
		for _, line := range row.lines {
			fmt.Fprintln(&b, line)
		}
	}
	for _, note := range s.notes() {
		fmt.Fprintln(&b, note)
	}
	return b.String()
}

func TestStory(t *testing.T) {
	for _, c := range []struct {
		name  string
		watch func(o model.Observer)
		want  string
	}{
		{"nothing", func(model.Observer) {}, ""},
		{"an incident, told when its append is over", func(o model.Observer) {
			o.Stall(model.StallRecord{Where: model.StallAppend, From: 4000 * ms, To: 4250 * ms, BySeq: 7})
			o.Queue(4020*ms, 1)
			o.Queue(4040*ms, 2)
			o.Queue(4230*ms, 1)
			o.Attempt(swept(8, 4020*ms, 4230*ms, model.TimeoutCleanQueue))
			o.Queue(4251*ms, 0)
		}, `4s append stall begins: seq 7 holds the put lock
4.04s send queue at its longest: 2 wait
4.231s first rejected send (seq 8, sent at 4.020 s): remark, and the client's line
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 210ms, size of queue: 3
CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 210ms, size of queue: 3
4.25s append stall ends after 250 ms
4.251s send queue empty again
`},
		{"appends that a modelled store held up", func(o model.Observer) {
			o.Stall(model.StallRecord{Where: model.StallAppend, From: 4000 * ms, To: 4250 * ms, BySeq: 7})
			o.Pause(&model.Pause{Mechanism: model.PauseStablePages, From: 4000 * ms, To: 4050 * ms, BySeq: 7})
			o.Pause(&model.Pause{Mechanism: model.PauseThrottled, From: 4050 * ms, To: 4250 * ms, BySeq: 7})
			o.Stall(model.StallRecord{Where: model.StallAppend, From: 5000 * ms, To: 5020 * ms, BySeq: 9})
			o.Pause(&model.Pause{Mechanism: "journal commit", From: 5000 * ms, To: 5020 * ms, BySeq: 9})
			o.Stall(model.StallRecord{Where: model.StallAppend, From: 6000 * ms, To: 6020 * ms, BySeq: 11})
		}, `4s append held up by dirty throttling: 250 ms (seq 7 holds the put lock)
4.25s append stall ends after 250 ms
5s append held up by journal commit: 20 ms (seq 9 holds the put lock)
5.02s append stall ends after 20 ms
6s append stall begins: seq 11 holds the put lock
6.02s append stall ends after 20 ms
`},
		{"the queue was empty before the rejection was reported", func(o model.Observer) {
			o.Queue(1000*ms, 1)
			o.Queue(1230*ms, 0)
			o.Queue(1300*ms, 1)
			o.Queue(1400*ms, 0)
			o.Attempt(swept(1, 1000*ms, 1230*ms, model.TimeoutCleanQueue))
		}, `1.23s send queue empty again
1.231s first rejected send (seq 1, sent at 1.000 s): remark, and the client's line
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
`},
		{"two incidents, two kinds", func(o model.Observer) {
			o.Attempt(swept(1, 1000*ms, 1230*ms, model.TimeoutCleanQueue))
			o.Queue(1240*ms, 0)
			o.Attempt(swept(2, 1100*ms, 1330*ms, model.PCBusyCleanQueue))
			o.Queue(1340*ms, 0)
			o.Attempt(swept(3, 9000*ms, 9230*ms, model.TimeoutCleanQueue))
			o.Queue(9240*ms, 0)
		}, `1.231s first rejected send (seq 1, sent at 1.000 s): remark, and the client's line
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
1.331s first PCBUSY_CLEAN_QUEUE (seq 2, sent at 1.100 s): code 2
[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
1.34s send queue empty again; the first incident is over
9.231s last of 3 rejected sends (seq 3)
9.24s send queue empty again
2 incidents of rejections, more than 1 s apart
`},
		{"many stalls: the one that led to the first rejection", func(o model.Observer) {
			for i := range sim.Time(5) {
				o.Stall(model.StallRecord{Where: model.StallAppend, From: i * sim.Second, To: i*sim.Second + (100+i)*ms, BySeq: int64(i)})
				if i == 3 {
					o.Attempt(swept(9, 3000*ms, 3201*ms, model.TimeoutCleanQueue))
				}
			}
			o.Stall(model.StallRecord{Where: model.StallSweep, From: 6 * sim.Second, To: 6100 * ms})
		}, `3s append stall begins: seq 3 holds the put lock
3.103s append stall ends after 103 ms
3.202s first rejected send (seq 9, sent at 3.000 s): remark, and the client's line
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 201ms, size of queue: 3
CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 201ms, size of queue: 3
in all 5 append stalls and 1 sweep stall, the longest 104 ms at 4.000 s
`},
		{"rejected when its producer had given up", func(o model.Observer) {
			a := swept(1, 1000*ms, 4005*ms, model.TimeoutCleanQueue)
			a.ClientTimedOut = true
			o.Attempt(a)
		}, `1s sent: the one that times out at its producer (seq 1): rejected at 4.005 s
4.006s first rejected send (seq 1, sent at 1.000 s, given up by its producer): code 2
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 3005ms, size of queue: 3
`},
		{"told with the same ms: first what was rejected", func(o model.Observer) {
			o.Queue(1000*ms, 1)
			o.Attempt(swept(1, 1000*ms, 1229800*sim.Microsecond, model.TimeoutCleanQueue))
			o.Queue(1230600*sim.Microsecond, 0)
		}, `1.2308s first rejected send (seq 1, sent at 1.000 s): remark, and the client's line
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 229ms, size of queue: 3
CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 229ms, size of queue: 3
1.2306s send queue empty again
`},
		{"a queue that nothing was rejected from", func(o model.Observer) {
			o.Queue(1000*ms, 1)
			o.Queue(1001*ms, 2)
			o.Queue(1500*ms, 1)
			o.Queue(1501*ms, 0)
			o.Queue(1600*ms, 1)
			o.Queue(1601*ms, 0)
		}, "1.001s send queue at its longest: 2 wait\n1.501s send queue empty again\n"},
		{"refused at the door, with threads enough", func(o model.Observer) {
			o.Attempt(&model.Attempt{Seq: 1, Send: 1000 * ms, Arrive: 1000 * ms, Enq: model.Absent, Deq: model.Absent, Done: model.Absent,
				Clean: model.Absent, Resp: 1001 * ms, Code: 2, Outcome: model.RejectRequest})
			o.Attempt(&model.Attempt{Seq: 2, Send: 1100 * ms, Arrive: 1100 * ms, Done: 1200 * ms, Resp: 1201 * ms, Outcome: model.OK})
			o.Attempt(&model.Attempt{Seq: 3, Send: 1300 * ms, Arrive: 1300 * ms, Done: 1301 * ms, Resp: 1302 * ms, Outcome: model.OK})
		}, `1.001s first rejected send (seq 1, sent at 1.000 s): remark, and the client's line
[REJECTREQUEST]system busy, start flow control for a while
CODE: 2  DESC: [REJECTREQUEST]system busy, start flow control for a while
1.2s first send stored after the last rejection (seq 2)
`},
		{"an answer that the broker lost", func(o model.Observer) {
			o.Attempt(&model.Attempt{Seq: 1, Send: 1000 * ms, Arrive: 1001 * ms, Deq: 1002 * ms, Unlock: 1003 * ms, Done: model.Absent,
				Clean: model.Absent, Resp: model.Absent, Outcome: model.NoAnswer, ClientTimedOut: true})
		}, "1s sent: the one that times out at its producer (seq 1): stored at 1.003 s\n1.003s first answer lost (seq 1, sent at 1.000 s): callback dropped, message stored\n"},
		{"before the warm-up", func(o model.Observer) {
			o.Attempt(swept(1, 10*ms, 230*ms, model.TimeoutCleanQueue))
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Story{Warmup: 500 * ms}
			c.watch(s.Observer())
			if diff := cmp.Diff(c.want, lines(s, &model.Result{})); diff != "" {
				t.Errorf("story (-want +got):\n%s", diff)
			}
		})
	}
}

// What a partial run had not reached is not told.
func TestStoryEndsWithTheRun(t *testing.T) {
	s := new(Story)
	s.stall(model.StallRecord{Where: model.StallProcess, From: 1 * sim.Second, To: 3 * sim.Second})
	got := lines(s, &model.Result{Partial: true, VirtualSeconds: 2})
	if want := "1s freeze begins: the whole process stands still\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRemarkOfAStatus(t *testing.T) {
	a := &model.Attempt{Outcome: model.Other, Code: 13, Resp: 1500 * sim.Microsecond}
	errors := []model.ErrorLine{{AtMs: 1.4, Code: 13, Remark: "other"}, {AtMs: 1.5, Code: 13, Remark: "the message is illegal"}}
	if got, want := remark(a, errors), "the message is illegal"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := remark(a, nil); got != "" {
		t.Errorf("without error lines: got %q, want none", got)
	}
}

// Where the sends were that timed out, and what is said of it.
func TestTimeouts(t *testing.T) {
	// arrives, taken, asks for the lock, has it, leaves it, done, answered; ms
	send := func(at, arrive, deq, request, lock, unlock, done, resp sim.Time) *model.Attempt {
		return &model.Attempt{Seq: int64(at), Send: at * ms, Arrive: arrive * ms, Enq: arrive * ms, Deq: deq * ms, LockReq: request * ms, Lock: lock * ms,
			Unlock: unlock * ms, Done: done * ms, Clean: model.Absent, Resp: resp * ms, Outcome: model.OK, ClientTimedOut: true}
	}
	lost := send(10, 11, 12, 13, 14, 15, 16, 17)
	lost.Outcome, lost.Done, lost.Resp = model.NoAnswer, model.Absent, model.Absent
	late := swept(20, 1000*ms, 4005*ms, model.TimeoutCleanQueue)
	late.ClientTimedOut = true
	for _, c := range []struct {
		name          string
		sends         []*model.Attempt
		stored        int64
		verdict, want string
	}{
		{"none", nil, 0, "0 timed out at the producer, all of them stored", ""},
		{"every stage", []*model.Attempt{send(0, 1000, 1300, 1350, 1950, 3950, 3960, 4000), send(5, 6, 7, 8, 9, 10, 11, 4000)}, 2,
			"2 timed out at the producer, all of them stored, 50.39 % of the time: way back", `
Why sends timed out at the producer: 2 sends, 3,998 ms each until answered
                                                                      share, %
  way back       network                                                 50.39
  append         it held the put lock itself                             25.03
  way in         network, or a frozen broker: before createTimestamp     12.52
  put lock       others held it                                           7.52
  send queue     until a send thread took it, or the sweeper              3.76
  send thread    parsing and checks                                       0.64
  after the put  for a flush or a slave, and the answer                   0.14
`},
		{"swept", []*model.Attempt{late}, 0, "1 timed out at the producer, not stored, 99.97 % of the time: send queue", `
Why sends timed out at the producer: 1 send, 3,006 ms each until answered
                                                           share, %
  send queue  until a send thread took it, or the sweeper     99.97
  way back    network                                          0.03
`},
		{"answers lost", []*model.Attempt{lost}, 1, "1 timed out at the producer, and was stored; 1 answer lost at the broker", `
Why sends timed out at the producer
  1 answer lost at the broker: dropped with the callback that was to write it
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := new(Story)
			for _, a := range c.sends {
				s.attempt(a)
			}
			var b strings.Builder
			r := &model.Result{Replications: 1, Attempts: model.AttemptCounts{ClientTimeout: int64(len(c.sends))}, Late: model.LateCounts{Stored: c.stored}}
			p := &printer{Writer: &b, style: ui.Style{Width: 100}, Input: Input{Result: r, Story: s}}
			p.timeouts()
			if got := p.timedOut(); got != c.verdict {
				t.Errorf("got %q, want %q", got, c.verdict)
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// There is a place for every outcome.
func TestStoryOfEachOutcome(t *testing.T) {
	s := new(Story)
	for o := range model.Outcomes {
		s.attempt(&model.Attempt{Seq: int64(o), Outcome: model.Outcome(o)})
	}
	if got, want := len(s.rows(&model.Result{})), model.Outcomes-1; got != want { // no OK, none pending; beside, the last rejected
		t.Errorf("%d rows, want %d:\n%s", got, want, lines(s, &model.Result{}))
	}
}

// What is neither stored nor rejected is no success.
func TestVerdictCountsOtherFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      model.AttemptCounts
		others map[int32]int64 // of replication 1
		want   string
	}{
		{"all", model.AttemptCounts{Sent: 406, Other: 406}, map[int32]int64{13: 406}, "406 of 406 sends failed: 406 MESSAGE_ILLEGAL (code 13)"},
		{"several codes", model.AttemptCounts{Sent: 50, Success: 40, Other: 10}, map[int32]int64{14: 3, 13: 5, 1: 2},
			"10 of 50 sends failed: 2 SYSTEM_ERROR (code 1), 5 MESSAGE_ILLEGAL (code 13), 3 SERVICE_NOT_AVAILABLE (code 14)"},
		{"several replications", model.AttemptCounts{Sent: 50, Success: 40, Other: 10}, map[int32]int64{13: 5}, "10 of 50 sends failed: 10 OTHER"},
		{"beside rejections", model.AttemptCounts{Sent: 50, Success: 39, TimeoutCleanQueue: 1, FlushDiskTimeout: 10}, nil,
			"; 10 more failed: 10 FLUSH_DISK_TIMEOUT (stored)"},
		{"beside timeouts", model.AttemptCounts{Sent: 50, Success: 39, ClientTimeout: 1, SlaveNotAvailable: 10}, nil,
			"10 of 50 sends failed: 10 SLAVE_NOT_AVAILABLE (stored); 1 timed out at the producer, not stored"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &printer{Input: Input{Result: &model.Result{Attempts: c.n, Replications: 1}, Study: new(model.Study), Story: &Story{others: c.others}}}
			if got := p.failures(); !strings.HasSuffix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What the broker rejected is in the verdict, whether or not a producer still
// listened.
func TestVerdictCountsLateRejections(t *testing.T) {
	for _, c := range []struct {
		name string
		n    model.AttemptCounts
		late model.LateCounts
		of   int // replications
		want string
	}{
		{"all late", model.AttemptCounts{Sent: 5907, Success: 5631, ClientTimeout: 276}, model.LateCounts{Stored: 84, Rejected: 192}, 1,
			"192 of 5,907 sends rejected, all after their producers had given up; 276 timed out at the producer, 84 of them stored"},
		{"all late, several replications", model.AttemptCounts{Sent: 5907, Success: 5631, ClientTimeout: 276}, model.LateCounts{Stored: 84, Rejected: 192}, 3,
			"192 of 5,907 sends rejected, all after their producers had given up; 276 timed out at the producer, 84 of them stored"},
		{"some late", model.AttemptCounts{Sent: 100, Success: 80, TimeoutCleanQueue: 10, ClientTimeout: 10}, model.LateCounts{Stored: 6, Rejected: 4}, 1,
			"14 of 100 sends rejected, 4 of them after their producers had given up; 10 timed out at the producer, 6 of them stored"},
		{"no send", model.AttemptCounts{}, model.LateCounts{}, 1, "no send was made"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &printer{Input: Input{
				Result: &model.Result{Attempts: c.n, Late: c.late, Replications: c.of}, Study: new(model.Study), Story: new(Story),
			}}
			if got := p.failures(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	ptr := func(x float64) *float64 { return &x }
	known := func(x float64) *model.Estimate {
		return &model.Estimate{Value: x, Lo: ptr(x * 0.9), Hi: ptr(x * 1.1)}
	}
	unknown := func(x float64) *model.Estimate { return &model.Estimate{Value: x, Why: "too few"} }
	result := &model.Result{
		Replications: 1,
		LatencyMs:    model.Summary{Count: 1429, Mean: unknown(3.34), P50: known(0.4), P90: known(0.8), P99: known(1600), P999: unknown(2500), Max: ptr(2500), Min: ptr(0.1)},
		PeriodMs:     model.Summary{Count: 1, Mean: unknown(208), P50: unknown(208), P90: unknown(208), P99: unknown(208), P999: unknown(208), Max: ptr(208), Min: ptr(208)},
	}
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"wide", 100, `
Times in ms, latency (sojourn time) from call to answer
         latency   95 % interval  period in queue
  mean      3.34               -              208
  p50      0.400  0.360 to 0.440              208
  p90      0.800  0.720 to 0.880              208
  p99      1,600  1,440 to 1,760              208
  p99.9    2,500               -              208
  max      2,500                              208
  count    1,429                                1
  - too few independent observations in one run for an interval: -n 20 or more gives one
`},
		{"narrow", 40, `
Times in ms, latency (sojourn time) from call to answer
         latency   95 % interval
  mean      3.34               -
  p50      0.400  0.360 to 0.440
  p90      0.800  0.720 to 0.880
  p99      1,600  1,440 to 1,760
  p99.9    2,500               -
  max      2,500
  count    1,429
         period in queue
  mean               208
  p50                208
  p90                208
  p99                208
  p99.9              208
  max                208
  count                1
  - too few independent observations in
  one run for an interval: -n 20 or more
  gives one
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			p := &printer{Writer: &b, style: ui.Style{Width: c.width}, Input: Input{Result: result, Replicates: true}}
			p.times()
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
		})
	}
}

// Sentences are wrapped, what stands in a log is not.
func TestNarrowStory(t *testing.T) {
	var b strings.Builder
	s := new(Story)
	s.attempt(swept(8, 4020*ms, 4230*ms, model.TimeoutCleanQueue))
	p := &printer{Writer: &b, style: ui.Style{Width: 40, Terminal: true}, Input: Input{Story: s, Result: &model.Result{Replications: 1, Warnings: []string{strings.Repeat("word ", 20)}}}}
	p.story()
	p.warnings()
	const line = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 210ms, size of queue: 3"
	all := strings.Split(b.String(), "\n")
	for _, want := range []string{line, "CODE: 2  DESC: " + line} {
		if !slices.Contains(all, want) {
			t.Errorf("no line %q in:\n%s", want, b.String())
		}
	}
	for _, l := range all {
		if len(l) > 40 && !strings.Contains(l, line) {
			t.Errorf("%d columns: %q", len(l), l)
		}
	}
}

// Whatever can stall has its place in a story, and a line.
func TestEveryStallIsTold(t *testing.T) {
	for _, name := range model.StallWheres() {
		where, _ := model.ParseStallWhere(name)
		var s Story
		s.stall(model.StallRecord{Where: where, To: sim.Second})
		if s.stalls.count[where] != 1 {
			t.Errorf("%s: got %d stalls, want 1", name, s.stalls.count[where])
		}
		if got := stallBegins(stall{StallRecord: model.StallRecord{Where: where}}); !strings.Contains(got, "begins") || strings.Contains(got, "process") && !where.Freezes() {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// What became of the messages answers two questions, and fits a terminal.
func TestMessages(t *testing.T) {
	var b strings.Builder
	p := &printer{Writer: &b, style: ui.Style{Width: 80}, Input: Input{Result: &model.Result{
		Attempts: model.AttemptCounts{Sent: 300, Success: 250, ClientTimeout: 50},
		Messages: model.MessageCounts{Offered: 200, StoredOnce: 150, StoredMoreThanOnce: 20, NotStoredKnown: 10, NotStoredUnknown: 5, StoredThoughtFailed: 15},
		Retries:  90, Resends: 10, Inversions: 1,
		Brokers: []model.AttemptCounts{{Sent: 100, Success: 100}, {Sent: 200, Success: 150, ClientTimeout: 50}},
	}}}
	p.brokers()
	p.messages()
	want := `
Attempts by broker
  broker  sent  success  client_timeout
  0        100      100               0
  1        200      150              50

Messages: was it lost, will it be duplicated?
                              share, %
  stored_once            150     75.00  neither
  stored_more_than_once   20     10.00  duplicated
  not_stored_known        10      5.00  lost unless sent again: it is known
  not_stored_unknown       5      2.50  lost, and nobody knows
  stored_thought_failed   15      7.50  duplicated if it is sent again
  offered                200
  of 300 attempts 90 were retries by the client
  10 calls made again by the application's handler
  1 send stored behind a later one of the same producer and queue
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
