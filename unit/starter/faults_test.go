package starter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// The roles of the test program in a container of the tests: its first argument.
const (
	roleStarter = "starter" // the second argument is the path of its orders
	roleProgram = "program" // the unit's program; the second argument is its address
)

// TestMain runs the test program in a role if it is started in a container.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != roleStarter && os.Args[1] != roleProgram {
		os.Exit(m.Run())
	}
	status := 1
	var err error
	if os.Args[1] == roleStarter {
		if err = unix.Mount("proc", "/proc", "proc", 0, ""); err == nil {
			status, err = Run(os.Args[2])
		}
	} else {
		err = serve(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// serve is the unit's program. It starts a child in another session, counts its starts in a file
// and answers each caller with that number. A caller that sends a text ends it.
func serve(address string) error {
	lives, err := os.OpenFile("lives", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := lives.WriteString("|"); err != nil {
		return err
	}
	if err := exec.Command("setsid", "sleep", "1000").Start(); err != nil {
		return err
	}
	text, err := os.ReadFile("lives")
	if err != nil {
		return err
	}
	fmt.Printf("life %d\n", len(text))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		caller, err := listener.Accept()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(caller, "%d\n", len(text)); err != nil {
			return err
		}
		if text, _ := io.ReadAll(caller); len(text) > 0 {
			os.Exit(3)
		}
		_ = caller.Close()
	}
}

// contained is a starter in PID and mount namespaces of its own, like the first process of a container.
type contained struct {
	*exec.Cmd
	log           *strings.Builder
	unit, starter string // addresses
}

// contain starts a starter that accepts requests for faults, and waits until its unit listens.
func contain(t *testing.T) contained {
	t.Helper()
	dir := volume(t)
	ports, err := launch.ReservePorts(2)
	testset.Must(t, err)
	t.Cleanup(ports.Close)
	c := contained{log: &strings.Builder{}, unit: launch.Loopback(ports.Numbers[0]),
		starter: launch.Loopback(ports.Numbers[1])}
	self, err := os.Executable()
	testset.Must(t, err)
	text, err := os.ReadFile(self)
	program := filepath.Join(dir, "program") // the user nobody gets dir, but cannot enter the folder of self
	if err = errors.Join(err, os.WriteFile(program, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	c.Cmd = exec.CommandContext(ctx, self, roleStarter, writeOrders(t, lab.StarterOrders{
		Volume: dir, Dir: dir, User: nobody, Env: []string{"PATH=/usr/bin:/bin"},
		Run:    []string{program, roleProgram, c.unit},
		Faults: &lab.StarterFaults{Address: c.starter, Token: "token"},
	}))
	c.Stdout = c.log
	c.Stderr = c.log
	c.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Unshareflags: unix.CLONE_NEWNS}
	testset.Must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	const listens = lab.StarterDone + "it listens\n"
	deadline := time.Now().Add(time.Minute)
	for ; c.request("token", lab.StarterListens+c.port()) != listens; time.Sleep(checkInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("the program does not listen: %s", c.log)
		}
	}
	return c
}

func (c contained) port() string { return c.unit[strings.LastIndex(c.unit, ":")+1:] }

// request sends a request to the starter and returns its answer, or the text of an error.
func (c contained) request(token, text string) string {
	connection, err := net.Dial("tcp", c.starter)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = connection.Close() }() // the answer is read by then
	_, _ = io.WriteString(connection, token+"\n"+text+"\n")
	answer, _ := io.ReadAll(connection)
	return string(answer)
}

// life returns the number of the program's start, or "" if it does not answer.
func (c contained) life() string {
	connection, err := net.DialTimeout("tcp", c.unit, time.Second)
	if err != nil {
		return ""
	}
	defer func() { _ = connection.Close() }() // the answer is read by then
	_ = connection.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	text, _ := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(text)
}

// TestFaults: with the token, a caller can end, start, stop and continue all processes of a
// container. If the program ends by itself, the container ends with its status.
func TestFaults(t *testing.T) {
	c := contain(t)
	for _, step := range []struct{ token, request, answer, life string }{
		{"tokem", lab.StarterEnd, "that is not the token", "1"},
		{"token", "dance", `"dance" is no request that a starter knows`, "1"},
		{"token", lab.StarterStart, "the unit's program runs, and was not ended", "1"},
		{"token", lab.StarterListens + "none", `"none" is no port`, "1"},
		{"token", lab.StarterListens + "1", "nothing listens at port 1 for 5s", "1"},
		{"token", lab.StarterStop, "done: processes of its container that are stopped, with all their threads: 2",
			""},
		{"token", lab.StarterContinue, "done: processes of its container that go on: 2", "1"},
		{"token", lab.StarterEnd, "done: processes of its container that have ended, all of them: 2", ""},
		{"token", lab.StarterEnd, "the unit's processes were ended before", ""},
		{"token", lab.StarterStart, "done: its program runs again", "2"},
		{"token", lab.StarterStop, "done: processes of its container that are stopped, with all their threads: 2",
			""},
		{"token", lab.StarterEnd, "done: processes of its container that have ended, all of them: 2", ""},
		{"token", lab.StarterStart, "done: its program runs again", "3"},
	} {
		if answer := c.request(step.token, step.request); answer != step.answer+"\n" {
			t.Errorf("%s: answer %q, want %q", step.request, answer, step.answer)
		}
		if step.request == lab.StarterStart && step.life != "1" { // waits until the new process listens
			c.request("token", lab.StarterListens+c.port())
		}
		if life := c.life(); life != step.life {
			t.Errorf("after %s the program answers %q, want %q", step.request, life, step.life)
		}
	}
	connection, err := net.Dial("tcp", c.unit)
	testset.Must(t, err)
	_, _ = io.WriteString(connection, "that is all\n")
	_ = connection.(*net.TCPConn).CloseWrite()
	_ = c.Wait()
	if status := c.ProcessState.ExitCode(); status != 3 {
		t.Errorf("exit status %d of the container, want that of its program", status)
	}
	if log := c.log.String(); log != "life 1\nlife 2\nlife 3\n" {
		t.Errorf("the log is %q", log)
	}
}

// TestStopBetweenLives: SIGTERM ends a container whose unit a fault has ended.
func TestStopBetweenLives(t *testing.T) {
	c := contain(t)
	if answer := c.request("token", lab.StarterEnd); !strings.HasPrefix(answer, lab.StarterDone) {
		t.Fatalf("answer %q", answer)
	}
	testset.Must(t, c.Process.Signal(unix.SIGTERM))
	_ = c.Wait()
	if status := c.ProcessState.ExitCode(); status != signalled+int(unix.SIGTERM) {
		t.Errorf("exit status %d", status)
	}
}

// TestAFailedEnd: if a process does not end in time, the request fails, and the program's later end ends the
// container: otherwise the deployer would not notice the loss of the unit.
func TestAFailedEnd(t *testing.T) {
	c := contain(t)
	release := holdExit(t, c.program(t))
	want := "5s after signal 9 threads of its container are in the states \"t\"\n"
	if answer := c.request("token", lab.StarterEnd); answer != want {
		t.Errorf("answer %q, want %q", answer, want)
	}
	release()
	_ = c.Wait()
	if status := c.ProcessState.ExitCode(); status != signalled+int(unix.SIGKILL) {
		t.Errorf("exit status %d", status)
	}
}

// program returns the ID, outside of the container, of the process of the unit's program.
func (c contained) program(t *testing.T) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.Process.Pid)) // a list for each thread
	testset.Must(t, err)
	for _, list := range lists {
		text, err := os.ReadFile(list)
		testset.Must(t, err)
		if process, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return process
		}
	}
	t.Fatal("the container has no program")
	return 0
}

