package realstore

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func host(s string) Host { return HostFrom(netip.MustParseAddrPort(s)) }

// vectorMessage is the i-th message of the record vectors, written by the
// stores of 4.2.0, 4.9.4 and 5.3.3 alike (facts §14.1).
func vectorMessage(i int) Message {
	body := []byte{'h', 'e', 'l', 'l', 'o', byte('0' + i)}
	if i == 3 {
		body = make([]byte, 300)
	}
	n := string(rune('0' + i))
	return Message{
		Topic: "TopicTest", QueueID: 1, Flag: 7, BornTimestamp: 1500000000000, BornHost: host("10.0.0.1:12345"), Body: body,
		Properties: MakeProperties("4.2.0", Property{"TAGS", "TagA"}, Property{"KEYS", "k" + n}, Property{"UNIQ_KEY", "U" + n}),
	}
}

func vectorPlacement(i int) Placement {
	return Placement{int64(i), [...]int64{0, 136, 272, 512}[i], 1796045554713, host("10.0.0.2:10911")}
}

func TestRecordVector(t *testing.T) {
	want := fromHex(t, `00000088 daa320a7 7036e992 00000001 00000007 0000000000000000 0000000000000000 00000000 0000015d3ef79800
		0a00000100003039 000001a22ca84419 0a00000200002a9f 00000000 0000000000000000 00000006 68656c6c6f30 09 546f70696354657374
		001e 544147530154616741024b455953016b3002554e49515f4b455901553002`)
	m := vectorMessage(0)
	p := vectorPlacement(0)
	p.StoreTimestamp = 0x1a22ca84419
	got, err := AppendRecord(nil, &m, p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hex.Dump(want), hex.Dump(got)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	for i, want := range []struct {
		size int
		crc  uint32
		id   string
	}{
		{136, 0x7036e992, "0A00000200002A9F0000000000000000"}, {136, 0x0731d904, "0A00000200002A9F0000000000000088"},
		{136, 0x1e3888be, "0A00000200002A9F0000000000000110"}, {430, 0x35348fd2, "0A00000200002A9F0000000000000200"},
	} {
		m := vectorMessage(i)
		b, err := AppendRecord(nil, &m, vectorPlacement(i))
		if err != nil {
			t.Fatal(err)
		}
		var r Record
		n, d := decode(b, &r, true)
		if n != want.size || d != Sound || r.BodyCRC != want.crc || r.MessageID() != want.id {
			t.Errorf("record %d: size %d %v crc %08x id %s, want %+v", i, n, d, r.BodyCRC, r.MessageID(), want)
		}
		p := parse(r.Properties)
		if code := tagsCode(&r, &p); code != 2598919 {
			t.Errorf("tags code %d, want 2598919", code)
		}
	}
}

func TestKeyHashVector(t *testing.T) {
	for key, want := range map[string]int32{"U0": 2745341, "k0": 2746023} {
		if got := keyHash(31*javaHash(0, "TopicTest")+'#', []byte(key)); got != want {
			t.Errorf("keyHash(TopicTest#%s) = %d, want %d", key, got, want)
		}
	}
	// Computed by java.lang.String.hashCode.
	for s, want := range map[string]int32{"": 0, "TagA": 2598919, "größe": 98762257, "日本": 835047, "😀": 1772899, "polygenelubricants": -2147483648} {
		if got := javaHash(0, s); got != want {
			t.Errorf("javaHash(%q) = %d, want %d", s, got, want)
		}
	}
	if got := keyHash(0, []byte("polygenelubricants")); got != 0 {
		t.Errorf("negative key hash %d", got)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	long := strings.Repeat("t", 128)
	for _, tc := range []struct {
		name  string
		m     Message
		store string
		size  int
		magic uint32
	}{
		{"least", Message{Topic: "T"}, "127.0.0.1:1", 92, MagicV1},
		{"born on IPv6", Message{Topic: "T", BornHost: host("[2001:db8::1]:9")}, "127.0.0.1:1", 104, MagicV1},
		{"stored on IPv6", Message{Topic: "T"}, "[2001:db8::2]:1", 104, MagicV1},
		{"both on IPv6", Message{Topic: "T", BornHost: host("[::1]:9")}, "[2001:db8::2]:1", 116, MagicV1},
		{"long topic", Message{Topic: long}, "127.0.0.1:1", 220, MagicV2},
		{"long topic, IPv6", Message{Topic: long, BornHost: host("[::1]:9"), Body: []byte("x")}, "[::1]:1", 245, MagicV2},
		{"everything", Message{Topic: "%RETRY%g", QueueID: 9, Flag: -1, SysFlag: FlagCommit | FlagCompressed, BornTimestamp: 1, ReconsumeTimes: 16,
			PreparedTransactionOffset: 77, Body: bytes.Repeat([]byte("b"), 5000), Properties: "a\x01b\x02c\x01d"}, "1.2.3.4:65535", 5106, MagicV1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := Placement{5, 1 << 40, 1234, host(tc.store)}
			b, err := AppendRecord([]byte("before"), &tc.m, p)
			if err != nil {
				t.Fatal(err)
			}
			b = append(b[len("before"):], "after"...)
			var r Record
			n, d := decode(b, &r, true)
			if n != tc.size || d != Sound || r.judge(1<<40) != Sound || r.Magic != tc.magic {
				t.Fatalf("size %d, %v, magic %x; want %d, sound, %x", n, d, r.Magic, tc.size, tc.magic)
			}
			again := r.Message()
			b2, err := AppendRecord(nil, &again, r.Placement())
			if err != nil || !bytes.Equal(b2, b[:n]) {
				t.Errorf("written again: %v\n%s", err, cmp.Diff(hex.Dump(b[:n]), hex.Dump(b2)))
			}
			place(b, 6, 7, 8)
			decode(b, &r, true)
			if r.QueueOffset != 6 || r.PhysicalOffset != 7 || r.StoreTimestamp != 8 {
				t.Errorf("placed at %d %d %d, want 6 7 8", r.QueueOffset, r.PhysicalOffset, r.StoreTimestamp)
			}
		})
	}
}

func TestRecordDefects(t *testing.T) {
	m := vectorMessage(0)
	good, err := AppendRecord(nil, &m, vectorPlacement(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		at   int
		to   []byte
		want Defect
	}{
		{"magic", 4, []byte{0}, DefectMagic}, {"length too small", 0, []byte{0, 0, 0, 90}, DefectSize},
		{"length past the file", 0, []byte{0, 0, 1, 0}, DefectShort}, {"negative length", 0, []byte{0xff}, DefectSize},
		{"body length", 84, []byte{0xff}, DefectSize}, {"body length too long by one", 87, []byte{7}, DefectSize},
		{"body", 88, []byte{'j'}, DefectCRC}, {"CRC", 11, []byte{0}, DefectCRC}, {"CRC, masked bit", 8, []byte{0xf0}, DefectCRC},
		{"topic length", 94, []byte{200}, DefectSize}, {"properties length", 104, []byte{0x80}, DefectSize},
		{"IPv6 flag", 39, []byte{0x10}, DefectSize}, {"place", 35, []byte{1}, DefectPlace},
		{"lost sector", 106, make([]byte, 30), DefectText}, {"queue", 12, []byte{0x80}, DefectQueue},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := append(bytes.Clone(good), 0, 0)
			copy(b[tc.at:], tc.to)
			var r Record
			_, d := decode(b, &r, true)
			if d == Sound {
				d = r.judge(0)
			}
			if d != tc.want {
				t.Errorf("%v, want %v", d, tc.want)
			}
		})
	}
	for n := range len(good) {
		var r Record
		if _, d := decode(good[:n], &r, true); d == Sound {
			t.Errorf("%d of %d bytes pass for a record", n, len(good))
		}
	}
}

