package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// group is the process group of one deployment, led by its janitor.
type group struct {
	janitor *exec.Cmd
	alive   io.WriteCloser // closing it tells the janitor to clean up
	dir     string
}

// startGroup starts the janitor as the leader of a new process group. It
// outlives the conductor on purpose, so it gets no Pdeathsig.
func startGroup(janitor []string, dir string) (*group, error) {
	command := exec.Command(janitor[0], append(janitor[1:len(janitor):len(janitor)], dir)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stderr = &tail{}
	command.Env = []string{}
	alive, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start janitor: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start janitor %v: %w", janitor, err)
	}
	return &group{janitor: command, alive: alive, dir: dir}, nil
}

func (g *group) id() int { return g.janitor.Process.Pid }

// end has the janitor do its work and checks that it did: afterwards the group
// has no member and the directory is gone.
func (g *group) end() error {
	_ = g.alive.Close() // the janitor may be dead already: then Wait says so
	if err := g.janitor.Wait(); err != nil {
		notes := strings.TrimSpace(g.janitor.Stderr.(*tail).String())
		return fmt.Errorf("clean up after the trial (%s): %w: %s", g.dir, err, notes)
	}
	if _, err := os.Lstat(g.dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the trial's directory %s is still there; remove it with: cleave clean", g.dir)
	}
	return nil
}

// Janitor waits until in ends, then kills every other process of its own
// process group and removes dir, with the conductor's directory above it and
// the root of all of them when nothing else is in them. It is the main function
// of the janitor's process, which startGroup makes the leader of the group.
func Janitor(in io.Reader, dir string) error {
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("wait for the conductor: %w", err)
	}
	if syscall.Getpgrp() != os.Getpid() {
		return errors.New("the janitor does not lead its process group: it is started by cleave, not by hand")
	}
	if err := killGroup(os.Getpid()); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for range 2 {
		dir = filepath.Dir(dir)
		if os.Remove(dir) != nil {
			break // something else is in it
		}
	}
	return nil
}

// killGroup ends the members of the process group but its leader and returns
// when none is left but those that wait to be reaped by their parent.
func killGroup(leader int) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		members, err := groupMembers(leader)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not end after kill -9", members)
		}
		for _, pid := range members {
			// It may have ended meanwhile. Its number cannot be another's yet:
			// the group exists while its leader, this process, does.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// groupMembers lists the living processes of the group other than its leader.
func groupMembers(leader int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var members []int
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // ended since the listing
		}
		pid, group, zombie := parseStat(string(data))
		if group == leader && pid != leader && !zombie {
			members = append(members, pid)
		}
	}
	return members, nil
}

// parseStat reads a line of /proc/PID/stat. The command name stands in
// parentheses and may itself contain blanks and parentheses.
func parseStat(stat string) (pid, group int, zombie bool) {
	open, closing := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || closing < open {
		return 0, 0, false
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(stat[:open]))
	fields := strings.Fields(stat[closing+1:]) // state, parent, group, ...
	if len(fields) < 3 {
		return 0, 0, false
	}
	group, _ = strconv.Atoi(fields[2])
	return pid, group, fields[0] == "Z" || fields[0] == "X"
}
