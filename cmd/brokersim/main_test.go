package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"brokersim": main})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			fixture, err := filepath.Abs("../../realstore/testdata/store-clean/store")
			env.Setenv("FIXTURE", fixture)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"interrupts": interrupts,
		},
		RequireExplicitExec: true,
	})
}

// exits CODE COMMAND... runs a command that must end with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	checkCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

// interrupts PATTERN COMMAND... interrupts a command once it has written to a file
// of that name; the command must end with 130.
func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupts PATTERN COMMAND...")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		if len(found) > 0 {
			if info, err := os.Stat(found[0]); err == nil && info.Size() > 0 {
				break
			}
		}
		select {
		case err := <-ended:
			ts.Fatalf("ended before it was interrupted: %v\n%v", err, cmd.Stderr)
		case <-time.After(5 * time.Millisecond):
			if time.Since(began) > interruptWait {
				ts.Check(cmd.Process.Kill())
				<-ended
				ts.Fatalf("nothing was written to %s within %v", args[0], interruptWait)
			}
		}
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	checkCode(ts, strconv.Itoa(exitInterrupted), <-ended)
}

// interruptWait bounds the wait for something to interrupt: a hang fails.
const interruptWait = time.Minute

func checkCode(ts *testscript.TestScript, want string, err error) {
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// TestREADME runs the commands of the README's console blocks and compares
// what they print.
func TestREADME(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no README.md")
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := repository(t, root)
	for _, c := range consoleCommands(string(text)) {
		t.Run(c.line, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", c.line)
			cmd.Dir = dir
			out, err := cmd.Output()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) { // a threshold may fail
				t.Fatal(err)
			}
			if got, want := strings.TrimRight(string(out), "\n"), strings.Join(c.output, "\n"); !matches(got, c.output) {
				t.Errorf("$ %s (-README +now):\n%s", c.line, cmp.Diff(want, got))
			}
		})
	}
}

// repository is a folder that holds what root holds, but where what is written
// is thrown away.
func repository(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "out" {
			if err := os.Symlink(filepath.Join(root, e.Name()), filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

type consoleCommand struct {
	line   string   // from "brokersim" on
	output []string // "..." stands for any lines
}

// consoleCommands finds `$ go run ./cmd/brokersim ...` in ```console blocks.
// A command without lines after it is run and not compared.
func consoleCommands(text string) (commands []consoleCommand) {
	var current *consoleCommand
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "```"):
			in, current = !in && line == "```console", nil
		case !in:
		case strings.HasPrefix(line, "$ "):
			current = nil
			if args, ok := strings.CutPrefix(line, "$ go run ./cmd/brokersim"); ok {
				commands = append(commands, consoleCommand{line: "brokersim" + args})
				current = &commands[len(commands)-1]
			}
		case current != nil:
			current.output = append(current.output, line)
		}
	}
	return commands
}

// matches compares an output with lines of which "..." stand for any number.
func matches(got string, want []string) bool {
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if len(want) == 0 {
		return true
	}
	return matchLines(strings.Split(got, "\n"), want)
}

func matchLines(got, want []string) bool {
	for i, w := range want {
		if w == "..." {
			for skip := range len(got) - i + 1 {
				if matchLines(got[i+skip:], want[i+1:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || got[i] != w {
			return false
		}
	}
	return len(got) == len(want)
}

func TestConsoleBlocks(t *testing.T) {
	const text = "Text\n```console\n$ go run ./cmd/brokersim list\na\n...\nz\n$ go test ./...\nok\n```\n```toml\n$ go run ./cmd/brokersim no\n```\n"
	got := consoleCommands(text)
	want := []consoleCommand{{"brokersim list", []string{"a", "...", "z"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(consoleCommand{})); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		name, got, want string
		matches         bool
	}{
		{"equal", "a\nb", "a\nb", true},
		{"other", "a\nc", "a\nb", false},
		{"longer", "a\nb\nc", "a\nb", false},
		{"shorter", "a", "a\nb", false},
		{"elided", "a\nb\nc\nz", "a\n...\nz", true},
		{"nothing elided", "a\nz", "a\n...\nz", true},
		{"elided to the end", "a\nb", "a\n...", true},
		{"elided, other end", "a\nb\ny", "a\n...\nz", false},
		{"elided, the end twice", "a\nz\nz", "a\n...\nz", true},
		{"not compared", "a\nb", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := matches(c.got, strings.Split(c.want, "\n")); got != c.matches {
				t.Errorf("matches: got %t, want %t", got, c.matches)
			}
		})
	}
}
