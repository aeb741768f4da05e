package realstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// shadow is a volume that keeps, of each file, what programs see and what has
// reached the disk, and of each directory the same of its names. It calls onOp
// before each operation that changes either.
type shadow struct {
	live, disk map[string]*shadowFile
	dirs       map[string]bool
	onOp       func()
	skipSync   bool // a bug: the log's syncs do nothing
	broken     error
}

type shadowFile struct {
	vol        *shadow
	path       string
	live, disk []byte
}

func newShadow() *shadow {
	return &shadow{live: map[string]*shadowFile{}, disk: map[string]*shadowFile{}, dirs: map[string]bool{}}
}

func (v *shadow) op() {
	if v.onOp != nil {
		v.onOp()
	}
}

func (v *shadow) mkdirAll(dir string) error {
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		v.dirs[dir] = true
	}
	return nil
}

func (v *shadow) list(dir string) ([]entry, error) {
	var es []entry
	for p, f := range v.live {
		if path.Dir(p) == dir {
			es = append(es, entry{path.Base(p), int64(len(f.live)), false})
		}
	}
	for d := range v.dirs {
		if path.Dir(d) == dir {
			es = append(es, entry{path.Base(d), 0, true})
		}
	}
	slices.SortFunc(es, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return es, nil
}

func (v *shadow) create(p string, size int64, _ bool) (mapping, error) {
	v.op()
	if v.broken != nil {
		return nil, v.broken
	}
	f := &shadowFile{v, p, make([]byte, size), make([]byte, size)}
	v.live[p] = f
	return f, nil
}

func (v *shadow) open(p string) (mapping, error) {
	f := v.live[p]
	if f == nil {
		return nil, os.ErrNotExist
	}
	return f, nil
}

func (v *shadow) remove(p string) error {
	v.op()
	if v.live[p] == nil {
		return os.ErrNotExist
	}
	delete(v.live, p)
	return nil
}

func (v *shadow) syncDir(dir string) error {
	v.op()
	for p, f := range v.live {
		if path.Dir(p) == dir {
			v.disk[p] = f
		}
	}
	for p := range v.disk {
		if path.Dir(p) == dir && v.live[p] == nil {
			delete(v.disk, p)
		}
	}
	return nil
}

func (f *shadowFile) data() []byte { return f.live }

func (f *shadowFile) sync(off, n int) error {
	f.vol.op()
	if f.vol.skipSync && strings.Contains(f.path, commitLogDir) {
		return nil
	}
	from := off / pageBytes * pageBytes
	to := min(len(f.live), (off+n+pageBytes-1)/pageBytes*pageBytes)
	copy(f.disk[from:to], f.live[from:to])
	return nil
}

func (f *shadowFile) writeAt(p []byte, off int) error { f.vol.op(); copy(f.live[off:], p); return nil }
func (f *shadowFile) lock() error                     { return nil }
func (f *shadowFile) unlock() error                   { return nil }
func (f *shadowFile) close() error                    { return nil }

// damage counts what a loss of power took.
type damage struct{ pages, torn, names int }

// image is what the disk holds after a loss of power: of each page that was
// dirty the new bytes with the given chance, else the old ones, some torn
// between sectors of 512 bytes; of each change of a directory that was not
// synced, with the same chance.
func (v *shadow) image(r *rand.Rand, kept float64) (*shadow, damage) {
	var d damage
	names := map[string]*shadowFile{}
	var paths []string
	for p := range v.live {
		paths = append(paths, p)
	}
	for p := range v.disk {
		if v.live[p] == nil {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	img := newShadow()
	for _, p := range paths {
		was, is := v.disk[p], v.live[p]
		f := was
		size := -1
		if was != is {
			if r.Float64() < kept {
				f = is
				if is != nil && r.IntN(4) == 0 {
					size = 0 // the name is there, the size is not yet
				}
			} else {
				d.names++
			}
		}
		if f == nil {
			continue
		}
		names[p] = f
		b := bytes.Clone(f.disk)
		if size == 0 {
			b = b[:0]
		}
		for at := 0; at < len(b); at += pageBytes {
			end := min(at+pageBytes, len(b))
			if bytes.Equal(f.live[at:end], b[at:end]) {
				continue
			}
			switch {
			case r.Float64() < 0.25 && kept > 0 && kept < 1: // torn
				d.torn++
				for s := at; s < end; s += 512 {
					if e := min(s+512, end); r.Float64() < kept {
						copy(b[s:e], f.live[s:e])
					}
				}
			case r.Float64() < kept:
				copy(b[at:end], f.live[at:end])
			default:
				d.pages++
			}
		}
		nf := &shadowFile{img, p, b, bytes.Clone(b)}
		img.live[p], img.disk[p] = nf, nf
		img.mkdirAll(path.Dir(p))
	}
	return img, d
}

// write puts the volume's files under a directory of the machine.
func (v *shadow) write(dir string) error {
	for p, f := range v.live {
		to := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.live, 0o644); err != nil {
			return err
		}
	}
	for d := range v.dirs {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	return nil
}
