package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/store"
)

// rehearsed shows the cost of a change, its error where the model holds measurements, and the limits of the
// method, before the analysis.
func (a app) rehearsed(folder *store.Folder, plan lab.Plan, flags *experimentFlags) (verdict, err error) {
	found, err := analyse(folder, "")
	if err != nil {
		return nil, err
	}
	m, err := model.Parse("", []byte(plan.Study.Model))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	r := rehearsedChange{found, plan.Study, m}
	r.writeAnswer(&b)
	r.writeErrors(&b)
	r.writeCPU(&b)
	b.WriteString("\nLimits of the method\n")
	for _, limit := range plan.Study.Notes {
		fmt.Fprintf(&b, "  * %s\n", limit)
	}
	if _, err := io.WriteString(a.textStream(flags.documents.takeOutput()), b.String()+"\n"); err != nil {
		return nil, err
	}
	return a.reported(folder, plan, flags)
}

// rehearsedChange holds the trials of a change, with its study and its model.
type rehearsedChange struct {
	found lab.Analysis
	study lab.Study
	model model.Model
}

// aspect is a line of the first screen: a metric, its value in what a model says was measured, and the margin
// of its error.
type aspect struct {
	what   string
	metric lab.Metric
	truth  func(model.Measurement) float64 // in the metric's unit; 0: it was not measured
	margin float64
}

// aspects returns the lines of the first screen. The last one is the capacity.
func (r rehearsedChange) aspects() []aspect {
	median, _ := lab.FindMetric(r.study.Metrics, lab.ResponseTime, 0.5, "")
	tail, _ := lab.FindMetric(r.study.Metrics, lab.ResponseTime, 0.99, "")
	cpu, _ := lab.FindMetric(r.study.Metrics, lab.CPU, 0, lab.PerOperation)
	goodput, _ := lab.FindMetric(r.study.Metrics, lab.Goodput, 0, "")
	return []aspect{
		{"median response time", median, func(m model.Measurement) float64 {
			return m.Time.Quantiles["p50"].Seconds()
		}, predict.MarginTime},
		{"99th percentile", tail, func(m model.Measurement) float64 {
			return m.Time.Quantiles["p99"].Seconds()
		}, predict.MarginTail},
		{"CPU per operation", cpu, func(m model.Measurement) float64 {
			return m.CPU.Seconds()
		}, predict.MarginCPU},
		{"capacity", goodput, func(m model.Measurement) float64 { return m.Rate }, predict.MarginCapacity},
	}
}

// result returns a metric of a variant under the load of a measurement, and nil where it was not measured.
func (r rehearsedChange) result(variant string, under model.Measurement, m lab.Metric) *lab.Result {
	for i, result := range r.found.Results {
		rate, paced := result.Point.Level(lab.FactorRate)
		alike := paced && under.Users == 0 && model.SameRate(rate, under.Rate)
		if users, closed := result.Point.Level(lab.FactorUsers); closed {
			alike = int(users) == under.Users
		}
		if alike && result.Variant == variant && result.Metric == m.Name {
			return &r.found.Results[i]
		}
	}
	return nil
}

// resultText returns a result with its unit.
func resultText(r *lab.Result) string {
	if r == nil {
		return "not measured"
	}
	return figure.Quantity(r.Estimate(), r.Unit)
}

// loads returns what was played: the rate, and users who never pause where the capacity was asked for.
func (r rehearsedChange) loads() []model.Measurement {
	all := []model.Measurement{{Rate: r.study.Points[0].Levels[lab.FactorRate]}}
	for _, p := range r.study.Points {
		if users, closed := p.Level(lab.FactorUsers); closed {
			all = append(all, model.Measurement{Users: int(users)})
		}
	}
	return all
}

// appliesTo reports whether a load measures an aspect: users who never pause measure the capacity alone.
func (a aspect) appliesTo(under model.Measurement) bool {
	return (a.metric.Quantity == lab.Goodput) == (under.Users > 0)
}

