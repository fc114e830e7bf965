package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
)

// loadOutputs are the files and lines that load writes beside its table.
type loadOutputs struct {
	json     string
	hdr      string
	hgrm     string
	progress string
	log      *record.LogWriter
	logFile  *os.File
}

func (o *loadOutputs) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&o.json, "json", "", "write the result as JSON to this file, - for standard output")
	flags.StringVar(&o.hdr, "hdr", "", "write response times as an HdrHistogram log, second by second")
	flags.StringVar(&o.hgrm, "hgrm", "", "write response times as percentile text for HdrHistogram's plotter")
	flags.StringVar(&o.progress, "progress", "plain", "plain: a line each second; none")
}

// check finds mistakes in the flags.
func (o *loadOutputs) check(search bool) error {
	var mistakes []error
	if o.progress != "plain" && o.progress != "none" {
		mistakes = append(mistakes, fmt.Errorf("--progress is %q, expected plain or none", o.progress))
	}
	if search && o.hdr != "" {
		mistakes = append(mistakes, errors.New("--hdr belongs to one load: leave it out of a --search"))
	}
	return errors.Join(mistakes...)
}

// eachSecond is what happens with the results of every second.
func (a app) eachSecond(flags *loadFlags) (func(*record.Results) error, error) {
	o := &flags.outputs
	if o.hdr != "" {
		file, err := os.Create(o.hdr)
		if err != nil {
			return nil, withCode(exitBadPlan, "--hdr: %w", err)
		}
		o.logFile = file
		if o.log, err = record.NewLogWriter(file, record.Response, time.Now()); err != nil {
			return nil, err
		}
	}
	cpu := processorTime()
	return func(r *record.Results) error {
		if o.progress == "plain" {
			before := cpu
			cpu = processorTime()
			a.showSecond(r, cpu-before)
		}
		if o.log != nil {
			return o.log.Write(r)
		}
		return nil
	}, nil
}

// shortest is the length, in seconds, of an interval that is shown.
const shortest = 0.1

// showSecond writes a line of progress.
func (a app) showSecond(r *record.Results, cpu time.Duration) {
	length := (r.To - r.From).Seconds()
	if length < shortest {
		return // the rest of a second at the end says nothing
	}
	var failed int64
	for _, outcome := range record.Outcomes() {
		if outcome.IsError() {
			failed += r.Count(record.All, outcome)
		}
	}
	response := record.PercentilesOf(r.Times(record.Response, record.All))
	late := record.PercentilesOf(r.Times(record.Lateness, record.All))
	fmt.Fprintf(a.story, "%6.0f s  %8.0f/s  p50 %s  p99 %s  errors %d  sent late p99 %s  own cpu %.0f %%\n",
		r.To.Seconds(), float64(r.Sent(record.All))/length, timeCell(response.P50), timeCell(response.P99), failed,
		timeCell(late.P99), 100*cpu.Seconds()/length)
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

// close ends the log.
func (o *loadOutputs) close() error {
	if o.log == nil {
		return nil
	}
	return errors.Join(o.log.Flush(), o.logFile.Close())
}

// processorTime is what this process has used so far; zero where it cannot be
// read, for a line of progress only.
func processorTime() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
