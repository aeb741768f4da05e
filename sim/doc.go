// Package sim is a kernel for discrete-event simulation: a clock, the set of
// pending events, cancellable timers, named streams of random numbers and a
// fingerprint of the trajectory. It knows no broker, no file and no wall clock.
//
// # Time
//
// Time is int64 nanoseconds of virtual time since the start of a replication.
// The clock moves only in Engine.Next, from event to event, and stands still
// while one is handled. Events lie in [Now, MaxTime]; MaxTime is a little over
// 36 years.
//
// # The model owns the loop
//
// An event is a value: a time, a Kind and an argument of 48 bits, in practice
// an index into a slice of the model. The model asks for the next one and
// switches on its kind. So there is no closure and no interface call per event,
// nothing is allocated per event, and the collector never scans the queue.
//
//	const (
//		departure = 0*sim.KindsPerClass + iota // class 0
//		arrival   = 1*sim.KindsPerClass + iota // class 1
//	)
//	e := sim.NewEngine(10*sim.Second, 0)
//	e.After(firstArrival, arrival, 0)
//	for {
//		k, arg, ok := e.Next()
//		if !ok {
//			break // past the horizon, nothing pending, or an error
//		}
//		switch k {
//		case arrival:
//			...
//		}
//	}
//	if err := e.Err(); err != nil { ... }
//
// # Simultaneous events
//
// Events at one instant run in the order of their class, which is a part of
// their Kind, and within a class in the order in which they were scheduled,
// timers included. It doesn't matter when they were scheduled: one that is
// scheduled at the current instant runs before all those of a higher class that
// still wait, even if its own class is lower than that of the event being
// handled. The clock never goes back, the class may.
//
// Choose classes by what the modelled system does at a tie. In most queueing
// models a departure comes before an arrival of the same instant.
//
// # The horizon
//
// Events at the horizon run, later ones stay pending. After SetHorizon the run
// goes on as if it had not stopped.
//
// # Errors
//
// Scheduling in the past, a negative delay, a time beyond MaxTime, an argument
// beyond ArgMax and more events than the limit are errors of the engine: the
// first one stays, Next returns false from then on, and Err says what it was.
//
// # What reproducible promises
//
// A replication is a function of its model, its root seed and its number. The
// order of events is total and the engine is sequential, so the same program
// gives the same trajectory on every architecture and with any number of
// replications side by side, as long as the model keeps floating point that
// differs between architectures out of times and decisions. A Stream depends on
// the root seed, the replication and its name, and on nothing else. The bits of
// streams and fingerprints are pinned by tests.
//
// # Cost
//
// The pending events are kept in a monotone radix queue with a short sorted run
// in front (see pending.go): tens of nanoseconds per event for up to a million
// pending ones, 16 bytes each. Cancelling a timer marks it; marked events are
// swept when they are more than half of the queue.
package sim
