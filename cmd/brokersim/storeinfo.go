package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/realstore"
)

func newStoreInfo() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info DIR",
		Short: "Outline a store: files, offsets, times, queues, release",
		Long: fmt.Sprintf(`Outline a store: sizes, files, offsets, times, checkpoint, abort, index files,
queues, and what the records say of the broker's release. Of the commit log it
reads the first %d records and the last file with any; it tests no CRC: for that
there is verify.`, firstRecords),
		Example: "  brokersim store info ~/store",
		Args:    operands("one DIR", 1, 1),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		in, err := outline(args[0])
		if err != nil {
			return storeError(err)
		}
		if asJSON {
			data, err := encode(in)
			if err == nil {
				_, err = cmd.OutOrStdout().Write(data)
			}
			return err
		}
		return in.tell(cmd.OutOrStdout())
	})
	return cmd
}

// firstRecords is how many of a store's first records info reads.
const firstRecords = 1000

// storeOutline is what info tells. Offsets are bytes, times ms.
type storeOutline struct {
	Dir        string                `json:"dir"`
	Abort      bool                  `json:"abort"`
	Files      int                   `json:"commitlog_files"`
	FileSize   int64                 `json:"commitlog_file_size"`
	First      int64                 `json:"min_phy_offset"`
	End        int64                 `json:"end_of_last_message"`
	FirstTime  int64                 `json:"first_store_ts"`
	LastTime   int64                 `json:"last_store_ts"`
	Looked     int64                 `json:"records_looked_at"`
	Checkpoint *realstore.Checkpoint `json:"checkpoint"`
	Queued     int64                 `json:"messages_in_queues"`
	Queues     []queueOutline        `json:"queues"`
	Index      []indexOutline        `json:"index"`
	Hints      []string              `json:"hints"`
	Release    string                `json:"release"`
}

type queueOutline struct {
	Topic string `json:"topic"`
	ID    int32  `json:"queue_id"`
	Min   int64  `json:"min"`
	Max   int64  `json:"max"`
	Files int    `json:"files"`
}

type indexOutline struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Keys    int32  `json:"keys"`
	Slots   int    `json:"slots"`
	Entries int    `json:"entries"`
	Begin   int64  `json:"begin_ts"`
	End     int64  `json:"end_ts"`
}

func outline(path string) (*storeOutline, error) {
	dir, err := realstore.OpenDir(path)
	if err != nil {
		return nil, err
	}
	in, err := dir.Info()
	if err != nil {
		return nil, err
	}
	o := &storeOutline{Dir: path, Abort: in.Abort, Files: len(in.CommitLog), Checkpoint: in.Checkpoint, Queues: []queueOutline{}, Index: []indexOutline{}, Hints: []string{}}
	for _, q := range in.Queues {
		o.Queues = append(o.Queues, queueOutline{q.Topic, q.QueueID, q.Min, q.Max, q.Files})
		o.Queued += max(q.Max-q.Min, 0)
	}
	for _, x := range in.Index {
		o.Index = append(o.Index, indexOutline{filepath.Base(x.Path), x.Size, max(x.Header.IndexCount-1, 0), x.Slots, x.Entries, x.Header.BeginTimestamp, x.Header.EndTimestamp})
	}
	var h releaseHints
	if err := o.records(dir, in.CommitLog, &h); err != nil {
		return nil, err
	}
	h.files(path, &in)
	o.Hints, o.Release = h.told, h.release()
	return o, nil
}

