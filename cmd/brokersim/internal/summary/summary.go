package summary

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots/numeral"
	"brokersim/sim"
	"brokersim/sim/stat"
)

// Input is what a summary is made from.
type Input struct {
	Result *model.Result
	Study  *model.Study
	Story  *Story // of replication 1
	About  string // what was simulated
	// Release and Changes: what the run's release changes against the scenario's
	// own, Own; nothing if it is the same.
	Release, Own string
	Changes      []string
	// Replicates says that the command could make more replications.
	Replicates bool
	Wrote      []string
	Repeat     string // the command line
}

// Write prints the summary.
func Write(w io.Writer, style ui.Style, in Input) error {
	out := bufio.NewWriter(w)
	p := &printer{Writer: out, style: style, Input: in}
	p.verdict(p.answer())
	p.release()
	p.story()
	p.waiting()
	p.timeouts()
	p.slowest()
	p.recovery()
	p.attempts()
	p.brokers()
	p.messages()
	p.atRisk()
	p.queues()
	p.times()
	p.thresholds()
	p.warnings()
	p.wrote()
	fmt.Fprintf(p, "\n%s\n", in.Repeat)
	return out.Flush()
}

type printer struct {
	io.Writer
	style ui.Style
	Input
}

// release says what another release than the scenario's own changes.
func (p *printer) release() {
	if p.Release == p.Own {
		return
	}
	p.heading("What release %s changes here, from %s", p.Release, p.Own)
	for _, change := range p.Changes {
		fmt.Fprintf(p, "  %s\n", change)
	}
	if len(p.Changes) == 0 {
		fmt.Fprintln(p, "  nothing that this run shows")
	}
}

func (p *printer) heading(format string, args ...any) {
	fmt.Fprintf(p, "\n%s\n", p.style.Bold(fmt.Sprintf(format, args...)))
}

// text prints a sentence, wrapped, after indent blanks; what follows its first
// line hangs by so many more.
func (p *printer) text(indent, hang int, set func(string) string, sentence string) {
	for i, line := range p.style.Wrap(sentence, indent+hang) {
		if i == 1 {
			indent += hang
		}
		fmt.Fprintf(p, "%*s%s\n", indent, "", set(line))
	}
}

func plain(s string) string { return s }

// note prints what can be passed over.
func (p *printer) note(format string, args ...any) {
	p.text(2, 0, p.style.Dim, fmt.Sprintf(format, args...))
}

// verdict prints the answer, which is one line where no terminal bounds it,
// and what was simulated.
func (p *printer) verdict(answer string) {
	if p.style.Terminal {
		p.text(0, 2, p.style.Bold, answer)
	} else {
		fmt.Fprintln(p, answer)
	}
	p.text(0, 2, p.style.Dim, p.About)
}

// answer is the verdict in one sentence.
func (p *printer) answer() string {
	r := p.Result
	var parts []string
	switch {
	case r.Partial && r.Replications == 0:
		parts = append(parts, "interrupted before a replication was complete")
	case r.Partial:
		parts = append(parts, fmt.Sprintf("interrupted after %s simulated, this is what there is", numeral.Duration(sim.Time(r.VirtualSeconds*1e9))))
	}
	if r.Replications > 1 {
		parts = append(parts, fmt.Sprintf("%s replications", numeral.Count(int64(r.Replications))))
	}
	if v := thresholdVerdict(r.Thresholds); v != "" {
		parts = append(parts, v)
	}
	if r.Replications > 0 {
		parts = append(parts, p.failures())
		if again := p.afterRetries(); again != "" {
			parts = append(parts, again)
		}
	}
	return strings.Join(parts, "; ")
}

