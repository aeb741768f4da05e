package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"brokersim/model"
	"brokersim/plots/numeral"
)

// A sweep comes every 10 ms (BrokerFastFailure.start, all releases), so a send at
// the head of the queue is answered within 10 ms of the limit.
const sweepPeriodMs = 10

// sweptOutcomes are the answers that state a period and a size.
var sweptOutcomes = []model.Outcome{model.PCBusyCleanQueue, model.TimeoutCleanQueue}

// sweptSends draws the period in queue and size of queue that each swept send was
// answered with.
func sweptSends(c draw.Canvas, in *Input) {
	r := in.Recorder
	periodMin, periodMax, sizeMin, sizeMax, n := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1), 0
	eachSwept(r, func(_ model.Outcome, period, size float64) {
		periodMin, periodMax = math.Min(periodMin, period), math.Max(periodMax, period)
		sizeMin, sizeMax = math.Min(sizeMin, size), math.Max(sizeMax, size)
		n++
	})
	limit, _ := in.limits()
	var legend []entry
	for _, o := range []model.Outcome{model.TimeoutCleanQueue, model.PCBusyCleanQueue} {
		if r.counts[o] > 0 {
			legend = append(legend, markEntry(outcomeStyle(o), o.String()+" "+numeral.Count(r.counts[o])))
		}
	}
	if limit > 0 {
		legend = append(legend, bandEntry(paleGrey, "swept on time: the limit, and up to 10 ms more"))
	}
	for _, o := range []model.Outcome{model.RejectRequest, model.Overload, model.PCSynchronized} {
		if r.counts[o] > 0 {
			legend = append(legend, markEntry(outcomeStyle(o), o.String()+" "+numeral.Count(r.counts[o])+", has no period"))
		}
	}
	var notes []string
	if total := r.counts[model.TimeoutCleanQueue] + r.counts[model.PCBusyCleanQueue]; total > shapedLimit {
		notes = append(notes, "Each of the "+numeral.Count(total)+" swept sends has its mark; those nearer than a mark share it.")
	}
	c = frame(c, in.Name+": period in queue and size of queue of each swept send", in.subtitle(), legend, notes)
	c.Max.Y -= 14
	c.Max.X -= rightMargin

	if n == 0 {
		periodMin, periodMax, sizeMin, sizeMax = limit, limit+sweepPeriodMs, 0, 10
	}
	from, to := math.Min(periodMin, limit), math.Max(periodMax, limit+sweepPeriodMs)
	pad := math.Max((to-from)*0.04, 4)
	if from -= pad; from < 40 && to > 80 || from < 0 {
		from = -pad / 2
	}
	p := panel(
		linear(from, to+pad, 10), "period in queue (ms)",
		sizes(sizeMin, sizeMax))
	dropNegative(&p.X)
	dropFractions(&p.Y)
	if limit > 0 {
		p.Add(layer(func(c draw.Canvas, p *plot.Plot) { drawOnTime(c, p, limit) }))
	}
	p.Add(layer(func(c draw.Canvas, p *plot.Plot) { drawSwept(c, p, r) }))
	if limit > 0 && n > shapedLimit { // they may hide them
		p.Add(layer(func(c draw.Canvas, p *plot.Plot) { drawEdges(c, p, limit) }))
	}
	if n > 0 && n <= 6 {
		p.Add(layer(func(c draw.Canvas, p *plot.Plot) { labelSwept(c, p, r) }))
	}
	p.Draw(besideLabel(c))
	inner := p.DataCanvas(besideLabel(c))
	labelY(c, inner, "size of queue (sends)")
	switch {
	case r.rejectedCount() == 0:
		empty(inner, "no send was rejected")
	case n == 0:
		empty(inner, "no send was swept")
	}
}

// sizes is an axis fitted to these sizes of queue, from 0 on unless all lie far
// from it.
func sizes(least, most float64) axis {
	if least < most/2 || most < 10 {
		least = 0
	}
	span := math.Max(most-least, 4)
	return linear(least-span*0.04, most+span*0.12, 6)
}

