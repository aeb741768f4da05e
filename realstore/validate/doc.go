// Package validate says how far virtual time is from the wall clock, on three
// rungs: the kernel against closed forms, the model against traces of a real
// broker, the model against live runs on this machine.
//
// # Verdicts
//
// Each figure is held against a limit. It Agrees within it. Beyond it, it
// Differs, unless noise may have put it there: then it Can't be told. It can't
// be told either where there is too little to tell it from (fewer than Beyond
// observations beyond a quantile), or where the limit is so wide, more than
// WidestLimit, that to be within it says nothing. NotAsked is no verdict.
//
// # Virtual against live
//
// Each scenario (Scenarios) goes through rounds: a virtual run and a live one
// of the same draws, one after the other, all scenarios in each round, so that
// what the machine does meanwhile meets all of them. A scenario's live runs
// against each other are the noise floor: what one run is from the next, no
// model can be asked to foretell better.
//
// The virtual runs draw appends from a profile. What the threads of the live
// broker cost, which are not those of a Java broker, how long one takes to be
// woken at the scenario's rate, and how much longer than asked for a delayed
// append is held, is measured just before, in a live run of 1 s that is compared
// with nothing: its one thread is met idle, and at work on the backlog of a stall
// below the wait limit. So is, for the scenario with SYNC_FLUSH, what a flush
// takes: the wait for it, less two wake-ups. Nothing else is fitted.
//
// A live run during which the machine was at other work is made again: the host
// took more than 1 % of the processors' time, other programs used more than a
// tenth of one, or 1 % of the arrivals were late by more than 1 ms. None of that
// looks at what came out. As many runs as a scenario has are repeated at most,
// and it is told how many were, and how many were disturbed all the same.
//
// A sojourn is the time from the instant at which a send was to arrive until it
// is stored or swept. Live it includes what its arrival was late by, as no run
// may leave out what it was too busy to send.
//
//   - Of its quantiles, the ratio virtual to live, all runs pooled. Its limit is
//     5 % at p50, 20 % at p99, 25 % at p99.9, or 1.5 times the floor: the median,
//     over pairs of live runs, of by how much the larger exceeds the smaller. Its
//     95 % interval is by a bootstrap of runs and of blocks of time in them;
//     beyond the limit it differs if the interval is so as a whole.
//   - Of its distribution, the largest distance (Kolmogorov-Smirnov) of the
//     pools, up to 0.06 or 1.5 times the floor. Beyond that it differs if each
//     virtual run is that far from each live one.
//   - Of each error, the count per run. Its limit is the spread, the largest less
//     the smallest, of the live runs, or one send.
//   - Send by send: each live run is recorded and replayed, as live --record and
//     replay --from do (with SYNC_FLUSH, --flush recorded), and at least 99 % must
//     have the recorded outcome (92 % in overload, where the order of microseconds
//     decides over each send, as of the real broker's trace E23), the counts of
//     errors being held against the same spread.
//
// Where arrivals or sweeps were late by more than 1 ms, in 1 % of them, the
// machine was too busy for the rules, which count in ms, and what differs can't
// be told.
//
// Closed forms, recordings and a bootstrap repeat themselves to the byte; live
// runs never do.
package validate
