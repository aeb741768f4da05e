package realstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the child that is killed: see TestMain.
const childEnv = "BROKERSIM_STORE_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		os.Exit(child(strings.Fields(args)))
	}
	os.Exit(m.Run())
}

const crashWriters = 3

// child appends to the store in a directory until it is killed, and writes the
// number of each message to stdout once it is acknowledged.
func child(args []string) int {
	dir, mode := args[0], args[1]
	var life int
	fmt.Sscan(args[2], &life)
	o, _ := DefaultOptions("4.9.4")
	o.MappedFileSizeCommitLog, o.MappedFileSizeConsumeQueue, o.MaxHashSlotNum, o.MaxIndexNum = 65536, 1000, 500, 400
	o.FlushIntervalCommitLog, o.FlushIntervalConsumeQueue, o.FlushConsumeQueueThoroughInterval = 5*time.Millisecond, 2*time.Millisecond, 10*time.Millisecond
	o.UseReentrantLockWhenPutMessage = life%2 == 0
	if mode == "sync" {
		o.FlushDiskType = SyncFlush
	}
	s, err := Open(dir, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	debug.SetGCPercent(-1)
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Go(func() {
			for n := range 1 << 18 {
				i := life<<20 | w<<18 | n
				m := numbered(i, crashSize(i))
				if _, err := s.Append(&m, nil); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				var b [4]byte
				binary.BigEndian.PutUint32(b[:], uint32(i))
				os.Stdout.Write(b[:])
			}
		})
	}
	wg.Wait()
	return 1
}

