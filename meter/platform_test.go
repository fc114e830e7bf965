package meter

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// busy copies the shell to a program with a name of its own, and returns its path. Tests let it run burns.
func busy(t *testing.T) (program string) {
	t.Helper()
	text, err := os.ReadFile("/bin/sh")
	testset.Must(t, err)
	program = filepath.Join(t.TempDir(), "cleave-busy")
	testset.Must(t, os.WriteFile(program, text, 0o755))
	return program
}

// begin starts a program that ends with the test.
func begin(t *testing.T, attributes *syscall.SysProcAttr, program string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(program, args...) //nolint:noctx // ends with the test
	attributes.Setpgid = true
	attributes.Pdeathsig = syscall.SIGKILL
	command.SysProcAttr = attributes
	if err := command.Start(); err != nil {
		t.Skipf("this host does not let it start: %v", err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
	})
	return command
}

const burns = "while :; do :; done"

// TestProgramsOfAHostAreMeteredByTheirNames: all processes of a name count, also those that begin or end
// during the metering, and no others. Long because each step needs the processes of those before.
func TestProgramsOfAHostAreMeteredByTheirNames(t *testing.T) {
	program := busy(t)
	// The PID says in which PID namespace the programs are.
	unit := lab.Unit{Name: "Docker", Role: "Docker", PID: os.Getpid(),
		Span: lab.SpanPrograms("cleave-none", "cleave-busy")}
	_, err := New().Watch(t.Context(), []lab.Unit{unit})
	if err == nil || !strings.Contains(err.Error(),
		"no process called cleave-none, cleave-busy can be seen here") {
		t.Fatalf("of programs that do not run there is %v", err)
	}
	testset.Must(t, os.WriteFile(filepath.Join(filepath.Dir(program), "apiserver"), []byte(burns), 0o600))
	t.Chdir(filepath.Dir(program))
	stays := begin(t, &syscall.SysProcAttr{}, program, "apiserver", "--token=topsecret").Process.Pid
	begin(t, &syscall.SysProcAttr{}, "sh", "-c", burns)
	ends := begin(t, &syscall.SysProcAttr{}, program, "-c", burns)
	wantThreads(t, unit, "cleave-busy", 2)
	halt(t, stays)
	halt(t, ends.Process.Pid)
	running, err := New().Watch(t.Context(), []lab.Unit{unit})
	if err == nil {
		err = running.Mark()
	}
	testset.Must(t, err)
	want := burnMore(t, stays)
	lost := burnMore(t, ends.Process.Pid)
	read := running.(*metering)
	testset.Must(t, read.ask(func() error { _, err := read.work.cpu(); return err })) // the last reading of ends
	testset.Must(t, ends.Process.Kill())
	_ = ends.Wait() // it was killed, so Wait returns an error
	begins := begin(t, &syscall.SysProcAttr{}, program, "-c", burns).Process.Pid
	awaitClock(t, begins, 0.1)
	want += lost + halt(t, begins)
	err = running.Mark()
	metered, stopped := running.Stop()
	if err != nil || stopped != nil {
		t.Fatal(err, stopped)
	}
	const precision = 0.005 // seconds: a process runs a little longer after it looks stopped
	used := metered.Roles["Docker"]
	if math.Abs(used.CPUSeconds-want) > precision {
		t.Errorf("the processes have used %g s, want %g", used.CPUSeconds, want)
	}
	if used.PeakMemoryBytes < 100<<10 || used.MeanMemoryBytes > used.PeakMemoryBytes {
		t.Errorf("their memory is %+v", used)
	}
	living, ended := 0, 0.0
	for _, p := range metered.Processes {
		if p.Name == "cleave-busy apiserver" || p.Name == "cleave-busy" {
			living += p.Processes
		} else if ended = p.CPUSeconds; p.Name != restName {
			t.Errorf("%s is among them", p.Name)
		}
	}
	if living != 2 || !slices.ContainsFunc(metered.Processes,
		func(p lab.ProcessUsage) bool { return p.Name == "cleave-busy apiserver" }) {
		t.Errorf("%d processes are there at the end, want 2: %+v", living, metered.Processes)
	}
	if math.Abs(ended-lost) > precision {
		t.Errorf("the one that has ended has used %g s, want %g: %+v", ended, lost, metered.Processes)
	}
}

