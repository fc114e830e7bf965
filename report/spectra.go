package report

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// spectraSection shows the distributions of response and completion times.
func (v view) spectraSection() section {
	s := section{ID: "spectra", Title: "Distributions", Wide: true,
		Caption: fmt.Sprintf("Percentile spectra: the share of %ss on an axis of 1/(1 - share), so that every "+
			"step to the right is a ten times rarer %s; times on a log axis. "+
			"Thin: trials; thick: median over %s at each share. Times run from the intended start.",
			v.Operation, v.Operation, v.counting),
		HowTo: "Read off at 99 % what one in a hundred takes at least. A line that rises steadily is an ordinary " +
			"tail; one that jumps hides a second kind of " + v.Operation + ", such as one that met a retry. " +
			"The service time starts at the actual sending: it leaves out what waited to be sent, and is shown on " +
			"request only."}
	for _, quantity := range []string{lab.ResponseTime, lab.CompletionTime} {
		point, ok := v.spectrumAt(quantity)
		if !ok {
			continue
		}
		title := sentenceCase(quantity)
		s.Plots = append(s.Plots, plot{ID: "plot-spectrum-" + slug(quantity), Kind: "spectrum", Metric: quantity,
			Point: point, Title: title, Label: title + " as a percentile spectrum at " + v.at(point)})
		s.Shown = append(s.Shown, v.spectrumTable(quantity, point))
		s.Folded = append(s.Folded,
			v.otherPoints(point, func(p string) table { return v.spectrumTable(quantity, p) })...)
		if quantity == lab.ResponseTime {
			s.Shown = append(s.Shown, v.operationsTable(point))
		}
	}
	if at, ok := v.spectrumAt(lab.ServiceTime); ok {
		s.Folded = append(s.Folded, v.spectrumTable(lab.ServiceTime, at))
	}
	return s
}

// stalenessSection shows the lag of read models and of replicas of reference data.
func (v view) stalenessSection() section {
	s := section{ID: "staleness", Title: "Staleness",
		Caption: fmt.Sprintf("From a change on the write side until a read model, or a replica of reference "+
			"data, shows it, as a percentile spectrum on log axes; thin: trials, thick: median over %s.", v.counting),
		HowTo: "At 99 % the line says how old one in a hundred answers of the read model may be. A variant that " +
			"reads what it writes has no line: it is never stale."}
	for _, quantity := range []string{lab.Staleness, lab.ReferenceStaleness} {
		at, ok := v.spectrumAt(quantity)
		if !ok {
			continue
		}
		s.Plots = append(s.Plots, plot{ID: "plot-spectrum-" + quantity, Kind: "spectrum", Metric: quantity,
			Point: at, Label: sentenceCase(quantity)})
		of := func(point string) table { return v.spectrumTable(quantity, point) }
		s.Shown = append(s.Shown, of(at))
		s.Folded = append(s.Folded, v.otherPoints(at, of)...)
	}
	return s
}

// spectrumTable shows the distributions of a quantity at a point.
func (v view) spectrumTable(quantity, point string) table {
	title := sentenceCase(quantity)
	if quantity == lab.ServiceTime {
		title += " (uncorrected)"
	}
	t := table{ID: "spectrum-" + quantity + "-" + point, Title: title + " at " + v.at(point), Keys: 1,
		Note: "time within which a share of operations finished; medians over trials at each share; n=" +
			v.counting, Columns: columns{}.text("variant")}
	for _, share := range ShownShares() {
		t.Columns = t.Columns.number(figure.Setting(share))
	}
	for _, x := range v.variants() {
		s, ok := v.spectrum(quantity, x.Name, point)
		if !ok {
			continue
		}
		quantiles := cells(ShownShares(), func(share float64) cell {
			if q, has := find(s.Median, func(q lab.Quantile) bool { return q.Share == share }); has {
				return text(seconds(q.Value))
			}
			return text(absent)
		})
		t.add(x.Name, quantiles)
	}
	return t
}

// ShownShares returns the shares that tables of distributions have as columns. The maximum is not among them,
// since it depends on the number of operations.
func ShownShares() []float64 { return []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999} }

// spectrum returns the distribution of a quantity of a variant at a point.
func (v view) spectrum(quantity, variant, point string) (lab.Spectrum, bool) {
	return find(v.Spectra, func(s lab.Spectrum) bool {
		return s.Quantity == quantity && s.Variant == variant && s.Point.Name == point
	})
}

// spectrumAt returns the point at which the distributions of a quantity are shown first.
func (v view) spectrumAt(quantity string) (string, bool) {
	own := filter(v.Spectra, func(s lab.Spectrum) bool { return s.Quantity == quantity })
	return shownWhere(v, own, func(s lab.Spectrum) string { return s.Point.Name })
}

// lightSpectra returns the distributions that a page embeds if its data would be too large with all of their
// single trials: only those that are shown first have them.
func (v view) lightSpectra() []lab.Spectrum {
	light := slices.Clone(v.Spectra)
	for i, s := range light {
		if at, ok := v.spectrumAt(s.Quantity); !ok || s.Point.Name != at {
			light[i].Trials = nil
		}
	}
	return light
}

// operationsPoint returns the point whose operations are shown first.
func (v view) operationsPoint() (string, bool) {
	return shownWhere(v, v.Operations, func(o lab.OperationTimes) string { return o.Point.Name })
}

// operationsTable shows the times and errors of each operation at a point, with a row per variant.
func (v view) operationsTable(at string) table {
	t := table{ID: "operations-" + at, Title: "Times and errors by operation at " + v.at(at), Keys: 2,
		Note: fmt.Sprintf("response times: medians over trials that sent in time, n=%s; errors: of all trials",
			v.counting),
		Columns: columns{}.text("operation", "variant").number("median", "p99", "longest", "sent",
			"not right").prose("errors")}
	var names []string
	for _, o := range v.Operations {
		if !slices.Contains(names, o.Name) {
			names = append(names, o.Name)
		}
	}
	for _, name := range names {
		for _, o := range v.Operations {
			if o.Name != name || o.Point.Name != at {
				continue
			}
			wrong := text("0 %")
			if o.Wrong > 0 {
				wrong = toned(figure.Percent(o.Wrong), toneWarn)
			}
			times := []string{absent, absent, absent} // no trial sent its load in time
			if o.Longest > 0 {
				times = []string{seconds(o.Median), seconds(o.P99), seconds(o.Longest)}
			}
			t.add(name, o.Variant, times[0], times[1], times[2], o.Sent, wrong, countsByKind(o.Errors))
		}
	}
	return t
}
