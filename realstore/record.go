package realstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strconv"
	"unicode/utf8"
)

// Magic codes of the three kinds of record (CommitLog.MESSAGE_MAGIC_CODE,
// MessageVersion.MESSAGE_VERSION_V2, CommitLog.BLANK_MAGIC_CODE).
const (
	MagicV1    uint32 = 0xDAA320A7
	MagicV2    uint32 = 0xDAA320AB // topic length in two bytes; since 5.1.0
	MagicBlank uint32 = 0xCBD43194
)

// Bits of Message.SysFlag (MessageSysFlag).
const (
	FlagCompressed     int32 = 0x1
	FlagMultiTags      int32 = 0x2
	FlagPrepared       int32 = 0x4
	FlagCommit         int32 = 0x8
	FlagRollback       int32 = 0xC // also the mask of the transaction bits
	FlagBornHostV6     int32 = 0x10
	FlagStoreHostV6    int32 = 0x20
	maskTransaction          = FlagRollback
	maskHosts                = FlagBornHostV6 | FlagStoreHostV6
	maxPropertiesBytes       = 1<<15 - 1
	maxTopicBytesV1          = 127
	maxTopicBytesV2          = 255
)

// Offsets of fields that are patched or read without decoding a whole record.
const (
	atMagic       = 4
	atCRC         = 8
	atQueueOffset = 20
	atPhysical    = 28
	atSysFlag     = 36
	atBornHost    = 48

	// recordOverhead is the length of a record of version 1, with IPv4 hosts,
	// without its body, topic and properties.
	recordOverhead = 91
	blankHead      = 8
	// maxRecordBytes bounds what a reader believes of a TOTALSIZE: the largest
	// frame of the broker's protocol (16 MiB) with room for the header.
	maxRecordBytes = 16<<20 + 1<<17
)

// Host is an address as the records hold it: the port takes four bytes and is
// not checked by anybody.
type Host struct {
	Addr netip.Addr
	Port int32
}

// HostFrom converts the usual form of an address. The zero AddrPort becomes
// 0.0.0.0:0.
func HostFrom(a netip.AddrPort) Host {
	return Host{a.Addr().Unmap(), int32(a.Port())}
}

func (h Host) v6() bool { return h.Addr.Is6() && !h.Addr.Is4In6() }

func (h Host) String() string { return string(h.Append(nil)) }

// Append appends the host as String has it.
func (h Host) Append(b []byte) []byte {
	addr := h.Addr
	if !addr.IsValid() {
		addr = netip.IPv4Unspecified()
	}
	if addr.Is6() {
		b = append(addr.AppendTo(append(b, '[')), ']')
	} else {
		b = addr.AppendTo(b)
	}
	return strconv.AppendInt(append(b, ':'), int64(h.Port), 10)
}

// bytes4 returns the IPv4 bytes of an address; an invalid one is 0.0.0.0.
func (h Host) bytes4() [4]byte {
	if a := h.Addr.Unmap(); a.Is4() {
		return a.As4()
	}
	return [4]byte{}
}

// Message is what a producer sends and the store frames. Times are milliseconds
// since 1970.
type Message struct {
	Topic                     string
	QueueID                   int32
	Flag                      int32 // the producer's, opaque
	SysFlag                   int32 // the bits of the hosts' families are set by the store
	BornTimestamp             int64
	BornHost                  Host
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	Properties                Properties
	Body                      []byte
}

// Placement is what the store adds to a message: where it lies and when it came.
type Placement struct {
	QueueOffset    int64
	PhysicalOffset int64
	StoreTimestamp int64
	StoreHost      Host
}

// Errors of messages that can't be framed (PutMessageStatus.MESSAGE_ILLEGAL).
var (
	ErrTopic      = errors.New("topic can't be stored")
	ErrProperties = errors.New("properties too long")
	ErrTooLarge   = errors.New("message too large")
)

// recordSize returns the length of a message's record.
func recordSize(m *Message, storeHost Host, v2 bool) int {
	n := recordOverhead + len(m.Body) + len(m.Topic) + len(m.Properties)
	if m.BornHost.v6() {
		n += 12
	}
	if storeHost.v6() {
		n += 12
	}
	if v2 {
		n++
	}
	return n
}

