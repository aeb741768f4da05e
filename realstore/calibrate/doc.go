// Package calibrate fits a profile, which the modelled store draws from, to
// runs of measured appends.
//
// # What is fitted
//
// An append holds the put lock for
//
//	per record + per byte x bytes + a draw from the rung it stands on
//
// and what stalls add. The cost of a byte is the slope of the median over the
// records' sizes, of appends that cross no boundary outside a flush; that of a
// record what all but the quickest 1 % of them have left. The rungs are the classes of
// highest boundary crossed and flush phase, as the model has them
// (model.CrossedBy, model.Phase), each with what its appends took, as it is.
//
// Appends that took more than probe.Slow are told apart by what the kernel said
// of them:
//
//	preempted      the thread was switched off, or had not begun in time though
//	               it was idle: a process in time that takes the processor away
//	stolen         it was not switched off, crossed no boundary that is dear to
//	               cross, and met no flush: the host or an interrupt; likewise
//	page wait      it slept at a new page: a share of the crossings of 4 KiB,
//	               apart for in and outside a flush where the shares differ;
//	               elsewhere outside a flush: a process in time on the disk
//	balance_dirty_pages
//	               it slept at a new page while the kernel made writers pause
//
// All others stay on their rungs: a folio of 2 MiB is slow by its position, the
// first touch of a page that a flush has write-protected by its phase.
//
// Processes in time are exponential where the intervals between their stalls
// pass for it (Kolmogorov-Smirnov, 5 %), else they have the intervals' own
// quantiles. A stall that begins while nothing is appended is seen shortened, or
// not at all, by the append that comes: half the idle time before it is added,
// and it counts for those as long that were missed, by the chance of an arrival
// in time. Stalls that overlap are seen as one: where they take more than 2 %
// of the time, they are made shorter and more, so that together they last as
// long as was seen.
//
// # Tails
//
// Tables are the quantiles of what was seen, with as many points as keep the
// Wasserstein distance to it below 1 % of its mean, at most 24, and end at
// the largest value seen. No tail is extrapolated: mixtures of two mechanisms
// look like Pareto tails of infinite mean and are none. What the runs are too
// short to tell is said in Warnings.
//
// # How good it is
//
// The last run is left out of the fit. The modelled store, with the profile,
// is given its arrivals, and the times under the lock and from intended to
// unlocked are compared: Kolmogorov-Smirnov distance, Wasserstein distance over
// the mean, and ratios of quantiles with intervals by a bootstrap of blocks of
// time of both, since neighbours are not independent. The same is told of the
// fitted runs themselves: how far one run is from another is as near as a
// profile can be expected to come.
//
// The same runs give the same bytes.
package calibrate
