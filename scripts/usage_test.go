package scripts

import (
	"errors"
	"os/exec"
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
