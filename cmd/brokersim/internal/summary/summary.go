package summary

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/stat"
)

// Input is what a summary is made from.
type Input struct {
	Result *model.Result
	Study  *model.Study
	Story  *Story // of replication 1
	About  string // what was simulated
	Wrote  []string
	Repeat string // the command line
}

// Write prints the summary.
func Write(w io.Writer, style ui.Style, in Input) error {
	out := bufio.NewWriter(w)
	p := &printer{Writer: out, style: style, Input: in}
	p.verdict()
	fmt.Fprintln(p, style.Dim(in.About))
	p.story()
	p.attempts()
	p.messages()
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

func (p *printer) heading(format string, args ...any) {
	fmt.Fprintf(p, "\n%s\n", p.style.Bold(fmt.Sprintf(format, args...)))
}

// verdict is the answer in one line.
func (p *printer) verdict() {
	r := p.Result
	var parts []string
	switch {
	case r.Partial && r.Replications == 0:
		parts = append(parts, "interrupted before a replication was complete")
	case r.Partial:
		parts = append(parts, fmt.Sprintf("interrupted after %s s simulated, this is what there is", ui.Digits(r.VirtualSeconds)))
	}
	if r.Replications > 1 {
		parts = append(parts, fmt.Sprintf("%s replications", ui.Count(int64(r.Replications))))
	}
	if v := thresholdVerdict(r.Thresholds); v != "" {
		parts = append(parts, v)
	}
	if r.Replications > 0 {
		parts = append(parts, p.failures())
	}
	fmt.Fprintln(p, p.style.Bold(strings.Join(parts, "; ")))
}

// failures counts what went wrong for the producers. A send that the broker
// rejects when its producer has given up is a timeout to the producer.
func (p *printer) failures() string {
	n := p.Result.Attempts
	k := n.TimeoutCleanQueue + n.PCBusyCleanQueue + n.RejectRequest + n.Overload + n.PCSynchronized
	var parts []string
	switch {
	case n.Sent == 0:
		return "no send was made"
	case k > 0:
		s := p.share(k, "rejected", rejected)
		if first, ok := p.Story.firstRejected(); ok {
			s += fmt.Sprintf(", first at %s: %v", ui.Seconds(answered(first)), first.Outcome)
		}
		parts = append(parts, s)
	case n.ClientTimeout == 0:
		all := p.Study.Fraction(rejected)
		return fmt.Sprintf("none of %s rejected (share at most %s %%, 95 %% interval)", ui.Plural(n.Sent, "send"), ui.Percent(all.Hi))
	}
	if n.ClientTimeout > 0 {
		s := p.share(n.ClientTimeout, "timed out at the producer", func(c model.AttemptClass) bool { return c.String() == "client_timeout" })
		if late := p.Story.late; late > 0 && p.Result.Replications == 1 {
			s += fmt.Sprintf(", %s of them rejected later", ui.Count(late))
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

// share tells how many sends something happened to.
func (p *printer) share(k int64, what string, of func(model.AttemptClass) bool) string {
	share := p.Study.Fraction(of)
	return fmt.Sprintf("%s of %s %s (%s %%%s)", ui.Count(k), ui.Plural(p.Result.Attempts.Sent, "send"), what,
		ui.Percent(share.Value), interval(share, ", 95 %% interval %s to %s", ui.Percent))
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
	line string // as the producer reads it, or ""
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
		width = max(width, len(ui.Seconds(r.at)))
	}
	for _, r := range rows {
		fmt.Fprintf(p, "  %*s  %s\n", width, ui.Seconds(r.at), r.text)
		if r.line != "" {
			// On a line of its own from column 1, as it stands in a log.
			fmt.Fprintln(p, p.style.Red(r.line))
		}
	}
	for _, note := range p.Story.notes() {
		fmt.Fprintf(p, "  %*s  %s\n", width, "", note)
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
			t.Row(class.String(), ui.Count(k), ui.Percent(share.Value), interval(share, "%s to %s", ui.Percent))
		}
	}
	t.Row("sent", ui.Count(n.Sent))
	t.Write(p, 2)
}

// messages are their fates.
func (p *printer) messages() {
	m := p.Result.Messages
	if m.Offered == 0 {
		return
	}
	p.heading("Messages")
	t := ui.NewTable("", ">", "")
	for _, fate := range []struct {
		name  string
		n     int64
		means string
	}{
		{"stored_once", m.StoredOnce, ""},
		{"stored_more_than_once", m.StoredMoreThanOnce, "by a retry or a resend"},
		{"not_stored_known", m.NotStoredKnown, "and the producer knows"},
		{"not_stored_unknown", m.NotStoredUnknown, "and nobody knows"},
		{"stored_thought_failed", m.StoredThoughtFailed, "the producer thinks it failed"},
	} {
		if fate.n > 0 {
			t.Row(fate.name, ui.Count(fate.n), fate.means)
		}
	}
	t.Row("offered", ui.Count(m.Offered), "")
	t.Write(p, 2)
}

// queues are the counts of the other swept queues, where there is a load.
func (p *printer) queues() {
	if len(p.Result.Queues) == 0 {
		return
	}
	p.heading("Other queues")
	t := ui.NewTable("", ">arrived", ">served", ">timeout_clean_queue", ">overload")
	for _, q := range p.Result.Queues {
		t.Row(q.Queue, ui.Count(q.Arrived), ui.Count(q.Served), ui.Count(q.TimeoutCleanQueue), ui.Count(q.Overload))
	}
	t.Write(p, 2)
}

// times is the table of the three distributions, with footnotes where there is
// no interval.
func (p *printer) times() {
	r := p.Result
	type column struct {
		name string
		s    *model.Summary
	}
	var columns []column
	for _, c := range []column{{"latency", &r.LatencyMs}, {"waiting", &r.WaitingMs}, {"period in queue", &r.PeriodMs}} {
		if c.s.Count > 0 {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return
	}
	var notes footnotes
	heads := []string{""}
	for _, c := range columns {
		heads = append(heads, ">"+c.name, ">95 % interval")
	}
	t := ui.NewTable(heads...)
	for _, line := range []struct {
		name string
		of   func(*model.Summary) *model.Estimate
	}{
		{"mean", func(s *model.Summary) *model.Estimate { return s.Mean }},
		{"p50", func(s *model.Summary) *model.Estimate { return s.P50 }},
		{"p90", func(s *model.Summary) *model.Estimate { return s.P90 }},
		{"p99", func(s *model.Summary) *model.Estimate { return s.P99 }},
		{"p99.9", func(s *model.Summary) *model.Estimate { return s.P999 }},
		{"max", func(s *model.Summary) *model.Estimate { return &model.Estimate{Value: *s.Max} }},
	} {
		cells := []string{line.name}
		for _, c := range columns {
			e := line.of(c.s)
			bounds := notes.mark(e.Why)
			if e.Lo != nil && e.Hi != nil {
				bounds = ui.Range(*e.Lo, *e.Hi)
			}
			cells = append(cells, ui.Digits(e.Value), bounds)
		}
		t.Row(cells...)
	}
	cells := []string{"count"}
	for _, c := range columns {
		cells = append(cells, ui.Count(c.s.Count), "")
	}
	t.Row(cells...)
	p.heading("Times in ms")
	t.Write(p, 2)
	if len(notes) > 0 {
		fmt.Fprintf(p, "  %s\n", p.style.Dim("No interval:"))
	}
	for i, note := range notes {
		fmt.Fprintf(p, "  %s\n", p.style.Dim(fmt.Sprintf("[%d] %v", i+1, note)))
	}
}

// footnotes are reasons, each told once. Those that differ in their figures
// only share the first's note; the result JSON has each.
type footnotes []footnote

type footnote struct {
	text  string
	kind  string // the text without figures
	alike bool   // it stands for others
}

func (f *footnotes) mark(why string) string {
	if why == "" {
		return ""
	}
	kind := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, why)
	i := slices.IndexFunc(*f, func(n footnote) bool { return n.kind == kind })
	if i < 0 {
		i = len(*f)
		*f = append(*f, footnote{text: why, kind: kind})
	}
	n := &(*f)[i]
	n.alike = n.alike || n.text != why
	return fmt.Sprintf("[%d]", i+1)
}

func (n footnote) String() string {
	if n.alike {
		return n.text + ", and the like"
	}
	return n.text
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
	all := ui.Plural(int64(len(marks)), "threshold")
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
		number, unit := ui.Digits, thresholdUnit(m.Expect)
		if unit == " %" {
			number = ui.Percent
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
	t.Write(p, 2)
}

// thresholdUnit is that of a threshold's value.
func thresholdUnit(expect string) string {
	switch expect = strings.TrimSpace(expect); {
	case strings.HasPrefix(expect, "fraction"):
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
		fmt.Fprintf(p, "  %s\n", warning)
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
	for _, st := range s.told() {
		add(st.From, "%s", stallBegins(st))
		if !r.Partial || st.To.Seconds() <= r.VirtualSeconds {
			add(st.To, "%v stall ends after %s", st.Where, ui.Duration(st.To-st.From))
		}
	}
	if s.longest > 1 {
		add(s.longestAt, "send queue at its longest: %s wait", ui.Count(int64(s.longest)))
	}
	first, _ := s.firstRejected()
	for o := range s.kinds {
		k := &s.kinds[o]
		if k.count == 0 {
			continue
		}
		what := fmt.Sprintf("first %v", model.Outcome(o))
		if first == &k.first {
			what = "first rejected send"
		}
		which := fmt.Sprintf("seq %d, sent at %s", k.first.Seq, ui.Seconds(k.first.Send))
		if k.first.ClientTimedOut {
			which += ", given up by its producer"
		}
		add(answered(&k.first), "%s (%s): CODE: %d  DESC:", what, which, k.first.Code)
		rows[len(rows)-1].line = remark(&k.first, r.Errors)
	}
	if s.rejected > 1 {
		add(answered(&s.last), "last of %s rejected sends (seq %d)", ui.Count(s.rejected), s.last.Seq)
	}
	if s.incidents > 1 {
		add(s.first.recovered, "send queue empty again; the first incident is over")
	}
	if s.incidents > 0 && !s.pending {
		add(s.recovered, "send queue empty again")
	}
	// What is the same ms stays in the order of telling: an answer takes a
	// moment to its producer, and the queue may be empty by then.
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.at/sim.Millisecond, b.at/sim.Millisecond) })
	return rows
}

// told are the stalls that the story tells one by one: all if they are few,
// else the one that led to the first rejection, or the longest.
func (s *Story) told() []model.StallRecord {
	switch {
	case s.stalls.total() <= stallsTold:
		return s.stalls.first
	case s.incidents > 0 && s.stalls.caused:
		return []model.StallRecord{s.stalls.cause}
	default:
		return []model.StallRecord{s.stalls.longest}
	}
}

// notes say what the rows leave out.
func (s *Story) notes() (notes []string) {
	if n := s.stalls.total(); n > stallsTold {
		var by []string
		for w, n := range s.stalls.count {
			if n > 0 {
				by = append(by, ui.Plural(n, model.StallWhere(w).String()+" stall"))
			}
		}
		notes = append(notes, fmt.Sprintf("in all %s, the longest %s at %s", strings.Join(by, " and "),
			ui.Duration(s.stalls.longest.To-s.stalls.longest.From), ui.Seconds(s.stalls.longest.From)))
	}
	if s.incidents > 1 {
		notes = append(notes, fmt.Sprintf("%s of rejections, more than %s apart", ui.Plural(s.incidents, "incident"), ui.Duration(incidentGap)))
	}
	return notes
}

func stallBegins(st model.StallRecord) string {
	switch st.Where {
	case model.StallAppend:
		return fmt.Sprintf("append stall begins: seq %d holds the put lock", st.BySeq)
	case model.StallSweep:
		return "sweep stall begins: nobody looks at the queues"
	default:
		return "process stall begins: the broker stands still"
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
