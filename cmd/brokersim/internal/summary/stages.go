package summary

import (
	"cmp"
	"fmt"
	"math/bits"
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

// stageTimes are times by stage, of one attempt or of several.
type stageTimes [stages]sim.Time

func (t *stageTimes) add(o *stageTimes) {
	for s, d := range o {
		t[s] += d
	}
}

func (t *stageTimes) total() (total sim.Time) {
	for _, d := range t {
		total += d
	}
	return total
}

// most is the longest, and its part of all.
func (t *stageTimes) most() (most stage, part float64) {
	for s := range stages {
		if t[s] > t[most] {
			most = s
		}
	}
	return most, float64(t[most]) / float64(max(t.total(), 1))
}

// greatestFirst lists the stages that took a share to speak of.
func (t *stageTimes) greatestFirst() (list []stage) {
	least := t.total() / 10_000
	for s := range stages {
		if t[s] > least {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b stage) int { return cmp.Compare(t[b], t[a]) })
	return list
}

// stages prints the shares, the greatest first.
func (p *printer) stages(t *stageTimes) {
	total := float64(t.total())
	table := ui.NewTable("", "", ">share, %")
	for _, s := range t.greatestFirst() {
		table.Row(stageWords[s][0], stageWords[s][1], numeral.Percent(float64(t[s])/total))
	}
	table.Write(p, 2, p.style.Width)
}

// way is how long an attempt was in each stage, until the broker was done with
// it and its answer had come.
func way(a *model.Attempt) (w stageTimes) {
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
	count, lost int64         // lost: the broker lost the answer
	in          stageTimes    // of the others
	first, last model.Attempt // of the first and the last that was sent
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
	w := way(a)
	t.in.add(&w)
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
		most, part := t.in.most()
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
	total := t.in.total()
	answered := t.count - t.lost
	switch {
	case t.count == 0 || answered > 0 && total == 0:
		return
	case answered == 0:
		p.heading("Why sends timed out at the producer%s", ofFirst(p.Result))
	default:
		p.heading("Why sends timed out at the producer%s: %s, %s ms each until answered",
			ofFirst(p.Result), numeral.Plural(answered, "send"), numeral.Digits(total.Milliseconds()/float64(answered)))
		p.stages(&t.in)
	}
	if t.lost > 0 {
		p.text(2, 2, plain, fmt.Sprintf("%s lost at the broker: dropped with the callback that was to write it", numeral.Plural(t.lost, "answer")))
	}
}

// latencies are the successful attempts by how long they took, four cells to
// the octave.
type latencies struct {
	count int64
	cells [64 * 4]struct {
		count int64
		in    stageTimes
	}
}

func (l *latencies) add(a *model.Attempt) {
	w := way(a)
	cell := &l.cells[latencyCell(a.Resp-a.Send)]
	l.count++
	cell.count++
	cell.in.add(&w)
}

func latencyCell(d sim.Time) int {
	n := max(uint64(d), 4)
	octave := bits.Len64(n)
	return octave<<2 | int(n>>(octave-3))&3
}

func latencyCellLeast(cell int) sim.Time { return sim.Time(4|cell&3) << (cell>>2 - 3) }

// slowest sums up the slowest 1 %, or a little more: whole cells.
func (l *latencies) slowest() (count int64, in stageTimes, least sim.Time) {
	for i := len(l.cells) - 1; i >= 0 && 100*count < l.count; i-- {
		if c := &l.cells[i]; c.count > 0 {
			count += c.count
			in.add(&c.in)
			least = latencyCellLeast(i)
		}
	}
	return count, in, least
}

// slowestLeast is the latency from which slow sends are worth a table, where
// nothing went wrong.
const slowestLeast = 10 * sim.Millisecond

// slowest says where the slowest sends were, if none was rejected and none timed
// out: that is told of those.
func (p *printer) slowest() {
	s := p.Story
	if s.rejected > 0 || s.timeouts.count > 0 {
		return
	}
	count, in, least := s.latencies.slowest()
	if least < slowestLeast {
		return
	}
	p.heading("Where the slowest sends were%s: %s of %s ms or more", ofFirst(p.Result), numeral.Plural(count, "send"), numeral.Digits(least.Milliseconds()))
	p.stages(&in)
}
