package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"brokersim/plots/numeral"
	"brokersim/sim"
)

// queueLock draws the queue length above the time that the lock was held.
func queueLock(c draw.Canvas, in *Input) {
	r := in.Recorder
	w := in.window()
	stalls := r.stallsIn(w)
	columns := binColumns(&r.viewFor(w).bins, w)

	longest, shortest, held, changes := extremes(columns)
	neverHeld := held == 0
	if neverHeld {
		shortest, held = 0.01, 10
	}

	title := in.Name + ": send queue and put lock, " + in.span(w)
	if w.part {
		title += ", around the first incident"
	}
	legend := []entry{
		lineEntry(draw.LineStyle{Color: blue, Width: 2}, "sends waiting in the queue"),
		markEntry(mark{vermilion, circle, 2}, "lock held: longest in a bin"),
	}
	if !neverHeld && held/(w.to-w.from).Milliseconds() > 0.006 {
		legend = append(legend, lineEntry(draw.LineStyle{Color: vermilion, Width: 2.5}, "a long hold, from and to"))
	}
	legend = append(legend, stallEntries(stalls)...)
	_, busy := in.limits()
	if busy > 0 && busy < 50*held {
		held = math.Max(held, busy)
		legend = append(legend, lineEntry(limitStyle, "osPageCacheBusyTimeOutMills"))
	}
	notes := append([]string{"Bins of " + numeral.Duration(r.viewFor(w).width) + "."}, r.stallNotes()...)
	if r.brokers > 1 {
		notes = append(notes, "Queues of all brokers together, and the locks of all.")
	}
	c = frame(c, title, in.subtitle(), legend, notes)
	if len(stalls) > 0 {
		c.Max.Y -= 14
	}
	c.Max.X -= rightMargin

	seconds := linear(w.from.Seconds(), w.to.Seconds(), 10)
	above := panel(seconds, "", linear(0, math.Max(longest*1.08, 5), 5))
	dropFractions(&above.Y)
	above.Add(bands(stalls, true), layer(func(c draw.Canvas, p *plot.Plot) { drawQueue(c, p, columns) }))
	below := panel(seconds, "time (s)", logarithmic(logBelow(shortest*0.9), held*2, 0.02))
	below.Add(bands(stalls, false))
	if busy > 0 {
		below.Add(level(busy, limitStyle, numeral.Count(in.BusyLimitMs)+" ms"))
	}
	below.Add(layer(func(c draw.Canvas, p *plot.Plot) { drawHolds(c, p, columns) }))

	tiles := draw.Tiles{Rows: 2, Cols: 1, PadY: 10}
	plots := [][]*plot.Plot{{above}, {below}}
	areas := plot.Align(plots, tiles, besideLabel(c))
	for i := range plots {
		plots[i][0].Draw(areas[i][0])
		labelY(c, plots[i][0].DataCanvas(areas[i][0]), [...]string{"queue length (sends)", "lock held (ms)"}[i])
	}
	if changes == 0 {
		empty(above.DataCanvas(areas[0][0]), "no send was queued")
	}
	if neverHeld {
		empty(below.DataCanvas(areas[1][0]), "the lock was never held")
	}
}

// extremes are the longest queue, the shortest and the longest hold of the lock in
// ms, and how often the queue changed.
func extremes(columns []column) (longest, shortest, held float64, changes int) {
	shortest = math.Inf(1)
	for _, b := range columns {
		longest = math.Max(longest, float64(b.qmax))
		changes += int(b.changes)
		if b.held > 0 {
			held = math.Max(held, b.held.Milliseconds())
			shortest = math.Min(shortest, b.held.Milliseconds())
		}
	}
	return longest, shortest, held, changes
}

// column is a bin with its place in time, in seconds; carried is the queue
// length before it.
type column struct {
	bin
	from, to float64
	carried  int32
}

// binColumns returns the bins of a window, two to the pixel at most.
func binColumns(s *bins, w window) (columns []column) {
	var carried int32
	join := max(int((w.to-w.from)/s.width)/2000, 1)
	for i := 0; i < len(s.b); i += join {
		from := s.origin + s.width*sim.Time(i)
		to := from + s.width*sim.Time(join)
		if from > w.to {
			break
		}
		col := column{from: math.Max(from.Seconds(), w.from.Seconds()), to: math.Min(to.Seconds(), w.to.Seconds()), carried: carried}
		for j := i; j < min(i+join, len(s.b)); j++ {
			col.merge(&s.b[j])
		}
		if col.changes > 0 {
			carried = col.last
		} else {
			col.qmin, col.qmax, col.last = carried, carried, carried
		}
		if to > w.from {
			columns = append(columns, col)
		}
	}
	return columns
}

// drawQueue draws the range in each bin as a filled band with the line of its
// greatest lengths.
func drawQueue(c draw.Canvas, p *plot.Plot, columns []column) {
	x, y := p.Transforms(&c)
	for rest := columns; len(rest) > 0; rest = rest[min(len(rest), chunk):] {
		part := rest[:min(len(rest), chunk+6)] // they overlap: no seam
		upper := steps(part, x, func(b column) vg.Length { return y(float64(max(b.qmax, b.carried))) })
		lower := steps(part, x, func(b column) vg.Length { return y(float64(min(b.qmin, b.carried))) })
		slices.Reverse(lower)
		var path vg.Path
		path.Move(upper[0])
		for _, pt := range append(upper[1:], lower...) {
			path.Line(pt)
		}
		path.Close()
		fill(c, skyBlue, path)
	}
	strokeLine(c, draw.LineStyle{Color: blue, Width: 1.3},
		steps(columns, x, func(b column) vg.Length { return y(float64(max(b.qmax, b.carried))) }))
}

// steps is the line of a value that is constant in each column.
func steps(columns []column, x func(float64) vg.Length, y func(column) vg.Length) (line []vg.Point) {
	for _, b := range columns {
		at := vg.Point{X: x(b.to), Y: y(b)}
		if n := len(line); n > 0 && line[n-1].Y == at.Y {
			line[n-1].X = at.X
			continue
		}
		line = append(line, vg.Point{X: x(b.from), Y: at.Y}, at)
	}
	return line
}

// drawHolds draws each bin's longest hold: as a bar from its begin to its end
// where that can be seen, else as a dot.
func drawHolds(c draw.Canvas, p *plot.Plot, columns []column) {
	x, y := p.Transforms(&c)
	dots := newMarkSet(mark{vermilion, circle, 1.7}, c.Rectangle)
	var bars [][]vg.Point
	for _, b := range columns {
		if b.held == 0 {
			continue
		}
		x0, x1 := max(x((b.heldTo-b.held).Seconds()), c.Min.X), min(x(b.heldTo.Seconds()), c.Max.X)
		at := y(b.held.Milliseconds())
		if x1-x0 < 4 {
			dots.add((x0+x1)/2, at)
			continue
		}
		bars = append(bars, []vg.Point{{X: x0, Y: at}, {X: x1, Y: at}})
	}
	dots.draw(c)
	c.StrokeLines(draw.LineStyle{Color: vermilion, Width: 2.5}, bars...)
}
