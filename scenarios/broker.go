package scenarios

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"brokersim/model"
)

// brokerTable is [broker]: release, conf, and keys of broker.conf.
type brokerTable struct{ node *node }

// brokerKey is one key of broker.conf that the model reads.
type brokerKey struct {
	name  string
	field int          // of model.Settings
	kind  reflect.Kind // Bool, String, Int (32 bits in RocketMQ) or Int64
	words []string     // of a String
	least int64
	most  int64
	since string // first release that has it; "" if all do
	until string // first release that has it no more; "" if all later do
	store bool   // of the commit log: read where the store works by mechanism
	doc   string
}

const (
	waitMsMost   = model.WaitMsMost
	threadsMost  = model.ThreadsMost
	unknownMost  = 100 // unknown keys of a broker.conf that are named one by one
	capacityMost = math.MaxInt32
	poolMost     = 10_000
)

// sinceKeys are the keys that the oldest release does not have (BrokerConfig
// and MessageStoreConfig of the tags; facts §1.2, §5.1, §12.2).
var sinceKeys = map[string]string{
	"brokerFastFailureEnable":            "4.2.0",
	"waitTimeMillsInPullQueue":           "4.2.0",
	"waitTimeMillsInHeartbeatQueue":      "4.3.0",
	"heartbeatThreadPoolNums":            "4.3.0",
	"heartbeatThreadPoolQueueCapacity":   "4.3.0",
	"waitTimeMillsInTransactionQueue":    "4.3.1",
	"endTransactionThreadPoolNums":       "4.3.1",
	"endTransactionPoolQueueCapacity":    "4.3.1",
	"waitTimeMillsInLitePullQueue":       "5.0.0",
	"litePullMessageThreadPoolNums":      "5.0.0",
	"litePullThreadPoolQueueCapacity":    "5.0.0",
	"waitTimeMillsInAckQueue":            "5.0.0",
	"ackMessageThreadPoolNums":           "5.0.0",
	"ackThreadPoolQueueCapacity":         "5.0.0",
	"adminBrokerThreadPoolQueueCapacity": "5.0.0",
	"waitTimeMillsInAdminBrokerQueue":    "5.3.0",
	"wakeFlushWhenPutMessage":            "5.0.0",
	"wakeCommitWhenPutMessage":           "5.0.0",
	"mappedFileSizeCommitLog":            "4.5.2",
	"slaveTimeout":                       "4.9.3",
	"putMessageFutureThreadPoolNums":     "4.9.3",
	"putThreadPoolQueueCapacity":         "4.9.3",
	"haMaxGapNotInSync":                  "5.0.0",
	"inSyncReplicas":                     "5.0.0",
	"minInSyncReplicas":                  "5.0.0",
	"enableAutoInSyncReplicas":           "5.0.0",
	"enableSlaveActingMaster":            "5.0.0",
	"asyncSendEnable":                    "5.0.0",
}

// otherKeys are keys that RocketMQ knows and the model does not read (facts
// §12.1, §12.2).
var otherKeys = strings.Fields(`
	brokerClusterName brokerName brokerId namesrvAddr brokerIP1 brokerIP2 defaultTopicQueueNums autoCreateTopicEnable
	autoCreateSubscriptionGroup listenPort deleteWhen fileReservedTime mapedFileSizeConsumeQueue
	mappedFileSizeConsumeQueue destroyMapedFileIntervalForcibly redeleteHangedFileInterval
	diskMaxUsedSpaceRatio storePathRootDir storePathCommitLog flushConsumeQueueLeastPages
	flushConsumeQueueThoroughInterval
	queryThreadPoolQueueCapacity clientManagerThreadPoolQueueCapacity consumerManagerThreadPoolQueueCapacity
	replyThreadPoolQueueCapacity loadBalanceThreadPoolQueueCapacity
	queryMessageThreadPoolNums clientManageThreadPoolNums
	consumerManageThreadPoolNums processReplyMessageThreadPoolNums loadBalanceProcessorThreadPoolNums
	startAcceptSendRequestTimeStamp longPollingEnable shortPollingTimeMills transferMsgByHeap rejectTransactionMessage
	serverWorkerThreads serverSelectorThreads serverCallbackExecutorThreads useEpollNativeSelector
	putMessageTimeout
	flushLeastPagesWhenWarmMapedFile topicQueueLockNum useABSLock spinLockCollisionRetreatOptimalDegree
	haSendHeartbeatInterval totalReplicas allAckInSyncStateSet cleanResourceInterval
	cleanFileForciblyEnable diskSpaceWarningLevelRatio diskSpaceCleanForciblyRatio messageIndexEnable maxHashSlotNum
	maxIndexNum messageIndexSafe checkCRCOnRecover accessMessageInMemoryMaxRatio maxTransferBytesOnMessageInMemory
	maxTransferCountOnMessageInMemory maxTransferBytesOnMessageInDisk maxTransferCountOnMessageInDisk duplicationEnable
	debugLockEnable enableBuildConsumeQueueConcurrently dispatchFromSenderThread readUnCommitted
	enableDLegerCommitLog dLegerGroup dLegerPeers dLegerSelfId preferredLeaderId isEnableBatchPush enableControllerMode
	controllerAddr proxyMode grpcServerPort remotingListenPort`)

