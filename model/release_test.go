package model_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
)

// tags are those of facts §0: "since X" there means the first of these.
var tags = strings.Fields(`4.0.0-incubating 4.1.0-incubating 4.2.0 4.3.0 4.3.1 4.3.2 4.4.0 4.5.1 4.5.2 4.6.0 4.6.1
	4.7.0 4.7.1 4.8.0 4.9.0 4.9.1 4.9.2 4.9.3 4.9.4 4.9.5 4.9.6 4.9.7 4.9.8
	5.0.0 5.1.0 5.1.1 5.1.2 5.1.3 5.1.4 5.2.0 5.3.0 5.3.1 5.3.2 5.3.3`)

func TestReleases(t *testing.T) {
	if diff := cmp.Diff(tags, model.Releases()); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	for _, tag := range tags {
		traits, err := model.TraitsOf(tag)
		if err != nil || traits.Release != tag {
			t.Errorf("%s: got %q, %v", tag, traits.Release, err)
		}
	}
	for _, tag := range []string{"", "4.5.0", "4.3", "V4_3_2", "rocketmq-all-4.3.2", "5.4.0"} {
		if _, err := model.TraitsOf(tag); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("release %q is unknown", tag)) {
			t.Errorf("%q: got %v, want an error that names it", tag, err)
		}
	}
}

