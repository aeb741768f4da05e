package summary

import (
	"bufio"
	"fmt"
	"io"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/sim"
	"brokersim/sim/stat"
)

// Live is what a live run has to tell beside its result: how late its own
// clockwork was, in ns.
type Live struct {
	Arrivals *stat.Histogram // behind their instants
	Sweeps   *stat.Histogram // behind their schedule
}

// WriteLive prints the summary of runs on the wall clock.
func WriteLive(w io.Writer, style ui.Style, in Input, live Live) error {
	out := bufio.NewWriter(w)
	p := &printer{Writer: out, style: style, Input: in}
	p.verdict(p.answer())
	p.story()
	p.timeouts()
	p.slowest()
	p.attempts()
	p.messages()
	p.times()
	p.thresholds()
	p.clockwork(live)
	p.warnings()
	p.wrote()
	fmt.Fprintf(p, "\n%s\n", in.Repeat)
	return out.Flush()
}

// clockwork tells how late arrivals and sweeps were: the quantiles, and how the
// arrivals are spread.
func (p *printer) clockwork(live Live) {
	p.heading("Clockwork: late by, in us")
	t := ui.NewTable("", ">p50", ">p90", ">p99", ">p99.9", ">max", ">count")
	for _, line := range []struct {
		name string
		h    *stat.Histogram
	}{{"arrivals", live.Arrivals}, {"sweeps", live.Sweeps}} {
		if line.h.Count() == 0 {
			continue
		}
		cells := []string{line.name}
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
			cells = append(cells, numeral.Digits(float64(line.h.Quantile(q))/1e3))
		}
		t.Row(append(cells, numeral.Count(line.h.Count()))...)
	}
	t.Write(p, 2, p.style.Width)
	if live.Arrivals.Count() == 0 {
		return
	}
	p.heading("Arrivals late by")
	t = ui.NewTable("", ">", ">share, %")
	bounds := []sim.Time{sim.Microsecond, 10 * sim.Microsecond, 100 * sim.Microsecond, sim.Millisecond, 10 * sim.Millisecond}
	counts := make([]int64, len(bounds)+1)
	live.Arrivals.Each(func(value, count int64) {
		i := 0
		for i < len(bounds) && value > int64(bounds[i]) {
			i++
		}
		counts[i] += count
	})
	for i, n := range counts {
		name := "more"
		if i < len(bounds) {
			name = "up to " + numeral.Duration(bounds[i])
		}
		t.Row(name, numeral.Count(n), numeral.Share(n, live.Arrivals.Count()))
	}
	t.Write(p, 2, p.style.Width)
	p.note("On the wall clock: no other run gives the same.")
}
