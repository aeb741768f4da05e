package ui

import "io"

// Output is a stream that keeps the first error of writing to it, so that none
// is lost by a writer that doesn't look, such as that of a help text. After it
// nothing more is written.
type Output struct {
	to  io.Writer
	err error
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{to: w} }

func (o *Output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}

// Err is the first error of writing.
func (o *Output) Err() error { return o.err }
