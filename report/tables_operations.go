package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// operationsTable shows the times and errors of single operations at a point, the variants
// of an operation below one another.
func (v view) operationsTable(at string) table {
	t := table{ID: "operations-" + at, Title: "Times and errors by operation at " + v.at(at), Keys: 2,
		Note: fmt.Sprintf("response times: medians over trials, n=%d blocks; errors: of all trials", v.Blocks),
		Columns: []column{words("operation"), words("variant"), numbers("median"), numbers("p99"),
			numbers("longest"),
			numbers("sent"), numbers("not right"), prose("errors")}}
	var names []string
	for _, o := range v.Operations {
		if !slices.Contains(names, o.Name) {
			names = append(names, o.Name)
		}
	}
	for _, name := range names {
		for _, o := range v.Operations {
			if o.Name != name || o.Point.Name != at || v.isTwin(o.Variant) || v.struckOut(o.Variant) {
				continue
			}
			t.add(text(name), text(o.Variant), text(figure.Amount(o.Median, "s")), text(figure.Amount(o.P99, "s")),
				text(figure.Amount(o.Longest, "s")), text(fmt.Sprint(o.Sent)), wrongCell(o), text(errorKinds(o)))
		}
	}
	return t
}

func wrongCell(o lab.OperationTimes) cell {
	if o.Wrong > 0 {
		return toned(figure.Percent(o.Wrong), toneWarn)
	}
	return text("0 %")
}

// errorKinds lists what went wrong, by kind.
func errorKinds(o lab.OperationTimes) string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(o.Errors)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", o.Errors[kind], kind))
	}
	return strings.Join(kinds, ", ")
}