// failures counts what went wrong: what the broker rejected, whether or not
// its producer still listened, and what timed out at the producer.
func (p *printer) failures() string {
	n := p.Result.Attempts
	known := n.TimeoutCleanQueue + n.PCBusyCleanQueue + n.RejectRequest + n.Overload + n.PCSynchronized
	late := p.late()
	timeouts := p.timedOut()
	others, failed := p.otherFailures()
	var s string
	switch {
	case n.Sent == 0:
		return "no send was made"
	case known+late == 0 && failed > 0:
		s = fmt.Sprintf("%s of %s failed: %s", numeral.Count(failed), numeral.Plural(n.Sent, "send"), others)
		if n.ClientTimeout > 0 {
			s += "; " + timeouts
		}
		return s
	case known+late == 0:
		all := p.Study.Fraction(rejected)
		s = fmt.Sprintf("none of %s rejected (share at most %s %%, 95 %% interval)", numeral.Plural(n.Sent, "send"), numeral.AtMost(all.Hi))
		if n.ClientTimeout > 0 {
			s += "; " + timeouts
		}
		return s
	case late == 0:
		s = p.share(known, "rejected", rejected)
	case known == 0:
		s = fmt.Sprintf("%s of %s rejected, all after their producers had given up", numeral.Count(late), numeral.Plural(n.Sent, "send"))
	default:
		s = fmt.Sprintf("%s of %s rejected, %s of them after their producers had given up",
			numeral.Count(known+late), numeral.Plural(n.Sent, "send"), numeral.Count(late))
	}
	if first, ok := p.Story.firstRejected(); ok {
		s += fmt.Sprintf(", first at %s: %v", numeral.Seconds(answered(first)), first.Outcome)
	}
	s += p.mostOfTheWait()
	if failed > 0 {
		s += fmt.Sprintf("; %s more failed: %s", numeral.Count(failed), others)
	}
	if n.ClientTimeout > 0 {
		s += "; " + timeouts
	}
	return s
}

// mostOfTheWait says what the rejected sends waited for most; if none waited, what
// the broker was at when it refused most of them.
func (p *printer) mostOfTheWait() string {
	a := p.Result.Attribution
	switch {
	case a == nil || a.Rejected.Count == 0 && a.Refused == nil:
		return ""
	case a.Rejected.Count == 0:
		c, n := dominant(a.Refused.While)
		return fmt.Sprintf("; %s %% of them refused for: %s", numeral.Share(n, a.Refused.Count), p.causeName(c))
	}
	c, share := dominant(a.Rejected.Share)
	return fmt.Sprintf("; %s %% of the wait: %s", numeral.Percent(share), p.causeName(c))
}

// afterRetries says what became of the messages, where attempts are more than
// those.
func (p *printer) afterRetries() string {
	r := p.Result
	m := &r.Messages
	if r.Retries+r.Resends == 0 || m.Offered == 0 {
		return ""
	}
	if m.StoredOnce == m.Offered {
		return fmt.Sprintf("sent again, all %s stored once", numeral.Plural(m.Offered, "message"))
	}
	var fates []string
	for _, fate := range []struct {
		n    int64
		what string
	}{
		{m.StoredMoreThanOnce, "stored more than once"},
		{m.NotStoredKnown + m.NotStoredUnknown, "not stored"},
		{m.StoredThoughtFailed, "stored, thought failed"},
	} {
		if fate.n > 0 {
			fates = append(fates, numeral.Count(fate.n)+" "+fate.what)
		}
	}
	return fmt.Sprintf("of %s %s", numeral.Plural(m.Offered, "message"), strings.Join(fates, ", "))
}

// otherFailures counts by kind the sends that were answered with neither success
// nor a rejection.
func (p *printer) otherFailures() (kinds string, total int64) {
	n := &p.Result.Attempts
	var list []string
	add := func(count int64, kind string) {
		if count > 0 {
			list = append(list, numeral.Count(count)+" "+kind)
			total += count
		}
	}
	add(n.FlushDiskTimeout, "FLUSH_DISK_TIMEOUT (stored)")
	add(n.FlushSlaveTimeout, "FLUSH_SLAVE_TIMEOUT (stored)")
	add(n.SlaveNotAvailable, "SLAVE_NOT_AVAILABLE (stored)")
	told := int64(0)
	for _, count := range p.Story.others {
		told += count
	}
	if told != n.Other { // of several replications the first one's codes alone are known
		add(n.Other, model.Other.String())
		return strings.Join(list, ", "), total
	}
	for _, code := range slices.Sorted(maps.Keys(p.Story.others)) {
		add(p.Story.others[code], fmt.Sprintf("%s (code %d)", codeName(code), code))
	}
	return strings.Join(list, ", "), total
}

