package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/model"
	"brokersim/plots/numeral"
	"brokersim/realstore/calibrate"
	"brokersim/realstore/live"
	"brokersim/realstore/probe"
	"brokersim/realstore/validate"
	"brokersim/scenarios"
	"brokersim/sim"
)

// defaultProfile is the bundled one that virtual runs draw from.
const defaultProfile = "profiles/virtio-quiet-timed.toml"

// validation is the command validate, with its flags.
type validation struct {
	dir, profile      string
	calibrate         bool
	rungs, scenarios  []string
	runs              whole
	json, quiet, full bool
}

func newValidate() *cobra.Command {
	v := validation{runs: whole{value: 3, least: 2, most: 100}}
	cmd := &cobra.Command{
		Use:   "validate [--dir DIR]",
		Short: "Say how far the simulator is from closed forms, a real broker, this machine",
		Long: fmt.Sprintf(`Compare, on three rungs: the kernel with closed forms; the model, send by send,
with bundled traces of a real broker; virtual runs with live ones on this machine,
over a real store in DIR, which is removed afterwards. Without --dir the third is
left out. It takes about two minutes.

Each line agrees, differs, or can't be told, against the limit it was held against.
Live runs of a scenario differ from each other; what lies within %g times that is
no difference. A busy machine makes lines that can't be told.

Virtual runs draw appends from --profile; --calibrate measures DIR first (20 s
more) and draws from that. What the threads of the live broker cost is measured in
any case, in runs that are compared with nothing.

Exit code 0 if nothing differs and all could be told, 1 if a line differs, 98 if
none differs but one can't be told, 130 if interrupted: what was complete is
printed.`, 1.5),
		Example: `  brokersim validate
  brokersim validate --dir . --calibrate
  brokersim validate --rungs 3 --dir . --scenarios quiet,stall-500ms --runs 5`,
		Args: operands("no operand", 0, 0),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&v.dir, "dir", "", "`DIR` on the disk for live runs")
	f.StringSliceVar(&v.rungs, "rungs", []string{"1", "2", "3"}, "which of the `RUNGS`")
	f.StringSliceVar(&v.scenarios, "scenarios", nil, "which `SCENARIOS` of rung 3: "+strings.Join(validatable(), ", "))
	f.StringVar(&v.profile, "profile", "", "`FILE` of the profile, as calibrate writes it (default the bundled "+defaultProfile+")")
	f.BoolVar(&v.calibrate, "calibrate", false, "measure a profile of DIR first")
	f.Var(&v.runs, "runs", "live runs of each scenario")
	f.BoolVar(&v.full, "full", false, "list the closed forms, also those that agree")
	f.BoolVar(&v.json, "json", false, "print the report as JSON")
	f.BoolVar(&v.quiet, "quiet", false, "no progress on stderr; errors are still told")
	cmd.RunE = action(v.run)
	return cmd
}

// validatable are the names of rung 3's scenarios.
func validatable() (names []string) {
	for _, s := range validate.Scenarios {
		names = append(names, s.Name)
	}
	return names
}

func (v *validation) run(cmd *cobra.Command, _ []string) error {
	chosen, err := v.check(cmd)
	if err != nil {
		return err
	}
	profile, err := v.readProfile()
	if err != nil {
		return inputError(err)
	}
	ctx := cmd.Context()
	report := &validate.Report{Warnings: []string{}}
	if slices.Contains(v.rungs, "1") {
		progress := v.progress(cmd, numeral.Count)
		rung := validate.ClosedForms(ctx, func(done, total int) { progress.Set(int64(done), int64(total)) })
		progress.Done()
		report.Add(rung)
	}
	if slices.Contains(v.rungs, "2") && ctx.Err() == nil {
		progress := v.progress(cmd, numeral.Count)
		rung, err := validate.Traces(ctx, func(done, total int) { progress.Set(int64(done), int64(total)) })
		progress.Done()
		if err != nil {
			return err
		}
		report.Add(rung)
	}
	if slices.Contains(v.rungs, "3") && ctx.Err() == nil {
		if err := v.machine(cmd, report, chosen, profile); err != nil {
			return err
		}
	}
	report.Partial = report.Partial || ctx.Err() != nil
	return v.tell(cmd.OutOrStdout(), report)
}

