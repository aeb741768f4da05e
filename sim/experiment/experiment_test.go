package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// double is a replication that takes longer the lower its number.
func double(_ context.Context, replication int) (int, error) {
	for range 20 - replication%20 {
		runtime.Gosched()
	}
	return 2 * replication, nil
}

func TestRunIsInOrderWithAnyWorkers(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 3, 8, 100} {
		done := 0
		got, err := Run(context.Background(), 50, workers, double, func(d int) {
			if done++; d != done {
				t.Errorf("progress %d, want %d", d, done)
			}
		})
		if err != nil || len(got) != 50 || done != 50 {
			t.Fatalf("%d workers: %d results, progress to %d, error %v", workers, len(got), done, err)
		}
		for i, x := range got {
			if x != 2*i {
				t.Errorf("%d workers: result %d is %d, want %d", workers, i, x, 2*i)
			}
		}
	}
}

func TestNothingToRun(t *testing.T) {
	for _, n := range []int{0, -3} {
		if got, err := Run(context.Background(), n, 4, double, nil); got != nil || err != nil {
			t.Errorf("%d replications: %v, %v", n, got, err)
		}
	}
}

func TestAtMostWorkersAtATime(t *testing.T) {
	var running, most atomic.Int64
	_, err := Run(context.Background(), 200, 3, func(context.Context, int) (int, error) {
		now := running.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		runtime.Gosched()
		running.Add(-1)
		return 0, nil
	}, nil)
	if err != nil || most.Load() > 3 {
		t.Errorf("%d at a time, error %v; want at most 3", most.Load(), err)
	}
}

func TestFoldHoldsFewResults(t *testing.T) {
	const workers = 4
	var finished, merged atomic.Int64
	var most int64
	first := make(chan struct{})
	sum, err := Fold(context.Background(), 1000, workers, func(_ context.Context, replication int) (int, error) {
		if replication == 0 {
			<-first // all others wait to be merged after this one
		}
		if finished.Add(1) == 2*workers-1 {
			close(first)
		}
		return replication, nil
	}, 0, func(acc, result int) int {
		most = max(most, finished.Load()-merged.Load())
		merged.Add(1)
		return 31*acc + result
	}, nil)
	if err != nil || most > 2*workers {
		t.Errorf("%d results held, error %v; want at most %d", most, err, 2*workers)
	}
	alone, _ := Fold(context.Background(), 1000, 1, func(_ context.Context, replication int) (int, error) {
		return replication, nil
	}, 0, func(acc, result int) int { return 31*acc + result }, nil)
	if sum != alone {
		t.Errorf("%d workers fold to %d, one to %d", workers, sum, alone)
	}
}

func TestFirstFailureWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		workers := rapid.IntRange(1, 6).Draw(t, "workers")
		bad := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, min(n, 4), rapid.ID).Draw(t, "bad")
		kind := rapid.SampledFrom([]string{"error", "panic", "exit"}).Draw(t, "kind")
		got, err := Run(context.Background(), n, workers, func(ctx context.Context, replication int) (int, error) {
			if slices.Contains(bad, replication) {
				switch kind {
				case "panic":
					panic("boom")
				case "exit":
					runtime.Goexit()
				}
				return 0, errors.New("boom")
			}
			return double(ctx, replication)
		}, nil)
		lowest := slices.Min(bad)
		if len(got) != lowest || err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("replication %d: ", lowest)) {
			t.Errorf("%d results, error %v; want %d and the failure of the next", len(got), err, lowest)
		}
		var p *PanicError
		if errors.As(err, &p) != (kind == "panic") {
			t.Errorf("%s gives %v", kind, err)
		}
	})
}

func TestNoneStartsAfterAFailure(t *testing.T) {
	started := 0
	_, err := Run(context.Background(), 100, 1, func(context.Context, int) (int, error) {
		started++
		return 0, errors.New("boom")
	}, nil)
	if started != 1 || err == nil {
		t.Errorf("%d replications started, error %v; want 1 and the failure", started, err)
	}
}

func TestPanicKeepsItsErrorAndPlace(t *testing.T) {
	boom := errors.New("boom")
	_, err := Run(context.Background(), 1, 1, func(context.Context, int) (int, error) { panic(boom) }, nil)
	var p *PanicError
	if !errors.Is(err, boom) || !errors.As(err, &p) || !strings.Contains(string(p.Stack), "experiment_test.go") {
		t.Errorf("got %v, want a PanicError with its stack", err)
	}
}

func TestCancelGivesAPrefix(t *testing.T) {
	why := errors.New("interrupted")
	for _, workers := range []int{1, 2, 7} {
		ctx, cancel := context.WithCancelCause(context.Background())
		got, err := Run(ctx, 1000, workers, func(ctx context.Context, replication int) (int, error) {
			if replication == 30 {
				cancel(why)
			}
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return double(ctx, replication)
		}, nil)
		if !errors.Is(err, why) || len(got) > 31+workers {
			t.Errorf("%d workers: %d results, error %v", workers, len(got), err)
		}
		if workers == 1 && len(got) != 30 {
			t.Errorf("%d results before the cancelled 30", len(got))
		}
		for i, x := range got {
			if x != 2*i {
				t.Errorf("%d workers: result %d is %d, want %d", workers, i, x, 2*i)
			}
		}
	}
}

func TestCancelledBeforeItStarts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := Run(ctx, 5, 2, double, nil)
	if len(got) != 0 || !errors.Is(err, context.Canceled) || err.Error() != "0 of 5 replications: context canceled" {
		t.Errorf("got %v, %v", got, err)
	}
}

func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(context.Background(), 100, 2, func(context.Context, int) (int, error) { return 1, nil }, nil); err != nil {
			b.Fatal(err)
		}
	}
}
