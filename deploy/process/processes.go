package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
)

// entry is a process of this host, as /proc/PID/stat shows it.
type entry struct {
	pid, parent, group int
	zombie, stopped    bool
}

// processes lists the processes of this host.
func processes() ([]entry, error) {
	listed, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]entry, 0, len(listed))
	for _, p := range listed {
		stat, err := p.Stat()
		if err != nil {
			continue // ended since the listing
		}
		state := launch.StateOf(stat)
		all = append(all, entry{
			pid: stat.PID, parent: stat.PPID, group: stat.PGRP,
			zombie: launch.HasEnded(state), stopped: strings.Contains("Tt", state),
		})
	}
	return all, nil
}

// below lists the living processes that descend from root.
func below(root int, all []entry) []int {
	children := map[int][]entry{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			queue = append(queue, child.pid)
			if !child.zombie {
				found = append(found, child.pid)
			}
		}
	}
	return found
}

// pausePatience bounds how long processes may take to stop after SIGSTOP: one that waits
// for a disk stops only afterwards.
const pausePatience = 10 * time.Second

// Pause implements fleet.Instance. It returns when each process of the unit has stopped.
func (u *unit) Pause(context.Context) (proof string, err error) {
	stopped, err := u.signalUntil(syscall.SIGSTOP, isStopped)
	if err != nil {
		return "", fmt.Errorf("pause unit %s: %w", u.Spec.Name, err)
	}
	return fmt.Sprintf("%d processes, all of them stopped", stopped), nil
}

// Resume implements fleet.Instance.
func (u *unit) Resume(context.Context) error {
	if _, err := u.signalUntil(syscall.SIGCONT, func(p entry) bool { return !p.stopped }); err != nil {
		return fmt.Errorf("resume unit %s: %w", u.Spec.Name, err)
	}
	return nil
}

// signalUntil signals every process of the unit until each is done, and returns their
// number.
func (u *unit) signalUntil(signal syscall.Signal, done func(entry) bool) (int, error) {
	all, waiting, err := signalUntil(u.among, signal, done, pausePatience)
	switch {
	case err != nil:
		return 0, err
	case len(all) == 0:
		return 0, fmt.Errorf("it has ended%s", u.Log.LastWords())
	case len(waiting) > 0:
		return 0, fmt.Errorf("%d of its %d processes have not reacted to the signal %v within %v", len(waiting),
			len(all), signal, pausePatience)
	}
	return len(all), nil
}

// among returns those of all processes that belong to the unit.
func (u *unit) among(all []entry) []int {
	if u.Spec.Foreign {
		return below(u.command.Process.Pid, all)
	}
	return []int{u.command.Process.Pid}
}

// firstWait and longestWait bound the pause between two looks at the processes of a unit. A look takes
// milliseconds, and a keeper stops the processes of a server while it reads their shared memory.
const firstWait, longestWait = 2 * time.Millisecond, 200 * time.Millisecond

// neverDone has signalUntil signal processes until none lives.
func neverDone(entry) bool { return false }

// isStopped has signalUntil signal processes until each has stopped.
func isStopped(p entry) bool { return p.stopped }

// signalUntil signals some of the living processes until each of them is done, or the time
// is over. choose returns them, given all processes. signalUntil returns their process IDs,
// and of these the ones that are not done. It repeats the signal, because processes may
// start others meanwhile.
func signalUntil(
	choose func(all []entry) []int, signal syscall.Signal, done func(entry) bool, patience time.Duration,
) (living, waiting []int, err error) {
	for begun := time.Now(); ; time.Sleep(fleet.Backoff(begun, firstWait, longestWait)) {
		all, err := processes()
		if err != nil {
			return nil, nil, err
		}
		pids := choose(all)
		living, waiting = nil, nil
		for _, p := range all {
			if p.zombie || !slices.Contains(pids, p.pid) {
				continue
			}
			if living = append(living, p.pid); !done(p) {
				waiting = append(waiting, p.pid)
				_ = syscall.Kill(p.pid, signal) // it may have ended meanwhile
			}
		}
		if len(waiting) == 0 || time.Since(begun) >= patience {
			return living, waiting, nil
		}
	}
}

// listens reports whether a process has a socket that accepts connections, over TCP or as a file. It asks the
// kernel instead of connecting: a connection would be a client that the unit has to deal with.
func listens(pid int) bool {
	own := sockets(pid)
	if len(own) == 0 {
		return false
	}
	inodeColumns := map[string]int{"tcp": 9, "tcp6": 9, "unix": 6}
	for table, column := range inodeColumns {
		for _, socket := range Listeners(pid, table) {
			if own[socket[column]] {
				return true
			}
		}
	}
	return false
}

// sockets returns the inodes of the sockets that a process has open.
func sockets(pid int) map[string]bool {
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*") // the pattern is well formed
	found := map[string]bool{}
	for _, link := range links {
		target, err := os.Readlink(link)
		if inode, is := strings.CutPrefix(target, "socket:["); err == nil && is {
			found[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return found
}

// Listeners returns the sockets that accept connections in the network of a process, as the columns of a
// table of the kernel: "tcp", "tcp6" or "unix" (proc(5)). There are none in a family that the kernel lacks.
func Listeners(pid int, table string) (all [][]string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
	for line := range strings.Lines(string(text)) {
		columns := strings.Fields(line)
		if len(columns) <= 6 {
			continue
		}
		// The fourth column is the state, 0A for LISTEN; of a Unix socket the flags, 00010000 if it accepts.
		if state := columns[3]; state == "0A" || state == "00010000" {
			all = append(all, columns)
		}
	}
	return all
}
