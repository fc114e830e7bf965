package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// publishedSection shows the figures of the published study beside those measured here.
func (v view) publishedSection() section {
	s := section{ID: "published", Title: "Published figures", Shown: []table{v.publishedTable()}, Filter: true,
		Caption: fmt.Sprintf("Time per %s as published against measured here, log axes, line: equal; scale %s.",
			v.Operation, plainNumber(v.Scale)),
		HowTo: "A dot on the line took as long here as in the study. Dots off the line by the same factor mean " +
			"another machine, not another finding: compare ratios, not times. " +
			"The status in the table says what recomputing the study's own data said of each figure: wrong and " +
			"inconsistent figures contradict it, a method-flaw is right arithmetic with a misleading statistic."}
	if slices.ContainsFunc(v.Published, func(f lab.PublishedFigure) bool {
		return f.PublishedPerOperation != nil && f.MeasuredPerOperation != nil
	}) {
		s.Plots = v.onlyPlot("published", s.Title)
	}
	return s
}

// publishedTable shows the study's figures beside those measured here.
func (v view) publishedTable() table {
	t := table{ID: "published", Title: "Published figures", Keys: 1,
		Note: "as printed, what recomputation says of it, and the same quantity measured here (scale " +
			plainNumber(v.Scale) + "); per " + v.Operation + " where scales differ",
		Columns: columns{}.text("source").prose("figure").number("published", "measured",
			"per "+v.Operation+", study / here").text("status").prose("recomputed, note")}
	for _, f := range v.Published {
		note := []string{f.Note, v.shortReason(f.Reason)}
		if f.Recomputed != nil {
			note = append([]string{"recomputed: " + sixDigits(f.Recomputed)}, note...)
		}
		printed := plainNumber(f.Value) + " " + unitText(f.Unit)
		if f.Missing {
			printed = absent
		}
		here := measured(f.Measured, f.Low, f.High)
		if f.Measured != nil {
			here += " " + unitText(f.Unit)
		}
		theirs := unlessNil(f.PublishedPerOperation, seconds).Text
		ours := unlessNil(f.MeasuredPerOperation, seconds).Text
		notes := strings.Join(cleanAll(note), "; ")
		t.add(f.Source, figureName(f), printed, here, theirs+" / "+ours,
			toned(f.Status, statusTone(f.Status)), toned(notes, toneMuted))
	}
	return t
}

// figureName returns the name of a published figure: "s1, goroutines: mean time".
func figureName(f lab.PublishedFigure) string {
	return strings.Join(cleanAll([]string{f.Point, f.Variant}), ", ") + ": " + clean(f.Metric)
}

// unitText returns a unit as text, "" for that of plain numbers.
func unitText(unit string) string {
	switch unit {
	case "1", "ratio", "count":
		return ""
	}
	return unit
}

// isDoubtful reports whether recomputation found a published figure to be wrong, inconsistent or misleading.
func isDoubtful(status string) bool {
	return slices.Contains([]string{"wrong", "inconsistent", "method-flaw"}, status)
}

// statusTone returns the tone of a published figure by its status.
func statusTone(status string) tone {
	switch {
	case isDoubtful(status):
		return toneBad
	case strings.HasPrefix(status, "ok"):
		return toneGood
	case status == "ambiguous" || status == "suspect":
		return toneWarn
	default:
		return toneMuted
	}
}

// sixDigits formats a number with six significant digits, or as absent.
func sixDigits(value *float64) string {
	if value == nil || !figure.Finite(*value) {
		return absent
	}
	return strconv.FormatFloat(*value, 'g', 6, 64)
}

// doubtfulTable shows the published figures that recomputation did not confirm.
func (v view) doubtfulTable() table {
	t := table{ID: "doubtful", Title: "Published figures that their own data do not confirm", Keys: 1,
		Columns: columns{}.text("status").number("published", "recomputed").prose("what, where, and why")}
	for _, f := range v.Published {
		if isDoubtful(f.Status) {
			printed := plainNumber(f.Value) + " " + unitText(f.Unit)
			t.add(toned(f.Status, toneBad), printed, sixDigits(f.Recomputed),
				figureName(f)+" ("+f.Source+") - "+f.Note)
		}
	}
	return t
}