// halt stops a process until burnMore, and returns its processor time in seconds. So a test knows what the
// process has used, however little of the processors it gets on a busy host.
func halt(t *testing.T, pid int) float64 {
	t.Helper()
	testset.Must(t, syscall.Kill(pid, syscall.SIGSTOP))
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		testset.Must(t, err)
		now, err := parseStat(text)
		testset.Must(t, err)
		if now.state == 'T' {
			return clockOf(t, pid)
		}
	}
	t.Fatalf("process %d has not stopped after a minute", pid)
	return 0
}

// burnMore lets a stopped process run, stops it again, and returns the processor time that it used.
func burnMore(t *testing.T, pid int) float64 {
	t.Helper()
	before := clockOf(t, pid)
	testset.Must(t, syscall.Kill(pid, syscall.SIGCONT))
	awaitClock(t, pid, before+0.2)
	return halt(t, pid) - before
}

// wantThreads checks the number of threads of a unit, and that all have one name.
func wantThreads(t *testing.T, unit lab.Unit, name string, n int) {
	t.Helper()
	threads, err := New().Threads([]lab.Unit{unit})
	testset.Must(t, err)
	names := map[string]int{}
	for _, thread := range threads {
		names[thread.Name]++
	}
	if len(names) != 1 || names[name] != n {
		t.Errorf("threads by name %v, want %d called %s", names, n, name)
	}
}

// TestAHostIsMeteredWithoutItsContainers: a process in a PID namespace below that of the host is in a
// container there.
func TestAHostIsMeteredWithoutItsContainers(t *testing.T) {
	program := busy(t)
	inner := program + " -c '" + burns + "'"
	first := begin(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}, "sh", "-c",
		"unshare --pid --fork "+inner+" & sleep 60 & wait")
	unit := &child{unit: lab.Unit{Name: "node-1", Role: "node-1", PID: first.Process.Pid, Span: lab.SpanHost}}
	contained := burner(t, program, first.Process.Pid)
	for name, beside := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			process := 0 // on the host
			if beside {
				target := "--target=" + strconv.Itoa(first.Process.Pid)
				//nolint:noctx // ends with the namespace
				command := exec.Command("nsenter", target, "--pid", program, "-c", burns)
				if err := command.Start(); err != nil {
					t.Skip(err)
				}
				t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
				process = burner(t, program, command.Process.Pid)
				halt(t, process)
			}
			want := 0.0
			metered := between(t, func() {
				awaitClock(t, contained, clockOf(t, contained)+0.3)
				if beside {
					want = burnMore(t, process)
				}
			}, unit)
			if used := metered.Total.CPUSeconds; math.Abs(used-want) > 0.02 {
				t.Errorf("the host has used %g s, want %g: %+v", used, want, metered.Processes)
			}
		})
	}
}

// descendant returns the process that descends from another one and whose command line begins with these
// words, which are separated by zero bytes, as soon as it is there.
func descendant(t *testing.T, words string, from int) int {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
		for _, name := range names {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if line, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(line), words+"\x00") &&
				descends(pid, from) {
				return pid
			}
		}
	}
	t.Fatalf("no %q descends from process %d after a minute", words, from)
	return 0
}

// burner returns the process of a program that descends from another process, as soon as it burns.
func burner(t *testing.T, program string, from int) int {
	t.Helper()
	pid := descendant(t, program, from)
	awaitClock(t, pid, 0.01)
	return pid
}

// descends reports whether a process descends from another one.
func descends(pid, from int) bool {
	for pid > 1 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		s, err := parseStat(text)
		if pid = int(s.parent); err != nil || pid == from {
			return err == nil
		}
	}
	return false
}

// clockOf returns the processor time of a process, in seconds.
func clockOf(t *testing.T, pid int) float64 {
	t.Helper()
	clock, err := newScratch().clock(processClock(pid))
	if err != nil {
		t.Fatalf("the processor time of process %d: %v", pid, err)
	}
	return float64(clock) / 1e9
}

// awaitClock waits until a process has used a processor time, and returns its processor time in seconds.
func awaitClock(t *testing.T, pid int, seconds float64) float64 {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if used := clockOf(t, pid); used >= seconds {
			return used
		}
	}
	t.Fatalf("process %d has not used %g s after a minute", pid, seconds)
	return 0
}
