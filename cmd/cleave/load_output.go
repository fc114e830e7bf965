package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
)

// loadOutputs are the files and lines that load writes in addition to its table.
type loadOutputs struct {
	json, hdr, hgrm, jtl, lines string
	progress                    string
	out                         outFlag

	log     *record.LogWriter // nil before the first second
	hdrFile *os.File
	lists   []*loadList
}

func (o *loadOutputs) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.json, "json", "", "write the result as JSON to this `file`, - for standard output")
	flags.StringVar(&o.hdr, "hdr", "", "write response times as an HdrHistogram log (`file`), second by second")
	flags.StringVar(&o.hgrm, "hgrm", "",
		"write response times as percentile text for HdrHistogram's plotter (`file`, - for standard output)")
	flags.StringVar(&o.jtl, "jtl", "",
		"write every operation as a JTL `file` (CSV), which JMeter's report generator reads")
	flags.StringVar(&o.lines, "lines", "", "write every operation as a line of JSON to this `file`")
	addProgress(flags, &o.progress,
		"`form` of the progress: auto, terminal (a live view), plain (a line per second), json (an object per "+
			"second) or none")
	o.out.addTo(flags)
}

// check returns an error for invalid flags.
func (o *loadOutputs) check(f *loadFlags) error {
	var wrong mistakes
	needsOneLoad := o.hdr+o.jtl+o.lines != "" || len(o.out) > 0
	if f.search && needsOneLoad {
		wrong.addf("--hdr, --jtl, --lines and --out belong to one load: leave them out of a --search")
	}
	if isOutput(o.json) && isOutput(o.hgrm) {
		wrong.addf("--json %s and --hgrm %s both take standard output: give --hgrm a file", o.json, o.hgrm)
	}
	wrong.add(checkOutput("--json", o.json), checkOutput("--hgrm", o.hgrm))
	return wrong.err()
}

// open creates the files that are written during the load, by this process or by agents.
func (o *loadOutputs) open(agents bool) (trial.Hooks, error) {
	hooks := trial.Hooks{Second: o.logSecond}
	var err error
	if o.hdr != "" {
		if o.hdrFile, err = createFile(o.hdr); err != nil {
			return hooks, fmt.Errorf("--hdr: %w", err)
		}
	}
	err = errors.Join(
		o.beginList("jtl", o.jtl, func(w io.Writer) rowWriter { return record.NewJTLWriter(w, agents) }),
		o.beginList("lines", o.lines, func(w io.Writer) rowWriter { return record.NewLineWriter(w) }),
	)
	if len(o.lists) > 0 {
		hooks.Row = func(r record.Row) error {
			var errs []error
			for _, list := range o.lists {
				errs = append(errs, list.write(r))
			}
			return errors.Join(errs...)
		}
	}
	return hooks, err
}

// beginList begins a list of operations, if its flag names a file.
func (o *loadOutputs) beginList(flag, path string, begin func(io.Writer) rowWriter) error {
	if path == "" {
		return nil
	}
	list, err := newLoadList(path, begin)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	o.lists = append(o.lists, list)
	return nil
}

// logSecond writes a second to the histogram log. The start time of the log is the
// beginning of the first second.
func (o *loadOutputs) logSecond(s trial.Second) error {
	if o.hdrFile == nil {
		return nil
	}
	if o.log == nil {
		var err error
		if o.log, err = record.NewLogWriter(o.hdrFile, record.Response, time.Now().Add(-s.Results.To)); err != nil {
			return err
		}
	}
	return o.log.Write(s.Results)
}

// write writes the files about the whole load.
func (o *loadOutputs) write(a app, outcome *trial.Outcome) error {
	return errors.Join(
		a.writeDocument(o.json, func(w io.Writer) error { return writeJSON(w, outcome.Summary) }),
		a.writeDocument(o.hgrm, func(w io.Writer) error {
			return record.WritePercentiles(w, outcome.Results.Times(record.Response, record.All))
		}))
}

// close closes the files that were written during the load. whole says that they are
// complete.
func (o *loadOutputs) close(whole bool) error {
	var errs []error
	if o.log != nil {
		errs = append(errs, o.log.Flush())
	}
	if o.hdrFile != nil {
		errs = append(errs, o.hdrFile.Close())
	}
	for _, list := range o.lists {
		errs = append(errs, list.close(whole))
	}
	return errors.Join(errs...)
}

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

// newLoadList begins a list. Links, pipes and devices are written directly. A file with the list of an
// earlier load is kept until this one is complete.
func newLoadList(path string, begin func(io.Writer) rowWriter) (*loadList, error) {
	name := path + unfinished
	old, err := os.Lstat(path)
	isSpecial := err == nil && !old.Mode().IsRegular()
	if isSpecial || standardStream(path) != nil {
		name = path
	}
	file, err := createFile(name)
	if err != nil {
		return nil, err
	}
	return &loadList{rowWriter: begin(file), path: path, file: file}, nil
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
	isDraft := l.file.Name() != l.path // unlike links, pipes and devices
	isComplete := whole && !l.failed
	switch {
	case isComplete && isDraft:
		return os.Rename(l.file.Name(), l.path)
	case isComplete:
		return nil
	case l.rows == 0 && isDraft:
		return os.Remove(l.file.Name())
	}
	return fmt.Errorf("the list %s is not whole: it has what came before the failure", l.file.Name())
}