func TestMessagesThatCantBeFramed(t *testing.T) {
	for name, m := range map[string]Message{
		"no topic": {}, "parent": {Topic: ".."}, "path": {Topic: "a/b"}, "NUL": {Topic: "a\x00"}, "topic": {Topic: strings.Repeat("x", 256)},
		"properties": {Topic: "T", Properties: Properties(strings.Repeat("x", 32768))}, "body": {Topic: "T", Body: make([]byte, maxRecordBytes)},
	} {
		if _, err := AppendRecord(nil, &m, Placement{}); err == nil {
			t.Errorf("%s: framed", name)
		}
	}
}

func TestProperties(t *testing.T) {
	p := MakeProperties("4.3.2", Property{"A", "1"}, Property{"", "x"}, Property{"B", "2\x02"}, Property{"C", "ü"})
	if p != "A\x011\x02C\x01ü\x02" {
		t.Errorf("made %q", p)
	}
	if p := MakeProperties("4.9.4", Property{"A", "1"}); p != "A\x011" {
		t.Errorf("made %q for 4.9.4, want no separator at the end", p)
	}
	odd := Properties("A\x011\x02\x02\x01x\x02B\x02C\x01\x02D\x01x\x01y\x02A\x012")
	if diff := cmp.Diff(map[string]string{"A": "2"}, odd.Map()); diff != "" {
		t.Errorf("odd properties (-want +got):\n%s", diff)
	}
	p2 := parse([]byte("TAGS\x01a\x02KEYS\x01b\x02TAGS\x01c"))
	if string(p2.tags) != "c" || string(p2.keys) != "b" || !p2.proper || parse([]byte(odd)).proper {
		t.Errorf("parsed %+v, want the last of TAGS", p2)
	}
	for p, want := range map[Properties]bool{"": true, "WAIT\x01false\x02": false, "A\x01b\x02WAIT\x01false": false, "WAIT\x01true\x02": true, "XWAIT\x01false\x02": true, "WAIT\x01falsey\x02": true} {
		if p.wants() != want {
			t.Errorf("%q waits: %v, want %v", p, !want, want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	for i := range 4 {
		m := vectorMessage(i)
		b, _ := AppendRecord(nil, &m, vectorPlacement(i))
		f.Add(b)
	}
	m := Message{Topic: strings.Repeat("t", 130), BornHost: host("[::1]:1")}
	b, _ := AppendRecord(nil, &m, Placement{StoreHost: host("[::2]:1")})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		n, d := decode(b, &r, true)
		if n < 0 || n > len(b) && r.Magic != MagicBlank {
			t.Fatalf("length %d of %d bytes", n, len(b))
		}
		if d != Sound || r.Magic == MagicBlank {
			return
		}
		p := parse(r.Properties)
		tagsCode(&r, &p)
		indexKeys(&r, &p, func(h int32) error {
			if h < 0 {
				t.Fatalf("key hash %d", h)
			}
			return nil
		})
		if checkTopic(r.Topic) != nil || (r.Magic == MagicV2) != (len(r.Topic) > maxTopicBytesV1) {
			return
		}
		// IPv4 addresses in 16 bytes are the one form that is not written again as it was.
		if r.BornHost.Addr.Is4In6() || r.StoreHost.Addr.Is4In6() {
			return
		}
		msg := r.Message()
		again, err := AppendRecord(nil, &msg, r.Placement())
		if err != nil || !bytes.Equal(again, b[:n]) {
			t.Fatalf("%v: written again\n%x\nwant\n%x", err, again, b[:n])
		}
	})
}
