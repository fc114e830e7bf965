package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// patience is the time that a test waits for an event that must happen.
const patience = 4 * time.Minute

// program returns the command that runs cleave with arguments in a folder.
func program(dir string, args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(binaries, "cleave"), args...)
	command.Dir = dir
	return command
}

// with sets the environment of a command to that of this process and these variables. It replaces those of
// an earlier call.
func with(command *exec.Cmd, variables ...string) *exec.Cmd {
	command.Env = append(os.Environ(), variables...)
	return command
}

// finish runs a command to its end, and returns its exit code and what it printed.
func finish(t *testing.T, command *exec.Cmd) (code int, printed string) {
	t.Helper()
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(out)
}

// expectRun runs a command to its end, and checks its exit code and that its output has these texts.
func expectRun(t *testing.T, command *exec.Cmd, code int, says []string) {
	t.Helper()
	got, printed := finish(t, command)
	if got != code {
		t.Errorf("exit code %d, want %d\n%s", got, code, printed)
	}
	expectTexts(t, "what it prints", printed, says...)
}

// expectTexts checks that a text contains all wanted texts.
func expectTexts(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, text)
		}
	}
}

// commandCase is a command line with the expected exit code and texts in the output.
type commandCase struct {
	name, args string
	code       int
	says       []string
}

// killWhen starts a cleave, kills it once a condition holds, and waits until its processes have ended, too.
func killWhen(t *testing.T, command *exec.Cmd, what string, condition func() bool) {
	t.Helper()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, what, condition)
	label, _ := processID(t, command.Process.Pid)
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // killed, as it should be
	awaitNoProcess(t, label.String())
}

// until calls look repeatedly until it returns true, and returns its value. what completes the message
// "waited until ...".
func until[T any](t *testing.T, what string, look func() (T, bool)) T {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		if state, ok := look(); ok {
			return state
		}
	}
	t.Fatalf("waited %v until %s", patience, what)
	panic("unreachable")
}

// await waits until a condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	until(t, what, func() (struct{}, bool) { return struct{}{}, condition() })
}

// needPrograms skips the test if one of these programs is missing on this host.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: type: apt-get install %[1]s", name)
		}
	}
}

// writeFiles writes files into a folder. The keys are paths below it.
func writeFiles(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// contents returns the contents of all regular files below a folder, by their paths in it.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files[path], err = os.ReadFile(filepath.Join(dir, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// savedTrials returns the records of the finished trials of the latest run of each study below a folder of
// results.
func savedTrials(t *testing.T, results string) (trials []lab.Trial) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(results, "*", "latest", "trials", "*", "trial.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.Contains(path, ".part/") {
			continue // being written
		}
		data, err := os.ReadFile(path)
		var trial lab.Trial
		if err := errors.Join(err, json.Unmarshal(data, &trial)); err != nil {
			t.Fatal(err)
		}
		trials = append(trials, trial)
	}
	return trials
}

// trialsOf is savedTrials, but fails the test if there are none.
func trialsOf(t *testing.T, results string) []lab.Trial {
	t.Helper()
	trials := savedTrials(t, results)
	if len(trials) == 0 {
		t.Fatalf("no trials in %s", results)
	}
	return trials
}