// codeName is the response code as RocketMQ spells it, where it is not one of
// the model's outcomes.
func codeName(code int32) string {
	switch code {
	case model.CodeSystemError:
		return "SYSTEM_ERROR"
	case model.CodeMessageIllegal:
		return "MESSAGE_ILLEGAL"
	case model.CodeServiceNotAvailable:
		return "SERVICE_NOT_AVAILABLE"
	}
	return model.Other.String()
}

// late counts the sends that the broker rejected when their producers had
// given up, which are timeouts to them.
func (p *printer) late() int64 {
	return p.Result.Late.Rejected
}

// share tells how many sends something happened to.
func (p *printer) share(k int64, what string, of func(model.AttemptClass) bool) string {
	share := p.Study.Fraction(of)
	return fmt.Sprintf("%s of %s %s (%s %%%s)", numeral.Count(k), numeral.Plural(p.Result.Attempts.Sent, "send"), what,
		numeral.Percent(share.Value), interval(share, ", 95 %% interval %s to %s", numeral.Percent))
}

// interval prints the bounds of i, or nothing if it has none.
func interval(i stat.Interval, format string, number func(float64) string) string {
	if !i.OK() {
		return ""
	}
	return fmt.Sprintf(format, number(i.Lo), number(i.Hi))
}

// rejected reports whether the broker refused an attempt of that class.
func rejected(c model.AttemptClass) bool {
	return slices.Contains([]string{"timeout_clean_queue", "pcbusy_clean_queue", "rejectrequest", "overload", "pc_synchronized"}, c.String())
}

// row is a line of the story.
type row struct {
	at   sim.Time
	text string
	// lines are printed as they are from column 1, as they stand in a log: the
	// broker's remark, and for the first rejected send the client's line.
	lines []string
}

// story tells in time order what happened to replication 1.
func (p *printer) story() {
	rows := p.Story.rows(p.Result)
	if len(rows) == 0 {
		return
	}
	if p.Result.Replications != 1 {
		p.heading("What happened in replication 1")
	} else {
		p.heading("What happened")
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(numeral.Seconds(r.at)))
	}
	for _, r := range rows {
		fmt.Fprintf(p, "  %*s", width, numeral.Seconds(r.at))
		for i, line := range p.style.Wrap(r.text, width+4) {
			fmt.Fprintf(p, "%*s%s\n", 2+min(i, 1)*(width+2), "", line)
		}
		for _, line := range r.lines {
			fmt.Fprintln(p, p.style.Red(line))
		}
	}
	for _, note := range p.Story.notes() {
		p.text(width+4, 0, plain, note)
	}
}

// attempts are the counts by outcome, as the producers saw them.
func (p *printer) attempts() {
	n := p.Result.Attempts
	if n.Sent == 0 {
		return
	}
	p.heading("Attempts")
	t := ui.NewTable("", ">", ">share, %", ">95 % interval")
	for c := range model.AttemptClasses {
		class := model.AttemptClass(c)
		if k := n.Count(class); k > 0 {
			share := p.Study.Fraction(func(c model.AttemptClass) bool { return c == class })
			t.Row(class.String(), numeral.Count(k), numeral.Percent(share.Value), interval(share, "%s to %s", numeral.Percent))
		}
	}
	t.Row("sent", numeral.Count(n.Sent), "", "")
	t.Write(p, 2, p.style.Width)
	if n.ClientTimeout > 0 {
		s := "classes are as the producer sees them"
		if late := p.late(); late > 0 {
			s += fmt.Sprintf(": of client_timeout the broker rejected %s later", numeral.Count(late))
		}
		p.note("%s", s)
	}
	if r := p.Result; r.ErrorsTotal > int64(len(r.Errors)) {
		p.note("the result JSON has the first %d of %s%s", len(r.Errors), numeral.Plural(r.ErrorsTotal, "error"), ofFirst(r))
	}
}

// messages are their fates.
func (p *printer) messages() {
	m := p.Result.Messages
	if m.Offered == 0 {
		return
	}
	p.heading("Messages: was it lost, will it be duplicated?")
	t := ui.NewTable("", ">", ">share, %", "")
	for _, fate := range []struct {
		name  string
		n     int64
		means string
	}{
		{"stored_once", m.StoredOnce, "neither"},
		{"stored_more_than_once", m.StoredMoreThanOnce, "duplicated"},
		{"not_stored_known", m.NotStoredKnown, "lost unless sent again: it is known"},
		{"not_stored_unknown", m.NotStoredUnknown, "lost, and nobody knows"},
		{"stored_thought_failed", m.StoredThoughtFailed, "duplicated if it is sent again"},
	} {
		if fate.n > 0 {
			t.Row(fate.name, numeral.Count(fate.n), numeral.Percent(float64(fate.n)/float64(m.Offered)), fate.means)
		}
	}
	t.Row("offered", numeral.Count(m.Offered), "", "")
	t.Write(p, 2, p.style.Width)
	p.again()
}

