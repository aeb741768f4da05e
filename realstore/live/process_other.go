//go:build !linux

package live

import (
	"errors"
	"os/exec"
	"time"
)

const supported = false

func sleep(d time.Duration) { time.Sleep(d) }

func monotonic() (int64, error) { return 0, errors.ErrUnsupported }
func isolate(*exec.Cmd)         {}
func exactTimers()              {}
func goFirst()                  {}
func stopProcess(int) error     { return errors.ErrUnsupported }
func contProcess(int) error     { return errors.ErrUnsupported }
