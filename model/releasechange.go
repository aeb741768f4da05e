package model

import (
	"fmt"
	"reflect"
	"strings"
)

// traitChange says one trait in words.
type traitChange struct {
	differs func(was, is *Traits) bool
	say     func(is *Traits, cfg *Config) string // "" if it has no effect in this run
}

// ofFlag is the change of a trait that is or isn't.
func ofFlag(of func(*Traits) bool, yes, no string, matters func(*Config) bool) traitChange {
	return traitChange{
		func(was, is *Traits) bool { return of(was) != of(is) },
		func(is *Traits, cfg *Config) string {
			switch {
			case matters != nil && !matters(cfg):
				return ""
			case of(is):
				return yes
			default:
				return no
			}
		},
	}
}

func loads(q SweptQueue) func(*Config) bool {
	return func(c *Config) bool {
		for i := range c.Loads {
			if c.Loads[i].Queue == q.String() {
				return true
			}
		}
		return false
	}
}

func waitsAfterPut(c *Config) bool {
	return c.Broker.FlushDiskType == "SYNC_FLUSH" || c.Broker.BrokerRole == "SYNC_MASTER"
}

// traitChanges are those that an operator may meet, in the order of a send's
// path.
var traitChanges = []traitChange{
	{
		func(was, is *Traits) bool { return fmt.Sprint(was.Swept) != fmt.Sprint(is.Swept) },
		func(is *Traits, _ *Config) string {
			names := make([]string, len(is.Swept))
			for i, q := range is.Swept {
				names[i] = q.String()
			}
			return "swept queues: " + strings.Join(names, ", ")
		},
	},
	ofFlag(func(t *Traits) bool { return t.EndTransactionInSend }, "END_TRANSACTION waits in the send queue",
		"END_TRANSACTION has a queue of its own", loads(EndTransactionQueue)),
	ofFlag(func(t *Traits) bool { return t.SweepDumpsStacks }, "the sweeper dumps all stacks after a timeout, at most once in 15 s",
		"the sweeper dumps no stacks", nil),
	ofFlag(func(t *Traits) bool { return t.RejectAnswersOneway }, "one-way sends are told [REJECTREQUEST]",
		"one-way sends are not told [REJECTREQUEST]", func(c *Config) bool {
			for i := range c.Producers {
				if c.Producers[i].Mode == SendOneway {
					return true
				}
			}
			return false
		}),
	{
		func(was, is *Traits) bool { return was.PCSynchronizedCode != is.PCSynchronizedCode },
		func(is *Traits, _ *Config) string {
			return fmt.Sprintf("[PC_SYNCHRONIZED] is answered with code %d", is.PCSynchronizedCode)
		},
	},
	ofFlag(func(t *Traits) bool { return t.PipelinedPut }, "send threads don't wait for flush and replica",
		"send threads wait for flush and replica", waitsAfterPut),
	ofFlag(func(t *Traits) bool { return t.CallbacksInSend }, "response callbacks sit in the send queue, and stop the sweep",
		"response callbacks are not in the send queue", nil),
	ofFlag(func(t *Traits) bool { return t.ReplicaNeedsInSync }, "SYNC_MASTER waits only with inSyncReplicas > 1",
		"SYNC_MASTER waits for a slave", func(c *Config) bool { return c.Broker.BrokerRole == "SYNC_MASTER" }),
}

// clientChanges are those of the producers that have no release of their own.
var clientChanges = []traitChange{
	ofFlag(func(t *Traits) bool { return t.SystemBusyRetried }, "producers send again after SYSTEM_BUSY",
		"producers don't send again after SYSTEM_BUSY", nil),
	ofFlag(func(t *Traits) bool { return t.TimeoutPerAttempt }, "sendMsgTimeout is for each attempt",
		"sendMsgTimeout is for all attempts of a call", nil),
	{
		func(was, is *Traits) bool { return was.FaultRule != is.FaultRule },
		func(_ *Traits, c *Config) string {
			for i := range c.Producers {
				if c.Producers[i].SendLatencyFaultEnable {
					return "the latency fault table chooses another broker after a failure"
				}
			}
			return ""
		},
	},
}

// ReleaseChanges says what is otherwise in this run than if its broker were of
// another release, as far as a trait or a default that the scenario leaves to
// the release does it. Nothing is said of an unknown release.
func (c *Config) ReleaseChanges(from string) (changes []string) {
	was, err := TraitsOf(from)
	is, err2 := TraitsOf(c.Broker.Release)
	if err != nil || err2 != nil || from == c.Broker.Release {
		return nil
	}
	add := func(list []traitChange) {
		for _, change := range list {
			if change.differs(&was, &is) {
				if text := change.say(&is, c); text != "" {
					changes = append(changes, text)
				}
			}
		}
	}
	add(traitChanges)
	for i := range c.Producers {
		if c.Producers[i].release(c) == c.Broker.Release {
			add(clientChanges)
			break
		}
	}
	return append(changes, c.defaultChanges(from)...)
}

// defaultChanges are the settings that moved with the release and are left to it.
func (c *Config) defaultChanges(from string) (changes []string) {
	old, err := Defaults(from, c.Machine.Cores)
	now, err2 := Defaults(c.Broker.Release, c.Machine.Cores)
	if err != nil || err2 != nil {
		return nil
	}
	before, after, run := reflect.ValueOf(old), reflect.ValueOf(now), reflect.ValueOf(c.Broker)
	for i := range run.NumField() {
		name := run.Type().Field(i).Name
		x, y := before.Field(i).Interface(), after.Field(i).Interface()
		if name == "Release" || x == y || y != run.Field(i).Interface() || !c.reads(name) {
			continue
		}
		changes = append(changes, fmt.Sprintf("%s = %v, by default, not %v", strings.ToLower(name[:1])+name[1:], y, x))
	}
	return changes
}

// reads reports whether a setting whose default moved takes part in this run.
func (c *Config) reads(setting string) bool {
	for q := PullQueue; q < sweptQueues; q++ {
		if prefix := strings.ToUpper(q.String()[:1]) + q.String()[1:]; strings.HasPrefix(setting, prefix) {
			return loads(q)(c)
		}
	}
	if strings.HasPrefix(setting, "FlushCommitLog") {
		return c.Store.Profile != nil || c.Store.PageCache != nil || c.Broker.FlushDiskType == "SYNC_FLUSH"
	}
	return true
}
