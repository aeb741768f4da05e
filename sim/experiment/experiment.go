package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
)

// Run calls one for replications 0 to n-1, at most workers at a time (below 1:
// GOMAXPROCS), and returns their results in order.
//
// With an error it returns the results of the replications before the first
// that failed, or has not run when ctx was done; the error wraps the failure
// (of the lowest number that failed, whatever the workers) or ctx's cause. A
// panic is a failure, a [*PanicError]. Run waits for replications under way,
// so these should watch the context they are given.
//
// progress, if not nil, is called on the caller's goroutine after each
// replication with the number finished.
func Run[T any](ctx context.Context, n, workers int, one func(ctx context.Context, replication int) (T, error), progress func(done int)) ([]T, error) {
	return Fold(ctx, n, workers, one, nil, func(all []T, result T) []T { return append(all, result) }, progress)
}

// Fold is Run for many replications: it merges each result into acc as soon
// as all before it are merged, in order, on the caller's goroutine, and
// forgets it. It holds at most two results for each worker. With an error it
// returns acc as Run returns results: with those before the first missing one.
func Fold[T, A any](ctx context.Context, n, workers int, one func(ctx context.Context, replication int) (T, error), acc A, merge func(acc A, result T) A, progress func(done int)) (A, error) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(min(workers, n), 1)
	// A slow replication holds up merging, not working, until the window is full.
	window := make([]outcome[T], 2*workers)
	arrived := make(chan outcome[T], workers)
	var (
		next, running, merged, done int
		failed                      = math.MaxInt // lowest replication that failed
		failure                     error
	)
	for {
		for running < workers && next < min(n, failed, merged+len(window)) && ctx.Err() == nil {
			go attempt(ctx, next, one, arrived)
			next++
			running++
		}
		if running == 0 {
			break
		}
		o := <-arrived
		running--
		if o.err != nil {
			if o.replication < failed {
				failed, failure = o.replication, o.err
			}
			continue
		}
		done++
		if progress != nil {
			progress(done)
		}
		window[o.replication%len(window)] = o
		for slot := merged % len(window); window[slot].there; slot = merged % len(window) {
			acc = merge(acc, window[slot].result)
			window[slot] = outcome[T]{}
			merged++
		}
	}
	switch {
	case merged >= n:
		return acc, nil
	case ctx.Err() != nil:
		return acc, fmt.Errorf("%d of %d replications: %w", merged, n, context.Cause(ctx))
	default:
		return acc, fmt.Errorf("replication %d: %w", failed, failure)
	}
}

// outcome is a replication's result, or why there is none.
type outcome[T any] struct {
	replication int
	there       bool
	result      T
	err         error
}

// attempt runs a replication and sends its outcome, whatever way it ends.
func attempt[T any](ctx context.Context, replication int, one func(context.Context, int) (T, error), arrived chan<- outcome[T]) {
	o := outcome[T]{replication: replication, err: errExit}
	defer func() {
		if o.err == errExit {
			if v := recover(); v != nil {
				o.err = &PanicError{Value: v, Stack: debug.Stack()}
			}
		}
		o.there = o.err == nil
		arrived <- o
	}()
	o.result, o.err = one(ctx, replication)
}

// errExit stands until a replication returns; it is seen where one calls
// runtime.Goexit, as testing's FailNow does.
var errExit = errors.New("ended its goroutine without a result")

// PanicError is the failure of a replication that panicked.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // where
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
