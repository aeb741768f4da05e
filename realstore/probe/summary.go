package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"brokersim/sim"
)

// histogram is an HdrHistogram of ns, to 3 significant digits.
type histogram struct{ h *hdrhistogram.Histogram }

const histogramMost = int64(1)<<44 - 1

func (h *histogram) add(ns int64) {
	if h.h == nil {
		h.h = hdrhistogram.New(1, histogramMost, 3)
	}
	_ = h.h.RecordValue(min(max(ns, 0), histogramMost)) // within its bounds
}

func (h *histogram) quantile(q float64) int64 {
	if h.h == nil {
		return 0
	}
	return min(h.h.ValueAtQuantile(q*100), h.h.Max())
}

func (h *histogram) max() int64 {
	if h.h == nil {
		return 0
	}
	return h.h.Max()
}

func (h *histogram) encode() string {
	if h.h == nil {
		return ""
	}
	b, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return ""
	}
	return string(b)
}

// Summary is what a run comes to.
type Summary struct {
	Appends     int64       `json:"appends"`
	Flushes     int64       `json:"flushes"`
	Sojourn     Quantiles   `json:"sojourn_ns"`
	Parts       []PartOf    `json:"parts"`
	PacerLate   Quantiles   `json:"pacer_late_ns"` // beyond what waits behind the append before
	FlushTakes  Quantiles   `json:"flush_ns"`      // of the flush thread
	Slow        []SlowCount `json:"slow"`          // appends that took longer than Slow, by cause
	Utilisation float64     `json:"utilisation"`   // of the appending thread
}

// PartOf are the quantiles of one part.
type PartOf struct {
	Part      string `json:"part"`
	Quantiles `json:"ns"`
}

// SlowCount is how many appends were slow for a cause.
type SlowCount struct {
	Cause string `json:"cause"`
	Count int64  `json:"count"`
	Max   int64  `json:"max_ns"`
}

// Quantiles of a time in ns. Those that fewer than 10 observations lie beyond
// are 0: the run was too short for them.
type Quantiles struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	P9999 int64 `json:"p9999"`
	Max   int64 `json:"max"`
}

// Beyond is how many observations must lie beyond a quantile for it to be told.
const Beyond = 10

func (h *histogram) quantiles() Quantiles {
	if h.h == nil {
		return Quantiles{}
	}
	q := Quantiles{Count: h.h.TotalCount(), Max: h.max()}
	for _, at := range []struct {
		p  float64
		to *int64
	}{{0.5, &q.P50}, {0.9, &q.P90}, {0.99, &q.P99}, {0.999, &q.P999}, {0.9999, &q.P9999}} {
		if float64(q.Count)*(1-at.p) >= Beyond-1e-6 {
			*at.to = h.quantile(at.p)
		}
	}
	return q
}

// summarise fills in Summary, Histograms and Warnings.
func (r *Run) summarise() {
	var sojourn, late, flush histogram
	parts := make([]histogram, len(Parts))
	slow := make([]SlowCount, causes)
	var busy, end, last int64
	for i := range r.Samples {
		s := &r.Samples[i]
		sojourn.add(s.Sojourn())
		for j := range Parts {
			parts[j].add(Parts[j].Of(s))
		}
		wanted := max(s.Intended, end)
		late.add(s.Start - wanted)
		end = s.End
		busy += s.End - s.Start
		last = s.End
		if s.Cause != CauseNone {
			c := &slow[s.Cause]
			c.Count++
			c.Max = max(c.Max, s.Unlock-wanted)
		}
	}
	for i := range r.Flushes {
		flush.add(r.Flushes[i].End - r.Flushes[i].Start)
	}
	sum := Summary{
		Appends: int64(len(r.Samples)), Flushes: int64(len(r.Flushes)), Sojourn: sojourn.quantiles(),
		PacerLate: late.quantiles(), FlushTakes: flush.quantiles(), Parts: []PartOf{}, Slow: []SlowCount{},
	}
	r.Histograms = map[string]string{"sojourn": sojourn.encode(), "pacer_late": late.encode(), "flush_thread": flush.encode()}
	for j := range Parts {
		sum.Parts = append(sum.Parts, PartOf{Parts[j].Name, parts[j].quantiles()})
		r.Histograms[Parts[j].Name] = parts[j].encode()
	}
	for c := range slow {
		if slow[c].Count > 0 {
			slow[c].Cause = Cause(c).String()
			sum.Slow = append(sum.Slow, slow[c])
		}
	}
	if last > 0 {
		sum.Utilisation = float64(busy) / float64(last)
	}
	r.Summary = sum
	r.Warnings = r.judge(late.quantile(0.99))
}

