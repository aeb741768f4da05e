// Package realstore is a commit log on memory-mapped files that writes what
// Apache RocketMQ's broker writes: the broker opens its directory, and it opens
// the broker's. It stores messages, and it is measured: what a simulated store
// draws its times from is what this one takes.
//
// # Files
//
// A store is a directory, named as the broker names things (StorePathConfigHelper):
//
//	commitlog/00000000000000000000 ...        records side by side; each file is named by its first offset
//	consumequeue/<topic>/<queue id>/0000...   20 bytes a message: offset, size, hash of the tags
//	index/<time of creation>                  a hash table of messages' keys
//	checkpoint                                store times up to which each part is on disk
//	abort                                     is there while the store is open, and after a crash
//	lock                                      locked while the store is open
//
// All numbers are big-endian. A record (AppendRecord) is 91 bytes and the body,
// the topic and the properties; only the body has a sum. A record that does not
// fit a file's rest goes to the next file, and a blank record fills the rest:
// its head is fixed, what follows may be anything. Files are made of their full
// size, so what was never written is zero, which is where a log ends.
//
// # The path of an append
//
// Store.Append sums the body, takes the put lock (a spin lock or a mutex), rolls
// to the next file where it must, writes the record in its place and lets go;
// nothing is allocated. A thread makes files ahead, so a roll waits only where
// that is slower than the appends. With AsyncFlush that is all: a thread syncs
// the log later. With SyncFlush the append waits for a thread that syncs once
// for all that wait. With the transient pool records go to buffers, which a
// thread writes to the files. Another thread brings messages into queues and
// index (dispatch), one more syncs the queues and writes the checkpoint.
// Phases splits an append's time, and Hook delays or observes each part.
//
// # What survives
//
// Killing the process loses nothing that was acknowledged, but with the pool what
// was not committed. A loss of power loses nothing that SyncFlush acknowledged;
// with AsyncFlush it loses the last part. Where fsync fails the store takes no
// more messages.
//
// Open recovers. After a clean stop it scans the last three files; after a crash
// all from the newest file that the checkpoint vouches for. The log is cut at the
// first record that is none, and queues and index follow it. Departures from
// the broker (CommitLog.recoverAbnormally, 4.3.2), each because a loss of power
// breaks the original:
//
//   - a record must lie where it says, and its topic and properties hold no NUL
//     bytes: the sum covers the body only, and a lost sector elsewhere would pass;
//   - what stands behind the end is cleared, or it could come back;
//   - what recovery keeps is synced before the checkpoint speaks of it;
//   - a queue is rewritten from the scan's first message on, whose queue offset
//     says how many come before; one that lacks more is made again from the start;
//   - index files that are not full are made again from where the full ones end;
//   - the store's time does not go back when the clock does;
//   - a store that was stopped cleanly, with good records after a bad one, is
//     refused instead of cut: Recover copies its good part.
//
// # Reading without opening
//
// OpenDir reads a directory by plain reads: Info, Scan, Verify. Nothing is
// written, locked or mapped, no file is trusted, and memory does not grow with
// the store. Recover copies what is sound into another directory.
//
// # Systems
//
// A store is opened on Linux only: it needs shared mappings, fallocate, msync of
// a range and locks of an open file. Elsewhere the package builds and OpenDir
// works; Recover holds a whole log in memory there.
//
// # Sources
//
// RocketMQ's classes are named where their rule is used; the releases compared
// are 4.2.0, 4.3.2, 4.9.4, 5.1.4 and 5.3.3, see release.go (facts §6, §7, §10).
//
// # Tests that take longer
//
//	BROKERSIM_IMAGES=3000 go test -run PowerLoss ./realstore        images of a disk after a loss of power
//	BROKERSIM_KILLS=200 go test -run TestKill ./realstore           kill -9, each read by the broker's own store
//	BROKERSIM_FLIPS=2000 go test -run FlippedBits -v ./realstore    flipped bits, and the share that nothing covers
//	BROKERSIM_DEFAULT_SIZES=1 go test -run DefaultSizes ./realstore files of 1 GiB
//	go test -run '^$' -bench Ratio ./realstore                      speed beside the least that must be done
package realstore
