package ci

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// place returns "VARIANT at POINT".
func place(r lab.Result) string { return oneLine(r.Variant + " at " + r.Point.Name) }

// benchmark is an entry of a file for github-action-benchmark (BenchmarkResult in its src/extract.ts). That
// tool shows Range and Extra unchanged, and puts Name into a table cell.
type benchmark struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"`
	Extra string  `json:"extra"`
}

// benchmarkAction returns the means of all metrics of which less is better, for the tool
// customSmallerIsBetter of github-action-benchmark, in seconds, bytes and plain numbers.
func benchmarkAction(r Run) (string, error) {
	inCell := strings.NewReplacer("`", "'", "|", "/")
	all := []benchmark{}
	for _, result := range r.Analysis.Results {
		m, _ := lab.MetricNamed(r.Analysis.Metrics, result.Metric) // every result has one of the metrics
		if m.Better != lab.LowerIsBetter {
			continue
		}
		b := benchmark{Name: inCell.Replace(place(result) + ": " + oneLine(result.Metric)),
			Unit: inCell.Replace(oneLine(result.Unit)), Value: result.Mean,
			Extra: fmt.Sprintf("mean of %d trials", result.N)}
		if result.Low != nil && result.High != nil {
			b.Range = fmt.Sprintf("[%s, %s]", number(*result.Low), number(*result.High))
			b.Extra += fmt.Sprintf("; range: %s %% interval", number(100*r.Analysis.Confidence))
		}
		all = append(all, b)
	}
	return jsonText(all)
}

// metricValue is a metric in Bencher's Metric Format (bencher.dev/docs/reference/bencher-metric-format).
type metricValue struct {
	Value float64  `json:"value"`
	Lower *float64 `json:"lower_value,omitempty"`
	Upper *float64 `json:"upper_value,omitempty"`
}

// bencher returns the means of all metrics with their intervals. Each variant at each point is a
// benchmark, and the metrics are its measures, in seconds, bytes and plain numbers.
func bencher(r Run) (string, error) {
	all := map[string]map[string]metricValue{}
	for _, result := range r.Analysis.Results {
		name := place(result)
		if all[name] == nil {
			all[name] = map[string]metricValue{}
		}
		all[name][oneLine(result.Metric)] = metricValue{result.Mean, result.Low, result.High}
	}
	return jsonText(all)
}

// otava returns a table with a head and one row: the time, the run, and the mean of each metric of each
// variant at each point. The user appends the row to those of earlier runs. The columns follow from the plan,
// so that all runs of a study have the same ones; a missing mean is nan.
func otava(r Run) (string, error) {
	a := r.Analysis
	means := map[string]float64{}
	column := func(variant, point, metric string) string {
		return oneLine(variant + " at " + point + ": " + metric)
	}
	for _, result := range a.Results {
		means[column(result.Variant, result.Point.Name, result.Metric)] = result.Mean
	}
	head := []string{"time", "run"}
	row := []string{r.Began.UTC().Format(time.RFC3339), oneLine(r.Name)}
	for _, v := range a.Variants {
		for _, p := range a.Points {
			for _, m := range a.Metrics {
				name := column(v.Name, p.Name, m.Name)
				mean, measured := means[name]
				value := "nan"
				if measured {
					value = number(mean)
				}
				head = append(head, name)
				row = append(row, value)
			}
		}
	}
	var table strings.Builder
	err := csv.NewWriter(&table).WriteAll([][]string{head, row})
	return table.String(), err
}

// number formats a value with the fewest digits that read back as the same value.
func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// jsonText returns a value as indented JSON.
func jsonText(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text) + "\n", err
}
