package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/volume"
)

// group is the process group of one deployment, led by its janitor.
type group struct {
	janitor *exec.Cmd
	// alive is the write end of the pipe that the janitor reads. When it and the
	// copies of the keepers are closed, the janitor cleans up.
	alive *os.File
	dir   string
	label string
}

// startGroup starts the janitor as the leader of a new process group. The janitor
// must outlive the conductor, so it gets no Pdeathsig.
func startGroup(janitor []string, dir, label string) (*group, error) {
	command := launch.Command(janitor, dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stderr = &fleet.Tail{}
	command.Env = []string{"CLEAVE_RUN=" + label}
	end, alive, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start janitor: %w", err)
	}
	defer func() { _ = end.Close() }() // the janitor has its own copy
	command.Stdin = end
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start janitor %v: %w", janitor, err), alive.Close())
	}
	return &group{janitor: command, alive: alive, dir: dir, label: label}, nil
}

// end makes the janitor clean up and waits for its end: then the group has no
// member and the directory is gone.
func (g *group) end() error {
	_ = g.alive.Close() // if the janitor is dead already, Wait returns its error
	if err := g.janitor.Wait(); err != nil {
		notes := strings.TrimSpace(g.janitor.Stderr.(*fleet.Tail).String())
		return fmt.Errorf("clean up after the trial (%s): %w: %s", g.dir, err, notes)
	}
	if _, err := os.Lstat(g.dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the trial's directory %s is still there; remove it with: cleave clean", g.dir)
	}
	return nil
}

// Janitor waits until in ends, then kills every other process of its own
// process group and removes dir and the control groups of the trial. It is the main
// function of the janitor's process, which startGroup makes the leader of the group.
func Janitor(in io.Reader, dir string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // they are meant for the conductor alone
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("wait for the conductor: %w", err)
	}
	if syscall.Getpgrp() != os.Getpid() {
		return errors.New("the janitor does not lead its process group: it is started by cleave, not by hand")
	}
	if err := killGroup(os.Getpid()); err != nil {
		return err
	}
	return errors.Join(cgroup.RemoveTrial(cgroup.Root, os.Getenv("CLEAVE_RUN"), filepath.Base(dir)),
		volume.UnmountBelow(dir), os.RemoveAll(dir))
}

// killGroup kills the members of the process group except its leader, and
// returns when only zombies are left.
func killGroup(leader int) error {
	members := func(all []entry) (pids []int) {
		for _, p := range all {
			if p.group == leader && p.pid != leader {
				pids = append(pids, p.pid)
			}
		}
		return pids
	}
	// Only members are killed: the group's number cannot be reused as long as its leader, this process, runs.
	_, left, err := signalUntil(members, syscall.SIGKILL, neverDone, killPatience)
	if len(left) > 0 {
		err = fmt.Errorf("processes %v do not end after kill -9", left)
	}
	return err
}