// records looks at the first records and at the last file that has any.
func (o *storeOutline) records(dir *realstore.Dir, files []realstore.FileInfo, h *releaseHints) error {
	if len(files) == 0 {
		return nil
	}
	o.FileSize, o.First, o.End = files[0].Size, files[0].Base, files[0].Base
	see := func(offset int64, r *realstore.Record, _ realstore.Defect) error {
		if r == nil {
			return nil
		}
		h.record(r)
		if o.Looked == 0 {
			o.FirstTime = r.StoreTimestamp
		}
		o.Looked++
		o.End, o.LastTime = offset+int64(r.Size), r.StoreTimestamp
		return nil
	}
	read := int64(0) // the end of what was looked at
	err := dir.Scan(realstore.ScanOptions{SkipCRC: true}, func(offset int64, r *realstore.Record, d realstore.Defect) error {
		if o.Looked >= firstRecords {
			return errEnough
		}
		read = offset + 1
		return see(offset, r, d)
	})
	if err != errEnough { // all of it
		return err
	}
	for i := len(files) - 1; i >= 0; i-- {
		f, before := files[i], o.Looked
		o := realstore.ScanOptions{SkipCRC: true, From: max(f.Base, read), To: f.Base + f.Size}
		if err := dir.Scan(o, see); err != nil {
			return err
		}
		if h.looked > before {
			return nil
		}
	}
	return nil
}

func (o *storeOutline) tell(w io.Writer) error {
	style := ui.StyleOf(w)
	out := bufio.NewWriter(w)
	stop := "stopped cleanly"
	if o.Abort {
		stop = "abort is there: not stopped cleanly, or in use"
	}
	fmt.Fprintf(out, "%s\n\n", style.Bold(fmt.Sprintf("%s in %s; %s", numeral.Plural(o.Queued, "message"), numeral.Plural(int64(len(o.Queues)), "queue"), stop)))
	t := ui.NewTable("", "")
	t.Row("commit log", fmt.Sprintf("%s of %s, offsets %d to %d", numeral.Plural(int64(o.Files), "file"), byteSize(o.FileSize), o.First, o.End))
	if o.Looked > 0 {
		t.Row("stored", storeTime(o.FirstTime)+" to "+storeTime(o.LastTime))
	}
	if c := o.Checkpoint; c != nil {
		t.Row("checkpoint", fmt.Sprintf("log %s, queues %s, index %s", timeOrNone(c.PhysicMsgTimestamp), timeOrNone(c.LogicsMsgTimestamp), timeOrNone(c.IndexMsgTimestamp)))
		if c.MasterFlushed != 0 || c.ConfirmPhyOffset != 0 {
			t.Row("", fmt.Sprintf("master flushed to %d, confirmed to %d", c.MasterFlushed, c.ConfirmPhyOffset))
		}
	} else {
		t.Row("checkpoint", "none")
	}
	for i, x := range o.Index {
		name := "index"
		if i > 0 {
			name = ""
		}
		t.Row(name, fmt.Sprintf("%s: %s, %s of %d in %d slots, %s to %s", x.Name, byteSize(x.Size), numeral.Plural(int64(x.Keys), "key"),
			max(x.Entries-1, 0), x.Slots, timeOrNone(x.Begin), timeOrNone(x.End)))
	}
	t.Row("release", o.Release+", by "+numeral.Plural(o.Looked, "record")+" looked at")
	for _, hint := range o.Hints {
		t.Row("", hint)
	}
	t.Write(out, 0, max(style.Width, 200))
	if len(o.Queues) > 0 {
		fmt.Fprintln(out)
		t := ui.NewTable("topic", ">queue", ">min", ">max", ">messages", ">files")
		for _, q := range o.Queues {
			t.Row(printable(q.Topic), fmt.Sprint(q.ID), fmt.Sprint(q.Min), fmt.Sprint(q.Max), numeral.Count(max(q.Max-q.Min, 0)), fmt.Sprint(q.Files))
		}
		t.Write(out, 0, max(style.Width, 200))
	}
	return out.Flush()
}

func timeOrNone(ms int64) string {
	if ms == 0 {
		return "none"
	}
	return storeTime(ms)
}

// since are the releases at which what a store shows of its broker changed;
// releaseHints counts the spans between them.
var since = [...]string{"4.0.0", "4.6.0", "4.9.1", "4.9.4", "5.0.0", "5.1.0", "5.2.0"}

