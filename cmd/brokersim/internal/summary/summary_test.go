package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		if row.line != "" {
			fmt.Fprintln(&b, row.line)
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
4.231s first rejected send (seq 8, sent at 4.020 s): CODE: 2  DESC:
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 210ms, size of queue: 3
4.25s append stall ends after 250 ms
4.251s send queue empty again
`},
		{"the queue was empty before the rejection was reported", func(o model.Observer) {
			o.Queue(1000*ms, 1)
			o.Queue(1230*ms, 0)
			o.Queue(1300*ms, 1)
			o.Queue(1400*ms, 0)
			o.Attempt(swept(1, 1000*ms, 1230*ms, model.TimeoutCleanQueue))
		}, `1.23s send queue empty again
1.231s first rejected send (seq 1, sent at 1.000 s): CODE: 2  DESC:
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
`},
		{"two incidents, two kinds", func(o model.Observer) {
			o.Attempt(swept(1, 1000*ms, 1230*ms, model.TimeoutCleanQueue))
			o.Queue(1240*ms, 0)
			o.Attempt(swept(2, 1100*ms, 1330*ms, model.PCBusyCleanQueue))
			o.Queue(1340*ms, 0)
			o.Attempt(swept(3, 9000*ms, 9230*ms, model.TimeoutCleanQueue))
			o.Queue(9240*ms, 0)
		}, `1.231s first rejected send (seq 1, sent at 1.000 s): CODE: 2  DESC:
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
1.331s first PCBUSY_CLEAN_QUEUE (seq 2, sent at 1.100 s): CODE: 2  DESC:
[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 230ms, size of queue: 3
1.34s send queue empty again; the first incident is over
9.231s last of 3 rejected sends (seq 3)
9.24s send queue empty again
2 incidents of rejections, more than 1.00 s apart
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
3.202s first rejected send (seq 9, sent at 3.000 s): CODE: 2  DESC:
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 201ms, size of queue: 3
in all 5 append stalls and 1 sweep stall, the longest 104 ms at 4.000 s
`},
		{"rejected when its producer had given up", func(o model.Observer) {
			a := swept(1, 1000*ms, 4005*ms, model.TimeoutCleanQueue)
			a.ClientTimedOut = true
			o.Attempt(a)
		}, `4.006s first rejected send (seq 1, sent at 1.000 s, given up by its producer): CODE: 2  DESC:
[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 3005ms, size of queue: 3
`},
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
	if want := "1s process stall begins: the broker stands still\n"; got != want {
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

func TestFootnotes(t *testing.T) {
	var f footnotes
	marks := []string{f.mark("8 observations, need 400"), f.mark(""), f.mark("one cluster"), f.mark("9 observations, need 400"), f.mark("one cluster")}
	if diff := cmp.Diff([]string{"[1]", "", "[2]", "[1]", "[2]"}, marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if got, want := fmt.Sprint(f[0], "; ", f[1]), "8 observations, need 400, and the like; one cluster"; got != want {
		t.Errorf("notes: got %q, want %q", got, want)
	}
}

func TestShareIsNotRoundedUp(t *testing.T) {
	for _, c := range []struct {
		k, n int64
		want string
	}{{99_999, 100_000, "99.99"}, {5, 5, "100.00"}, {0, 3, "0.00"}, {0, 0, "-"}, {1, 3, "33.33"}} {
		if got := share(c.k, c.n); got != c.want {
			t.Errorf("%d of %d: got %q, want %q", c.k, c.n, got, c.want)
		}
	}
}
