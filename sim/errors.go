package sim

import "errors"

// The errors of an Engine. They are sticky: the first one is kept, wrapped
// with the values and the bound it broke, and after it Next returns false. What
// was refused is not scheduled.
var (
	// ErrPast is returned when an event or a horizon is set before Now.
	ErrPast = errors.New("before the current time")
	// ErrNegativeDelay is returned when After is given a delay below 0.
	ErrNegativeDelay = errors.New("negative delay")
	// ErrOverflow is returned when an event would lie after MaxTime.
	ErrOverflow = errors.New("virtual time overflows")
	// ErrArgument is returned when an argument is larger than ArgMax.
	ErrArgument = errors.New("argument too large")
	// ErrKind is returned for a Kind that MakeKind can't make.
	ErrKind = errors.New("no such kind")
	// ErrRunaway is returned when more events want to run than the limit allows.
	ErrRunaway = errors.New("runaway")
)
