package leftovers

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestMain makes this test binary a sweeper, too.
func TestMain(m *testing.M) {
	testset.BeHeadless()
	if len(os.Args) == 3 && os.Args[1] == "sweeper" {
		if err := Sweep(os.Stdin, os.Args[2]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error()) // the exit status says that it failed, too
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newRoot returns the path of a root that does not exist yet.
func newRoot(t *testing.T) string { return filepath.Join(t.TempDir(), "cleave") }

// claim makes a private directory under root for this process as a conductor.
func claim(t *testing.T, root string) *Scratch {
	t.Helper()
	own, err := launch.Own()
	testset.Must(t, err)
	s, err := Claim(root, own.String(), []string{os.Args[0], "sweeper"})
	testset.Must(t, err)
	return s
}

// deadLabel returns the label of a conductor that has ended, in a scope (see launch.ID); "" means here.
func deadLabel(t *testing.T, scope string) string {
	t.Helper()
	short := exec.Command("true")
	testset.Must(t, short.Run())
	own, err := launch.Own()
	testset.Must(t, err)
	if scope == "" {
		scope = own.Scope
	}
	return launch.ID{Scope: scope, PID: short.Process.Pid, Start: "1"}.String()
}

// anotherScope is the scope of a PID namespace that this process cannot read.
const anotherScope = "000000"

// labelled starts a process that carries the label.
func labelled(t *testing.T, label string) *exec.Cmd {
	t.Helper()
	process := exec.Command("sleep", "60")
	process.Env = []string{"CLEAVE_RUN=" + label}
	testset.Must(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill() // the test may have ended it
		_ = process.Wait()
	})
	return process
}

func nameOf(process *exec.Cmd) string { return "process " + strconv.Itoa(process.Process.Pid) }

// find returns what Find finds: the leftovers by their names, and the text of all that is unclear.
func find(t *testing.T, root string) (left map[string]Leftover, unclear string) {
	t.Helper()
	found, err := Find(root)
	testset.Must(t, err)
	left = map[string]Leftover{}
	for _, l := range found.Left {
		left[l.String()] = l
	}
	return left, strings.Join(found.Unclear, "\n")
}

func TestWhatALivingConductorHasIsNoLeftover(t *testing.T) {
	root := newRoot(t)
	scratch := claim(t, root)
	process := labelled(t, filepath.Base(scratch.Dir))
	left, unclear := find(t, root)
	for _, name := range []string{"directory " + scratch.Dir, nameOf(process)} {
		if _, wrong := left[name]; wrong || strings.Contains(unclear, name) {
			t.Errorf("%s of a living conductor is among %v and %q", name, left, unclear)
		}
	}
	testset.Must(t, process.Process.Kill())
	_ = process.Wait() // it says that the process was killed
	testset.Must(t, scratch.Release())
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty root is still there: %v", err)
	}
}

// TestOnlyTheDeadAreLeftovers checks that a living conductor, or a name that is no
// label of ours, is not taken for a dead conductor.
func TestOnlyTheDeadAreLeftovers(t *testing.T) {
	own, err := launch.Own()
	testset.Must(t, err)
	for name, c := range map[string]struct {
		label             string
		lock              string // "held", "free", or "" for none
		isLeft, isUnclear bool
	}{
		"dead":                {deadLabel(t, ""), "", true, false},
		"dead, with its lock": {deadLabel(t, ""), "free", true, false},
		"dead, being swept":   {deadLabel(t, ""), "held", false, false},
		"dead, its number reused": {launch.ID{Scope: own.Scope, PID: own.PID, Start: "1"}.String(), "",
			true, false},
		"alive":                             {own.String(), "", false, false},
		"alive, about to take its lock":     {own.String(), "free", false, false},
		"in another container":              {deadLabel(t, anotherScope), "", false, true},
		"in another container, alive":       {deadLabel(t, anotherScope), "held", false, false},
		"dead in another container":         {deadLabel(t, anotherScope), "free", true, false},
		"x":                                 {"x", "free", false, false},
		"a label of earlier versions":       {"4711-1", "free", false, false},
		"a label that ends as another does": {"x" + deadLabel(t, ""), "free", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			dir := filepath.Join(root, c.label)
			testset.Must(t, os.MkdirAll(dir, 0o700))
			testset.Must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
			if c.lock != "" {
				testset.Must(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
			}
			if c.lock == "held" {
				opened, err := openRoot(root)
				testset.Must(t, err)
				_, lock := takeLock(opened, c.label)
				defer func() { testset.Must(t, errors.Join(lock.Close(), opened.Close())) }()
			}
			process := labelled(t, c.label)
			left, unclear := find(t, root)
			for range 20 { // a "cleave clean" of other tests on this host may be faster
				if _, ok := left[nameOf(process)]; ok || !c.isLeft {
					break
				}
				process = labelled(t, c.label)
				left, unclear = find(t, root)
			}
			for _, name := range []string{"directory " + dir, nameOf(process)} {
				if _, is := left[name]; is != c.isLeft {
					t.Errorf("%s is a leftover: %t, want %t", name, is, c.isLeft)
				}
				if c.isUnclear != strings.Contains(unclear, name+": whether") {
					t.Errorf("%s is unclear: %t, want %t: %s", name, !c.isUnclear, c.isUnclear, unclear)
				}
			}
			expectRemoved(t, left, dir, process, c.isLeft)
		})
	}
}