// TestTraits holds the table of traits against the facts, for the releases
// whose columns they have.
func TestTraits(t *testing.T) {
	columns := []string{"4.2.0", "4.3.2", "4.7.1", "4.9.4", "5.1.4", "5.3.3"}
	const (
		swept4 = "[send pull heartbeat endTransaction]"
		swept6 = "[send pull litePull heartbeat endTransaction ack]"
	)
	latencyOld, latencyNew := [7]int64{50, 100, 550, 1000, 2000, 3000, 15000}, [7]int64{50, 100, 550, 1800, 3000, 5000, 15000}
	awayOld, awayNew := [7]int64{0, 0, 30000, 60000, 120000, 180000, 600000}, [7]int64{0, 0, 2000, 5000, 6000, 10000, 30000}
	for _, row := range []struct {
		trait, source string
		of            func(model.Traits) any
		want          []any
	}{
		{"swept queues", "BrokerFastFailure.cleanExpiredRequest (facts §1.2)", func(t model.Traits) any { return fmt.Sprint(t.Swept) },
			[]any{"[send pull]", swept4, swept4, swept4, swept6, strings.Replace(swept6, "]", " adminBroker]", 1)}},
		{"brokerFastFailureEnable", "BrokerConfig (facts §1.1)", func(t model.Traits) any { return t.FastFailureSwitch }, []any{true, true, true, true, true, true}},
		{"jstack of the sweeper", "cleanExpiredRequestInQueue (facts §1.3)", func(t model.Traits) any { return t.SweepDumpsStacks }, []any{false, false, false, false, true, true}},
		{"REJECT answers one-way", "processRequestCommand (facts §2.1)", func(t model.Traits) any { return t.RejectAnswersOneway }, []any{true, true, true, true, false, false}},
		{"busy before lengths", "checkStoreStatus, checkMessage (facts §3.2)", func(t model.Traits) any { return t.BusyCheckFirst }, []any{false, false, true, true, false, false}},
		{"code of OS_PAGECACHE_BUSY", "handlePutMessageResult (facts §3.3)", func(t model.Traits) any { return t.PCSynchronizedCode }, []any{int32(1), int32(1), int32(1), int32(1), int32(1), int32(2)}},
		{"body alone is bounded", "CommitLog, MessageExtEncoder (facts §10.5)", func(t model.Traits) any { return t.LimitsBodyOnly }, []any{false, false, false, true, true, true}},
		{"SYSTEM_BUSY retried", "DefaultMQProducerImpl.sendDefaultImpl (facts §9.1)", func(t model.Traits) any { return t.SystemBusyRetried }, []any{false, false, false, false, false, true}},
		{"timeout per attempt", "sendDefaultImpl (facts §9.1)", func(t model.Traits) any { return t.TimeoutPerAttempt }, []any{true, false, false, false, false, false}},
		{"asynchronous retry without time", "onExceptionImpl (facts §9.3)", func(t model.Traits) any { return t.AsyncRetryUntimed }, []any{true, true, false, false, false, false}},
		{"queue with the fault table", "MQFaultStrategy.selectOneMessageQueue (facts §9.4)", func(t model.Traits) any { return t.FaultRule },
			[]any{model.FaultSticks, model.FaultSticks, model.FaultSticks, model.FaultAvailable, model.FaultReachable, model.FaultReachable}},
		{"latencyMax", "MQFaultStrategy (facts §9.5)", func(t model.Traits) any { return t.FaultLatencyMaxMs },
			[]any{latencyOld, latencyOld, latencyOld, latencyOld, latencyNew, latencyNew}},
		{"notAvailableDuration", "MQFaultStrategy (facts §9.5)", func(t model.Traits) any { return t.FaultNotAvailableMs },
			[]any{awayOld, awayOld, awayOld, awayOld, awayNew, awayNew}},
		{"latency of an isolated broker", "MQFaultStrategy.updateFaultItem (facts §9.5)", func(t model.Traits) any { return t.FaultIsolationMs },
			[]any{int64(30000), int64(30000), int64(30000), int64(30000), int64(10000), int64(10000)}},
		{"error makes unreachable", "DefaultMQProducerImpl.sendDefaultImpl (facts §9.5)", func(t model.Traits) any { return t.ErrorIsUnreachable }, []any{false, false, false, false, true, true}},
		{"callbacks in the send queue", "SendMessageProcessor.asyncProcessRequest (facts §5.3)", func(t model.Traits) any { return t.CallbacksInSend }, []any{false, false, true, false, false, false}},
		{"END_TRANSACTION in the send queue", "BrokerController.registerProcessor (facts §1.4, §5.1)", func(t model.Traits) any { return t.EndTransactionInSend }, []any{true, false, false, false, false, false}},
		{"worker free while flushing", "CommitLog.asyncPutMessage (facts §5.3, §6.1)", func(t model.Traits) any { return t.PipelinedPut }, []any{false, false, true, true, true, true}},
		{"SYNC_MASTER needs inSyncReplicas", "CommitLog (facts §15.3)", func(t model.Traits) any { return t.ReplicaNeedsInSync }, []any{false, false, false, false, true, true}},
		{"mappedFile keys", "MessageStoreConfig (facts §12.1)", func(t model.Traits) any { return t.MappedFileKeys }, []any{false, false, true, true, true, true}},
		{"flush as set by default", "FlushRealTimeService (facts §7.2)", func(t model.Traits) any { s, _ := model.Defaults(t.Release, 2); return t.FlushMode(&s) },
			[]any{model.FlushWoken, model.FlushWoken, model.FlushWoken, model.FlushTimed, model.FlushTimed, model.FlushTimed}},
		{"flush that waits", "FlushRealTimeService (facts §7.2)", func(t model.Traits) any { return t.FlushMode(&model.Settings{}) },
			[]any{model.FlushWoken, model.FlushWoken, model.FlushWoken, model.FlushWoken, model.FlushWoken, model.FlushTimed}},
		{"flush that may be woken", "FlushRealTimeService (facts §7.2)", func(t model.Traits) any { return t.FlushMode(&model.Settings{WakeFlushWhenPutMessage: true}) },
			[]any{model.FlushWoken, model.FlushWoken, model.FlushWoken, model.FlushWoken, model.FlushWoken, model.FlushWoken}},
		{"names of statuses", "PutMessageStatus (facts §3.3)", func(t model.Traits) any { return t.StatusName(model.PutOSPageCacheBusy) },
			[]any{"OS_PAGECACHE_BUSY", "OS_PAGECACHE_BUSY", "OS_PAGECACHE_BUSY", "OS_PAGECACHE_BUSY", "OS_PAGE_CACHE_BUSY", "OS_PAGE_CACHE_BUSY"}},
	} {
		for i, release := range columns {
			traits, err := model.TraitsOf(release)
			if err != nil {
				t.Fatal(err)
			}
			if got := row.of(traits); got != row.want[i] {
				t.Errorf("%s in %s, %s: got %v, want %v", row.trait, release, row.source, got, row.want[i])
			}
		}
	}
}

