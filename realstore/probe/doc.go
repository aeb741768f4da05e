// Package probe measures what appends to the real commit log take on a disk,
// and keeps each of them.
//
// # What is measured
//
// A run is an open loop: appends are intended at the instants of a Poisson
// process that was drawn beforehand, and one thread does them as soon as it
// can. Times count from the intended instant, so that what waits behind a
// stall is late by it (no coordinated omission). The time of one append, from
// Intended to Done, is divided without a rest:
//
//	waiting  Intended to Start    behind the append before, or the pacer late
//	encode   Start to Request     the record is framed and summed
//	lock     Request to Lock      the put lock is waited for
//	roll     of Lock to Append    the file was full: the next one is taken
//	append   Lock to Unlock, without the roll; the copy is Append to Appended
//	flush    Unlock to Done       a sync flush is waited for, else nothing
//
// From Done to End the store's threads are woken. All are ns of a monotonic
// clock that starts with the run.
//
// An append that took more than Slow between End of the one before, or its
// intended instant, and Unlock is asked for its Cause: whether the kernel
// switched the thread off meanwhile, by its own will (it slept) or not
// (preempted). Beside the appends, the flush thread's syncs, new files, and
// each 100 ms the kernel's dirty pages and pressure are kept, and before them
// how long an idle goroutine takes to be woken through a channel.
//
// # How it is kept from disturbing itself
//
// Samples, bodies and instants are allocated before a run and the collector is
// off during it, under a memory limit that is part of the settings. The pacer
// sleeps until 100 us before an instant, in a loop because signals cut sleeps
// short, with a timer slack of 1 ns, and spins from there. It is not locked to
// its thread: the runtime's preemption, each 10 ms, of a goroutine that is
// costs two switches of the kernel, inside an append. What the measuring
// itself costs is measured with an append that does nothing (Cost).
//
// # Files
//
// A run is a folder:
//
//	run.json         settings, environment, cost, histograms, warnings, new
//	                 files, hand-offs, kernel; schema "brokersim.probe/1"
//	samples.csv.gz   one line an append, columns as in SampleColumns; cause is
//	                 empty for what was not slow
//	flushes.csv.gz   one line a sync: from and to are offsets of the log
//
// The histograms are HdrHistograms in the V2 compressed form, base64, as the
// other implementations read them. Nothing in a run names the machine, its
// user, or a path.
//
// Measuring needs Linux; runs are read everywhere.
package probe
