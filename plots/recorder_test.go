package plots

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"brokersim/model"
	"brokersim/sim"
)

// TestRecorderIsBounded records an hour of sends, most of them rejected, many
// more than are kept exactly.
func TestRecorderIsBounded(t *testing.T) {
	const sends = 500_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := NewRecorder(sim.Hour)
	rng := rand.New(rand.NewPCG(1, 2))
	a := model.Attempt{}
	for i := range sends {
		at := sim.Time(i) * (sim.Hour / sim.Time(sends))
		x := rng.Uint64()
		took := 100*sim.Microsecond + sim.Time(x%4096)*sim.Time(x>>12%65536)*sim.Microsecond/200
		a = send(at, took, rejections[x>>40%5])
		a.Qsize = int64(x >> 30 % 10000)
		if x>>60 < 5 {
			a.Outcome = model.OK
		}
		r.attempt(&a)
		r.queue(at, int(a.Qsize))
		r.lock(at, at+took/3)
		if a.Outcome.Rejected() {
			r.sweep(model.SweepRecord{Start: at, Timeout: 1})
			r.stall(model.StallRecord{From: at, To: at + 1})
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	mib := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / (1 << 20)
	t.Logf("%.1f MiB", mib)
	if mib > 24 {
		t.Errorf("the recorder holds %.1f MiB, want <= 24", mib)
	}
	in := Input{Name: "bounded", Duration: sim.Hour, WaitLimitMs: 200, Recorder: r}
	for f := range figures {
		mustSVG(t, f, in)
	}
	keepFigures(t, in)
}

// TestEachOutcome: there is a place for every outcome.
func TestEachOutcome(t *testing.T) {
	r := NewRecorder(sim.Second)
	for o := range model.Outcomes {
		a := send(sim.Time(o)*sim.Millisecond, sim.Millisecond, model.Outcome(o))
		r.attempt(&a)
	}
	if got := r.sent(); got != int64(model.Outcomes) {
		t.Errorf("%d sends, want %d", got, model.Outcomes)
	}
	for f := range figures {
		mustSVG(t, f, Input{Name: "outcomes", Duration: sim.Second, WaitLimitMs: 200, Recorder: r})
	}
}

// TestEachRejectionIsKept draws what was kept beyond the exact ones: each send
// rejected has a cell at its place.
func TestEachRejectionIsKept(t *testing.T) {
	r := NewRecorder(10 * sim.Second)
	rng := rand.New(rand.NewPCG(3, 4))
	var late []model.Attempt
	for i := range exactRejected + 5_000 {
		a := send(sim.Time(i)*100*sim.Microsecond, sim.Time(rng.Int64N(int64(sim.Second))), rejections[rng.IntN(5)])
		a.Qsize = rng.Int64N(9000)
		r.attempt(&a)
		if i >= exactRejected {
			late = append(late, a)
		}
	}
	if len(r.rejected) != exactRejected {
		t.Fatalf("%d kept exactly, want %d", len(r.rejected), exactRejected)
	}
	for _, a := range late {
		b := r.beyond[a.Outcome]
		us := int64(float32((a.Resp - a.Send).Milliseconds()) * 1000)
		if b.time.add(int64(a.Send), logRow(us, sojournK, sojournRows)) {
			t.Fatalf("no cell at %v, %v for %v", a.Send, a.Resp-a.Send, a.Outcome)
		}
		if swept(a.Outcome) && b.period.add(a.PeriodMs, a.Qsize) {
			t.Fatalf("no cell for period %d, size %d", a.PeriodMs, a.Qsize)
		}
	}
}

func TestCellsKeepEachPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newCells(8, 4, 1, 1)
		point := rapid.Custom(func(t *rapid.T) [2]int64 {
			return [2]int64{rapid.Int64Range(0, 1000).Draw(t, "x"), rapid.Int64Range(0, 1000).Draw(t, "y")}
		})
		points := rapid.SliceOf(point).Draw(t, "points")
		for _, p := range points {
			g.add(p[0], p[1])
		}
		for _, p := range points {
			if g.add(p[0], p[1]) {
				t.Fatalf("%v is not in its cell (%d x %d)", p, g.xw, g.yw)
			}
		}
		g.each(func(col, row int64) {
			if !slices.ContainsFunc(points, func(p [2]int64) bool { return p[0]/g.xw == col && p[1]/g.yw == row }) {
				t.Fatalf("cell %d, %d is set by no point", col, row)
			}
		})
	})
}

func TestLogRow(t *testing.T) {
	const k, rows = 6, 1920
	last := int64(-1)
	for us := int64(0); us < 1<<17; us++ {
		row := logRow(us, k, rows)
		if row != last && (row != last+1 || logRowStart(row, k) != us) {
			t.Fatalf("%d us: row %d after %d, which begins at %d", us, row, last, logRowStart(row, k))
		}
		last = row
	}
	if got := logRow(1<<62, k, rows); got != rows-1 {
		t.Errorf("beyond all rows: %d", got)
	}
}

