package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/store"
)

// reportRehearsal is the reporter of rehearse. It shows the cost of a change, the error of the rehearsal if
// the model has measurements, and the limits of the method; then the analysis.
func (a app) reportRehearsal(
	folder *store.Folder, plan lab.Plan, flags *experimentFlags,
) (failure, err error) {
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
	shown := a.textStream(flags.documents.takesOutput())
	if _, err := fmt.Fprintln(shown, b.String()); err != nil {
		return nil, err
	}
	return a.reportAnalysis(folder, plan, flags)
}

// rehearsedChange holds the analysis of a rehearsal, with its study and its model.
type rehearsedChange struct {
	found lab.Analysis
	study lab.Study
	model model.Model
}

// writeAnswer prints the figures of the changed system, and both placements side by side.
func (r rehearsedChange) writeAnswer(w io.Writer) {
	v, _ := r.study.Variant(changedVariant)
	fmt.Fprintf(w, "%s, rehearsed at %s operations a second: %s\n\n", r.model.Name,
		lab.Plain(r.loads()[0].Rate), v.Summary)
	r.writeProducts(w)
	fmt.Fprintln(w, "Both placements, as they were rehearsed")
	rows := [][]string{{"", "as it is", "changed", "changed / as it is"}}
	for _, load := range r.loads() {
		for _, q := range predict.Quantities(r.study.Metrics) {
			asIs := r.result(asIsVariant, load, q.Metric)
			changed := r.result(changedVariant, load, q.Metric)
			if !q.AppliesTo(load) {
				continue
			}
			rows = append(rows, []string{q.Name, resultText(asIs), resultText(changed), r.ratioText(changed)})
		}
	}
	figure.Columns(w, rows)
}

// ratioText returns the ratio of a result of the changed system to that of the system as it is.
func (r rehearsedChange) ratioText(changed *lab.Result) string {
	if changed == nil {
		return "not compared"
	}
	for _, c := range r.found.Comparisons {
		if c.Variant == changed.Variant && c.Metric == changed.Metric && c.Point.Name == changed.Point.Name {
			return figure.Times(c.Ratio.Estimate())
		}
	}
	return "not compared"
}

// writeProducts prints the figures of the changed system: those measured of the system as it is, multiplied
// by the rehearsed ratios.
func (r rehearsedChange) writeProducts(w io.Writer) {
	fmt.Fprintf(w, "With the change, by what was measured of the system as it is (%s intervals)\n",
		figure.Setting(r.found.Confidence))
	cpu, _ := lab.FindMetric(r.study.Metrics, lab.CPU, 0, lab.PerOperation)
	for _, f := range r.found.Rehearsed {
		if load := predict.Load(f.Point); load.Users == 0 && load.Rate != r.loads()[0].Rate {
			continue // other rates only test the rehearsal against the model's measurements
		}
		if f.Changed == nil {
			fmt.Fprintf(w, "  The %s is withheld: %s.\n", f.What, f.Withheld)
			continue
		}
		format, remark := "The "+f.What+" would be %s", ""
		if f.Metric == cpu.Name {
			format = "An operation would take %s of CPU"
		}
		if f.Measured.Low == nil {
			remark = ", in one trial: no interval"
		}
		fmt.Fprintf(w, "  "+format+": %s what was measured as it is (%s%s).\n", figure.Quantity(*f.Changed, f.Unit),
			figure.Times(*f.Ratio), figure.Amount(f.Measured.Value, f.Unit), remark)
	}
	fmt.Fprintln(w)
}

// writeErrors prints the rehearsed figures next to the measured ones in the model, and warns of errors beyond
// the margins.
func (r rehearsedChange) writeErrors(w io.Writer) {
	rows := [][]string{{"placement", "load"}}
	remarks := ""
	wrong := false
	quantities := predict.Quantities(r.study.Metrics)
	for _, q := range quantities {
		rows[0] = append(rows[0], q.Name)
	}
	changed, _ := r.study.Variant(changedVariant)
	for _, m := range predict.Pooled(r.model.Measured) {
		variant := asIsVariant
		placement := "as it is"
		load := lab.Plain(m.Rate) + "/s"
		if m.Placement != "" {
			variant, placement = changedVariant, m.Placement
			if !samePlacement(r.model, m.Placement, changed.Knobs["placement"]) {
				continue
			}
		}
		if m.Users > 0 {
			if r.result(variant, m, quantities[0].Metric) == nil { // the capacity was not asked for
				continue
			}
			load = fmt.Sprintf("%d users", m.Users)
		}
		row := []string{placement, load}
		for _, q := range quantities {
			text, beyond, right := r.besideMeasured(variant, m, q)
			row = append(row, text)
			mark := "  "
			if !right {
				mark, wrong = "  ! ", true
			}
			if beyond != "" {
				remarks += fmt.Sprintf("%s%s %s at %s: %s\n", mark, q.Name, placement, load, beyond)
			}
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
			"of one placement.\n  Ratios are off less, as far as both placements are off alike.\n")
	}
}