// again tells what the attempts are more than the messages, and what order has
// suffered.
func (p *printer) again() {
	r := p.Result
	if r.Retries > 0 {
		p.note("of %s %s were retries by the client", numeral.Plural(r.Attempts.Sent, "attempt"), numeral.Count(r.Retries))
	}
	if r.Resends > 0 {
		p.note("%s made again by the application's handler", numeral.Plural(r.Resends, "call"))
	}
	if r.Inversions > 0 {
		p.note("%s stored behind a later one of the same producer and queue", numeral.Plural(r.Inversions, "send"))
	}
}

// brokers are the attempts at each, where the route has several.
func (p *printer) brokers() {
	if len(p.Result.Brokers) == 0 {
		return
	}
	p.heading("Attempts by broker")
	var heads []string
	var classes []model.AttemptClass
	for c := range model.AttemptClasses {
		if class := model.AttemptClass(c); p.Result.Attempts.Count(class) > 0 {
			classes, heads = append(classes, class), append(heads, ">"+class.String())
		}
	}
	t := ui.NewTable(append([]string{"broker", ">sent"}, heads...)...)
	for i, n := range p.Result.Brokers {
		row := []string{numeral.Count(int64(i)), numeral.Count(n.Sent)}
		for _, class := range classes {
			row = append(row, numeral.Count(n.Count(class)))
		}
		t.Row(row...)
	}
	t.Write(p, 2, p.style.Width)
}

// atRisk is what a crash would lose of what was acknowledged.
func (p *printer) atRisk() {
	r := p.Result.AtRisk
	if r == nil {
		return
	}
	p.heading("At risk, in messages that were acknowledged")
	t := ui.NewTable("", ">mean", ">most", ">at the end", "")
	for _, crash := range []struct {
		name  string
		g     model.Gauge
		means string
	}{
		{"process_kill", r.ProcessKill, "not committed yet"},
		{"power_cut", r.PowerCut, "not flushed yet"},
	} {
		t.Row(crash.name, numeral.Digits(crash.g.Mean), numeral.Count(int64(crash.g.Max)), numeral.Digits(crash.g.End), crash.means)
	}
	t.Write(p, 2, p.style.Width)
}

// queues are the counts of the other swept queues, where there is a load.
func (p *printer) queues() {
	if len(p.Result.Queues) == 0 {
		return
	}
	p.heading("Other queues")
	shared := slices.ContainsFunc(p.Result.Queues, func(q model.LoadCounts) bool { return q.PCBusyCleanQueue > 0 })
	heads := []string{"", ">arrived", ">served", ">timeout_clean_queue", ">overload"}
	if shared {
		heads = append(heads, ">pcbusy_clean_queue")
	}
	t := ui.NewTable(heads...)
	for _, q := range p.Result.Queues {
		row := []string{q.Queue, numeral.Count(q.Arrived), numeral.Count(q.Served), numeral.Count(q.TimeoutCleanQueue), numeral.Count(q.Overload)}
		if shared {
			row = append(row, numeral.Count(q.PCBusyCleanQueue))
		}
		t.Row(row...)
	}
	t.Write(p, 2, p.style.Width)
}

// figures are the rows of the table of times. The maximum is what it is.
var figures = []struct {
	name     string
	of       func(*model.Summary) *model.Estimate
	interval bool
}{
	{"mean", func(s *model.Summary) *model.Estimate { return s.Mean }, true},
	{"p50", func(s *model.Summary) *model.Estimate { return s.P50 }, true},
	{"p90", func(s *model.Summary) *model.Estimate { return s.P90 }, true},
	{"p99", func(s *model.Summary) *model.Estimate { return s.P99 }, true},
	{"p99.9", func(s *model.Summary) *model.Estimate { return s.P999 }, true},
	{"max", func(s *model.Summary) *model.Estimate { return &model.Estimate{Value: *s.Max} }, false},
}