// unmodelled is a setting that would change a run if the model had it.
type unmodelled struct {
	value string // "": any
	what  string
}

const notModelled = "not modelled: the run is as if it were not set"

// missing are such settings. DLedger and controller mode choose masters and
// wait for replicas by rules of their own; the proxy of 5.x is another process
// before the broker.
var missing = map[string]unmodelled{
	"enableDLegerCommitLog": {"true", "DLedger is " + notModelled},
	"enableControllerMode":  {"true", "controller mode is " + notModelled},
	"allAckInSyncStateSet":  {"true", "controller mode is " + notModelled},
	"duplicationEnable":     {"true", notModelled},
	"proxyMode":             {"", "the proxy is " + notModelled},
	"grpcServerPort":        {"", "the proxy is " + notModelled},
	"remotingListenPort":    {"", "the proxy is " + notModelled},
}

// notSimulated says so of a setting, or "".
func notSimulated(key, value string) string {
	if m, ok := missing[key]; ok && (m.value == "" || strings.EqualFold(m.value, value)) {
		return m.what
	}
	return ""
}

// slaveRole is a brokerRole of which the model has none.
const slaveRole = "SLAVE"

// brokerKeys are the keys that the model reads, in the order of Settings.
var brokerKeys = func() []brokerKey {
	var keys []brokerKey
	t := reflect.TypeFor[model.Settings]()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "Release" {
			continue
		}
		k := brokerKey{name: strings.ToLower(f.Name[:1]) + f.Name[1:], field: i, kind: f.Type.Kind()}
		k.since = sinceKeys[k.name]
		switch {
		case k.name == "brokerFastFailureEnable":
			k.doc = "Whether the 10 ms sweep runs (all queues, PCBUSY too)."
		case k.name == "useReentrantLockWhenPutMessage":
			k.doc = "Put lock: reentrant (waiting threads sleep) or spin (they burn processor time)."
		case k.name == "osPageCacheBusyTimeOutMills":
			k.most, k.doc = waitMsMost, "ms the put lock may be held before the page cache counts as busy."
		case k.name == "maxMessageSize":
			k.least, k.most, k.doc = 1, capacityMost, "Largest message in bytes."
		case strings.HasPrefix(k.name, "waitTimeMillsIn"):
			k.most, k.doc = waitMsMost, "ms a request may wait in this queue before the sweep answers it."
		case strings.HasSuffix(k.name, "PoolNums"):
			k.least, k.most, k.doc = 1, threadsMost, "Threads of this pool."
		case strings.HasSuffix(k.name, "QueueCapacity"):
			k.least, k.most, k.doc = 1, capacityMost, "Requests that may wait for this pool; one more is answered with OVERLOAD."
		case k.name == "flushIntervalCommitLog":
			k.least, k.most, k.doc = 1, math.MaxInt32, "ms from one look of the flush thread to the next."
		case k.name == "flushCommitLogTimed":
			k.doc = "Whether the flush thread sleeps that long; else a put wakes it."
		case k.name == "flushCommitLogLeastPages":
			k.most, k.doc = math.MaxInt32, "Pages that must be dirty for it to flush."
		case k.name == "flushCommitLogThoroughInterval":
			k.most, k.doc = math.MaxInt32, "ms after which it flushes whatever there is."
		case k.name == "wakeFlushWhenPutMessage":
			k.doc = "Whether a put wakes the flush thread, since 5.3.2."
		case k.name == "mappedFileSizeCommitLog":
			k.least, k.most, k.doc = 4096, math.MaxInt32, "Size in bytes of a file of the commit log."
		case k.name == "warmMapedFileEnable":
			k.doc = "Whether the allocator writes into each page of a new file."
		case k.name == "transientStorePoolEnable":
			k.doc = "Whether appends go to buffers that are committed to the file later."
		case k.name == "transientStorePoolSize":
			k.most, k.doc = poolMost, "Buffers of the pool, of a file's size each."
		case k.name == "fastFailIfNoBufferInStorePool":
			k.doc = "Whether no file is created without a buffer; else it is written as without the pool."
		case k.name == "commitIntervalCommitLog":
			k.least, k.most, k.doc = 1, math.MaxInt32, "ms that the commit thread waits, unless a put wakes it."
		case k.name == "commitCommitLogLeastPages":
			k.most, k.doc = math.MaxInt32, "Pages that must be there for it to commit."
		case k.name == "commitCommitLogThoroughInterval":
			k.most, k.doc = math.MaxInt32, "ms after which it commits whatever there is."
		case k.name == "wakeCommitWhenPutMessage":
			k.doc = "Whether a put wakes the commit thread, since 5.3.2; before, it does."
		case k.name == "flushDiskType":
			k.words, k.doc = []string{model.AsyncFlush, model.SyncFlush}, "SYNC_FLUSH: a put is answered once it is on the disk."
		case k.name == "brokerRole":
			k.words, k.doc = []string{model.AsyncMaster, model.SyncMaster, slaveRole}, "SYNC_MASTER: a put is answered once a slave has it ([replica])."
		case k.name == "syncFlushTimeout":
			k.most, k.doc = math.MaxInt32, "ms a put waits for its flush, and before 4.9.3 for the slave."
		case k.name == "slaveTimeout":
			k.most, k.doc = math.MaxInt32, "ms a put waits for the slave."
		case k.name == "haMaxGapNotInSync":
			k.most, k.doc = math.MaxInt32, "Bytes that a slave may be behind and count as available."
		case k.name == "haTransferBatchSize":
			k.least, k.most, k.doc = 1, math.MaxInt32, "Bytes that go to a slave at a time, at most."
		case k.name == "haHousekeepingInterval":
			k.least, k.most, k.doc = 1, math.MaxInt32, "ms of silence after which the connection of a slave is closed."
		case k.name == "inSyncReplicas":
			k.least, k.most, k.doc = 1, 100, "Replicas that must have a put, the master among them: 1 waits for none."
		case k.name == "minInSyncReplicas":
			k.least, k.most, k.doc = 1, 100, "How far enableAutoInSyncReplicas may lower inSyncReplicas."
		case k.name == "enableAutoInSyncReplicas":
			k.doc = "Whether inSyncReplicas follows the replicas that are there, with enableSlaveActingMaster."
		case k.name == "enableSlaveActingMaster":
			k.doc = "Whether a put is refused when too few replicas are near enough."
		case k.name == "asyncSendEnable":
			k.doc = "Whether the send thread takes the next send while one waits for flush or replica."
		case k.kind != reflect.Bool:
			k.most = math.MaxInt64
		}
		k.store = strings.HasPrefix(k.name, "flush") && k.name != "flushDiskType" || k.name == "wakeFlushWhenPutMessage"
		keys = append(keys, k)
		if k.name == "mappedFileSizeCommitLog" { // as it was spelt before
			k.name, k.since, k.until = "mapedFileSizeCommitLog", "", k.since
			keys = append(keys, k)
		}
		if k.name == "haMaxGapNotInSync" {
			k.name, k.since, k.until = "haSlaveFallbehindMax", "", k.since
			keys = append(keys, k)
		}
	}
	return keys
}()