// TestTraitsSince finds the releases at which each trait turns.
func TestTraitsSince(t *testing.T) {
	defaults := func(t model.Traits) model.Settings {
		s, err := model.Defaults(t.Release, 64)
		if err != nil {
			panic(err)
		}
		return s
	}
	for _, row := range []struct {
		trait, source string
		of            func(model.Traits) bool
		since, until  string // until: the first that has it no more; "": to the last
	}{
		{"pull swept", "facts §1.2", func(t model.Traits) bool { return t.Sweeps(model.PullQueue) }, "4.2.0", ""},
		{"litePull swept", "facts §1.2", func(t model.Traits) bool { return t.Sweeps(model.LitePullQueue) }, "5.0.0", ""},
		{"heartbeat swept", "facts §1.2", func(t model.Traits) bool { return t.Sweeps(model.HeartbeatQueue) }, "4.3.0", ""},
		{"endTransaction swept", "facts §1.2", func(t model.Traits) bool { return t.Sweeps(model.EndTransactionQueue) }, "4.3.1", ""},
		{"ack swept", "facts §1.2", func(t model.Traits) bool { return t.Sweeps(model.AckQueue) }, "5.0.0", ""},
		{"adminBroker swept", "facts §1.2", func(t model.Traits) bool { return t.Sweeps(model.AdminBrokerQueue) }, "5.3.0", ""},
		{"send swept", "facts §1.2", func(t model.Traits) bool { return t.Swept[0] == model.SendQueue }, "4.0.0-incubating", ""},
		{"brokerFastFailureEnable", "facts §1.1", func(t model.Traits) bool { return t.FastFailureSwitch }, "4.2.0", ""},
		{"jstack", "facts §1.3", func(t model.Traits) bool { return t.SweepDumpsStacks }, "5.0.0", ""},
		{"REJECT answers one-way", "facts §2.1", func(t model.Traits) bool { return t.RejectAnswersOneway }, "4.0.0-incubating", "5.0.0"},
		{"busy before lengths", "facts §3.2", func(t model.Traits) bool { return t.BusyCheckFirst }, "4.7.0", "5.0.0"},
		{"PC_SYNCHRONIZED is SYSTEM_BUSY", "facts §3.3", func(t model.Traits) bool { return t.PCSynchronizedCode == 2 }, "5.3.0", ""},
		{"remark with maxMessageSize", "facts §3.3", func(t model.Traits) bool { return strings.Contains(t.IllegalRemark, "%dB") }, "4.9.4", ""},
		{"remark with reasons", "facts §3.3", func(t model.Traits) bool { return strings.Contains(t.UnavailableRemark, "reasons") }, "4.8.0", ""},
		{"body alone is bounded", "facts §10.5", func(t model.Traits) bool { return t.LimitsBodyOnly }, "4.9.4", ""},
		{"SYSTEM_BUSY retried", "facts §9.1", func(t model.Traits) bool { return t.SystemBusyRetried }, "5.3.0", ""},
		{"timeout per attempt", "facts §9.1", func(t model.Traits) bool { return t.TimeoutPerAttempt }, "4.0.0-incubating", "4.3.0"},
		{"asynchronous retry without time", "facts §9.3", func(t model.Traits) bool { return t.AsyncRetryUntimed }, "4.0.0-incubating", "4.7.0"},
		{"retry sticks to the failing broker", "facts §9.4", func(t model.Traits) bool { return t.FaultRule == model.FaultSticks }, "4.0.0-incubating", "4.8.0"},
		{"first available broker", "facts §9.4", func(t model.Traits) bool { return t.FaultRule == model.FaultAvailable }, "4.8.0", "5.1.1"},
		{"available elsewhere", "facts §9.4", func(t model.Traits) bool { return t.FaultRule == model.FaultElsewhere }, "5.1.1", "5.1.4"},
		{"reachable elsewhere", "facts §9.4", func(t model.Traits) bool { return t.FaultRule == model.FaultReachable }, "5.1.4", ""},
		{"short isolation", "facts §9.5", func(t model.Traits) bool { return t.FaultIsolationMs == 10_000 }, "5.1.4", ""},
		{"error makes unreachable", "facts §9.5", func(t model.Traits) bool { return t.ErrorIsUnreachable }, "5.1.4", ""},
		{"callbacks in the send queue", "facts §5.3", func(t model.Traits) bool { return t.CallbacksInSend }, "4.7.1", "4.9.3"},
		{"END_TRANSACTION in the send queue", "facts §1.4", func(t model.Traits) bool { return t.EndTransactionInSend }, "4.0.0-incubating", "4.3.1"},
		{"worker free while flushing", "facts §5.3", func(t model.Traits) bool { return t.PipelinedPut }, "4.7.0", ""},
		{"mappedFile keys", "facts §12.1", func(t model.Traits) bool { return t.MappedFileKeys }, "4.5.2", ""},
		{"VIP channel", "facts §9.6", func(t model.Traits) bool { return t.VIPChannel }, "4.0.0-incubating", "4.5.1"},
		{"END_TRANSACTION threads by send threads", "facts §5.1", func(t model.Traits) bool { return t.EndTxThreads }, "4.9.1", ""},
		{"names of statuses", "facts §3.3", func(t model.Traits) bool { return t.MendedStatusNames }, "5.0.0", ""},
		{"SYNC_MASTER needs inSyncReplicas", "facts §15.3", func(t model.Traits) bool { return t.ReplicaNeedsInSync }, "5.0.0", ""},
		{"4 send threads", "facts §5.1", func(t model.Traits) bool { return defaults(t).SendMessageThreadPoolNums == 4 }, "4.9.1", ""},
		{"reentrant lock", "facts §6.2", func(t model.Traits) bool { return defaults(t).UseReentrantLockWhenPutMessage }, "4.9.1", ""},
		{"3 ack threads", "facts §5.1", func(t model.Traits) bool { return defaults(t).AckMessageThreadPoolNums == 3 }, "5.0.0", "5.3.0"},
		{"callbacks on a pool of their own", "facts §5.3", func(t model.Traits) bool { return t.CallbackPool }, "4.9.3", ""},
		{"callbacks of batches in the send queue", "facts §5.3", func(t model.Traits) bool { return t.BatchCallbacksInSend }, "5.0.0", ""},
		{"asyncSendEnable", "facts §5.3", func(t model.Traits) bool { return t.AsyncSendKey }, "5.0.0", ""},
		{"pool with SYNC_FLUSH", "facts §7.5", func(t model.Traits) bool {
			return t.PoolInEffect(&model.Settings{TransientStorePoolEnable: true, FlushDiskType: model.SyncFlush})
		}, "5.0.0", ""},
		{"second flush unseen", "facts §7.3", func(t model.Traits) bool { return t.SecondFlushUnseen }, "4.0.0-incubating", "4.8.0"},
		{"two flushes", "facts §7.3", func(t model.Traits) bool { return t.FlushTries == 2 }, "4.0.0-incubating", "5.2.0"},
		{"1000 flushes", "facts §7.3", func(t model.Traits) bool { return t.FlushTries == 1000 }, "5.2.0", ""},
		{"flush timeout: latch", "facts §7.3", func(t model.Traits) bool { return t.FlushTimeout == model.FlushTimeoutLatch }, "4.0.0-incubating", "4.7.0"},
		{"flush timeout: late", "facts §7.3", func(t model.Traits) bool { return t.FlushTimeout == model.FlushTimeoutLate }, "4.7.0", "4.7.1"},
		{"flush timeout: none", "facts §7.3", func(t model.Traits) bool { return t.FlushTimeout == model.FlushTimeoutNone }, "4.7.1", "4.9.3"},
		{"flush timeout: FlushDiskWatcher", "facts §7.3", func(t model.Traits) bool { return t.FlushTimeout == model.FlushTimeoutWatcher }, "4.9.3", ""},
		{"five waits for a slave", "facts §8", func(t model.Traits) bool { return t.TransferTries == 5 }, "4.0.0-incubating", "4.7.0"},
		{"slaveTimeout", "facts §8", func(t model.Traits) bool { return t.TransferDeadline }, "4.9.3", ""},
		{"put wakes flush", "facts §7.2", func(t model.Traits) bool { return t.PutWakesFlush }, "4.0.0-incubating", "5.3.2"},
		{"put wakes commit", "facts §7.4", func(t model.Traits) bool { return t.PutWakesCommit }, "4.0.0-incubating", "5.3.2"},
		{"flushCommitLogTimed", "facts §7.2", func(t model.Traits) bool { return defaults(t).FlushCommitLogTimed }, "4.9.1", ""},
		{"16 ack threads", "facts §5.1", func(t model.Traits) bool { return defaults(t).AckMessageThreadPoolNums == 16 }, "5.3.0", ""},
		{"admin queue bounded", "facts §5.1", func(t model.Traits) bool { return defaults(t).AdminBrokerThreadPoolQueueCapacity == 10000 }, "5.0.0", ""},
	} {
		until := len(tags)
		if row.until != "" {
			until = slices.Index(tags, row.until)
		}
		for i, tag := range tags {
			traits, err := model.TraitsOf(tag)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := row.of(traits), slices.Index(tags, row.since) <= i && i < until; got != want {
				t.Errorf("%s in %s (%s): got %v, want %v", row.trait, tag, row.source, got, want)
			}
		}
	}
}

