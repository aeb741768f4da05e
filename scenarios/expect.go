package scenarios

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"brokersim/model"
	"brokersim/sim/variate"
)

// Expect is a parsed [[threshold]]: METRIC(OF) OPERATOR BOUND.
//
//	fraction(OUTCOME)   of the attempts sent (or of the messages offered, for a
//	                    fate such as not_stored_known), 0..1; bound "1%" or "0.01"
//	count(OUTCOME)      attempts or messages; bound a whole number
//	share(CAUSE)        of the time that sends waited which were rejected in the
//	                    queue, 0..1, for a cause as the result's attribution spells
//	                    it (append_stall, gc, lock, backlog, replica, ...); bound
//	                    as of a fraction
//	p50|p90|p99|p999|mean|max(latency|waiting|period_in_queue|recovery)
//	                    in ms; bound a duration
//	throughput          successful attempts per virtual second; bound a rate
//	goodput             messages stored exactly once per virtual second; bound a rate
//
// Where no send was rejected in the queue there is no period_in_queue: that all
// of none are below a bound (< and <=) holds, that they are above it (> and >=)
// does not, and the mark has no value. Without a send that was answered (taken
// by a thread, made at all) a threshold of latency (waiting, anything) is
// undecided.
//
// Outcomes and fates are spelt as in the result JSON's attempts and messages.
//
// A share without a rejected send, and the recovery without a stall, are
// undecided. A stall that is not got over before the arrivals end takes longer
// than any bound: then no recovery is below one.
type Expect struct {
	Text   string
	Metric string  // fraction, count, p50, ..., throughput, goodput
	Of     string  // outcome, fate, or latency, waiting, period_in_queue; "" for a rate
	Op     string  // <, <=, >, >=
	Bound  float64 // a share of 1, a count, ms, or per second
}

var (
	expectForm = regexp.MustCompile(`^\s*([A-Za-z0-9_]+)\s*(?:\(\s*([A-Za-z0-9_]*)\s*\))?\s*([<>=!]+)\s*(\S.*?)\s*$`)

	quantileNames = []string{"p50", "p90", "p99", "p999", "mean", "max"}
	metricNames   = append([]string{"fraction", "count", "share", "throughput", "goodput"}, quantileNames...)
	timeNames     = []string{"latency", "waiting", "period_in_queue", "recovery"}
	operators     = []string{"<", "<=", ">", ">="}
	attemptNames  = jsonNames(reflect.TypeFor[model.AttemptCounts]())
	messageNames  = jsonNames(reflect.TypeFor[model.MessageCounts]())
	causeNames    = causeList()
	countNames    = append(slices.Clone(attemptNames), messageNames...)
)

func causeList() (names []string) {
	for _, c := range model.CauseList() {
		names = append(names, c.String())
	}
	return names
}

// jsonNames are the JSON names of a struct's fields, in order.
func jsonNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// ParseExpect parses the text of a threshold. Its error is a
// *variate.ParseError or holds one.
func ParseExpect(text string) (Expect, error) {
	m := expectForm.FindStringSubmatchIndex(text)
	if m == nil {
		return Expect{}, &variate.ParseError{End: len(text),
			Msg: fmt.Sprintf(`want METRIC OPERATOR BOUND such as "fraction(timeout_clean_queue) < 1%%", got %q`, clip(text))}
	}
	part := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return text[m[2*i]:m[2*i+1]]
	}
	oneOf := func(i int, what string, names []string) error {
		if slices.Contains(names, part(i)) {
			return nil
		}
		at, end := m[2*i], m[2*i+1]
		if at < 0 { // there are no parentheses
			at, end = m[2], m[3]
		}
		return &variate.ParseError{Offset: at, End: end, Near: nearestMetric(part(i), names),
			Msg: fmt.Sprintf("unknown %s %q; known are %s", what, clip(part(i)), strings.Join(names, ", "))}
	}
	e := Expect{Text: text, Metric: part(1), Of: part(2), Op: part(3)}
	if err := oneOf(1, "metric", metricNames); err != nil {
		return Expect{}, err
	}
	if err := oneOf(3, "operator", operators); err != nil {
		return Expect{}, err
	}
	of := countNames
	switch e.Metric {
	case "fraction", "count":
	case "share":
		of = causeNames
	case "throughput", "goodput":
		if m[4] >= 0 {
			return Expect{}, &variate.ParseError{Offset: m[4], End: m[5], Msg: e.Metric + " takes nothing in parentheses"}
		}
		of = nil
	default:
		of = timeNames
	}
	if of != nil {
		if err := oneOf(2, "name in "+e.Metric+"(...)", of); err != nil {
			return Expect{}, err
		}
	}
	bound, err := parseBound(e.Metric, part(4))
	if err != nil {
		return Expect{}, &variate.ParseError{Offset: m[8], End: m[9], Msg: err.Error()}
	}
	e.Bound = bound
	return e, nil
}

// nearestMetric is the nearest name; of a quantile the nearest quantile, if
// there may be one.
func nearestMetric(name string, names []string) string {
	digits, ok := strings.CutPrefix(strings.ToLower(name), "p")
	if ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
		switch {
		case len(digits) == 2:
			return quantileName(digits)
		case len(digits) > 2 && strings.HasPrefix(digits, "99"):
			return "p999"
		}
		return ""
	}
	return nearest(name, names)
}

