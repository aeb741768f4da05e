package scenarios

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
)

// counts are those of a run.
type counts map[string]int64

// TestStories runs what the stories tell of, and holds what they say against
// it: the counts of the outcomes, and of the sends that a sweep took out the
// first one's period and size, the range of the periods, and that of the sizes.
// says are the words of the story that tell a number of that run.
func TestStories(t *testing.T) {
	type spread struct{ first, least, most int64 }
	told := map[string]bool{}
	for _, c := range []struct {
		name, sets   string
		counts       counts
		period, size spread
		says         string // separated by |
	}{
		{"burst", "", counts{"success": 2566, "timeout_clean_queue": 906}, spread{205, 200, 208}, spread{671, 40, 671},
			"a queue of 671|the last beside 40|906 are rejected"},
		{"cold-reads", "", counts{"success": 195170, "timeout_clean_queue": 16496, "pcbusy_clean_queue": 4034, "rejectrequest": 24848, "client_timeout": 1}, spread{208, 18, 209}, spread{915, 0, 933}, "45378 of 240549 sends are rejected, 24848"},
		{"cold-reads", "load.0.arrivals=poisson(rate=120/s)", counts{"success": 240549}, spread{}, spread{}, "59419"},
		{"cold-reads", "store.disk_latency=100us", counts{"success": 240549}, spread{}, spread{}, "rejects nothing"},
		{"delete-0400", "", counts{"success": 16793, "timeout_clean_queue": 1084}, spread{204, 200, 209}, spread{67, 46, 82}, "1084 of 17877 sends are rejected"},
		{"delete-0400", "delete.0.journal=false", counts{"success": 17877}, spread{}, spread{}, "journal = false: none rejected"},
		{"delete-0400", "delete.0.journal=false store.stable_pages=true", counts{"success": 16831, "timeout_clean_queue": 1046}, spread{202, 200, 209}, spread{66, 46, 82}, "1046 rejected"},
		{"delete-0400", "broker.transientStorePoolEnable=true", counts{"success": 17877}, spread{}, spread{}, "transientStorePoolEnable = true: none"},
		{"neighbours", "", counts{"success": 149683, "timeout_clean_queue": 32}, spread{207, 200, 208}, spread{103, 97, 107}, "Here 32 are rejected"},
		{"neighbours", "neighbour.0.memory= neighbour.1.memory=", counts{"success": 149715}, spread{}, spread{}, "their memory 0"},
		{"neighbours", "neighbour.0.rate= neighbour.1.rate=", counts{"success": 149715}, spread{}, spread{}, "their writes 0"},
		{"neighbours", "neighbour.0.reads=", counts{"success": 149713, "timeout_clean_queue": 2}, spread{200, 200, 200}, spread{115, 114, 115}, "their reads 2"},
		{"neighbours", "neighbour.0.cores= neighbour.1.cores=", counts{"success": 149683, "timeout_clean_queue": 32}, spread{207, 200, 208}, spread{103, 97, 107}, "their threads that compute 32"},
		{"neighbours", "neighbour.1.slows=", counts{"success": 149715}, spread{}, spread{}, "memory bandwidth (slows) 0"},
		{"neighbours-alone", "", counts{"success": 149715}, spread{}, spread{}, "149715 messages, none rejected"},
		{"pool", "", counts{"success": 150386}, spread{}, spread{}, "rejected (TIMEOUT) 1443 0"},
		{"pool", "broker.transientStorePoolEnable=false", counts{"success": 148943, "timeout_clean_queue": 1443}, spread{202, 200, 209}, spread{95, 69, 132}, "rejected (TIMEOUT) 1443"},
		{"pool", "broker.transientStorePoolSize=2", counts{"rejectrequest": 150386}, spread{}, spread{}, "answers all 150386 sends with REJECTREQUEST"},
		{"pool", "broker.transientStorePoolSize=2 store.start=restarted store.filled=1000MiB", counts{"success": 21220, "timeout_clean_queue": 110, "rejectrequest": 129056}, spread{202, 200, 209}, spread{95, 95, 117}, "129056 sends are rejected"},
		{"pool-sync-master", "", counts{"success": 254, "timeout_clean_queue": 1812}, spread{201, 200, 209}, spread{6, 0, 6}, "stores 254 messages in 60 s|1812 sends are rejected"},
		{"pool-sync-master", "broker.transientStorePoolEnable=false", counts{"success": 105617}, spread{}, spread{}, "pool off 105617"},
		{"pool-sync-master", "broker.sendMessageThreadPoolNums=16", counts{"success": 1976}, spread{}, spread{}, "16 send threads 1976"},
		{"pool-sync-master", "broker.release=4.9.4", counts{"success": 2048}, spread{}, spread{}, "release 4.9.4 (the thread is free) 2048"},
		{"pool-sync-master", "broker.commitCommitLogLeastPages=0", counts{"success": 790, "timeout_clean_queue": 1315}, spread{201, 200, 209}, spread{6, 0, 6}, "commitCommitLogLeastPages = 0 790"},
		{"file-roll", "", counts{"success": 3905, "timeout_clean_queue": 369, "pcbusy_clean_queue": 80, "rejectrequest": 520},
			spread{204, 15, 209}, spread{101, 0, 104}, "969 of 4874 were rejected|PCBUSY_CLEAN_QUEUE for the 80|has waited 204 ms"},
		{"file-roll", "broker.warmMapedFileEnable=false", counts{"success": 4874}, spread{}, spread{}, "nobody notices"},
		{"file-roll", "store.start=running", counts{"success": 4874}, spread{}, spread{}, "warm-up is free"},
		{"file-roll", "store.warm_page=20us", counts{"success": 2454, "timeout_clean_queue": 387, "pcbusy_clean_queue": 80, "rejectrequest": 1952, "client_timeout": 1},
			spread{204, 15, 209}, spread{101, 0, 113}, "2419 are rejected|CREATE_MAPEDFILE_FAILED (code 1)"},
		{"freeze", "", counts{"success": 4522, "timeout_clean_queue": 154}, spread{351, 200, 351}, spread{145, 65, 171},
			"periods up to 351 ms|40 + 106 + 8 = 154"},
		{"gc-pause", "", counts{"success": 4699, "timeout_clean_queue": 36}, spread{385, 305, 385}, spread{35, 28, 133},
			"36 are rejected, with periods of 305 to 385 ms"},
		{"gc-pause", "seed=2", counts{"success": 4691}, spread{}, spread{}, "two reject nobody"},
		{"gc-pause", "seed=6", counts{"success": 4742, "timeout_clean_queue": 30}, spread{398, 316, 398}, spread{36, 36, 151}, "the others 1 to 30"},
		{"gc-pause", "stall.2.for=100ms", counts{"success": 4735}, spread{}, spread{}, "200 ms old (--set stall.2.for=100ms)"},
		{"incident-208ms", "", counts{"success": 429, "timeout_clean_queue": 1}, spread{208, 208, 208}, spread{8, 8, 8},
			"period in queue: 208ms, size of queue: 8|The other 429 were stored once"},
		{"incident-208ms", "broker.waitTimeMillsInSendQueue=210", counts{"success": 429, "timeout_clean_queue": 1}, spread{218, 218, 218}, spread{9, 9, 9},
			"= 210 is less, and the look at 4.2418 s reads 218 ms"},
		{"incident-208ms", "broker.waitTimeMillsInSendQueue=250", counts{"success": 430}, spread{}, spread{}, "250 rejects nothing"},
		{"incident-208ms", "broker.sendMessageThreadPoolNums=2", counts{"success": 430}, spread{}, spread{}, "reject it (not this one)"},
		{"incident-208ms", "broker.sendMessageThreadPoolNums=2 machine.sweep_phase=8ms", counts{"success": 429, "timeout_clean_queue": 1},
			spread{202, 202, 202}, spread{8, 8, 8}, "about 2 phases in 5"},
		{"incident-208ms", "broker.sendMessageThreadPoolNums=3 machine.sweep_phase=8ms", counts{"success": 430}, spread{}, spread{}, "3 threads reject nothing"},
		{"incident-208ms-pagecache", "", counts{"success": 406, "timeout_clean_queue": 8}, spread{208, 203, 209}, spread{8, 5, 9},
			"period in queue: 208ms, size of queue: 8"},
		{"nic-full", "", counts{"success": 70938, "client_timeout": 33641}, spread{}, spread{}, "33641 sends time out, and all of them are stored|from 13.1 s on|until 25.9 s"},
		{"nic-full", "producer.0.arrivals=piecewise(0s=2200/s,5s=3600/s,11s=2200/s)", counts{"success": 96253}, spread{}, spread{}, "does no harm"},
		{"overload", "", counts{"success": 4973, "timeout_clean_queue": 1381}, spread{200, 200, 209}, spread{61, 12, 89}, "the first line reads 61|21.7 %"},
		{"overload", "broker.waitTimeMillsInSendQueue=500", counts{"success": 5047, "timeout_clean_queue": 1307}, spread{501, 500, 510}, spread{169, 12, 192}, "20.6 % at 500"},
		{"overload", "broker.waitTimeMillsInSendQueue=1000", counts{"success": 5170, "timeout_clean_queue": 1184}, spread{1004, 1000, 1009}, spread{321, 12, 359}, "18.6 % at 1000"},
		{"overload", "broker.waitTimeMillsInSendQueue=2000", counts{"success": 5416, "timeout_clean_queue": 938}, spread{2000, 2000, 2008}, spread{609, 12, 682}, "14.8 % at 2000"},
		{"overload", "broker.waitTimeMillsInSendQueue=3000", counts{"success": 4321, "timeout_clean_queue": 48, "client_timeout": 1985},
			spread{3001, 3000, 3009}, spread{935, 12, 997}, "0.8 % are rejected and 31.2 % time out"},
		{"overload", "duration=200s", counts{"success": 49276, "timeout_clean_queue": 14713}, spread{200, 200, 210}, spread{61, 1, 96}, "23.0 % are rejected at 200"},
		{"overload", "duration=200s broker.waitTimeMillsInSendQueue=1000", counts{"success": 49473, "timeout_clean_queue": 14516},
			spread{1004, 1000, 1010}, spread{321, 1, 388}, "22.7 % at 1000"},
		{"queue-full", "", counts{"success": 5319, "timeout_clean_queue": 241, "overload": 340}, spread{201, 200, 209}, spread{49, 29, 49},
			"340 sends are refused and 241 taken out"},
		{"closed-loop", "", counts{"pcbusy_clean_queue": 14, "rejectrequest": 104, "success": 5532, "timeout_clean_queue": 51}, spread{204, 14, 209}, spread{15, 0, 16}, "17 in the queue at most|(the first: 204 ms, size 15)|169 in all"},
		{"closed-loop", "producer.0.arrivals=poisson(rate=190/s)", counts{"pcbusy_clean_queue": 31, "rejectrequest": 84, "success": 5329, "timeout_clean_queue": 143}, spread{209, 20, 209}, spread{36, 0, 48}, "the first line reads 36, and 258 are rejected"},
		{"closed-loop", "broker.waitTimeMillsInSendQueue=3000 broker.osPageCacheBusyTimeOutMills=5000", counts{"success": 5544}, spread{}, spread{}, "20 of 5,544"},
		{"closed-loop", "producer.0.arrivals=closed(n=20,think=0s)", counts{"pcbusy_clean_queue": 19, "rejectrequest": 14252, "success": 26851, "timeout_clean_queue": 77}, spread{200, 9, 209}, spread{18, 0, 18}, "refused 14,252 times"},
		{"closed-loop", "producer.0.arrivals=closed(n=20,think=0s) producer.0.handler=resend", counts{"rejectrequest": 19, "success": 26688, "timeout_clean_queue": 19}, spread{200, 200, 209}, spread{18, 0, 18}, "that to 19"},
		{"retry-storm", "", counts{"client_timeout": 17913, "success": 1187}, spread{3001, 3000, 3009}, spread{1137, 312, 1169},
			"of 7,158 messages 1,187 were stored once|4,293 were stored two or three times|937 once|741 never"},
		{"retry-storm", "stall.0.for=1s", counts{"client_timeout": 1, "success": 7158}, spread{}, spread{}, "0.96 s later the queue is empty"},
		{"retry-storm", "broker.waitTimeMillsInSendQueue=200 broker.osPageCacheBusyTimeOutMills=1000", counts{"client_timeout": 1, "pcbusy_clean_queue": 18, "rejectrequest": 190, "success": 6844, "timeout_clean_queue": 106}, spread{207, 5, 209}, spread{26, 0, 36}, "313 messages are rejected"},
		{"retry-storm", "producer.0.release=4.3.2", counts{"client_timeout": 356, "success": 6802}, spread{}, spread{}, "356 messages whose producers think"},
		{"two-brokers-one-sick", "", counts{"success": 11371, "timeout_clean_queue": 617}, spread{204, 200, 209}, spread{18, 12, 30}, "Of 11,988 messages 617 are rejected"},
		{"two-brokers-one-sick", "producer.0.sendLatencyFaultEnable=true", counts{"success": 11947, "timeout_clean_queue": 41}, spread{204, 200, 209}, spread{18, 0, 21}, "41 are rejected"},
		{"two-brokers-one-sick", "producer.0.sendLatencyFaultEnable=true producer.0.release=5.1.4", counts{"success": 11781, "timeout_clean_queue": 207}, spread{204, 200, 209}, spread{18, 0, 27}, "207 rejected"},
		{"two-brokers-one-sick", "stall.0.for=400ms", counts{"success": 11793, "timeout_clean_queue": 195}, spread{204, 200, 209}, spread{18, 13, 30}, "195 are rejected, with the table or without it"},
		{"two-brokers-one-sick", "stall.0.for=400ms producer.0.sendLatencyFaultEnable=true", counts{"success": 11793, "timeout_clean_queue": 195}, spread{204, 200, 209}, spread{18, 0, 27}, "195 are rejected, with the table or without it"},
		{"two-brokers-one-sick", "producer.0.release=5.3.3", counts{"success": 11988, "timeout_clean_queue": 627}, spread{204, 200, 209}, spread{18, 12, 32}, "627 attempts are rejected"},
		{"two-brokers-one-sick", "producer.0.release=5.3.3 producer.0.sendLatencyFaultEnable=true", counts{"success": 11988, "timeout_clean_queue": 216}, spread{204, 200, 209}, spread{18, 0, 26}, "it is 216 attempts"},
		{"quiet", "", counts{"success": 2575}, spread{}, spread{}, "nothing that hurts"},
		{"raised-limits", "", counts{"success": 5631, "client_timeout": 276}, spread{3004, 3000, 3009}, spread{954, 944, 972},
			"192 sends end so|84 are worse off|276 producers in all"},
		{"stall-1200ms", "", counts{"success": 2536, "timeout_clean_queue": 241, "pcbusy_clean_queue": 53, "rejectrequest": 54},
			spread{205, 13, 209}, spread{70, 0, 70}, "TIMEOUT_CLEAN_QUEUE: 241 sends|REJECTREQUEST, 54|here 53|from 209 ms down to 13 ms"},
		{"stall-500ms", "", counts{"success": 2992, "timeout_clean_queue": 93}, spread{203, 200, 209}, spread{66, 56, 71}, "(93 here)|(56 to 71 here)"},
		{"sweeper-late", "", counts{"success": 422, "timeout_clean_queue": 8}, spread{278, 202, 278}, spread{11, 8, 11},
			"has waited 278 ms and three more|Four later ones read 202 to 208 ms"},
		{"sync-flush", "", counts{"success": 2131, "timeout_clean_queue": 939}, spread{203, 200, 209}, spread{86, 14, 86}, "939 of 3070 sends|1 939 202 ms"},
		{"sync-flush", "broker.sendMessageThreadPoolNums=4", counts{"success": 3017, "timeout_clean_queue": 53}, spread{209, 200, 209}, spread{54, 50, 69}, "4 53 8.6 ms"},
		{"sync-flush", "broker.sendMessageThreadPoolNums=16", counts{"success": 3030, "timeout_clean_queue": 40}, spread{205, 200, 209}, spread{52, 50, 69}, "16 40 6.9 ms"},
		{"sync-flush", "broker.release=4.9.4 broker.sendMessageThreadPoolNums=1", counts{"success": 3070}, spread{}, spread{}, "one thread is enough, and nothing is rejected"},
		{"sync-flush", "broker.flushDiskType=ASYNC_FLUSH", counts{"success": 3070}, spread{}, spread{}, "ASYNC_FLUSH, the default"},
		{"sync-master", "", counts{"success": 1211, "timeout_clean_queue": 742, "client_timeout": 28}, spread{207, 200, 209}, spread{16, 9, 34}, "742 sends read|28 sends are stored|4.3.2 742 28"},
		{"sync-master", "producer.0.timeout=15s", counts{"success": 1223, "timeout_clean_queue": 742, "flush_slave_timeout": 16}, spread{207, 200, 209}, spread{16, 9, 34}, "16 read FLUSH_SLAVE_TIMEOUT"},
		{"sync-master", "broker.release=4.9.4", counts{"success": 1470, "client_timeout": 511}, spread{}, spread{}, "4.9.4 0 511"},
		{"sync-master", "broker.release=5.3.3", counts{"success": 1981}, spread{}, spread{}, "5.3.3 0 0"},
		{"sync-master", "broker.release=5.3.3 broker.inSyncReplicas=2", counts{"success": 1470, "client_timeout": 511}, spread{}, spread{}, "inSyncReplicas = 2 0 511"},
		{"sync-master", "replica.slaves=0", counts{"slave_not_available": 1981}, spread{}, spread{}, "all 1981 are answered SLAVE_NOT_AVAILABLE"},
		{"sync-master", "replica.slaves=2 stall.0.slave=1", counts{"success": 1981}, spread{}, spread{}, "one of them well"},
		{"threads", "", counts{"success": 7351, "timeout_clean_queue": 558}, spread{204, 200, 209}, spread{128, 58, 158}, "1 558"},
		{"threads", "broker.sendMessageThreadPoolNums=2", counts{"success": 7819, "timeout_clean_queue": 90}, spread{205, 200, 209}, spread{65, 58, 74}, "2 90"},
		{"threads", "broker.sendMessageThreadPoolNums=4", counts{"success": 7822, "timeout_clean_queue": 87}, spread{202, 200, 209}, spread{63, 58, 74}, "4 87"},
		{"threads", "broker.sendMessageThreadPoolNums=32", counts{"success": 7852, "timeout_clean_queue": 57}, spread{208, 203, 257}, spread{59, 57, 83}, "32 57, periods up to 257 ms"},
		{"threads", "broker.sendMessageThreadPoolNums=32 broker.useReentrantLockWhenPutMessage=true", counts{"success": 7850, "timeout_clean_queue": 59},
			spread{206, 200, 209}, spread{61, 58, 74}, "32, reentrant lock 59, periods up to 209 ms"},
		{"threads-32", "", counts{"success": 12324, "timeout_clean_queue": 250}, spread{201, 200, 304}, spread{94, 74, 140},
			"the worst here reads 304 ms|spin 250 rejected, periods up to 304 ms"},
		{"threads-32", "broker.sendMessageThreadPoolNums=1", counts{"success": 12159, "timeout_clean_queue": 415}, spread{203, 200, 209}, spread{91, 66, 108},
			"1 thread 415 rejected, periods up to 209 ms"},
		{"threads-32", "broker.useReentrantLockWhenPutMessage=true", counts{"success": 12291, "timeout_clean_queue": 283}, spread{200, 200, 209}, spread{86, 66, 108},
			"reentrant 283 rejected, periods up to 209 ms"},
		{"wait-limit", "", counts{"success": 6731, "timeout_clean_queue": 420, "pcbusy_clean_queue": 69, "rejectrequest": 678, "client_timeout": 1},
			spread{206, 12, 209}, spread{35, 0, 52}, "200 420 69 678 1"},
		{"wait-limit", "broker.waitTimeMillsInSendQueue=500", counts{"success": 6809, "timeout_clean_queue": 223, "pcbusy_clean_queue": 188, "rejectrequest": 678, "client_timeout": 1},
			spread{509, 13, 509}, spread{94, 0, 124}, "500 223 188 678 1"},
		{"wait-limit", "broker.waitTimeMillsInSendQueue=1000", counts{"success": 6837, "pcbusy_clean_queue": 383, "rejectrequest": 678, "client_timeout": 1},
			spread{1001, 15, 1001}, spread{175, 0, 206}, "1000 0 383 678 1"},
		{"wait-limit", "broker.waitTimeMillsInSendQueue=3000", counts{"success": 6837, "pcbusy_clean_queue": 383, "rejectrequest": 678, "client_timeout": 1},
			spread{1001, 15, 1001}, spread{175, 0, 206}, "3000 0 383 678 1"},
		{"wait-limit", "broker.waitTimeMillsInSendQueue=3000 broker.osPageCacheBusyTimeOutMills=5000", counts{"success": 7691, "timeout_clean_queue": 1, "client_timeout": 207},
			spread{3008, 3000, 3009}, spread{603, 578, 604}, "osPageCacheBusyTimeOutMills 1 0 0 207|206 of their messages were not stored"},
	} {
		told[c.name] = true
		t.Run(c.name+" "+c.sets, func(t *testing.T) {
			t.Parallel()
			s := variant(t, c.name, c.sets)
			var periods, sizes []int64
			swept := model.Observer{Attempt: func(a *model.Attempt) {
				if a.PeriodMs != model.Absent {
					periods, sizes = append(periods, a.PeriodMs), append(sizes, a.Qsize)
				}
			}}
			study, err := model.Replicate(context.Background(), &s.Config, 1, 1, swept, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, attempts := counts{}, reflect.ValueOf(study.Result().Attempts)
			for i, name := range attemptNames {
				if n := attempts.Field(i).Int(); n != 0 && name != "sent" {
					got[name] = n
				}
			}
			if diff := cmp.Diff(c.counts, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			for _, x := range []struct {
				what string
				want spread
				got  []int64
			}{{"period", c.period, periods}, {"size", c.size, sizes}} {
				var got spread
				if len(x.got) > 0 {
					got = spread{x.got[0], slices.Min(x.got), slices.Max(x.got)}
				}
				if got != x.want {
					t.Errorf("%s: first, least, most %v, want %v", x.what, got, x.want)
				}
			}
			story := strings.Join(strings.Fields(s.Story), " ")
			for _, words := range strings.Split(c.says, "|") {
				if !strings.Contains(story, words) {
					t.Errorf("the story does not say %q", words)
				}
			}
		})
	}
	for _, name := range Names() {
		if !told[name] {
			t.Errorf("%s is not held against its story", name)
		}
	}
}

// variant is a bundled scenario with overrides, blanks between them.
func variant(t *testing.T, name, sets string) *Scenario {
	t.Helper()
	s, err := Named(name)
	if err == nil {
		s, err = s.Override(strings.Fields(sets)...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFates: what became of the messages where attempts and messages differ, and
// how long the queue stayed after the stall.
func TestFates(t *testing.T) {
	for _, c := range []struct {
		name, sets string
		messages   model.MessageCounts
		recovered  string // recovery: how long, or not
	}{
		{"retry-storm", "",
			model.MessageCounts{Offered: 7158, StoredOnce: 1187, StoredMoreThanOnce: 4293, NotStoredUnknown: 741, StoredThoughtFailed: 937},
			"not"},
		{"retry-storm", "producer.0.arrivals=piecewise(0s=120/s,40s=60/s) duration=80s",
			model.MessageCounts{Offered: 7158, StoredOnce: 3023, StoredMoreThanOnce: 3171, NotStoredUnknown: 411, StoredThoughtFailed: 553},
			"38.29 s"},
		{"retry-storm", "producer.0.release=4.3.2",
			model.MessageCounts{Offered: 7158, StoredOnce: 6802, StoredThoughtFailed: 356},
			"2.47 s"},
		{"two-brokers-one-sick", "producer.0.release=5.3.3", model.MessageCounts{Offered: 11988, StoredOnce: 11988},
			"0.00 s"},
	} {
		t.Run(c.name+" "+c.sets, func(t *testing.T) {
			t.Parallel()
			s := variant(t, c.name, c.sets)
			study, err := model.Replicate(context.Background(), &s.Config, 1, 1, model.Observer{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := study.Result()
			if diff := cmp.Diff(c.messages, r.Messages); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			recovered := "not"
			if r.Recovery != nil && r.Recovery.NotRecovered == 0 {
				recovered = fmt.Sprintf("%.2f s", *r.Recovery.Ms.Max/1000)
			}
			if recovered != c.recovered {
				t.Errorf("the send queue is as before %s after the stall, want %s", recovered, c.recovered)
			}
		})
	}
}
