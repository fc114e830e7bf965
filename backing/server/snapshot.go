package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// A snapshot is a copy of the data folder, made while the server is stopped, and
// Reset starts a server on a copy of that copy. Measured against the other ways
// (see DESIGN.md beside this file) it costs less than loading the data anew, is
// the same for all servers, and also empties their caches, logs and statistics:
// every trial begins with a server that has just been started.
const (
	dataFolder     = "data"
	snapshotFolder = "snapshot"
)

// Snapshot keeps the content that the server has now for Reset. The server is
// stopped in good order and started again; clients have to connect anew.
func (i *Instance) Snapshot(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.mayCopy(); err != nil {
		return fmt.Errorf("snapshot of %s: %w", i.Kind, err)
	}
	if err := i.halt(i.program.stop); err != nil {
		return err
	}
	if err := replaceFolder(i.file(dataFolder), i.file(snapshotFolder)); err != nil {
		return fmt.Errorf("snapshot of %s: %w", i.Kind, err)
	}
	return i.restart(ctx, i.program.stop)
}

// Reset puts the content back to the last Snapshot. What the server has now is
// thrown away, so it is killed and started on a fresh copy; clients have to
// connect anew.
func (i *Instance) Reset(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.mayCopy(); err != nil {
		return fmt.Errorf("reset %s: %w", i.Kind, err)
	}
	if !i.exists(snapshotFolder) {
		return fmt.Errorf("reset %s: there is no snapshot in %s: call Snapshot first", i.Kind, i.dir)
	}
	if err := i.halt(syscall.SIGKILL); err != nil {
		return err
	}
	if err := replaceFolder(i.file(snapshotFolder), i.file(dataFolder)); err != nil {
		return fmt.Errorf("reset %s: %w", i.Kind, err)
	}
	return i.restart(ctx, syscall.SIGKILL)
}

func (i *Instance) mayCopy() error {
	if i.launcher == nil {
		return errors.New("it was stopped; start a new instance")
	}
	return nil
}

// replaceFolder makes to a copy of from. A copy that fails half-way leaves no to
// that looks whole.
func replaceFolder(from, to string) error {
	half := to + ".half"
	for _, old := range []string{half, to} {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	if err := copyFolder(from, half); err != nil {
		return err
	}
	return os.Rename(half, to)
}

// copyFolder copies files, folders and links with their modes. Servers change
// their files in place, so nothing is shared by hard links; where the file
// system can share blocks (reflink) the kernel does so by itself. What was
// written is on the disk at the end: a trial does not begin with the writing of
// its own snapshot.
func copyFolder(from, to string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return copyEntry(path, filepath.Join(to, path[len(from):]), info)
	})
	if err != nil {
		return err
	}
	folder, err := os.Open(to)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // only read
	return unix.Syncfs(int(folder.Fd()))
}

func copyEntry(from, to string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return os.Mkdir(to, info.Mode().Perm())
	case info.Mode().IsRegular():
		return copyFile(from, to, info.Mode().Perm())
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	return nil // sockets and pipes of a server that ended
}

func copyFile(from, to string, mode fs.FileMode) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source) // copy_file_range: no bytes pass through us
	return errors.Join(err, target.Close())
}
