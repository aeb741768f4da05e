package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/plots/numeral"
	"brokersim/realstore"
)

func newStoreDump() *cobra.Command {
	d := dump{queue: whole{value: -1, least: 0, most: math.MaxInt32}, limit: whole{value: 0, least: 1, most: math.MaxInt64}}
	cmd := &cobra.Command{
		Use:   "dump DIR",
		Short: "Print the messages of a store, one a line",
		Long: `Print the messages of a store in the order of the commit log, one a line: topic,
queue, queue offset, physical offset, store time, born time, body bytes, whether
the body has its CRC (ok, bad), tags, keys, and with --body the body. A table on a
terminal, fields separated by tabs elsewhere; - is a field that is missing.

--json prints JSON Lines with all fields of a message, one object a line.

Places that hold no message are told on stderr and passed over.`,
		Example: `  brokersim store dump ~/store --topic TopicA --queue 0 --limit 10
  brokersim store dump ~/store --from 2026-11-30T13:00:00Z --to 2026-11-30T14:00:00Z
  brokersim store dump ~/store --json --body text | jq -r .body`,
		Args: operands("one DIR", 1, 1),
	}
	body := "none"
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&d.topic, "topic", "", "messages of this `TOPIC`")
	f.Var(&d.queue, "queue", "messages of this queue id")
	f.StringVar(&d.key, "key", "", "messages with this `KEY` among KEYS, or as UNIQ_KEY")
	f.Var(&d.from, "from", "messages from this physical offset or store time on")
	f.Var(&d.to, "to", "messages before this physical offset or store time")
	f.Var(&d.limit, "limit", "print so many messages at most")
	f.Var(&quantity{set: choice([]string{"none", "text", "hex"}, func(i int) { d.body = bodyForm(i) }), text: body}, "body", "print bodies as `FORM`: text, hex, none")
	f.BoolVar(&d.json, "json", false, "print JSON Lines")
	f.BoolVar(&d.quiet, "quiet", false, "no notes of damaged places on stderr")
	f.Lookup("queue").DefValue, f.Lookup("limit").DefValue = "", ""
	cmd.RunE = action(func(cmd *cobra.Command, args []string) error {
		return d.run(cmd, args[0])
	})
	return cmd
}

// bodyForm says how a body is printed.
type bodyForm int

const (
	bodyNone bodyForm = iota
	bodyText
	bodyHex
)

// bound is a flag that is an offset of the log or a time.
type bound struct {
	text   string
	offset int64
	ms     int64
	isTime bool
}

func (x *bound) String() string { return x.text }
func (x *bound) Type() string   { return "OFFSET|TIME" }

func (x *bound) Set(text string) error {
	*x = bound{text: text}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		x.offset = n
		return nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			x.ms, x.isTime = t.UnixMilli(), true
			return nil
		}
	}
	return errors.New("want an offset of the commit log or a time such as 2026-11-30T13:00:00Z, UTC where no zone is given")
}

type dump struct {
	topic, key   string
	queue, limit whole
	from, to     bound
	body         bodyForm
	json, quiet  bool

	table        bool
	stored, born secondText
	row          []byte
	lines        []byte // not yet written
	pairs        []pair // of one message, for its object
}

// dumpBytes is how much is written at a time.
const dumpBytes = 128 << 10

// errEnough ends a scan.
var errEnough = errors.New("enough")

func (d *dump) run(cmd *cobra.Command, path string) error {
	dir, err := realstore.OpenDir(path)
	if err != nil {
		return storeError(err)
	}
	ctx := cmd.Context()
	o := realstore.ScanOptions{Resync: true, From: d.from.offset, To: d.to.offset, Progress: func(int64) error { return ctx.Err() }}
	if d.to.text != "" && !d.to.isTime && d.to.offset == 0 {
		return nil
	}
	d.table = !d.json && ui.IsTerminal(cmd.OutOrStdout())
	out := cmd.OutOrStdout()
	d.lines = make([]byte, 0, dumpBytes+dumpBytes/4)
	if d.table {
		d.lines = d.appendHead(d.lines)
	}
	notes := damage{to: talkOf(cmd, d.quiet)}
	printed := int64(0)
	err = dir.Scan(o, func(offset int64, r *realstore.Record, defect realstore.Defect) error {
		if defect != realstore.Sound {
			notes.tell(offset, defect)
		}
		if r == nil || !d.wants(r) {
			return nil
		}
		switch {
		case d.json:
			d.lines = d.appendJSON(d.lines, offset, r, defect)
		case d.table:
			d.lines = d.appendRow(d.lines, offset, r, defect)
		default:
			d.lines = d.appendLine(d.lines, offset, r, defect)
		}
		if len(d.lines) >= dumpBytes {
			if err := d.flush(out); err != nil {
				return err
			}
		}
		if printed++; d.limit.value > 0 && printed >= d.limit.value {
			return errEnough
		}
		return nil
	})
	flushed := d.flush(out)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case err != nil && !errors.Is(err, errEnough):
		return err
	}
	notes.end(path)
	return flushed
}

