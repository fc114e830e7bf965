package behaviour

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

const (
	// fuzzerVersion is the version that scripts/airline-fuzz.sh installs.
	fuzzerVersion = "4.32.5"
	// examplesVariable names the variable with which scripts/airline-fuzz.sh sets the number of cases per
	// operation.
	examplesVariable = "CLEAVE_FUZZ_EXAMPLES"
	// defaultExamples is the number of cases per operation without that variable.
	defaultExamples = "15"
)

// fuzzer returns the path of Schemathesis. It skips the test where that is not installed.
func fuzzer(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	folder := filepath.Join(cache, "cleave", "schemathesis-"+fuzzerVersion)
	if _, err := os.Stat(filepath.Join(folder, "complete")); err != nil {
		t.Skip("Schemathesis " + fuzzerVersion + " is not installed: type scripts/airline-fuzz.sh install")
	}
	return filepath.Join(folder, "bin", "schemathesis")
}

// TestFuzzer tries every operation with requests that a fuzzer makes from the description. The operation that
// ends sessions is tried alone: without a session the others refuse everything. The monolith is left out
// unless scripts/airline-fuzz.sh runs the test: it has the same code as the services, without their calls.
func TestFuzzer(t *testing.T) {
	testset.Need(t, "the fuzzer takes long")
	program := fuzzer(t)
	eachRuntime(t, func(t *testing.T, r runtime) {
		for name, units := range architectures() {
			if name == Monolith && os.Getenv(examplesVariable) == "" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				a := startProcesses(t, r, units, data())
				fuzz(newSession(t, a, 0), program, "--exclude-path", "/logout")
				fuzz(newSession(t, a, 0), program, "--include-path", "/logout", "--phases", "coverage,fuzzing")
			})
		}
	})
}

// fuzz runs the fuzzer in a session, and fails the test with what it found. filter holds options that choose
// operations and phases.
func fuzz(s *session, program string, filter ...string) {
	path, err := filepath.Abs(descriptionFile)
	testset.Must(s, err)
	command := exec.Command(program, append([]string{
		"run", path, "--url", s.airline.Front, "-H", "Authorization: Bearer " + s.token, "--max-examples",
		cmp.Or(os.Getenv(examplesVariable), defaultExamples),
		"--checks", "all", "--seed", "1", "--no-color", "--request-timeout", "20", "--warnings", "off",
		"--continue-on-failure",
	}, filter...)...)
	command.Dir = s.TempDir()
	text, err := command.CombinedOutput()
	if err != nil {
		s.Errorf("%q: %v\n%s", filter, err, bytes.TrimSpace(text))
	}
}

func TestTheFuzzerIsThatOfTheScript(t *testing.T) {
	script, err := os.ReadFile("../../../scripts/airline-fuzz.sh")
	testset.Must(t, err)
	if !bytes.Contains(script, []byte("readonly version="+fuzzerVersion+"\n")) {
		t.Errorf("scripts/airline-fuzz.sh brings another version than %s", fuzzerVersion)
	}
}
