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

// TestAFailedInstallationIsNotMarkedAsComplete checks that airline-node.sh installs the packages again after
// npm has failed halfway: the file that marks a complete installation must be missing.
func TestAFailedInstallationIsNotMarkedAsComplete(t *testing.T) {
	script, err := os.ReadFile("airline-node.sh")
	testset.Must(t, err)
	top := t.TempDir() // the script works in the folder above its own
	for path, text := range map[string]string{
		"scripts/airline-node.sh":                string(script),
		"systems/airline/node/package-lock.json": "{}",
		"bin/node":                               "#!/bin/sh\n",
		"bin/npm":                                "#!/bin/sh\nmkdir -p node_modules\nexit 1\n",
	} {
		path = filepath.Join(top, path)
		testset.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testset.Must(t, os.WriteFile(path, []byte(text), 0o755))
	}
	command := exec.Command(filepath.Join(top, "scripts/airline-node.sh"), "check")
	command.Env = append(os.Environ(), "PATH="+filepath.Join(top, "bin")+":"+os.Getenv("PATH"))
	if text, err := command.CombinedOutput(); err == nil {
		t.Errorf("the script succeeds although npm fails: %s", text)
	}
	mark := filepath.Join(top, "systems/airline/node/node_modules/.package-lock.json")
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the installation is marked as complete (%v)", err)
	}
}

// TestAnInterruptedInstallationIsRepeated checks that need.sh installs zod if an earlier npm was killed
// halfway, and not if it is installed.
func TestAnInterruptedInstallationIsRepeated(t *testing.T) {
	script, err := os.ReadFile("need.sh")
	testset.Must(t, err)
	_, function, _ := strings.Cut(string(script), "\ninstall_zod() {")
	function, _, _ = strings.Cut(function, "\n}\n")
	top := t.TempDir()
	testset.Must(t, os.MkdirAll(filepath.Join(top, "cleave/zod-4.1.5/node_modules/zod"), 0o755))
	mark := filepath.Join(top, "cleave/zod-4.1.5/node_modules/.package-lock.json")
	for _, npm := range []string{"echo {} >" + mark, "exit 1"} { // the second one must not be called
		text, err := exec.Command("bash", "-c", "npm() { "+npm+"; }; XDG_CACHE_HOME="+top+"; install() {"+function+
			"\n}; install").CombinedOutput()
		if _, missing := os.Stat(mark); err != nil || missing != nil {
			t.Errorf("npm that does %q: %v, %v: %s", npm, err, missing, text)
		}
	}
}
