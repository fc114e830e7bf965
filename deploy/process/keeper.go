package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// aliveDescriptor is where a keeper holds its copy of the pipe for which the
// janitor waits: the janitor acts when every keeper has done its part.
const aliveDescriptor = 3

// killPatience is how long processes may take to end after kill -9.
const killPatience = 10 * time.Second

// Kept says how a keeper keeps which program.
type Kept struct {
	// Grace is the time between SIGTERM and SIGKILL; 0: there is no SIGTERM.
	Grace time.Duration
	// Unprivileged takes root's privileges from the program.
	Unprivileged bool
	Program      []string
}

// Keep runs a foreign program from the first byte of in on, when the limits of this process hold, and ends
// it, with all that descends from it, when in ends: SIGTERM to each process, SIGKILL to those that are left
// after the grace. It returns when none is left. Whatever the processes do (new sessions, double
// forks), they stay below this process, because it adopts orphans.
//
// It is the main function of a keeper's process, which the deployer starts for
// every foreign unit. It tells on out, as an event, how the program ended when
// that was its own doing: finished for exit status 0, else failed. An error means
// that processes may be left.
func Keep(in io.Reader, out io.Writer, kept Kept) error {
	runtime.LockOSThread() // the program dies with the thread that started it
	unix.CloseOnExec(aliveDescriptor)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		return nil // it is not to begin
	}
	program, err := kept.start()
	if err != nil {
		return say(out, lab.Event{Event: lab.EventFailed, Error: err.Error()})
	}
	k := keeper{kept: kept, root: program.Process.Pid, ended: make(chan unix.WaitStatus, 1),
		empty: make(chan struct{})}
	go k.reap()
	released := make(chan struct{})
	go func() {
		defer close(released)
		_, _ = io.Copy(io.Discard, in) // an error ends the wait like the end
	}()
	var told error
	select {
	case status := <-k.ended:
		told = say(out, ending(status))
	case <-released:
	}
	return errors.Join(told, k.endAll())
}

// start starts the program. Where this host does not let us make user namespaces, as in
// most containers, an unprivileged one runs as root, and PostgreSQL, which will not,
// says so.
func (k Kept) start() (*exec.Cmd, error) {
	program := k.command()
	if !k.Unprivileged {
		return program, program.Start()
	}
	unprivileged(program.SysProcAttr)
	err := program.Start()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		program = k.command()
		err = program.Start()
	}
	return program, err
}

func (k Kept) command() *exec.Cmd {
	program := exec.Command(k.Program[0], k.Program[1:]...)
	program.Stdout, program.Stderr = os.Stderr, os.Stderr
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return program
}

// unprivileged has a child run without root's privileges where we are root:
// PostgreSQL refuses root, and no server needs it. The child sits in a user
// namespace in which root is called otherwise, so it owns our files without
// changing their owner and may enter folders that are closed to other users. A
// namespace for shared memory goes with its last process, and with it what a server
// that is killed leaves there; to make one, other users need the user namespace, too.
func unprivileged(attributes *syscall.SysProcAttr) {
	const inside = 1000 // any number but root's 0
	attributes.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWIPC
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Geteuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Getegid(), Size: 1}}
}

// say tells the deployer.
func say(out io.Writer, event lab.Event) error { return json.NewEncoder(out).Encode(event) }

// ending returns how a program ended by itself.
func ending(status unix.WaitStatus) lab.Event {
	switch {
	case status.Exited() && status.ExitStatus() == 0:
		return lab.Event{Event: lab.EventFinished}
	case status.Signaled():
		return lab.Event{Event: lab.EventFailed, Error: "ended by signal: " + status.Signal().String()}
	}
	return lab.Event{Event: lab.EventFailed, Error: fmt.Sprintf("ended with exit status %d",
		status.ExitStatus())}
}

// keeper is at work on the processes of one foreign unit.
type keeper struct {
	kept  Kept
	root  int
	ended chan unix.WaitStatus // how the program itself ended
	empty chan struct{}        // closed when no process is left
}

// reap collects the program and every orphan that ends, until none is left.
func (k *keeper) reap() {
	defer close(k.empty)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // there are no children any more
		case pid == k.root:
			k.ended <- status
		}
	}
}

// To look at all processes of a host takes milliseconds, and those that are looked at for
// shared memory stand still meanwhile: whoever waits for an end looks less and less often.
const firstWait, longestWait = 5 * time.Millisecond, 200 * time.Millisecond

// endAll ends every process below this one.
func (k *keeper) endAll() error {
	var left memory
	defer left.remove()
	if grace := k.kept.Grace; grace > 0 {
		left.look(k.kept)
		if err := signalBelow(syscall.SIGTERM); err != nil {
			return err
		}
		if ended, err := k.signalUntilEmpty(syscall.SIGCONT, grace, &left); ended || err != nil {
			return err
		}
	}
	ended, err := k.signalUntilEmpty(syscall.SIGKILL, killPatience, &left)
	if !ended && err == nil {
		err = fmt.Errorf("processes below %d do not end after kill -9", os.Getpid())
	}
	return err
}

// signalUntilEmpty signals every process below this one until none is left, or the time is over. Those that
// are made meanwhile need another round.
func (k *keeper) signalUntilEmpty(
	signal syscall.Signal, patience time.Duration, left *memory,
) (ended bool, err error) {
	wait := firstWait
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); wait = min(2*wait, longestWait) {
		left.look(k.kept)
		if err := signalBelow(signal); err != nil {
			return false, err
		}
		if k.isEmpty(wait) {
			return true, nil
		}
	}
	return false, nil
}

// isEmpty reports whether no process is left, or soon will be.
func (k *keeper) isEmpty(within time.Duration) bool {
	select {
	case <-k.empty:
		return true
	case <-time.After(within):
		return false
	}
}

// signalBelow signals every process that descends from this one.
func signalBelow(signal syscall.Signal) error {
	all, err := processes()
	if err != nil {
		return err
	}
	for _, pid := range below(os.Getpid(), all) {
		_ = syscall.Kill(pid, signal) // it may have ended meanwhile
	}
	return nil
}

// KeeperArguments reads what a deployer has appended to the keeper's command: the
// grace period, whether the program is unprivileged, then it with its arguments.
func KeeperArguments(args []string) (kept Kept, err error) {
	if len(args) < 3 {
		return kept, errors.New("a keeper needs a grace period, a privilege and a program: it is started by " +
			"cleave, not by hand")
	}
	kept.Grace, err = time.ParseDuration(args[0])
	if err == nil {
		kept.Unprivileged, err = strconv.ParseBool(args[1])
	}
	kept.Program = args[2:]
	return kept, err
}

func (k Kept) arguments() []string {
	return append([]string{k.Grace.String(), strconv.FormatBool(k.Unprivileged)}, k.Program...)
}

// findProgram finds the program of a foreign unit: a name without a slash in
// PATH, any other below dir. The error names the file and what is wrong with it.
func findProgram(name, dir string) (string, error) {
	if !strings.Contains(name, "/") {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("there is no program %q in PATH: install it, or give its path", name)
		}
		return path, nil
	}
	path := name
	if !strings.HasPrefix(path, "/") && dir != "" {
		path = dir + "/" + path
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("find the program %s: %w", path, err)
	case info.IsDir():
		return "", fmt.Errorf("%s is a folder, not a program", path)
	case unix.Access(path, unix.X_OK) != nil:
		return "", fmt.Errorf("%s may not be run: permission denied; allow it with: chmod +x %s", path, path)
	}
	return path, nil
}
