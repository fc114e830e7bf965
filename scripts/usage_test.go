package scripts

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestUsageFromAnyFolder runs scripts without arguments in their own folder: they print how to call them, and
// end with the code for bad arguments.
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
