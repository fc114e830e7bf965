package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// capacities returns the results of searches, highest first.
func (v view) capacities() []lab.Result {
	capacity, searched := lab.FindMetric(v.Metrics, lab.Capacity, 0, "")
	found := those(v.Results, func(r lab.Result) bool {
		return searched && r.Metric == capacity.Name && !v.struckOut(r.Variant)
	})
	slices.SortStableFunc(found, func(a, b lab.Result) int { return cmp.Compare(b.Mean, a.Mean) })
	return found
}

// capacityTable shows the highest rates that met the objective.
func (v view) capacityTable() table {
	t := table{ID: "capacity", Title: "Capacity", Keys: 1,
		Note: "highest rate that meets the objective; " + v.sample(),
		Columns: []column{words("variant"), words("point"), numbers("capacity"), numbers("to " + v.Baseline),
			numbers("trials")}}
	if v.Objective != "" {
		t.Note = "highest rate that meets " + v.Objective + "; " + v.sample()
	}
	for _, r := range v.capacities() {
		base := toned("base", toneMuted)
		if r.Variant != v.Baseline {
			c, ok := v.ratio(r.Metric, r.Variant, r.Point.Name)
			base = v.ratioCell(c, ok)
		}
		t.add(text(r.Variant), text(r.Point.Name), text(figure.Quantity(r.Estimate(), r.Unit)), base,
			text(fmt.Sprint(r.N)))
	}
	return t
}

// searchesTable shows between which loads each search found the capacity.
func (v view) searchesTable() table {
	t := table{ID: "searches", Title: "Searches for the capacity", Keys: 2,
		Note: "one search per row; times are response times of the load at the highest rate that held; the " +
			"last two columns are the lowest rate above it that failed and why, with what the search left open",
		Columns: []column{words("variant"), numbers("block"), numbers("loads"), numbers("holds"), numbers("median"),
			numbers("p99"), numbers("longest"), numbers("fails at"), prose("why")}}
	for _, s := range v.Searches {
		if v.struckOut(s.Variant) || v.isTwin(s.Variant) {
			continue
		}
		row := []cell{text(s.Variant), text(strconv.Itoa(s.Block)), text(strconv.Itoa(s.Loads))}
		if s.Passed != nil {
			row = append(row, text(ratePerSecond(s.Passed.Rate)), timeCell(s.Passed.Median), timeCell(s.Passed.P99),
				timeCell(s.Passed.Longest))
		} else {
			row = append(row, toned("none", toneWarn), timeCell(nil), timeCell(nil), timeCell(nil))
		}
		failsAt, why := toned(absent, toneMuted), s.Reason
		if s.Failed != nil {
			failsAt, why = text(ratePerSecond(s.Failed.Rate)), strings.TrimSuffix(s.Failed.Why+"; "+s.Reason, "; ")
		}
		t.add(append(row, failsAt, text(why))...)
	}
	return t
}

// timeCell shows a time in seconds, or that there is none.
func timeCell(seconds *float64) cell {
	if seconds == nil {
		return toned(absent, toneMuted)
	}
	return text(figure.Amount(*seconds, "s"))
}

// ratePerSecond shows an offered rate as it was set.
func ratePerSecond(rate float64) string { return lab.Plain(rate) + "/s" }
