package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cleave-lab/cleave/load/record"
)

// rowWriter writes operations in some format.
type rowWriter interface {
	Write(record.Row) error
	Flush() error
}

// loadList is a file with every operation of a load. It gets its name only once it is
// complete, because an incomplete list cannot be recognized by its content.
type loadList struct {
	rowWriter
	path   string
	file   *os.File
	rows   int64
	failed bool // a write has failed
}

// unfinished is the suffix of a list's name until it is complete.
const unfinished = ".partial"

// newLoadList begins a list. Pipes and devices are written directly. The list of an
// earlier load is kept until this one is complete.
func newLoadList(path string, begin func(io.Writer) (rowWriter, error)) (*loadList, error) {
	name := path + unfinished
	if old, err := os.Lstat(path); err == nil && !old.Mode().IsRegular() {
		name = path
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	writer, err := begin(file)
	if err != nil {
		errs := []error{err, file.Close()}
		if name != path {
			errs = append(errs, os.Remove(name))
		}
		return nil, errors.Join(errs...)
	}
	return &loadList{rowWriter: writer, path: path, file: file}, nil
}

// write adds an operation.
func (l *loadList) write(r record.Row) error {
	err := l.Write(r)
	l.rows++
	l.failed = l.failed || err != nil
	return err
}

// close ends the list, and gives it its name if the load is complete (whole) and every write has succeeded.
// It removes an empty list that is not complete.
func (l *loadList) close(whole bool) error {
	if err := errors.Join(l.Flush(), l.file.Close()); err != nil {
		return fmt.Errorf("the list %s is not whole: %w", l.file.Name(), err)
	}
	renamed := l.file.Name() != l.path // not for pipes and devices
	switch {
	case whole && !l.failed && renamed:
		return os.Rename(l.file.Name(), l.path)
	case whole && !l.failed:
		return nil
	case l.rows == 0 && renamed:
		return os.Remove(l.file.Name())
	}
	return fmt.Errorf("the list %s is not whole: it has what came before the failure", l.file.Name())
}
