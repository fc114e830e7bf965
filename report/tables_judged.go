package report

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// trendsTable shows the lines along the factors with their standard errors.
func (v view) trendsTable() table {
	t := table{ID: "trends", Title: "Trend lines", Keys: 3,
		Note: "least squares through the means, ± standard error; exponent: slope in log-log (1: proportional)",
		Columns: []column{words("metric"), words("factor"), words("variant"), numbers("slope"),
			numbers("intercept"), numbers("R2"), numbers("exponent"), prose("warnings")}}
	for _, l := range v.Trends {
		t.add(text(figure.Spaced(l.Metric)), text(l.Factor), text(l.Variant),
			text(plusMinus(l.Slope, l.SlopeSE, l.Unit)), text(plusMinus(l.Intercept, l.InterceptSE, l.Unit)),
			text(figure.Fixed(l.R2, 4)), text(plusMinus(l.Exponent, l.ExponentSE, "1")),
			toned(strings.Join(cleanAll(l.Warnings), "; "), toneWarn))
	}
	return t
}

// averagesTable shows ratios averaged over points, and whether that is allowed.
func (v view) averagesTable() table {
	t := table{ID: "averages", Title: "Ratios averaged over points", Keys: 1,
		Note: "I2: share of the spread over points that is not noise (above 50 % no single number stands for all " +
			"points); " +
			"prediction: 95 % interval for a new point",
		Columns: []column{words("ratio"), words("metric"), numbers("points"), numbers("arithmetic"),
			numbers("geometric"), numbers("harmonic"),
			numbers("of sums"), numbers("I2"), numbers("random-effects mean"), numbers("prediction"),
			words("one number?")}}
	ratio := func(value float64) cell { return text(figure.Times(figure.Alone(value))) }
	for _, a := range v.Averages {
		verdict := toned("no", toneWarn)
		if a.Homogeneous {
			verdict = toned("yes", toneGood)
		}
		i2 := absent
		if a.I2 != nil {
			i2 = figure.Percent(*a.I2)
		}
		t.add(text(a.Variant+" / "+a.Baseline), text(a.Metric), text(fmt.Sprint(len(a.Points))),
			ratio(a.Arithmetic), ratio(a.Geometric), ratio(a.Harmonic), ratio(a.OfSums),
			text(i2), rung(a.Mean), text(span(a.PredictionLow, a.PredictionHigh)), verdict)
	}
	return t
}

// claimsTable shows every claim with its verdict, published beside measured.
func (v view) claimsTable() table {
	t := table{ID: "claims", Title: "Claims", Keys: 1,
		Note: fmt.Sprintf("measured with its %s interval; the study's own number beside it",
			figure.Setting(v.Confidence)),
		Columns: []column{words("verdict"), numbers("published"), numbers("measured"), prose("claim, and why")}}
	reason := ""
	for _, c := range v.Claims {
		published := absent
		if c.Published != nil {
			published = plainNumber(*c.Published)
		}
		claim := clean(c.Text)
		if c.Source != "" {
			claim += " (" + clean(c.Source) + ")"
		}
		if c.Reason == reason && c.Verdict == lab.ClaimUntestable {
			claim += " - for the same reason"
		} else {
			claim += " - " + clean(c.Reason)
		}
		reason = c.Reason
		t.add(toned(c.Standing(), claimTone(c.Verdict)), text(published), text(measured(c.Measured, c.Low, c.High)),
			text(claim))
	}
	return t
}

// claimTone colours a verdict on a claim.
func claimTone(verdict lab.ClaimVerdict) tone {
	switch verdict {
	case lab.ClaimSupported:
		return toneGood
	case lab.ClaimContradicted:
		return toneBad
	case lab.ClaimUndecided:
		return toneWarn
	default:
		return toneMuted
	}
}

// measured shows a figure that has no unit of its own for the eye.
func measured(value, low, high *float64) string {
	if value == nil {
		return absent
	}
	return figure.Number(lab.Estimate{Value: *value, Low: low, High: high})
}

// publishedTable shows the study's figures beside what was measured here.
func (v view) publishedTable() table {
	t := table{ID: "published", Title: "Published figures", Keys: 1,
		Note: "as printed, what recomputation says of it, and the same quantity measured here (scale " +
			plainNumber(v.Scale) +
			"); per " + clean(v.Operation) + " where scales differ",
		Columns: []column{words("source"), prose("figure"), numbers("published"), numbers("measured"),
			numbers("per " + v.Operation + ", study / here"), words("status"), prose("recomputed, note")}}
	for _, f := range v.Published {
		note := []string{f.Note, f.Reason}
		if f.Recomputed != nil {
			note = append([]string{"recomputed: " + optional(f.Recomputed)}, note...)
		}
		printed := plainNumber(f.Value) + " " + unitWord(f.Unit)
		if f.Missing {
			printed = absent
		}
		t.add(text(f.Source), text(figureName(f)), text(printed),
			text(measured(f.Measured, f.Low, f.High)+unitAfter(f.Measured, f.Unit)),
			text(perOperation(f.PublishedPerOperation)+" / "+perOperation(f.MeasuredPerOperation)),
			toned(f.Status, statusTone(f.Status)), toned(strings.Join(cleanAll(note), "; "), toneMuted))
	}
	return t
}

// figureName says what a published figure is: "s1, goroutines: mean time".
func figureName(f lab.PublishedFigure) string {
	return strings.Join(cleanAll([]string{f.Point, f.Variant}), ", ") + ": " + clean(f.Metric)
}

// unitAfter returns the unit behind a figure that may be absent.
func unitAfter(value *float64, unit string) string {
	if word := unitWord(unit); value != nil && word != "" {
		return " " + word
	}
	return ""
}

// unitWord leaves out the unit of plain numbers.
func unitWord(unit string) string {
	switch unit {
	case "1", "ratio", "count":
		return ""
	}
	return unit
}

// perOperation shows seconds per operation.
func perOperation(seconds *float64) string {
	if seconds == nil {
		return absent
	}
	return figure.Amount(*seconds, "s")
}

// badStatus reports whether recomputation found the published figure wanting.
func badStatus(status string) bool {
	return status == "wrong" || status == "inconsistent" || status == "method-flaw"
}

// statusTone marks figures that recomputation did not confirm.
func statusTone(status string) tone {
	switch {
	case badStatus(status):
		return toneBad
	case strings.HasPrefix(status, "ok"):
		return toneGood
	case status == "ambiguous" || status == "suspect":
		return toneWarn
	default:
		return toneMuted
	}
}