// quantileName is the quantile nearest to one of two digits.
func quantileName(digits string) string {
	switch {
	case digits >= "95":
		return "p99"
	case digits >= "70":
		return "p90"
	}
	return "p50"
}

// parseBound reads the bound of a metric in the unit of Expect.Bound.
func parseBound(metric, text string) (float64, error) {
	switch metric {
	case "fraction", "share":
		digits, percent := strings.CutSuffix(text, "%")
		x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if percent {
			x /= 100
		}
		if err != nil || !(x >= 0 && x <= 1) {
			return 0, fmt.Errorf(`want a share from 0 to 1 or 0%% to 100%%, got %q`, clip(text))
		}
		return x, nil
	case "count":
		n, err := strconv.ParseUint(text, 10, 53)
		if err != nil {
			return 0, fmt.Errorf("want a whole number of at least 0, got %q", clip(text))
		}
		return float64(n), nil
	case "throughput", "goodput":
		rate, err := variate.ParseRate(text)
		return rate, bare(err)
	default:
		d, err := variate.ParseDuration(text)
		return d.Milliseconds(), bare(err)
	}
}

// bare strips the offset that an error of a part has no use for.
func bare(err error) error {
	for _, pe := range parseErrors(err) {
		return fmt.Errorf("%s", pe.Msg)
	}
	return err
}

// Measure reads the value that e is about off a result, with the result's own
// interval where it has one. It is false where the result has no observation.
// Bounds of a fraction or a count over replications are for the caller, who
// has the replications.
func (e Expect) Measure(r *model.Result) (model.Estimate, bool) {
	switch e.Metric {
	case "fraction", "count":
		n, whole := int64(0), r.Attempts.Sent
		if slices.Contains(attemptNames, e.Of) {
			n = count(r.Attempts, attemptNames, e.Of)
		} else {
			n, whole = count(r.Messages, messageNames, e.Of), r.Messages.Offered
		}
		if e.Metric == "count" {
			return model.Estimate{Value: float64(n)}, true
		}
		return model.Estimate{Value: float64(n) / float64(whole)}, whole > 0
	case "share":
		return shareOf(r.Attribution, e.Of)
	case "throughput":
		return model.Estimate{Value: float64(r.Attempts.Success) / r.VirtualSeconds}, r.VirtualSeconds > 0
	case "goodput":
		return model.Estimate{Value: float64(r.Messages.StoredOnce) / r.VirtualSeconds}, r.VirtualSeconds > 0
	}
	recovery := new(model.Summary)
	if r.Recovery != nil {
		recovery = &r.Recovery.Ms
	}
	s := map[string]*model.Summary{"latency": &r.LatencyMs, "waiting": &r.WaitingMs, "period_in_queue": &r.PeriodMs, "recovery": recovery}[e.Of]
	if e.Metric == "max" {
		if s.Max == nil {
			return model.Estimate{}, false
		}
		return model.Estimate{Value: *s.Max}, true
	}
	est := map[string]*model.Estimate{"p50": s.P50, "p90": s.P90, "p99": s.P99, "p999": s.P999, "mean": s.Mean}[e.Metric]
	if est == nil {
		return model.Estimate{}, false
	}
	return *est, true
}

// shareOf is a cause's share of the wait of the rejected sends.
func shareOf(a *model.Attribution, cause string) (model.Estimate, bool) {
	if a == nil || len(a.Rejected.Share) == 0 {
		return model.Estimate{}, false
	}
	share := model.Estimate{Value: a.Rejected.Share[cause], Why: a.Rejected.NoInterval}
	if lo, ok := a.Rejected.Lo[cause]; ok {
		hi := a.Rejected.Hi[cause]
		share.Lo, share.Hi = &lo, &hi
	}
	return share, true
}

// count reads the field of that JSON name.
func count(counts any, names []string, name string) int64 {
	return reflect.ValueOf(counts).Field(slices.Index(names, name)).Int()
}

// Holds reports whether a value meets the bound.
func (e Expect) Holds(value float64) bool {
	switch e.Op {
	case "<":
		return value < e.Bound
	case "<=":
		return value <= e.Bound
	case ">":
		return value > e.Bound
	default:
		return value >= e.Bound
	}
}

// Eval measures e on a result: passed or failed if all of the interval (the
// value alone where there is none) is on one side of the bound, else undecided
// (Passed is nil), as it is without an observation; but see Expect for the
// period of no rejected send.
func (e Expect) Eval(r *model.Result) model.ThresholdMark {
	mark := model.ThresholdMark{Expect: e.Text}
	if e.Of == "recovery" && r.Recovery != nil && r.Recovery.NotRecovered > 0 {
		above := e.Op == ">" || e.Op == ">="
		mark.Passed = &above
		return mark
	}
	est, ok := e.Measure(r)
	if !ok {
		if e.Of == "period_in_queue" && r.PeriodMs.Count == 0 && r.Attempts.Sent > 0 {
			below := e.Op == "<" || e.Op == "<="
			mark.Passed = &below
		}
		return mark
	}
	mark.Value, mark.Lo, mark.Hi = &est.Value, est.Lo, est.Hi
	passed := e.Holds(est.Value)
	if est.Lo != nil && est.Hi != nil {
		passed = e.Holds(*est.Lo)
		if passed != e.Holds(*est.Hi) {
			return mark
		}
	}
	mark.Passed = &passed
	return mark
}
