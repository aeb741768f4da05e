package realstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzRecovery damages a store on a shadow volume, as the fuzzer says, and opens
// it: no panic, no message that was never sent, and what is read once is read
// again after a clean stop. The bytes are triples: which file, where, what; a
// file is cut short there for 0xFF.
func FuzzRecovery(f *testing.F) {
	f.Add([]byte{0, 0, 0}, true)
	f.Add([]byte{0, 10, 7, 1, 200, 0xFF}, false)
	f.Add([]byte{3, 0, 0xFF, 4, 1, 0xFF, 5, 100, 3, 6, 30, 9}, true)
	f.Add(bytes.Repeat([]byte{2, 44, 0x80}, 20), false)
	base, sent := fuzzStore(f)
	f.Fuzz(func(t *testing.T, edits []byte, abort bool) {
		v := newShadow()
		for p, file := range base.live {
			v.live[p] = &shadowFile{v, p, bytes.Clone(file.live), bytes.Clone(file.live)}
			v.mkdirAll(filepath.Dir(p))
		}
		if abort {
			v.live["/s/abort"] = &shadowFile{v, "/s/abort", nil, nil}
		}
		es := paths(v)
		for i := 0; i+2 < min(len(edits), 300); i += 3 {
			file := v.live[es[int(edits[i])%len(es)]]
			at := int(edits[i+1]) * max(1, len(file.live)/256)
			if at >= len(file.live) {
				continue
			}
			if edits[i+2] == 0xFF {
				file.live = file.live[:at]
			} else {
				file.live[at+i%7%(len(file.live)-at)] ^= edits[i+2]
			}
		}
		o := powerModes[0].options(t)
		read := func() (n int, ok bool) {
			s, err := newStore(v, "/s", o)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.open(); err != nil {
				return 0, false // refused
			}
			err = s.Scan(0, func(r *Record) error {
				if !sent[string(r.Body)] {
					t.Errorf("message at %d was never sent: %q", r.PhysicalOffset, r.Body)
				}
				n++
				return nil
			})
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoRecord) {
				t.Errorf("scan: %v", err)
			}
			m := numbered(1, 20)
			m.Body = []byte("after")
			if _, err := s.Append(&m, nil); err == nil {
				n++
			}
			if err := s.Close(); err != nil && !errors.Is(err, ErrFailed) {
				t.Logf("close: %v", err)
				return n, false
			}
			return n, err == nil
		}
		n, ok := read()
		if !ok {
			return
		}
		if again, ok := read(); ok && again != n+1 {
			t.Errorf("%d messages, then %d", n, again)
		}
	})
}