// eachSwept visits period and size of the swept sends.
func eachSwept(r *Recorder, visit func(o model.Outcome, period, size float64)) {
	for _, a := range r.rejected {
		if swept(a.outcome) {
			visit(a.outcome, float64(a.periodMs), float64(a.size))
		}
	}
	for _, o := range sweptOutcomes {
		if r.beyond[o] == nil {
			continue
		}
		g := r.beyond[o].period
		g.each(func(col, row int64) { visit(o, float64(col*g.xw), float64(row*g.yw)) })
	}
}

// drawOnTime shades [limit, limit+10) and labels both edges above the data.
func drawOnTime(c draw.Canvas, p *plot.Plot, limit float64) {
	x0, x1 := c.X(p.X.Norm(limit)), c.X(p.X.Norm(limit+sweepPeriodMs))
	c.SetColor(paleGrey)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: c.Min.Y}, Max: vg.Point{X: x1, Y: c.Max.Y}}.Path())
	drawEdges(c, p, limit)
	words(c, smallFont, black, x0+2, c.Max.Y+5, 1, "limit "+numeral.Short(limit)+" ms")
	words(c, smallFont, darkGrey, max(x1-2, x0+8), c.Max.Y+5, 0, "limit + 10 ms")
}

func drawEdges(c draw.Canvas, p *plot.Plot, limit float64) {
	x0, x1 := c.X(p.X.Norm(limit)), c.X(p.X.Norm(limit+sweepPeriodMs))
	c.StrokeLine2(limitStyle, x0, c.Min.Y, x0, c.Max.Y)
	c.StrokeLine2(draw.LineStyle{Color: darkGrey, Width: 1, Dashes: []vg.Length{2, 3}}, x1, c.Min.Y, x1, c.Max.Y)
}

func drawSwept(c draw.Canvas, p *plot.Plot, r *Recorder) {
	x, y := p.Transforms(&c)
	var sets [model.Outcomes]*markSet
	for _, o := range sweptOutcomes {
		sets[o] = newMarkSet(outcomeStyle(o), c.Rectangle)
	}
	eachSwept(r, func(o model.Outcome, period, size float64) { sets[o].add(x(period), y(size)) })
	drawSets(c, sets[:])
}

// labelSwept writes its numbers beside each of a few marks, where there is
// room.
func labelSwept(c draw.Canvas, p *plot.Plot, r *Recorder) {
	x, y := p.Transforms(&c)
	var taken []vg.Rectangle
	eachSwept(r, func(_ model.Outcome, period, size float64) {
		text := numeral.Count(int64(period)) + " ms, size " + numeral.Count(int64(size))
		at := vg.Point{X: x(period) + 8, Y: y(size) - 4}
		w := wordsWidth(smallFont, text)
		if at.X+w > c.Max.X {
			at.X = x(period) - 8 - w
		}
		box := vg.Rectangle{Min: vg.Point{X: at.X - 3, Y: at.Y - 3}, Max: vg.Point{X: at.X + w + 3, Y: at.Y + 13}}
		for _, o := range taken {
			if box.Min.X < o.Max.X && box.Max.X > o.Min.X && box.Min.Y < o.Max.Y && box.Max.Y > o.Min.Y {
				return
			}
		}
		taken = append(taken, box)
		words(c, smallFont, black, at.X, at.Y, 0, text)
	})
}

// dropNegative and dropFractions take away ticks that no count or duration can have.
func dropNegative(a *plot.Axis) {
	keepTicks(a, func(v float64) bool { return v >= 0 })
}

func dropFractions(a *plot.Axis) {
	keepTicks(a, func(v float64) bool { return v >= 0 && v == math.Trunc(v) })
}

func keepTicks(a *plot.Axis, keep func(float64) bool) {
	var kept plot.ConstantTicks
	for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		if keep(t.Value) {
			kept = append(kept, t)
		}
	}
	a.Tick.Marker = kept
}
