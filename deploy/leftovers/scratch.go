package leftovers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/launch"
)

// lockName is the file in a private directory that its conductor, and afterwards the
// sweeper, keeps locked. The kernel unlocks it at their end, however they end.
const lockName = "lock"

// attempts bounds the attempts to make the root. One fails if another conductor ends at
// that moment and removes the root, which is still empty.
const attempts = 100

// Scratch is the private directory of this process, a conductor or an agent. It exists from Claim to Release.
type Scratch struct {
	Dir     string
	lock    *os.File
	sweeper *exec.Cmd
	alive   *os.File     // write end of a pipe; the sweeper acts when it is closed
	notes   bytes.Buffer // the sweeper's standard error
}

// Claim makes the private directory for the label of this process under root. The
// sweeper command is called with the directory appended and must call Sweep.
func Claim(root, label string, sweeper []string) (*Scratch, error) {
	if err := CheckRoot(root); err != nil {
		return nil, err
	}
	s := &Scratch{Dir: filepath.Join(root, label)}
	// The sweeper starts first, so that a kill at any moment leaves no directory without one.
	if err := s.startSweeper(sweeper); err != nil {
		return nil, fmt.Errorf("start %v: %w", sweeper, err)
	}
	if err := s.makeDir(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a private directory: %w", err), s.Release())
	}
	return s, nil
}

// startSweeper starts the sweeper, with the variables that it needs to reach Docker and the user's clusters.
func (s *Scratch) startSweeper(sweeper []string) error {
	command := launch.Command(sweeper, s.Dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals to this session or group must not end it
	command.Dir = "/"
	command.Stderr = &s.notes
	forClients := []string{"PATH", "HOME", "KUBECONFIG", "CLEAVE_USE_KUBERNETES", "CLEAVE_USE_SWARM"}
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(forClients, name) && !strings.HasPrefix(name, "DOCKER_")
	})
	end, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = end.Close() }() // the sweeper has its own copy
	command.Stdin = end
	s.alive = alive
	s.sweeper = command
	if err := command.Start(); err != nil {
		return errors.Join(err, alive.Close())
	}
	return nil
}

// makeDir makes the directory with its lock. The lock gets its name when it is held, so that nobody finds
// it free.
func (s *Scratch) makeDir() error {
	path, label := filepath.Split(s.Dir)
	root, err := makeRoot(filepath.Clean(path), label)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	fresh := filepath.Join(label, lockName+".new")
	if s.lock, err = root.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", s.Dir, err)
	}
	return root.Rename(fresh, filepath.Join(label, lockName))
}

// makeRoot makes the root, if it is missing, and a folder in it, and returns the open root.
func makeRoot(path, folder string) (root *os.Root, err error) {
	for range attempts {
		if err = os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if root, err = openRoot(path); err == nil {
			if err = root.Mkdir(folder, 0o700); err == nil {
				return root, nil
			}
			err = errors.Join(err, root.Close())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

// Release makes the sweeper remove the private directory, and the root if it is then
// empty, and checks that the directory is gone. The deployers must have removed their
// objects before: the sweeper does not look for them after the message released.
func (s *Scratch) Release() error {
	if s.lock != nil {
		_ = s.lock.Close() // nothing was written
	}
	_, _ = s.alive.WriteString(released) // if the sweeper is dead, Wait returns its error
	_ = s.alive.Close()
	if err := s.sweeper.Wait(); err != nil {
		return fmt.Errorf("remove %s: %w: %s: see what is left with: cleave doctor", s.Dir, err,
			strings.TrimSpace(s.notes.String()))
	}
	if _, err := os.Lstat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the private directory %s is still there: remove it with: cleave clean", s.Dir)
	}
	return nil
}

// lockState is the state of the lock of a private directory.
type lockState int

const (
	noLock   lockState = iota // there is none (yet), or it cannot be read: the conductor's state is unknown
	heldLock                  // the conductor lives, or its sweeper is at work
	freeLock                  // the conductor has ended or is ending, and its sweeper has not taken the lock
)

// takeLock takes the lock of a private directory if it is free. It then returns the file, which the caller
// must close; in all other states the file is nil.
func takeLock(root *os.Root, label string) (lockState, *os.File) {
	if root == nil {
		return noLock, nil
	}
	file, err := root.OpenFile(filepath.Join(label, lockName), os.O_RDWR, 0)
	if err != nil {
		return noLock, nil
	}
	if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return freeLock, file
	}
	_ = file.Close() // nothing was written
	if errors.Is(err, unix.EWOULDBLOCK) {
		return heldLock, nil
	}
	return noLock, nil
}
