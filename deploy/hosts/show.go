package hosts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Show lets all hosts see the file system that this host has at a folder: one that was mounted since
// they came up, they do not see by themselves. It is the same one, so its size and what is in it are, too.
// It is gone from there with the folder, whoever removes that.
func (s *Set) Show(folder string) error {
	var problems []error
	for _, h := range s.hosts {
		problems = append(problems, h.show(folder))
	}
	return errors.Join(problems...)
}

func (h *Host) show(folder string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, folder, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("show %s to %s: %w (open_tree, which needs Linux 5.2)", folder, h.Name, err)
	}
	mounts, err := os.Open(filepath.Join("/proc", strconv.Itoa(h.pid), "ns/mnt"))
	if err == nil {
		err = onThrowawayThread(func() error { return attach(tree, mounts, folder) })
		_ = mounts.Close() // only a handle
	}
	if err = errors.Join(err, unix.Close(tree)); err != nil {
		return fmt.Errorf("show %s to %s: %w", folder, h.Name, err)
	}
	return nil
}

// attach puts a file system at a folder among other mounts, which this thread sees from then on.
func attach(tree int, mounts *os.File, folder string) error {
	// The working directory, which threads share, would be one of two places.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("have a thread with a working directory of its own: %w", err)
	}
	if err := unix.Setns(int(mounts.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter its mounts: %w", err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, folder, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount it there: %w", err)
	}
	return nil
}

// onThrowawayThread calls do on a thread that ends afterwards. That is never the first one, by which the
// kernel tells what this process sees.
func onThrowawayThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			err := onThrowawayThread(do) // on another one, as this one is taken
			runtime.UnlockOSThread()
			done <- err
			return
		}
		done <- do() // it stays locked, so the thread ends
	}()
	return <-done
}
