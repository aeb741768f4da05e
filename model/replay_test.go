package model_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/sim"
)

// TestReplayOfOwnRequests writes a run's requests file and replays it: every
// request takes the same course, but for the way to the broker, which a
// recording leaves out.
func TestReplayOfOwnRequests(t *testing.T) {
	with := func(name string, edit func(*model.Config)) model.Config {
		cfg := bundled(t, name)
		cfg.Duration = min(cfg.Duration, 28*sim.Second)
		if edit != nil {
			edit(&cfg)
		}
		return cfg
	}
	// load runs a broker of constant service at a share of what it can do. The
	// service is 2 ms: 1.9 ms under the lock and what it costs beside.
	load := func(share float64) func(*model.Config) {
		return func(c *model.Config) {
			c.Store.Append, c.Store.Delay = dist("exponential(mean=1900us)"), 0
			c.Costs.Process, c.Costs.Finish = dist("50us"), dist("50us")
			c.Producers[0].Arrivals = arrivals(fmt.Sprintf("poisson(rate=%v/s)", 500*share))
		}
	}
	threads := func(n, cores int, reentrant bool) func(*model.Config) {
		return func(c *model.Config) {
			c.Broker.SendMessageThreadPoolNums, c.Machine.Cores, c.Broker.UseReentrantLockWhenPutMessage = n, cores, reentrant
		}
	}
	for name, cfg := range map[string]model.Config{
		"quiet":                 with("quiet", nil),
		"incident":              with("incident-208ms", nil),
		"stall-500ms":           with("stall-500ms", nil),
		"stall-1200ms":          with("stall-1200ms", nil),
		"overload":              with("overload", nil),
		"0.9 x capacity":        with("overload", load(0.9)),
		"1.1 x capacity":        with("overload", load(1.1)),
		"2 x capacity":          with("overload", load(2)),
		"queue-full":            with("queue-full", nil),
		"sweeper-late":          with("sweeper-late", nil),
		"burst":                 with("burst", nil),
		"freeze":                with("freeze", nil),
		"4 threads, spin":       with("stall-500ms", threads(4, 2, false)),
		"4 threads, reentrant":  with("stall-500ms", threads(4, 2, true)),
		"32 threads, spin":      with("threads-32", nil),
		"32 threads, reentrant": with("threads-32", threads(32, 2, true)),
		"32 threads, windows": with("threads-32", func(c *model.Config) {
			c.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 1500*ms), window(model.StallAppend, 3*sim.Second, 3300*ms)}
		}),
		"32 threads, freezes": with("threads-32", func(c *model.Config) {
			c.Stalls = append(c.Stalls, model.Stall{Where: model.StallProcess, At: model.Absent, Every: dist("exponential(mean=500ms)"), For: dist("100ms"), Until: model.Absent})
		}),
		"random decoding": with("stall-500ms", func(c *model.Config) { c.Costs.Decode = dist("exponential(mean=500us)") }),
		"three producers": with("stall-500ms", func(c *model.Config) {
			for _, rate := range []string{"poisson(rate=100/s)", "mmpp(low=20/s for 1s, high=400/s for 300ms)"} {
				p := c.Producers[0]
				p.Name, p.Arrivals = rate, arrivals(rate)
				c.Producers = append(c.Producers, p)
			}
		}),
		"other queues": with("stall-500ms", func(c *model.Config) {
			c.Broker.PullMessageThreadPoolNums = 1
			c.Loads = []model.Load{{Queue: "pull", Arrivals: arrivals("poisson(rate=10/s)"), Service: dist("exponential(mean=150ms)")}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			w := model.NewRequestsWriter(&file)
			var rows []model.Attempt
			_, err := model.Replicate(context.Background(), &cfg, 1, 1, model.Observer{Attempt: func(a *model.Attempt) {
				w.Write(a)
				rows = append(rows, *a)
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			requests, err := recording.ReadRequests("requests.csv", bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			again := cfg
			if err := recording.Drive(&again, requests); err != nil {
				t.Fatal(err)
			}
			var replayed []model.Attempt
			_, agreement, err := recording.Replay(context.Background(), &again, requests, model.Observer{
				Attempt: func(a *model.Attempt) { replayed = append(replayed, *a) },
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			n, swept, refused := int64(len(rows)), int64(0), int64(0)
			for i := range rows {
				if rows[i].PeriodMs != model.Absent {
					swept++
				}
				if rows[i].Outcome.Rejected() {
					refused++
				}
				// What a recording doesn't tell: when it was sent, by whom, and so
				// how large it was and what its producer thought.
				replayed[i].Send, replayed[i].Body, replayed[i].ClientTimedOut = rows[i].Send, rows[i].Body, rows[i].ClientTimedOut
				replayed[i].Producer, replayed[i].Message = rows[i].Producer, rows[i].Message
				if rows[i] != replayed[i] {
					t.Fatalf("request %d of %d (-run +replay):\n%s", i, n, cmp.Diff(rows[i], replayed[i]))
				}
			}
			got := [...]int64{agreement.Requests, agreement.Scored, agreement.SameOutcome, agreement.RejectedInBoth, agreement.PeriodWithin1ms, agreement.SizeEqual, agreement.RefusedInBoth, agreement.AlikeInBoth}
			if want := [...]int64{n, n, n, swept, swept, swept, refused, refused}; got != want {
				t.Errorf("agreement: got %v, want %v", got, want)
			}
			if refused == 0 && name != "quiet" && name != "0.9 x capacity" {
				t.Error("nothing was rejected: the test shows little")
			}
		})
	}
}

// TestRecordedArrivals come when they say: nothing delays them again, neither
// the network nor a freeze (they were seen after it).
func TestRecordedArrivals(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, at(sim.Second, 1100*ms, 5*sim.Second))
	cfg.Costs.Network = dist("7ms")
	cfg.Recorded = true
	cfg.Stalls = []model.Stall{window(model.StallProcess, 1050*ms, 1200*ms)}
	rows := follow(t, cfg).rows
	for i, want := range []sim.Time{sim.Second, 1100 * ms, 5 * sim.Second} {
		if i >= len(rows) || rows[i].Arrive != want || rows[i].Send != want {
			t.Fatalf("got %+v, want arrival %d at %v", rows, i, want)
		}
	}
	if rows[1].Enq != 1200*ms {
		t.Errorf("queued at %v, want at the end of the freeze", rows[1].Enq)
	}
}

// TestRequestsWriter: one row for each attempt in the recorded columns, empty
// where it did not happen.
func TestRequestsWriter(t *testing.T) {
	cfg := bare("4.3.2", 3*sim.Second, at(0, sim.Second, 1001*ms, 1002*ms, 1950*ms, 2001*ms))
	cfg.Costs.Network = dist("250us")
	cfg.Broker.SendThreadPoolQueueCapacity = 1
	cfg.Stalls = []model.Stall{window(model.StallAppend, sim.Second, 2500*ms)}
	var file bytes.Buffer
	w := model.NewRequestsWriter(&file)
	if _, err := model.Replicate(context.Background(), &cfg, 1, 1, model.Observer{Attempt: w.Write}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `seq,send_ns,arrive_ns,create_ms,enq_ns,qlen_enq,deq_ns,worker,lockreq_ns,lock_ns,app0_ns,app1_ns,unlock_ns,done_ns,clean_ns,sweep,resp_ns,code,outcome,period_ms,qsize
0,0,250000,0,250000,1,250000,1,250000,250000,250000,251000,251000,251000,,,501000,0,OK,,
1,1000000000,1000250000,1000,1000250000,1,1000250000,1,1000250000,1000250000,1000250000,2500000000,2500000000,2500000000,,,2500250000,0,OK,,
2,1001000000,1001250000,1001,1001250000,1,,,,,,,,,1203000000,121,1203250000,2,TIMEOUT_CLEAN_QUEUE,202,0
3,1002000000,1002250000,1002,1002250000,0,,,,,,,,,,,1002500000,2,OVERLOAD,,
4,1950000000,1950250000,1950,1950250000,1,,,,,,,,,2003000000,201,2003250000,2,PCBUSY_CLEAN_QUEUE,53,0
5,2001000000,2001250000,,,,,,,,,,,,,,2001500000,2,REJECTREQUEST,,
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(file.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRequestsWriterError: a disk that is full is told by Flush.
func TestRequestsWriterError(t *testing.T) {
	w := model.NewRequestsWriter(full{})
	a := model.Attempt{Outcome: model.OK}
	for range 10000 {
		w.Write(&a)
	}
	if err := w.Flush(); err == nil || err.Error() != "no space left" {
		t.Errorf("got %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left") }

func TestParseOutcome(t *testing.T) {
	for o := model.OK; o <= model.Other; o++ {
		if got, ok := model.ParseOutcome(o.String()); !ok || got != o {
			t.Errorf("%v: got %v %v", o, got, ok)
		}
	}
	for _, s := range []string{"", "ok", "TIMEOUT"} {
		if _, ok := model.ParseOutcome(s); ok {
			t.Errorf("%q is no outcome", s)
		}
	}
	for _, q := range model.SweptQueueNames() {
		if got, ok := model.ParseSweptQueue(q); !ok || got.String() != q {
			t.Errorf("%s: got %v %v", q, got, ok)
		}
	}
	if _, ok := model.ParseSweptQueue("query"); ok {
		t.Error("query is not swept in any release")
	}
}
