package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
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

// TestFailuresAreNoBadArguments runs scripts with programs that fail as make and the compiler of TypeScript
// do, with the code that scripts have for bad arguments.
func TestFailuresAreNoBadArguments(t *testing.T) {
	top := t.TempDir()
	programs := t.TempDir()
	for path, text := range map[string]string{
		programs + "/make": "exit 2", programs + "/git": "echo 1", programs + "/node": "",
		programs + "/npm":                               `[ "$1" = ci ] && mkdir -p node_modules || exit 2`,
		top + "/report/web/node_modules/.bin/tsc":       "exit 2",
		top + "/systems/airline/node/package.json":      "",
		top + "/systems/airline/node/package-lock.json": "",
	} {
		writeProgram(t, path, text)
	}
	for _, args := range [][]string{{"dist.sh", "archives", "1", "amd64"}, {"page-script.sh", "folder"},
		{"airline-node.sh", "build"}, {"airline-node.sh", "check"}} {
		script, err := os.ReadFile(args[0])
		testset.Must(t, err)
		path := filepath.Join(top, "scripts", args[0])
		writeProgram(t, path, string(script))
		command := exec.Command(path, args[1:]...)
		command.Dir = top
		command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
		if text, err := command.CombinedOutput(); command.ProcessState.ExitCode() != 1 {
			t.Errorf("%v: %v, want 1: %s", args, err, text)
		}
	}
}

// writeProgram writes a script, of the shell unless it says otherwise.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	if !strings.HasPrefix(text, "#!") {
		text = "#!/bin/sh\n" + text + "\n"
	}
	testset.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testset.Must(t, os.WriteFile(path, []byte(text), 0o700))
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
		writeProgram(t, filepath.Join(programs, name), text)
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
