package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// aliveDescriptor is the descriptor of a keeper's copy of the pipe on which the
// janitor waits: the janitor cleans up only when every keeper has ended.
const aliveDescriptor = 3

// killPatience bounds how long processes may take to end after kill -9.
const killPatience = 10 * time.Second

// keptProgram describes a program and how a keeper keeps it.
type keptProgram struct {
	grace        time.Duration // between SIGTERM and SIGKILL; 0: there is no SIGTERM
	unprivileged bool          // the program does not have root's privileges
	program      []string
}

// Keep starts a foreign program at the first byte of in, which the deployer sends once the limits of this
// process are set. When in ends, it ends the program with all its descendants: SIGTERM to each process, and
// SIGKILL to those that are left after the grace. It returns when none is left. Whatever the processes do
// (new sessions, double forks), they stay below this process, because it adopts orphans.
//
// It is the main function of a keeper's process, which the deployer starts for every foreign unit. If the
// program ends by itself, Keep writes an event to out: finished for exit status 0, otherwise failed. An error
// means that processes may be left. args are the arguments that the deployer has appended to the keeper's
// command.
func Keep(in io.Reader, out io.Writer, args []string) error {
	kept, err := parseKept(args)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // Pdeathsig kills the program at the end of the thread that started it
	unix.CloseOnExec(aliveDescriptor)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		return nil // the deployer has given up before the start
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
		_, _ = io.Copy(io.Discard, in) // an error releases the program like the end
	}()
	var unsent error
	select {
	case status := <-k.ended:
		unsent = say(out, ending(status))
	case <-released:
	}
	return errors.Join(unsent, k.endAll())
}

// start starts the program. If this host does not let us make user namespaces, as in most
// containers, an unprivileged program runs as root; PostgreSQL then refuses with a message
// of its own.
func (k keptProgram) start() (*exec.Cmd, error) {
	program := k.command()
	if !k.unprivileged {
		return program, program.Start()
	}
	dropPrivileges(program.SysProcAttr)
	err := program.Start()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		program = k.command()
		err = program.Start()
	}
	return program, err
}

// command returns the command of the program, which writes all output to the unit's log.
func (k keptProgram) command() *exec.Cmd {
	program := exec.Command(k.program[0], k.program[1:]...)
	program.Stdout = os.Stderr
	program.Stderr = os.Stderr
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return program
}

// dropPrivileges lets a child run without root's privileges even if we are root:
// PostgreSQL refuses root, and no server needs it. The child is in a user namespace
// that maps our user to another number, so it owns our files without a change of
// their owner, and may enter folders that are closed to other users. It is also in an
// IPC namespace, which the kernel removes with its last process, and with it the shared
// memory that a killed server leaves. Without root only a user namespace lets us make one.
func dropPrivileges(attributes *syscall.SysProcAttr) {
	const inside = 1000 // any number except root's 0
	attributes.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWIPC
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Geteuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Getegid(), Size: 1}}
}

// say writes an event for the deployer.
func say(out io.Writer, event lab.Event) error { return json.NewEncoder(out).Encode(event) }

// ending returns the event for a program that has ended by itself.
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

// keeper holds the state of a keeper at work.
type keeper struct {
	kept  keptProgram
	root  int                  // process ID of the program
	ended chan unix.WaitStatus // how the program itself ended
	empty chan struct{}        // closed when no process is left
}

// reap waits for the program and every orphan, until none is left.
func (k *keeper) reap() {
	defer close(k.empty)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // no child is left
		case pid == k.root:
			k.ended <- status
		}
	}
}

// endAll ends every process below this one, and removes the named shared memory that a server has left.
func (k *keeper) endAll() error {
	var used sharedFiles
	defer used.remove()
	if grace := k.kept.grace; grace > 0 {
		used.stopAndAdd(k.kept)
		if _, _, err := signalUntil(ours, syscall.SIGTERM, neverDone, 0); err != nil {
			return err
		}
		// stopAndAdd stops the processes, which must run again to end.
		if ended, err := k.signalUntilEmpty(syscall.SIGCONT, grace, &used); ended || err != nil {
			return err
		}
	}
	ended, err := k.signalUntilEmpty(syscall.SIGKILL, killPatience, &used)
	if !ended && err == nil {
		err = fmt.Errorf("processes below %d do not end after kill -9", os.Getpid())
	}
	return err
}

