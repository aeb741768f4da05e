// Package summary tells the result of a simulation to people. Its first line is
// the verdict and its last the command that repeats the run; between them stand
// what happened in time order (Story, which watches the run), the counts, the
// times with their intervals, the thresholds and what was written.
//
// Instants are those of the run's clock in seconds. A rejection's is that of
// its answer at the producer, as at_ms of the result JSON; times in the tables
// are in ms.
package summary
