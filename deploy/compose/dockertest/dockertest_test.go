package dockertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsLeftOfADaemonThatWasKilled checks that the end of the test removes a killed daemon's
// containers, whose processes outlive it.
func TestNothingIsLeftOfADaemonThatWasKilled(t *testing.T) {
	daemon := &Daemon{}
	var left []string
	t.Cleanup(func() { // after the daemon's end
		for _, process := range left { // a zombie has no program
			if program, err := os.Readlink(process + "/exe"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s still runs %s (%v)", process, program, err)
			}
		}
		if _, err := os.Stat(daemon.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", daemon.dir, err)
		}
	})
	daemon = Private(t)
	output, err := docker(daemon.host, "import", filepath.Join(daemon.dir, "empty.tar"), "cleave-killed")
	if err == nil {
		output, err = docker(daemon.host, "run", "--detach", "--network", "none", "--volume", "/lib:/lib:ro",
			"--volume", "/lib64:/lib64:ro", "--volume", "/usr:/usr:ro", "cleave-killed", "/usr/bin/sleep", "600")
	}
	if err == nil {
		output, err = docker(daemon.host, "inspect", "--format", "/proc/{{.State.Pid}}",
			strings.TrimSpace(output))
	}
	if err != nil {
		t.Fatal(err)
	}
	inside := strings.TrimSpace(output) // the process in the container
	daemon.Kill()
	left, err = shims(daemon.dir)
	if _, ended := os.Stat(inside); err != nil || ended != nil || len(left) == 0 {
		t.Fatalf("after the daemon's end there is %s (%v), and its shims are %q (%v)", inside, ended, left, err)
	}
	left = append(left, inside)
}

// shims returns the processes, as paths below /proc, that a daemon has started to run containers. dir is its
// folder.
func shims(dir string) (found []string, err error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), "containerd-shim") &&
			strings.Contains(string(line), dir+"/") {
			found = append(found, filepath.Dir(path))
		}
	}
	return found, err
}
