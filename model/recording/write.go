package recording

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"brokersim/model"
	"brokersim/model/recording/atomicfile"
	"brokersim/sim"
)

// Run is what Write makes an experiment folder of: a run, whatever its clock.
type Run struct {
	Config   *model.Config
	Wall     model.WallClock
	Delay    sim.Time        // added to each append, as it was
	Attempts []model.Attempt // by Seq
	Sweeps   []model.SweepRecord
	Stalls   []Stall
}

// Stall is a stall as it was. From Opens on, until To, it held what began.
type Stall struct {
	model.StallRecord
	Opens sim.Time
}

// Write makes or replaces the files of an experiment folder, which Open reads.
func Write(dir string, r *Run) error {
	return errors.Join(
		writeFile(dir, "experiment.json", r.writeSettings),
		writeFile(dir, "requests.csv.gz", gzipped(r.writeRequests)),
		writeFile(dir, "stalls.csv", r.writeStalls),
		writeFile(dir, "sweeps.csv.gz", gzipped(r.writeSweeps)),
	)
}

func writeFile(dir, name string, write func(io.Writer) error) error {
	f, err := atomicfile.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err := cmp.Or(write(w), w.Flush()); err != nil {
		f.Abandon()
		return err
	}
	return f.Commit()
}

func gzipped(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(write(z), z.Close())
	}
}

func (r *Run) writeSettings(w io.Writer) error {
	s := &r.Config.Broker
	frac := float64(r.Wall.Phase)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	return enc.Encode(file{
		Name:    r.Config.Name,
		Title:   r.Config.Title,
		Release: "V" + strings.ReplaceAll(s.Release, ".", "_"),
		Broker: map[string]any{
			"flushDiskType":                  cmp.Or(s.FlushDiskType, model.AsyncFlush),
			"brokerFastFailureEnable":        s.BrokerFastFailureEnable,
			"osPageCacheBusyTimeOutMills":    s.OsPageCacheBusyTimeOutMills,
			"sendMessageThreadPoolNums":      s.SendMessageThreadPoolNums,
			"sendThreadPoolQueueCapacity":    s.SendThreadPoolQueueCapacity,
			"useReentrantLockWhenPutMessage": s.UseReentrantLockWhenPutMessage,
			"waitTimeMillsInSendQueue":       s.WaitTimeMillsInSendQueue,
		},
		StallsMs:      [][]float64{}, // stalls.csv has them
		FreezesMs:     [][]float64{},
		AppendDelayUs: float64(max(0, r.Delay-delayOvershoot)) / 1e3, // which Open adds
		WallFracNs:    &frac,
	})
}

func (r *Run) writeRequests(w io.Writer) error {
	out := model.NewRequestsWriter(w)
	for i := range r.Attempts {
		out.Write(&r.Attempts[i])
	}
	return out.Flush()
}

func (r *Run) writeStalls(w io.Writer) error {
	_, err := fmt.Fprintln(w, "kind,by_seq,start_ns,end_ns,window_start_ns")
	for _, s := range r.Stalls {
		kind, by, opens := s.Where.String(), "", ""
		switch s.Where {
		case model.StallAppend:
			by, opens = fmt.Sprint(s.BySeq), fmt.Sprint(int64(s.Opens))
		case model.StallProcess:
			kind = "freeze"
		}
		_, failed := fmt.Fprintf(w, "%s,%s,%d,%d,%s\n", kind, by, int64(s.From), int64(s.To), opens)
		err = errors.Join(err, failed)
	}
	return err
}

func (r *Run) writeSweeps(w io.Writer) error {
	_, err := fmt.Fprintln(w, "sweep,start_ns,end_ns,qlen,n_pcbusy,n_timeout")
	for _, s := range r.Sweeps {
		_, failed := fmt.Fprintf(w, "%d,%d,%d,%d,%d,%d\n", s.N, int64(s.Start), int64(s.End), s.Qlen, s.PCBusy, s.Timeout)
		err = errors.Join(err, failed)
	}
	return err
}
