//go:build !linux

package probe

// canProbe: appends are measured on Linux only. The rest builds, so that runs
// can be read.
const canProbe = false

func environmentOf(string) (Environment, error) { return Environment{}, nil }
func freeBytes(string) int64                    { return -1 }
func sleep(int64)                               {}
func quickTimers()                              {}
func switchesOf() switches                      { return switches{} }
func switchesOfThread(int) switches             { return switches{} }
func load() Load                                { return Load{} }
func kernelReader() (func() KernelState, func()) {
	return func() KernelState { return KernelState{} }, func() {}
}
