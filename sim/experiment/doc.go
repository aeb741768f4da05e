// Package experiment runs replications of a simulation in parallel and puts
// their results together in the order of their numbers, so that the outcome,
// to the last byte, does not depend on the number of workers.
//
// A replication is a function of its number alone: it makes its own engine,
// streams and tallies, and shares nothing with the others. This package is
// the one place in the simulation that starts goroutines.
//
// An experiment that is stopped early, by its context or by a replication that
// fails, gives the results before the first one missing: a smaller experiment
// rather than a biased choice of the replications that happened to be quick.
package experiment
