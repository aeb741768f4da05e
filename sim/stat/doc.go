// Package stat turns observations of a simulation into figures with honest
// intervals.
//
// Recording is exact and cheap. Observations are int64 (nanoseconds, bytes,
// counts); sums are kept in 128 and 192 bits, so they never round, merging is
// independent of order, and the bits are the same on every architecture. No
// recording method allocates, except a Histogram's first.
//
//   - [Tally]: number, mean, variance, smallest and largest of observations.
//   - [TimeAverage]: the mean over time of a step function (a queue length).
//   - [Histogram]: quantiles to 3 significant digits.
//   - [BatchMeans]: one long run in bounded memory, for the interval of its
//     mean and for finding the end of its warm-up.
//   - [Clusters]: how unevenly observations fall over the batches of a run or
//     over replications, for the intervals of its quantiles and fractions.
//
// Reading gives an [Interval], or says why there is none. Which one to use:
//
//	                     replications          one correlated run    independent observations
//	mean                 MeanInterval          BatchMeans.Interval   MeanInterval
//	quantile             Clusters              Clusters              Histogram.QuantileInterval
//	fraction, rare event ClusterFraction       ClusterFraction       FractionInterval
//	ratio of two means   RatioInterval         RatioInterval over batches
//	A against B          DifferenceInterval (same seeds: common random numbers)
//
// Floating point appears only in reading. Products are rounded before they
// are added, and critical values are rounded to 32 bits, so that intervals do
// not differ between architectures.
package stat
