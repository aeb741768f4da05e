package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mark is how a send is drawn.
type mark struct {
	color  color.Color
	shape  func(p vg.Path, at vg.Point, r vg.Length) vg.Path
	radius vg.Length
}

// polygon returns a shape with these corners, in radii from the middle.
func polygon(corners ...float64) func(vg.Path, vg.Point, vg.Length) vg.Path {
	return func(p vg.Path, at vg.Point, r vg.Length) vg.Path {
		for i := 0; i < len(corners); i += 2 {
			pt := vg.Point{X: at.X + r*vg.Length(corners[i]), Y: at.Y + r*vg.Length(corners[i+1])}
			if i == 0 {
				p.Move(pt)
			} else {
				p.Line(pt)
			}
		}
		p.Close()
		return p
	}
}

var (
	square       = polygon(-1, -1, 1, -1, 1, 1, -1, 1)
	diamond      = polygon(0, -1.2, 1.2, 0, 0, 1.2, -1.2, 0)
	triangle     = polygon(-1, -0.8, 1, -0.8, 0, 1.1)
	triangleDown = polygon(1, 0.8, -1, 0.8, 0, -1.1)
	plus         = polygon(-.25, -1, .25, -1, .25, -.25, 1, -.25, 1, .25, .25, .25, .25, 1, -.25, 1, -.25, .25, -1, .25, -1, -.25, -.25, -.25)
	cross        = polygon(0, -.36, .64, -1, 1, -.64, .36, 0, 1, .64, .64, 1, 0, .36, -.64, 1, -1, .64, -.36, 0, -1, -.64, -.64, -1)
)

func circle(p vg.Path, at vg.Point, r vg.Length) vg.Path {
	p.Move(vg.Point{X: at.X + r, Y: at.Y})
	p.Arc(at, r, 0, 2*math.Pi)
	p.Close()
	return p
}

const (
	// Up to so many marks of a kind have their shape; more are drawn as
	// rectangles of joined cells.
	shapedLimit = 4000
	pixel       = vg.Length(0.75)
	cellSide    = 2 * pixel
	// So many rectangles at most, else cells grow: an SVG stays small.
	rectangleLimit = 5000
)

// markSet gathers the marks of one kind within an area.
type markSet struct {
	mark
	area   vg.Rectangle
	origin vg.Point // of the cells
	at     []vg.Point
	cells  *cells // of cellSide, when there are too many for shapes
	n      int
}

func newMarkSet(m mark, area vg.Rectangle) *markSet {
	// Cells begin at whole pixels, so that they adjoin without a seam.
	pixels := func(v vg.Length) vg.Length { return pixel * vg.Length(math.Floor(float64(v/pixel))) }
	return &markSet{mark: m, area: area, origin: vg.Point{X: pixels(area.Min.X), Y: pixels(area.Min.Y)}}
}

// add places a mark; outside of the area it is dropped.
func (s *markSet) add(x, y vg.Length) {
	if !(x >= s.area.Min.X && x <= s.area.Max.X && y >= s.area.Min.Y && y <= s.area.Max.Y) {
		return
	}
	s.n++
	if s.cells == nil && len(s.at) < shapedLimit {
		s.at = append(s.at, vg.Point{X: x, Y: y})
		return
	}
	if s.cells == nil {
		size := s.area.Size()
		s.cells = newCells(int(size.X/cellSide)+3, int(size.Y/cellSide)+3, 1, 1)
		for _, pt := range s.at {
			s.addCell(pt)
		}
		s.at = nil
	}
	s.addCell(vg.Point{X: x, Y: y})
}

func (s *markSet) addCell(pt vg.Point) {
	s.cells.add(int64((pt.X-s.origin.X)/cellSide), int64((pt.Y-s.origin.Y)/cellSide))
}

// drawSets draws the larger sets first, so that they hide less. Sets may be
// nil.
func drawSets(c draw.Canvas, sets []*markSet) {
	sets = slices.DeleteFunc(slices.Clone(sets), func(s *markSet) bool { return s == nil })
	slices.SortStableFunc(sets, func(a, b *markSet) int { return cmp.Compare(b.n, a.n) })
	for _, s := range sets {
		s.draw(c)
	}
}

// draw fills all marks as one path; many are drawn smaller.
func (s *markSet) draw(c draw.Canvas) {
	radius := s.radius
	switch {
	case len(s.at) > 600:
		radius *= 0.65
	case len(s.at) > 200:
		radius *= 0.8
	}
	var path vg.Path
	for _, pt := range s.at {
		path = s.shape(path, pt, radius)
	}
	if s.cells != nil {
		for path = s.rectangles(); len(path) > 5*rectangleLimit; path = s.rectangles() {
			s.cells.join(1, 1)
		}
	}
	fill(c, s.color, path)
}

// chunk is how many closed shapes, or points of a line, are drawn in one go. The
// rasterizer keeps the cells of a row of pixels in a list, so that
// many shapes at once would take their number squared.
const chunk = 64

// fill fills closed shapes.
func fill(c draw.Canvas, col color.Color, path vg.Path) {
	c.SetColor(col)
	begin, shapes := 0, 0
	for i := range path {
		if path[i].Type != vg.CloseComp {
			continue
		}
		if shapes++; shapes == chunk || i == len(path)-1 {
			c.Fill(path[begin : i+1])
			begin, shapes = i+1, 0
		}
	}
}

// strokeLine strokes a long undashed line.
func strokeLine(c draw.Canvas, style draw.LineStyle, line []vg.Point) {
	for len(line) > 1 {
		n := min(len(line), chunk)
		c.StrokeLines(style, line[:n])
		line = line[n-1:]
	}
}

// rectangles joins the cells of each row into rectangles.
func (s *markSet) rectangles() (path vg.Path) {
	w, h := cellSide*vg.Length(s.cells.xw), cellSide*vg.Length(s.cells.yw)
	row, first, next := int64(-1), int64(0), int64(0)
	flush := func() {
		if row < 0 {
			return
		}
		x0, x1 := s.origin.X+w*vg.Length(first), min(s.origin.X+w*vg.Length(next), s.area.Max.X)
		y0, y1 := s.origin.Y+h*vg.Length(row), min(s.origin.Y+h*vg.Length(row+1), s.area.Max.Y)
		path.Move(vg.Point{X: x0, Y: y0})
		path.Line(vg.Point{X: x1, Y: y0})
		path.Line(vg.Point{X: x1, Y: y1})
		path.Line(vg.Point{X: x0, Y: y1})
		path.Close()
	}
	s.cells.each(func(col, r int64) {
		if r != row || col != next {
			flush()
			row, first = r, col
		}
		next = col + 1
	})
	flush()
	return path
}
