// Package inputfile opens files that users name or units leave: only regular files up to a size limit. A pipe
// without a writer would block a program for ever, and an endless device would exhaust its memory.
//
// Entry points: Read, Open, Folder, Within.
package inputfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// flags opens a file for reading, without waiting for the writer of a pipe.
const flags = os.O_RDONLY | syscall.O_NONBLOCK

// File is an open regular file with a limit on the bytes that can be read.
type File struct {
	file       *os.File
	read, most int64 // bytes
}

// Read returns the content of a file. It fails if the file has more than most bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path, most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(file)
}

// Open opens a file. It fails if the file has more than most bytes.
func Open(path string, most int64) (*File, error) {
	file, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	return check(file, most)
}

// check returns the file if it is regular and not too large; otherwise it closes it and returns an error.
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

// kindOf returns what an open file that is not regular is, for an error message. Sockets cannot be opened.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a device"
}

// Read implements io.Reader. It checks the limit again, because a file may have grown
// since it was opened, and files of /proc have the size 0.
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

// SkipByteOrderMark skips the mark that spreadsheets and editors on Windows put before a text.
func SkipByteOrderMark(text *bufio.Reader) {
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(len(mark)) // they are in the buffer
	}
}

// Root is an fs.FS of a folder. It opens files as Open does, each with the same limit, and refuses files
// outside of the folder, also through links.
type Root struct {
	folder *os.Root
	most   int64
}

// Folder opens a folder as a Root whose files may have up to most bytes each.
func Folder(path string, most int64) (*Root, error) {
	folder, err := os.OpenRoot(path)
	return Within(folder, most), err
}

// Within returns a Root of an open folder. Closing it closes the folder.
func Within(folder *os.Root, most int64) *Root { return &Root{folder, most} }

// Open implements fs.FS.
func (r *Root) Open(name string) (fs.File, error) {
	file, err := r.folder.OpenFile(name, flags, 0)
	if err != nil {
		if where, is := errors.AsType[*fs.PathError](err); is { // os.Root names neither its folder nor "open"
			where.Op = "open"
			where.Path = filepath.Join(r.folder.Name(), name)
		}
		return nil, err
	}
	return check(file, r.most)
}

// Close implements io.Closer.
func (r *Root) Close() error { return r.folder.Close() }
