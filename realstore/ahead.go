package realstore

import (
	"io"
	"os"
)

// A file is read aheadBytes at a time, by a goroutine of its own that is up to
// aheadPieces ahead of who looks at the bytes. In front of each piece is room
// for what is left of the one before.
const (
	aheadBytes  = 1 << 20
	aheadPieces = 3
	aheadRoom   = 16 << 10
)

// aheadReader reads a file from a place on, in order.
type aheadReader struct {
	f    *os.File
	full chan piece
	free chan []byte // their buffers, aheadRoom longer
	quit chan struct{}
	next int64 // where the next piece begins
}

// piece is what was read: b[aheadRoom:aheadRoom+n].
type piece struct {
	b   []byte
	n   int
	err error
}

// newAheadReader starts to read f at a place, into buffers that a reader before
// it has left, as far as there are any.
func newAheadReader(f *os.File, at int64, left [][]byte) *aheadReader {
	a := &aheadReader{f: f, full: make(chan piece, aheadPieces), free: make(chan []byte, aheadPieces), quit: make(chan struct{}), next: at}
	for i := range aheadPieces {
		if i < len(left) {
			a.free <- left[i]
		} else {
			a.free <- nil
		}
	}
	go a.run(at)
	return a
}

// run reads until a piece is short, which is the file's end or an error.
func (a *aheadReader) run(at int64) {
	defer close(a.full)
	for {
		var b []byte
		select {
		case <-a.quit:
			return
		case b = <-a.free:
		}
		if b == nil {
			b = make([]byte, aheadRoom+aheadBytes)
		}
		want := aheadBytes - int(at%pageBytes) // reads that end at a page are faster
		n, err := a.f.ReadAt(b[aheadRoom:aheadRoom+want], at)
		if err == io.EOF {
			err = nil
		}
		a.full <- piece{b, n, err} // there is room for as many as there are buffers
		if at += int64(n); n < want || err != nil {
			return
		}
	}
}

// take returns the next piece; it is empty at the file's end.
func (a *aheadReader) take() piece {
	p := <-a.full
	a.next += int64(p.n)
	return p
}

// giveBack has the reader fill a piece's buffer again.
func (a *aheadReader) giveBack(b []byte) { a.free <- b }

// stop ends the reading, waits for it, and returns the buffers that nobody looks at.
func (a *aheadReader) stop() (left [][]byte) {
	close(a.quit)
	for p := range a.full {
		left = append(left, p.b)
	}
	for len(a.free) > 0 {
		if b := <-a.free; b != nil {
			left = append(left, b)
		}
	}
	return left
}
