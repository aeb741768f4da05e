// Package model simulates the send path of an Apache RocketMQ broker on
// virtual time: how sends queue, stall and are rejected.
//
// Source of every rule is RocketMQ's own code, release by release; comments
// cite the fact sheet beside this file, FACTS.md, as "facts §n". Times are
// sim.Time (ns); what RocketMQ compares in whole wall-clock milliseconds is
// int64 and ends in Ms.
//
// # The path of one send
//
// Read the files in this order.
//
//  1. release.go    what the release does and what its settings are by default
//     releasechange.go what another release changes
//     config.go     what a run is given
//     broker.go     the kinds of events and the loop that calls what follows
//  2. producer.go   a producer sends; the codec thread (netty) receives:
//     route.go        to which queue of which broker
//     message.go      what it does about the answer: retry, resend; and a message's fate
//     attempt.go      the send's row, from here on (ledger.go keeps those in the system)
//     nic.go          the network interface
//     codec.go        the codec threads
//     admission.go    rejectRequest?              → [REJECTREQUEST]
//     wallclock.go    decoded: createTimestamp, in whole wall-clock ms
//  3. sendqueue.go  the bounded send queue, full?  → [OVERLOAD]
//  4. sweep.go      every 10 ms BrokerFastFailure: → [PCBUSY_CLEAN_QUEUE],
//     sweeper.go    its thread and schedule        → [TIMEOUT_CLEAN_QUEUE]
//  5. executor.go   send threads take from the queue
//     cpu.go        the cores they share
//  6. putlock.go    the put lock, isOSPageCacheBusy
//     commitlog.go  the store's checks             → [PC_SYNCHRONIZED]; the append
//     logend.go     how far the log has come, and what is flushed of it
//     allocator.go  the next file of the commit log, created ahead of need
//     atrisk.go     what a crash would lose
//     transientpool.go  buffers instead of the page cache, and their commits
//     costs.go      what it takes; stall.go: what holds it up
//     modelstore.go what it takes by mechanism, if the scenario says so:
//     profile.go      as measured on a disk, by place in the file and phase of
//     flushthread.go  the flush thread,
//     pagecache.go    and with the kernel's writeback and throttling,
//     disk.go         on a disk with reads and deletes beside,
//     neighbour.go    and with other programs on the machine
//  7. afterput.go   what a put waits for once the lock is released:
//     groupcommit.go  its flush (SYNC_FLUSH)      → FLUSH_DISK_TIMEOUT
//     replica.go      its slaves (SYNC_MASTER)    → FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE
//     callback.go     and who answers it then
//  8. putstatus.go  PutMessageStatus to response
//     books.go      the answer, the producer's patience, and the books that must add up
//
// What the sends in the queue wait for: attribution.go, what each thread is at;
// meter.go adds it up; waits.go sums up the sends; recovery.go, how long a stall
// is felt.
//
// Beside it: load.go, the other swept queues (pull, heartbeat, transaction, …)
// with their executors, longpolling.go consumers that pull, sendload.go
// END_TRANSACTION where it shares the send queue.
// stats.go counts, study.go gathers replications into a Result (result.go),
// replicate.go runs them; observe.go and requests.go let others look on; live.go
// is for those that drive the rules with threads.
//
// # One set of rules, two clocks
//
// Queue, Sweep, LockState, Reject, WallClock and Traits.Response are the rules:
// plain state with the time passed in, without thread, timer or clock. Cluster
// drives them with events; real threads can drive the same code.
//
// # What is assumed
//
//  1. One connection for each producer; a connection keeps order. Connections
//     go to the 8 codec threads of a port in turn; a thread decodes one request
//     after the other. The selector threads, which only move bytes, cost nothing
//     but the core that a burst after a freeze keeps (cpu.go).
//  2. All send threads run from the start, as after the first n requests of a
//     real broker. They are woken as LinkedBlockingQueue does it: one by the
//     offer into an empty queue, and each that leaves something wakes the next.
//  3. A spin lock goes to any of the spinning threads, a ReentrantLock to the
//     longest waiter, once it is awake, unless another was faster.
//  4. Threads that spin, have a backlog or are long at work keep a core each.
//     When no core is left, whoever becomes ready waits for its turn, a quantum
//     for each that is before it; the sweeper, which sleeps most of the time,
//     less so (cpu.go). A send thread that goes on without having slept is some
//     ten times faster (costs.go).
//  5. A freeze (SIGSTOP, GC, steal) holds every event of the broker until it
//     ends, and each thread gets going some time after that (stall.go); what
//     passes outside, a stalled append or the network, goes on.
//  6. Answering a request costs the sweeper time, the first of a sweep more;
//     meanwhile requests come and go.
//  7. A record's place in its file, the flush thread's phase, and what takes the
//     processor or the disk away decide how long its append takes; each is a
//     process of its own and no tail goes beyond what was measured
//     (modelstore.go). What the kernel's part leaves out is said in
//     pagecache.go. Flushes take time and the disk; nobody waits for them but
//     SYNC_FLUSH.
//  8. A run begins with a file to spare, unless it is told otherwise; a blank
//     record and what the kernel needs to begin with a file that is there take
//     no time beside what a profile says of a roll. Creating a file never
//     fails. A record that fits into no file counts as stored, as its producer
//     is told (facts §6.4). A commit of the transient pool is a write of a few
//     pages; the append into its buffer meets no page that is missing or being
//     written, so a profile's and a page cache's stalls hold the commit thread
//     up instead of the put lock. Injected ones stay where they are put.
//  9. A producer gives up sendMsgTimeout after the call, or where its release
//     or mode has it so later; an answer that comes after that counts as
//     client_timeout, whatever it says. What it makes of an answer takes it
//     10 us. An open workload has a thread for every call, but one place in
//     the round of queues. A client's pool of threads for asynchronous sends
//     never fills, and the route never changes.
//  10. A slave is a delay there and back, a bandwidth, and a time for each
//     batch. Silence closes its connection after haHousekeepingInterval from the
//     batch that it does not answer; it is there again with the answer. What
//     the master's threads take beside wake-ups is not counted.
//  11. A run begins long after the broker's start: slaves have all there is, and
//     the first timeout of a 5.x sweep dumps the stacks.
//  12. DLedger, controller mode and the proxy of 5.x are not modelled. Package
//     scenarios says so when a setting asks for them.
//
// # Reproducible
//
// A run depends on its Config and the replication's number alone: no goroutine,
// clock or map order takes part, and every random number comes from a stream
// named after what it is for.
package model
