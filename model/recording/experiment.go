package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// Experiment is an experiment folder as far as a replay reads it.
type Experiment struct {
	Name     string
	Title    string
	Requests *Requests
	Config   model.Config
	Warnings []string // what the recording has and the model lacks
}

// file is experiment.json.
type file struct {
	Name          string         `json:"name"`
	Title         string         `json:"title"`
	Release       string         `json:"rocketmq_version"`
	Broker        map[string]any `json:"broker"`
	StallsMs      [][]float64    `json:"stalls_ms"`
	FreezesMs     [][]float64    `json:"freezes_ms"`
	AppendDelayUs float64        `json:"append_delay_us"`
	WallFracNs    *float64       `json:"wall_frac_ns_at_t0"`
	DiskWriter    any            `json:"disk_writer"`
}

// delayOvershoot is how much longer than asked for a thread sleeps that
// delays an append, with what it costs to come back with cold caches: the
// mean of the 4.3.2 traces with append_delay_us.
const delayOvershoot = 15 * sim.Microsecond

// Open reads an experiment folder whole. base gives what the folder doesn't
// say: costs, cores, seed.
func Open(dir fs.FS, base model.Config) (*Experiment, error) {
	text, err := fs.ReadFile(dir, "experiment.json")
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, jsonFault("experiment.json", text, err)
	}
	e := &Experiment{Name: f.Name, Title: f.Title, Config: base}
	var faults []error
	note := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	note(e.settings(&f))
	note(e.machine(dir, &f))
	note(e.stalls(dir, &f))
	name, err := firstOf(dir, "requests.csv.gz", "requests.csv")
	note(err)
	if err == nil {
		e.Requests, err = readFile(dir, name, ReadRequests)
		note(err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	e.Config.Name = f.Name
	e.Config.Title = f.Title
	return e, Drive(&e.Config, e.Requests)
}

// Drive makes cfg a replay of the recorded arrivals.
func Drive(cfg *model.Config, requests *Requests) error {
	trace, err := variate.NewTrace(requests.Arrivals)
	if err != nil {
		return err
	}
	producer := model.Producer{Name: "recorded", Timeout: 3 * sim.Second}
	if len(cfg.Producers) > 0 {
		producer = cfg.Producers[0]
	}
	producer.Arrivals = trace
	cfg.Producers = []model.Producer{producer}
	cfg.Recorded = true
	cfg.Warmup = 0
	cfg.Duration = requests.Arrivals[len(requests.Arrivals)-1] + 1
	return nil
}

// settings takes the broker's settings: numbers and booleans, or the strings
// of a broker.conf.
func (e *Experiment) settings(f *file) error {
	release := model.DefaultRelease
	if f.Release != "" {
		release = strings.ReplaceAll(strings.TrimPrefix(f.Release, "V"), "_", ".")
	}
	s, err := model.Defaults(release, e.Config.Machine.Cores)
	if err != nil {
		return &Fault{File: "experiment.json", Msg: "rocketmq_version: " + err.Error()}
	}
	var faults []error
	bad := func(key, want string) {
		faults = append(faults, &Fault{File: "experiment.json", Msg: fmt.Sprintf("broker.%s: want %s, got %v", key, want, f.Broker[key])})
	}
	whole := func(key string, least, most int64, set func(int64)) {
		v, there := f.Broker[key]
		if !there {
			return
		}
		n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
			bad(key, fmt.Sprintf("a whole number from %d to %d", least, most))
			return
		}
		set(int64(n))
	}
	const msMax = 1 << 40
	whole("sendMessageThreadPoolNums", 1, 10000, func(n int64) { s.SendMessageThreadPoolNums = int(n) })
	whole("sendThreadPoolQueueCapacity", 1, 10_000_000, func(n int64) { s.SendThreadPoolQueueCapacity = n })
	whole("osPageCacheBusyTimeOutMills", 0, msMax, func(n int64) { s.OsPageCacheBusyTimeOutMills = n })
	whole("waitTimeMillsInSendQueue", 0, msMax, func(n int64) { s.WaitTimeMillsInSendQueue = n })
	for key, set := range map[string]*bool{
		"useReentrantLockWhenPutMessage": &s.UseReentrantLockWhenPutMessage,
		"brokerFastFailureEnable":        &s.BrokerFastFailureEnable,
	} {
		if v, there := f.Broker[key]; there {
			*set = fmt.Sprint(v) == "true" // anything else is false, as for the broker
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if fmt.Sprint(f.Broker["flushDiskType"]) == "SYNC_FLUSH" {
		e.Warnings = append(e.Warnings, "flushDiskType=SYNC_FLUSH: the wait for the flush is not simulated yet; sends that waited behind one are simulated as if it took no time")
	}
	if fmt.Sprint(f.Broker["transientStorePoolEnable"]) == "true" {
		e.Warnings = append(e.Warnings, "transientStorePoolEnable=true: the pool is not simulated yet")
	}
	if role := fmt.Sprint(f.Broker["brokerRole"]); role == "SYNC_MASTER" {
		e.Warnings = append(e.Warnings, "brokerRole=SYNC_MASTER: the wait for the replica is not simulated yet")
	}
	if f.DiskWriter != nil {
		e.Warnings = append(e.Warnings, "a disk writer ran beside the broker: its effect on appends is not simulated, only stalls that were injected are known")
	}
	e.Config.Broker = s
	return errors.Join(faults...)
}

// machine takes the wall clock's fraction and the phase of the sweep.
func (e *Experiment) machine(dir fs.FS, f *file) error {
	m := &e.Config.Machine
	var faults []error
	if f.WallFracNs != nil {
		if frac := *f.WallFracNs; frac >= 0 && frac < 1e6 {
			m.WallPhase = sim.Time(frac)
		} else {
			faults = append(faults, &Fault{File: "experiment.json", Msg: fmt.Sprintf("wall_frac_ns_at_t0: want 0 to 999999, got %v", frac)})
		}
	}
	if delay := f.AppendDelayUs; delay >= 0 && delay <= 1e9 {
		if delay > 0 {
			e.Config.Store.Delay = sim.Time(delay*1000) + delayOvershoot
		}
	} else {
		faults = append(faults, &Fault{File: "experiment.json", Msg: fmt.Sprintf("append_delay_us: want 0 to 1e9, got %v", delay)})
	}
	name, err := firstOf(dir, "sweeps.csv.gz", "sweeps.csv")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The phase is then drawn.
	case err != nil:
		faults = append(faults, err)
	default:
		phase, err := readFile(dir, name, ReadSweepPhase)
		if err != nil {
			faults = append(faults, err)
		}
		m.SweepPhase = phase
	}
	return errors.Join(faults...)
}

// stalls takes the stalls as they were, or as asked for where the folder
// doesn't say.
func (e *Experiment) stalls(dir fs.FS, f *file) error {
	stalls, err := readFile(dir, "stalls.csv", ReadStalls)
	if err == nil {
		e.Config.Stalls = stalls
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e.Config.Stalls = nil
	var faults []error
	asked := func(key string, where model.StallWhere, list [][]float64) {
		for i, s := range list {
			if len(s) != 2 || !(s[0] >= 0 && s[0] <= 1e12 && s[1] > 0 && s[1] <= 1e12) {
				faults = append(faults, &Fault{File: "experiment.json", Msg: fmt.Sprintf("%s[%d]: want [start ms, length ms], got %v", key, i, s)})
				continue
			}
			from := sim.Time(math.Round(float64(s[0] * 1e6)))
			e.Config.Stalls = append(e.Config.Stalls, model.Stall{Where: where, At: from, Until: from + sim.Time(math.Round(float64(s[1]*1e6)))})
		}
	}
	asked("stalls_ms", model.StallAppend, f.StallsMs)
	asked("freezes_ms", model.StallProcess, f.FreezesMs)
	return errors.Join(faults...)
}

func phaseOf(offsets []int64) sim.Time {
	slices.Sort(offsets)
	period := int64(model.SweepPeriod)
	return sim.Time(((offsets[len(offsets)/2] % period) + period) % period)
}

// firstOf returns the first of the names that exists.
func firstOf(dir fs.FS, names ...string) (string, error) {
	for _, n := range names {
		if _, err := fs.Stat(dir, n); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
	}
	return "", &fs.PathError{Op: "open", Path: names[0], Err: fs.ErrNotExist}
}

func readFile[T any](dir fs.FS, name string, read func(string, io.Reader) (T, error)) (T, error) {
	f, err := dir.Open(name)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(name, f)
}

// jsonFault gives a JSON error its line.
func jsonFault(name string, text []byte, err error) error {
	var offset int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	line := 1 + strings.Count(string(text[:min(int(offset), len(text))]), "\n")
	return &Fault{name, line, err.Error()}
}