// expectRemoved removes the directory and the process if they were found, and checks that they are gone, or
// that they are still there.
func expectRemoved(t *testing.T, left map[string]Leftover, dir string, process *exec.Cmd, want bool) {
	t.Helper()
	for _, name := range []string{"directory " + dir, nameOf(process)} {
		if leftover, ok := left[name]; ok {
			if removed, err := leftover.Remove(); err != nil || !removed {
				t.Errorf("%s was removed: %t, %v", name, removed, err)
			}
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) != want {
		t.Errorf("the directory is gone: %t, want %t", !want, want)
	}
	if _, runs := labelOf(process.Process.Pid); runs == want {
		t.Errorf("the process runs: %t, want %t", runs, !want)
	}
}

// TestAProcessOutlivesItsMainThread checks that a process has its label while one of its threads lives. /proc
// then shows it as a zombie without an environment.
func TestAProcessOutlivesItsMainThread(t *testing.T) {
	own, err := launch.Own() // `cleave clean` of other tests spares what is this process's
	testset.Must(t, err)
	pid := testset.Headless(t, "CLEAVE_RUN="+own.String()).Process.Pid
	if label, found := labelOf(pid); label != own.String() {
		t.Errorf("its label is %q (%t), want %s", label, found, own)
	}
	if ended, err := endProcess(pid, own.String()); err != nil || !ended {
		t.Errorf("it was ended: %t, %v", ended, err)
	}
	if label, found := labelOf(pid); found {
		t.Errorf("after kill -9 it has the label %s", label)
	}
}

func TestRemoveSparesWhatIsNoLeftoverAnyMore(t *testing.T) {
	stranger := labelled(t, "x")
	found := Leftover{process, strconv.Itoa(stranger.Process.Pid), deadLabel(t, "")}
	if removed, err := found.Remove(); err != nil || removed {
		t.Errorf("a process without our label was ended: %t, %v", removed, err)
	}
	if err := stranger.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("a process without our label was ended: %v", err)
	}
	root := newRoot(t)
	scratch := claim(t, root)
	found = Leftover{directory, scratch.Dir, filepath.Base(scratch.Dir)}
	if removed, err := found.Remove(); err != nil || removed {
		t.Errorf("a directory whose conductor has come to life is removed: %t, %v", removed, err)
	}
	testset.Must(t, scratch.Release())
}

// TestLinksInADirectoryAreNotFollowed checks that the removal of a directory spares the targets of links in
// it, and that a link in the place of a directory is no leftover.
func TestLinksInADirectoryAreNotFollowed(t *testing.T) {
	root := newRoot(t)
	treasure := t.TempDir()
	testset.Must(t, os.WriteFile(filepath.Join(treasure, "kept"), nil, 0o600))
	dead := deadLabel(t, "")
	testset.Must(t, os.MkdirAll(filepath.Join(root, dead, "services"), 0o700))
	testset.Must(t, os.Symlink(treasure, filepath.Join(root, dead, "services", "link")))
	planted := deadLabel(t, "") + "0" // a link in the place of a directory
	testset.Must(t, os.Symlink(treasure, filepath.Join(root, planted)))
	left, unclear := find(t, root)
	if removed, err := left["directory "+filepath.Join(root, dead)].Remove(); err != nil || !removed {
		t.Errorf("removed: %t, %v", removed, err)
	}
	if _, is := left["directory "+filepath.Join(root, planted)]; is || !strings.Contains(unclear, planted) {
		t.Errorf("a link is a directory to it, and not in %q", unclear)
	}
	if _, err := os.Stat(filepath.Join(treasure, "kept")); err != nil {
		t.Errorf("what was behind a link is gone: %v", err)
	}
}