func (d *dump) flush(to io.Writer) error {
	lines := d.lines
	d.lines = d.lines[:0]
	if len(lines) == 0 {
		return nil
	}
	_, err := to.Write(lines)
	return err
}

func (d *dump) wants(r *realstore.Record) bool {
	return (d.topic == "" || string(r.Topic) == d.topic) &&
		(d.queue.value < 0 || int64(r.QueueID) == d.queue.value) &&
		(!d.from.isTime || r.StoreTimestamp >= d.from.ms) &&
		(!d.to.isTime || r.StoreTimestamp < d.to.ms) &&
		(d.key == "" || hasKey(r, d.key))
}

func hasKey(r *realstore.Record, key string) bool {
	_, keys, uniqKey := r.Labels()
	if string(uniqKey) == key {
		return true
	}
	for word := range bytes.SplitSeq(keys, []byte(" ")) {
		if string(word) == key {
			return true
		}
	}
	return false
}

// columns are the heads and, on a terminal, the least widths of a line's fields.
var columns = [...]struct {
	head  string
	width int
}{
	{"topic", 20}, {"queue", 5}, {"offset", 8}, {"physical", 12}, {"stored", 24}, {"born", 24}, {"bytes", 7}, {"crc", 3}, {"tags", 10}, {"keys", 12}, {"body", 0},
}

func (d *dump) appendHead(b []byte) []byte {
	for i, c := range columns {
		if i == len(columns)-1 && d.body == bodyNone {
			break
		}
		b = d.pad(append(b, c.head...), len(b), i)
	}
	return append(b, '\n')
}

// pad fills field i of a row, which began at from.
func (d *dump) pad(b []byte, from, i int) []byte {
	if i == len(columns)-1 {
		return b
	}
	for n := utf8.RuneCount(b[from:]); n < columns[i].width; n++ {
		b = append(b, ' ')
	}
	return append(b, ' ', ' ')
}

// appendRow appends a message as a row of the table: a line whose fields are
// padded. No field has a tab in it.
func (d *dump) appendRow(b []byte, offset int64, r *realstore.Record, defect realstore.Defect) []byte {
	d.row = d.appendLine(d.row[:0], offset, r, defect)
	i := 0
	for field := range bytes.SplitSeq(d.row[:len(d.row)-1], []byte("\t")) {
		b = d.pad(append(b, field...), len(b), i)
		i++
	}
	return append(b, '\n')
}

// appendLine appends a message as fields between tabs.
func (d *dump) appendLine(b []byte, offset int64, r *realstore.Record, defect realstore.Defect) []byte {
	tags, keys, _ := r.Labels()
	b = append(appendField(b, r.Topic), '\t')
	b = append(strconv.AppendInt(b, int64(r.QueueID), 10), '\t')
	b = append(strconv.AppendInt(b, r.QueueOffset, 10), '\t')
	b = append(strconv.AppendInt(b, offset, 10), '\t')
	b = append(d.stored.append(b, r.StoreTimestamp), '\t')
	b = append(d.born.append(b, r.BornTimestamp), '\t')
	b = append(strconv.AppendInt(b, int64(len(r.Body)), 10), '\t')
	if defect == realstore.DefectCRC {
		b = append(b, "bad\t"...)
	} else {
		b = append(b, "ok\t"...)
	}
	b = append(appendField(b, tags), '\t')
	b = appendField(b, keys)
	switch {
	case d.body == bodyNone:
	case len(r.Body) == 0:
		b = append(b, "\t-"...)
	case d.body == bodyText:
		b = appendPrintable(append(b, '\t'), r.Body)
	default:
		b = hex.AppendEncode(append(b, '\t'), r.Body)
	}
	return append(b, '\n')
}

