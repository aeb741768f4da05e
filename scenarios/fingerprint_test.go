package scenarios_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"brokersim/model"
	"brokersim/scenarios"
)

var updateFingerprints = flag.Bool("update-fingerprints", false, "rewrite testdata/fingerprints.txt")

// TestFingerprints runs every bundled scenario and holds its trajectory and
// its result, to the bit, against testdata/fingerprints.txt. A change there is
// a change of behaviour: say in the commit why. The file is the same on every
// architecture.
func TestFingerprints(t *testing.T) {
	const file = "testdata/fingerprints.txt"
	var got strings.Builder
	got.WriteString("# scenario, fingerprint of the trajectory, SHA-256 of the result JSON; go test ./scenarios -run Fingerprints -update-fingerprints\n")
	for _, name := range scenarios.Names() {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		study, err := model.Replicate(context.Background(), &s.Config, 1, 1, model.Observer{}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := study.Result()
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %s %x\n", name, r.Fingerprint, sha256.Sum256(text))
	}
	if *updateFingerprints {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
}
