package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"brokersim/model"
	"brokersim/plots/numeral"
	"brokersim/sim"
)

const (
	// Sojourn times below this are drawn at the foot of the axis.
	sojournFloorMs = 0.001
	// Sweeps closer than this aren't told apart.
	tickApart = vg.Length(3)

	rightMargin = vg.Length(58)
	stripHeight = vg.Length(14)
)

// timeline draws each send at its time, as high as its sojourn time.
func timeline(c draw.Canvas, in *Input) {
	r := in.Recorder
	w := in.window()
	stalls := r.stallsIn(w)
	data := timelineData(in, w)

	title := in.Name + ": how long each send took, " + in.span(w)
	if w.part {
		title += ", around the first incident"
	}
	legend := r.outcomeEntries()
	legend = append(legend, stallEntries(stalls)...)
	limit, _ := in.limits()
	if limit > 0 {
		legend = append(legend, lineEntry(limitStyle, "waitTimeMillsInSendQueue"))
	}
	ticks, idle := sweepTicks(r, w)
	if len(ticks) > 0 {
		legend = append(legend, sweepEntry(idle))
	}
	c = frame(c, title, in.subtitle(), legend, timelineNotes(in, w, data.unresolved, len(ticks) > 0))
	if len(stalls) > 0 {
		c.Max.Y -= 14
	}
	c.Max.X -= rightMargin
	if w.part {
		c.Min.Y += stripHeight + 34
	}

	lo, hi := data.min, data.max
	if limit > 0 {
		lo, hi = math.Min(lo, limit), math.Max(hi, limit)
	}
	if hi < lo {
		lo, hi = 0.1, 100
	}
	first, any := r.firstRejected()
	any = any && first.t >= w.from && first.t <= w.to
	head := 1.6
	if any {
		head = 6
	}
	foot := 0.01
	if len(ticks) > 0 {
		foot = 0.07
	}
	p := panel(
		linear(w.from.Seconds(), w.to.Seconds(), 10), "time of the send (s)",
		logarithmic(logBelow(lo*0.9), hi*math.Max(head, math.Pow(hi/lo, 0.12)), foot))
	p.Add(bands(stalls, true))
	if limit > 0 {
		p.Add(level(limit, limitStyle, numeral.Short(limit)+" ms"))
	}
	p.Add(layer(func(c draw.Canvas, p *plot.Plot) { drawSends(c, p, in, w) }))
	if limit > 0 && r.rejectedCount() > shapedLimit { // they may hide it
		p.Add(level(limit, limitStyle, ""))
	}
	p.Add(layer(func(c draw.Canvas, p *plot.Plot) { drawSweeps(c, p, ticks) }))
	if any {
		p.Add(layer(func(c draw.Canvas, p *plot.Plot) { annotate(c, p, first) }))
	}
	p.Draw(besideLabel(c))
	inner := p.DataCanvas(besideLabel(c))
	labelY(c, inner, "latency (sojourn time), call to answer (ms)")
	if r.sent() == 0 {
		empty(inner, "no send in this run")
	}
	if w.part {
		inner.Min.Y = c.Min.Y - stripHeight - 14
		inner.Max.Y = inner.Min.Y + stripHeight
		contextStrip(inner, in, w)
	}
}

var (
	idleTick     = draw.LineStyle{Color: grey, Width: 0.75}
	answeredTick = draw.LineStyle{Color: vermilion, Width: 1.6}
)

var limitStyle = draw.LineStyle{Color: black, Width: 1.2, Dashes: []vg.Length{6, 3}}

func timelineNotes(in *Input, w window, unresolved, ticks bool) (notes []string) {
	r := in.Recorder
	rejectedTotal := r.rejectedCount()
	if w.part {
		notes = append(notes, "Counts are of the whole run.")
	}
	switch {
	case rejectedTotal == 0:
		notes = append(notes, "No send was rejected.")
	case rejectedTotal > shapedLimit:
		notes = append(notes, "Each of the "+numeral.Count(rejectedTotal)+" rejected sends has its mark; those nearer than a mark share it.")
	}
	switch v := r.viewFor(w); {
	case !v.thinned:
	case w.part:
		notes = append(notes, "Accepted sends are thinned.")
	default:
		notes = append(notes, "Accepted sends are thinned: "+numeral.Count(int64(len(v.samples)))+" of "+numeral.Count(r.sent()-rejectedTotal)+" drawn.")
	}
	if !ticks && len(r.sweeps) > 0 {
		notes = append(notes, "Sweeps, every 10 ms, are too close to show.")
	}
	if r.unplaced > 0 {
		notes = append(notes, numeral.Count(r.unplaced)+" without an answer not shown.")
	}
	if unresolved {
		notes = append(notes, "Latencies under 1 us are drawn as 1 us.")
	}
	return append(notes, r.stallNotes()...)
}