// TestKill kills a writing process again and again: 20 times, or
// BROKERSIM_KILLS, where the broker's own store reads what is left each time.
func TestKill(t *testing.T) {
	kills := envInt("BROKERSIM_KILLS", 20)
	real := 1
	if os.Getenv("BROKERSIM_KILLS") != "" {
		real = kills
	}
	if testing.Short() {
		kills, real = 6, 0
	}
	rnd := rand.New(rand.NewPCG(9, uint64(kills)))
	var dir string
	var sent map[int]bool
	total := 0
	for k := range kills {
		mode := [...]string{"async", "sync"}[k/5%2]
		if k%5 == 0 {
			dir, sent = filepath.Join(t.TempDir(), "store"), map[int]bool{}
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", childEnv, dir, mode, k%5+1))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var first [4]byte
		if _, err := io.ReadFull(out, first[:]); err != nil {
			cmd.Wait()
			t.Fatalf("kill %d: the child wrote nothing: %v\n%s", k, err, &stderr)
		}
		after := make(chan []byte, 1)
		go func() { b, _ := io.ReadAll(out); after <- b }()
		time.Sleep(time.Duration(rnd.IntN(40000)) * time.Microsecond)
		cmd.Process.Signal(syscall.SIGKILL)
		acked := append(first[:], <-after...)
		cmd.Wait()
		if stderr.Len() > 0 {
			t.Fatalf("kill %d: %s", k, &stderr)
		}
		for ; len(acked) >= 4; acked = acked[4:] {
			sent[int(binary.BigEndian.Uint32(acked))] = true
			total++
		}
		if k < real {
			realStore(t, dir)
		}
		if k%5 < 4 && k < kills-1 && rnd.IntN(2) == 0 {
			continue // the next child recovers it
		}
		o := small(t, "4.9.4")
		o.MappedFileSizeCommitLog = 65536
		s := open(t, dir, o)
		if rec := s.Recovery(); rec.Clean {
			t.Errorf("kill %d: recovery %+v, want after a crash", k, rec)
		}
		there := map[int]bool{}
		unacked := 0
		for _, i := range flags(t, s, crashSize) {
			if there[i] {
				t.Errorf("kill %d: message %x is there twice", k, i)
			}
			there[i] = true
			if !sent[i] {
				unacked++
			}
		}
		for i := range sent {
			if !there[i] {
				t.Errorf("kill %d (%s): message %x was acknowledged and is lost", k, mode, i)
			}
		}
		// Each writer of each life can have had one message on its way.
		if unacked > 5*crashWriters {
			t.Errorf("kill %d: %d messages that nobody sent", k, unacked)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		verifySound(t, dir)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills, %d messages acknowledged, none lost", kills, total)
}

func verifySound(t testing.TB, dir string) Report {
	t.Helper()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := d.Verify(VerifyOptions{})
	if err != nil || rep.Found > 0 {
		t.Errorf("verify: %v, %s", err, rep.Summary())
		for i, f := range rep.Faults {
			if i < 3 || i > len(rep.Faults)-3 {
				t.Error(f)
			}
		}
	}
	return rep
}

// TestFullDisk lets a small file system run full.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("NOT TESTED WITH A FULL DISK: mount: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	o := small(t, "4.3.2")
	o.MappedFileSizeCommitLog = 65536
	root := filepath.Join(dir, "store")
	s := open(t, root, o)
	n := 0
	for ; ; n++ {
		m := numbered(n, 1000)
		if _, err := s.Append(&m, nil); err != nil {
			if !errors.Is(err, ErrCreateMappedFile) && !errors.Is(err, ErrFailed) {
				t.Errorf("full disk: %v", err)
			}
			t.Log(err)
			break
		}
		if n > 5000 {
			t.Fatal("the disk never gets full")
		}
	}
	// Refused again, and at once.
	m := numbered(n, 1000)
	if _, err := s.Append(&m, nil); err == nil {
		t.Error("accepted on a full disk")
	}
	s.Close()
	copied := copyStore(t, root)
	s = open(t, copied, Options{})
	if got := len(flags(t, s, func(int) int { return 1000 })); got != n {
		t.Errorf("%d messages after a full disk, want %d", got, n)
	}
	m = numbered(n, 1000)
	if _, err := s.Append(&m, nil); err != nil {
		t.Errorf("on a larger disk: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verifySound(t, copied)
}

func TestReadOnlyDirectory(t *testing.T) {
	dir := copyStore(t, fixture)
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		if os.Getuid() == 0 {
			t.Skipf("NOT TESTED WITH A READ-ONLY DIRECTORY: mount: %v", err)
		}
		os.Chmod(dir, 0o555)
		os.Chmod(filepath.Join(dir, lockName), 0o444)
	} else {
		defer unix.Unmount(dir, unix.MNT_DETACH)
		if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Skipf("NOT TESTED WITH A READ-ONLY DIRECTORY: remount: %v", err)
		}
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, unix.EROFS) && !errors.Is(err, os.ErrPermission) {
		t.Errorf("open: %v, want read-only", err)
	}
	verifySound(t, dir)
}

func TestLockedByAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s async 1", childEnv, dir))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for range 1000 {
		if _, err := os.Stat(filepath.Join(dir, abortName)); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("open: %v, want locked", err)
	} else {
		t.Log(err)
	}
}

// TestShortenedFile cuts files off while they are mapped: an error, no SIGBUS.
func TestShortenedFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	o := small(t, "4.3.2")
	o.MappedFileSizeCommitLog = 1 << 20
	s := open(t, dir, o)
	var at int64
	for i := range 50 {
		m := numbered(i, 1000)
		r, err := s.Append(&m, nil)
		if err != nil {
			t.Fatal(err)
		}
		at = r.Offset
	}
	if err := os.Truncate(filepath.Join(dir, commitLogDir, fileName(0)), 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(at); !errors.Is(err, ErrFault) {
		t.Errorf("get: %v, want a fault", err)
	}
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		m := numbered(i, 1000)
		_, err = s.Append(&m, nil)
	}
	if !errors.Is(err, ErrFailed) {
		t.Errorf("append: %v, want failed", err)
	}
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := d.Verify(VerifyOptions{}); err != nil || rep.OK() {
		t.Errorf("verify: %v, %s", err, rep.Summary())
	}
	s.Close()
	if _, err := os.Stat(filepath.Join(dir, abortName)); err != nil {
		t.Errorf("a store that failed leaves its abort file: %v", err)
	}
	if _, err := Open(dir, o); !errors.Is(err, ErrDamaged) {
		t.Errorf("open: %v, want damaged", err)
	}
}