// distribution is a column of the table of times, with a column of intervals
// if there is any.
type distribution struct {
	name      string
	s         *model.Summary
	intervals bool
}

func (d *distribution) heads() []string {
	if d.intervals {
		return []string{">" + d.name, ">95 % interval"}
	}
	return []string{">" + d.name}
}

func (d *distribution) cells(value, bounds string) []string {
	if d.intervals {
		return []string{value, bounds}
	}
	return []string{value}
}

// noInterval stands where there is none.
const noInterval = "-"

// times is the table of the three distributions; where it is too wide, one for
// each.
func (p *printer) times() {
	var all []distribution
	missing := false
	for _, d := range []distribution{
		{name: "latency", s: &p.Result.LatencyMs}, {name: "waiting", s: &p.Result.WaitingMs}, {name: "period in queue", s: &p.Result.PeriodMs},
	} {
		if d.s.Count == 0 {
			continue
		}
		for _, f := range figures {
			there := f.of(d.s).Lo != nil
			d.intervals = d.intervals || there
			missing = missing || f.interval && !there
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return
	}
	p.heading("Times in ms, latency (sojourn time) from call to answer")
	if t := timesTable(all); t.Fits(p.style.Width - 2) {
		t.Write(p, 2, p.style.Width)
	} else {
		for i := range all {
			timesTable(all[i:i+1]).Write(p, 2, p.style.Width)
		}
	}
	switch {
	case !missing:
	case p.Result.Replications != 1:
		p.note(noInterval + " too few independent observations for an interval")
	case p.Replicates:
		p.note(noInterval + " too few independent observations in one run for an interval: -n 20 or more gives one")
	default:
		p.note(noInterval + " too few independent observations in one run for an interval")
	}
}

func timesTable(all []distribution) *ui.Table {
	row := func(name string, cells func(*distribution) []string) []string {
		row := []string{name}
		for i := range all {
			row = append(row, cells(&all[i])...)
		}
		return row
	}
	t := ui.NewTable(row("", (*distribution).heads)...)
	for _, f := range figures {
		t.Row(row(f.name, func(d *distribution) []string {
			e := f.of(d.s)
			switch {
			case e.Lo != nil && e.Hi != nil:
				return d.cells(numeral.Digits(e.Value), numeral.Range(*e.Lo, *e.Hi))
			case f.interval:
				return d.cells(numeral.Digits(e.Value), noInterval)
			default:
				return d.cells(numeral.Digits(e.Value), "")
			}
		})...)
	}
	t.Row(row("count", func(d *distribution) []string { return d.cells(numeral.Count(d.s.Count), "") })...)
	return t
}

// ofFirst says whose errors they are, where there are several replications.
func ofFirst(r *model.Result) string {
	if r.Replications > 1 {
		return " of replication 1"
	}
	return ""
}

func thresholdVerdict(marks []model.ThresholdMark) string {
	var failed, undecided int64
	for _, m := range marks {
		switch {
		case m.Passed == nil:
			undecided++
		case !*m.Passed:
			failed++
		}
	}
	all := numeral.Plural(int64(len(marks)), "threshold")
	switch {
	case failed > 0:
		return fmt.Sprintf("%d of %s failed", failed, all)
	case undecided > 0:
		return fmt.Sprintf("%d of %s undecided", undecided, all)
	case len(marks) > 0:
		return all + " passed"
	}
	return ""
}

func (p *printer) thresholds() {
	if len(p.Result.Thresholds) == 0 {
		return
	}
	p.heading("Thresholds")
	t := ui.NewTable("", "", ">value", ">95 % interval")
	for _, m := range p.Result.Thresholds {
		verdict := "undecided"
		if m.Passed != nil {
			verdict = map[bool]string{true: p.style.Green("passed"), false: p.style.Red("failed")}[*m.Passed]
		}
		number, unit := numeral.Digits, thresholdUnit(m.Expect)
		switch unit {
		case " %":
			number = numeral.Percent
		case "":
			number = func(x float64) string { return numeral.Fixed(x, 0) }
		}
		value, bounds := "no observation", ""
		if m.Value != nil {
			value = number(*m.Value) + unit
		}
		if m.Lo != nil && m.Hi != nil {
			bounds = number(*m.Lo) + " to " + number(*m.Hi) + unit
		}
		t.Row(verdict, m.Expect, value, bounds)
	}
	t.Write(p, 2, p.style.Width)
}

// thresholdUnit is that of a threshold's value.
func thresholdUnit(expect string) string {
	switch expect = strings.TrimSpace(expect); {
	case strings.HasPrefix(expect, "fraction"), strings.HasPrefix(expect, "share"):
		return " %"
	case strings.HasPrefix(expect, "count"):
		return ""
	case strings.HasPrefix(expect, "throughput"), strings.HasPrefix(expect, "goodput"):
		return " /s"
	default:
		return " ms"
	}
}

func (p *printer) warnings() {
	if len(p.Result.Warnings) == 0 {
		return
	}
	p.heading("Warnings")
	for _, warning := range p.Result.Warnings {
		p.text(2, 2, plain, warning)
	}
}

func (p *printer) wrote() {
	if len(p.Wrote) == 0 {
		return
	}
	p.heading("Written")
	for _, path := range p.Wrote {
		fmt.Fprintf(p, "  %s\n", path)
	}
}

// firstRejected is the rejected send that was answered first.
func (s *Story) firstRejected() (first *model.Attempt, ok bool) {
	for o := range s.kinds {
		k := &s.kinds[o]
		if k.count > 0 && model.Outcome(o).Rejected() && (first == nil || answered(&k.first) < answered(first)) {
			first = &k.first
		}
	}
	return first, first != nil
}

// rows are the events worth telling, in time order.
func (s *Story) rows(r *model.Result) []row {
	var rows []row
	add := func(at sim.Time, format string, args ...any) {
		rows = append(rows, row{at: at, text: fmt.Sprintf(format, args...)})
	}
	// Where there are several brokers, which it is; queues are those of all.
	atBroker := func(broker int32) string { return "" }
	queue, its, of := "send queue", "its", ""
	if len(r.Brokers) > 0 {
		atBroker = func(broker int32) string { return fmt.Sprintf(", broker %d", broker) }
		queue, its, of = "send queues", "their", ", of all brokers"
	}
	for _, st := range s.told() {
		at := atBroker(int32(st.Broker))
		add(st.From, "%s%s", stallBegins(st), at)
		if !r.Partial || st.To.Seconds() <= r.VirtualSeconds {
			add(st.To, "%s ends after %s%s", stallNoun(st.Where), numeral.Duration(st.To-st.From), at)
		}
	}
	if s.longest > 1 {
		add(s.longestAt, "%s at %s longest: %s wait%s", queue, its, numeral.Count(int64(s.longest)), of)
	}
	s.timeouts.rows(add, atBroker)
	first, _ := s.firstRejected()
	for o := range s.kinds {
		k := &s.kinds[o]
		if k.count == 0 {
			continue
		}
		if model.Outcome(o) == model.NoAnswer {
			add(answered(&k.first), "first answer lost (seq %d%s, sent at %s): callback dropped, message stored",
				k.first.Seq, atBroker(k.first.Broker), numeral.Seconds(k.first.Send))
			continue
		}
		what := fmt.Sprintf("first %v", model.Outcome(o))
		if first == &k.first {
			what = "first rejected send"
		}
		which := fmt.Sprintf("(seq %d%s, sent at %s", k.first.Seq, atBroker(k.first.Broker), numeral.Seconds(k.first.Send))
		if k.first.ClientTimedOut {
			which += ", given up by its producer"
		}
		lines := linesOf(&k.first, r.Errors, first == &k.first)
		if len(lines) > 1 {
			which += "): remark, and the client's line"
		} else {
			which += fmt.Sprintf("): code %d", k.first.Code)
		}
		add(answered(&k.first), "%s %s", what, which)
		rows[len(rows)-1].lines = lines
	}
	if s.rejected > 1 {
		add(answered(&s.last), "last of %s rejected sends (seq %d%s)", numeral.Count(s.rejected), s.last.Seq, atBroker(s.last.Broker))
	}
	if s.incidents > 1 {
		add(s.first.recovered, "%s empty again; the first incident is over", queue)
	}
	switch {
	case s.incidents > 0 && !s.pending:
		add(s.recovered, "%s empty again", queue)
	case s.incidents > 0 && s.resumed.Done > s.judged: // the queue was not used
		add(s.resumed.Done, "first send stored after the last rejection (seq %d)", s.resumed.Seq)
	case s.incidents == 0 && s.drained-s.longestAt >= sim.Millisecond:
		add(s.drained, "%s empty again", queue)
	}
	// What is printed with the same ms stays in the order of telling: an answer
	// takes a moment to its producer, and the queue may be empty by then.
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(numeral.ToMs(a.at), numeral.ToMs(b.at)) })
	return rows
}

