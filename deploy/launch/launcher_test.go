package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
)

// launcher returns a Launcher that is closed after the test, and after its processes have been killed.
func launcher(t *testing.T) *Launcher {
	t.Helper()
	l := NewLauncher()
	t.Cleanup(l.Close)
	return l
}

// echo is a process that repeats every line it gets as long as it lives.
type echo struct {
	command *exec.Cmd
	in      io.Writer
	out     *bufio.Reader
}

// newEcho returns an echo, not started yet, that the kernel kills when the thread that started it ends.
func newEcho(t *testing.T) *echo {
	t.Helper()
	command := exec.Command("cat")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := command.StdinPipe()
	testset.Must(t, err)
	out, err := command.StdoutPipe()
	testset.Must(t, err)
	t.Cleanup(func() {
		if command.Process == nil {
			return // it was never started
		}
		_ = command.Process.Kill() // it has ended if the test has failed
		_ = command.Wait()
	})
	return &echo{command: command, in: in, out: bufio.NewReader(out)}
}

// checkAlive returns an error unless the process repeats a line.
func (e *echo) checkAlive() error {
	if _, err := io.WriteString(e.in, "alive\n"); err != nil {
		return err
	}
	_, err := e.out.ReadString('\n')
	return err
}

// onThreadThatEnds runs work on a thread of its own and returns when that thread has ended,
// and with it the processes that the kernel kills then.
func onThreadThatEnds(t *testing.T, work func()) {
	t.Helper()
	thread := make(chan int)
	release := make(chan struct{})
	defer close(release)
	for {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			id := unix.Gettid()
			if id == os.Getpid() { // the first thread of a program never ends: keep it busy
				thread <- 0
				<-release
				return
			}
			work()
			thread <- id
		}()
		if id := <-thread; id != 0 {
			awaitThreadEnd(t, id)
			return
		}
	}
}

// awaitThreadEnd waits until a thread is gone.
func awaitThreadEnd(t *testing.T, id int) {
	t.Helper()
	task := fmt.Sprintf("/proc/self/task/%d", id)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		_, err := os.Stat(task)
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		testset.Must(t, err)
		if time.Now().After(end) {
			t.Fatalf("thread %d has not ended within a minute", id)
		}
	}
}

func TestAProcessOutlivesTheThreadThatAsksForIt(t *testing.T) {
	l := launcher(t)
	process := newEcho(t)
	var started error
	onThreadThatEnds(t, func() { started = l.Start(process.command) })
	testset.Must(t, started)
	if err := process.checkAlive(); err != nil {
		t.Errorf("the process has ended with the caller's thread: %v", err)
	}
}

func TestAProcessIsBoundToItsCores(t *testing.T) {
	var all unix.CPUSet
	testset.Must(t, unix.SchedGetaffinity(0, &all))
	l := launcher(t)
	for _, c := range []struct {
		name  string
		cores []int
		want  unix.CPUSet
	}{
		{"one", []int{1}, setOf(choose([]int{1}, all))},
		{"any, after one that was bound", nil, all},
		{"more than there are", []int{all.Count()}, setOf(choose([]int{0}, all))},
		{"several", []int{0, 1}, setOf(choose([]int{0, 1}, all))},
	} {
		t.Run(c.name, func(t *testing.T) {
			process := newEcho(t)
			testset.Must(t, l.Start(process.command, c.cores...))
			var got unix.CPUSet
			testset.Must(t, unix.SchedGetaffinity(process.command.Process.Pid, &got))
			if got != c.want {
				t.Errorf("bound to %v, want %v", got, c.want)
			}
		})
	}
}

func TestCoresWrapAroundTheAllowedProcessors(t *testing.T) {
	var allowed unix.CPUSet
	allowed.Set(3)
	allowed.Set(5)
	for core, want := range map[int]int{0: 3, 1: 5, 2: 3, 7: 5} {
		if got := choose([]int{core}, allowed); !slices.Equal(got, []int{want}) {
			t.Errorf("core %d is mapped to %v, want processor %d", core, got, want)
		}
	}
}

func TestAFailedStartIsReportedAndHarmsNoOther(t *testing.T) {
	l := launcher(t)
	process := newEcho(t)
	if err := l.Start(exec.Command("/no such program"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is missing was started: %v", err)
	}
	testset.Must(t, l.Start(process.command))
	testset.Must(t, process.checkAlive())
}

// TestNothingIsStartedOnceTheLauncherIsClosed checks that a start that comes too late fails.
func TestNothingIsStartedOnceTheLauncherIsClosed(t *testing.T) {
	l := NewLauncher()
	l.Close()
	if err := l.Start(exec.Command("true")); err == nil {
		t.Error("a program was started")
	}
}
