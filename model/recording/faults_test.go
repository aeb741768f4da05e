package recording

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"brokersim/model"
)

const goodSettings = `{"name": "x", "title": "X", "rocketmq_version": "V4_3_2", "broker": {}, "wall_frac_ns_at_t0": 5}`

// folder is an experiment with the given settings and one request.
func folder(settings string) fstest.MapFS {
	return fstest.MapFS{
		"experiment.json": {Data: []byte(settings)},
		"requests.csv":    {Data: []byte("seq,arrive_ns\n0,1\n")},
		"stalls.csv":      {Data: []byte("kind,start_ns,end_ns\n")},
		"sweeps.csv":      {Data: []byte("sweep,start_ns\n0,3000000\n")},
	}
}

func TestSettingsFaults(t *testing.T) {
	for _, c := range []struct{ name, settings, want string }{
		{"good", goodSettings, ""},
		{"null", `null`, `experiment.json: want an object with the broker's settings in "broker"`},
		{"empty", `{}`, `experiment.json: want an object with the broker's settings in "broker"`},
		{"a list", "\n[]", "experiment.json:2: want an object, got array"},
		{"cut", `{"name": `, "experiment.json:1: not JSON: unexpected end of JSON input"},
		{"another kind", "{\"broker\": {},\n\"stalls_ms\": true}", "experiment.json:2: stalls_ms: want a list, got true or false"},
		{"a name that is a number", `{"broker": {}, "name": 5}`, "experiment.json:1: name: want a string, got number"},
		{"an escape sequence", `{"broker": {}, "title": "a\u001b[2Jb"}`, `experiment.json: title: want a text without control characters, got "a\x1b[2Jb"`},
		{"a new line", `{"broker": {}, "name": "a\nb"}`, `experiment.json: name: want a text without control characters, got "a\nb"`},
		{"a list for a boolean", `{"broker": {"useReentrantLockWhenPutMessage": [1]}}`, "experiment.json: broker.useReentrantLockWhenPutMessage: want true or false, got [1]"},
		{"a word for a boolean", `{"broker": {"brokerFastFailureEnable": "yes"}}`, `experiment.json: broker.brokerFastFailureEnable: want true or false, got "yes"`},
		{"an unknown word", `{"broker": {"flushDiskType": "SYNC"}}`, `experiment.json: broker.flushDiskType: want one of ASYNC_FLUSH, SYNC_FLUSH, got "SYNC"`},
		{"out of bounds", `{"broker": {"waitTimeMillsInSendQueue": 3600000001, "sendMessageThreadPoolNums": 0}}`,
			"experiment.json: broker.sendMessageThreadPoolNums: want a whole number from 1 to 10000, got 0\n" +
				"experiment.json: broker.waitTimeMillsInSendQueue: want a whole number from 0 to 3600000000, got 3600000001"},
		{"an object for a number", `{"broker": {"waitTimeMillsInSendQueue": {"ms": 5}}}`,
			`experiment.json: broker.waitTimeMillsInSendQueue: want a whole number from 0 to 3600000000, got {"ms":5}`},
		{"endless", `{"name": "` + strings.Repeat("x", settingsMax), "experiment.json: want at most 1048576 bytes, it is longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(folder(c.settings), base())
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("error:\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// What stands for what a folder lacks is said, and so is what is not read.
func TestSubstitutes(t *testing.T) {
	const read = ", which takes of the broker sendMessageThreadPoolNums, sendThreadPoolQueueCapacity, osPageCacheBusyTimeOutMills, waitTimeMillsInSendQueue, " +
		"useReentrantLockWhenPutMessage, brokerFastFailureEnable, transientStorePoolEnable, flushDiskType, brokerRole"
	for _, c := range []struct {
		name, settings string
		without        []string
		want           []string
	}{
		{"all there", goodSettings, nil, nil},
		{"no version, no fraction", `{"broker": {}}`, nil, []string{
			"experiment.json has no rocketmq_version: simulated as " + model.DefaultRelease,
			"experiment.json has no wall_frac_ns_at_t0: the phase of the wall clock is drawn"}},
		{"no sweeps, no stalls", goodSettings, []string{"sweeps.csv", "stalls.csv"}, []string{
			"no sweeps.csv: the phase of the sweep is drawn",
			"no stalls.csv, and neither stalls_ms nor freezes_ms: simulated without a stall"}},
		{"stalls as asked for", strings.Replace(goodSettings, "{", `{"stalls_ms": [[1, 2]], `, 1), []string{"stalls.csv"}, []string{
			"no stalls.csv: stalls_ms and freezes_ms are simulated as they were asked for"}},
		{"misspelt", strings.Replace(goodSettings, `"broker": {`, `"stals_ms": [], "broker": {"listenPort": 1, "waitTimeMillsInSendQueu": 500`, 1), nil, []string{
			`experiment.json: "stals_ms" is not known and not read`,
			`experiment.json: broker."waitTimeMillsInSendQueu" is not read by a replay` + read}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(c.settings)
			for _, name := range c.without {
				delete(dir, name)
			}
			e, err := Open(dir, base())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, e.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableFaults(t *testing.T) {
	zipped := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fmt.Fprint(z, text)
		z.Close()
		return b.Bytes()
	}
	damaged := zipped(strings.Repeat("seq,arrive_ns\n", 2))
	damaged[len(damaged)-6] ^= 1 // of the checksum
	var many strings.Builder
	for range faultsMax + 7 {
		many.WriteString("\nx,1")
	}
	for _, c := range []struct {
		name, text, want string
	}{
		{"past the longest run", "seq,arrive_ns\n0,3600000000000000\n1,3600000000000001", "f:3: arrive_ns: want 0 to 3600000000000000, got 3600000000000001"},
		{"a byte order mark", "\ufeffseq,arrive_ns\n", "f:1: a byte order mark before the first column: want a CSV without one"},
		{"quotes", "\"seq\",\"arrive_ns\"\n", `f:1: quoted columns ("\"seq\""): want plain cells`},
		{"semicolons", "seq;arrive_ns\n", `f:1: cells separated by ';': want commas`},
		{"no such column", "seq,arrives_ns\n", `f:1: no column arrive_ns; the header has "seq,arrives_ns"`},
		{"no gzip", "\x1f\x8b but no gzip", "f: damaged gzip: invalid header"},
		{"damaged gzip", string(damaged), "f:2: after this line: damaged gzip: invalid checksum"},
		{"truncated gzip", string(zipped("seq,arrive_ns\n0,1\n")[:20]), "f:1: the file ends early (truncated gzip)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadRequests("f", strings.NewReader(c.text))
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("error: got %v, want %s", err, c.want)
			}
		})
	}
	t.Run("more than are listed", func(t *testing.T) {
		_, err := ReadRequests("f", strings.NewReader("seq,arrive_ns"+many.String()))
		if err == nil || strings.Count(err.Error(), "want a whole number") != faultsMax || !strings.HasSuffix(err.Error(), "\nf: and 7 more") {
			t.Errorf("error: got %v", err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		_, err := ReadRequests("f", io.MultiReader(strings.NewReader("seq,arrive_ns\n0,1\n"), interrupted{}))
		if err != context.Canceled && (err == nil || !strings.Contains(err.Error(), context.Canceled.Error())) {
			t.Errorf("error: got %v", err)
		}
	})
	t.Run("stalls", func(t *testing.T) {
		_, err := ReadStalls("f", strings.NewReader("kind,start_ns,end_ns\nappend,0,2000000000000000000\n"))
		if want := "f:2: end_ns: want 0 to 3600000000000000, got 2000000000000000000"; err == nil || err.Error() != want {
			t.Errorf("error: got %v, want %s", err, want)
		}
	})
}

type interrupted struct{}

func (interrupted) Read([]byte) (int, error) { return 0, context.Canceled }

// TestFaultOnce: a column that is read for two things is at fault once.
func TestFaultOnce(t *testing.T) {
	_, err := ReadRequests("f", strings.NewReader("seq,arrive_ns,done_ns\n0,1,NaN\n"))
	if err == nil || err.Error() != `f:2: done_ns: want a whole number, got "NaN"` {
		t.Errorf("got %v, want one fault", err)
	}
}
