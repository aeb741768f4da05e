package analytic

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"brokersim/sim/stat"
)

func TestVerifyIsReproducible(t *testing.T) {
	const customers = 2000
	verify := func(seed uint64) []Check {
		checks, err := Verify(t.Context(), seed, customers, nil)
		if err != nil {
			t.Fatal(err)
		}
		return checks
	}
	want := verify(7)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(want, verify(7), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("alone (-many +one):\n%s", diff)
	}
	if cmp.Equal(want, verify(8), cmpopts.EquateNaNs()) {
		t.Error("seed 8 gives what seed 7 gives")
	}
}

func TestFewCustomers(t *testing.T) {
	for _, customers := range []int{-5, 0, 1, 100} {
		checks, err := Verify(t.Context(), 1, customers, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			// A share may pass with any number, Lindley's recursion always.
			if exact := strings.Contains(c.Quantity, "Lindley"); c.Passed != exact && c.Quantity != "share lost" {
				t.Errorf("%d customers: %+v", customers, c)
			}
			if !c.Passed && c.Why == "" && c.Lo <= c.Want && c.Want <= c.Hi {
				t.Errorf("%d customers: failed without a reason: %+v", customers, c)
			}
		}
	}
}

// More customers than could be simulated in a day: Verify ends with its context.
func TestVerifyStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	checks, err := Verify(ctx, 1, 1_000_000_000_000, nil)
	if checks != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d checks, error %v; want none, %v", len(checks), err, context.Canceled)
	}
}

func TestBooksAreChecked(t *testing.T) {
	var waits stat.Tally
	waits.Add(10)
	var queue stat.TimeAverage
	queue.Add(5, 1)
	queue.Add(15, -1)
	if err := little(&waits, &queue, 1); err != nil {
		t.Error(err)
	}
	if err := little(&waits, &queue, 2); err == nil {
		t.Error("a missing customer went unnoticed")
	}
	queue.Add(20, 1)
	queue.Finish(21)
	if err := little(&waits, &queue, 1); err == nil {
		t.Error("a wait that nobody had went unnoticed")
	}
}
