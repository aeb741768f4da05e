package model

import (
	"bufio"
	"io"
	"strconv"

	"brokersim/sim"
)

// RequestsHeader is the first line of a requests CSV: the columns of the
// recorded traces of real brokers, so that a virtual run, a live run and a
// recording can be laid side by side.
const RequestsHeader = "seq,send_ns,arrive_ns,create_ms,enq_ns,qlen_enq,deq_ns,worker,lockreq_ns,lock_ns,app0_ns,app1_ns,unlock_ns,done_ns,clean_ns,sweep,resp_ns,code,outcome,period_ms,qsize"

// RequestsWriter writes attempts as a requests CSV.
type RequestsWriter struct {
	w   *bufio.Writer
	row []byte
	err error
}

// NewRequestsWriter writes the header. Errors come from Flush.
func NewRequestsWriter(w io.Writer) *RequestsWriter {
	r := &RequestsWriter{w: bufio.NewWriterSize(w, 1<<16)}
	_, r.err = r.w.WriteString(RequestsHeader + "\n")
	return r
}

// Write adds one row; it can be an Observer's Attempt.
func (r *RequestsWriter) Write(a *Attempt) {
	if r.err != nil {
		return
	}
	b := strconv.AppendInt(r.row[:0], a.Seq, 10)
	cell := func(v int64) {
		b = append(b, ',')
		if v != Absent {
			b = strconv.AppendInt(b, v, 10)
		}
	}
	at := func(t sim.Time) { cell(int64(t)) }
	at(a.Send)
	at(a.Arrive)
	cell(a.CreateMs)
	at(a.Enq)
	if a.Enq == Absent {
		cell(Absent)
	} else {
		cell(int64(a.QlenEnq))
	}
	at(a.Deq)
	cell(int64(a.Worker))
	at(a.LockReq)
	at(a.Lock)
	at(a.App0)
	at(a.App1)
	at(a.Unlock)
	at(a.Done)
	at(a.Clean)
	cell(a.Sweep)
	at(a.Resp)
	cell(int64(a.Code))
	b = append(b, ',')
	b = append(b, a.Outcome.String()...)
	cell(a.PeriodMs)
	cell(a.Qsize)
	r.row = append(b, '\n')
	_, r.err = r.w.Write(r.row)
}

// Flush ends the file and returns the first error.
func (r *RequestsWriter) Flush() error {
	if r.err != nil {
		return r.err
	}
	return r.w.Flush()
}
