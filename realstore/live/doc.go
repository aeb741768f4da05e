// Package live runs a scenario on the wall clock: the rules of package model,
// driven by real threads, over a real store (package realstore).
//
// # What is real and what is drawn
//
// From outside the broker comes what a simulation would draw from the same
// streams: the instants of arrival at the codec thread (the network's delay
// included), the bodies' lengths, the answers' way back, the producers'
// patience. Injected are the configured stalls and store.delay. All between is
// real: the hand-offs between threads, the put lock, the append to a mapped
// file, the flush thread, the sweeper's punctuality. [costs], store.append and
// the machine's cores are the model's and are not used.
//
// So a difference between a simulation and a live run is one of timing, never
// of rules: Queue, Sweep, LockState, Reject, CheckPut, Response and WallClock
// are those of package model. isOSPageCacheBusy reads the beginTimeInLock that
// the store keeps.
//
// # Threads
//
// The broker is a process of its own (Serve), started by Run, so that a freeze
// can be a real one: SIGSTOP and SIGCONT. In it run
//
//   - the codec thread: open loop, each arrival at its instant, by sleeping to
//     100 us before it and then spinning; what it is late by is recorded;
//   - the send threads, which wait for the queue as for a LinkedBlockingQueue;
//   - the sweeper, at a fixed rate of 10 ms: a late sweep doesn't move the
//     schedule, those missed follow at once;
//   - the store's own: flush, allocation, dispatch.
//
// A goroutine in a page fault keeps its processor and holds up whoever wants to
// stop the world, and with it sweeper, timers and producers. So nothing may
// stop it: the collector is off while the run lasts, all that a send needs is
// allocated before, and there are more processors (GOMAXPROCS) than threads.
// Record.Collections tells if it happened all the same.
//
// An append stall sleeps in the store's hook, under the put lock; a sweep stall
// holds the sweeper before a sweep. An append that takes 1 ms longer than it was
// asked to counts as stalled too: those are the machine's own.
//
// # What is left behind
//
// The store, cleanly closed, under its root as RocketMQ's. Each message's flag
// is the number of its send, from 1; 0 marks the few that warm the path up.
// A run that is interrupted stops sending, gives up what waits and closes the
// store; what was answered until then is its result.
//
// A live run is not reproducible: it has no fingerprint.
package live
