// Package output writes what a run leaves behind without ever touching a file
// that is not a run's. A folder that brokersim made holds a marker file; in it
// figures and results may be replaced, in another nothing is written. A
// requests CSV replaces only a requests CSV, known by its first line.
package output
