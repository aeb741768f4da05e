//go:build race

package calibrate

func init() { raceDetector = true }
