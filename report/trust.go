package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// trustSection shows the facts by which a reader can judge how far to trust the numbers.
func (v view) trustSection() section {
	s := section{ID: "trust", Title: "Trust", Notes: cleanAll(v.Notes),
		Shown: []table{v.designTable(), v.noiseTable(), v.steadinessTable(), v.warmUpTable(), v.invalidTable(),
			v.auditTable(), v.conditionsTable(), v.environmentTable()},
		Caption: fmt.Sprintf("%s of every trial over its variant's mean at that point, by block; %s.",
			sentenceCase(v.headlineMetric().Title), v.sample()),
		HowTo: "What would change the answer: another host, more processors, a larger scale."}
	several := func(r lab.Result) bool { return r.Metric == v.headlineMetric().Name && r.N > 1 }
	if slices.ContainsFunc(v.Results, several) { // else every trial equals its mean
		s.Plots = v.onlyPlot("drift", s.Title)
		s.HowTo = "A cloud that drifts up or down with the blocks says that the host changed during the " +
			"experiment; because every block holds every variant in random order, the ratios bear that. A wide " +
			"cloud says that a single trial is worth little. " + s.HowTo
	}
	return s
}

// designTable shows the design of the experiment and the number of its trials.
func (v view) designTable() table {
	t := table{ID: "design", Title: "Design", Keys: 1, Columns: columns{}.text("what").prose("value")}
	t.add("blocks", fmt.Sprintf("%d, every variant and point once per block, in random order", v.Blocks))
	t.add("seed", v.Seed)
	t.add("profile, scale",
		fmt.Sprintf("%s, %s of the study's work per trial", v.Profile, plainNumber(v.Scale)))
	t.add("intervals", figure.Setting(v.Confidence)+", trials are the sample")
	t.add("margin", figure.Setting(v.Margin)+": smaller differences do not matter")
	exceptions := ""
	if v.Trials.Spared > 0 {
		exceptions = fmt.Sprintf("%d of them not needed or out of time, ", v.Trials.Spared)
	}
	if v.Trials.Further > 0 {
		exceptions += fmt.Sprintf("%d of them in further blocks, where others were lost, ", v.Trials.Further)
	}
	if v.Trials.Shorter > 0 {
		exceptions += fmt.Sprintf("%d of them shorter than later ones at their points, ", v.Trials.Shorter)
	}
	t.add("trials", fmt.Sprintf("%d planned, %s%d counted, %s struck out", v.Trials.Planned, exceptions,
		v.Trials.Valid, lab.Count(len(v.Trials.Invalid), "attempt")))
	return t
}

// noiseTable shows the A/A comparison: a variant against its own twin.
func (v view) noiseTable() table {
	t := table{ID: "noise", Title: "A variant against itself", Keys: 1,
		Note: "twin / original, the widest interval over all points (A/A); where it is found to exclude 1, " +
			"the margin is what that bias reaches",
		Columns: columns{}.text("metric").number("twin / original", "blocks", "widest margin")}
	for _, m := range v.Metrics {
		r, has := v.NoiseFloor[m.Name]
		if !has {
			continue
		}
		twin := times(r)
		if figure.IsWide(r.Estimate()) {
			twin = figure.Multiple(r.Ratio) + " (too few blocks)"
		}
		t.add(figure.Spaced(m.Name), twin, r.N, stats.Reach(v.Margins[m.Name]))
	}
	return t
}

// steadinessTable shows the variants and points whose trials were not steady.
func (v view) steadinessTable() table {
	t := table{ID: "steadiness", Title: "Trials that were not steady", Keys: 2,
		Note: "a trial is followed part by part; where its level changes by more than the margin, what is " +
			"measured depends on how long it lasts",
		Columns: columns{}.text("variant", "point", "followed").prose("what was found").
			number("second / first half").prose("trials")}
	for _, s := range v.Steadiness {
		if s.Steady {
			continue
		}
		t.add(s.Variant, s.Point.Name, s.Quantity, toned(s.Words, toneWarn), unlessNil(s.Halves, times),
			countsByKind(s.Courses))
	}
	return t
}

// warmUpTable shows the length of warm-ups. For a runtime with a just-in-time compiler it is
// a result.
func (v view) warmUpTable() table {
	t := table{ID: "warm-up", Title: "Warm-up until the load was steady", Keys: 2,
		Note: "medians over trials; changed by: the slowest level over the fastest, of the rate of right " +
			"answers or of the median response time",
		Columns: columns{}.text("variant", "point").number("steady", "after", "longest", "changed by").
			prose("how it went")}
	for _, w := range v.WarmUps {
		steady := text(fmt.Sprintf("%d of %d", w.Steady, w.Trials))
		if 2*w.Steady <= w.Trials {
			steady.Tone = toneWarn
		}
		t.add(w.Variant, w.Point.Name, steady, seconds(w.Seconds), seconds(w.Longest),
			figure.Multiple(w.Factor), countsByKind(w.Courses))
	}
	return t
}

// countsByKind formats counts by kind: "2 flat, 1 warm-up".
func countsByKind[N int | int64](counts map[string]N) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// invalidTable lists the attempts that did not count and why.
func (v view) invalidTable() table {
	t := table{ID: "invalid", Title: "Attempts that did not count", Keys: 1,
		Columns: columns{}.number("trial", "attempt").text("variant", "point").prose("why")}
	for _, i := range v.Trials.Invalid {
		t.add(i.Trial, i.Attempt, i.Variant, i.Point, i.Reason)
	}
	return t
}