// signalUntilEmpty signals every process below this one until none is left, or the time is over, and reports
// whether none is left. Only reap can tell that: a list of processes misses one that starts meanwhile, and a
// process whose first thread is a zombie may still hold ports and files.
func (k *keeper) signalUntilEmpty(
	signal syscall.Signal, patience time.Duration, used *sharedFiles,
) (ended bool, err error) {
	for begun := time.Now(); time.Since(begun) < patience; {
		used.stopAndAdd(k.kept)
		if _, _, err := signalUntil(ours, signal, neverDone, 0); err != nil {
			return false, err
		}
		select {
		case <-k.empty:
			return true, nil
		case <-time.After(fleet.Backoff(begun, firstWait, longestWait)):
		}
	}
	return false, nil
}

// ours returns the living processes below this one.
func ours(all []entry) []int { return below(os.Getpid(), all) }

// parseKept parses the arguments of a keeper: the grace period, whether the program is unprivileged, and the
// program with its arguments.
func parseKept(args []string) (kept keptProgram, err error) {
	if len(args) < 3 {
		return kept, errors.New("a keeper needs a grace period, a privilege and a program: it is started by " +
			"cleave, not by hand")
	}
	kept.grace, err = time.ParseDuration(args[0])
	if err == nil {
		kept.unprivileged, err = strconv.ParseBool(args[1])
	}
	kept.program = args[2:]
	return kept, err
}

// arguments returns the arguments that parseKept parses.
func (k keptProgram) arguments() []string {
	return append([]string{k.grace.String(), strconv.FormatBool(k.unprivileged)}, k.program...)
}

// findProgram returns the path of a foreign unit's program: a name without a slash is
// found in PATH, another relative path below dir. The error names the file and the reason.
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

// sharedMemoryFolder holds the named shared memory of the host; see shm_overview(7).
const sharedMemoryFolder = "/dev/shm/"

// sharedFiles lists files of the host's shared memory that processes of a server have had
// open or mapped, so that files that a killed server has left can be removed: the
// PostgreSQL of initdb, for example, does not remove its own when it gets a SIGTERM.
type sharedFiles []string

// remove removes the files that are left.
func (m *sharedFiles) remove() {
	for _, path := range *m {
		_ = os.Remove(path) // most servers have removed theirs
	}
}

// stopAndAdd stops the processes of a server, so that none makes another file unseen before the
// next signal, and adds the files that they have now. It does nothing for other programs, which
// keep their privileges: their files may belong to programs outside of the trial, too.
func (m *sharedFiles) stopAndAdd(kept keptProgram) {
	if !kept.unprivileged {
		return
	}
	// There are none if the processes cannot be listed.
	stopped, _, _ := signalUntil(ours, syscall.SIGSTOP, isStopped, stopPatience)
	for _, pid := range stopped {
		process := filepath.Join("/proc", strconv.Itoa(pid))
		links, _ := filepath.Glob(filepath.Join(process, "fd", "*")) // the pattern is well formed
		for _, link := range links {
			target, _ := os.Readlink(link) // "" of one that was closed since
			m.add(target)
		}
		maps, _ := os.ReadFile(filepath.Join(process, "maps")) // empty of a process that has ended
		for line := range strings.Lines(string(maps)) {
			if at := strings.Index(line, sharedMemoryFolder); at >= 0 {
				m.add(strings.TrimSpace(line[at:]))
			}
		}
	}
}

// add adds a path unless it is no file of shared memory, removed, or known.
func (m *sharedFiles) add(path string) {
	isFile := strings.HasPrefix(path, sharedMemoryFolder) && !strings.HasSuffix(path, " (deleted)")
	if isFile && !slices.Contains(*m, path) {
		*m = append(*m, path)
	}
}

// stopPatience bounds how long processes may take to stop: one that waits for a disk
// stops only afterwards.
const stopPatience = time.Second