// besideMeasured returns a rehearsed quantity with the measured one and the error between them, what to say
// of an error beyond the margin, and whether the rehearsed quantity counts as right (predict.Compared.Judge).
func (r rehearsedChange) besideMeasured(
	variant string, m model.Measurement, q predict.Quantity,
) (text, beyond string, right bool) {
	if !q.AppliesTo(m) {
		return "-", "", true
	}
	result := r.result(variant, m, q.Metric)
	truth := q.Measured(m)
	if result == nil || truth <= 0 {
		return resultText(result), "", true
	}
	var gap predict.Gap
	if q.Metric.Quantile == 0.5 {
		gap = predict.MedianGap(m)
	}
	c := predict.Compared{Predicted: result.Mean, Measured: truth}
	beyond, right = c.Judge(q.Margin, gap)
	measured := figure.Amount(truth, q.Metric.Unit)
	text = fmt.Sprintf("%s, measured %s (%+.1f %%)", resultText(result), measured, 100*c.Error())
	return text, beyond, right
}

// writeCPU prints the CPU time of the model next to the metered one. Only systems that play models have the
// first two metrics.
func (r rehearsedChange) writeCPU(w io.Writer) {
	demanded, _ := lab.FindMetric(r.study.Metrics, "demanded_cpu", 0, lab.PerOperation)
	burnt, _ := lab.FindMetric(r.study.Metrics, "burnt", 0, "")
	metered, _ := lab.FindMetric(r.study.Metrics, lab.CPU, 0, lab.PerOperation)
	rate := r.loads()[0]
	fmt.Fprint(w, "\nCPU time of an operation: what the calls of the model ask for, and what all units took\n")
	rows := [][]string{{"", "asked for", "metered", "calls between units, requests, rest",
		"work / asked for, sampled"}}
	for _, name := range []string{asIsVariant, changedVariant} {
		asked := r.result(name, rate, demanded)
		took := r.result(name, rate, metered)
		work := r.result(name, rate, burnt)
		row := []string{name, resultText(asked), resultText(took), "", ""}
		if asked != nil && took != nil {
			row[3] = figure.Amount(took.Mean-asked.Mean, "s")
		}
		if work != nil {
			row[4] = figure.Times(work.Estimate())
		}
		rows = append(rows, row)
	}
	figure.Columns(w, rows)
}

// loads returns the rehearsed loads: the rate, and users without pauses if the capacity was asked for.
func (r rehearsedChange) loads() []model.Measurement {
	all := []model.Measurement{predict.Load(r.study.Points[0])}
	for _, p := range r.study.Points {
		if load := predict.Load(p); load.Users > 0 {
			all = append(all, load)
		}
	}
	return all
}

// result returns the result of a metric and a variant under the load of a measurement, or nil if there is
// none.
func (r rehearsedChange) result(variant string, load model.Measurement, m lab.Metric) *lab.Result {
	for i, result := range r.found.Results {
		if result.Variant == variant && result.Metric == m.Name && predict.Load(result.Point).SameLoad(load) {
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

// answersOf returns the figures of a rehearsed change. The 99th percentile is not among them, because it
// depends on effects that models do not have, such as locks and other programs.
func answersOf(found lab.Analysis, s lab.Study) ([]lab.RehearsedFigure, error) {
	m, err := model.Parse("", []byte(s.Model))
	if err != nil {
		return nil, err
	}
	answered := slices.DeleteFunc(predict.Quantities(s.Metrics),
		func(q predict.Quantity) bool { return q.Metric.Quantile == 0.99 })
	return predict.Rehearsed(found, changedVariant, m, answered), nil
}