// AppendRecord appends the record of a message to dst: version 2 where the
// topic does not fit the one length byte of version 1, which only 5.1.0 and
// later read.
func AppendRecord(dst []byte, m *Message, p Placement) ([]byte, error) {
	if err := checkTopic(m.Topic); err != nil {
		return dst, err
	}
	if len(m.Properties) > maxPropertiesBytes {
		return dst, fmt.Errorf("%w: %d bytes, at most %d", ErrProperties, len(m.Properties), maxPropertiesBytes)
	}
	v2 := len(m.Topic) > maxTopicBytesV1
	if n := recordSize(m, p.StoreHost, v2); n > maxRecordBytes {
		return dst, fmt.Errorf("%w: record of %d bytes, at most %d", ErrTooLarge, n, maxRecordBytes)
	}
	return encode(dst, m, p, v2, bodyCRC(m.Body)), nil
}

// bodyCRC is what BODYCRC holds: the IEEE CRC-32 without its highest bit.
func bodyCRC(body []byte) uint32 { return crc32.ChecksumIEEE(body) & 0x7FFFFFFF }

// encode frames a message that was checked, with its body's sum.
func encode(dst []byte, m *Message, p Placement, v2 bool, crc uint32) []byte {
	return encodeAfterHead(binary.BigEndian.AppendUint64(dst, head(m, p.StoreHost, v2)), m, p, v2, crc)
}

// encodeInPlace writes a record where it belongs, its head last: a process that
// is killed meanwhile leaves no record, and not a torn one.
func encodeInPlace(dst []byte, m *Message, p Placement, v2 bool, crc uint32) {
	encodeAfterHead(dst[:blankHead:len(dst)], m, p, v2, crc)
	binary.BigEndian.PutUint64(dst, head(m, p.StoreHost, v2))
}

// copyInPlace writes records where they belong, the first one's head last.
func copyInPlace(dst, recs []byte) {
	copy(dst[blankHead:], recs[blankHead:])
	binary.BigEndian.PutUint64(dst, binary.BigEndian.Uint64(recs))
}

// head is TOTALSIZE and MAGICCODE.
func head(m *Message, storeHost Host, v2 bool) uint64 {
	magic := MagicV1
	if v2 {
		magic = MagicV2
	}
	return uint64(recordSize(m, storeHost, v2))<<32 | uint64(magic)
}

func encodeAfterHead(dst []byte, m *Message, p Placement, v2 bool, crc uint32) []byte {
	be := binary.BigEndian
	sys := m.SysFlag &^ maskHosts
	if m.BornHost.v6() {
		sys |= FlagBornHostV6
	}
	if p.StoreHost.v6() {
		sys |= FlagStoreHostV6
	}
	dst = be.AppendUint32(dst, crc)
	dst = be.AppendUint32(dst, uint32(m.QueueID))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = be.AppendUint64(dst, uint64(p.QueueOffset))
	dst = be.AppendUint64(dst, uint64(p.PhysicalOffset))
	dst = be.AppendUint32(dst, uint32(sys))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendHost(dst, m.BornHost)
	dst = be.AppendUint64(dst, uint64(p.StoreTimestamp))
	dst = appendHost(dst, p.StoreHost)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.PreparedTransactionOffset))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	if v2 {
		dst = be.AppendUint16(dst, uint16(len(m.Topic)))
	} else {
		dst = append(dst, byte(len(m.Topic)))
	}
	dst = append(dst, m.Topic...)
	dst = be.AppendUint16(dst, uint16(len(m.Properties)))
	return append(dst, m.Properties...)
}

func appendHost(dst []byte, h Host) []byte {
	if h.v6() {
		b := h.Addr.As16()
		dst = append(dst, b[:]...)
	} else {
		b := h.bytes4()
		dst = append(dst, b[:]...)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(h.Port))
}

// place fills in what is known only under the put lock.
func place(rec []byte, queueOffset, physicalOffset, storeTimestamp int64) {
	be := binary.BigEndian
	be.PutUint64(rec[atQueueOffset:], uint64(queueOffset))
	be.PutUint64(rec[atPhysical:], uint64(physicalOffset))
	at := atBornHost + 8
	if be.Uint32(rec[atSysFlag:])&uint32(FlagBornHostV6) != 0 {
		at += 12
	}
	be.PutUint64(rec[at:], uint64(storeTimestamp))
}

// putBlank writes the head of the record that fills a file to its end. What
// follows the head may be anything.
func putBlank(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	binary.BigEndian.PutUint32(b[atMagic:], MagicBlank)
}