// check finds all that is wrong with the flags.
func (v *validation) check(cmd *cobra.Command) (chosen []validate.Scenario, err error) {
	var faults []error
	for _, r := range v.rungs {
		if r != "1" && r != "2" && r != "3" {
			faults = append(faults, fmt.Errorf("--rungs: want 1, 2 or 3, got %q", r))
		}
	}
	for _, name := range v.scenarios {
		if !slices.Contains(validatable(), name) {
			faults = append(faults, fmt.Errorf("--scenarios: no %q, there are %s", name, strings.Join(validatable(), ", ")))
		}
	}
	for _, s := range validate.Scenarios {
		if len(v.scenarios) == 0 || slices.Contains(v.scenarios, s.Name) {
			chosen = append(chosen, s)
		}
	}
	switch third := slices.Contains(v.rungs, "3"); {
	case v.calibrate && v.profile != "":
		faults = append(faults, errors.New("want one of --profile and --calibrate"))
	case third && v.dir == "" && (v.calibrate || cmd.Flags().Changed("rungs") || len(v.scenarios) > 0):
		faults = append(faults, errors.New("rung 3 wants --dir DIR for the stores"))
	case third && v.dir != "":
		dir := v.dir
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			dir = filepath.Dir(filepath.Clean(dir)) // it is made if only it is missing
		}
		if info, err := os.Stat(dir); err != nil {
			faults = append(faults, fmt.Errorf("--dir: %w", err))
		} else if !info.IsDir() {
			faults = append(faults, fmt.Errorf("--dir: %s is a file", dir))
		}
	}
	if faults != nil {
		return nil, usageError(cmd, fmt.Errorf("validate: %w", errors.Join(faults...)))
	}
	return chosen, nil
}