// TestMarksCoverEachPoint checks that joined rectangles cover every mark asked for.
func TestMarksCoverEachPoint(t *testing.T) {
	area := vg.Rectangle{Min: vg.Point{X: 50.3, Y: 20.4}, Max: vg.Point{X: 450, Y: 320}}
	for _, n := range []int{shapedLimit + 1, 60_000} {
		rng := rand.New(rand.NewPCG(5, uint64(n)))
		s := newMarkSet(mark{black, square, 2}, area)
		var points []vg.Point
		for range n {
			p := vg.Point{X: 51 + 398*vg.Length(rng.Float64()), Y: 21 + 298*vg.Length(rng.Float64())}
			points = append(points, p)
			s.add(p.X, p.Y)
		}
		for len(s.rectangles()) > 5*rectangleLimit {
			s.cells.join(1, 1)
		}
		path := s.rectangles()
		byRow := map[int][]vg.Path{}
		side := cellSide * vg.Length(s.cells.yw)
		for i := 0; i < len(path); i += 5 {
			row := int((path[i].Pos.Y-s.origin.Y)/side + 0.5)
			byRow[row] = append(byRow[row], path[i:i+5])
		}
		for _, p := range points {
			covered := slices.ContainsFunc(byRow[int((p.Y-s.origin.Y)/side)], func(r vg.Path) bool {
				return p.X >= r[0].Pos.X-1e-6 && p.X <= r[1].Pos.X+1e-6
			})
			if !covered {
				t.Fatalf("%d points: %v is covered by no rectangle", n, p)
			}
		}
	}
}

// TestFirstIncidentFromNear puts one incident into an hour and expects it whole, at
// 1 ms, in the window.
func TestFirstIncidentFromNear(t *testing.T) {
	const at = 40 * sim.Minute
	f := stock.with(func(f *fake) {
		f.duration = sim.Hour
		f.stalls = [][2]sim.Time{{20 * sim.Minute, 150 * sim.Millisecond}, {at, 250 * sim.Millisecond}, {50 * sim.Minute, 300 * sim.Millisecond}}
	})
	in := f.input("hour")
	keepFigures(t, in)
	w := in.window()
	if !w.part || w.from < at-sim.Second || w.from > at || w.to < at+700*sim.Millisecond || w.to > at+2*sim.Second {
		t.Fatalf("window %v to %v, want the neighbourhood of %v", w.from, w.to, at)
	}
	if s := in.Recorder.viewFor(w); s.width != recentWidth || s.origin > w.from {
		t.Errorf("bins of %v from %v", s.width, s.origin)
	}
	longest, held := int32(0), sim.Time(0)
	for _, c := range binColumns(&in.Recorder.viewFor(w).bins, w) {
		longest, held = max(longest, c.qmax), max(held, c.held)
	}
	if longest < 5 || held != 250*sim.Millisecond {
		t.Errorf("queue up to %d, lock held up to %v; want 5 or more, 250 ms", longest, held)
	}
	n := 0
	in.Recorder.samples(w, func(s sample) { n++ })
	if n < 30 {
		t.Errorf("%d accepted sends in the window, want all of about 50", n)
	}
}

func TestSteadyOverloadIsShownWhole(t *testing.T) {
	in := pictures[3].fake.input("overload")
	if w := in.window(); w.part || w.to < 10*sim.Second {
		t.Errorf("window %+v, want the whole run", w)
	}
}

func BenchmarkRecorder(b *testing.B) {
	r := NewRecorder(sim.Hour)
	a := send(0, 300*sim.Microsecond, model.OK)
	var at sim.Time
	for b.Loop() {
		at = (at + 500*sim.Microsecond) % sim.Hour
		a.Send, a.Resp = at, at+300*sim.Microsecond+at%977*100
		r.queue(at, 1)
		r.queue(at, 0)
		r.lock(at, at+100)
		r.attempt(&a)
	}
	b.ReportAllocs()
}

// What sends waited for is all there, however long the run becomes.
func TestWaitsKept(t *testing.T) {
	r := NewRecorder(sim.Second)
	told := r.Observer().Waited
	const count = 1000
	for i := range sim.Time(count) {
		w := model.Wait{From: i * sim.Second, To: (i + 1) * sim.Second, Swept: i%4 == 0}
		w.By[model.CauseFlush] = sim.Second
		told(&w)
	}
	var swept, taken float64
	for i := range r.waits.bins {
		swept += r.waits.bins[i].swept[model.CauseFlush]
		taken += r.waits.bins[i].taken[model.CauseFlush]
	}
	if swept != count/4*1e9 || taken != count*3/4*1e9 {
		t.Errorf("swept sends waited %v ns, taken ones %v, want %v and %v", swept, taken, count/4*1e9, count*3/4*1e9)
	}
	if r.waits.width < count*sim.Second/waitBins {
		t.Errorf("bins of %v", r.waits.width)
	}
}

// Every cause that a send can wait for looks different from the others, but the
// ways to stand still.
func TestCauseColors(t *testing.T) {
	seen := map[any]model.Cause{}
	for _, c := range model.CauseList() {
		if c.Of() == model.CausePool || c.Of() == model.CauseSteal { // nobody waits for it; as a freeze
			continue
		}
		col := causeColor(c)
		if other, ok := seen[col]; ok {
			t.Errorf("%v looks like %v", c, other)
		}
		seen[col] = c
	}
}
