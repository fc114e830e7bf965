package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/studies/published"
	"github.com/cleave-lab/cleave/study"
)

// resultsFile is the document with all results in a result folder.
const resultsFile = "results.csv"

// documentFlags are the flags for the documents of results.
type documentFlags struct {
	json       string
	format     string
	full       bool
	baseline   string   // the variant with which others are compared; empty: that of the study
	notesShown []string // notes that were already printed to standard error
	// decision holds the question of the page for a decision record; nil: no page is written.
	decision *ci.Need
}

func (f *documentFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.json, "json", "", "write the analysis as JSON to this `file`, - for standard output")
	flags.StringVar(&f.format, "format", "",
		"write the results to standard output in a `format` of other tools: "+strings.Join(ci.Formats(), ", "))
}

// addFull adds the flag that makes a report show all its tables.
func (f *documentFlags) addFull(flags *pflag.FlagSet) {
	flags.BoolVar(&f.full, "full", false, "print every table")
}

// check returns an error for documents that cannot be written, before anything is played.
func (f *documentFlags) check() error {
	if err := ci.Known(f.format, ci.Formats()); err != nil {
		return badPlan(err)
	}
	if f.format != "" && isOutput(f.json) {
		return withCode(exitBadPlan, "--format %s and --json %s both take standard output: give --json a file",
			f.format, f.json)
	}
	return checkOutput("--json", f.json)
}

// takesOutput reports whether a document takes standard output.
func (f *documentFlags) takesOutput() bool {
	return isOutput(f.json) || f.format != "" || f.decision != nil
}

func (a app) reportCommand() *cobra.Command {
	var flags documentFlags
	var limits gateFlags
	var decision decisionFlags
	command := &cobra.Command{
		Use:   "report RUN | report EARLIER LATER",
		Short: "rebuild every view of a result folder from its raw data, or compare a run with an earlier one",
		Long: `Reads the plan and the trials of a result folder, computes the analysis again
and writes analysis.json, results.csv and report.html anew.

With two folders it shows what has changed from the earlier to the later one, in
every metric that both have, and how their hosts and settings differ. It writes
no file except for that of --json.

--format writes the results for other tools to standard output, and the text to
standard error (docs/ci.md); for two folders only markdown and junit.

--baseline compares all variants of one run with a variant other than the
study's baseline; nothing is written to the folder.

--decision writes a page for a record of an architecture decision to standard
output (docs/decisions.md).

--fail-if METRIC>RATIOx is a gate: a limit for every variant against its
baseline, or for the later run against the earlier one. The exit code is 7 if
the limit is exceeded; with --require-verdict it is 6 if that is undecided.`,
		Example: `  cleave report results/rego2021/latest --full
  cleave report results/shop/20261101T080000Z-1 results/shop/latest --fail-if 'p99>1.05x' --fail-if 'cpu_per_operation>1.1x'`,
		Args: arguments(cobra.RangeArgs(1, 2)),
		RunE: func(command *cobra.Command, args []string) (err error) {
			if err := flags.check(); err != nil {
				return err
			}
			if flags.baseline != "" && len(args) == 2 {
				return withCode(exitBadPlan, "--baseline is for one run: of two, the earlier one is compared with")
			}
			if limits.needVerdict && len(limits.gates) == 0 {
				return withCode(exitBadPlan, "--require-verdict is about gates: name one with --fail-if")
			}
			if flags.decision, err = decision.need(command, args, flags); err != nil {
				return err
			}
			if len(args) == 2 {
				return a.reportAgainst(args[0], args[1], flags, limits)
			}
			return a.reportRun(args[0], flags, limits)
		},
	}
	flags.addTo(command.Flags())
	flags.addFull(command.Flags())
	command.Flags().StringVar(&flags.baseline, "baseline", "",
		"compare with `variant` in the place of the study's baseline; nothing is written to the folder")
	limits.register(command)
	decision.register(command)
	return command
}

// reportRun writes all documents of a run anew, and checks its variants against the gates.
func (a app) reportRun(dir string, flags documentFlags, limits gateFlags) error {
	gates, err := limits.parse()
	if err != nil {
		return badPlan(err)
	}
	folder, err := store.Open(dir)
	if err != nil {
		return badPlan(err)
	}
	concluded, err := a.conclude(folder, flags)
	if err != nil {
		return err
	}
	verdicts, err := a.checkGates(concluded, flags, gates)
	if err != nil {
		return err
	}
	run := ci.Run{Analysis: concluded, Gates: verdicts, MustKnow: limits.needVerdict}
	if err := a.writeFormat(folder, flags, run); err != nil {
		return err
	}
	return gatesVerdict(verdicts, limits.needVerdict, "a variant")
}

