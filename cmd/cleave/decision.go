package main

import (
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/shell"
)

// decisionFlags ask for a page that records a decision.
type decisionFlags struct {
	wanted bool
	rate   float64
	prices string
}

func (f *decisionFlags) register(command *cobra.Command) {
	command.Flags().BoolVar(&f.wanted, "decision", false,
		"write a page for an architecture decision record to standard output (Markdown)")
	command.Flags().Float64Var(&f.rate, "rate", 0,
		"operations per second for --decision (default: the highest that was measured)")
	command.Flags().StringVar(&f.prices, "prices", "",
		"`file` with the prices of cores and memory for --decision (docs/decisions.md)")
}

// need returns what the page of --decision shows, with the commands that repeat the run and write the page
// again. It returns nil without --decision.
func (f *decisionFlags) need(
	command *cobra.Command, args []string, documents documentFlags,
) (*ci.Need, error) {
	switch changed := command.Flags().Changed; {
	case !f.wanted && (changed("rate") || changed("prices")):
		return nil, withCode(exitBadPlan, "--rate and --prices are for --decision: add it")
	case !f.wanted:
		return nil, nil
	case len(args) != 1:
		return nil, withCode(exitBadPlan, "--decision is about one run: name one folder")
	case documents.takeOutput():
		return nil, withCode(exitBadPlan, "--decision takes standard output: leave out --format and --json -")
	case changed("rate") && !(f.rate > 0 && f.rate < math.MaxInt64):
		return nil, withCode(exitBadPlan, "--rate is %v: give operations per second, above 0", f.rate)
	}
	repeat := []string{"cleave", "report", args[0], "--decision"}
	need := ci.Need{Rate: f.rate}
	if documents.baseline != "" {
		repeat = append(repeat, "--baseline", documents.baseline)
	}
	if f.rate > 0 {
		repeat = append(repeat, "--rate", strconv.FormatFloat(f.rate, 'g', -1, 64))
	}
	var err error
	if f.prices != "" {
		repeat = append(repeat, "--prices", f.prices)
		need.Prices, err = readPrices(f.prices)
	}
	need.Again = shell.Quote("cleave", "run", args[0]) + "\n" + shell.Quote(repeat...)
	return &need, err
}