// sendRange is the range of the sojourn times in a window.
type sendRange struct {
	min, max   float64
	unresolved bool // some lie below the floor
}

func timelineData(in *Input, w window) sendRange {
	d := sendRange{min: math.Inf(1), max: math.Inf(-1)}
	eachSend(in, w, func(_ model.Outcome, _, ms float64) {
		if ms < sojournFloorMs {
			ms, d.unresolved = sojournFloorMs, true
		}
		d.min, d.max = math.Min(d.min, ms), math.Max(d.max, ms)
	})
	return d
}

// classOutcomes stand for the classes of accepted sends.
var classOutcomes = [classes]model.Outcome{stored: model.OK, late: model.NoAnswer, another: model.FlushDiskTimeout}

// eachSend visits what is to be drawn: seconds, ms. Cells of rejected sends come as
// points, several where the window shows a cell wider than a mark.
func eachSend(in *Input, w window, visit func(o model.Outcome, s, ms float64)) {
	r := in.Recorder
	r.samples(w, func(s sample) {
		visit(classOutcomes[s.class], s.t.Seconds(), float64(s.sojourn))
	})
	for _, a := range r.rejected {
		if a.t >= w.from && a.t <= w.to {
			visit(a.outcome, a.t.Seconds(), float64(a.sojourn))
		}
	}
	grain := max((w.to-w.from)/600, 1)
	for _, o := range rejections {
		if r.beyond[o] == nil {
			continue
		}
		g := r.beyond[o].time
		g.each(func(col, row int64) {
			ms := float64(logRowStart(row*g.yw, sojournK)) / 1000
			from, to := max(sim.Time(col*g.xw), w.from), min(sim.Time((col+1)*g.xw), w.to)
			for t := from; t < to; t += grain {
				visit(o, (t + min(grain, to-t)/2).Seconds(), ms)
			}
		})
	}
}

// drawSends draws accepted sends first, rejected ones over them.
func drawSends(c draw.Canvas, p *plot.Plot, in *Input, w window) {
	var sets [model.Outcomes]*markSet
	x, y := p.Transforms(&c)
	eachSend(in, w, func(o model.Outcome, s, ms float64) {
		if sets[o] == nil {
			sets[o] = newMarkSet(outcomeStyle(o), c.Rectangle)
		}
		sets[o].add(x(s), y(math.Max(ms, sojournFloorMs)))
	})
	for _, o := range classOutcomes {
		drawSets(c, sets[o:o+1])
	}
	drawSets(c, sets[model.TimeoutCleanQueue:model.PCSynchronized+1])
}

// sweepTicks returns the sweeps to draw: all where a window shows them apart, else
// those that answered, else none; and whether idle ones are among them.
func sweepTicks(r *Recorder, w window) (ticks []sweep, idle bool) {
	room := int((width - 150) / tickApart)
	var answered []sweep
	for _, s := range r.sweeps {
		if s.start < w.from || s.start > w.to {
			continue
		}
		ticks = append(ticks, s)
		if s.answered > 0 {
			answered = append(answered, s)
		}
	}
	switch {
	case len(ticks) <= room:
		return ticks, len(ticks) > len(answered)
	case len(answered) <= room:
		return answered, false
	default:
		return nil, false
	}
}

// drawSweeps draws ticks at the foot of the data, tall ones for sweeps that answered.
func drawSweeps(c draw.Canvas, p *plot.Plot, ticks []sweep) {
	for _, answered := range []bool{false, true} {
		var path vg.Path
		style, tall := idleTick, vg.Length(6)
		if answered {
			style, tall = answeredTick, 14
		}
		for _, s := range ticks {
			if (s.answered > 0) == answered {
				x := c.X(p.X.Norm(s.start.Seconds()))
				path.Move(vg.Point{X: x, Y: c.Min.Y})
				path.Line(vg.Point{X: x, Y: c.Min.Y + tall})
			}
		}
		if path != nil {
			c.SetLineStyle(style)
			c.Stroke(path)
		}
	}
}

