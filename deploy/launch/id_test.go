package launch

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestMain lets the test program be a process without its main thread.
func TestMain(m *testing.M) {
	testset.BeHeadless()
	os.Exit(m.Run())
}

// idOf returns the ID of a process of this namespace, from the kernel's own table.
func idOf(t *testing.T, pid int) ID {
	t.Helper()
	own, err := Own()
	testset.Must(t, err)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	testset.Must(t, err)
	return ID{Scope: own.Scope, PID: pid, Start: strings.Fields(string(text))[21]} // the 22nd, proc_pid_stat(5)
}

func TestAProcessKnowsItself(t *testing.T) {
	own, err := Own()
	testset.Must(t, err)
	if want := idOf(t, os.Getpid()); own != want {
		t.Errorf("this process is %v, want %v", own, want)
	}
	if read, ok := ParseID(own.String()); !ok || read != own {
		t.Errorf("%q is read as %v (%t)", own, read, ok)
	}
}

func TestWhatIsNoIDIsRefused(t *testing.T) {
	own, err := Own()
	testset.Must(t, err)
	for _, text := range []string{
		"", "x", "1-1", "-5", "lost+found", "../" + own.String(), own.String() + "/", own.String() + "\n",
		" " + own.String(),
		strings.ToUpper("abcdef") + "-1-1", "abcdef-0-1", "abcdef--1", "abcdef-1-", "abcdef-99999999999-1",
		"abcdef-+1-1",
	} {
		if id, ok := ParseID(text); ok {
			t.Errorf("%q is read as %v", text, id)
		}
	}
}

func TestTheFateOfAProcess(t *testing.T) {
	l := launcher(t)
	process := newEcho(t)
	testset.Must(t, l.Start(process.command))
	id := idOf(t, process.command.Process.Pid)
	elsewhere, later := id, id
	elsewhere.Scope = "000000"
	later.Start = id.Start + "0"
	for name, c := range map[string]struct {
		id   ID
		want Fate
	}{
		"a running process":         {id, Running},
		"a reused number":           {later, Ended},
		"a number of another place": {elsewhere, Unknown},
	} {
		if got := c.id.Fate(); got != c.want {
			t.Errorf("%s: %v has fate %d, want %d", name, c.id, got, c.want)
		}
	}
	testset.Must(t, process.command.Process.Kill())
	_ = process.command.Wait() // it was killed
	if got := id.Fate(); got != Ended {
		t.Errorf("a process that was reaped has fate %d", got)
	}
	if got := elsewhere.Fate(); got != Unknown {
		t.Errorf("a process of another place has fate %d, want unknown", got)
	}
}

func TestAZombieHasEnded(t *testing.T) {
	process := exec.Command("sleep", "60")
	testset.Must(t, process.Start())
	id := idOf(t, process.Process.Pid)
	testset.Must(t, process.Process.Kill())
	testset.Must(t, unix.Waitid(unix.P_PID, id.PID, nil, unix.WEXITED|unix.WNOWAIT, nil))
	if got := id.Fate(); got != Ended {
		t.Errorf("its fate is %d, want ended", got)
	}
	_ = process.Wait() // it was killed
}

// TestAProcessOutlivesItsMainThread checks that a process runs while one of its threads does, though /proc
// shows it as a zombie.
func TestAProcessOutlivesItsMainThread(t *testing.T) {
	id := idOf(t, testset.Headless(t).Process.Pid)
	if got := id.Fate(); got != Running {
		t.Errorf("its fate is %d, want running", got)
	}
	testset.Must(t, unix.Kill(id.PID, unix.SIGKILL))
	testset.Must(t, unix.Waitid(unix.P_PID, id.PID, nil, unix.WEXITED|unix.WNOWAIT, nil))
	if got := id.Fate(); got != Ended {
		t.Errorf("after kill -9 its fate is %d, want ended", got)
	}
}
