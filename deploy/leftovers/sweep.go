package leftovers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/volume"
)

const (
	// released is the message of a conductor that has ended all its trials by itself.
	released = "released"
	// endPatience bounds how long processes of a dead conductor may take to end by
	// themselves: keepers and janitors give foreign programs time for an orderly end.
	endPatience = 30 * time.Second
	// removePatience bounds how long processes may take to end after kill -9, and how long
	// the removal of a directory is repeated while a process still writes into it.
	removePatience = 10 * time.Second
	pollEvery      = 20 * time.Millisecond // pause between two looks
)

// Sweep waits until in ends, which it does with the conductor at the latest. Then it
// waits for the processes of the conductor whose private directory is dir, ends those
// that stay, and removes the conductor's objects in Docker, its control groups, the
// directory, and the root if it is then empty. It is the main function of the sweeper's
// process, which Claim starts.
func Sweep(in io.Reader, dir string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // they are meant for the conductor alone
	message, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("wait for the conductor: %w", err)
	}
	root, err := openRoot(filepath.Dir(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	label := filepath.Base(dir)
	if root != nil {
		defer func() { _ = root.Close() }() // nothing was written through it
		lock, err := root.OpenFile(filepath.Join(label, lockName), os.O_RDWR, 0)
		if err == nil {
			defer func() { _ = lock.Close() }() // nothing was written
			err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("wait for the conductor: %w", err)
		}
	}
	wasReleased := string(message) == released // then the deployers have removed their objects
	if !wasReleased {
		// Processes in containers carry the label, too, and end only with these. Errors are reported below.
		_ = removeFromDocker(label)
	}
	err = endProcesses(label, dir)
	if !wasReleased {
		err = errors.Join(err, removeFromDocker(label), cgroup.RemoveConductor(cgroup.Root, label))
	}
	if root != nil {
		err = errors.Join(err, removeDir(root, label))
	}
	return err
}

// endProcesses waits for the processes that carry the label or have their working
// directory in dir, as children of some servers do without a label, and kills those with
// the label that stay.
func endProcesses(label, dir string) error {
	begin := time.Now()
	for {
		labelled, others, err := processesOf(label, dir)
		waited := time.Since(begin)
		switch {
		case err != nil:
			return err
		case len(labelled)+len(others) == 0:
			return nil
		case waited > endPatience+removePatience && len(labelled) > 0:
			return fmt.Errorf("processes %v do not end after kill -9", labelled)
		case waited > endPatience && len(labelled) == 0:
			return nil // a process that is not ours, such as a user's shell, is in the directory
		case waited > endPatience:
			for _, pid := range labelled {
				if _, err := endProcess(pid, label); err != nil {
					return err
				}
			}
		}
		time.Sleep(pollEvery)
	}
}

// removeDir removes a private directory, and the root if it is then empty. It does not follow links in the
// directory.
func removeDir(root *os.Root, label string) error {
	dir := filepath.Join(root.Name(), label)
	for begin := time.Now(); ; time.Sleep(pollEvery) {
		err := errors.Join(volume.UnmountBelow(dir), root.RemoveAll(label))
		if err == nil {
			_ = os.Remove(root.Name()) // refused while another conductor runs
			return nil
		}
		if time.Since(begin) > removePatience {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
	}
}

// removeFromDocker removes all objects in Docker that carry the label.
func removeFromDocker(label string) error {
	found, err := Docker(func(l string) bool { return l == label })
	for _, leftover := range found {
		err = errors.Join(err, leftover.removeDocker())
	}
	return err
}

// processesOf returns the numbers of the processes that carry the label, and of others
// whose working directory is in dir.
func processesOf(label, dir string) (labelled, others []int, err error) {
	all, err := procfs.AllProcs()
	for _, one := range all {
		if l, _ := labelOf(one.PID); l == label {
			labelled = append(labelled, one.PID)
			continue
		}
		work, err := one.Cwd()
		isInside := work == dir || strings.HasPrefix(work, dir+"/")
		if err == nil && isInside {
			others = append(others, one.PID)
		}
	}
	return labelled, others, err
}
