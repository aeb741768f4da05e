package plots

import (
	"image/color"
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"brokersim/model"
)

// A figure is 1200 x 700 px at 96 px to the inch.
const (
	width  vg.Length = 900
	height vg.Length = 525
	margin vg.Length = 14
)

// Colours of Okabe and Ito, and greys.
var (
	black      = color.RGBA{A: 255}
	orange     = color.RGBA{0xE6, 0x9F, 0x00, 255}
	skyBlue    = color.RGBA{0x56, 0xB4, 0xE9, 255}
	yellow     = color.RGBA{0xF0, 0xE4, 0x42, 255}
	green      = color.RGBA{0x00, 0x9E, 0x73, 255}
	blue       = color.RGBA{0x00, 0x72, 0xB2, 255}
	vermilion  = color.RGBA{0xD5, 0x5E, 0x00, 255}
	purple     = color.RGBA{0xCC, 0x79, 0xA7, 255}
	darkGrey   = color.RGBA{0x44, 0x44, 0x44, 255}
	grey       = color.RGBA{0x88, 0x88, 0x88, 255}
	lightGrey  = color.RGBA{0xE4, 0xE4, 0xE4, 255}
	paleGrey   = color.RGBA{0xF0, 0xF0, 0xF0, 255}
	bandAppend = color.RGBA{0xFB, 0xE8, 0xB8, 255} // orange, yellow and sky blue, made pale
	bandSweep  = color.RGBA{0xF7, 0xF3, 0xC0, 255}
	bandFreeze = color.RGBA{0xD9, 0xEC, 0xF8, 255}
)

// Type sizes in points; 12 is the least.
var (
	titleFont = font.Font{Typeface: "Liberation", Variant: "Sans", Weight: xfont.WeightBold, Size: 16}
	labelFont = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 13}
	smallFont = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 12}
	emptyFont = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 18}
)

// outcomeStyle says how an outcome looks: colour and shape, both its own.
func outcomeStyle(o model.Outcome) mark {
	switch o {
	case model.OK:
		return mark{blue, circle, 2.2}
	case model.TimeoutCleanQueue:
		return mark{vermilion, cross, 4.5}
	case model.PCBusyCleanQueue:
		return mark{orange, triangle, 4.2}
	case model.RejectRequest:
		return mark{purple, square, 3.2}
	case model.Overload:
		return mark{black, triangleDown, 4.2}
	case model.PCSynchronized:
		return mark{skyBlue, plus, 4.5}
	case model.NoAnswer:
		return mark{grey, circle, 2.2}
	default:
		return mark{green, diamond, 3.6}
	}
}

// words draws one line of text; y is its baseline. It returns its width.
func words(c draw.Canvas, f font.Font, col color.Color, x, y vg.Length, align float64, s string) vg.Length {
	face := font.DefaultCache.Lookup(f, f.Size)
	w := face.Width(s)
	c.SetColor(col)
	c.FillString(face, vg.Point{X: x - w*vg.Length(align), Y: y}, s)
	return w
}

func wordsWidth(f font.Font, s string) vg.Length {
	face := font.DefaultCache.Lookup(f, f.Size)
	return face.Width(s)
}

