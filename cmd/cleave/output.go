package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// checkOutput returns an error if the file of a flag could not be written. It is called
// before anything starts, so that a run of hours does not fail at its end. It does not
// change the file.
func checkOutput(flag, path string) error {
	if path == "" || path == "-" || standardStream(path) != nil {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		err = errors.New("it is a folder")
	case err == nil:
		err = unix.Access(path, unix.W_OK)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	isReplaced := info == nil || info.Mode().IsRegular() // by a draft; other files are written directly
	if err == nil && isReplaced {
		var probe *os.File
		if probe, err = createProbe(linkTarget(path)); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return withCode(exitBadPlan, "%s %s cannot be written: %w: name a file in a folder that is there", flag,
			path, err)
	}
	return nil
}

// writeDocument writes a document to a file. The path "-" means standard output. With the path "" it writes
// nothing.
func (a app) writeDocument(path string, write func(io.Writer) error) error {
	switch {
	case path == "":
		return nil
	case isOutput(path):
		return write(a.out)
	}
	return writeFile(path, write)
}

// isOutput reports whether the path of a document means standard output: "-", or a path such as /dev/stdout.
// It is false for /dev/null, even if standard output is /dev/null: callers use isOutput to keep other texts
// out of the document, and a discarded document needs no such care.
func isOutput(path string) bool {
	if path == os.DevNull {
		return false
	}
	return path == "-" || standardStream(path) == os.Stdout
}

// standardStream returns standard output or standard error if a path leads to it, or else nil. Such a file
// must not be replaced by a new file: the program would go on printing to the old file, which is removed.
func standardStream(path string) *os.File {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, stream := range []*os.File{os.Stdout, os.Stderr} {
		own, err := stream.Stat()
		if err == nil && os.SameFile(info, own) {
			return stream
		}
	}
	return nil
}

// createFile creates a file that is written piece by piece. For a path that leads to a standard stream it
// returns a duplicate of the stream, which shares the position of the stream.
func createFile(path string) (*os.File, error) {
	stream := standardStream(path)
	if stream == nil {
		return os.Create(path)
	}
	descriptor, err := unix.FcntlInt(stream.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(descriptor), path), nil
}

// createProbe creates an empty file in the folder of path. It fails if writeFile could not create a
// draft there.
func createProbe(path string) (*os.File, error) {
	name := "." + filepath.Base(path) + "-" + strconv.Itoa(os.Getpid())
	return os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// linkTarget returns the path of the file that a link leads to: writeFile replaces that file, not the link.
// Other paths, and those of files that do not exist, stay as they are.
func linkTarget(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// writeFile writes a file completely or not at all. Standard streams, and other files than regular ones, are
// written directly.
func writeFile(path string, write func(io.Writer) error) error {
	if stream := standardStream(path); stream != nil {
		return write(stream)
	}
	path = linkTarget(path)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	draft, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithPermissions(0o666), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer func() { _ = draft.Cleanup() }() // does nothing after the draft has replaced the file
	buffer := bufio.NewWriter(draft)
	if err = errors.Join(write(buffer), buffer.Flush()); err == nil {
		err = draft.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
