package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/store"
)

// gateFlags are the flags for gates: limits that a change must not exceed.
type gateFlags struct {
	gates       []string
	needVerdict bool
}

func (f *gateFlags) register(command *cobra.Command) {
	command.Flags().StringArrayVar(&f.gates, "fail-if", nil,
		"limit `METRIC>RATIOx` for variants against their baseline, or for the later run: exit code 7 beyond it; "+
			"repeatable")
	command.Flags().BoolVar(&f.needVerdict, "require-verdict", false,
		"exit with code 6 if it is undecided whether a limit of --fail-if is exceeded")
}

// parse parses the gates. Its error lists all mistakes.
func (f *gateFlags) parse() ([]analysis.Gate, error) {
	var gates []analysis.Gate
	var wrong mistakes
	for _, text := range f.gates {
		gate, err := analysis.ParseGate(text)
		gates = append(gates, gate)
		wrong.add(err)
	}
	return gates, wrong.err()
}

// checkGates compares the variants of a run with their baseline by the gates, and prints and returns the
// verdicts.
func (a app) checkGates(
	concluded lab.Analysis, flags documentFlags, gates []analysis.Gate,
) ([]lab.GateVerdict, error) {
	verdicts, err := analysis.Hold(concluded, gates)
	if err != nil {
		return nil, badPlan(err)
	}
	shown := a.textStream(flags.takesOutput())
	return verdicts, report.GatesTerminal(plain.Raw(shown), verdicts, report.Options{Colour: useColour(shown)})
}

// reportAgainst compares a run with an earlier one, and reports the changes.
func (a app) reportAgainst(before, after string, flags documentFlags, limits gateFlags) error {
	gates, err := limits.parse()
	wrong := mistakes{err, ci.Known(flags.format, ci.FormatsAgainst())}
	var runs [2]lab.Analysis
	var folders [2]string
	for i, dir := range []string{before, after} {
		folder, err := store.Open(dir)
		if err == nil {
			folders[i] = folder.Dir()
			runs[i], err = analyse(folder, "")
		}
		wrong.add(err)
	}
	if err := wrong.err(); err != nil {
		return badPlan(err)
	}
	changes, err := analysis.Against(runs[0], runs[1], gates)
	if err != nil {
		return badPlan(err)
	}
	changes.Before.Folder = folders[0]
	changes.After.Folder = folders[1]
	shown := a.textStream(flags.takesOutput())
	err = a.writeDocument(flags.json, func(w io.Writer) error { return report.AgainstJSON(w, changes) })
	err = errors.Join(err, report.AgainstTerminal(plain.Raw(shown), changes,
		report.Options{Colour: useColour(shown), Full: flags.full}))
	if err == nil && flags.format != "" {
		err = ci.WriteAgainst(plain.Raw(a.out), flags.format, changes, limits.needVerdict)
	}
	if err != nil {
		return err
	}
	return gatesVerdict(changes.Gates, limits.needVerdict, "the later run")
}

// gatesVerdict returns the error of failed gates, or nil. what names the compared thing in the message.
func gatesVerdict(gates []lab.GateVerdict, needVerdict bool, what string) error {
	var failed, open []string
	for _, g := range gates {
		switch g.Standing() {
		case lab.GateFailed:
			failed = append(failed, g.Gate)
		case lab.GateOpen:
			open = append(open, g.Gate)
		}
	}
	switch {
	case len(failed) > 0:
		return withCode(exitGate, "%s is beyond %s", what, strings.Join(failed, ", "))
	case len(open) > 0 && needVerdict:
		return withCode(exitUndecided, "whether %s is beyond %s is open: play more blocks", what,
			strings.Join(open, ", "))
	}
	return nil
}