// brokerNames are all names that [broker] takes.
var brokerNames = func() []string {
	names := []string{"release", "conf"}
	for _, k := range brokerKeys {
		names = append(names, k.name)
	}
	return append(names, otherKeys...)
}()

// findKey returns the key that the model reads under that name, or nil.
func findKey(name string) *brokerKey {
	for i := range brokerKeys {
		if brokerKeys[i].name == name {
			return &brokerKeys[i]
		}
	}
	return nil
}

// BrokerKey reports whether RocketMQ has a key of that name in broker.conf, as
// far as is known here.
func BrokerKey(name string) bool {
	return slices.Contains(brokerNames[2:], name) // beside release and conf
}

// JSONSchema describes [broker].
func (brokerTable) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema, Properties: jsonschema.NewProperties()}
	releases := model.Releases()
	var enum []any
	for _, r := range releases {
		enum = append(enum, r)
	}
	s.Properties.Set("release", &jsonschema.Schema{Type: "string", Enum: enum, Default: model.DefaultRelease,
		Description: "Release of the broker: selects defaults and rules."})
	s.Properties.Set("conf", &jsonschema.Schema{Type: "string",
		Description: "A broker.conf beside the scenario file; keys written here win over it."})
	defaults, _ := model.Defaults(model.DefaultRelease, coresDefault)
	for _, k := range brokerKeys {
		p := &jsonschema.Schema{Type: "boolean", Description: k.doc, Default: reflect.ValueOf(defaults).Field(k.field).Interface()}
		switch k.kind {
		case reflect.Bool:
		case reflect.String:
			p.Type = "string"
			for _, w := range k.words {
				p.Enum = append(p.Enum, w)
			}
		default:
			p.Type = "integer"
			p.Minimum, p.Maximum = jsonNumber(k.least), jsonNumber(k.most)
		}
		p.Description += fmt.Sprintf(" The default shown is that of %s on %d cores.", model.DefaultRelease, coresDefault)
		if k.since != "" {
			p.Description += fmt.Sprintf(" Since %s.", k.since)
		}
		if k.until != "" {
			p.Description += fmt.Sprintf(" Before %s.", k.until)
		}
		if k.store {
			p.Description += " Read where [store] has a profile or a page cache."
		}
		s.Properties.Set(k.name, p)
	}
	for _, name := range otherKeys {
		s.Properties.Set(name, &jsonschema.Schema{Description: "Known to RocketMQ; not read by the model."})
	}
	return s
}

