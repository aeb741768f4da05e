package analytic

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"brokersim/sim/stat"
)

func TestVerifyIsReproducible(t *testing.T) {
	const customers = 2000
	want := Verify(7, customers, nil)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(want, Verify(7, customers, nil), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("alone (-many +one):\n%s", diff)
	}
	if cmp.Equal(want, Verify(8, customers, nil), cmpopts.EquateNaNs()) {
		t.Error("seed 8 gives what seed 7 gives")
	}
}

func TestFewCustomers(t *testing.T) {
	for _, customers := range []int{-5, 0, 1, 100} {
		for _, c := range Verify(1, customers, nil) {
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
