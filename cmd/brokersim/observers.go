package main

import (
	"brokersim/model"
	"brokersim/sim"
)

// all tells several observers.
func all(watch []model.Observer) model.Observer {
	var o model.Observer
	for _, w := range watch {
		o.Attempt = both(o.Attempt, w.Attempt)
		o.Sweep = both(o.Sweep, w.Sweep)
		o.Stall = both(o.Stall, w.Stall)
		o.Pause = both(o.Pause, w.Pause)
		o.Waited = both(o.Waited, w.Waited)
		switch queue := o.Queue; {
		case queue == nil:
			o.Queue = w.Queue
		case w.Queue != nil:
			o.Queue = func(t sim.Time, length int) { queue(t, length); w.Queue(t, length) }
		}
		switch lock := o.Lock; {
		case lock == nil:
			o.Lock = w.Lock
		case w.Lock != nil:
			o.Lock = func(from, to sim.Time) { lock(from, to); w.Lock(from, to) }
		}
		o.AllSweeps = o.AllSweeps || w.AllSweeps
	}
	return o
}

func both[T any](a, b func(T)) func(T) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(v T) { a(v); b(v) }
}
