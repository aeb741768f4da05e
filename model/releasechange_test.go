package model_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
	"brokersim/sim"
	"brokersim/sim/variate"
)

// TestReleaseChanges: what an override of the release says it changes is what
// the facts say, as far as the run has to do with it.
func TestReleaseChanges(t *testing.T) {
	run := func(release string, edit func(*model.Config)) *model.Config {
		cfg := bare(release, sim.Second, at(0))
		cfg.Machine.Cores = 4
		cfg.Broker = variate.Must(model.Defaults(release, 4))
		if edit != nil {
			edit(&cfg)
		}
		return &cfg
	}
	for _, c := range []struct {
		name, from string
		cfg        *model.Config
		want       []string
	}{
		{"the same", "4.3.2", run("4.3.2", nil), nil},
		{"nothing", "4.3.2", run("4.4.0", nil), nil},
		{"4.3.2 to 5.3.3", "4.3.2", run("5.3.3", nil), []string{
			"swept queues: send, pull, litePull, heartbeat, endTransaction, ack, adminBroker", // §1.2
			"the sweeper dumps all stacks after a timeout, at most once in 15 s",              // §1.3
			"[PC_SYNCHRONIZED] is answered with code 2",                                       // §3.3
			"producers send again after SYSTEM_BUSY",                                          // §9.1
			"sendMessageThreadPoolNums = 4, by default, not 1",                                // §5.1
			"useReentrantLockWhenPutMessage = true, by default, not false",                    // §6.2
		}},
		{"what is set doesn't move, nor producers of another release", "4.3.2", run("4.9.4", func(c *model.Config) {
			c.Broker.SendMessageThreadPoolNums, c.Broker.UseReentrantLockWhenPutMessage = 1, false
			c.Producers[0].Release = "4.3.2"
		}), nil},
		{"callbacks", "4.3.2", run("4.8.0", nil), []string{"response callbacks sit in the send queue, and stop the sweep"}}, // §5.3
		{"back", "5.3.3", run("4.2.0", func(c *model.Config) {
			c.Broker.BrokerRole = "SYNC_MASTER"
			c.Loads = []model.Load{{Queue: "endTransaction", Arrivals: at(0), Service: dist("1ms")}}
			c.Producers[0].Mode = model.SendOneway
		}), []string{
			"swept queues: send, pull",                              // §1.2
			"END_TRANSACTION waits in the send queue",               // §5.1
			"the sweeper dumps no stacks",                           // §1.3
			"one-way sends are told [REJECTREQUEST]",                // §2.1
			"[PC_SYNCHRONIZED] is answered with code 1",             // §3.3
			"send threads wait for flush and replica",               // §5.3
			"SYNC_MASTER waits for a slave",                         // §15.3
			"producers don't send again after SYSTEM_BUSY",          // §9.1
			"sendMsgTimeout is for each attempt",                    // §9.1
			"sendMessageThreadPoolNums = 1, by default, not 4",      // §5.1
			"endTransactionThreadPoolNums = 16, by default, not 16", // equal on 4 cores: not said
			"useReentrantLockWhenPutMessage = false, by default, not true",
		}},
	} {
		want := slices.DeleteFunc(slices.Clone(c.want), func(s string) bool { return s == "endTransactionThreadPoolNums = 16, by default, not 16" })
		if diff := cmp.Diff(want, c.cfg.ReleaseChanges(c.from)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
