package experiment

import (
	"flag"
	"testing"
)

// TestMain lets property tests draw the same cases each time, unless
// -rapid.seed says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	m.Run()
}