// TestDefaults holds the defaults against facts §1.2, §4, §5.1, §6.2, §7.2, §7.6,
// §7.3, §8, §12.
func TestDefaults(t *testing.T) {
	old := func(release string, cores int) model.Settings {
		return model.Settings{
			Release: release, BrokerFastFailureEnable: true,
			WaitTimeMillsInSendQueue: 200, WaitTimeMillsInPullQueue: 5000, WaitTimeMillsInLitePullQueue: 5000,
			WaitTimeMillsInHeartbeatQueue: 31000, WaitTimeMillsInTransactionQueue: 3000, WaitTimeMillsInAckQueue: 3000,
			WaitTimeMillsInAdminBrokerQueue: 5000, OsPageCacheBusyTimeOutMills: 1000,
			SendMessageThreadPoolNums: 1, PullMessageThreadPoolNums: 16 + 2*cores, LitePullMessageThreadPoolNums: 16 + 2*cores,
			HeartbeatThreadPoolNums: min(32, cores), EndTransactionThreadPoolNums: 8 + 2*cores, AdminBrokerThreadPoolNums: 16,
			SendThreadPoolQueueCapacity: 10000, PullThreadPoolQueueCapacity: 100000, LitePullThreadPoolQueueCapacity: 100000,
			HeartbeatThreadPoolQueueCapacity: 50000, EndTransactionPoolQueueCapacity: 100000, AckThreadPoolQueueCapacity: 100000,
			AdminBrokerThreadPoolQueueCapacity: math.MaxInt32, MaxMessageSize: 4194304,
			FlushIntervalCommitLog: 500, FlushCommitLogLeastPages: 4, FlushCommitLogThoroughInterval: 10000,
			MappedFileSizeCommitLog: 1073741824, TransientStorePoolSize: 5,
			CommitIntervalCommitLog: 200, CommitCommitLogLeastPages: 4, CommitCommitLogThoroughInterval: 200, WakeCommitWhenPutMessage: true,
			FlushDiskType: "ASYNC_FLUSH", SyncFlushTimeout: 5000,
			BrokerRole: "ASYNC_MASTER", SlaveTimeout: 3000, HaMaxGapNotInSync: 268435456, HaTransferBatchSize: 32768,
			HaHousekeepingInterval: 20000, InSyncReplicas: 1, MinInSyncReplicas: 1, AsyncSendEnable: true,
			PutMessageFutureThreadPoolNums: min(cores, 4), PutThreadPoolQueueCapacity: 10000,
		}
	}
	with := func(s model.Settings, set ...func(*model.Settings)) model.Settings {
		for _, f := range set {
			f(&s)
		}
		return s
	}
	for _, cores := range []int{1, 2, 3, 4, 8, 16, 32, 64} {
		by491 := func(s *model.Settings) {
			s.SendMessageThreadPoolNums = min(cores, 4)
			s.UseReentrantLockWhenPutMessage = true
			s.FlushCommitLogTimed = true
			s.EndTransactionThreadPoolNums = max(8+2*cores, 4*min(cores, 4))
		}
		by500 := func(s *model.Settings) { s.AckMessageThreadPoolNums, s.AdminBrokerThreadPoolQueueCapacity = 3, 10000 }
		by530 := func(s *model.Settings) { s.AckMessageThreadPoolNums = 16 }
		for _, want := range []model.Settings{
			old("4.2.0", cores), old("4.3.2", cores), old("4.7.1", cores), old("4.9.0", cores),
			with(old("4.9.1", cores), by491), with(old("4.9.4", cores), by491),
			with(old("5.1.4", cores), by491, by500), with(old("5.3.3", cores), by491, by500, by530),
		} {
			got, err := model.Defaults(want.Release, cores)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s on %d cores (-want +got):\n%s", want.Release, cores, diff)
			}
		}
	}
}