// checkTopic refuses topics that no record or no directory can hold. It is
// wider than the broker's own pattern (Validators.PATTERN, ^[%|a-zA-Z0-9_-]+$),
// narrow enough that the name stays inside the consume queues' directory.
func checkTopic[T string | []byte](topic T) error {
	switch {
	case len(topic) == 0:
		return fmt.Errorf("%w: empty", ErrTopic)
	case len(topic) > maxTopicBytesV2:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTopic, len(topic), maxTopicBytesV2)
	case !topicIsSafe(topic):
		return fmt.Errorf("%w: %q is no name for a directory", ErrTopic, string(topic))
	}
	return nil
}

func topicIsSafe[T string | []byte](topic T) bool {
	if len(topic) == 0 || len(topic) > maxTopicBytesV2 || topic[0] == '.' {
		return false
	}
	for i := range len(topic) {
		if c := topic[i]; c < ' ' || c == '/' || c == '\\' || c == 0x7F {
			return false
		}
	}
	return true
}

// Record is a decoded record. Body, Topic and Properties are views of the bytes
// it was decoded from.
type Record struct {
	Size           int32
	Magic          uint32
	BodyCRC        uint32
	QueueID        int32
	Flag           int32
	SysFlag        int32
	ReconsumeTimes int32
	QueueOffset    int64
	PhysicalOffset int64
	BornTimestamp  int64
	StoreTimestamp int64
	PreparedOffset int64
	BornHost       Host
	StoreHost      Host
	Body           []byte
	Topic          []byte
	Properties     []byte
}

// Message returns the record as the message that was sent; it shares Body.
func (r *Record) Message() Message {
	return Message{
		Topic: string(r.Topic), QueueID: r.QueueID, Flag: r.Flag, SysFlag: r.SysFlag,
		BornTimestamp: r.BornTimestamp, BornHost: r.BornHost, ReconsumeTimes: r.ReconsumeTimes,
		PreparedTransactionOffset: r.PreparedOffset, Properties: Properties(r.Properties), Body: r.Body,
	}
}

// Placement returns what the store added to the message.
func (r *Record) Placement() Placement {
	return Placement{r.QueueOffset, r.PhysicalOffset, r.StoreTimestamp, r.StoreHost}
}

// MessageID is the offset message id (MessageDecoder.createMessageId).
func (r *Record) MessageID() string { return MessageID(r.StoreHost, r.PhysicalOffset) }

// MessageID is the host that stored a message and where it lies in that host's
// commit log, in hexadecimal.
func MessageID(storeHost Host, physicalOffset int64) string {
	return string(AppendMessageID(nil, storeHost, physicalOffset))
}

// AppendMessageID appends what MessageID returns.
func AppendMessageID(b []byte, storeHost Host, physicalOffset int64) []byte {
	const digits = "0123456789ABCDEF"
	id := appendHost(make([]byte, 0, 28), storeHost)
	for _, c := range binary.BigEndian.AppendUint64(id, uint64(physicalOffset)) {
		b = append(b, digits[c>>4], digits[c&0xF])
	}
	return b
}

// Defect says why bytes are not a record, or not one to be trusted.
type Defect uint8

// The defects, in the order in which a record is tested.
const (
	Sound       Defect = iota
	DefectShort        // the bytes end before the record does
	DefectMagic        // neither a message's magic code nor a blank record's
	DefectSize         // TOTALSIZE impossible, or not the sum of the parts
	DefectCRC          // BODYCRC is another than the body's
	DefectPlace        // PHYSICALOFFSET is not where the record lies
	DefectText         // topic or properties hold NUL bytes, as pages that were never written do
	DefectQueue        // negative queue id or queue offset
)

var defectNames = [...]string{
	"sound", "record is cut short", "illegal magic code", "impossible length", "body CRC mismatch",
	"physical offset is another than the position", "NUL bytes in topic or properties", "negative queue id or offset",
}

func (d Defect) String() string { return defectNames[d] }