// settings decodes [broker] on a machine of so many cores, with a store that
// works by mechanism or without.
func (d *decoder) settings(table *node, cores int, mechanism bool) model.Settings {
	release := model.DefaultRelease
	if n := table.child("release"); n != nil && !d.isHole(n) {
		if s, ok := d.str(n); !ok {
			d.atValue(n, "want a string, got %s", n.kind())
		} else if r := d.release(n, s); r != "" {
			release = r
		}
	}
	settings, err := model.Defaults(release, cores)
	if err != nil {
		panic("scenarios: " + err.Error()) // the release was looked up
	}
	if table == nil {
		return settings
	}
	into := reflect.ValueOf(&settings).Elem()
	if n := table.child("conf"); n != nil && !d.isHole(n) {
		if s, ok := d.str(n); ok {
			d.conf(n, s, into, release, mechanism)
		} else {
			d.atValue(n, "want a string, got %s", n.kind())
		}
	}
	for _, name := range table.names() {
		n := table.keys[name]
		if name == "release" || name == "conf" || d.isHole(n) {
			continue
		}
		k := findKey(name)
		if k == nil {
			d.otherKey(n, name)
			continue
		}
		if n.unset {
			continue
		}
		before := d.found()
		v := d.brokerValue(n, k)
		if d.found() > before {
			continue
		}
		if why := k.absent(release); why != "" {
			d.note(n, "%s", why)
			continue
		}
		if k.store && !mechanism {
			d.note(n, "no effect: it is read where [store] has a profile or kind = \"pagecache\"")
		}
		into.Field(k.field).Set(v)
	}
	return settings
}

// release checks the name of a release, which may carry the tag's prefix.
func (d *decoder) release(n *node, s string) string {
	known := model.Releases()
	s = strings.TrimPrefix(s, "rocketmq-all-")
	if !slices.Contains(known, s) {
		d.inside(n, 0, "unknown release %q; known are %s", clip(s), strings.Join(known, ", ")).Near = nearestRelease(s, known)
		return ""
	}
	return s
}

var numbers = regexp.MustCompile(`[0-9]+`)

// version reads the numbers of a release's name, as many as three.
func version(s string) (v [3]int, ok bool) {
	all := numbers.FindAllString(s, len(v))
	for i, digits := range all {
		v[i], _ = strconv.Atoi(digits) // the largest int if there are too many
	}
	return v, len(all) > 0
}

// nearestRelease is the release of that version, the one of the same minor
// version whose patch is nearest, or else the newest that isn't newer, the
// oldest if all are; "" where the name has no version.
func nearestRelease(name string, known []string) string {
	want, ok := version(clip(name))
	if !ok {
		return ""
	}
	near, apart := known[0], math.MaxInt
	for _, release := range known { // oldest first
		v, _ := version(release)
		if v[0] == want[0] && v[1] == want[1] {
			if d := max(v[2]-want[2], want[2]-v[2]); d < apart {
				near, apart = release, d
			}
		} else if apart == math.MaxInt && slices.Compare(v[:], want[:]) < 0 {
			near = release
		}
	}
	return near
}

