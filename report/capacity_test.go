package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestSearchesHaveRows with the rate that held, the rate that failed, and the reason beside it.
func TestSearchesHaveRows(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	median, p99 := 0.004, 0.009
	held := &lab.SearchLoad{Rate: 320, Pass: true, Median: &median, P99: &p99}
	a.Searches = []lab.TrialSearch{
		{Variant: "monolith", Block: 1, Loads: 17, Passed: held,
			Failed: &lab.SearchLoad{Rate: 336, Why: "p99 is 60ms"}},
		{Variant: "monolith", Block: 2, Loads: 18, Passed: held,
			Failed: &lab.SearchLoad{Rate: 340, Why: "p99 is 61ms"}, Reason: "not monotone"},
		{Variant: "sync", Block: 1, Loads: 3, Reason: "the first load failed"},
	}
	searches := newView(a).searchesTable()
	var rows []string
	for _, cells := range append([][]cell{titles(searches)}, searches.Rows...) {
		var texts []string
		for _, c := range cells {
			texts = append(texts, c.Text)
		}
		rows = append(rows, strings.Join(texts, " | "))
	}
	want := []string{
		"variant | block | loads | holds | median | p99 | longest | fails at | why",
		"monolith | 1 | 17 | 320/s | 4.00 ms | 9.00 ms | - | 336/s | p99 is 60ms",
		"monolith | 2 | 18 | 320/s | 4.00 ms | 9.00 ms | - | 340/s | p99 is 61ms; not monotone",
		"sync | 1 | 3 | none | - | - | - | - | the first load failed",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("searches\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// titles returns the titles of the columns as a row.
func titles(t table) []cell {
	var all []cell
	for _, c := range t.Columns {
		all = append(all, cell{Text: c.Name})
	}
	return all
}