// sweepEntry shows ticks as they are drawn.
func sweepEntry(idle bool) entry {
	label := "sweep that answered"
	if idle {
		label = "sweep (tall: it answered)"
	}
	return entry{label, func(c draw.Canvas, at vg.Rectangle) {
		c.StrokeLine2(answeredTick, at.Max.X-4, at.Min.Y, at.Max.X-4, at.Max.Y)
		if idle {
			c.StrokeLine2(idleTick, at.Min.X+4, at.Min.Y, at.Min.X+4, at.Min.Y+6)
			c.StrokeLine2(idleTick, at.Min.X+10, at.Min.Y, at.Min.X+10, at.Min.Y+6)
		}
	}}
}

// annotate names the first rejected send above all data.
func annotate(c draw.Canvas, p *plot.Plot, a reject) {
	text := "first rejected: " + a.outcome.String()
	if swept(a.outcome) {
		text = "first rejected: " + numeral.Count(int64(a.periodMs)) + " ms, size " + numeral.Count(int64(a.size))
	}
	x, y := c.X(p.X.Norm(a.t.Seconds())), c.Y(p.Y.Norm(math.Max(float64(a.sojourn), sojournFloorMs)))
	w := wordsWidth(labelFont, text)
	left := min(max(x-w/2, c.Min.X+4), c.Max.X-w-4)
	top := c.Max.Y - 20
	if y+7 < top-4 {
		c.StrokeLine2(draw.LineStyle{Color: vermilion, Width: 1}, x, y+7, x, top-4)
	}
	words(c, labelFont, vermilion, left, top, 0, text)
}

// contextStrip shows the whole run in a strip: stalls, rejections and the
// window.
func contextStrip(c draw.Canvas, in *Input, w window) {
	r := in.Recorder
	end := in.horizon()
	whole := plot.New()
	whole.X.Min, whole.X.Max = 0, end.Seconds()
	bands(r.stallsIn(window{to: end}), false)(c, whole)

	size := c.Max.X - c.Min.X
	marks := newCells(int(size/0.75)+1, 1, 1, 1)
	eachRejectedTime(r, func(t sim.Time) {
		marks.add(int64(float64(size/0.75)*(float64(t)/float64(end))), 0)
	})
	var path vg.Path
	marks.each(func(col, _ int64) {
		x := c.Min.X + 0.75*vg.Length(col)
		path = append(path, vg.Rectangle{Min: vg.Point{X: x, Y: c.Min.Y}, Max: vg.Point{X: x + 1, Y: c.Max.Y}}.Path()...)
	})
	fill(c, vermilion, path)
	border(c, c.Rectangle, grey, 0.8)
	x0, x1 := c.X(whole.X.Norm(w.from.Seconds())), c.X(whole.X.Norm(w.to.Seconds()))
	border(c, vg.Rectangle{Min: vg.Point{X: x0, Y: c.Min.Y - 2}, Max: vg.Point{X: max(x1, x0+2), Y: c.Max.Y + 2}}, blue, 1.6)
	words(c, smallFont, darkGrey, c.Min.X-6, c.Min.Y+3, 1, "run")
	words(c, smallFont, darkGrey, c.Min.X, c.Min.Y-14, 0, "0 s")
	words(c, smallFont, darkGrey, c.Max.X, c.Min.Y-14, 1, seconds(end, 1))
	words(c, smallFont, darkGrey, c.Center().X, c.Min.Y-14, 0.5, "the whole run: stalls, rejected sends; boxed: shown above")
}

func eachRejectedTime(r *Recorder, visit func(t sim.Time)) {
	for _, a := range r.rejected {
		visit(a.t)
	}
	for _, b := range r.beyond {
		if b != nil {
			b.time.each(func(col, _ int64) { visit(sim.Time(col*b.time.xw + b.time.xw/2)) })
		}
	}
}

func border(c draw.Canvas, at vg.Rectangle, col color.Color, w vg.Length) {
	c.SetLineStyle(draw.LineStyle{Color: col, Width: w})
	c.Stroke(at.Path())
}