// spans is a set of spans between releases: bit i is from since[i] on.
type spans uint

func from(i int) spans { return 1<<len(since) - 1<<i }

// releaseHints is what a store tells of the release that wrote it.
type releaseHints struct {
	looked                                      int64
	v2, ended, unended, cluster, v6, flags, sum bool
	told                                        []string
	can                                         spans
}

func (h *releaseHints) record(r *realstore.Record) {
	h.looked++
	h.v2 = h.v2 || r.Magic == realstore.MagicV2
	h.v6 = h.v6 || r.SysFlag&(realstore.FlagBornHostV6|realstore.FlagStoreHostV6) != 0
	h.flags = h.flags || r.SysFlag&0x7C0 != 0
	if n := len(r.Properties); n > 0 {
		ended := r.Properties[n-1] == 2
		h.ended, h.unended = h.ended || ended, h.unended || !ended
		h.cluster = h.cluster || bytes.Contains(r.Properties, []byte("CLUSTER\x01"))
		h.sum = h.sum || bytes.Contains(r.Properties, []byte("__CRC32#\x01"))
	}
}

// files turns what was seen into hints, with what lies beside the log.
func (h *releaseHints) files(path string, in *realstore.Info) {
	h.can = from(0)
	hint := func(seen bool, can spans, text string) {
		if seen {
			h.can &= can
			h.told = append(h.told, text)
		}
	}
	hint(h.v2, from(5), "records of version 2: 5.1.0 or later")
	hint(h.ended, from(0)&^from(2)|from(6), "properties end in a separator: before 4.9.1, or 5.2.0 or later")
	// Up to 4.5.2 the broker keeps the producer's own.
	hint(h.unended, from(0)&^from(1)|from(2)&^from(6), "properties end without a separator: from 4.9.1, before 5.2.0, or such a producer before 4.6.0")
	hint(h.cluster, from(1), "property CLUSTER: 4.6.0 or later")
	hint(h.v6, from(1), "IPv6 hosts: 4.6.0 or later")
	hint(h.flags, from(3), "newer bits in SYSFLAG: 4.9.4 or later")
	hint(h.sum, from(6), "property __CRC32#: 5.2.0 or later")
	for _, x := range in.Index {
		keys, slots := int64(x.Header.IndexCount)-1, int64(x.Slots)
		switch counted := int64(x.Header.HashSlotCount); {
		case slots == 0 || keys < 1 || counted < 1 || counted > keys+1:
			continue
		case counted < keys:
			hint(true, from(3), "the index counts slots: 4.9.4 or later")
		case keys > 1 && keys > 40*slots/keys: // surely two keys share a slot
			hint(true, from(0)&^from(3), "the index counts keys: before 4.9.4")
		}
		break
	}
	hint(in.Checkpoint != nil && in.Checkpoint.MasterFlushed != 0, from(4), "the checkpoint holds a flushed offset: 5.0.0 or later")
	fi, err := os.Stat(filepath.Join(path, "abort"))
	hint(err == nil && fi.Mode().IsRegular() && fi.Size() > 0, from(4), "abort holds text: 5.0.0 or later")
}

// release puts what is left in words.
func (h *releaseHints) release() string {
	if h.can == 0 {
		return "more than one wrote this"
	}
	if h.can == from(0) {
		return "any"
	}
	text := ""
	for i := 0; i < len(since); i++ {
		if h.can>>i&1 == 0 {
			continue
		}
		first := i
		for i < len(since) && h.can>>i&1 != 0 {
			i++
		}
		if text != "" {
			text += ", or "
		}
		switch {
		case first == 0:
			text += "before " + since[i]
		case i == len(since):
			text += since[first] + " or later"
		default:
			text += "from " + since[first] + ", before " + since[i]
		}
	}
	return text
}