// conclude analyses the raw data of the folder, writes all documents, and shows the results.
func (a app) conclude(folder *store.Folder, flags documentFlags) (lab.Analysis, error) {
	concluded, err := analyse(folder, flags.baseline)
	if err != nil {
		return concluded, err
	}
	if flags.baseline == "" {
		if err := writeDocuments(folder, concluded); err != nil {
			return concluded, err
		}
	}
	shown := a.textStream(flags.takesOutput())
	err = report.Terminal(plain.Raw(shown), concluded,
		report.Options{Colour: useColour(shown), Full: flags.full, NotesShown: flags.notesShown})
	err = errors.Join(err, a.writeJSONFile(flags.json, concluded))
	if flags.baseline != "" {
		return concluded, err
	}
	fmt.Fprintf(shown, "\nreport  %s\nagain   %s\n", folder.Path(store.ReportFile),
		shell.Quote("cleave", "report", folder.Dir(), "--full"))
	return concluded, err
}

// textStream returns the stream for text: standard output, or standard error if a document takes that.
func (a app) textStream(taken bool) io.Writer {
	if taken {
		return a.errOut
	}
	return a.out
}

// writeFormat writes a run in the format of --format, or the page of --decision, if any. It sets the name and
// the beginning of the run.
func (a app) writeFormat(folder *store.Folder, flags documentFlags, run ci.Run) error {
	if flags.format == "" && flags.decision == nil {
		return nil
	}
	plan, err := folder.Plan()
	if err != nil {
		return err
	}
	run.Name = filepath.Base(folder.Dir())
	run.Began = plan.Created
	if flags.decision != nil {
		return ci.Decision(plain.Raw(a.out), run, *flags.decision)
	}
	return ci.Write(plain.Raw(a.out), flags.format, run)
}

// analyse compares the variants of a result folder with a baseline; empty: that of its study.
func analyse(folder *store.Folder, baseline string) (lab.Analysis, error) {
	plan, err := folder.Plan()
	if err != nil {
		return lab.Analysis{}, err
	}
	if baseline != "" {
		if plan.Study.Factorial != nil || plan.Study.Explains() || plan.Study.Name == rehearseName {
			return lab.Analysis{}, withCode(exitBadPlan, "--baseline: %s compares its variants in steps, not "+
				"all with a baseline", folder.Dir())
		}
		if _, known := plan.Study.Variant(baseline); !known {
			return lab.Analysis{}, withCode(exitBadPlan, "--baseline: %s has no variant %q, but %s", folder.Dir(),
				baseline, figure.And(variantNames(plan.Study)))
		}
		plan.Study.Baseline = baseline
	}
	if err := study.CheckNames(folder.Path("plan.json"), plan); err != nil {
		return lab.Analysis{}, err
	}
	environment, err := folder.Environment()
	if err != nil {
		return lab.Analysis{}, err
	}
	trials, err := folder.Trials()
	if err != nil {
		return lab.Analysis{}, err
	}
	var figures *published.Study
	if slices.Contains(published.Names(), plan.Study.Name) {
		if figures, err = published.Load(plan.Study.Name); err != nil {
			return lab.Analysis{}, err
		}
	}
	system, err := systemOf(plan, nil, "")
	if err != nil {
		return lab.Analysis{}, err
	}
	found := analysis.Analyse(analysis.Input{
		Plan: plan, Environment: environment, System: system.Describe(), Trials: trials, Published: figures,
	})
	if plan.Study.Name == rehearseName && plan.Study.Model != "" {
		found.Rehearsed, err = answersOf(found, plan.Study)
	}
	return found, err
}

// writeDocuments writes analysis.json, results.csv and report.html into a result folder.
func writeDocuments(folder *store.Folder, concluded lab.Analysis) error {
	documents := []struct {
		name  string
		write func(io.Writer, lab.Analysis) error
	}{
		{store.AnalysisFile, report.JSON}, {resultsFile, report.CSV}, {store.ReportFile, report.HTML},
	}
	for _, document := range documents {
		var buffer bytes.Buffer
		if err := document.write(&buffer, concluded); err != nil {
			return fmt.Errorf("make %s: %w", document.name, err)
		}
		if err := folder.Write(document.name, buffer.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// writeJSONFile writes the document of --json, if any; path may be "-" for standard output.
func (a app) writeJSONFile(path string, concluded lab.Analysis) error {
	err := a.writeDocument(path, func(w io.Writer) error { return report.JSON(w, concluded) })
	if err != nil {
		return fmt.Errorf("write the analysis: %w", err)
	}
	return nil
}

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
