package main

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/yamlfile"
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
	changed := command.Flags().Changed
	if !f.wanted {
		if changed("rate") || changed("prices") {
			return nil, withCode(exitBadPlan, "--rate and --prices are for --decision: add it")
		}
		return nil, nil
	}
	switch isRate := f.rate > 0 && f.rate < math.MaxInt64; {
	case len(args) != 1:
		return nil, withCode(exitBadPlan, "--decision is about one run: name one folder")
	case documents.takesOutput():
		return nil, withCode(exitBadPlan, "--decision takes standard output: leave out --format and --json -")
	case changed("rate") && !isRate:
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

// priceList is the content of a file of prices (docs/decisions.md).
type priceList struct {
	Schema    string  `yaml:"schema"`
	Currency  string  `yaml:"currency"`
	Core      float64 `yaml:"core_hour"`
	MemoryGiB float64 `yaml:"memory_gib_hour"`
}

// readPrices reads a file of prices. Its error lists all mistakes with their lines.
func readPrices(path string) (*ci.Prices, error) {
	data, err := readFlagFile("prices", path, yamlfile.SmallFile)
	if err != nil {
		return nil, badPlan(err)
	}
	r := yamlfile.Reader{File: path, Format: yamlfile.Small("price list", "cleave-prices/1")}
	var list priceList
	if root := r.Root(data); root != nil {
		lines := r.Decode(root, &list)
		list.check(&r, lines)
	}
	if err := r.Problems.OrNil(); err != nil {
		return nil, badPlan(err)
	}
	return &ci.Prices{PricedFrom: path, Currency: list.Currency, Core: list.Core, MemoryGiB: list.MemoryGiB}, nil
}

// check reports values that are not allowed as problems of the reader.
func (p *priceList) check(r *yamlfile.Reader, lines map[string]int) {
	if p.Schema != "" && p.Schema != r.Schema {
		r.Problem(lines["schema"], "schema is %q, expected %q", p.Schema, r.Schema)
	}
	length := utf8.RuneCountInString(p.Currency)
	if lines["currency"] > 0 && (length < 1 || length > 8) {
		r.Problem(lines["currency"], "currency is %q: give one to eight characters, such as EUR", p.Currency)
	}
	checkPrice := func(key string, price float64) {
		if price < 0 {
			r.Problem(lines[key], "%s is %g: give a number that is 0 or more", key, price)
		}
	}
	checkPrice("core_hour", p.Core)
	checkPrice("memory_gib_hour", p.MemoryGiB)
}
