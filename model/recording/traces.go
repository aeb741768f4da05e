package recording

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	"brokersim/model"
)

//go:embed testdata/*/experiment.json testdata/*/*.csv testdata/*/*.csv.gz
var traces embed.FS

// Trace is a recording of a real 4.3.2 broker, with what the model must reach
// when it replays it. Percentages are of the requests with a recorded outcome.
type Trace struct {
	Name string
	// SameLeast is the percentage that must have the recorded outcome.
	SameLeast float64
	// AlikeLeast is the percentage of the requests that either rejects which both
	// must reject, for the same reason; 0: not asked.
	AlikeLeast float64
	// ShareMost is by how many percentage points the share of an outcome may
	// differ.
	ShareMost float64
	Pooled    bool // counts in the pooled figures
	Swept     bool // counts in those of period and size of queue
	// Flush and CPU say that it is replayed with MeasureFlush and MeasureCPU;
	// SojournMost is by how many percent the quantiles of the sojourn may then
	// differ.
	Flush, CPU  bool
	SojournMost float64
}

// Open reads the trace for a replay, with the times that it is replayed with.
func (t *Trace) Open(base model.Config) (*Experiment, error) {
	e, err := Open(t.Dir(), base)
	if err == nil && t.Flush {
		err = MeasureFlush(&e.Config, e.Requests)
	}
	if err == nil && t.CPU {
		err = MeasureCPU(&e.Config, e.Requests)
	}
	if err != nil {
		return nil, fmt.Errorf("trace %s: %w", t.Name, err)
	}
	return e, nil
}

// Traces are the bundled recordings.
var Traces = []Trace{
	{Name: "E1", SameLeast: 99.9, ShareMost: 0.1, Pooled: true},
	{Name: "E3", SameLeast: 99.9, ShareMost: 0.1, Pooled: true, Swept: true},
	{Name: "E5", SameLeast: 99.9, ShareMost: 0.1, Pooled: true, Swept: true},
	{Name: "E7", SameLeast: 99.9, ShareMost: 0.1, Pooled: true, Swept: true},
	{Name: "E9", SameLeast: 99.9, ShareMost: 0.1, Pooled: true, Swept: true},
	// Of its 113 requests that were 200 ms old when a freeze ended the broker
	// rejected none and the model some, 18 on average over seeds, because the
	// send thread was there first or the sweeper had no core: a race seen 3
	// times, which the model runs and doesn't decide.
	{Name: "E11", SameLeast: 97, ShareMost: 1},
	{Name: "E13", SameLeast: 99.7, ShareMost: 0.3, Pooled: true, Swept: true},
	{Name: "E15", SameLeast: 97, ShareMost: 1, Flush: true, SojournMost: 10},
	{Name: "E17", SameLeast: 97, AlikeLeast: 90, ShareMost: 1},
	{Name: "E19", SameLeast: 97, ShareMost: 1, Flush: true, SojournMost: 10},
	// What delayed its sends was above all the processors, which the writers
	// beside it kept busy.
	{Name: "E21", SameLeast: 97, ShareMost: 1, Flush: true, CPU: true, SojournMost: 10},
	{Name: "E23", SameLeast: 92, ShareMost: 1},
	{Name: "E25", SameLeast: 97, ShareMost: 2},
}

// Dir is the trace's folder, for Open.
func (t *Trace) Dir() fs.FS {
	dir, err := fs.Sub(traces, path.Join("testdata", t.Name))
	if err != nil {
		panic("recording: " + err.Error()) // the names are fixed
	}
	return dir
}

// PooledFigure is a share of requests over several traces, which must be at
// least Least percent.
type PooledFigure struct {
	What  string
	K, N  int64
	Least float64
}

// PooledFigures gives what must be reached by all Pooled traces together, and
// by the Swept ones.
func PooledFigures(pooled, swept *Agreement) []PooledFigure {
	return []PooledFigure{
		{"same outcome", pooled.SameOutcome, pooled.Scored, 99.95},
		{"rejected in either: the same kind in both", pooled.AlikeInBoth, pooled.RejectedInEither, 98},
		{"swept in both: period in queue within 1 ms", swept.PeriodWithin1ms, swept.RejectedInBoth, 95},
		{"swept in both: size of queue equal", swept.SizeEqual, swept.RejectedInBoth, 92},
	}
}

// Shares returns, by outcome as Confusion comes upon it, the simulated share
// of the scored requests less the recorded one, in percentage points.
func (a *Agreement) Shares() []ShareDifference {
	var out []ShareDifference
	add := func(outcome string, points float64) {
		for i := range out {
			if out[i].Outcome == outcome {
				out[i].Points += points
				return
			}
		}
		out = append(out, ShareDifference{outcome, points})
	}
	for _, c := range a.Confusion {
		share := 100 * float64(c.Count) / float64(a.Scored)
		add(c.Recorded, -share)
		add(c.Simulated, share)
	}
	return out
}

// ShareDifference is that of one outcome.
type ShareDifference struct {
	Outcome string
	Points  float64
}
