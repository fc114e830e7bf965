// Package leftovers keeps the private directories of running conductors, removes them
// when a conductor has died, and finds leftovers: directories under Root, processes
// with the label of a conductor in their environment, objects in Docker with the
// label, and control groups of a conductor.
//
// Nothing that could belong to a living conductor is taken for a leftover: the lock in
// its directory, or its process number where that is valid (see launch.ID), must prove
// that it is dead. Everything else is spared and reported as unclear.
//
// Entry points: Claim, and Sweep for a process of its own; Find for `cleave clean`.
package leftovers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/launch"
)

// Leftover is something that a dead conductor has left behind.
type Leftover struct {
	Kind  string // directory, process, control group, or in Docker: container, network, image, volume
	ID    string // its path, its number, or its identifier in Docker
	Label string // of the conductor
}

// The kinds of leftovers that are not in Docker.
const (
	directory    = "directory"
	process      = "process"
	controlGroup = "control group"
)

// String returns the leftover as messages name it, such as "process 4711".
func (l Leftover) String() string { return l.Kind + " " + l.ID }

// Found holds what conductors have left on this host.
type Found struct {
	Left []Leftover // of dead conductors
	// Unclear names things that may belong to a living conductor, or to none, each with the reason.
	Unclear []string
}

// Find returns the leftovers under root, among the control groups and those processes
// of this host that this user may read, and in Docker.
func Find(root string) (Found, error) {
	processes, err := labelledProcesses()
	problems := []error{err}
	inDocker, err := Docker(func(string) bool { return true })
	problems = append(problems, err)
	all := slices.Concat(processes, inDocker)
	for _, folder := range cgroup.All(cgroup.Root) { // a group can be removed only after its processes
		all = append(all, Leftover{controlGroup, folder.Path, folder.Label})
	}
	var found Found
	if silent := silentDocker(); silent != "" {
		found.Unclear = append(found.Unclear, silent)
	}
	opened, err := openRoot(root)
	if err == nil {
		defer func() { _ = opened.Close() }() // only read
		var strange []string
		var dirs []Leftover
		dirs, strange, err = directories(opened)
		all = append(all, dirs...)
		found.Unclear = append(found.Unclear, strange...)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		problems = append(problems, err)
	}
	for _, leftover := range all {
		id, ours := launch.ParseID(leftover.Label)
		if !ours {
			continue // not a label of ours
		}
		switch fateOf(opened, id) {
		case launch.Ended:
			found.Left = append(found.Left, leftover)
		case launch.Unknown:
			found.Unclear = append(found.Unclear,
				fmt.Sprintf("%s: whether its cleave (%s) still runs cannot be told from here: "+
					"it belongs to another container, or to a time before the last start of this host", leftover, id))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return found, fmt.Errorf("list leftovers: %w", err)
	}
	return found, nil
}

// directories returns the directories of conductors in the root, and messages about everything else there.
func directories(root *os.Root) (dirs []Leftover, strange []string, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, entry := range entries {
		path := filepath.Join(root.Name(), entry.Name())
		if _, ours := launch.ParseID(entry.Name()); !ours || !entry.IsDir() {
			strange = append(strange, path+": this is not the name, or not a folder, of a cleave")
			continue
		}
		dirs = append(dirs, Leftover{directory, path, entry.Name()})
	}
	return dirs, strange, err
}

// fateOf returns whether a conductor still runs, by the lock in its private directory or
// else by its process number. The lock of a running conductor is free for a moment in Release, before the
// sweeper takes it, so the number takes precedence over a free lock.
func fateOf(root *os.Root, id launch.ID) launch.Fate {
	state, lock := takeLock(root, id.String())
	if lock != nil {
		defer func() { _ = lock.Close() }() // nothing was written
	}
	fate := id.Fate()
	switch {
	case state == heldLock:
		return launch.Running
	case state == freeLock && fate == launch.Unknown:
		return launch.Ended
	}
	return fate
}

// Remove ends a process, or removes any other leftover. It returns false if the leftover
// was gone, or is no leftover any more.
func (l Leftover) Remove() (removed bool, err error) {
	switch l.Kind {
	case directory:
		return l.removeDirectory()
	case process:
		pid, err := strconv.Atoi(l.ID)
		if err != nil {
			return false, err
		}
		return endProcess(pid, l.Label)
	case controlGroup:
		err = cgroup.Remove(l.ID)
	default:
		err = l.removeDocker()
	}
	return err == nil, err
}

// removeDirectory removes a private directory, and the root if it is then empty.
func (l Leftover) removeDirectory() (removed bool, err error) {
	root, err := openRoot(filepath.Dir(l.ID))
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	state, lock := takeLock(root, l.Label)
	if state == heldLock {
		return false, nil // its sweeper is at work
	}
	if lock != nil {
		defer func() { _ = lock.Close() }() // nothing was written
	}
	err = removeDir(root, l.Label)
	return err == nil, err
}

// endProcess kills the process if it carries the label, waits for its end, and returns
// whether it did.
func endProcess(pid int, label string) (ended bool, err error) {
	found, err := os.FindProcess(pid)
	if err != nil {
		return false, err
	}
	defer func() { _ = found.Release() }() // only frees the handle
	// Between the search and the call above the number may have passed to another process. The handle cannot.
	if l, ok := labelOf(pid); !ok || l != label {
		return false, nil
	}
	if err := found.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, fmt.Errorf("end process %d: %w", pid, err)
	}
	for deadline := time.Now().Add(removePatience); time.Now().Before(deadline); time.Sleep(pollEvery) {
		if l, ok := labelOf(pid); !ok || l != label {
			return true, nil
		}
	}
	return false, fmt.Errorf("process %d does not end after kill -9", pid)
}

