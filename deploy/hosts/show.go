package hosts

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Show mounts the file system that this host has at a folder at the same path on all hosts. They do not see
// file systems that this host has mounted after their start. When the folder is removed, its mounts on the
// hosts end.
func (s *Set) Show(folder string) error {
	var problems []error
	for _, h := range s.hosts {
		problems = append(problems, h.show(folder))
	}
	return errors.Join(problems...)
}

// show does what Show does, for one host.
func (h *Host) show(folder string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, folder, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("show %s to %s: %w (open_tree, which needs Linux 5.2)", folder, h.Name, err)
	}
	mounts, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", h.First()))
	if err == nil {
		err = onThrowawayThread(func() error { return attach(tree, mounts, folder) })
		_ = mounts.Close() // only a handle
	}
	if err = errors.Join(err, unix.Close(tree)); err != nil {
		return fmt.Errorf("show %s to %s: %w", folder, h.Name, err)
	}
	return nil
}

// attach enters another mount namespace with this thread and mounts a file system there at a folder.
func attach(tree int, mounts *os.File, folder string) error {
	// The kernel refuses to change the mount namespace while threads share their working directory.
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

// onThrowawayThread calls do on an OS thread that then ends. It never uses the main thread, whose namespaces
// the kernel shows as those of the process (/proc/PID/ns).
func onThrowawayThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			err := onThrowawayThread(do) // it gets another thread, as this one is locked
			runtime.UnlockOSThread()
			done <- err
			return
		}
		done <- do() // it stays locked, so the thread ends
	}()
	return <-done
}
