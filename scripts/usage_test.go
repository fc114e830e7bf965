package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUsageFromAnyFolder runs scripts without arguments in their own folder, not at the top of the checkout:
// they print their usage, and exit with the code for bad arguments.
func TestUsageFromAnyFolder(t *testing.T) {
	for _, script := range []string{"./airline-fuzz.sh", "./airline-instructions.sh"} {
		text, err := exec.Command(script).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 ||
			!strings.HasPrefix(string(text), "scripts/"+strings.TrimPrefix(script, "./")) {
			t.Errorf("%s: %v: %s", script, err, text)
		}
	}
}

// TestSkippedTestsAreNoSuccess runs scripts with programs in place of Go and Python. A script exits with 3 if
// its test is skipped, because then nothing was tested. The program in place of Go skips every test if the
// script does not set CLEAVE_TESTS to all.
func TestSkippedTestsAreNoSuccess(t *testing.T) {
	programs := t.TempDir()
	for name, text := range map[string]string{
		"go": `case "$1 $CLEAVE_TESTS" in
  "test all") echo "    --- $RESULT: Test/go" ;;
  *) echo "--- SKIP: Test: type: make test-all" ;;
esac`,
		"python3": `mkdir -p "$4/bin" && ln -s /bin/true "$4/bin/pip"`,
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range []string{"./airline-fuzz.sh", "./airline-instructions.sh"} {
		for result, code := range map[string]int{"PASS": 0, "SKIP": 3} {
			command := exec.Command(script, "go", "monolith")
			command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"),
				"XDG_CACHE_HOME="+t.TempDir(), "CLEAVE_TESTS=", "RESULT="+result)
			text, err := command.CombinedOutput()
			if got := command.ProcessState.ExitCode(); got != code ||
				!strings.Contains(string(text), "--- "+result+": Test/go") {
				t.Errorf("%s with %s ends with %d, want %d: %v: %s", script, result, got, code, err, text)
			}
		}
	}
}
