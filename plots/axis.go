package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"brokersim/plots/numeral"
)

// axis is a range with its ticks and scale.
type axis struct {
	min, max float64
	ticks    []plot.Tick
	log      bool
}

func (a axis) apply(to *plot.Axis) {
	to.Min, to.Max = a.min, a.max
	to.Label.TextStyle.Font = labelFont
	to.Label.Padding = 5
	to.Tick.Label.Font = smallFont
	to.Tick.Length = 6
	to.Tick.Marker = plot.ConstantTicks(a.ticks)
	to.Padding = 0
	to.Width = vg.Length(0.8)
	if a.log {
		to.Scale = logScale{}
	}
}

// linear is an axis of at most about n labelled ticks at 1, 2 or 5 times a
// power of ten, fewer if their labels need more room.
func linear(from, to float64, n int) axis {
	a := linearTicks(from, to, n)
	for room := width - 200; n > 1; a = linearTicks(from, to, n) {
		var needed vg.Length
		for _, t := range a.ticks {
			needed += wordsWidth(smallFont, t.Label) + 12
		}
		if needed <= room {
			break
		}
		n /= 2
	}
	return a
}

func linearTicks(from, to float64, n int) axis {
	if !finite(from) || !finite(to) {
		from, to = 0, 1
	}
	if to <= from {
		to = from + math.Max(1, math.Abs(from)/10)
	}
	a := axis{min: from, max: to}
	step := niceStep((to - from) / float64(n))
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	first := math.Ceil(from/step - 1e-9)
	for i := range 4 * n {
		v := (first + float64(i)) * step
		if v > to+step*1e-9 {
			break
		}
		a.ticks = append(a.ticks, plot.Tick{Value: v, Label: numeral.Fixed(v, decimals)})
	}
	return a
}

// niceStep is the least of 1, 2, 5 times a power of ten that is >= step.
func niceStep(step float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(step))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= step*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic is an axis labelled at powers of ten, at 2 and 5 as well where
// there are few. Ticks stay within [from, to]; the axis begins foot times its
// length lower, to leave room below the data.
func logarithmic(from, to, foot float64) axis {
	if !finite(from) || !finite(to) || from <= 0 {
		from, to = 0.01, 1
	}
	if to <= from {
		from, to = from/2, from*2
	}
	a := axis{min: from * math.Pow(from/to, foot), max: to, log: true}
	few := math.Log10(to/from) < 2.2
	lo, hi := int(math.Floor(math.Log10(from)))-1, int(math.Ceil(math.Log10(to)))
	every := 1 + (hi-lo)/9
	for e := lo; e <= hi; e++ {
		for m := 1; m <= 9; m++ {
			v := tenTo(e, m)
			if v < from*(1-1e-9) || v > to*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && e%every == 0 || few && (m == 2 || m == 5) {
				t.Label = numeral.Fixed(v, max(0, -e))
			}
			a.ticks = append(a.ticks, t)
		}
	}
	return a
}

// tenTo is m times ten to the e, rounded once.
func tenTo(e, m int) float64 {
	v, _ := strconv.ParseFloat(strconv.Itoa(m)+"e"+strconv.Itoa(e), 64)
	return v
}

// logBelow rounds down to a power of ten times 1, 2 or 5.
func logBelow(v float64) float64 {
	up := niceStep(v)
	if up <= v {
		return up
	}
	if below := niceStep(up / 2.6); below <= v {
		return below
	}
	return up / 10
}

// logScale is logarithmic, with what lies below the axis drawn at its foot.
type logScale struct{}

// Normalize maps [from, to] to [0, 1].
func (logScale) Normalize(from, to, v float64) float64 {
	return math.Log(math.Max(v, from)/from) / math.Log(to/from)
}