// holdExit traces a process so that it does not end, also after SIGKILL, until release is called.
func holdExit(t *testing.T, process int) (release func()) {
	t.Helper()
	traced := make(chan error)
	released := make(chan struct{})
	go trace(process, traced, released)
	testset.Must(t, <-traced)
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	return release
}

// trace traces a process until released is closed, and sends to traced whether it could begin. The kernel
// ends the tracing with the thread, which never is the main one: that does not end with its goroutine.
func trace(process int, traced chan<- error, released <-chan struct{}) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		go trace(process, traced, released) // gets another thread, as this one is locked
		<-released
		runtime.UnlockOSThread()
		return
	}
	_, _, code := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(process), 0,
		unix.PTRACE_O_TRACEEXIT, 0, 0)
	if code != 0 {
		traced <- code
		return
	}
	traced <- nil
	<-released
}

// TestFaultsNeedAContainer: a starter that is not the first process of a container refuses to inject faults.
func TestFaultsNeedAContainer(t *testing.T) {
	_, err := Run(writeOrders(t, lab.StarterOrders{Run: []string{"/bin/true"},
		Faults: &lab.StarterFaults{Address: "127.0.0.1:0"}}))
	if err == nil || !strings.Contains(err.Error(), "has to be the first of its container") {
		t.Errorf("error %v", err)
	}
}
