// Package leftovers keeps the private directories of running conductors and
// finds what a dead one has left behind: directories under Root, processes that
// carry its label in their environment, and what carries it in Docker.
//
// Normally there is nothing to find: deployers clean up after themselves even
// when the conductor is killed. This is the second net, behind `cleave clean`.
package leftovers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cleave-lab/cleave/launch"
)

// Root is the directory that holds the private directories of this user's
// conductors.
func Root() string {
	return filepath.Join(os.TempDir(), "cleave-"+strconv.Itoa(os.Geteuid()))
}

// Scratch is the private directory of a running conductor. It is only there
// while a trial is.
type Scratch struct {
	// Label names the conductor: its process number and start time. Everything
	// that it starts carries the label.
	Label string
	Dir   string
}

// Claim names the private directory of this process under root; whoever puts
// something into it makes it.
func Claim(root string) (Scratch, error) {
	started, err := launch.StartOf(os.Getpid())
	if err != nil {
		return Scratch{}, fmt.Errorf("read own start time: %w", err)
	}
	label := fmt.Sprintf("%d-%s", os.Getpid(), started)
	return Scratch{Label: label, Dir: filepath.Join(root, label)}, nil
}

// Release removes the private directory, and its root when no other is in it.
func (s Scratch) Release() error {
	err := os.RemoveAll(s.Dir)
	_ = os.Remove(filepath.Dir(s.Dir)) // refused while another conductor runs
	return err
}

// Leftover is something that a dead conductor has left behind.
type Leftover struct {
	Dir string // "" for all else
	PID int    // 0 for all else
	// Docker is "container", "network" or "volume", and ID names it.
	Docker, ID string
}

// String names the leftover for people.
func (l Leftover) String() string {
	if l.Docker != "" {
		return l.Docker + " " + l.ID
	}
	if l.PID != 0 {
		return fmt.Sprintf("process %d", l.PID)
	}
	return "directory " + l.Dir
}

// Find lists what dead conductors have left under root and among the processes
// of this host that this user may look into.
func Find(root string) ([]Leftover, error) {
	var found []Leftover
	processes, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	for _, path := range processes {
		label, ok := labelOf(path)
		if !ok || alive(label) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			found = append(found, Leftover{PID: pid})
		}
	}
	containers, err := Docker(func(label string) bool { return !alive(label) })
	if err != nil {
		return found, fmt.Errorf("list leftovers: %w", err)
	}
	found = append(found, containers...)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return found, fmt.Errorf("list leftovers: %w", err)
	}
	for _, entry := range entries {
		if !alive(entry.Name()) {
			found = append(found, Leftover{Dir: filepath.Join(root, entry.Name())})
		}
	}
	return found, nil
}

// Remove ends the process or removes the directory.
func (l Leftover) Remove() error {
	if l.Docker != "" {
		return l.removeDocker()
	}
	if l.PID == 0 {
		return Scratch{Dir: l.Dir}.Release()
	}
	process, err := os.FindProcess(l.PID)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }() // frees a handle, cannot matter
	// The handle pins the process; look again that it is still the one we found.
	if label, ok := labelOf(fmt.Sprintf("/proc/%d/environ", l.PID)); !ok || alive(label) {
		return nil
	}
	if err := process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end process %d: %w", l.PID, err)
	}
	return nil
}

// labelOf reads the label from a process' environment.
func labelOf(environ string) (string, bool) {
	data, err := os.ReadFile(environ)
	if err != nil {
		return "", false
	}
	for variable := range strings.SplitSeq(string(data), "\x00") {
		if label, ok := strings.CutPrefix(variable, "CLEAVE_RUN="); ok {
			return label, true
		}
	}
	return "", false
}

// alive reports whether the conductor with this label still runs. A label that
// is none belongs to nobody.
func alive(label string) bool {
	number, started, ok := strings.Cut(label, "-")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil {
		return false
	}
	return launch.Runs(pid, started)
}
