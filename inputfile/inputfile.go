// Package inputfile opens the files that users name or units leave: regular files within a limit, and nothing
// else. A pipe that nobody writes to would block a program for ever, and a device that never ends would take
// all its memory. It knows no kind of file: its users say how large one may be.
//
// Entry points: Read, Open, Folder.
package inputfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// flags open a file for reading, without waiting for a writer of a pipe.
const flags = os.O_RDONLY | syscall.O_NONBLOCK

// File is a regular file of which no more than its limit can be read.
type File struct {
	file       *os.File
	read, most int64 // bytes
}

// Read reads a file of at most so many bytes.
func Read(path string, most int64) (data []byte, err error) {
	file, err := Open(path, most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(file)
}

// Open opens a file of at most so many bytes.
func Open(path string, most int64) (*File, error) {
	file, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	return check(file, most)
}

// check returns an opened file if it is regular and not too large; else it closes the file.
func check(file *os.File, most int64) (*File, error) {
	about, err := file.Stat()
	switch {
	case err != nil:
	case !about.Mode().IsRegular():
		err = fmt.Errorf("%s is %s, expected a regular file", file.Name(), kindOf(about.Mode()))
	case about.Size() > most:
		err = fmt.Errorf("%s has %d bytes, at most %d are read", file.Name(), about.Size(), most)
	}
	if err != nil {
		_ = file.Close() // never used
		return nil, err
	}
	return &File{file: file, most: most}, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Read implements io.Reader. A file may have grown since it was opened, and those
// of /proc say that they are empty, so the limit holds here too.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.file.Read(p)
	if f.read += int64(n); f.read > f.most {
		return 0, fmt.Errorf("%s has more than %d bytes, which is the most that is read", f.file.Name(), f.most)
	}
	return n, err
}

// Close implements io.Closer.
func (f *File) Close() error { return f.file.Close() }

// Stat implements fs.File.
func (f *File) Stat() (fs.FileInfo, error) { return f.file.Stat() }

// Root is an fs.FS of a folder, whose files it opens as Open does, each up to the same limit. It refuses what
// lies outside of the folder, also behind a link.
type Root struct {
	folder *os.Root
	most   int64
}

// Folder opens a folder with files of at most so many bytes each.
func Folder(path string, most int64) (*Root, error) {
	folder, err := os.OpenRoot(path)
	return Within(folder, most), err
}

// Within returns an open folder as Folder does. Closing either closes both.
func Within(folder *os.Root, most int64) *Root { return &Root{folder, most} }

// Open implements fs.FS.
func (r *Root) Open(name string) (fs.File, error) {
	file, err := r.folder.OpenFile(name, flags, 0)
	if err != nil {
		var where *fs.PathError
		if errors.As(err, &where) { // os.Root names neither its folder nor "open"
			where.Op, where.Path = "open", filepath.Join(r.folder.Name(), name)
		}
		return nil, err
	}
	return check(file, r.most)
}

// Close implements io.Closer.
func (r *Root) Close() error { return r.folder.Close() }