// told are the stalls that the story tells one by one: all if they are few,
// else the one that led to the first rejection, or the longest.
func (s *Story) told() []stall {
	switch {
	case s.stalls.total() <= stallsTold:
		return s.stalls.first
	case s.incidents > 0 && s.stalls.caused:
		return []stall{s.stalls.cause}
	default:
		return []stall{s.stalls.longest}
	}
}

// notes say what the rows leave out.
func (s *Story) notes() (notes []string) {
	if n := s.stalls.total(); n > stallsTold {
		var by []string
		for w, n := range s.stalls.count {
			if n > 0 {
				by = append(by, numeral.Plural(n, stallNoun(model.StallWhere(w))))
			}
		}
		notes = append(notes, fmt.Sprintf("in all %s, the longest %s at %s", strings.Join(by, " and "),
			numeral.Duration(s.stalls.longest.To-s.stalls.longest.From), numeral.Seconds(s.stalls.longest.From)))
	}
	if s.incidents > 1 {
		notes = append(notes, fmt.Sprintf("%s of rejections, more than %s apart", numeral.Plural(s.incidents, "incident"), numeral.Duration(incidentGap)))
	}
	return notes
}

// stallNoun names a kind of stall; the process's is a freeze.
func stallNoun(w model.StallWhere) string {
	switch w {
	case model.StallProcess:
		return "freeze"
	case model.StallGC:
		return "gc pause"
	case model.StallSteal:
		return "steal pause"
	case model.StallCPU:
		return "busy spell"
	default:
		return w.String() + " stall"
	}
}

