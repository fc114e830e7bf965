package dockertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsLeftOfADaemonThatWasKilled: what its containers run goes on without it.
func TestNothingIsLeftOfADaemonThatWasKilled(t *testing.T) {
	daemon, left := &Daemon{}, []string(nil)
	t.Cleanup(func() { // after the daemon's end
		for _, process := range left { // one that is not waited for yet has no program
			if program, err := os.Readlink(process + "/exe"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s still runs %s (%v)", process, program, err)
			}
		}
		if _, err := os.Stat(daemon.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", daemon.dir, err)
		}
	})
	daemon = Private(t)
	said, err := docker(daemon.host, "import", filepath.Join(daemon.dir, "empty.tar"), "cleave-killed")
	if err == nil {
		said, err = docker(daemon.host, "run", "--detach", "--network", "none", "--volume", "/lib:/lib:ro",
			"--volume", "/lib64:/lib64:ro", "--volume", "/usr:/usr:ro", "cleave-killed", "/usr/bin/sleep", "600")
	}
	if err == nil {
		said, err = docker(daemon.host, "inspect", "--format", "/proc/{{.State.Pid}}", strings.TrimSpace(said))
	}
	if err != nil {
		t.Fatal(err)
	}
	runs := strings.TrimSpace(said)
	daemon.Kill()
	left, err = shims(daemon.dir)
	if _, ended := os.Stat(runs); err != nil || ended != nil || len(left) == 0 {
		t.Fatalf("after the daemon's end there is %s (%v), and its shims are %q (%v)", runs, ended, left, err)
	}
	left = append(left, runs)
}

// shims returns the processes that a daemon with a folder has started to run containers.
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
