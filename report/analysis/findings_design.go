package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// saysAverage says whether one ratio stands for all points: of the pair that a
// claim names, else of the first pair.
func (e *experiment) saysAverage(a lab.Analysis) string {
	elapsed := e.named(lab.Elapsed, 0, "")
	i := slices.IndexFunc(a.Averages, func(x lab.Average) bool {
		return x.Metric == elapsed && x.Baseline != e.study.Baseline
	})
	if i < 0 {
		i = slices.IndexFunc(a.Averages, func(x lab.Average) bool { return x.Metric == elapsed })
	}
	if i < 0 || a.Averages[i].Mean == nil || a.Averages[i].I2 == nil {
		return ""
	}
	x := a.Averages[i]
	over := fmt.Sprintf("Over %s %s takes", figure.Count(len(x.Points), "point"), x.Variant)
	if x.Homogeneous {
		return fmt.Sprintf("%s %s as long as %s (elapsed time, random-effects mean; the points do not differ "+
			"much, I2 %s).", over,
			figure.Times(x.Mean.Estimate()), x.Baseline, figure.Percent(*x.I2))
	}
	low, high := extremes(a, x)
	text := fmt.Sprintf("%s from %s to %s as long as %s, depending on the point (elapsed time, I2 %s): no "+
		"single factor stands for all", over,
		low, high, x.Baseline, figure.Percent(*x.I2))
	if x.PredictionLow != nil && x.PredictionHigh != nil {
		text += fmt.Sprintf("; a new point is expected between %s and %s",
			figure.Times(figure.Alone(*x.PredictionLow)), figure.Times(figure.Alone(*x.PredictionHigh)))
	}
	return text + "."
}

// extremes returns the smallest and the largest ratio of an average's points.
func extremes(a lab.Analysis, x lab.Average) (low, high string) {
	var found []lab.Comparison
	for _, c := range a.Comparisons {
		if c.Metric == x.Metric && c.Variant == x.Variant && c.Baseline == x.Baseline &&
			slices.Contains(x.Points, c.Point.Name) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b lab.Comparison) int {
		return cmp.Compare(a.Ratio.Ratio, b.Ratio.Ratio)
	})
	if len(found) == 0 {
		return figure.Absent, figure.Absent
	}
	show := func(c lab.Comparison) string {
		return fmt.Sprintf("%s (%s)", figure.Times(c.Estimate()), c.Point.Name)
	}
	return show(found[0]), show(found[len(found)-1])
}

// saysTrends tells which variants do not grow in proportion to their factor. It
// leaves that to the claims where the study makes some on it: they are judged
// block by block, which sees more than a line through means.
func (e *experiment) saysTrends(a lab.Analysis) string {
	if slices.ContainsFunc(e.study.Claims, func(c lab.Claim) bool { return c.Kind == lab.ClaimLinear }) {
		return ""
	}
	var off []string
	lines, elapsed := 0, e.named(lab.Elapsed, 0, "")
	for _, t := range a.Trends {
		if t.Metric != elapsed || t.ExponentLow == nil || t.ExponentHigh == nil {
			continue
		}
		lines++
		shown := fmt.Sprintf("%s with %s to the power %s", t.Variant, t.Factor,
			figure.Number(lab.Estimate{Value: t.Exponent, Low: t.ExponentLow, High: t.ExponentHigh}))
		if *t.ExponentLow > 1 || *t.ExponentHigh < 1 {
			off = append(off, shown)
		}
	}
	switch {
	case lines == 0:
		return ""
	case len(off) == 0:
		return fmt.Sprintf("Elapsed time may grow in proportion to its factor in all %s: "+
			"no exponent is clear of 1.", figure.Count(lines, "trend"))
	}
	return fmt.Sprintf("Elapsed time does not grow in proportion to its factor: %s (of %s).", some(off),
		figure.Count(lines, "trend"))
}

// quoted returns the statement of a claim in quotation marks; its ID where it has none.
func quoted(j lab.Judgement) string {
	return `"` + strings.TrimSuffix(cmp.Or(j.Text, j.ID), ".") + `"`
}

// saysClaims counts the verdicts on the claims.
func saysClaims(a lab.Analysis) string {
	if len(a.Claims) == 0 {
		return ""
	}
	counts := map[string]int{}
	var contradicted []string
	for _, c := range a.Claims {
		counts[c.Standing()]++
		if c.Verdict == lab.ClaimContradicted {
			contradicted = append(contradicted, quoted(c))
		}
	}
	named := ""
	if len(contradicted) > 0 {
		named = " (" + some(contradicted) + ")"
	}
	var parts []string
	for _, standing := range []string{string(lab.ClaimSupported), string(lab.ClaimContradicted),
		string(lab.ClaimUndecided), lab.NotAskedFor, string(lab.ClaimUntestable)} {
		text := fmt.Sprintf("%d %s", counts[standing], standing)
		if standing == string(lab.ClaimContradicted) {
			text += named
		}
		if counts[standing] > 0 {
			parts = append(parts, text)
		}
	}
	return fmt.Sprintf("Of %s here: %s.", figure.Count(len(a.Claims), "claim"), strings.Join(parts, ", "))
}