func stallBegins(st stall) string {
	switch st.Where {
	case model.StallAppend:
		if st.by != "" {
			return fmt.Sprintf("append held up by %s: %s (seq %d holds the put lock)", st.by, numeral.Duration(st.To-st.From), st.BySeq)
		}
		return fmt.Sprintf("append stall begins: seq %d holds the put lock", st.BySeq)
	case model.StallSweep:
		return "sweep stall begins: no queue is swept"
	case model.StallCPU:
		return "busy spell begins: tasks of others keep cores"
	case model.StallFlush:
		return "flush stall begins: no SYNC_FLUSH send is answered"
	case model.StallCommit:
		return "commit stall begins: what is in the transient pool's buffers stays there"
	case model.StallNetwork, model.StallReplica:
		return stallNoun(st.Where) + " begins: a slave acknowledges nothing"
	default:
		return stallNoun(st.Where) + " begins: the whole process stands still"
	}
}

// linesOf are the broker's remark and, if wanted and its producer has it, the
// line as the client spells it.
func linesOf(a *model.Attempt, errors []model.ErrorLine, client bool) []string {
	text := remark(a, errors)
	switch {
	case text == "":
		return nil
	case client && !a.ClientTimedOut:
		return []string{text, fmt.Sprintf("CODE: %d  DESC: %s", a.Code, text)}
	default:
		return []string{text}
	}
}

// remark is the answer as the broker spells it. Where the outcome alone doesn't
// tell it, it is among the run's error lines, or unknown.
func remark(a *model.Attempt, lines []model.ErrorLine) string {
	switch a.Outcome {
	case model.TimeoutCleanQueue, model.PCBusyCleanQueue:
		return model.Answer{Outcome: a.Outcome, PeriodMs: a.PeriodMs, Size: int(a.Qsize)}.Remark()
	case model.RejectRequest:
		return model.RemarkRejectRequest
	case model.Overload:
		return model.RemarkOverload
	case model.PCSynchronized:
		return model.RemarkPCSynchronized
	}
	for _, l := range lines {
		if l.AtMs == a.Resp.Milliseconds() && l.Code == int(a.Code) {
			return l.Remark
		}
	}
	return ""
}
