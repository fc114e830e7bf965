package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
)

// loadOutputs are the files and lines that load writes beside its table.
type loadOutputs struct {
	json, hdr, hgrm, jtl, lines, progress string

	log    *record.LogWriter // begun with the first second
	hdrTo  *os.File
	closes []func() error
}

func (o *loadOutputs) flags() group {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.StringVar(&o.json, "json", "", "write the result as JSON to this `file`, - for standard output")
	set.StringVar(&o.hdr, "hdr", "", "write response times as an HdrHistogram log (`file`), second by second")
	set.StringVar(&o.hgrm, "hgrm", "", "write response times as percentile text (`file`) for HdrHistogram's plotter")
	set.StringVar(&o.jtl, "jtl", "", "write every operation as a JTL `file` (CSV), which JMeter's report generator reads")
	set.StringVar(&o.lines, "lines", "", "write every operation as a line of JSON to this `file`")
	set.StringVar(&o.progress, "progress", "auto", "auto, terminal (a live view), plain (a line each second) or none")
	return group{"Output", set}
}

// check finds mistakes in the flags.
func (o *loadOutputs) check(f *loadFlags) error {
	var mistakes []error
	if known := []string{"auto", "terminal", "plain", "none"}; !slices.Contains(known, o.progress) {
		mistakes = append(mistakes, fmt.Errorf("--progress is %q, expected %s", o.progress, strings.Join(known, ", ")))
	}
	if f.search && o.hdr+o.jtl+o.lines != "" {
		mistakes = append(mistakes, errors.New("--hdr, --jtl and --lines belong to one load: leave them out of a --search"))
	}
	if f.agents+len(f.agent) > 0 && o.jtl+o.lines != "" {
		mistakes = append(mistakes, errors.New("--jtl and --lines are written by the process that sends: leave out --agents and --agent"))
	}
	return errors.Join(mistakes...)
}

// open makes the files that are written while the load goes on.
func (o *loadOutputs) open() (trial.Hooks, error) {
	hooks := trial.Hooks{Second: o.logSecond}
	var err error
	if o.hdr != "" {
		if o.hdrTo, err = os.Create(o.hdr); err != nil {
			return hooks, fmt.Errorf("--hdr: %w", err)
		}
	}
	var rows []func(record.Row) error
	if o.jtl != "" {
		table, err := created(o, "jtl", o.jtl, record.NewJTLWriter)
		if err != nil {
			return hooks, err
		}
		rows = append(rows, table.Write)
	}
	if o.lines != "" {
		lines, err := created(o, "lines", o.lines, func(w io.Writer) (*record.LineWriter, error) { return record.NewLineWriter(w), nil })
		if err != nil {
			return hooks, err
		}
		rows = append(rows, lines.Write)
	}
	if len(rows) > 0 {
		hooks.Row = func(r record.Row) error {
			var errs []error
			for _, write := range rows {
				errs = append(errs, write(r))
			}
			return errors.Join(errs...)
		}
	}
	return hooks, nil
}

// created makes a file with a writer that is flushed in the end.
func created[W interface{ Flush() error }](o *loadOutputs, flag, path string, begin func(io.Writer) (W, error)) (W, error) {
	var none W
	file, err := os.Create(path)
	if err != nil {
		return none, fmt.Errorf("--%s: %w", flag, err)
	}
	writer, err := begin(file)
	o.closes = append(o.closes, func() error { return errors.Join(writer.Flush(), file.Close()) })
	return writer, err
}

// logSecond writes a second to the histogram log. Its time zero is the first
// second's beginning.
func (o *loadOutputs) logSecond(s trial.Second) error {
	if o.hdrTo == nil {
		return nil
	}
	if o.log == nil {
		var err error
		if o.log, err = record.NewLogWriter(o.hdrTo, record.Response, time.Now().Add(-s.Results.To)); err != nil {
			return err
		}
	}
	return o.log.Write(s.Results)
}

// write writes the documents.
func (o *loadOutputs) write(standard io.Writer, outcome *trial.Outcome) error {
	var failures []error
	switch o.json {
	case "":
	case "-":
		failures = append(failures, writeJSON(standard, outcome.Summary))
	default:
		failures = append(failures, writeFile(o.json, func(w io.Writer) error { return writeJSON(w, outcome.Summary) }))
	}
	if o.hgrm != "" {
		failures = append(failures, writeFile(o.hgrm, func(w io.Writer) error {
			return record.WritePercentiles(w, outcome.Results.Times(record.Response, record.All))
		}))
	}
	return errors.Join(failures...)
}

// writeFile writes a whole file.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	return errors.Join(write(buffer), buffer.Flush(), file.Close())
}

// close ends the files that were written while the load went on.
func (o *loadOutputs) close() error {
	var errs []error
	if o.log != nil {
		errs = append(errs, o.log.Flush())
	}
	if o.hdrTo != nil {
		errs = append(errs, o.hdrTo.Close())
	}
	for _, end := range o.closes {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
