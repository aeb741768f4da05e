package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func ptr(ts *unix.Timespec) uintptr { return uintptr(unsafe.Pointer(ts)) }