func fuzzStore(t testing.TB) (*shadow, map[string]bool) {
	v := newShadow()
	v.mkdirAll("/s")
	s, err := newStore(v, "/s", powerModes[0].options(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	sent := map[string]bool{"after": true}
	for i := range 150 {
		m := numbered(i, 300)
		m.Body = append(m.Body, byte(i))
		sent[string(m.Body)] = true
		if _, err := s.Append(&m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return v, sent
}

func paths(v *shadow) []string {
	var ps []string
	for p := range v.live {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}

// FuzzVerify damages the files of a store on the machine and reads them without
// opening it: no panic, no hang, and any damage that Scan meets Verify reports.
func FuzzVerify(f *testing.F) {
	f.Add([]byte{0, 0, 0}, 0)
	f.Add([]byte{0, 10, 7, 1, 200, 0xFF}, 3)
	f.Add([]byte{9, 9, 9, 2, 0, 0xFE}, 1)
	base, _ := fuzzStore(f)
	f.Fuzz(func(t *testing.T, edits []byte, scale int) {
		root, err := os.MkdirTemp(inMemory, "realstore")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		if err := base.write(root); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(root, "s")
		es := paths(base)
		for i := 0; i+2 < min(len(edits), 300); i += 3 {
			p := filepath.Join(root, es[int(edits[i])%len(es)])
			b, err := os.ReadFile(p)
			if err != nil || len(b) == 0 {
				continue
			}
			at := (int(edits[i+1])*max(1, len(b)/256) + scale&0xFFFF) % len(b)
			switch edits[i+2] {
			case 0xFF:
				os.Truncate(p, int64(at))
			case 0xFE:
				os.Truncate(p, int64(len(b)+at))
			default:
				b[at] ^= edits[i+2]
				os.WriteFile(p, b, 0o644)
			}
		}
		d, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Info(); err != nil {
			t.Errorf("info: %v", err)
		}
		bad := 0
		err = d.Scan(ScanOptions{Resync: true}, func(_ int64, _ *Record, defect Defect) error {
			if defect != Sound {
				bad++
			}
			return nil
		})
		rep, verr := d.Verify(VerifyOptions{MaxFaults: 10})
		if err != nil || verr != nil {
			t.Errorf("scan: %v; verify: %v", err, verr)
		}
		if bad > 0 && rep.OK() {
			t.Errorf("scan finds %d bad records, verify none: %s", bad, rep.Summary())
		}
		if len(rep.Faults) > 10 {
			t.Errorf("%d faults kept", len(rep.Faults))
		}
	})
}

// TestRecoverCutsAtTheFirstBadRecord copies a damaged store.
func TestRecoverCutsAtTheFirstBadRecord(t *testing.T) {
	from := copyStore(t, fixture)
	flip(t, filepath.Join(from, commitLogDir, fileName(131072)), 4, 1) // the magic code of its first record
	before := map[string][]byte{}
	for _, f := range storeFiles(t, from) {
		before[f], _ = os.ReadFile(filepath.Join(from, f))
	}
	to := filepath.Join(t.TempDir(), "to")
	var reached, of int64
	sv, err := Recover(from, to, small(t, "4.3.2"), func(done, total int64) error {
		if done < reached || done > total {
			t.Errorf("%d of %d after %d", done, total, reached)
		}
		reached, of = done, total
		return nil
	})
	if reached*3 < of {
		t.Errorf("progress ended at %d of %d", reached, of)
	}
	if err != nil {
		t.Fatal(err)
	}
	if sv.End != 131072 || sv.Stop != DefectMagic || sv.Messages == 0 || sv.Lost == 0 || sv.Messages+sv.Lost != 389 {
		t.Errorf("salvage %+v", sv)
	}
	for f, b := range before {
		if now, _ := os.ReadFile(filepath.Join(from, f)); !bytes.Equal(now, b) {
			t.Errorf("the original's %s was changed", f)
		}
	}
	if rep := mustVerify(t, to); rep.Messages != sv.Messages || rep.Found > 0 {
		t.Errorf("%s %v", rep.Summary(), rep.Faults)
	}
	if _, err := Recover(from, to, Options{}, nil); !errors.Is(err, ErrForeign) {
		t.Errorf("into a directory that is not empty: %v", err)
	}
	if _, err := Recover(from, filepath.Join(from, "new"), Options{}, nil); err == nil {
		t.Error("recovered into the original")
	}
	if _, err := OpenDir(t.TempDir()); !errors.Is(err, ErrForeign) {
		t.Errorf("an empty directory: %v", err)
	}
}

func mustVerify(t testing.TB, dir string) Report {
	t.Helper()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := d.Verify(VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestDefaultSizes writes a store of RocketMQ's default sizes, over more than one
// file of 1 GiB, and has the broker's own store read it. It takes some minutes
// and 3 GiB, so only BROKERSIM_DEFAULT_SIZES=1 runs it.
func TestDefaultSizes(t *testing.T) {
	if os.Getenv("BROKERSIM_DEFAULT_SIZES") == "" {
		t.Skip("set BROKERSIM_DEFAULT_SIZES=1")
	}
	dir := t.TempDir()
	o, _ := DefaultOptions("4.3.2")
	s := open(t, dir, o)
	for i := 0; s.MaxOffset() < 1<<30+50<<20; i++ {
		m := numbered(i, 64<<10)
		if _, err := s.Append(&m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rep := mustVerify(t, dir)
	t.Log(rep.Summary())
	if rep.Found > 0 {
		t.Error(rep.Faults)
	}
	realStore(t, dir)
}
