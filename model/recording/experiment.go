package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
	Warnings []string // what the recording has and the model lacks, and what stands for what it lacks
}

// Files are the names of an experiment folder's files; a CSV may be gzipped or
// not.
var Files = []string{settingsFile, "requests.csv.gz", "requests.csv", "stalls.csv", "sweeps.csv.gz", "sweeps.csv"}

const settingsFile = "experiment.json"

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
	f, unknown, err := readSettings(dir)
	if err != nil {
		return nil, err
	}
	e := &Experiment{Name: f.Name, Title: f.Title, Config: base}
	var faults []error
	note := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	for _, key := range unknown {
		e.warn("%s: %.40q is not known and not read", settingsFile, key)
	}
	note(f.check())
	note(e.settings(f))
	note(e.machine(dir, f))
	note(e.stalls(dir, f))
	name, err := firstOf(dir, "requests.csv.gz", "requests.csv")
	note(err)
	if err == nil {
		e.Requests, err = readFile(dir, name, ReadRequests)
		note(err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	thaw(e.Config.Stalls, e.Requests.Arrivals)
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

func (e *Experiment) warn(format string, args ...any) {
	e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
}

// settings takes the broker's settings: numbers and booleans, or the strings
// of a broker.conf.
func (e *Experiment) settings(f *file) error {
	release := model.DefaultRelease
	if f.Release != "" {
		release = strings.ReplaceAll(strings.TrimPrefix(f.Release, "V"), "_", ".")
	} else {
		e.warn("%s has no rocketmq_version: simulated as %s", settingsFile, release)
	}
	s, err := model.Defaults(release, e.Config.Machine.Cores)
	if err != nil {
		return settingsFault("rocketmq_version: %v", err)
	}
	b := brokerSettings{given: f.Broker}
	b.whole("sendMessageThreadPoolNums", 1, model.ThreadsMost, func(n int64) { s.SendMessageThreadPoolNums = int(n) })
	b.whole("sendThreadPoolQueueCapacity", 1, math.MaxInt32, func(n int64) { s.SendThreadPoolQueueCapacity = n })
	b.whole("osPageCacheBusyTimeOutMills", 0, model.WaitMsMost, func(n int64) { s.OsPageCacheBusyTimeOutMills = n })
	b.whole("waitTimeMillsInSendQueue", 0, model.WaitMsMost, func(n int64) { s.WaitTimeMillsInSendQueue = n })
	b.boolean("useReentrantLockWhenPutMessage", func(is bool) { s.UseReentrantLockWhenPutMessage = is })
	b.boolean("brokerFastFailureEnable", func(is bool) { s.BrokerFastFailureEnable = is })
	b.boolean("transientStorePoolEnable", func(is bool) { s.TransientStorePoolEnable = is })
	if flush := b.word("flushDiskType", model.AsyncFlush, model.SyncFlush); flush != "" {
		s.FlushDiskType = flush
	}
	switch role := b.word("brokerRole", model.AsyncMaster, model.SyncMaster, "SLAVE"); role {
	case model.SyncMaster:
		s.BrokerRole = role
	case "SLAVE":
		e.warn("brokerRole=SLAVE: a slave takes no sends; it is simulated as an ASYNC_MASTER")
	}
	if f.DiskWriter != nil {
		e.warn("a disk writer ran beside the broker: what it did to appends, flushes and threads is in their recorded times (--flush recorded, --cpu recorded), not in drawn ones")
	}
	for _, key := range b.rest() {
		e.warn("%s: broker.%.60s is not read by a replay, which takes of the broker %s", settingsFile, strconv.QuoteToGraphic(key), strings.Join(b.read, ", "))
	}
	e.Config.Broker = s
	return errors.Join(b.faults...)
}

// brokerSettings reads the broker's settings key by key.
type brokerSettings struct {
	given  map[string]any
	read   []string
	faults []error
}

// get is the value of a key, which counts as read.
func (b *brokerSettings) get(key string) (any, bool) {
	b.read = append(b.read, key)
	v, there := b.given[key]
	return v, there
}

func (b *brokerSettings) bad(key, want string) {
	b.faults = append(b.faults, settingsFault("broker.%s: want %s, got %s", key, want, shown(b.given[key])))
}

func (b *brokerSettings) whole(key string, least, most int64, set func(int64)) {
	v, there := b.get(key)
	if !there {
		return
	}
	n, err := strconv.ParseFloat(plain(v), 64)
	if !(err == nil && n == math.Trunc(n) && n >= float64(least) && n <= float64(most)) {
		b.bad(key, fmt.Sprintf("a whole number from %d to %d", least, most))
		return
	}
	set(int64(n))
}

func (b *brokerSettings) boolean(key string, set func(bool)) {
	v, there := b.get(key)
	switch is := plain(v); {
	case !there:
	case strings.EqualFold(is, "true"), strings.EqualFold(is, "false"):
		set(strings.EqualFold(is, "true"))
	default:
		b.bad(key, "true or false")
	}
}

func (b *brokerSettings) word(key string, words ...string) string {
	v, there := b.get(key)
	if there && !slices.Contains(words, plain(v)) {
		b.bad(key, "one of "+strings.Join(words, ", "))
	}
	return plain(v)
}

// irrelevant are keys that a recorded broker needs to run and that no send
// depends on.
var irrelevant = strings.Fields(`autoCreateTopicEnable autoCreateSubscriptionGroup brokerClusterName brokerId brokerIP1 brokerIP2
	brokerName defaultTopicQueueNums deleteWhen fileReservedTime listenPort mapedFileSizeCommitLog
	mapedFileSizeConsumeQueue mappedFileSizeCommitLog mappedFileSizeConsumeQueue namesrvAddr storePathCommitLog
	storePathRootDir`)

// rest lists the keys that change nothing, of which a reader should know.
func (b *brokerSettings) rest() (keys []string) {
	for key := range b.given {
		if !slices.Contains(b.read, key) && !slices.Contains(irrelevant, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// plain is a value as a broker.conf would have it; "" for a list or an object.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// shown is a value as JSON has it, cut.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "none"
	}
	const most = 40
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}

// machine takes the wall clock's fraction and the phase of the sweep.
func (e *Experiment) machine(dir fs.FS, f *file) error {
	m := &e.Config.Machine
	var faults []error
	if f.WallFracNs != nil {
		if frac := *f.WallFracNs; frac >= 0 && frac < 1e6 {
			m.WallPhase = sim.Time(frac)
		} else {
			faults = append(faults, settingsFault("wall_frac_ns_at_t0: want 0 to 999999, got %v", frac))
		}
	} else if m.WallPhase == model.Absent {
		e.warn("%s has no wall_frac_ns_at_t0: the phase of the wall clock is drawn", settingsFile)
	}
	if delay := f.AppendDelayUs; delay >= 0 && delay <= 1e9 {
		if delay > 0 {
			e.Config.Store.Delay = sim.Time(delay*1000) + delayOvershoot
		}
	} else {
		faults = append(faults, settingsFault("append_delay_us: want 0 to 1e9, got %v", delay))
	}
	name, err := firstOf(dir, "sweeps.csv.gz", "sweeps.csv")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if m.SweepPhase == model.Absent {
			e.warn("no sweeps.csv: the phase of the sweep is drawn")
		}
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
	if len(f.StallsMs)+len(f.FreezesMs) > 0 {
		e.warn("no stalls.csv: stalls_ms and freezes_ms are simulated as they were asked for")
	} else {
		e.warn("no stalls.csv, and neither stalls_ms nor freezes_ms: simulated without a stall")
	}
	var faults []error
	asked := func(key string, where model.StallWhere, list [][]float64) {
		for i, s := range list {
			if len(s) != 2 || !(s[0] >= 0 && s[0] <= float64(model.WaitMsMost) && s[1] > 0 && s[1] <= float64(model.WaitMsMost)) {
				faults = append(faults, settingsFault("%s[%d]: want [start ms, length ms], each up to %d, got %s", key, i, model.WaitMsMost, shown(s)))
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

// settingsMax bounds experiment.json, in bytes.
const settingsMax = 1 << 20

// readSettings reads experiment.json: what is known of it, and the names of
// other keys, in order.
func readSettings(dir fs.FS) (*file, []string, error) {
	text, err := readFile(dir, settingsFile, func(_ string, r io.Reader) ([]byte, error) {
		return io.ReadAll(io.LimitReader(r, settingsMax+1))
	})
	if err != nil {
		return nil, nil, err
	}
	if len(text) > settingsMax {
		return nil, nil, settingsFault("want at most %d bytes, it is longer", settingsMax)
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, nil, jsonFault(settingsFile, text, err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil || f.Broker == nil {
		return nil, nil, settingsFault(`want an object with the broker's settings in "broker"`)
	}
	var unknown []string
	for key := range keys {
		if !slices.ContainsFunc(knownKeys, func(known string) bool { return strings.EqualFold(key, known) }) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return &f, unknown, nil
}

// knownKeys are those of experiment.json: the ones that are read, and what else
// says how a trace was made.
var knownKeys = strings.Fields(`name title rocketmq_version broker stalls_ms freezes_ms append_delay_us wall_frac_ns_at_t0 disk_writer
	arrival body_bytes disk_writer_at_ms disk_writer_started_ns heap java max_send_lateness_ns remark_examples requests
	stalls_random store_tps_interval_s wall_drift_ns_over_run wall_ms_at_t0 warmup_requests_before_t0`)

// check refuses texts that a terminal might obey.
func (f *file) check() error {
	var faults []error
	for _, text := range []struct{ key, value string }{{"name", f.Name}, {"title", f.Title}, {"rocketmq_version", f.Release}} {
		if strings.ContainsFunc(text.value, unicode.IsControl) {
			faults = append(faults, settingsFault("%s: want a text without control characters, got %.80q", text.key, text.value))
		}
	}
	return errors.Join(faults...)
}

func settingsFault(format string, args ...any) error {
	return &Fault{File: settingsFile, Msg: fmt.Sprintf(format, args...)}
}

// jsonFault gives a JSON error its line, and says it in words of the format.
func jsonFault(name string, text []byte, err error) error {
	var offset int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	msg := err.Error()
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
		msg = "not JSON: " + msg
	case errors.As(err, &kind):
		offset = kind.Offset
		msg = "want " + wanted(kind.Type) + ", got " + strings.Replace(kind.Value, "bool", "true or false", 1)
		if kind.Field != "" {
			msg = kind.Field + ": " + msg
		}
	}
	line := 1 + strings.Count(string(text[:min(int(offset), len(text))]), "\n")
	return &Fault{name, line, msg}
}

// wanted names what of JSON decodes to t.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}