// TestTheSweeperWaitsForProcessesAndRemovesAll checks that the sweeper waits for a process in the
// directory that has no label, as children of a server do not, and then removes the directory.
func TestTheSweeperWaitsForProcessesAndRemovesAll(t *testing.T) {
	root := newRoot(t)
	label := deadLabel(t, "")
	scratch, err := Claim(root, label, []string{os.Args[0], "sweeper"})
	testset.Must(t, err)
	writer := exec.Command("sh", "-c", "while :; do echo >> file; done") // it ends a moment after its conductor
	writer.Dir = scratch.Dir
	writer.Env = []string{}
	testset.Must(t, writer.Start())
	// A kill -9 of the conductor closes these two.
	testset.Must(t, errors.Join(scratch.lock.Close(), scratch.alive.Close()))
	opened, err := openRoot(root)
	testset.Must(t, err)
	end := time.Now().Add(time.Minute)
	for state := noLock; state != heldLock; time.Sleep(time.Millisecond) { // until the sweeper is at work
		if time.Now().After(end) {
			t.Fatal("the sweeper is not at work after a minute")
		}
		var lock *os.File
		if state, lock = takeLock(opened, label); lock != nil {
			testset.Must(t, lock.Close())
		}
	}
	testset.Must(t, opened.Close())
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} { // it ignores them
		testset.Must(t, scratch.sweeper.Process.Signal(signal))
	}
	swept := make(chan error, 1)
	go func() { swept <- scratch.sweeper.Wait() }()
	select {
	case err := <-swept:
		t.Errorf("the sweeper did not wait for a process in the directory: %v %s", err, scratch.notes.String())
	case <-time.After(200 * time.Millisecond):
	}
	left, _ := find(t, root)
	if _, is := left["directory "+scratch.Dir]; is {
		t.Error("what is being swept is a leftover")
	}
	testset.Must(t, writer.Process.Kill())
	_ = writer.Wait() // it says that the process was killed
	if err := <-swept; err != nil {
		t.Errorf("the sweeper: %v: %s", err, scratch.notes.String())
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the root is still there: %v", err)
	}
}

// TestContainersAreNotWaitedFor checks that the sweeper removes containers before it waits for
// processes: a server in a container has the label and ends only with the container.
func TestContainersAreNotWaitedFor(t *testing.T) {
	label := deadLabel(t, "")
	server := labelled(t, label)
	dockertest.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		text := "[]"
		switch {
		case r.Method == http.MethodDelete:
			_ = server.Process.Kill() // fails after the first request
			_ = server.Wait()
		case strings.HasSuffix(r.URL.Path, "/volumes"):
			text = "{}"
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			text = `[{"ID":"database","Labels":{"` + DockerLabel + `":"` + label + `"}}]`
		}
		_, _ = io.WriteString(w, text) // the client reads it
	})
	begun := time.Now()
	testset.Must(t, Sweep(strings.NewReader(""), filepath.Join(newRoot(t), label)))
	if took := time.Since(begun); took > endPatience {
		t.Errorf("the sweeper took %v: it has waited for a process that ends with its container", took)
	}
}

// TestADockerThatIsSilent checks that Find reports a daemon that has run and does not now, and only that.
func TestADockerThatIsSilent(t *testing.T) {
	dir, err := os.MkdirTemp("", "cleave-silent-") // short: a socket is in it
	testset.Must(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "sock"))
	if _, unclear := find(t, newRoot(t)); strings.Contains(unclear, "Docker") {
		t.Errorf("where no daemon was: %s", unclear)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "sock"), Net: "unix"})
	testset.Must(t, err)
	listener.SetUnlinkOnClose(false) // as a daemon that was killed leaves it
	testset.Must(t, listener.Close())
	if _, unclear := find(t, newRoot(t)); !strings.Contains(unclear, "is found when the daemon runs again") {
		t.Errorf("where one was: %q", unclear)
	}
}

// TestASweeperWithoutADirectory checks that a sweeper succeeds if the conductor dies before it has a
// directory.
func TestASweeperWithoutADirectory(t *testing.T) {
	root := newRoot(t)
	scratch := &Scratch{Dir: filepath.Join(root, deadLabel(t, ""))}
	testset.Must(t, scratch.startSweeper([]string{os.Args[0], "sweeper"}))
	testset.Must(t, scratch.alive.Close())
	if err := scratch.sweeper.Wait(); err != nil {
		t.Errorf("%v: %s", err, scratch.notes.String())
	}
}
