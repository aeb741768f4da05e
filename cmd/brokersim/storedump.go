package main

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	line         []byte
}

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
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	if d.table {
		out.Write(d.head())
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
		if d.json {
			d.line = d.appendJSON(d.line[:0], offset, r, defect)
		} else {
			d.line = d.appendLine(d.line[:0], offset, r, defect)
		}
		if _, err := out.Write(d.line); err != nil {
			return err
		}
		if printed++; d.limit.value > 0 && printed >= d.limit.value {
			return errEnough
		}
		return nil
	})
	flushed := out.Flush()
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case err != nil && !errors.Is(err, errEnough):
		return err
	}
	notes.end(path)
	return flushed
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

func (d *dump) head() []byte {
	var b []byte
	for i, c := range columns {
		if i == len(columns)-1 && d.body == bodyNone {
			break
		}
		b = d.field(append(b, c.head...), len(b), i)
	}
	return append(b, '\n')
}

// field ends field i of a line, which began at from.
func (d *dump) field(b []byte, from, i int) []byte {
	if i == len(columns)-1 {
		return b
	}
	if !d.table {
		if i == len(columns)-2 && d.body == bodyNone {
			return b
		}
		return append(b, '\t')
	}
	for n := utf8.RuneCount(b[from:]); n < columns[i].width; n++ {
		b = append(b, ' ')
	}
	return append(b, ' ', ' ')
}

func (d *dump) appendLine(b []byte, offset int64, r *realstore.Record, defect realstore.Defect) []byte {
	from, i := len(b), 0
	next := func() {
		if len(b) == from {
			b = append(b, '-')
		}
		b = d.field(b, from, i)
		from, i = len(b), i+1
	}
	number := func(n int64) {
		b = strconv.AppendInt(b, n, 10)
		next()
	}
	text := func(t []byte) {
		b = appendPrintable(b, t)
		next()
	}
	tags, keys, _ := r.Labels()
	text(r.Topic)
	number(int64(r.QueueID))
	number(r.QueueOffset)
	number(offset)
	b = d.stored.append(b, r.StoreTimestamp)
	next()
	b = d.born.append(b, r.BornTimestamp)
	next()
	number(int64(len(r.Body)))
	if defect == realstore.DefectCRC {
		b = append(b, "bad"...)
	} else {
		b = append(b, "ok"...)
	}
	next()
	text(tags)
	text(keys)
	switch d.body {
	case bodyText:
		text(r.Body)
	case bodyHex:
		b = hex.AppendEncode(b, r.Body)
		next()
	}
	return append(b, '\n')
}

// appendJSON appends a message as an object, with its names in a fixed order.
func (d *dump) appendJSON(b []byte, offset int64, r *realstore.Record, defect realstore.Defect) []byte {
	number := func(name string, n int64) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = strconv.AppendInt(b, n, 10)
	}
	text := func(name, s string) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = appendString(b, s)
	}
	b = append(b, `{"type":"message"`...)
	text("topic", string(r.Topic))
	number("queue_id", int64(r.QueueID))
	number("queue_offset", r.QueueOffset)
	number("phy_offset", r.PhysicalOffset)
	number("size", int64(r.Size))
	number("born_ts", r.BornTimestamp)
	number("store_ts", r.StoreTimestamp)
	number("sys_flag", int64(r.SysFlag))
	number("flag", int64(r.Flag))
	number("reconsume", int64(r.ReconsumeTimes))
	number("prepared_tx_offset", r.PreparedOffset)
	number("body_crc", int64(r.BodyCRC))
	b = append(b, `,"properties":{`...)
	props := realstore.Properties(r.Properties).Map()
	for i, name := range slices.Sorted(maps.Keys(props)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendString(b, props[name])
	}
	b = append(b, '}')
	number("body_len", int64(len(r.Body)))
	sum := sha1.Sum(r.Body)
	b = append(hex.AppendEncode(append(b, `,"body_sha1":"`...), sum[:]), '"')
	text("msg_id", r.MessageID())
	text("born_host", r.BornHost.String())
	text("store_host", r.StoreHost.String())
	b = strconv.AppendBool(append(b, `,"crc_ok":`...), defect != realstore.DefectCRC)
	if defect != realstore.Sound {
		text("defect", defect.String())
		number("position", offset)
	}
	switch d.body {
	case bodyText:
		text("body", string(r.Body))
	case bodyHex:
		b = append(hex.AppendEncode(append(b, `,"body":"`...), r.Body), '"')
	}
	return append(b, "}\n"...)
}

// appendString appends a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7F || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // of a string: no error
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
