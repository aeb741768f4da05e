package validate

import (
	"fmt"
	"strconv"

	"brokersim/model"
	"brokersim/scenarios"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// Scenario is one that goes through rounds of virtual and live runs.
type Scenario struct {
	Name  string
	Title string
	// Rates in sends/s, highest first: the highest that can be paced here is
	// taken.
	Rates []float64
	Text  string // TOML, without the producer
	// SameLeast is the percentage of sends that must have the live outcome when
	// the live run is replayed; 0: 99.
	SameLeast float64
	// Delayed says that each append takes longer, so that the threads are too slow
	// for the rate.
	Delayed bool
}

// Scenarios are those of rung 3. All but sync-flush flush at intervals, as the
// default is since 4.9.1 and the bundled profile was made; in all of them the send
// thread answers, as up to 4.6.1, because the live one does.
var Scenarios = []Scenario{
	{Name: "quiet", Title: "nothing injected", Rates: []float64{20000, 10000, 5000, 2000}, Text: head("3s", 1)},
	stalled("150ms"), stalled("208ms"), stalled("500ms"), stalled("1200ms"),
	{Name: "overload", Title: "each append takes 0.4 ms more, 3,600 sends/s", Rates: []float64{3600}, SameLeast: 92, Delayed: true, Text: head("3s", 1) + `
[store]
delay = "400us"
`},
	{Name: "threads", Title: "4 send threads, reentrant lock, append stalls of 300 ms", Rates: []float64{2000}, Text: head("2s", 4) + `useReentrantLockWhenPutMessage = true
` + twoStalls},
	{Name: "threads-spin", Title: "4 send threads, spin lock, append stalls of 300 ms", Rates: []float64{2000}, Text: head("2s", 4) + twoStalls},
	{Name: "sync-flush", Title: "each send waits for the disk", Rates: []float64{500, 200}, Text: head("3s", 1) + `flushDiskType = "SYNC_FLUSH"
`},
}

func head(duration string, threads int) string {
	return fmt.Sprintf(`
schema = 1
title = "Validation"
story = "A scenario of validate."
seed = 4
duration = %q
[broker]
release = "4.6.1"
flushCommitLogTimed = true
sendMessageThreadPoolNums = %d
mappedFileSizeCommitLog = 67108864
`, duration, threads)
}

const twoStalls = `
[[stall]]
where = "append"
at = "300ms"
for = "300ms"
[[stall]]
where = "append"
at = "1200ms"
for = "300ms"
`

func stalled(length string) Scenario {
	return Scenario{Name: "stall-" + length, Title: "an append stall, by hook", Rates: []float64{2000}, Text: head("2s", 1) + fmt.Sprintf(`
[[stall]]
where = "append"
at = "400ms"
for = %q
`, length)}
}

// Variant is how a scenario is run: at which rate, and whether to measure what
// the live broker's threads cost. It survives its way through a command line.
type Variant struct {
	Scenario string
	Rate     float64
	Fitting  bool // one thread, 1 s, and of stalls one that leaves a backlog
}

// Config decodes the variant; the error says that there is no such scenario.
func (v Variant) Config() (*model.Config, error) {
	for i := range Scenarios {
		if Scenarios[i].Name == v.Scenario {
			return Scenarios[i].config(v)
		}
	}
	return nil, fmt.Errorf("validate: no scenario %q", v.Scenario)
}

func (s *Scenario) config(v Variant) (*model.Config, error) {
	arrivals := "deterministic"
	if len(s.Rates) > 1 {
		arrivals = "poisson"
	}
	rate := v.Rate
	if v.Fitting && s.Delayed {
		rate /= 2
	}
	text := s.Text + fmt.Sprintf(`
[[producer]]
arrivals = "%s(rate=%s/s)"
body = "1KiB"
`, arrivals, strconv.FormatFloat(rate, 'f', -1, 64))
	sc, err := scenarios.Parse("validate-"+s.Name+".toml", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	c := &sc.Config
	if v.Fitting {
		s.fit(c)
	}
	return c, nil
}

// fit makes of a configuration the one that measures the threads: they are met
// idle, and at work on the backlog that a stall below the wait limit leaves, or,
// where each append is delayed, at a rate that they can follow.
func (s *Scenario) fit(c *model.Config) {
	c.Broker.SendMessageThreadPoolNums = 1
	c.Duration = min(c.Duration, sim.Second)
	c.Stalls = nil
	if c.Store.Delay == 0 {
		hold := variate.Must(variate.NewConstant(variate.Duration, float64(100*sim.Millisecond)))
		c.Stalls = []model.Stall{{Where: model.StallAppend, At: 300 * sim.Millisecond, For: hold, Until: model.Absent}}
	}
}
