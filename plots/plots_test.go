package plots

import (
	"os"
	"slices"
	"testing"
)

func sortFloats(v []float64) { slices.Sort(v) }

func TestLook(t *testing.T) {
	dir := os.Getenv("LOOK")
	for _, pic := range pictures {
		if _, err := Write(dir+"/"+pic.name, pic.fake.input(pic.name)); err != nil {
			t.Fatal(err)
		}
	}
}
