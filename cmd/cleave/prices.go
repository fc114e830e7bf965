package main

import (
	"errors"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/yamlfile"
)

// pricesFormat is of files with prices (docs/decisions.md).
func pricesFormat() yamlfile.Format {
	return yamlfile.Format{Kind: "price list", Schema: "cleave-prices/1", MaxBytes: 64 << 10, MaxDepth: 8,
		MaxNodes: 1000}
}

// readPrices reads a file of prices. All mistakes are named at once, each at its line.
func readPrices(path string) (*ci.Prices, error) {
	format := pricesFormat()
	data, err := inputfile.Read(path, int64(format.MaxBytes))
	if err != nil {
		return nil, withCode(exitBadPlan, "--prices: %w", err)
	}
	r := yamlfile.Reader{File: path, Format: format}
	p := ci.Prices{PricedFrom: path}
	if root := r.Root(data); root != nil {
		fillPrices(&r, root, &p)
	}
	if err := r.Problems.OrNil(); err != nil {
		return nil, withCode(exitBadPlan, "%w", err)
	}
	return &p, nil
}

// fillPrices takes the values of a file's only object.
func fillPrices(r *yamlfile.Reader, root *yaml.Node, p *ci.Prices) {
	if root.Kind != yaml.MappingNode {
		r.Problem(root.Line, "a price list is an object with the keys %s", strings.Join(priceKeys(), ", "))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if seen[key.Value] {
			r.Problem(key.Line, "the key %q stands twice", key.Value)
		}
		seen[key.Value] = true
		switch key.Value {
		case "schema":
			if value.Value != r.Schema {
				r.Problem(value.Line, "schema is %q, expected %q", value.Value, r.Schema)
			}
		case "currency":
			if p.Currency = value.Value; value.Kind != yaml.ScalarNode || p.Currency == "" || len(p.Currency) > 8 {
				r.Problem(value.Line, "currency is %q: give one to eight characters, such as EUR", value.Value)
			}
		case "core_hour":
			p.Core = price(r, key.Value, value)
		case "memory_gib_hour":
			p.MemoryGiB = price(r, key.Value, value)
		default:
			r.UnknownKey(key, "a price list", priceKeys())
		}
	}
	for _, key := range priceKeys() {
		if !seen[key] {
			r.Problem(root.Line, "the key %q is missing", key)
		}
	}
}

func priceKeys() []string { return []string{"schema", "currency", "core_hour", "memory_gib_hour"} }

// price is a number that is not below 0.
func price(r *yamlfile.Reader, key string, node *yaml.Node) float64 {
	var value float64
	err := node.Decode(&value)
	if err == nil && (value < 0 || math.IsNaN(value) || math.IsInf(value, 0)) {
		err = errors.New("negative or no number")
	}
	if err != nil {
		r.Problem(node.Line, "%s is %q: give a number that is 0 or more", key, node.Value)
	}
	return value
}
