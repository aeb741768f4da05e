package plots

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"brokersim/plots/numeral"
)

// curve is a spectrum ready to be drawn: x = -log10(1-P) rising, y > 0. The
// last point is the greatest value, to which P = 1 belongs.
type curve struct {
	x, ms []float64
	top   float64 // the greatest value; 0 if P = 1 is not given
}

// drawable brings a duration into the range of virtual time, in ms.
func drawable(ms float64) float64 { return math.Min(math.Max(ms, sojournFloorMs), 1e13) }

func newCurve(points []Point) (c curve) {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Point) int {
		switch {
		case a.P < b.P:
			return -1
		case a.P > b.P:
			return 1
		}
		return 0
	})
	for _, pt := range points {
		switch {
		case !finite(pt.Ms) || !(pt.P >= 0 && pt.P <= 1):
		case 1-pt.P < 1e-12:
			c.top = math.Max(c.top, drawable(pt.Ms))
		default:
			c.x = append(c.x, -math.Log10(1-pt.P))
			c.ms = append(c.ms, drawable(pt.Ms))
		}
	}
	return c
}

// at returns the value at a fraction: that of the first point at or above it.
func (c curve) at(p float64) float64 {
	x := -math.Log10(1 - p)
	for i := range c.x {
		if c.x[i] >= x-1e-9 {
			return c.ms[i]
		}
	}
	if c.top == 0 && len(c.ms) > 0 {
		return c.ms[len(c.ms)-1]
	}
	return c.top
}

func (c curve) empty() bool { return len(c.x) == 0 && c.top == 0 }

// summary puts the curve's chief values in words.
func (c curve) summary(name string) string {
	if c.empty() {
		return name + ": none"
	}
	s := name + ": p50 " + numeral.Digits(c.at(0.5)) + ", p99 " + numeral.Digits(c.at(0.99)) + ", p99.9 " + numeral.Digits(c.at(0.999))
	if c.top > 0 {
		s += ", max " + numeral.Digits(c.top)
	}
	return s + " ms"
}

// spectrum draws latency and waiting time by percentile.
func spectrum(c draw.Canvas, in *Input) {
	latency, waiting := newCurve(in.Latency), newCurve(in.Waiting)
	limit, _ := in.limits()
	latencyStyle := draw.LineStyle{Color: blue, Width: 3}
	waitingStyle := draw.LineStyle{Color: vermilion, Width: 1.8, Dashes: []vg.Length{7, 4}}
	legend := []entry{
		lineEntry(latencyStyle, latency.summary("latency (sojourn time)")),
		lineEntry(waitingStyle, waiting.summary("waiting in the queue")),
	}
	if limit > 0 {
		legend = append(legend, lineEntry(limitStyle, "waitTimeMillsInSendQueue"))
	}
	notes := []string{"Latency, from call to answer, is of successful sends, waiting of those that a send thread took. The dots at the right are the maxima."}
	if latency.top == 0 && waiting.top == 0 {
		notes[0] = "Latency, from call to answer, is of successful sends, waiting of those that a send thread took."
	}
	c = frame(c, in.Name+": latency and waiting time by percentile", in.subtitle(), legend, notes)
	c.Max.X -= rightMargin

	lo, hi, right := math.Inf(1), math.Inf(-1), 1.0
	for _, cv := range []curve{latency, waiting} {
		for _, v := range cv.ms {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
		if cv.top > 0 {
			lo, hi = math.Min(lo, cv.top), math.Max(hi, cv.top)
		}
		if n := len(cv.x); n > 0 {
			right = math.Max(right, cv.x[n-1])
		}
	}
	if hi < lo {
		lo, hi = 0.1, 100
	}
	if limit > 0 && limit < 1000*hi {
		hi = math.Max(hi, limit)
	}
	right += 0.25
	p := panel(percentiles(right), "percentile (the part of sends that took at most so long)", logarithmic(logBelow(lo*0.95), hi*1.6, 0))
	if limit > 0 {
		p.Add(level(limit, limitStyle, numeral.Short(limit)+" ms"))
	}
	p.Add(layer(func(c draw.Canvas, p *plot.Plot) {
		drawCurve(c, p, latency, latencyStyle, circle, right)
		drawCurve(c, p, waiting, waitingStyle, diamond, right)
	}))
	p.Draw(besideLabel(c))
	inner := p.DataCanvas(besideLabel(c))
	labelY(c, inner, "time (ms)")
	if latency.empty() && waiting.empty() {
		empty(inner, "no send was accepted")
	}
}

// percentiles is the axis of -log10(1-P): 0, 50, 90, 99, 99.9 %, ...
func percentiles(right float64) axis {
	a := axis{max: right}
	a.ticks = []plot.Tick{{Value: 0, Label: "0 %"}, {Value: math.Log10(2), Label: "50 %"}}
	for i := 1; float64(i) <= right; i++ {
		label := "90 %"
		if i > 1 {
			label = strconv.FormatFloat(100-100/math.Pow10(i), 'f', i-2, 64) + " %"
		}
		a.ticks = append(a.ticks, plot.Tick{Value: float64(i), Label: label})
	}
	return a
}

// drawCurve draws a line with marks at the axis's percentiles, up to the
// greatest value at the right edge.
func drawCurve(c draw.Canvas, p *plot.Plot, cv curve, style draw.LineStyle, shape func(vg.Path, vg.Point, vg.Length) vg.Path, right float64) {
	if cv.empty() {
		return
	}
	x, y := p.Transforms(&c)
	var line []vg.Point
	for i := range cv.x {
		line = append(line, vg.Point{X: x(cv.x[i]), Y: y(cv.ms[i])})
	}
	if cv.top > 0 {
		line = append(line, vg.Point{X: x(right), Y: y(cv.top)})
	}
	c.StrokeLines(style, line)
	radius := 2 * style.Width // so that of two curves that meet both are seen
	var marks vg.Path
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if n := len(cv.x); n > 0 && t.Value >= cv.x[0] && t.Value <= cv.x[n-1] {
			marks = shape(marks, vg.Point{X: x(t.Value), Y: onLine(line, x(t.Value))}, radius)
		}
	}
	if cv.top > 0 || len(line) == 1 {
		marks = shape(marks, line[len(line)-1], radius)
	}
	c.SetColor(style.Color)
	c.Fill(marks)
}

// onLine returns the height of a line at x within it.
func onLine(line []vg.Point, x vg.Length) vg.Length {
	for i := 1; i < len(line); i++ {
		if a, b := line[i-1], line[i]; x <= b.X {
			if b.X == a.X {
				return b.Y
			}
			return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
		}
	}
	return line[len(line)-1].Y
}