// shorten cuts s to a width, with an ellipsis.
func shorten(f font.Font, s string, w vg.Length) string {
	if wordsWidth(f, s) <= w {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && wordsWidth(f, string(r)+"…") > w {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

// wrap breaks s into lines of at most a width.
func wrap(f font.Font, s string, w vg.Length) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case wordsWidth(f, line+" "+word) <= w:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// entry is one sign of a legend and what it means.
type entry struct {
	label string
	draw  func(c draw.Canvas, at vg.Rectangle)
}

func markEntry(m mark, label string) entry {
	return entry{label, func(c draw.Canvas, at vg.Rectangle) {
		m.radius = max(m.radius, 3.2)
		c.SetColor(m.color)
		c.Fill(m.shape(nil, center(at), m.radius))
	}}
}

func lineEntry(s draw.LineStyle, label string) entry {
	return entry{label, func(c draw.Canvas, at vg.Rectangle) {
		y := center(at).Y
		c.StrokeLine2(s, at.Min.X, y, at.Max.X, y)
	}}
}

func bandEntry(col color.Color, label string) entry {
	return entry{label, func(c draw.Canvas, at vg.Rectangle) {
		c.SetColor(col)
		c.Fill(at.Path())
	}}
}

func center(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}

// frame draws what surrounds the data: title and subtitle, the legend below
// them in rows, notes at the foot. It returns the area left between.
func frame(c draw.Canvas, title, subtitle string, legend []entry, notes []string) draw.Canvas {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, 10, -10)
	w := c.Max.X - c.Min.X

	y := c.Max.Y - titleFont.Size
	words(c, titleFont, black, c.Min.X, y, 0, shorten(titleFont, title, w))
	y -= 18
	words(c, smallFont, darkGrey, c.Min.X, y, 0, shorten(smallFont, subtitle, w))
	y -= 10
	if len(legend) > 0 {
		y = legendRows(c, legend, y)
	}
	c.Max.Y = y - 4

	lines := wrap(smallFont, strings.Join(notes, " "), w)
	for i, line := range lines {
		words(c, smallFont, darkGrey, c.Min.X, c.Min.Y+3+vg.Length(len(lines)-1-i)*15, 0, line)
	}
	c.Min.Y += vg.Length(len(lines)) * 15
	if len(lines) > 0 {
		c.Min.Y += 5
	}
	return c
}

// legendRows draws entries from left to right, in as many rows as they need,
// and returns the lower edge.
func legendRows(c draw.Canvas, legend []entry, y vg.Length) vg.Length {
	const thumb, gap, row = 20, 18, 17
	x := c.Min.X
	y -= row
	for _, e := range legend {
		w := thumb + 5 + wordsWidth(smallFont, e.label)
		if x > c.Min.X && x+w > c.Max.X {
			x, y = c.Min.X, y-row
		}
		e.draw(c, vg.Rectangle{Min: vg.Point{X: x, Y: y - 1.5}, Max: vg.Point{X: x + thumb, Y: y + 9.5}})
		words(c, smallFont, black, x+thumb+5, y, 0, e.label)
		x += w + gap
	}
	return y - 6
}

// layer is a plotter that is a function.
type layer func(c draw.Canvas, p *plot.Plot)

// Plot draws the layer on the data area.
func (l layer) Plot(c draw.Canvas, p *plot.Plot) { l(c, p) }

// panel returns a plot with our axes and a pale grid; labelY writes the label
// of the other axis.
func panel(x axis, label string, y axis) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	x.apply(&p.X)
	y.apply(&p.Y)
	p.X.Label.Text = label
	p.Add(layer(func(c draw.Canvas, p *plot.Plot) {
		style := draw.LineStyle{Color: lightGrey, Width: 0.6}
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if at := c.X(p.X.Norm(t.Value)); !t.IsMinor() && c.ContainsX(at) {
				c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
			}
		}
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if at := c.Y(p.Y.Norm(t.Value)); !t.IsMinor() && c.ContainsY(at) {
				c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
			}
		}
	}))
	return p
}

// besideLabel leaves room for a label to the left of a plot's axis.
func besideLabel(c draw.Canvas) draw.Canvas { return draw.Crop(c, 22, 0, 0, 0) }

// labelY writes the label of a y axis at the left edge of c, in the middle of the
// data. (gonum's own would be placed by its value, which on a logarithmic
// axis pushes the data down.)
func labelY(c draw.Canvas, data draw.Canvas, label string) {
	c.Push()
	c.Translate(vg.Point{X: c.Min.X + labelFont.Size, Y: data.Center().Y})
	c.Rotate(math.Pi / 2)
	words(c, labelFont, black, 0, 0, 0.5, label)
	c.Pop()
}

// level draws a horizontal line across the data with its value to the right,
// outside of the data.
func level(value float64, style draw.LineStyle, label string) layer {
	return func(c draw.Canvas, p *plot.Plot) {
		if value < p.Y.Min || value > p.Y.Max {
			return
		}
		y := c.Y(p.Y.Norm(value))
		c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
		words(c, smallFont, style.Color, c.Max.X+8, y-4, 0, label)
	}
}

// empty writes a sentence where data would be.
func empty(c draw.Canvas, s string) {
	words(c, emptyFont, darkGrey, c.Center().X, c.Center().Y, 0.5, shorten(emptyFont, s, c.Max.X-c.Min.X))
}

// finite guards against what axes can't show.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