// decode reads the record at the start of b. It returns the record's length
// where the magic code and TOTALSIZE are believable, even when something else
// is wrong with it: a message's, or a blank record's (r.Magic tells which).
// b must reach to the end of the file or at least of the record.
func decode(b []byte, r *Record, crc bool) (int, Defect) {
	be := binary.BigEndian
	if len(b) < blankHead {
		return 0, DefectShort
	}
	size := int(be.Uint32(b))
	r.Magic = be.Uint32(b[atMagic:])
	r.Size = int32(size)
	v2 := r.Magic == MagicV2
	switch {
	case r.Magic == MagicBlank:
		if size < blankHead {
			return 0, DefectSize
		}
		return size, Sound
	case r.Magic != MagicV1 && !v2:
		return 0, DefectMagic
	case size < recordOverhead || size > maxRecordBytes:
		return 0, DefectSize
	case size > len(b):
		return 0, DefectShort
	}
	b = b[:size]
	r.BodyCRC = be.Uint32(b[atCRC:])
	r.QueueID = int32(be.Uint32(b[12:]))
	r.Flag = int32(be.Uint32(b[16:]))
	r.QueueOffset = int64(be.Uint64(b[atQueueOffset:]))
	r.PhysicalOffset = int64(be.Uint64(b[atPhysical:]))
	r.SysFlag = int32(be.Uint32(b[atSysFlag:]))
	r.BornTimestamp = int64(be.Uint64(b[40:]))
	at, need := atBornHost, recordOverhead
	for _, f := range [2]int32{FlagBornHostV6, FlagStoreHostV6} {
		if r.SysFlag&f != 0 {
			need += 12
		}
	}
	if v2 {
		need++
	}
	if size < need {
		return 0, DefectSize
	}
	r.BornHost, at = readHost(b, at, r.SysFlag&FlagBornHostV6 != 0)
	r.StoreTimestamp = int64(be.Uint64(b[at:]))
	r.StoreHost, at = readHost(b, at+8, r.SysFlag&FlagStoreHostV6 != 0)
	r.ReconsumeTimes = int32(be.Uint32(b[at:]))
	r.PreparedOffset = int64(be.Uint64(b[at+4:]))
	at += 12

	// The three variable parts: what their lengths add up to must be TOTALSIZE.
	rest := size - need
	n := int(be.Uint32(b[at:]))
	at += 4
	if n > rest {
		return 0, DefectSize
	}
	r.Body, at, rest = b[at:at+n:at+n], at+n, rest-n
	if v2 {
		n, at = int(be.Uint16(b[at:])), at+2
	} else {
		n, at = int(b[at]), at+1
		if n > maxTopicBytesV1 {
			return 0, DefectSize // read as a signed byte by the broker
		}
	}
	if n > rest {
		return 0, DefectSize
	}
	r.Topic, at, rest = b[at:at+n:at+n], at+n, rest-n
	n, at = int(be.Uint16(b[at:])), at+2
	if n != rest || n > maxPropertiesBytes {
		return 0, DefectSize
	}
	r.Properties = b[at : at+n : at+n]
	if crc && r.BodyCRC != bodyCRC(r.Body) {
		return size, DefectCRC
	}
	return size, Sound
}

// judge tests what decode does not need to: whether the record lies where it
// says, and whether its text was ever written.
func (r *Record) judge(offset int64) Defect {
	switch {
	case r.PhysicalOffset != offset:
		return DefectPlace
	case len(r.Topic) == 0 || hasNUL(r.Topic) || hasNUL(r.Properties):
		return DefectText
	case r.QueueID < 0 || r.QueueOffset < 0:
		return DefectQueue
	}
	return Sound
}

func readHost(b []byte, at int, v6 bool) (Host, int) {
	var h Host
	if v6 {
		h.Addr = netip.AddrFrom16([16]byte(b[at:]))
		at += 16
	} else {
		h.Addr = netip.AddrFrom4([4]byte(b[at:]))
		at += 4
	}
	h.Port = int32(binary.BigEndian.Uint32(b[at:]))
	return h, at + 4
}

// javaHash is String.hashCode of a UTF-8 text: over UTF-16 units, wrapping.
func javaHash[T string | []byte](h int32, s T) int32 {
	for i := 0; i < len(s); {
		// Four at a time, as each step of 31*h waits for the one before.
		for ; i+4 <= len(s) && s[i]|s[i+1]|s[i+2]|s[i+3] < utf8.RuneSelf; i += 4 {
			h = 31*31*31*31*h + 31*31*31*int32(s[i]) + 31*31*int32(s[i+1]) + 31*int32(s[i+2]) + int32(s[i+3])
		}
		if i == len(s) {
			break
		}
		if c := s[i]; c < utf8.RuneSelf {
			h, i = 31*h+int32(c), i+1
			continue
		}
		r, n := decodeRune(s, i)
		if i += n; r >= 0x10000 {
			r -= 0x10000
			h = 31*h + 0xD800 + r>>10
			r = 0xDC00 + r&0x3FF
		}
		h = 31*h + r
	}
	return h
}

func decodeRune[T string | []byte](s T, i int) (rune, int) {
	var b [utf8.UTFMax]byte
	n := copy(b[:], s[i:])
	return utf8.DecodeRune(b[:n])
}
