package main

import (
	"unicode/utf8"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/yamlfile"
)

// priceList is the content of a file of prices (docs/decisions.md).
type priceList struct {
	Schema    string  `yaml:"schema"`
	Currency  string  `yaml:"currency"`
	Core      float64 `yaml:"core_hour"`
	MemoryGiB float64 `yaml:"memory_gib_hour"`
}

// readPrices reads a file of prices. Its error lists all mistakes with their lines.
func readPrices(path string) (*ci.Prices, error) {
	data, err := inputfile.Read(path, yamlfile.SmallFile)
	if err != nil {
		return nil, withCode(exitBadPlan, "--prices: %w", err)
	}
	r := yamlfile.Reader{File: path, Format: yamlfile.Small("price list", "cleave-prices/1")}
	var list priceList
	if root := r.Root(data); root != nil {
		lines := r.Decode(root, &list)
		list.check(&r, lines)
	}
	if err := r.Problems.OrNil(); err != nil {
		return nil, withCode(exitBadPlan, "%w", err)
	}
	return &ci.Prices{PricedFrom: path, Currency: list.Currency, Core: list.Core, MemoryGiB: list.MemoryGiB}, nil
}

// check reports values that are not allowed as problems of the reader.
func (p *priceList) check(r *yamlfile.Reader, lines map[string]int) {
	if p.Schema != "" && p.Schema != r.Schema {
		r.Problem(lines["schema"], "schema is %q, expected %q", p.Schema, r.Schema)
	}
	if n, given := utf8.RuneCountInString(p.Currency), lines["currency"] > 0; given && (n < 1 || n > 8) {
		r.Problem(lines["currency"], "currency is %q: give one to eight characters, such as EUR", p.Currency)
	}
	for key, price := range map[string]float64{"core_hour": p.Core, "memory_gib_hour": p.MemoryGiB} {
		if price < 0 {
			r.Problem(lines[key], "%s is %g: give a number that is 0 or more", key, price)
		}
	}
}
