package realstore

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// pageBytes is the page of the flush rules (MappedFile.OS_PAGE_SIZE).
const pageBytes = 4096

// ErrFault is returned when touching a mapped file failed: the file was made
// shorter meanwhile, or it is sparse and the disk is full, or the disk failed.
var ErrFault = errors.New("fault in a mapped file")

// guard calls f, which touches mapped files, and turns a fault there into an
// error; without it the process would die of SIGBUS.
func guard(what string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			err = faultError(what, r)
		}
	}()
	return f()
}

// faultError makes an error of a recovered fault, and panics again with
// anything else.
func faultError(what string, r any) error {
	if _, ok := r.(interface{ Addr() uintptr }); !ok {
		panic(r)
	}
	return fmt.Errorf("%s: %w: shortened by somebody, or no space left for a sparse file", what, ErrFault)
}