// readProfile reads --profile: a file, or one of the bundled.
func (v *validation) readProfile() (*model.Profile, error) {
	name := cmp.Or(v.profile, defaultProfile)
	src, err := os.ReadFile(name)
	switch {
	case v.profile != "" && err == nil:
		return scenarios.ParseProfile(name, src)
	case v.profile != "" && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	sc, err := scenarios.Named("quiet")
	if err == nil {
		sc, err = sc.Override("store.profile=" + name)
	}
	if err != nil {
		return nil, err
	}
	return sc.Config.Store.Profile, nil
}

func (v *validation) progress(cmd *cobra.Command, say func(int64) string) *ui.Progress {
	return ui.NewProgress(talkOf(cmd, v.quiet), say)
}

// machine is rung 3.
func (v *validation) machine(cmd *cobra.Command, report *validate.Report, chosen []validate.Scenario, profile *model.Profile) error {
	const title = "virtual time against the wall clock of this machine"
	switch {
	case v.dir == "":
		report.Add(validate.Rung{Number: 3, Title: title, Skipped: "it needs a disk: brokersim validate --dir DIR"})
		return nil
	case runtime.GOOS != "linux":
		report.Add(validate.Rung{Number: 3, Title: title, Skipped: "a live run needs Linux"})
		return nil
	}
	if err := os.Mkdir(v.dir, 0o777); err == nil {
		defer os.Remove(v.dir) // as it was, unless something is left in it
	} else if !errors.Is(err, fs.ErrExist) {
		return inputError(fmt.Errorf("--dir: %w", err))
	}
	ctx := cmd.Context()
	say := func(ns int64) string { return time.Duration(ns).Round(time.Second).String() }
	if v.calibrate {
		progress := v.progress(cmd, say)
		measured, warnings, err := measureProfile(ctx, v.dir, func(done, total time.Duration) { progress.Set(int64(done), int64(total)) })
		progress.Done()
		switch {
		case ctx.Err() != nil:
			report.Add(validate.Rung{Number: 3, Title: title, Partial: true})
			return nil
		case err != nil:
			return err
		}
		profile = measured
		report.Warnings = append(report.Warnings, warnings...)
	}
	progress := v.progress(cmd, say)
	rung, warnings, err := validate.Machine(ctx, validate.Options{
		Dir: v.dir, Runs: int(v.runs.value), Profile: profile, Scenarios: chosen,
		Broker: func(w validate.Variant, dir string, replication int) *exec.Cmd {
			return validateBroker(cmd, w, dir, replication)
		},
		Progress: func(done, total sim.Time) { progress.Set(int64(done), int64(total)) },
	})
	progress.Done()
	if err != nil {
		return err
	}
	report.Add(rung)
	report.Warnings = append(report.Warnings, warnings...)
	return nil
}

// measureProfile probes DIR as the scenarios of rung 3 use it, and fits.
func measureProfile(ctx context.Context, dir string, progress func(done, total time.Duration)) (*model.Profile, []string, error) {
	o := probe.DefaultOptions()
	o.Rate, o.Duration, o.Flush, o.FileSize = 20000, 5*time.Second, probe.Timed, live.DefaultFileSize
	var runs []*probe.Run
	err := probe.Do(ctx, dir, o, progress, func(r *probe.Run) error {
		runs = append(runs, r)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	result, err := calibrate.Fit(ctx, runs, calibrate.Options{})
	if err != nil {
		return nil, nil, err
	}
	warnings := make([]string, len(result.Warnings))
	for i, w := range result.Warnings {
		warnings[i] = "calibrate: " + w
	}
	return result.Profile, warnings, nil
}

// validateCommand is the name of the hidden command that is the broker of a
// live run of validate.
const validateCommand = "validate-broker"

func validateBroker(cmd *cobra.Command, w validate.Variant, dir string, replication int) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := []string{
		os.Args[0], validateCommand, w.Scenario, "--dir", dir, "--replication", strconv.Itoa(replication),
		"--rate", strconv.FormatFloat(w.Rate, 'g', -1, 64), "--fitting=" + strconv.FormatBool(w.Fitting),
	}
	return &exec.Cmd{Path: self, Args: args, Stderr: cmd.ErrOrStderr()}
}

func newValidateBroker() *cobra.Command {
	var w validate.Variant
	var dir string
	var replication int
	cmd := &cobra.Command{Use: validateCommand + " SCENARIO", Hidden: true, Args: operands("one SCENARIO", 1, 1)}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "")
	f.IntVar(&replication, "replication", 0, "")
	f.Float64Var(&w.Rate, "rate", 0, "")
	f.BoolVar(&w.Fitting, "fitting", false, "")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		w.Scenario = args[0]
		return validate.Serve(w, dir, replication, control(cmd), cmd.OutOrStdout())
	})
	return cmd
}

// tell prints the report and gives the exit code.
func (v *validation) tell(w io.Writer, r *validate.Report) error {
	if v.json {
		data, err := encode(struct {
			Version string `json:"version"`
			Cores   int    `json:"cores"`
			*validate.Report
		}{version, runtime.NumCPU(), r})
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	} else if err := v.print(w, r); err != nil {
		return err
	}
	switch {
	case r.Partial:
		return &exitError{code: exitInterrupted}
	case r.Verdict == validate.Differs:
		return &exitError{code: exitInternal}
	case r.Verdict == validate.CantTell:
		return &exitError{code: exitUndecided}
	}
	return nil
}

