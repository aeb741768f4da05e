//go:build race

package realstore

func init() { raceDetector = true }
