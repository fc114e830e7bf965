package leftovers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// deadLabel is the label of a conductor that has ended.
func deadLabel(t *testing.T) string {
	t.Helper()
	short := exec.Command("true")
	if err := short.Run(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(short.Process.Pid) + "-1"
}

// labelled starts a process that carries the label.
func labelled(t *testing.T, label string) *exec.Cmd {
	t.Helper()
	process := exec.Command("sleep", "60")
	process.Env = []string{"CLEAVE_RUN=" + label}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill() // it may be gone, which is what the test wants
		_ = process.Wait()
	})
	return process
}

func find(t *testing.T, root string) map[string]Leftover {
	t.Helper()
	found, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Leftover{}
	for _, l := range found {
		byName[l.String()] = l
	}
	return byName
}

func TestWhatALivingConductorHasIsNoLeftover(t *testing.T) {
	root := filepath.Join(t.TempDir(), "cleave")
	scratch, err := Claim(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(scratch.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	process := labelled(t, scratch.Label)
	found := find(t, root)
	if _, wrong := found["directory "+scratch.Dir]; wrong {
		t.Error("the directory of a living conductor is taken for a leftover")
	}
	if _, wrong := found["process "+strconv.Itoa(process.Process.Pid)]; wrong {
		t.Error("the process of a living conductor is taken for a leftover")
	}
	if err := scratch.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the empty root is still there: %v", err)
	}
}

func TestLeftoversOfADeadConductorAreFoundAndRemoved(t *testing.T) {
	root, label := t.TempDir(), deadLabel(t)
	dir := filepath.Join(root, label)
	if err := os.MkdirAll(filepath.Join(dir, "1-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	process, found := labelled(t, label), find(t, root)
	number := func() string { return "process " + strconv.Itoa(process.Process.Pid) }
	for range 20 { // a "cleave clean" of other tests on this host may be faster
		if _, ok := found[number()]; ok {
			break
		}
		process, found = labelled(t, label), find(t, root)
	}
	for _, name := range []string{"directory " + dir, number()} {
		leftover, ok := found[name]
		if !ok {
			t.Fatalf("%s is not found among %v", name, found)
		}
		if err := leftover.Remove(); err != nil {
			t.Error(err)
		}
	}
	if err := process.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process ended with %v, want it killed", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the directory is still there")
	}
}

func TestAReusedProcessNumberIsNotTheOldConductor(t *testing.T) {
	if alive(strconv.Itoa(os.Getpid()) + "-1") {
		t.Error("this process is taken for one that started right after boot")
	}
	if alive("rubbish") || alive("-5") {
		t.Error("a label that is none is alive")
	}
}

func TestRemoveSparesAProcessThatIsNotOurs(t *testing.T) {
	stranger := exec.Command("sleep", "60")
	stranger.Env = []string{}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Wait() }()
	if err := (Leftover{PID: stranger.Process.Pid}).Remove(); err != nil {
		t.Error(err)
	}
	if err := stranger.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("a process without our label was ended: %v", err)
	}
}