// appendField appends a text, or - for none.
func appendField(b, text []byte) []byte {
	if len(text) == 0 {
		return append(b, '-')
	}
	return appendPrintable(b, text)
}

// appendJSON appends a message as an object, with its names in a fixed order.
func (d *dump) appendJSON(b []byte, offset int64, r *realstore.Record, defect realstore.Defect) []byte {
	b = appendString(append(b, `{"type":"message","topic":`...), r.Topic)
	for _, n := range [...]struct {
		name  string
		value int64
	}{
		{`,"queue_id":`, int64(r.QueueID)},
		{`,"queue_offset":`, r.QueueOffset},
		{`,"phy_offset":`, r.PhysicalOffset},
		{`,"size":`, int64(r.Size)},
		{`,"born_ts":`, r.BornTimestamp},
		{`,"store_ts":`, r.StoreTimestamp},
		{`,"sys_flag":`, int64(r.SysFlag)},
		{`,"flag":`, int64(r.Flag)},
		{`,"reconsume":`, int64(r.ReconsumeTimes)},
		{`,"prepared_tx_offset":`, r.PreparedOffset},
		{`,"body_crc":`, int64(r.BodyCRC)},
	} {
		b = strconv.AppendInt(append(b, n.name...), n.value, 10)
	}
	b = d.appendProperties(append(b, `,"properties":`...), r)
	b = strconv.AppendInt(append(b, `,"body_len":`...), int64(len(r.Body)), 10)
	sum := sha1.Sum(r.Body)
	b = hex.AppendEncode(append(b, `,"body_sha1":"`...), sum[:])
	b = realstore.AppendMessageID(append(b, `","msg_id":"`...), r.StoreHost, r.PhysicalOffset)
	b = r.BornHost.Append(append(b, `","born_host":"`...))
	b = r.StoreHost.Append(append(b, `","store_host":"`...))
	b = strconv.AppendBool(append(b, `","crc_ok":`...), defect != realstore.DefectCRC)
	if defect != realstore.Sound {
		b = appendString(append(b, `,"defect":`...), []byte(defect.String()))
		b = strconv.AppendInt(append(b, `,"position":`...), offset, 10)
	}
	switch d.body {
	case bodyText:
		b = appendString(append(b, `,"body":`...), r.Body)
	case bodyHex:
		b = append(hex.AppendEncode(append(b, `,"body":"`...), r.Body), '"')
	}
	return append(b, "}\n"...)
}

// appendProperties appends a message's properties as an object, in the order of
// their names; of several with one name the last stands.
func (d *dump) appendProperties(b []byte, r *realstore.Record) []byte {
	d.pairs = d.pairs[:0]
	for name, value := range r.Pairs() {
		d.pairs = append(d.pairs, pair{name, value})
	}
	slices.SortStableFunc(d.pairs, func(p, q pair) int { return bytes.Compare(p.name, q.name) })
	b = append(b, '{')
	from := len(b)
	for i, p := range d.pairs {
		if i+1 < len(d.pairs) && bytes.Equal(p.name, d.pairs[i+1].name) {
			continue
		}
		if len(b) > from {
			b = append(b, ',')
		}
		b = append(appendString(b, p.name), ':')
		b = appendString(b, p.value)
	}
	return append(b, '}')
}

// pair is a property.
type pair struct{ name, value []byte }

// appendString appends a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendString(b, s []byte) []byte {
	for _, c := range s {
		if c < ' ' || c >= 0x7F || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(string(s)) // of a string: no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// damage tells of the places that hold no sound message.
type damage struct {
	to io.Writer
	n  int64
}

// damageMost is how many places are told one by one.
const damageMost = 20

func (x *damage) tell(offset int64, defect realstore.Defect) {
	if x.n++; x.n <= damageMost {
		fmt.Fprintf(x.to, "offset %d: %v\n", offset, defect)
	}
}

func (x *damage) end(path string) {
	if x.n > 0 {
		fmt.Fprintf(x.to, "%s; all of them: %s\n", numeral.Plural(x.n, "damaged place"), ui.Command("brokersim", "store", "verify", path))
	}
}
