package model

import (
	"fmt"
	"slices"
	"testing"

	"brokersim/sim"
)

// twoByTwo is a route of so many brokers with two queues each, the round at its
// beginning.
func twoByTwo(brokers int) publishInfo {
	info := newPublishInfo(&Config{Route: Route{Brokers: brokers, Queues: 2}}, 1, sim.Streams{}.Stream("route"))
	info.which[0] = 0
	return info
}

// TestRoundRobin: the plain next queue, and after an attempt the next one of
// another broker, if there is any (facts §9.4).
func TestRoundRobin(t *testing.T) {
	for name, c := range map[string]struct {
		brokers int
		last    []int32
		want    string
	}{
		"first attempts":            {2, []int32{none, none, none, none, none}, "[{0 0} {0 1} {1 0} {1 1} {0 0}]"},
		"a retry":                   {2, []int32{none, 0, none}, "[{0 0} {1 0} {1 0}]"},
		"retries of the one":        {1, []int32{none, 0, 0}, "[{0 0} {0 0} {0 0}]"},
		"retries go back and forth": {2, []int32{none, 0, 1, 0}, "[{0 0} {1 0} {0 0} {1 1}]"},
	} {
		t.Run(name, func(t *testing.T) {
			info := twoByTwo(c.brokers)
			var got []queueRef
			for _, last := range c.last {
				got = append(got, info.selectOneMessageQueue(0, last))
			}
			if s := fmt.Sprint(got); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

// TestRoundRobinStarts: each thread begins anywhere in the round.
func TestRoundRobinStarts(t *testing.T) {
	info := newPublishInfo(&Config{Route: Route{Brokers: 2}}, 1000, sim.Streams{}.Stream("route"))
	seen := map[queueRef]int{}
	for caller := range int32(1000) {
		seen[info.selectOneMessageQueue(caller, none)]++
	}
	if len(seen) != 2*queuesDefault {
		t.Fatalf("%d of %d queues were anybody's first", len(seen), 2*queuesDefault)
	}
	for q, n := range seen {
		if n < 80 || n > 170 {
			t.Errorf("queue %v is the first of %d callers of 1000", q, n)
		}
	}
}

// TestFaultRules: which broker a call, and a retry after an attempt on broker
// 0, goes to while these brokers are out (facts §9.4).
func TestFaultRules(t *testing.T) {
	const bad, worse = "out", "out and unreachable"
	for name, c := range map[string]struct {
		rules string // FaultRule by FaultRule: first attempt, then retry
		state [3]string
	}{
		"all well":            {"0 0, 0 0, 0 1, 0 1", [3]string{}},
		"0 is out":            {"1 1, 1 1, 1 1, 1 1", [3]string{bad}},
		"0 and 1 are out":     {"2 2, 2 2, 2 2, 2 2", [3]string{bad, bad}},
		"1 and 2 are out":     {"0 0, 0 0, 0 0, 0 1", [3]string{"", bad, bad}},
		"only 2 is reachable": {"0 0, 0 0, 0 0, 2 2", [3]string{worse, worse, bad}},
		"none is reachable":   {"0 0, 0 0, 0 0, 1 1", [3]string{worse, worse, worse}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for rule := FaultSticks; rule <= FaultReachable; rule++ {
				traits := Traits{FaultRule: rule}
				var picks [2]int32
				for i, last := range []int32{none, 0} {
					info := twoByTwo(3)
					f := faultTable{items: make([]faultItem, 3)}
					for b, state := range c.state {
						item := faultItem{known: true, reachable: state != worse}
						if state != "" {
							// The further in the list, the later it is back.
							item.from = sim.Time(10+b) * sim.Second
						}
						f.items[b] = item
					}
					picks[i] = f.choose(&traits, &info, 0, last, sim.Second).broker
				}
				got = append(got, fmt.Sprintf("%d %d", picks[0], picks[1]))
			}
			if s := fmt.Sprint(got); s != "["+join(c.rules)+"]" {
				t.Errorf("got %s, want [%s]", s, join(c.rules))
			}
		})
	}
}

// join takes the commas out.
func join(s string) string {
	return string(slices.DeleteFunc([]byte(s), func(b byte) bool { return b == ',' }))
}

// TestFaultOverwrites: before 5.1.4 the broker to fall back on is written over
// the next queue of the list, where it stays (facts §9.4).
func TestFaultOverwrites(t *testing.T) {
	info := twoByTwo(2)
	traits := Traits{FaultRule: FaultAvailable}
	f := faultTable{items: []faultItem{{known: true, from: 20 * sim.Second}, {known: true, from: 10 * sim.Second}}}
	q := f.choose(&traits, &info, 0, none, sim.Second)
	if got, want := fmt.Sprint(q, info.queues), "{1 0} [{0 0} {1 0} {1 0} {1 1}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFaultTable: for how long a broker is left alone (facts §9.5).
func TestFaultTable(t *testing.T) {
	for _, c := range []struct {
		release   string
		latencyMs int64
		isolated  bool
		awayMs    int64
	}{
		{"4.2.0", 0, false, 0}, {"4.2.0", 549, false, 0}, {"4.2.0", 550, false, 30_000}, {"4.2.0", 999, false, 30_000},
		{"4.2.0", 1000, false, 60_000}, {"4.2.0", 2000, false, 120_000}, {"4.2.0", 3000, false, 180_000}, {"4.2.0", 14_999, false, 180_000},
		{"4.2.0", 15_000, false, 600_000}, {"4.2.0", 3, true, 600_000}, {"5.1.3", 3, true, 600_000},
		{"5.1.4", 549, false, 0}, {"5.1.4", 550, false, 2000}, {"5.1.4", 1799, false, 2000}, {"5.1.4", 1800, false, 5000},
		{"5.1.4", 3000, false, 6000}, {"5.1.4", 5000, false, 10_000}, {"5.1.4", 15_000, false, 30_000}, {"5.3.3", 3, true, 10_000},
	} {
		traits, err := TraitsOf(c.release)
		if err != nil {
			t.Fatal(err)
		}
		f := faultTable{items: make([]faultItem, 1)}
		const now = 7 * sim.Second
		f.update(&traits, 0, now, sim.Time(c.latencyMs)*sim.Millisecond, c.isolated, true)
		if got := int64((f.items[0].from - now) / sim.Millisecond); got != c.awayMs {
			t.Errorf("%s, %d ms, isolated %v: away for %d ms, want %d", c.release, c.latencyMs, c.isolated, got, c.awayMs)
		}
	}
}

// TestPickOneAtLeast: the better half of what is known, in turn (facts §9.4).
func TestPickOneAtLeast(t *testing.T) {
	f := faultTable{items: []faultItem{
		{known: true, from: 9, latencyMs: 1}, {}, {known: true, from: 0, latencyMs: 7}, {known: true, from: 0, latencyMs: 5}, {known: true, from: 8, latencyMs: 1},
	}}
	var got []int32
	for range 3 {
		got = append(got, f.pickOneAtLeast(5))
	}
	if want := []int32{3, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (&faultTable{items: make([]faultItem, 2)}).pickOneAtLeast(5); got != none {
		t.Errorf("of none known: got %d", got)
	}
}

// TestRetriedCodes: what sendDefaultImpl tries again (facts §9.1).
func TestRetriedCodes(t *testing.T) {
	for _, c := range []struct {
		code  int32
		want  []string // releases of 4.2.0, 4.9.4, 5.2.0, 5.3.0 that do
		notOK bool
	}{
		{CodeSuccess, nil, false}, {CodeSuccess, nil, true},
		{CodeSystemError, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, false},
		{CodeServiceNotAvailable, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, false},
		{CodeNoPermission, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, false},
		{CodeTopicNotExist, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, false},
		{CodeNoBuyerID, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, false},
		{CodeNotInCurrentUnit, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, false},
		{CodeSystemBusy, []string{"5.3.0"}, false},
		{CodeMessageIllegal, nil, true},
		{CodeFlushDiskTimeout, nil, false}, {CodeFlushDiskTimeout, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, true},
		{CodeFlushSlaveTimeout, nil, false}, {CodeSlaveNotAvailable, nil, false}, {CodeSlaveNotAvailable, []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"}, true},
	} {
		var got []string
		for _, release := range []string{"4.2.0", "4.9.4", "5.2.0", "5.3.0"} {
			p := producer{spec: &Producer{Release: release, RetryTimesWhenSendFailed: 2, RetryAnotherBrokerWhenNotStoreOK: c.notOK}}
			p.init(&Config{})
			if p.retries(c.code) {
				got = append(got, release)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("code %d, retryAnotherBrokerWhenNotStoreOK %v: retried by %v, want %v", c.code, c.notOK, got, c.want)
		}
	}
}
