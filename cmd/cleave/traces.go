package main

import (
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/traces"
)

func (a app) tracesCommand() *cobra.Command {
	var json string
	var full bool
	command := &cobra.Command{
		Use:   "traces BEFORE AFTER",
		Short: "compare two sets of traces: which service changed the time of an operation",
		Long: `Reads the spans of two files, or of all .json, .jsonl and .ndjson files of two
folders, and shows by how much the time of an operation has changed, in which
service, and what is called or fails more or less often. Nothing is started.

It reads what these write: the file exporter of the OpenTelemetry collector and
other exporters of OTLP in JSON, the query interfaces of Tempo, Jaeger and
Zipkin, and the downloads of their pages. docs/traces.md says how time is
divided.`,
		Example: `  cleave traces monday.json tuesday.json
  cleave traces spans-of-v1/ spans-of-v2/ --full --json changes.json`,
		Args: arguments(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOutput("--json", json); err != nil {
				return err
			}
			return a.compareTraces(args[0], args[1], json, full)
		},
	}
	f := command.Flags()
	f.StringVar(&json, "json", "", "write the comparison as JSON to this `file`, - for standard output")
	f.BoolVar(&full, "full", false, "show every part")
	return command
}

// compareTraces reads two sets of traces and shows how they differ. json is the file of --json; empty: none.
func (a app) compareTraces(before, after, json string, full bool) error {
	var sets [2]lab.TraceSet
	for i, path := range []string{before, after} {
		const component = "" // times are compared by service
		set, err := traces.Read(path, component)
		if err != nil {
			return badPlan(err)
		}
		sets[i] = traces.Summary(filepath.Clean(path), set, analysis.TraceBatches)
	}
	compared, err := analysis.CompareTraces(sets[0], sets[1])
	if err != nil {
		return badPlan(err)
	}
	err = a.writeDocument(json, func(w io.Writer) error { return report.TracesJSON(w, compared) })
	if err != nil {
		return err
	}
	shown := a.textStream(isOutput(json))
	return report.TracesTerminal(plain.Raw(shown), compared,
		report.Options{Colour: useColour(shown), Full: full})
}
