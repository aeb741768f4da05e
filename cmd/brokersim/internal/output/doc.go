// Package output writes what a run leaves behind without ever touching a file
// that is not a run's. A folder that brokersim made holds a marker file; in it
// figures and results may be replaced, in another nothing is written. A
// requests CSV outside such a folder replaces another only by force: a real
// broker's recording has the same header, so that nothing in it tells whose it
// is.
//
// Every file is written beside its place and renamed when it is complete (see
// atomicfile).
package output
