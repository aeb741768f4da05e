package plots

import "math/bits"

// cells is a set of cells of a grid over the quarter plane x, y >= 0. A cell
// doubles in width or height, and neighbours are joined, when a point lies
// beyond the last column or row.
type cells struct {
	cols, rows int64
	xw, yw     int64 // extent of a cell
	bits       []uint64
}

func newCells(cols, rows int, xw, yw int64) *cells {
	return &cells{cols: int64(cols), rows: int64(rows), xw: xw, yw: yw, bits: make([]uint64, (cols*rows+63)/64)}
}

// add puts the point's cell in the set and reports whether it is new there.
func (g *cells) add(x, y int64) bool {
	x, y = max(x, 0), max(y, 0)
	for x/g.xw >= g.cols {
		g.join(1, 0)
	}
	for y/g.yw >= g.rows {
		g.join(0, 1)
	}
	i := y/g.yw*g.cols + x/g.xw
	was := g.bits[i>>6]
	g.bits[i>>6] |= 1 << (i & 63)
	return g.bits[i>>6] != was
}

// join doubles the cells' extent along x or y, or both.
func (g *cells) join(dx, dy uint) {
	to := make([]uint64, len(g.bits))
	g.each(func(col, row int64) {
		i := row>>dy*g.cols + col>>dx
		to[i>>6] |= 1 << (i & 63)
	})
	g.bits = to
	g.xw <<= dx
	g.yw <<= dy
}

// each visits the set's cells row by row.
func (g *cells) each(visit func(col, row int64)) {
	for w, word := range g.bits {
		for ; word != 0; word &= word - 1 {
			i := int64(w)<<6 + int64(bits.TrailingZeros64(word))
			visit(i%g.cols, i/g.cols)
		}
	}
}

// logRow numbers durations with 2^k rows to the octave, in order, using
// integers only; beyond the last row it stays there. It is the index of an HDR
// histogram: exact below 2^k, then the k bits after the leading one.
func logRow(us int64, k uint, rows int64) int64 {
	if us < 1<<k {
		return max(us, 0)
	}
	shift := uint(bits.Len64(uint64(us))) - 1 - k
	return min(int64(shift)<<k+us>>shift, rows-1)
}

// logRowStart is the least duration of a row.
func logRowStart(row int64, k uint) int64 {
	if row < 1<<k {
		return row
	}
	shift := uint(row>>k) - 1
	return (row - int64(shift)<<k) << shift
}
