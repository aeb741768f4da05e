package live

import (
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const supported = true

// sleep sleeps in the kernel: time.Sleep is late by up to a ms. It may return
// early (a signal).
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil)
}

// monotonic is CLOCK_MONOTONIC, which all processes share.
func monotonic() (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano(), err
}

// isolate makes cmd's process a group of its own, which the terminal's ^C does
// not reach, and end with this one, even where that is killed.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// exactTimers lets this thread's sleeps, and those of the processes that it
// starts, end when they are due instead of up to 50 us later.
func exactTimers() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// goFirst lets this thread go before others that wait for a processor, if that
// is permitted; it must sleep now and then.
func goFirst() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
}

func stopProcess(pid int) error { return unix.Kill(pid, unix.SIGSTOP) }
func contProcess(pid int) error { return unix.Kill(pid, unix.SIGCONT) }
