package probe

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canProbe: appends are measured on Linux only.
const canProbe = true

// sleep waits so many ns, less where a signal comes. It doesn't tell the
// scheduler, whose way back from a system call is longer than the wait.
func sleep(ns int64) {
	ts := unix.NsecToTimespec(ns)
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// switchesOf is of the thread that it is called on.
func switchesOf() switches {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return switches{}
	}
	return switches{unix.Gettid(), int64(u.Nvcsw), int64(u.Nivcsw)}
}

// switchesOfThread is of another thread of this process, without that by which
// it went to sleep, if it did, once it had nothing more to do.
func switchesOfThread(id int) switches {
	s := switches{thread: id}
	for line := range strings.Lines(text("/proc/self/task/" + strconv.Itoa(id) + "/status")) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "State":
			if strings.HasPrefix(strings.TrimSpace(value), "S") {
				s.voluntary--
			}
		case "voluntary_ctxt_switches":
			s.voluntary += leading(value)
		case "nonvoluntary_ctxt_switches":
			s.involuntary = leading(value)
		}
	}
	if s.involuntary == 0 && s.voluntary <= 0 { // it is no more
		s.thread = 0
	}
	return s
}

// quickTimers lets sleeps of each thread end in time: by default the kernel
// may wake them 50 us late. New threads inherit it.
func quickTimers() {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		// Not permitted in some containers; then sleeps are late, and said to be.
		_ = os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", []byte("1"), 0)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

func freeBytes(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Bavail > 1<<50 {
		return -1
	}
	return int64(s.Bavail) * s.Bsize
}

// environmentOf describes the machine, and the file system of dir.
func environmentOf(dir string) (Environment, error) {
	e := Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, GoVersion: runtime.Version(), CPUs: runtime.NumCPU()}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return e, err
	}
	e.Kernel = unix.ByteSliceToString(u.Release[:])
	e.MemoryKiB = field("/proc/meminfo", "MemTotal:")
	e.THP = chosen(text("/sys/kernel/mm/transparent_hugepage/enabled"))
	e.ShmemTHP = chosen(text("/sys/kernel/mm/transparent_hugepage/shmem_enabled"))
	vm := func(name string) int64 {
		n, _ := strconv.ParseInt(text("/proc/sys/vm/"+name), 10, 64)
		return n
	}
	e.DirtyRatio, e.DirtyBytes = vm("dirty_ratio"), vm("dirty_bytes")
	e.BackgroundRatio, e.BackgroundBytes = vm("dirty_background_ratio"), vm("dirty_background_bytes")
	e.ExpireCentisecs, e.WritebackCentisecs = vm("dirty_expire_centisecs"), vm("dirty_writeback_centisecs")

	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return e, err
	}
	number := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	e.FileSystem, e.MountOptions = mount(number)
	e.Device, e.StablePages = device(number)
	return e, nil
}

// mount finds a file system and its options by its device number. Options that
// name something are left out.
func mount(number string) (fs, options string) {
	for line := range strings.Lines(text("/proc/self/mountinfo")) {
		f := strings.Fields(line)
		if len(f) < 10 || f[2] != number {
			continue
		}
		for i := 6; i+3 < len(f); i++ {
			if f[i] == "-" {
				return f[i+1], plain(f[5] + "," + f[i+3])
			}
		}
	}
	return "unknown", ""
}

// plain keeps the mount options that are words or numbers.
func plain(options string) string {
	var kept []string
	seen := map[string]bool{}
	for _, o := range strings.Split(options, ",") {
		if o != "" && !strings.ContainsAny(o, `/\:"@`) && !seen[o] {
			seen[o] = true
			kept = append(kept, o)
		}
	}
	return strings.Join(kept, ",")
}

