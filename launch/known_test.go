package launch

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheStartIsTheKernels(t *testing.T) {
	l, process := launcher(t), newEcho(t)
	must(t, l.Start(process.command))
	pid := process.command.Process.Pid
	got, err := StartOf(pid)
	must(t, err)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	if want := strings.Fields(string(text))[21]; got != want { // the 22nd, proc_pid_stat(5)
		t.Errorf("process %d was started at %q, want %s", pid, got, want)
	}
}

func TestAProcessIsKnownByNumberAndStart(t *testing.T) {
	l, process := launcher(t), newEcho(t)
	must(t, l.Start(process.command))
	pid := process.command.Process.Pid
	start, err := StartOf(pid)
	must(t, err)
	if !Runs(pid, start) {
		t.Error("a process that runs is not known")
	}
	for name, other := range map[string]string{"a later one": "1", "none": "", "one more digit": start + "0"} {
		if Runs(pid, other) {
			t.Errorf("%s: a process that started at %q is taken for that of %s", name, other, start)
		}
	}
	must(t, process.command.Process.Kill())
	_ = process.command.Wait() // it was killed
	if Runs(pid, start) {
		t.Error("a process that has ended runs")
	}
	if _, err := StartOf(pid); err == nil {
		t.Error("a process that has ended has a start")
	}
}
