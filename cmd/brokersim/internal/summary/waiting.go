package summary

import (
	"fmt"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots"
	"brokersim/plots/numeral"
	"brokersim/sim"
)

// causeWords say what it is that sends waited for.
var causeWords = map[model.Cause]string{
	model.CauseIdle:        "a send thread was idle, and had to wake",
	model.CauseBacklog:     "the send threads worked on earlier sends",
	model.CauseCPU:         "a send thread was ready, and had no core",
	model.CauseLock:        "send threads waited for each other's appends",
	model.CauseAppendStall: "an append stood still, and held the put lock",
	model.CauseRoll:        "a put waited for the next file, and held the put lock",
	model.CausePool:        "it had no buffer left",
	model.CauseFlush:       "send threads waited for the disk (SYNC_FLUSH)",
	model.CauseReplica:     "send threads waited for the slave (SYNC_MASTER)",
	model.CauseGC:          "the JVM stood still",
	model.CauseSteal:       "the virtual machine stood still",
	model.CauseFreeze:      "the process stood still",
	model.CauseSweep:       "old enough to be rejected, until the sweeper came",
}

// causeMeans says what a cause is.
func causeMeans(c model.Cause) string {
	if c != c.Of() {
		return "the send threads worked on what it had left behind"
	}
	return causeWords[c]
}

// causeName names with an append stall what made it, where the model does.
func (p *printer) causeName(c model.Cause) string {
	name := plots.CauseName(c)
	if by := p.Story.stalls.mainly(); by != "" && c == model.CauseAppendStall {
		name += " by " + by
	}
	return name
}

// dominant is the cause of the greatest part; of equal ones the first.
func dominant[N int64 | float64](of map[string]N) (most model.Cause, part N) {
	for _, c := range model.CauseList() {
		if n := of[c.String()]; n > part {
			most, part = c, n
		}
	}
	return most, part
}

// slowLeastMs is the waiting time from which slow sends are worth a table, where
// none was rejected.
const slowLeastMs = 1

// waiting says what the rejected sends waited for, or the slow ones, if none
// was rejected.
func (p *printer) waiting() {
	a := p.Result.Attribution
	if a == nil {
		return
	}
	r, slow := &a.Rejected, &a.Slow
	switch {
	case r.Count > 0:
		p.heading("Why the rejected sends waited: %s in the send queue, %s ms each",
			numeral.Plural(r.Count, "send"), numeral.Digits(total(r.WaitingMs)/float64(r.Count)))
		p.causes(r)
	case a.Refused == nil && slow.AtLeastMs != nil && *slow.AtLeastMs >= slowLeastMs:
		p.heading("Why the slowest sends waited: %s for %s ms or more in the send queue",
			numeral.Plural(slow.Count, "send"), numeral.Digits(*slow.AtLeastMs))
		p.causes(slow)
	}
	if f := a.Refused; f != nil {
		if r.Count == 0 {
			p.heading("Why sends were refused")
		}
		for _, c := range model.CauseList() {
			if n := f.While[c.String()]; n > 0 {
				p.text(2, 2, plain, fmt.Sprintf("%s refused without a wait; %s: %s", numeral.Plural(n, "send"), plots.CauseName(c), causeMeans(c)))
			}
		}
	}
}

// causes is a table of shares, the greatest first.
func (p *printer) causes(s *model.WaitShares) {
	heads := []string{"", "", ">share, %"}
	if s.Lo != nil {
		heads = append(heads, ">95 % interval")
	}
	t := ui.NewTable(heads...)
	rest := map[string]float64{}
	for name, share := range s.Share {
		rest[name] = share
	}
	for len(rest) > 0 {
		c, share := dominant(rest)
		name := c.String()
		delete(rest, name)
		row := []string{plots.CauseName(c), causeMeans(c), numeral.Percent(share)}
		if s.Lo != nil {
			row = append(row, numeral.Percent(s.Lo[name])+" to "+numeral.Percent(s.Hi[name]))
		}
		t.Row(row...)
	}
	t.Write(p, 2, p.style.Width)
}

func total(by map[string]float64) (sum float64) {
	for _, c := range model.CauseList() {
		sum += by[c.String()]
	}
	return sum
}

// recovery says how long stalls are felt.
func (p *printer) recovery() {
	r := p.Result.Recovery
	if r == nil {
		return
	}
	p.heading("After stalls")
	if n := r.Ms.Count; n > 0 {
		most := numeral.Duration(sim.Time(*r.Ms.Max * 1e6))
		switch {
		case *r.Ms.Max == 0:
			p.text(2, 2, plain, "send queue as short as before at once")
		case n == 1:
			p.text(2, 2, plain, fmt.Sprintf("send queue as short as before %s after the end of the stall", most))
		default:
			median := "at once"
			if half := sim.Time(r.Ms.P50.Value * 1e6); half > 0 {
				median = numeral.Duration(half)
			}
			p.text(2, 2, plain, fmt.Sprintf("send queue as short as before, after the end of each of %s: %s at the median, %s at most",
				numeral.Plural(n, "stall"), median, most))
		}
	}
	if r.NotRecovered > 0 {
		p.text(2, 2, plain, fmt.Sprintf("%s after which the send queue was never as short as before, while sends came", numeral.Plural(r.NotRecovered, "stall")))
	}
}