// writeAnswer prints both placements side by side.
func (r rehearsedChange) writeAnswer(w io.Writer) {
	changed, _ := r.study.Variant(changedVariant)
	fmt.Fprintf(w, "%s, rehearsed at %s operations a second: %s\n\n", r.model.Name,
		lab.Plain(r.study.Points[0].Levels[lab.FactorRate]), changed.Summary)
	rows := [][]string{{"", "as it is", "changed", "changed / as it is"}}
	for _, under := range r.loads() {
		for _, a := range r.aspects() {
			is, would := r.result(asIsVariant, under, a.metric), r.result(changedVariant, under, a.metric)
			if !a.appliesTo(under) {
				continue
			}
			ratio := "not compared"
			for _, c := range r.found.Comparisons {
				if would != nil && c.Variant == changedVariant && c.Metric == a.metric.Name &&
					c.Point.Name == would.Point.Name {
					ratio = figure.Times(c.Ratio.Estimate())
				}
			}
			rows = append(rows, []string{a.what, resultText(is), resultText(would), ratio})
		}
	}
	figure.Columns(w, rows)
}

// writeErrors prints what was rehearsed beside what the model says was measured, and warns of errors beyond
// their margins.
func (r rehearsedChange) writeErrors(w io.Writer) {
	rows, remarks, wrong := [][]string{{"placement", "load"}}, "", false
	for _, a := range r.aspects() {
		rows[0] = append(rows[0], a.what)
	}
	changed, _ := r.study.Variant(changedVariant)
	for _, m := range predict.Pooled(r.model.Measured) {
		name, placement, load := asIsVariant, "as it is", lab.Plain(m.Rate)+"/s"
		if m.Placement != "" {
			name, placement = changedVariant, m.Placement
			if !samePlacement(r.model, m.Placement, changed.Knobs["placement"]) {
				continue
			}
		}
		if m.Users > 0 {
			if r.result(name, m, r.aspects()[0].metric) == nil { // nobody asked for the capacity
				continue
			}
			load = fmt.Sprintf("%d users", m.Users)
		}
		row := []string{placement, load}
		for _, a := range r.aspects() {
			if !a.appliesTo(m) {
				row = append(row, "-")
				continue
			}
			result, truth := r.result(name, m, a.metric), a.truth(m)
			text := resultText(result)
			if result != nil && truth > 0 {
				c, gap := predict.Compared{Predicted: result.Mean, Measured: truth}, predict.Gap{}
				if a.metric.Quantile == 0.5 {
					gap = predict.MedianGap(m)
				}
				text += fmt.Sprintf(", measured %s (%+.1f %%)", figure.Amount(truth, a.metric.Unit), 100*c.Error())
				beyond, right := c.Judge(a.margin, gap)
				mark := "  "
				if !right {
					mark, wrong = "  ! ", true
				}
				if beyond != "" {
					remarks += fmt.Sprintf("%s%s %s at %s: %s\n", mark, a.what, placement, load, beyond)
				}
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		fmt.Fprint(w, "\nRehearsed error: what was rehearsed, against what the model says was measured\n")
		figure.Columns(w, rows)
	}
	fmt.Fprint(w, remarks)
	if wrong {
		fmt.Fprint(w, "  The model does not describe this host, or other programs kept it busy: trust no figure "+
			"above.\n")
	}
}

// writeCPU prints the CPU time that the model asks for beside the metered one. Only systems that play models
// have the first two metrics.
func (r rehearsedChange) writeCPU(w io.Writer) {
	demanded, _ := lab.FindMetric(r.study.Metrics, "demanded_cpu", 0, lab.PerOperation)
	burnt, _ := lab.FindMetric(r.study.Metrics, "burnt", 0, "")
	metered, _ := lab.FindMetric(r.study.Metrics, lab.CPU, 0, lab.PerOperation)
	rate := r.loads()[0]
	fmt.Fprint(w, "\nCPU time of an operation: what the calls of the model ask for, and what all units took\n")
	rows := [][]string{{"", "asked for", "metered", "calls between units, requests, rest",
		"work / asked for, sampled"}}
	for _, name := range []string{asIsVariant, changedVariant} {
		of, took, work := r.result(name, rate, demanded), r.result(name, rate, metered), r.result(name, rate, burnt)
		row := []string{name, resultText(of), resultText(took), "", ""}
		if of != nil && took != nil {
			row[3] = figure.Amount(took.Mean-of.Mean, "s")
		}
		if work != nil {
			row[4] = figure.Times(work.Estimate())
		}
		rows = append(rows, row)
	}
	figure.Columns(w, rows)
}
