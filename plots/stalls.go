package plots

import (
	"cmp"
	"image/color"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"brokersim/model"
	"brokersim/plots/numeral"
	"brokersim/sim"
)

func bandColor(w model.StallWhere) color.Color {
	switch w {
	case model.StallAppend, model.StallFlush, model.StallNetwork, model.StallReplica, model.StallCommit:
		return bandAppend
	case model.StallSweep, model.StallCPU:
		return bandSweep
	default:
		return bandFreeze
	}
}

// stallsIn returns the stalls that overlap the window.
func (r *Recorder) stallsIn(w window) (in []model.StallRecord) {
	for _, s := range r.stalls {
		if s.To >= w.from && s.From <= w.to {
			in = append(in, s)
		}
	}
	return in
}

// bands shades the stalls, at least a pixel wide each; with labels, their
// lengths stand above the data, the longest first where room is short.
func bands(stalls []model.StallRecord, labels bool) layer {
	return func(c draw.Canvas, p *plot.Plot) {
		x := func(t sim.Time) vg.Length {
			return min(max(c.X(p.X.Norm(t.Seconds())), c.Min.X), c.Max.X)
		}
		for where := model.StallAppend; where <= model.StallCommit; where++ {
			var path vg.Path
			end := c.Min.X - 1
			for _, s := range stalls {
				x0 := max(x(s.From), end)
				x1 := max(x(s.To), min(x(s.From)+.75, c.Max.X))
				if s.Where != where || x1 <= x0 {
					continue
				}
				path.Move(vg.Point{X: x0, Y: c.Min.Y})
				path.Line(vg.Point{X: x1, Y: c.Min.Y})
				path.Line(vg.Point{X: x1, Y: c.Max.Y})
				path.Line(vg.Point{X: x0, Y: c.Max.Y})
				path.Close()
				end = x1
			}
			fill(c, bandColor(where), path)
		}
		if labels {
			bandLabels(c, stalls, x)
		}
	}
}

func bandLabels(c draw.Canvas, stalls []model.StallRecord, x func(sim.Time) vg.Length) {
	longest := slices.Clone(stalls)
	slices.SortStableFunc(longest, func(a, b model.StallRecord) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	longest = longest[:min(len(longest), 100)]
	var taken [][2]vg.Length
	for _, s := range longest {
		text := numeral.Duration(s.To - s.From)
		if len(stalls) <= 4 {
			text = stallWord(s.Where) + text
		}
		half := wordsWidth(smallFont, text) / 2
		at := min(max((x(s.From)+x(s.To))/2, c.Min.X+half), c.Max.X-half)
		free := !slices.ContainsFunc(taken, func(o [2]vg.Length) bool { return at+half+6 > o[0] && at-half-6 < o[1] })
		if free {
			words(c, smallFont, darkGrey, at, c.Max.Y+4, 0.5, text)
			taken = append(taken, [2]vg.Length{at - half, at + half})
		}
	}
}

func stallWord(w model.StallWhere) string {
	switch w {
	case model.StallProcess:
		return "freeze "
	case model.StallGC, model.StallSteal, model.StallCPU:
		return w.String() + " "
	case model.StallFlush, model.StallNetwork, model.StallReplica, model.StallCommit:
		return w.String() + " stall "
	default:
		return "stall "
	}
}

// stallEntries are the legend's entries for the kinds of stall shown.
func stallEntries(stalls []model.StallRecord) (legend []entry) {
	for _, k := range []struct {
		where model.StallWhere
		label string
	}{
		{model.StallAppend, "append stall"},
		{model.StallFlush, "flush stall"},
		{model.StallNetwork, "stall of the way to a slave"},
		{model.StallReplica, "slave stall"},
		{model.StallCommit, "commit stall"},
		{model.StallSweep, "sweep stall"},
		{model.StallCPU, "cores busy"},
		{model.StallProcess, "freeze"},
		{model.StallGC, "gc pause"},
		{model.StallSteal, "steal"},
	} {
		if slices.ContainsFunc(stalls, func(s model.StallRecord) bool { return s.Where == k.where }) {
			legend = append(legend, bandEntry(bandColor(k.where), k.label))
		}
	}
	return legend
}

// stallNotes says what of the stalls is not shown.
func (r *Recorder) stallNotes() []string {
	if r.stallCount <= stallLimit {
		return nil
	}
	return []string{"Of " + numeral.Count(r.stallCount) + " stalls the first " + numeral.Count(stallLimit) + " are shaded."}
}

// seconds prints t with up to so many decimals.
func seconds(t sim.Time, decimals int) string {
	s := numeral.Fixed(t.Seconds(), decimals)
	for decimals > 0 && (s[len(s)-1] == '0' || s[len(s)-1] == '.') {
		point := s[len(s)-1] == '.'
		s = s[:len(s)-1]
		if point {
			break
		}
	}
	return s + " s"
}

func uitoa(n uint64) string { return strconv.FormatUint(n, 10) }
