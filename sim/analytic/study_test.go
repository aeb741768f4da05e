//go:build !race

package analytic

import (
	"strings"
	"testing"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// Millions of customers are for the test without the race detector; see
// TestVerifyIsReproducible.

func TestVerify(t *testing.T) {
	const customers = 200_000
	last, total := 0, 0
	checks, err := Verify(t.Context(), 1, customers, func(done, of int) { last, total = done, of })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !c.Passed {
			t.Errorf("%s: %s: %v, simulated %v in [%v, %v] %s", c.Name, c.Quantity, c.Want, c.Got, c.Lo, c.Hi, c.Why)
		}
	}
	if last != total || total == 0 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
}

// A check must fail where the simulation is of something else.
func TestChecksNoticeWrongStations(t *testing.T) {
	all := studies()
	for name, spoil := range map[string]func(*system){
		"more arrivals": func(s *system) {
			s.interarrival = known(variate.NewExponential(variate.Duration, s.interarrival.Mean()/1.06))
		},
		"one server more": func(s *system) { s.servers++ },
	} {
		for _, s := range all {
			if strings.HasPrefix(s.name, "M/M/1, load 0.9") || s.system.vacation != nil {
				continue // needs more customers; has one server by definition
			}
			spoil(&s.system)
			passed := true
			for _, c := range s.checks(t.Context(), sim.Streams{Seed: 3}, 100_000) {
				passed = passed && c.Passed
			}
			if passed {
				t.Errorf("%s: all checks passed with %s", s.name, name)
			}
		}
	}
}