// hasKey reports whether a release has a key that came with another.
func hasKey(release, since string) bool {
	known := model.Releases()
	return since == "" || slices.Index(known, release) >= slices.Index(known, since)
}

// absent says why a release has no such key, or "".
func (k *brokerKey) absent(release string) string {
	switch {
	case !hasKey(release, k.since):
		return fmt.Sprintf("ignored: %s has no such key, it came with %s", release, k.since)
	case k.until != "" && hasKey(release, k.until):
		return fmt.Sprintf("ignored: %s has no such key, it went with %s", release, k.until)
	}
	return ""
}

// brokerValue decodes the value of a key that the model reads.
func (d *decoder) brokerValue(n *node, k *brokerKey) reflect.Value {
	t := reflect.TypeFor[model.Settings]().Field(k.field).Type
	if k.kind == reflect.Bool {
		b, ok := n.value.(bool)
		if !ok {
			d.atValue(n, "want true or false, got %s", n.kind())
		}
		return reflect.ValueOf(b)
	}
	if k.kind == reflect.String {
		return reflect.ValueOf(d.word(n, k))
	}
	if s, ok := n.value.(string); ok && n.set == "" {
		d.atValue(n, "want %s, without quotes as in broker.conf, got %q", bounds(k.least, k.most), clip(s))
		return reflect.Zero(t)
	}
	return reflect.ValueOf(d.integer(n, k.least, k.most)).Convert(t)
}

// word decodes the value of a key that takes one of some words.
func (d *decoder) word(n *node, k *brokerKey) string {
	s, ok := d.str(n)
	switch {
	case !ok:
		d.atValue(n, "want one of %s, got %s", strings.Join(k.words, ", "), n.kind())
	case !slices.Contains(k.words, s):
		d.inside(n, 0, "want one of %s, got %q", strings.Join(k.words, ", "), clip(s)).Near = nearest(s, k.words)
	case s == slaveRole:
		d.note(n, "%s", slaveNote)
		return model.AsyncMaster
	}
	return s
}

const slaveNote = "a slave takes no sends: the run is that of an ASYNC_MASTER"

// otherKey deals with a key of [broker] that the model doesn't read.
func (d *decoder) otherKey(n *node, name string) {
	switch {
	case !slices.Contains(otherKeys, name):
		near := cmp.Or(elsewhere(name), d.near(name, brokerNames))
		if near == "" {
			d.atKey(n, "unknown key: neither RocketMQ nor brokersim has it")
			return
		}
		d.atKey(n, "unknown key").Near = near
	case n.unset:
	case n.value == nil:
		d.atValue(n, "want a value as in broker.conf, got %s", n.kind())
	case notSimulated(name, fmt.Sprint(n.value)) != "":
		d.note(n, "%v: %s", n.value, notSimulated(name, fmt.Sprint(n.value)))
	default:
		d.note(n, "known to RocketMQ, not read by the model")
	}
}

// take puts the text of a broker.conf into the key's setting: with a warning where
// RocketMQ reads it otherwise than it looks, or not at all; beyond the bounds it is
// a fault.
func (k *brokerKey) take(text string, into reflect.Value) (warning, fault string) {
	switch {
	case k.kind == reflect.Bool:
		v := strings.EqualFold(text, "true")
		into.SetBool(v)
		if !v && !strings.EqualFold(text, "false") {
			warning = fmt.Sprintf("want true or false, got %q: RocketMQ reads anything but true as false", clip(text))
		}
		return warning, ""
	case k.kind == reflect.String && text == slaveRole:
		return slaveNote, ""
	case k.kind == reflect.String && !slices.Contains(k.words, text):
		return fmt.Sprintf("%q is none of %s: RocketMQ keeps the default", clip(text), strings.Join(k.words, ", ")), ""
	case k.kind == reflect.String:
		into.SetString(text)
		return "", ""
	}
	bits := 64
	if k.kind == reflect.Int {
		bits = 32
	}
	switch v, err := strconv.ParseInt(text, 10, bits); {
	case text == "":
		return "has no value: RocketMQ keeps the default", ""
	case err != nil:
		return fmt.Sprintf("%q is not a whole number to RocketMQ, which then keeps the default", clip(text)), ""
	case v < k.least || v > k.most:
		return "", fmt.Sprintf("want %s, got %d", bounds(k.least, k.most), v)
	default:
		into.SetInt(v)
		return "", ""
	}
}