func (v *validation) print(w io.Writer, r *validate.Report) error {
	style := ui.StyleOf(w)
	out := bufio.NewWriter(w)
	var all [validate.Differs + 1]int64
	for i := range r.Rungs {
		for verdict, n := range r.Rungs[i].Tally() {
			all[verdict] += n
		}
	}
	head := tallied(all)
	if r.Partial {
		head = "interrupted; " + head
	}
	fmt.Fprintln(out, style.Bold(head))
	for i := range r.Rungs {
		g := &r.Rungs[i]
		title := fmt.Sprintf("%d. %s", g.Number, strings.ToUpper(g.Title[:1])+g.Title[1:])
		if g.Skipped != "" {
			fmt.Fprintf(out, "\n%s\n  not run: %s\n", style.Bold(title), g.Skipped)
			continue
		}
		partial := ""
		if g.Partial {
			partial = "interrupted; "
		}
		fmt.Fprintf(out, "\n%s\n  %s%s\n", style.Bold(title), partial, tallied(g.Tally()))
		switch g.Number {
		case 1:
			v.printForms(out, style, g)
		case 2:
			printTraces(out, style, g)
		case 3:
			printMachine(out, style, g)
		}
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintf(out, "\n%s\n", style.Bold("Warnings"))
		for _, warning := range r.Warnings {
			for _, line := range style.Wrap(warning, 2) {
				fmt.Fprintln(out, "  "+line)
			}
		}
	}
	return out.Flush()
}

// tallied puts counts by verdict in words, the worst first.
func tallied(n [validate.Differs + 1]int64) string {
	var parts []string
	for verdict := validate.Differs; verdict >= validate.NotAsked; verdict-- {
		if k := n[verdict]; k > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", numeral.Count(k), plural(verdict, k)))
		}
		if verdict == 0 {
			break
		}
	}
	if parts == nil {
		return "nothing was compared"
	}
	return strings.Join(parts, ", ")
}

func plural(v validate.Verdict, n int64) string {
	switch {
	case v == validate.Differs && n > 1:
		return "lines differ"
	case v == validate.Differs:
		return "line differs"
	case v == validate.Agrees && n > 1:
		return "agree"
	}
	return v.String()
}

func marked(style ui.Style, v validate.Verdict) string {
	switch v {
	case validate.Differs:
		return style.Red(v.String())
	case validate.Agrees:
		return style.Green(v.String())
	}
	return style.Dim(v.String())
}

func (v *validation) printForms(out io.Writer, style ui.Style, r *validate.Rung) {
	t := ui.NewTable("", "", ">closed form", ">simulated", ">interval", "")
	rows := 0
	for _, g := range r.Groups {
		for _, l := range g.Lines {
			if v.full || l.Verdict != validate.Agrees {
				t.Row(g.Name, l.Quantity, digits(l.Want), digits(l.Got), between(l.Lo, l.Hi), marked(style, l.Verdict))
				rows++
			}
		}
	}
	if rows > 0 {
		t.Write(out, 2, style.Width)
	}
	if !v.full && !r.Partial {
		fmt.Fprintln(out, "  --full lists them, brokersim verify too")
	}
}

func printTraces(out io.Writer, style ui.Style, r *validate.Rung) {
	t := ui.NewTable("trace", ">same outcome, %", ">at least", ">share off, points", ">at most", "")
	pooled := ui.NewTable("", ">share, %", ">at least", "")
	sojourns := ui.NewTable("replayed with its recorded times", ">recorded", ">simulated", ">off, %", ">at most", "")
	var notes []string
	shares, measured := false, false
	for _, g := range r.Groups {
		if g.Name == "pooled" {
			shares = true
			for _, l := range g.Lines {
				pooled.Row(l.Quantity, percent(l.Got), exactly(l.Limit), marked(style, l.Verdict))
			}
			notes = append(notes, "pooled: "+g.Title)
			continue
		}
		same, share := g.Lines[0], g.Lines[1]
		t.Row(g.Name, percent(same.Got), exactly(same.Limit), percent(share.Difference), exactly(share.Limit), marked(style, max(same.Verdict, share.Verdict)))
		for _, l := range g.Lines[2:] {
			measured = true
			sojourns.Row(g.Name+": "+l.Quantity, digits(l.Want), digits(l.Got), percent(100*l.Difference), exactly(100*l.Limit), marked(style, l.Verdict))
		}
		note := g.Name + ": " + g.Title
		if len(g.Notes) > 0 {
			note += "; " + strings.Join(g.Notes, "; ")
		}
		notes = append(notes, note)
	}
	t.Write(out, 2, style.Width)
	if shares {
		fmt.Fprintln(out)
		pooled.Write(out, 2, style.Width)
	}
	if measured {
		fmt.Fprintln(out)
		sojourns.Write(out, 2, style.Width)
	}
	fmt.Fprintln(out)
	for _, note := range notes {
		for i, line := range style.Wrap(note, 4) {
			fmt.Fprintln(out, strings.Repeat(" ", 2+2*min(i, 1))+line)
		}
	}
}

