package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// process is one program to start.
type process struct {
	name string // of its log
	args []string
	env  []string // all that it gets
}

// started is a process that was started.
type started struct {
	command *exec.Cmd
	log     string        // path of its log
	ended   chan struct{} // closed when it is reaped
	outcome error         // how it ended; read after ended is closed
	doomed  atomic.Bool   // we end it ourselves
}

// command makes a command in the instance's folder that writes to the log and is
// tied to our life by the launcher.
func (i *Instance) command(p process, log *os.File) *exec.Cmd {
	command := exec.Command(p.args[0], p.args[1:]...)
	command.Env, command.Dir = p.env, i.dir
	if i.settings.Label != "" {
		command.Env = append(slices.Clip(p.env), "CLEAVE_RUN="+i.settings.Label)
	}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return command
}

// start starts a process that stays. Where this host does not let us make user
// namespaces, as in most containers, the process runs as root, and PostgreSQL,
// which will not, says so.
func (i *Instance) start(p process) (*started, error) {
	s := &started{log: i.file(p.name + ".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own copy
	s.command = i.command(p, log)
	unprivileged(s.command.SysProcAttr)
	err = i.launcher.Start(s.command)
	if namespaceRefused(err) && s.command.SysProcAttr.Cloneflags != 0 {
		s.command = i.command(p, log)
		err = i.launcher.Start(s.command)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(p.args, " "), err)
	}
	go s.await()
	return s, nil
}

// await reaps the process.
func (s *started) await() {
	s.outcome = s.command.Wait()
	if s.outcome == nil {
		s.outcome = errors.New("exit status 0")
	}
	close(s.ended)
}

// run runs a program to its end, for preparations.
func (i *Instance) run(p process) error {
	s, err := i.start(p)
	if err != nil {
		return err
	}
	<-s.ended
	if !s.command.ProcessState.Success() {
		return fmt.Errorf("%s: %w: %s", strings.Join(p.args, " "), s.outcome, lastLines(s.log, 5))
	}
	return nil
}

// finish signals a process and kills it when that does not end it in time.
func (s *started) finish(how syscall.Signal, within time.Duration) {
	_ = s.command.Process.Signal(how) // it may have ended: then ended is closed
	select {
	case <-s.ended:
		return
	case <-time.After(within):
	}
	_ = s.command.Process.Kill()
	<-s.ended
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

// namespaceRefused reports whether a start failed for want of a user namespace.
func namespaceRefused(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL)
}

// relative is a process with what tells it from a later one of the same number.
type relative struct {
	pid, parent int
	since       uint64 // start, in clock ticks since boot
}

// family lists the running processes of the instance with all their children.
func (i *Instance) family() []relative {
	everyone := processes()
	var found []relative
	for _, s := range i.running {
		if p, ok := everyone[s.command.Process.Pid]; ok && p.parent == os.Getpid() {
			found = append(found, p)
		}
	}
	for n := 0; n < len(found); n++ {
		for _, p := range everyone {
			if p.parent == found[n].pid {
				found = append(found, p)
			}
		}
	}
	return found
}

// processes lists the living processes of this host by number.
func processes() map[int]relative {
	listed, _ := procfs.AllProcs() // without /proc no process is known
	all := make(map[int]relative, len(listed))
	for _, process := range listed {
		if p, ok := look(process.PID); ok {
			all[p.pid] = p
		}
	}
	return all
}

// look reads a process' state; one that is gone or only waits to be reaped is none.
func look(pid int) (relative, bool) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return relative{}, false
	}
	stat, err := process.Stat()
	if err != nil || stat.State == "Z" || stat.State == "X" {
		return relative{}, false
	}
	return relative{pid: stat.PID, parent: stat.PPID, since: stat.Starttime}, true
}

// living returns those that still run.
func living(family []relative) []relative {
	return slices.DeleteFunc(slices.Clone(family), func(p relative) bool {
		now, ok := look(p.pid)
		return !ok || now.since != p.since
	})
}

// awaitGone waits until none of the family runs. Children end by themselves when
// their server is gone; those that do not in half of the time are killed.
func awaitGone(family []relative, within time.Duration) error {
	begin := time.Now()
	for {
		family = living(family)
		waited := time.Since(begin)
		switch {
		case len(family) == 0:
			return nil
		case waited > within:
			return fmt.Errorf("processes %v do not end", family)
		case waited > within/2:
			for _, p := range family {
				_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended since
			}
		}
		time.Sleep(pollEvery)
	}
}