// Above these the figures are those of a disturbed machine.
const (
	stealMost       = 0.01 // of all processors' time
	OtherLoadMost   = 0.10 // of one processor
	pressureMost    = 0.10 // of the run
	lateMost        = 0.25 // of the mean interval between appends, at p99
	lateLeast       = 50 * sim.Microsecond
	utilisationMost = 0.7
)

// OtherLoad is how many processors other programs used during the run.
func (r *Run) OtherLoad() float64 {
	d := r.After.since(r.Before)
	return float64(d.CPUBusyNs-d.OwnNs) / float64(max(d.AtNs, 1))
}

// CurrentLoad reads the counters of what the machine has done so far; all 0
// where there are none.
func CurrentLoad() Load { return load() }

// Disturbed says what else the machine did between two loads, if that is so much
// that what was measured meanwhile is not to be trusted; else "".
func Disturbed(before, after Load, cpus int) string {
	d := after.since(before)
	wall := float64(max(d.AtNs, 1))
	if steal := float64(d.StealNs) / wall / float64(max(cpus, 1)); steal > stealMost {
		return fmt.Sprintf("the host took %.1f %% of the processors' time (steal)", steal*100)
	}
	if other := float64(d.CPUBusyNs-d.OwnNs) / wall; other > OtherLoadMost {
		return fmt.Sprintf("other programs used %.2f of %d processors", other, cpus)
	}
	return ""
}

// judge says why the figures might not be trusted.
func (r *Run) judge(late int64) []string {
	out := []string{}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	d := r.After.since(r.Before)
	wall := float64(max(d.AtNs, 1))
	if steal := float64(d.StealNs) / wall / float64(max(r.Environment.CPUs, 1)); steal > stealMost {
		say("the host took %.1f %% of the processors' time (steal)", steal*100)
	}
	if other := r.OtherLoad(); other > OtherLoadMost {
		say("other programs used %.2f of %d processors", other, r.Environment.CPUs)
	}
	if own := float64(d.OwnNs) / wall; r.Environment.CPUs < 2 && own > 0.5 {
		say("one processor for the appends and the flush thread: they wait for each other")
	}
	for _, p := range []struct {
		of string
		ns int64
	}{{"a processor", d.PSICPUNs}, {"input or output", d.PSIIONs}, {"memory", d.PSIMemoryNs}} {
		// The flush thread's own syncs are pressure of I/O too; the kernel can't
		// tell whose it was.
		if share := float64(p.ns) / wall; share > pressureMost && p.of != "input or output" || share > 0.9 {
			say("tasks of the machine waited for %s in %.0f %% of the run (PSI)", p.of, share*100)
		}
	}
	// Appends behind another are not the pacer's fault.
	if interval := 1e9 / r.Settings.Rate; float64(late) > max(lateMost*interval, float64(lateLeast)) {
		say("the pacer was late: 99 %% of its wake-ups within %v, intervals are %v on average", time.Duration(late).Round(time.Microsecond), time.Duration(interval).Round(time.Microsecond))
	}
	if u := r.Summary.Utilisation; u > utilisationMost {
		say("the rate is near what the disk takes: the appending thread was busy for %.0f %% of the time; the waits depend on the length of the run", u*100)
	}
	if n := float64(len(r.Samples)); n*0.001 < Beyond {
		say("too short for p99.9: %d appends, want %d", len(r.Samples), Beyond*1000)
	}
	if r.FlushesLost > 0 {
		say("%d flushes were not kept: appends during them count as outside", r.FlushesLost)
	}
	if 1e9/r.Settings.Rate > float64(time.Millisecond) {
		say("at this rate stalls shorter than %v are mostly missed", time.Duration(1e9/r.Settings.Rate).Round(time.Microsecond))
	}
	if slices.ContainsFunc(r.Kernel, func(k KernelState) bool { return k.Throttling() }) {
		say("dirty pages stood above the level from which the kernel makes writers pause")
	}
	return out
}

func (l Load) since(o Load) Load {
	return Load{l.CPUBusyNs - o.CPUBusyNs, l.StealNs - o.StealNs, l.OwnNs - o.OwnNs, l.PSICPUNs - o.PSICPUNs,
		l.PSIIONs - o.PSIIONs, l.PSIMemoryNs - o.PSIMemoryNs, l.WrittenKiB - o.WrittenKiB, l.AtNs - o.AtNs}
}