// auditTable shows the audits of every variant over all its trials.
func (v view) auditTable() table {
	t := table{ID: "audit", Title: "Audit", Keys: 1,
		Note:    "the same rules for every variant; counts added over trials, figures are medians",
		Columns: columns{}.text("variant", "verdict").number("trials").prose("counts, figures, problems")}
	for _, name := range slices.Sorted(maps.Keys(v.Audit)) {
		sum := v.Audit[name]
		t.add(name, verdictCell(sum.Verdict), sum.Trials, auditText(sum))
	}
	return t
}

// auditText lists problems first, then the last lines of a user's own audit, then counts and figures by name.
func auditText(sum lab.AuditSum) string {
	parts := append(cleanAll(sum.Problems), cleanAll(sum.Said)...)
	for _, name := range slices.Sorted(maps.Keys(sum.Counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, sum.Counts[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Figures)) {
		parts = append(parts, name+" "+figure.Rounded(sum.Figures[name]))
	}
	return strings.Join(parts, ", ")
}

// conditionsTable shows the conditions on the host and the cost of metering.
func (v view) conditionsTable() table {
	c := v.Conditions
	t := table{ID: "conditions", Title: "Conditions of the host", Keys: 1,
		Columns: columns{}.text("what").number("value").prose("meaning")}
	t.add("calibration", seconds(c.CalibrationMedian), toned("median time of a fixed computation", toneMuted))
	t.add("calibration spread", figure.Percent(c.CalibrationSpread),
		toned("(slowest - fastest) / median", toneMuted))
	t.add("steal, most", figure.Percent(c.MaxStealShare),
		toned("of all processors, withheld by the hypervisor", toneMuted))
	t.add("others, median", figure.Percent(c.MedianOthersShare),
		toned("of all processors, used by other processes", toneMuted))
	t.add("meter, median", figure.Percent(c.MeterShareMedian),
		toned("of one core, used by metering itself", toneMuted))
	t.add("meter, most", figure.Percent(c.MeterShareMax), toned("of one core", toneMuted))
	return t
}

// environmentTable shows the facts about the host, and the reasons for those that are not available.
func (v view) environmentTable() table {
	t := table{ID: "environment", Title: "Environment", Keys: 1,
		Columns: columns{}.text("fact").prose("value")}
	for _, name := range slices.Sorted(maps.Keys(v.Environment)) {
		t.add(name, factCell(v.Environment[name]))
	}
	return t
}

// factCell shows a fact or the reason why there is none.
func factCell(f lab.Fact) cell {
	if f.Unavailable != "" {
		return toned("not available here: "+f.Unavailable, toneWarn)
	}
	if number, ok := f.Value.(float64); ok {
		if f.Unit == "s" || f.Unit == "B" {
			return text(figure.Amount(number, f.Unit))
		}
		return text(plainNumber(number) + " " + unitText(f.Unit))
	}
	return text(fmt.Sprint(f.Value) + " " + unitText(f.Unit))
}

// trust writes the facts by which a reader can judge the numbers.
func (p *printer) trust(v view, o Options) {
	p.table(v.noiseTable())
	p.table(v.steadinessTable())
	p.table(v.warmUpTable())
	p.table(v.invalidTable())
	if o.Full || v.anyAuditFailed() {
		p.table(v.auditTable())
	}
	if o.Full {
		p.tables(filled(v.conditionsTable(), v.environmentTable()))
	}
	p.title("Trust")
	for _, s := range slices.Concat(v.trustSentences(), v.tracedLimits()) {
		p.paragraph("  * ", s, "")
	}
	shown := cleanAll(o.NotesShown)
	for _, note := range cleanAll(v.Notes) {
		if !slices.Contains(shown, note) {
			p.paragraph("  * ", note, faint)
		}
	}
}

// anyAuditFailed reports whether the audit of some variant is not valid.
func (v view) anyAuditFailed() bool {
	for _, sum := range v.Audit {
		if sum.Verdict != lab.AuditValid {
			return true
		}
	}
	return false
}

// trustSentences returns sentences on the audits, the host and the meter.
func (v view) trustSentences() []string {
	c := v.Conditions
	audited := 0
	for _, x := range v.variants() {
		if _, has := v.Audit[x.Name]; has {
			audited++
		}
	}
	var rules string
	switch {
	case audited == 0:
		rules = "no variant was audited"
	case v.anyAuditFailed():
		rules = "not every variant kept the rules of the system: see the audit"
	default:
		rules = lab.Count(audited, "audited variant") + " kept the rules of the system in every trial"
	}
	return []string{
		rules,
		fmt.Sprintf("host: a fixed computation spread %s, steal at most %s, other processes %s of all processors "+
			"(median)",
			figure.Percent(c.CalibrationSpread), figure.Percent(c.MaxStealShare), figure.Percent(c.MedianOthersShare)),
		fmt.Sprintf("the meter used %s of one core (median), at most %s", figure.Percent(c.MeterShareMedian),
			figure.Percent(c.MeterShareMax)),
	}
}