// conf reads a broker.conf as RocketMQ does: what it can't use it ignores, and
// so do we, but not silently. Beside faults of the file stand its warnings.
func (d *decoder) conf(n *node, rel string, into reflect.Value, release string, mechanism bool) {
	content, ok := d.fetch(n, rel)
	if !ok {
		return
	}
	properties, why := readConf(string(content))
	if why != "" {
		d.inside(n, 0, "%s is no broker.conf: %s", rel, why)
		return
	}
	var unread []string
	var warnings Faults
	unknown, faulty := 0, false
	for _, p := range properties {
		note := func(format string, args ...any) {
			warnings = append(warnings, Fault{File: rel, Line: p.line, Key: clip(p.key), Msg: fmt.Sprintf(format, args...)})
		}
		k := findKey(p.key)
		switch {
		case k == nil && notSimulated(p.key, p.value) != "":
			note("%s: %s", clip(p.value), notSimulated(p.key, p.value))
		case k == nil && slices.Contains(otherKeys, p.key):
			if p.value == "" {
				note("has no value")
			}
			unread = append(unread, p.key)
		case k == nil && unknown == unknownMost:
			unknown++
			note("here and below are more keys that are not known here")
		case k == nil && unknown > unknownMost:
		case k == nil:
			unknown++
			near := d.near(p.key, brokerNames[2:])
			if near != "" {
				near = fmt.Sprintf("; did you mean %q?", near)
			}
			note("not a key of RocketMQ that is known here; RocketMQ ignores unknown keys%s", near)
		case k.store && !mechanism:
			unread = append(unread, p.key)
		case k.absent(release) != "":
			note("%s", k.absent(release))
		default:
			warning, fault := k.take(p.value, into.Field(k.field))
			if warning != "" {
				note("%s", warning)
			}
			if fault != "" {
				faulty = true
				d.faults.add(Fault{File: rel, Line: p.line, Key: p.key, Msg: fault})
			}
		}
	}
	if len(unread) > 0 {
		warnings = append(warnings, Fault{File: rel, Msg: "known to RocketMQ, not read by the model: " + strings.Join(unread, ", ")})
	}
	for _, w := range warnings {
		if faulty {
			w.Msg = "warning: " + w.Msg
			d.faults.add(w)
		} else {
			d.notes = append(d.notes, w.String())
		}
	}
}

// readConf splits a broker.conf, or says why the text is none: it may be in any
// encoding that has ASCII in it, and must have a key that is known, or nearly.
func readConf(text string) (properties []property, why string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' && !strings.ContainsRune("\t\n\f\r", rune(c)) || c == 0x7f {
			return nil, fmt.Sprintf("it is not text, byte %d is 0x%02x", i, c)
		}
	}
	properties = parseProperties(text)
	for i, p := range properties {
		if BrokerKey(p.key) || i < unknownMost && nearest(p.key, brokerNames[2:]) != "" {
			return properties, ""
		}
	}
	if n := len(properties); n > 0 {
		return nil, fmt.Sprintf("none of its %d keys is known to RocketMQ; the first is %q", n, clip(properties[0].key))
	}
	return nil, ""
}

// property is one entry of a Java properties file.
type property struct {
	key, value string
	line       int
}

// parseProperties reads the format of java.util.Properties.load: comments with
// # or !, separators =, : or blank, continuation lines, \uXXXX and the other
// escapes. A later entry of a key replaces an earlier one, in place.
func parseProperties(text string) []property {
	var out []property
	at := map[string]int{}
	rows := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(rows); i++ {
		line := i + 1
		logical := strings.TrimLeft(rows[i], " \t\f")
		if logical == "" || logical[0] == '#' || logical[0] == '!' {
			continue
		}
		var b strings.Builder
		for continues(logical) && i+1 < len(rows) {
			b.WriteString(logical[:len(logical)-1])
			i++
			logical = strings.TrimLeft(rows[i], " \t\f")
		}
		b.WriteString(logical)
		p := splitProperty(b.String())
		p.line = line
		if j, ok := at[p.key]; ok {
			out[j] = p
			continue
		}
		at[p.key] = len(out)
		out = append(out, p)
	}
	return out
}

// continues reports whether a line ends in an odd number of backslashes.
func continues(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// splitProperty splits a logical line at its first separator.
func splitProperty(s string) property {
	end := 0
	for end < len(s) && !strings.ContainsRune("=: \t\f", rune(s[end])) {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(s))
	value := strings.TrimLeft(s[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return property{key: unescape(s[:end]), value: unescape(value)}
}
