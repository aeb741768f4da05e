package live

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"brokersim/model"
	"brokersim/model/recording"
	"brokersim/sim"
)

// ErrRefused is returned when the run was not begun for a fault of what it was
// asked for.
var ErrRefused = errors.New("refused")

// Run starts cmd, whose process is to Serve the same configuration, freezes it
// where the scenario says so, and returns what it did. Its standard input and
// output are Run's. progress may be nil; it is told the run's time now and then.
//
// When ctx ends first the broker stops and closes its store, and the record
// holds what was answered until then; the error is ctx's.
func Run(ctx context.Context, cmd *exec.Cmd, cfg *model.Config, replication int, progress func(sim.Time)) (*Record, error) {
	if !supported {
		return nil, fmt.Errorf("a live run needs Linux: %w", errors.ErrUnsupported)
	}
	// The child dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	exactTimers()
	isolate(cmd)
	control, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stopListening := context.AfterFunc(ctx, func() { _ = control.Close() })
	rec, err := follow(ctx, out, cmd.Process.Pid, model.NewFreezes(cfg, replication), progress)
	stopListening()
	_ = control.Close() // it may be closed already
	if ended := cmd.Wait(); ended != nil && !errors.Is(err, ErrRefused) {
		err = errors.Join(err, fmt.Errorf("the broker's process: %w", ended))
	}
	if err != nil {
		return nil, err
	}
	if rec.Interrupted {
		err = ctx.Err()
	}
	return rec, err
}

// follow reads what the broker's process has to say, and freezes it meanwhile.
func follow(ctx context.Context, out io.Reader, pid int, freezes *model.Freezes, progress func(sim.Time)) (*Record, error) {
	in := gob.NewDecoder(out)
	var begin hello
	if err := in.Decode(&begin); err != nil {
		return nil, fmt.Errorf("the broker's process did not begin: %w", err)
	}
	if begin.Err != "" {
		if begin.Refused {
			return nil, fmt.Errorf("%w: %s", ErrRefused, begin.Err)
		}
		return nil, errors.New(begin.Err)
	}
	f := freezer{pid: pid, t0: begin.T0}
	var beside sync.WaitGroup
	beside.Go(func() { f.run(ctx, freezes) })
	if progress != nil {
		beside.Go(func() { f.tell(progress) })
	}
	var end farewell
	err := in.Decode(&end)
	f.over.Store(true)
	beside.Wait()
	switch {
	case end.Err != "":
		return nil, errors.New(end.Err)
	case err != nil || f.err != nil:
		return nil, fmt.Errorf("no result from the broker's process: %w", errors.Join(err, f.err))
	}
	rec := end.Record
	for _, s := range f.done {
		if s.From <= rec.End {
			rec.Stalls = append(rec.Stalls, s)
		}
	}
	rec.sortStalls()
	return rec, nil
}

// freezer stops and continues the broker's process.
type freezer struct {
	pid  int
	t0   int64 // CLOCK_MONOTONIC, ns
	over atomic.Bool
	done []recording.Stall
	err  error
}

func (f *freezer) now() sim.Time {
	n, _ := monotonic() // it worked for the child
	return sim.Time(n - f.t0)
}

// run freezes from time to time; freezes that overlap are one. However it ends,
// the process goes on.
func (f *freezer) run(ctx context.Context, freezes *model.Freezes) {
	runtime.LockOSThread() // for its timers
	defer runtime.UnlockOSThread()
	exactTimers()
	from, to, more := freezes.Next()
	for more && f.until(ctx, from) {
		at := f.now()
		if f.err = stopProcess(f.pid); f.err != nil {
			return
		}
		end := to
		for {
			f.until(ctx, end)
			if from, to, more = freezes.Next(); !more || from > end || ctx.Err() != nil {
				break
			}
			end = max(end, to)
		}
		ended := f.now()
		if f.err = contProcess(f.pid); f.err != nil {
			return
		}
		f.done = append(f.done, recording.Stall{StallRecord: model.StallRecord{Where: model.StallProcess, From: at, To: ended, BySeq: model.Absent}, Opens: at})
	}
}

// until sleeps until t and spins at the end; false means that it is over.
func (f *freezer) until(ctx context.Context, t sim.Time) bool {
	for {
		left := t - f.now()
		switch {
		case f.over.Load() || ctx.Err() != nil:
			return false
		case left <= 0:
			return true
		case left > spun:
			sleep(time.Duration(min(left-spun, nap)))
		}
	}
}

// tell reports the time reached.
func (f *freezer) tell(progress func(sim.Time)) {
	for !f.over.Load() {
		progress(max(0, f.now()))
		sleep(50 * time.Millisecond)
	}
}

// Replicate runs n live runs, one after the other, each in the process that
// command gives, and gathers them as model.Replicate does. Only the first is
// observed. When ctx ends first, or a run fails, what is complete is returned
// with the error, the interrupted one as far as it got.
func Replicate(ctx context.Context, cfg *model.Config, n int, command func(replication int) *exec.Cmd, obs model.Observer, progress func(now sim.Time, done int)) (*model.Study, []*Record, error) {
	study := &model.Study{}
	var records []*Record
	for i := range n {
		var tell func(sim.Time)
		if progress != nil {
			tell = func(now sim.Time) { progress(now, i) }
		}
		rec, cut := Run(ctx, command(i), cfg, i, tell)
		if rec == nil {
			return study, records, cut
		}
		if i > 0 {
			obs = model.Observer{}
		}
		ledger, err := rec.Ledger(cfg, i, obs, cut)
		if err != nil {
			return study, records, errors.Join(cut, err)
		}
		study.AddLedger(ledger)
		records = append(records, rec)
		if cut != nil {
			return study, records, cut
		}
	}
	return study, records, nil
}
