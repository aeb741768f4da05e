package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestArrows keeps the direction of imports: cmd -> plots, scenarios,
// realstore/{live,probe,calibrate} -> model -> sim/{experiment,stat,variate}
// -> sim, and realstore's root on nothing of this module.
func TestArrows(t *testing.T) {
	const module = "brokersim/"
	// A package may import those whose layer is lower than its own.
	layers := []struct {
		prefix string
		layer  int
	}{
		{"sim/experiment", 1}, {"sim/stat", 1}, {"sim/variate", 1}, {"sim/analytic", 2}, {"sim", 0},
		{"model/recording/atomicfile", 0}, {"model/", 4}, {"model", 3},
		{"realstore/probe", 5}, {"realstore/validate", 7}, {"realstore/", 6}, {"realstore", 0},
		{"scenarios", 5}, {"plots/", 4}, {"plots", 5}, {"cmd/brokersim/", 7}, {"cmd/brokersim", 8},
	}
	layerOf := func(path string) int {
		for _, l := range layers {
			if path == l.prefix || strings.HasPrefix(path, strings.TrimSuffix(l.prefix, "/")+"/") {
				return l.layer
			}
		}
		t.Fatalf("package %s has no layer: add it here", path)
		return 0
	}
	list := exec.Command("go", "list", "-json=ImportPath,Imports", "brokersim/...")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if ours && layerOf(to) >= layerOf(from) && !strings.HasPrefix(from, to+"/") && !strings.HasPrefix(to, "cmd/brokersim/internal") {
				t.Errorf("%s imports %s, against the arrows", from, to)
			}
			if !ours && from == "realstore" && strings.Contains(i, ".") && !strings.HasPrefix(i, "golang.org/x/sys/") {
				t.Errorf("realstore imports %s: only golang.org/x/sys and the standard library", i)
			}
		}
	}
}

// TestNoGoroutineNoClock: inside a replication nothing starts a goroutine,
// reads a clock or draws from a global source.
func TestNoGoroutineNoClock(t *testing.T) {
	for _, dir := range []string{"../../sim", "../../sim/variate", "../../sim/stat", "../../model"} {
		for _, word := range []string{`\bgo func`, `time\.Now`, `time\.Sleep`, `time\.Since`, `rand\.\(Int\|Float\|Uint\|Exp\|Norm\|N(\)`} {
			out, _ := exec.Command("sh", "-c", `grep -n '`+word+`' `+dir+`/*.go | grep -v _test.go`).Output()
			if len(out) > 0 {
				t.Errorf("%s: %s", word, out)
			}
		}
	}
}