// labelledProcesses returns the processes of this host that carry a label.
func labelledProcesses() ([]Leftover, error) {
	if _, err := launch.Own(); err != nil {
		return nil, err // /proc may show another PID namespace
	}
	all, err := procfs.AllProcs()
	var found []Leftover
	for _, one := range all {
		if label, ok := labelOf(one.PID); ok {
			found = append(found, Leftover{process, strconv.Itoa(one.PID), label})
		}
	}
	return found, err
}

// labelOf returns the label in the environment of a process, and whether there is one. A
// process that has ended has none.
func labelOf(pid int) (string, bool) {
	threads, _ := procfs.AllThreads(pid) // none if it has ended
	for _, thread := range threads {
		environment, _ := thread.Environ()
		for _, variable := range environment {
			if label, ok := strings.CutPrefix(variable, "CLEAVE_RUN="); ok {
				return label, true
			}
		}
		if len(environment) > 0 { // a main thread that others outlive has none
			break
		}
	}
	return "", false
}

// clusterPatience bounds how long a cluster may take to remove everything of a conductor.
const clusterPatience = time.Minute

// CleanCluster removes the leftovers of dead conductors on a user's cluster. labels holds the label of each
// conductor with objects there, describe returns a name for the objects of one of them, and remove removes
// these. It returns what it has removed, and what it has spared because this host cannot know whether the
// conductor still runs. It sorts labels.
func CleanCluster(
	ctx context.Context, labels []string, describe func(label string) string,
	remove func(ctx context.Context, label string) error,
) (removed, unclear []string, err error) {
	slices.Sort(labels)
	for _, label := range slices.Compact(labels) {
		owner, ours := launch.ParseID(label)
		if !ours {
			continue // not a label of ours
		}
		switch owner.Fate() {
		case launch.Unknown:
			unclear = append(unclear, describe(label)+": whether the cleave that made it still runs cannot be told "+
				"from here: it belongs to another host or container, or to a time before the last start of this host")
		case launch.Ended:
			ctx, cancel := context.WithTimeoutCause(ctx, clusterPatience,
				fmt.Errorf("not gone after %v", clusterPatience))
			if failed := remove(ctx, label); failed != nil {
				err = errors.Join(err, fmt.Errorf("remove %s: %w", describe(label), failed))
			} else {
				removed = append(removed, describe(label))
			}
			cancel()
		}
	}
	return removed, unclear, err
}