// device says what kind of device a number is of.
func device(number string) (kind string, stable bool) {
	link, err := os.Readlink("/sys/dev/block/" + number)
	if err != nil {
		return "no block device", false
	}
	dir := "/sys/dev/block/" + number
	name := path.Base(link)
	queue := dir + "/queue/"
	if _, err := os.Stat(queue); err != nil { // a partition
		queue = dir + "/../queue/"
		name = path.Base(path.Dir(link))
	}
	kind = "block device"
	for _, k := range []struct{ prefix, kind string }{
		{"nvme", "NVMe"}, {"vd", "virtio block"}, {"xvd", "Xen block"}, {"sd", "SCSI or SATA"}, {"dm-", "device mapper"},
		{"md", "MD RAID"}, {"loop", "loop device"}, {"mmcblk", "MMC"}, {"ram", "RAM disk"}, {"zram", "zram"},
	} {
		if strings.HasPrefix(name, k.prefix) {
			kind = k.kind
			break
		}
	}
	if text(queue+"rotational") == "1" {
		kind += ", rotational"
	}
	if s := chosen(text(queue + "scheduler")); s != "" {
		kind += ", scheduler " + s
	}
	return kind, text(queue+"stable_writes") == "1"
}

// chosen is the word in brackets of "always [madvise] never".
func chosen(s string) string {
	_, s, ok := strings.Cut(s, "[")
	s, _, _ = strings.Cut(s, "]")
	if !ok {
		return ""
	}
	return s
}

// text is a small file of the kernel, "" where there is none.
func text(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// field is the number after a name in a file of lines.
func field(name, key string) int64 {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), key); ok {
			return leading(rest)
		}
	}
	return 0
}

// leading is the number that a text begins with.
func leading(s string) int64 {
	f := strings.Fields(s)
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(f[0], 10, 64)
	return n
}

// load reads the counters of what the machine did.
func load() Load {
	const tick = int64(10 * time.Millisecond) // USER_HZ is 100
	l := Load{AtNs: time.Now().UnixNano()}
	if rest, ok := strings.CutPrefix(text("/proc/stat"), "cpu "); ok {
		line, _, _ := strings.Cut(rest, "\n")
		f := strings.Fields(line)
		// user nice system idle iowait irq softirq steal
		for i, v := range f[:min(len(f), 8)] {
			n, _ := strconv.ParseInt(v, 10, 64)
			switch i {
			case 3, 4:
			case 7:
				l.StealNs = n * tick
			default:
				l.CPUBusyNs += n * tick
			}
		}
	}
	for _, who := range [...]int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			l.OwnNs += u.Utime.Nano() + u.Stime.Nano()
		}
	}
	l.PSICPUNs, l.PSIIONs, l.PSIMemoryNs = pressure("cpu"), pressure("io"), pressure("memory")
	l.WrittenKiB = field("/proc/vmstat", "pgpgout ")
	return l
}

// pressure is the total time that some task waited for a resource.
func pressure(of string) int64 {
	_, total, ok := strings.Cut(text("/proc/pressure/"+of), "total=")
	if !ok {
		return 0
	}
	return leading(total) * 1000
}

// kernelReader returns a function that reads the state of the page cache and
// allocates nothing, and one that closes what it holds.
func kernelReader() (read func() KernelState, closeAll func()) {
	f, err := os.Open("/proc/vmstat")
	if err != nil {
		return func() KernelState { return KernelState{} }, func() {}
	}
	buf := make([]byte, 64<<10)
	return func() KernelState {
		n, _ := f.ReadAt(buf, 0)
		var s KernelState
		for b := buf[:n]; len(b) > 0; {
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				break
			}
			line := b[:end]
			b = b[end+1:]
			switch {
			case number(line, "nr_dirty ", &s.Dirty):
			case number(line, "nr_writeback ", &s.Writeback):
			case number(line, "nr_dirty_threshold ", &s.DirtyLimit):
			case number(line, "nr_dirty_background_threshold ", &s.BackgroundLimit):
			}
		}
		return s
	}, func() { f.Close() }
}

func number(line []byte, key string, to *int64) bool {
	if len(line) <= len(key) || string(line[:len(key)]) != key {
		return false
	}
	for _, c := range line[len(key):] {
		*to = *to*10 + int64(c-'0')
	}
	return true
}
