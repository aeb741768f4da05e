// Package variate describes random quantities and arrival processes: parsed
// from the texts of a scenario, drawn with the same bits on every architecture.
package variate
