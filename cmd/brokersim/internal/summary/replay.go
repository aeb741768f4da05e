package summary

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/plots/numeral"
)

// WriteReplay prints how far a replay agrees with its recording; where the
// recording has no outcome, what was simulated.
func WriteReplay(w io.Writer, style ui.Style, in Input, a *recording.Agreement) error {
	if a.Scored == 0 {
		in.Result.Warnings = append(in.Result.Warnings, "the recording has no outcomes: there is nothing to compare with")
		return Write(w, style, in)
	}
	out := bufio.NewWriter(w)
	p := &printer{Writer: out, style: style, Input: in}
	p.verdict(replayVerdict(in.Result, a))
	p.agreement(a)
	p.sojourn(a)
	p.confusion(a)
	p.differences(a)
	p.waiting()
	p.thresholds()
	p.warnings()
	p.wrote()
	fmt.Fprintf(p, "\n%s\n", in.Repeat)
	return out.Flush()
}

func replayVerdict(r *model.Result, a *recording.Agreement) string {
	have := "have"
	if a.SameOutcome == 1 {
		have = "has"
	}
	s := fmt.Sprintf("%s of %s %s the recorded outcome (%s %%)",
		numeral.Count(a.SameOutcome), numeral.Plural(a.Scored, "request"), have, numeral.Share(a.SameOutcome, a.Scored))
	if a.RejectedInEither > 0 {
		s += fmt.Sprintf("; of %s rejected in either, %s alike in both", numeral.Count(a.RejectedInEither), numeral.Count(a.AlikeInBoth))
	}
	if r.Partial {
		s = "interrupted; " + s
	}
	return s
}

func (p *printer) agreement(a *recording.Agreement) {
	p.heading("Agreement")
	t := ui.NewTable("", ">requests", ">of", ">share, %")
	for _, line := range []struct {
		name string
		k, n int64
	}{
		{"same outcome", a.SameOutcome, a.Scored},
		{"rejected in either: the same kind in both", a.AlikeInBoth, a.RejectedInEither},
		{"swept in both: period in queue within 1 ms", a.PeriodWithin1ms, a.RejectedInBoth},
		{"swept in both: size of queue equal", a.SizeEqual, a.RejectedInBoth},
	} {
		t.Row(line.name, numeral.Count(line.k), numeral.Count(line.n), numeral.Share(line.k, line.n))
	}
	t.Write(p, 2, p.style.Width)
}

// sojourn compares how long the requests that were executed took.
func (p *printer) sojourn(a *recording.Agreement) {
	if len(a.Sojourn) == 0 {
		return
	}
	p.heading("Arrival to answer, of the requests that a send thread answered")
	t := ui.NewTable("", ">recorded, ms", ">simulated, ms", ">difference, %")
	for i := range a.Sojourn {
		q := &a.Sojourn[i]
		t.Row(fmt.Sprintf("p%g", 100*q.P), fmt.Sprintf("%.3f", q.Recorded), fmt.Sprintf("%.3f", q.Simulated), fmt.Sprintf("%+.1f", q.Off()))
	}
	t.Write(p, 2, p.style.Width)
}

// confusion is the table of recorded outcomes by simulated ones.
func (p *printer) confusion(a *recording.Agreement) {
	var names []string // in the order of model.Outcome
	counts := map[[2]string]int64{}
	for _, c := range a.Confusion {
		counts[[2]string{c.Recorded, c.Simulated}] = c.Count
	}
	for o := model.OK; o <= model.Other; o++ {
		if slices.ContainsFunc(a.Confusion, func(c recording.Cell) bool { return c.Recorded == o.String() || c.Simulated == o.String() }) {
			names = append(names, o.String())
		}
	}
	p.heading("Outcomes: recorded in rows, simulated in columns")
	heads := []string{""}
	for _, name := range names {
		heads = append(heads, ">"+name)
	}
	t := ui.NewTable(heads...)
	for _, recorded := range names {
		cells := []string{recorded}
		for _, simulated := range names {
			cell := ""
			if n := counts[[2]string{recorded, simulated}]; n > 0 {
				cell = numeral.Count(n)
			}
			cells = append(cells, cell)
		}
		t.Row(cells...)
	}
	t.Write(p, 2, p.style.Width)
}

// differenceMost is the largest difference that an Agreement lists apart.
const differenceMost = 10

// differences are those of what both rejected.
func (p *printer) differences(a *recording.Agreement) {
	if a.RejectedInBoth == 0 {
		return
	}
	by := map[int64][2]int64{}
	var keys []int64
	for i, list := range [][]recording.Difference{a.PeriodDifferenceMs, a.SizeDifference} {
		for _, d := range list {
			counts, there := by[d.By]
			if !there {
				keys = append(keys, d.By)
			}
			counts[i] = d.Count
			by[d.By] = counts
		}
	}
	slices.Sort(keys)
	p.heading("Swept in both: simulated less recorded")
	t := ui.NewTable(">", ">period in queue, ms", ">size of queue")
	for _, k := range keys {
		t.Row(signed(k), numeral.Count(by[k][0]), numeral.Count(by[k][1]))
	}
	t.Write(p, 2, p.style.Width)
	if first, last := keys[0], keys[len(keys)-1]; first <= -differenceMost || last >= differenceMost {
		p.note("%d stands for %d and more", differenceMost, differenceMost)
	}
}

// signed prints a difference with its sign, but 0.
func signed(n int64) string {
	if n > 0 {
		return "+" + numeral.Count(n)
	}
	return numeral.Count(n)
}