// TestResponses holds handlePutMessageResult against facts §3.3.
func TestResponses(t *testing.T) {
	const (
		old200 = "service not available now, maybe disk full, CL:  0.91 CQ:  0.42 INDEX: -1.00, maybe your broker machine memory too small."
		new200 = "service not available now. It may be caused by one of the following reasons: the broker's disk is full [CL:  0.91 CQ:  0.42 INDEX: -1.00], messages are put to the slave, message store has been shut down, etc."
		body   = "the message is illegal, maybe msg body or properties length not matched. msg body length limit "
		busy   = "[PC_SYNCHRONIZED]broker busy, start flow control for a while"
	)
	always := map[model.PutStatus]response{
		model.PutOK:                    {0, "", model.OK},
		model.PutFlushDiskTimeout:      {10, "", model.FlushDiskTimeout},
		model.PutSlaveNotAvailable:     {11, "", model.SlaveNotAvailable},
		model.PutFlushSlaveTimeout:     {12, "", model.FlushSlaveTimeout},
		model.PutCreateMapedFileFailed: {1, "create mapped file failed, server is busy or broken.", model.Other},
		model.PutUnknownError:          {1, "UNKNOWN_ERROR", model.Other},

		model.PutInSyncReplicasNotEnough:     {1, "in-sync replicas not enough", model.Other},
		model.PutInSyncReplicasNotEnough + 1: {1, "UNKNOWN_ERROR DEFAULT", model.Other},
	}
	disk := model.DiskUsed{CL: 0.91, CQ: 0.424, Index: -1}
	for i, tag := range tags {
		since := func(release string) bool { return i >= slices.Index(tags, release) }
		want := map[model.PutStatus]response{
			model.PutMessageIllegal:      {13, body + "128k, msg properties length limit 32k.", model.Other},
			model.PutServiceNotAvailable: {14, old200, model.Other},
			model.PutOSPageCacheBusy:     {1, busy, model.PCSynchronized},
		}
		if since("4.8.0") {
			want[model.PutServiceNotAvailable] = response{14, new200, model.Other}
		}
		if since("4.9.4") {
			want[model.PutMessageIllegal] = response{13, body + "4194304B, msg properties length limit 32KB.", model.Other}
		}
		if since("5.3.0") {
			want[model.PutOSPageCacheBusy] = response{2, busy, model.PCSynchronized}
		}
		traits, err := model.TraitsOf(tag)
		if err != nil {
			t.Fatal(err)
		}
		for s := model.PutOK; s <= model.PutInSyncReplicasNotEnough+1; s++ {
			w, ok := want[s]
			if !ok {
				w = always[s]
			}
			var got response
			got.Code, got.Remark, got.Outcome = traits.Response(s, 4194304, disk)
			if got != w {
				t.Errorf("%s %s: got %+v, want %+v", tag, traits.StatusName(s), got, w)
			}
			// A stored message is answered with 0, 10, 11 or 12, and nothing else is.
			if stored := w.Code == 0 || w.Code >= 10 && w.Code <= 12; s.Stored() != stored {
				t.Errorf("%s: stored: got %v, want %v", traits.StatusName(s), s.Stored(), stored)
			}
		}
	}
}