func printMachine(out io.Writer, style ui.Style, r *validate.Rung) {
	for _, g := range r.Groups {
		fmt.Fprintf(out, "\n  %s: %s\n", style.Bold(g.Name), g.Title)
		for _, note := range g.Notes {
			for _, line := range style.Wrap(note, 2) {
				fmt.Fprintln(out, "  "+line)
			}
		}
		if len(g.Lines) == 0 {
			continue
		}
		t := ui.NewTable("", ">virtual", ">live", ">off by", ">interval", ">floor", ">limit", "")
		var why []string
		for _, l := range g.Lines {
			t.Row(append(cells(&l), marked(style, l.Verdict))...)
			if l.Why != "" && !slices.Contains(why, l.Why) {
				why = append(why, l.Why)
			}
		}
		t.Write(out, 2, style.Width)
		for _, w := range why {
			for _, line := range style.Wrap("- "+w, 2) {
				fmt.Fprintln(out, "  "+line)
			}
		}
	}
}

// cells are those of a line of rung 3: ratios and shares in percent.
func cells(l *validate.Line) []string {
	name, replayed := strings.CutSuffix(l.Quantity, validate.Replayed)
	name, counted := strings.CutSuffix(name, ", per run")
	if replayed && counted {
		name = "  replayed" // below the line of the same name
	}
	switch l.Kind {
	case validate.Ratio:
		return []string{name, digits(l.Got), digits(l.Want), rounded(l.Difference, "+"), strings.TrimSuffix(rounded(l.Lo, "+"), " %") + " to " + rounded(l.Hi, "+"), rounded(l.Floor, ""), rounded(l.Limit, "")}
	case validate.Distance:
		return []string{name, "", "", digits(l.Difference), between(l.Lo, l.Hi), digits(l.Floor), digits(l.Limit)}
	case validate.Count:
		return []string{name, short(l.Got), short(l.Want), signed(l.Difference), "", short(l.Floor), short(l.Limit)}
	default:
		name, _, _ = strings.Cut(name, ", %")
		return []string{name, percent(l.Got) + " %", "", "", "", "", exactly(l.Limit) + " %"}
	}
}

func given(n validate.Number) bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

func digits(n validate.Number) string {
	if !given(n) {
		return ""
	}
	return numeral.Digits(float64(n))
}

// exactly prints what was chosen rather than measured.
func exactly(n validate.Number) string {
	if !given(n) {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'f', -1, 64)
}

func short(n validate.Number) string {
	if !given(n) {
		return ""
	}
	return numeral.Short(float64(n))
}

func signed(n validate.Number) string {
	if given(n) && n > 0 {
		return "+" + short(n)
	}
	return short(n)
}

func percent(n validate.Number) string {
	if !given(n) {
		return ""
	}
	return numeral.Fixed(float64(n), 2)
}

func between(lo, hi validate.Number) string {
	if !given(lo) || !given(hi) {
		return ""
	}
	return numeral.Range(float64(lo), float64(hi))
}

// rounded prints a ratio less 1 in percent, with a sign where plus is one.
func rounded(n validate.Number, plus string) string {
	if !given(n) {
		return ""
	}
	const most = 9.99 // more is no number to read
	switch {
	case n > most:
		return "> 999 %"
	case n <= 0:
		plus = ""
	}
	decimals := 0
	if math.Abs(float64(n)) < 0.1 {
		decimals = 1
	}
	return plus + numeral.Fixed(100*float64(n), decimals) + " %"
}
