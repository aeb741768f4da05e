package validate

import (
	"encoding/json"
	"math"
)

// Verdict is what a comparison comes to.
type Verdict uint8

// The verdicts, a worse one above a better one.
const (
	NotAsked Verdict = iota
	Agrees
	CantTell
	Differs
)

func (v Verdict) String() string {
	return [...]string{"not asked", "agrees", "can't tell", "differs"}[v]
}

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Number is a figure that there may be none of: NaN, which is null in JSON.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if x := float64(n); !math.IsNaN(x) && !math.IsInf(x, 0) {
		return json.Marshal(x)
	}
	return []byte("null"), nil
}

// Report is what the rungs came to.
type Report struct {
	Verdict  Verdict  `json:"verdict"` // the worst of the rungs'
	Partial  bool     `json:"partial"` // interrupted: what was complete by then
	Rungs    []Rung   `json:"rungs"`
	Warnings []string `json:"warnings"`
}

// Rung is one of the three.
type Rung struct {
	Number  int     `json:"rung"`
	Title   string  `json:"title"`
	Verdict Verdict `json:"verdict"`
	Partial bool    `json:"partial"`
	Groups  []Group `json:"groups"`
	// Skipped says why the rung was not run.
	Skipped string `json:"skipped,omitempty"`
}

// Group is a station, a trace or a scenario.
type Group struct {
	Name  string   `json:"name"`
	Title string   `json:"title,omitempty"`
	Notes []string `json:"notes,omitempty"`
	Lines []Line   `json:"lines"`
}

// Line is one comparison. Got is simulated, Want what it is compared with;
// Difference is held against Limit.
type Line struct {
	Quantity   string  `json:"quantity"` // with its unit
	Got        Number  `json:"simulated"`
	Want       Number  `json:"reference"`
	Difference Number  `json:"difference"`
	Kind       Kind    `json:"kind"` // of Difference, Lo, Hi, Floor and Limit
	Lo         Number  `json:"lo"`
	Hi         Number  `json:"hi"`
	Floor      Number  `json:"floor"` // of live runs against each other
	Limit      Number  `json:"limit"`
	Verdict    Verdict `json:"verdict"`
	Why        string  `json:"why,omitempty"`
}

// Kind says what Difference is.
type Kind string

// The kinds.
const (
	Interval Kind = "interval" // Lo and Hi are of Got, Want must lie within; no Difference
	Share    Kind = "share"    // Got in percent, at least Limit; no Difference
	Points   Kind = "points"   // Got less Want, both in percent, the largest over outcomes
	Ratio    Kind = "ratio"    // Got over Want less 1; Lo, Hi likewise
	Distance Kind = "distance" // Kolmogorov-Smirnov; Lo, Hi over pairs of runs
	Count    Kind = "count"    // Got less Want, each per run
)

// Tally counts the lines by verdict.
func (r *Rung) Tally() (n [Differs + 1]int64) {
	for i := range r.Groups {
		for _, l := range r.Groups[i].Lines {
			n[l.Verdict]++
		}
	}
	return n
}

// sum sets the verdict, from those of the lines.
func (r *Rung) sum() {
	for v, n := range r.Tally() {
		if n > 0 {
			r.Verdict = Verdict(v)
		}
	}
}

// Add appends a rung.
func (r *Report) Add(rung Rung) {
	rung.sum()
	r.Rungs = append(r.Rungs, rung)
	r.Verdict = max(r.Verdict, rung.Verdict)
	r.Partial = r.Partial || rung.Partial
}

// none is a figure that there is none of.
var none = Number(math.NaN())