type response struct {
	Code    int32
	Remark  string
	Outcome model.Outcome
}

// TestStatusNames: the enum's names, two of which 5.x mended (facts §3.3).
func TestStatusNames(t *testing.T) {
	names := func(release string) (out []string) {
		traits, err := model.TraitsOf(release)
		if err != nil {
			t.Fatal(err)
		}
		for s := model.PutOK; s <= model.PutInSyncReplicasNotEnough+1; s++ {
			out = append(out, traits.StatusName(s))
		}
		return out
	}
	want := strings.Fields(`PUT_OK FLUSH_DISK_TIMEOUT FLUSH_SLAVE_TIMEOUT SLAVE_NOT_AVAILABLE SERVICE_NOT_AVAILABLE
		CREATE_MAPEDFILE_FAILED MESSAGE_ILLEGAL OS_PAGECACHE_BUSY UNKNOWN_ERROR
		IN_SYNC_REPLICAS_NOT_ENOUGH PutStatus(10)`)
	if diff := cmp.Diff(want, names("4.9.8")); diff != "" {
		t.Errorf("4.9.8 (-want +got):\n%s", diff)
	}
	want[5], want[7] = "CREATE_MAPPED_FILE_FAILED", "OS_PAGE_CACHE_BUSY"
	if diff := cmp.Diff(want, names("5.0.0")); diff != "" {
		t.Errorf("5.0.0 (-want +got):\n%s", diff)
	}
}

// TestIllegal: up to 4.9.3 the whole record counts, then the body (facts
// §10.5); one byte more than the limit is too much.
func TestIllegal(t *testing.T) {
	for release, most := range map[string]int64{"4.2.0": 4194304 - 191, "4.9.3": 4194304 - 191, "4.9.4": 4194304, "5.3.3": 4194304} {
		traits, err := model.TraitsOf(release)
		if err != nil {
			t.Fatal(err)
		}
		if traits.Illegal(most, 4194304) || !traits.Illegal(most+1, 4194304) {
			t.Errorf("%s: want a body of %d bytes legal and one more not", release, most)
		}
	}
}
