package summary

import (
	"cmp"
	"fmt"
	"slices"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots/numeral"
	"brokersim/sim"
)

// stage is a part of a send's way.
type stage int

const (
	wayIn stage = iota
	inQueue
	atThread
	atLock
	inAppend
	afterPut
	wayBack
	stages
)

// stageWords say what a stage is called, and what it is.
var stageWords = [stages][2]string{
	wayIn:    {"way in", "network, or a frozen broker: before createTimestamp"},
	inQueue:  {"send queue", "until a send thread took it, or the sweeper"},
	atThread: {"send thread", "parsing and checks"},
	atLock:   {"put lock", "others held it"},
	inAppend: {"append", "it held the put lock itself"},
	afterPut: {"after the put", "for a flush or a slave, and the answer"},
	wayBack:  {"way back", "network"},
}

// way is how long an attempt was in each stage, until the broker was done with
// it and its answer had come.
func way(a *model.Attempt) (w [stages]sim.Time) {
	at := a.Send
	pass := func(s stage, until sim.Time) {
		if until > at {
			w[s] += until - at
			at = until
		}
	}
	pass(wayIn, a.Arrive)
	pass(inQueue, max(a.Deq, a.Clean))
	pass(atThread, a.LockReq)
	pass(atLock, a.Lock)
	pass(inAppend, a.Unlock)
	if a.Lock == model.Absent {
		pass(atThread, a.Done)
	}
	pass(afterPut, a.Done)
	pass(wayBack, a.Resp)
	return w
}

// timeouts are the attempts whose producers gave up.
type timeouts struct {
	count, lost int64            // lost: the broker lost the answer
	in          [stages]sim.Time // of the others
	first, last model.Attempt    // of the first and the last that was sent
}

func (t *timeouts) add(a *model.Attempt) {
	if t.count == 0 || a.Send < t.first.Send {
		t.first = *a
	}
	if t.count == 0 || a.Send >= t.last.Send {
		t.last = *a
	}
	t.count++
	if a.Outcome == model.NoAnswer {
		t.lost++
		return
	}
	for s, d := range way(a) {
		t.in[s] += d
	}
}

func (t *timeouts) total() (total sim.Time) {
	for _, d := range t.in {
		total += d
	}
	return total
}

// most is where they were for longest, and the part of their time.
func (t *timeouts) most() (most stage, part float64) {
	for s := range stages {
		if t.in[s] > t.in[most] {
			most = s
		}
	}
	return most, float64(t.in[most]) / float64(max(t.total(), 1))
}

// timedOut counts what timed out at the producer, and says what became of it and
// why it took so long.
func (p *printer) timedOut() string {
	n, stored := p.Result.Attempts.ClientTimeout, p.Result.Late.Stored
	s := fmt.Sprintf("%s timed out at the producer, ", numeral.Count(n))
	switch {
	case n == 1 && stored == 1:
		s += "and was stored"
	case n == stored:
		s += "all of them stored"
	case stored == 0:
		s += "not stored"
	default:
		s += numeral.Count(stored) + " of them stored"
	}
	switch t := &p.Story.timeouts; {
	case t.count == 0:
	case 2*t.lost > t.count:
		s += fmt.Sprintf("; %s lost at the broker", numeral.Plural(t.lost, "answer"))
	default:
		most, part := t.most()
		s += fmt.Sprintf(", %s %% of the time%s: %s", numeral.Percent(part), ofFirst(p.Result), stageWords[most][0])
	}
	return s
}

// rows tell of the first and the last whose producers gave up.
func (t *timeouts) rows(add func(at sim.Time, format string, args ...any), atBroker func(int32) string) {
	became := func(a *model.Attempt) string {
		end := max(a.Done, a.Clean, a.Unlock, a.Arrive)
		switch {
		case a.Outcome.Rejected():
			return "rejected at " + numeral.Seconds(end)
		case a.Outcome == model.OK || a.Outcome == model.NoAnswer:
			return "stored at " + numeral.Seconds(end)
		}
		return fmt.Sprintf("%v at %s", a.Outcome, numeral.Seconds(end))
	}
	switch t.count {
	case 0:
	case 1:
		add(t.first.Send, "sent: the one that times out at its producer (seq %d%s): %s", t.first.Seq, atBroker(t.first.Broker), became(&t.first))
	default:
		add(t.first.Send, "sent: first of %s that time out at their producers (seq %d%s): %s",
			numeral.Count(t.count), t.first.Seq, atBroker(t.first.Broker), became(&t.first))
		add(t.last.Send, "sent: last of those that time out (seq %d%s): %s", t.last.Seq, atBroker(t.last.Broker), became(&t.last))
	}
}

// timeouts says why sends timed out at the producer: where they were, as far
// as it is worth a line.
func (p *printer) timeouts() {
	t := &p.Story.timeouts
	total := t.total()
	answered := t.count - t.lost
	switch {
	case t.count == 0 || answered > 0 && total == 0:
		return
	case answered == 0:
		p.heading("Why sends timed out at the producer%s", ofFirst(p.Result))
	default:
		p.heading("Why sends timed out at the producer%s: %s, %s ms each until answered",
			ofFirst(p.Result), numeral.Plural(answered, "send"), numeral.Digits(total.Milliseconds()/float64(answered)))
		table := ui.NewTable("", "", ">share, %")
		for _, s := range t.greatestFirst() {
			table.Row(stageWords[s][0], stageWords[s][1], numeral.Percent(float64(t.in[s])/float64(total)))
		}
		table.Write(p, 2, p.style.Width)
	}
	if t.lost > 0 {
		p.text(2, 2, plain, fmt.Sprintf("%s lost at the broker: dropped with the callback that was to write it", numeral.Plural(t.lost, "answer")))
	}
}

// greatestFirst lists the stages that took a share to speak of.
func (t *timeouts) greatestFirst() (list []stage) {
	least := t.total() / 10_000
	for s := range stages {
		if t.in[s] > least {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b stage) int { return cmp.Compare(t.in[b], t.in[a]) })
	return list
}
