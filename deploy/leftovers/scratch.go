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
)

// lockName is the file in a private directory that its conductor, and after it the
// sweeper, has locked as long as it lives: the kernel unlocks it, however that ends.
const lockName = "lock"

// attempts: a conductor that ends removes an empty root, also one that another has
// just made.
const attempts = 100

// Scratch is the private directory of this process. It is there while a plan is played.
type Scratch struct {
	Dir     string
	lock    *os.File
	sweeper *exec.Cmd
	alive   *os.File // the sweeper acts when it is closed
	notes   bytes.Buffer
}

// Claim makes the private directory for the label of this process under root. The
// sweeper command is called with the directory appended and must call Sweep.
func Claim(root, label string, sweeper []string) (*Scratch, error) {
	if err := CheckRoot(root); err != nil {
		return nil, err
	}
	s := &Scratch{Dir: filepath.Join(root, label)}
	// The sweeper comes first, so that no kill finds a directory without one.
	if err := s.startSweeper(sweeper); err != nil {
		return nil, fmt.Errorf("start %v: %w", sweeper, err)
	}
	if err := s.makeDir(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a private directory: %w", err), s.Release())
	}
	return s, nil
}

func (s *Scratch) startSweeper(sweeper []string) error {
	command := exec.Command(sweeper[0], append(slices.Clone(sweeper[1:]), s.Dir)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends this session or group is not for it
	command.Dir, command.Stderr = "/", &s.notes
	// of Docker and the user's clusters
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
	command.Stdin, s.alive, s.sweeper = end, alive, command
	if err := command.Start(); err != nil {
		return errors.Join(err, alive.Close())
	}
	return nil
}

// makeDir makes the directory with a lock that is held from the moment it is there.
func (s *Scratch) makeDir() error {
	path, label := filepath.Split(s.Dir)
	root, err := makeRoot(filepath.Clean(path), label)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only a handle
	fresh := filepath.Join(label, lockName+".new")
	if s.lock, err = root.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", s.Dir, err)
	}
	return root.Rename(fresh, filepath.Join(label, lockName))
}

// makeRoot makes the root, where it is missing, and a folder in it.
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

// Release has the sweeper remove the private directory, and its root when no other is
// in it, and checks that it did.
func (s *Scratch) Release() error {
	if s.lock != nil {
		_ = s.lock.Close() // nothing was written
	}
	_, _ = s.alive.WriteString(released) // the sweeper may be dead: then Wait says so
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

// lockState tells what the lock of a private directory reveals of its conductor.
type lockState int

const (
	noLock   lockState = iota // nothing: there is none, or it cannot be asked
	heldLock                  // it lives, or is being swept
	freeLock                  // it is dead
)

// takeLock takes the lock of a private directory, if nobody has it. The file, to be
// closed, is nil in all other states.
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
