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

// waitBins is the number of bins of time by which waiting is kept: bars of three
// pixels.
const waitBins = 320

// waitBin is what sends that left the send queue in a bin had waited for, in ns:
// those that were swept, and those that a thread took.
type waitBin struct{ swept, taken [model.Causes]float64 }

// waits is a row of bins from time 0 on, whose width doubles when time runs
// beyond the last.
type waits struct {
	width sim.Time
	bins  []waitBin
	known bool // somebody told
}

func (w *waits) add(s *model.Wait) {
	w.known = true
	for int(s.To/w.width) >= len(w.bins) {
		half := len(w.bins) / 2
		for i := range half {
			w.bins[i] = w.bins[2*i]
			w.bins[i].merge(&w.bins[2*i+1])
		}
		clear(w.bins[half:])
		w.width *= 2
	}
	b := &w.bins[s.To/w.width]
	by := &b.taken
	if s.Swept {
		by = &b.swept
	}
	for c, d := range s.By {
		by[c] += float64(d)
	}
}

func (b *waitBin) merge(o *waitBin) {
	for c := range b.swept {
		b.swept[c] += o.swept[c]
		b.taken[c] += o.taken[c]
	}
}

// CauseName says in words what a send waited for.
func CauseName(c model.Cause) string {
	name := c.Of().String()
	switch c.Of() {
	case model.CauseIdle:
		name = "wake-up"
	case model.CauseBacklog:
		name = "load"
	case model.CauseCPU:
		name = "CPU"
	case model.CauseLock:
		name = "put lock"
	case model.CauseAppendStall:
		name = "append stall"
	case model.CauseRoll:
		name = "file roll"
	case model.CausePool:
		name = "transient pool"
	case model.CauseGC:
		name = "GC"
	}
	if c != c.Of() {
		return "after " + name
	}
	return name
}

// causeColor is that of a cause; what comes after a stall is paler.
func causeColor(c model.Cause) color.RGBA {
	col := grey
	switch c.Of() {
	case model.CauseIdle:
		col = lightGrey
	case model.CauseBacklog:
		col = blue
	case model.CauseCPU:
		col = purple
	case model.CauseLock:
		col = orange
	case model.CauseAppendStall:
		col = vermilion
	case model.CauseRoll:
		col = yellow
	case model.CauseFlush:
		col = green
	case model.CauseReplica:
		col = skyBlue
	case model.CauseGC:
		col = black
	case model.CauseSteal, model.CauseFreeze:
		col = darkGrey
	}
	if c != c.Of() {
		pale := func(v uint8) uint8 { return uint8(255 - (255-int(v))*2/5) }
		return color.RGBA{pale(col.R), pale(col.G), pale(col.B), 255}
	}
	return col
}

// waitingCauses draws over the whole run what the sends had waited for that left
// the send queue: above those that were swept, below those that a thread took.
func waitingCauses(c draw.Canvas, in *Input) {
	r := in.Recorder
	var legend []entry
	var all [2]float64
	var by [model.Causes][2]float64
	for i := range r.waits.bins {
		b := &r.waits.bins[i]
		for c := range by {
			by[c][0] += b.swept[c]
			by[c][1] += b.taken[c]
			all[0] += b.swept[c]
			all[1] += b.taken[c]
		}
	}
	of := 0 // whose shares the legend tells
	who := " of the swept ones' wait"
	if all[0] == 0 {
		of, who = 1, " of the wait"
	}
	for _, cause := range model.CauseList() {
		col, name := causeColor(cause), CauseName(cause)
		switch share := by[cause][of] / all[of]; {
		case by[cause][0]+by[cause][1] == 0:
		case by[cause][of] == 0:
			legend = append(legend, bandEntry(col, name))
		default:
			legend = append(legend, bandEntry(col, name+" "+numeral.Percent(share)+" %"))
		}
	}
	notes := []string{"By when sends left the send queue; bins of " + numeral.Duration(r.waits.width) + "."}
	if all[of] > 0 {
		notes = append(notes, "Shares are"+who+".")
	}
	c = frame(c, in.Name+": what sends waited for in the send queue, whole run", in.subtitle(), legend, notes)
	c.Max.X -= rightMargin

	to := in.horizon().Seconds()
	panels := [2]*plot.Plot{}
	for i, swept := range []bool{true, false} {
		label := ""
		if !swept {
			label = "time (s)"
		}
		most := 0.0
		for j := range r.waits.bins {
			most = math.Max(most, r.waits.height(j, swept))
		}
		panels[i] = panel(linear(0, to, 10), label, linear(0, math.Max(most*1.08, 0.001), 5))
		panels[i].Add(layer(func(c draw.Canvas, p *plot.Plot) { r.waits.draw(c, p, swept) }))
	}
	plots := [][]*plot.Plot{{panels[0]}, {panels[1]}}
	areas := plot.Align(plots, draw.Tiles{Rows: 2, Cols: 1, PadY: 10}, besideLabel(c))
	for i := range plots {
		plots[i][0].Draw(areas[i][0])
		data := plots[i][0].DataCanvas(areas[i][0])
		labelY(c, data, [...]string{"swept: wait (s per s)", "taken: wait (s per s)"}[i])
		switch {
		case !r.waits.known:
			empty(data, "no wait is known of; a live run has no attribution")
		case all[i] == 0:
			empty(data, [...]string{"no send was swept", "no send waited and was taken"}[i])
		}
	}
}

// height is the waiting time of a bin, in s per s.
func (w *waits) height(bin int, swept bool) (sum float64) {
	for _, d := range w.bins[bin].of(swept) {
		sum += d
	}
	return sum / float64(w.width)
}

func (b *waitBin) of(swept bool) *[model.Causes]float64 {
	if swept {
		return &b.swept
	}
	return &b.taken
}

// draw stacks the causes in their order, the first at the foot.
func (w *waits) draw(c draw.Canvas, p *plot.Plot, swept bool) {
	x, y := p.Transforms(&c)
	foot := make([]float64, len(w.bins))
	for _, cause := range model.CauseList() {
		var path vg.Path
		for i := range w.bins {
			d := w.bins[i].of(swept)[cause] / float64(w.width)
			if d == 0 {
				continue
			}
			x0 := x((w.width * sim.Time(i)).Seconds())
			x1 := min(x((w.width*sim.Time(i) + w.width).Seconds()), c.Max.X)
			y0, y1 := y(foot[i]), y(foot[i]+d)
			foot[i] += d
			path.Move(vg.Point{X: x0, Y: y0})
			path.Line(vg.Point{X: x1, Y: y0})
			path.Line(vg.Point{X: x1, Y: y1})
			path.Line(vg.Point{X: x0, Y: y1})
			path.Close()
		}
		fill(c, causeColor(cause), path)
	}
}
