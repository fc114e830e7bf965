package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/lab"
)

// The findings are the headings of the report: each says what its part shows.

// verdictFinding counts how the variants stand at the reference point.
func (v view) verdictFinding() string {
	m := v.headline()
	counts := make(map[lab.ComparisonVerdict]int)
	total := 0
	for _, x := range v.challengers() {
		if c, ok := v.ratio(m.Name, x.Name, v.reference()); ok && !v.struckOut(x.Name) {
			counts[c.Verdict]++
			total++
		}
	}
	if total == 0 {
		return "No variant was compared with " + v.Baseline
	}
	var parts []string
	for _, verdict := range []lab.ComparisonVerdict{lab.Slower, lab.Faster, lab.Equivalent, lab.Undecided} {
		if counts[verdict] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[verdict], verdict))
		}
	}
	return fmt.Sprintf("%s at %s: of %s against %s, %s", sentenceCase(m.Name), v.at(v.reference()),
		counted(total, "variant"), v.Baseline, strings.Join(parts, ", "))
}

// spaced shows a metric's name in words: "cpu per operation".
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// sentenceCase sets a metric's name as the start of a heading.
func sentenceCase(name string) string {
	name = spaced(clean(name))
	first, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return name
	}
	return string(unicode.ToUpper(first)) + name[size:]
}

// extremes returns the smallest and the largest of the comparisons by ratio.
func extremes(comparisons []lab.Comparison) (least, most lab.Comparison, ok bool) {
	for i, c := range comparisons {
		if i == 0 || c.Ratio.Ratio < least.Ratio.Ratio {
			least = c
		}
		if i == 0 || c.Ratio.Ratio > most.Ratio.Ratio {
			most = c
		}
	}
	return least, most, len(comparisons) > 0
}

// forestFinding names the range of all ratios of the headline metric.
func (v view) forestFinding() string {
	m := v.headline()
	var all []lab.Comparison
	for _, x := range v.challengers() {
		if !v.struckOut(x.Name) {
			all = append(all, v.ratios(m.Name, x.Name)...)
		}
	}
	drawn := len(all)
	all = slices.DeleteFunc(all, v.piledUp)
	least, most, ok := extremes(all)
	if !ok && drawn > 0 {
		return "No rate was held by " + v.Baseline + " and another: the ratios grow with the length of the load"
	}
	if !ok {
		return "No ratios to " + v.Baseline
	}
	if len(all) == 1 {
		return fmt.Sprintf("%s has %s the %s of %s", most.Variant, ofRatio(most.Ratio).times(), spaced(m.Name),
			v.Baseline)
	}
	return fmt.Sprintf("%s runs from %s (%s, %s) to %s (%s, %s) that of %s", sentenceCase(m.Name),
		short(least.Ratio), least.Variant, least.Point.Name, short(most.Ratio), most.Variant, most.Point.Name,
		v.Baseline)
}

// short shows a ratio rounded by its interval, without the interval.
func short(r lab.Ratio) string {
	first, _, _ := strings.Cut(ofRatio(r).times(), " ")
	return first
}

// ladderFinding names the cheapest and the dearest rung.
func (v view) ladderFinding() string {
	if len(v.Ladder) == 0 {
		return "No ladder was measured"
	}
	least, most := v.Ladder[0], v.Ladder[len(v.Ladder)-1]
	return fmt.Sprintf("One %s costs %s of CPU in %s and %s in %s", v.Operation,
		single(least.CPU).quantity("s"), least.Variant, single(most.CPU).quantity("s"), most.Variant)
}

// pointsFinding says whether one ratio stands for all points.
func (v view) pointsFinding() string {
	m := v.headline()
	var parts []string
	for _, x := range v.swept(m.Name) {
		least, most, _ := extremes(v.ratios(m.Name, x.Name))
		parts = append(parts, fmt.Sprintf("%s from %s (%s) to %s (%s)", x.Name, short(least.Ratio),
			least.Point.Name, short(most.Ratio), most.Point.Name))
	}
	if len(parts) == 0 {
		return "Ratios were measured at one point only"
	}
	return "The ratio depends on the point: " + strings.Join(parts, "; ")
}

// trendFinding names the line whose exponent is furthest from proportional.
func (v view) trendFinding() string {
	if len(v.Trends) == 0 {
		return "No trend was measured"
	}
	metric := v.headline().Name
	worst := v.Trends[0]
	for _, l := range v.Trends {
		first := worst.Metric != metric && l.Metric == metric
		if first || l.Metric == worst.Metric && math.Abs(l.Exponent-1) > math.Abs(worst.Exponent-1) {
			worst = l
		}
	}
	return "Furthest from proportional: " + panelFinding(worst)
}

// panelFinding heads the plot of one trend line.
func panelFinding(l lab.TrendLine) string {
	return fmt.Sprintf("%s of %s along %s, exponent %s", spaced(l.Metric), l.Variant, l.Factor,
		plusMinus(l.Exponent, l.ExponentSE, "1"))
}

// costFinding says how the cost of an operation moves over the points.
func (v view) costFinding() string {
	var parts []string
	costs := v.costMetrics()
	if len(costs) == 0 {
		return "No cost per operation was measured"
	}
	for _, x := range v.variants() {
		least, most := math.Inf(1), math.Inf(-1)
		points := 0
		for _, p := range v.Points {
			if r, ok := v.results[place{costs[0], x.Name, p.Name}]; ok {
				least, most = min(least, r.Mean), max(most, r.Mean)
				points++
			}
		}
		if points > 1 {
			parts = append(parts, fmt.Sprintf("%s %s to %s", x.Name, single(least).quantity("s"),
				single(most).quantity("s")))
		}
	}
	if len(parts) == 0 {
		return "Cost per " + v.Operation
	}
	return fmt.Sprintf("CPU per %s over the points: %s", v.Operation, strings.Join(parts, "; "))
}

// claimsFinding counts the verdicts.
func (v view) claimsFinding() string {
	counts := make(map[string]int)
	for _, c := range v.Claims {
		counts[c.Standing()]++
	}
	var parts []string
	for _, standing := range []string{string(lab.ClaimSupported), string(lab.ClaimContradicted),
		string(lab.ClaimUndecided), lab.NotAskedFor, string(lab.ClaimUntestable)} {
		if counts[standing] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[standing], standing))
		}
	}
	if len(parts) == 0 {
		return "The study makes no claims"
	}
	return fmt.Sprintf("Of %d claims: %s", len(v.Claims), strings.Join(parts, ", "))
}

// publishedFinding counts what recomputation said of the study's figures.
func (v view) publishedFinding() string {
	doubtful, measured := 0, 0
	for _, f := range v.Published {
		if badStatus(f.Status) {
			doubtful++
		}
		if f.Measured != nil || f.MeasuredPerOperation != nil {
			measured++
		}
	}
	return fmt.Sprintf("%d published figures: %d were measured here too, %d are not confirmed by their own data",
		len(v.Published), measured, doubtful)
}

// trustFinding sums up what may be believed.
func (v view) trustFinding() string {
	finding := fmt.Sprintf("%d of %d planned trials counted", v.Trials.Valid, v.played())
	if r, ok := v.NoiseFloor[v.headline().Name]; ok {
		finding += "; the same variant against itself: " + ofRatio(r).times()
	}
	if v.anyAuditFailed() {
		return finding + "; not every variant kept its rules"
	}
	return finding
}
