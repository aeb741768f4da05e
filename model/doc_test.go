package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocNamesEachFile: the package comment leads past every file.
func TestDocNamesEachFile(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f != "doc.go" && !strings.HasSuffix(f, "_test.go") && !strings.Contains(string(doc), f) {
			t.Errorf("doc.go says nothing of %s", f)
		}
	}
}
