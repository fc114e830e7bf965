package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// trendsSection shows how elapsed and CPU time grow along the factors of the study.
func (v view) trendsSection() section {
	if len(v.Trends) == 0 {
		return section{}
	}
	s := section{ID: "trends", Title: "Scaling", Shown: []table{v.trendsTable()},
		Folded: append(v.meansTables(), v.rawTable()),
		Caption: fmt.Sprintf("Small dots: trials; large dots: means; line: least squares through the means. "+
			"Linear axes, each panel its own scale; %s.", v.sample()),
		HowTo: "An exponent of 1 means proportional: twice the work, twice the time. Above 1 grows faster, below " +
			"1 slower. A line that meets the left edge below zero promises a negative fixed cost, " +
			"which cannot be: a straight line is the wrong model there, however near R2 is to 1."}
	for i, l := range v.Trends {
		title := fmt.Sprintf("%s of %s along %s, exponent %s", figure.Spaced(l.Metric), l.Variant, l.Factor,
			plusMinus(l.Exponent, l.ExponentSE, "1"))
		label := fmt.Sprintf("%s, line %s per unit of %s", title, plusMinus(l.Slope, l.SlopeSE, l.Unit),
			l.Factor)
		s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-trend-%d", i), Kind: "trend", Index: i,
			Title: sentenceCase(title), Label: label,
			Note: strings.Join(cleanAll(l.Warnings), "; ")})
	}
	return s
}

// trendsTable shows the lines along the factors with their standard errors.
func (v view) trendsTable() table {
	t := table{ID: "trends", Title: "Trend lines", Keys: 3,
		Note: "least squares through the means, ± standard error; exponent: slope in log-log (1: proportional)",
		Columns: columns{}.text("metric", "factor", "variant").number("slope", "intercept", "R2", "exponent").
			prose("warnings")}
	for _, l := range v.Trends {
		warnings := strings.Join(cleanAll(l.Warnings), "; ")
		t.add(figure.Spaced(l.Metric), l.Factor, l.Variant, plusMinus(l.Slope, l.SlopeSE, l.Unit),
			plusMinus(l.Intercept, l.InterceptSE, l.Unit), figure.Fixed(l.R2, 4),
			plusMinus(l.Exponent, l.ExponentSE, "1"), toned(warnings, toneWarn))
	}
	return t
}

// meansTables shows the means of the headline metric and of those that have trend lines.
func (v view) meansTables() []table {
	metrics := []string{v.headlineMetric().Name}
	for _, l := range v.Trends {
		if !slices.Contains(metrics, l.Metric) {
			metrics = append(metrics, l.Metric)
		}
	}
	var all []table
	for _, metric := range metrics {
		all = append(all, v.meansTable(metric))
	}
	return all
}

// meansTable shows the means of a metric with their intervals (Table 2 of rego2021).
func (v view) meansTable(metric string) table {
	m := v.metric(metric)
	t := table{ID: "means-" + metric, Title: "Means: " + m.Title, Note: v.sample()}
	return v.byPoint(t, v.variants(), func(variant, point string) (cell, bool) {
		r, ok := v.results[figureKey{metric, variant, point}]
		return text(figure.Quantity(r.Estimate(), r.Unit)), ok
	})
}

// rawTable shows the values of all valid trials in the headline metric (Table 1 of rego2021).
func (v view) rawTable() table {
	m := v.headlineMetric()
	t := table{ID: "raw", Title: "Raw values: " + m.Title, Keys: 2,
		Note:    "one value per valid trial, in block order; scale " + plainNumber(v.Scale),
		Columns: columns{}.text("point", "variant").number("n").text("unit").prose("values")}
	for _, p := range v.Points {
		for _, x := range v.variants() {
			r, ok := v.results[figureKey{m.Name, x.Name, p.Name}]
			if !ok {
				continue
			}
			unit, factor := figure.Scale(r.Mean, r.Unit)
			t.add(p.Name, x.Name, r.N, unit, values(r, factor))
		}
	}
	return t
}

// values formats the values of a result with one digit more than their mean. factor converts them to the unit
// shown.
func values(r lab.Result, factor float64) string {
	digits := figure.Decimals(figure.Alone(r.Mean*factor)) + 1
	parts := make([]string, len(r.Values))
	for i, value := range r.Values {
		parts[i] = figure.Fixed(value*factor, digits)
	}
	return strings.Join(parts, "  ")
}

// plusMinus formats a number with its standard error in a unit in which the larger of them is easy to read:
// "7.16 ± 0.11 ms". Both are rounded to the second significant digit of the error, but no finer than to the
// third one of the number. The error keeps one significant digit, so that it is never 0.
func plusMinus(value, standardError float64, unit string) string {
	if !figure.Finite(value) {
		return absent
	}
	if !figure.Finite(standardError) || standardError <= 0 {
		return figure.Amount(value, unit)
	}
	name, factor := figure.Scale(max(math.Abs(value), standardError), unit)
	value *= factor
	standardError *= factor
	digits := figure.Decimals(figure.Between(value, value-standardError, value+standardError))
	oneDigit := figure.Decimals(figure.Between(standardError, 0, 2*standardError)) - 1
	return figure.Fixed(value, digits) + " ± " + figure.Fixed(standardError, max(digits, oneDigit)) +
		figure.After(name)
}
