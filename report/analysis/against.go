package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// againstSchema is the version of the document of two runs.
const againstSchema = "cleave.against/1"

// Gate is a limit for the changes of a metric. Against checks it between two runs, Hold within one.
type Gate struct {
	Text   string
	Metric string // its name, or a quantile of the first metric's quantity: "p99", "p999"
	Above  bool   // a ratio above the limit fails, else one below it
	Limit  float64
}

// ParseGate parses METRIC>RATIOx or METRIC<RATIOx, such as p99>1.05x.
func ParseGate(text string) (Gate, error) {
	parts := regexp.MustCompile(`^([a-z0-9_]+)([<>])([0-9.]+)x$`).FindStringSubmatch(text)
	if parts == nil {
		return Gate{}, fmt.Errorf("%q is no gate: expected METRIC>RATIOx or METRIC<RATIOx, such as p99>1.05x", text)
	}
	limit, err := strconv.ParseFloat(parts[3], 64)
	if err != nil || !(limit > 0) {
		return Gate{}, fmt.Errorf("gate %q: its limit %q is no ratio above 0, such as 1.05", text, parts[3])
	}
	return Gate{Text: text, Metric: parts[1], Above: parts[2] == ">", Limit: limit}, nil
}

// metricOf returns the name of the metric that a gate is about.
func (g Gate) metricOf(metrics []lab.Metric) (string, error) {
	if _, known := lab.MetricNamed(metrics, g.Metric); known {
		return g.Metric, nil
	}
	var names []string
	for _, m := range metrics {
		isQuantile := m.Quantile > 0 && m.Quantity == metrics[0].Quantity
		if isQuantile && figure.Percentile(m.Quantile) == g.Metric {
			return m.Name, nil
		}
		names = append(names, m.Name)
	}
	return "", fmt.Errorf("gate %q: there is no metric %q; there are %s", g.Text, g.Metric,
		strings.Join(names, ", "))
}

// Against compares a run with an earlier one: every metric of every variant at every point
// that both have, by the trials of each (Welch's interval on the logarithms).
func Against(before, after lab.Analysis, gates []Gate) (lab.Against, error) {
	a := lab.Against{
		Schema: againstSchema, Before: noteOf(before), After: noteOf(after), Confidence: after.Confidence,
		Margin:      after.Margin,
		Environment: append(differences(before.Environment, after.Environment), workload(before, after)...),
		Metrics:     []lab.Metric{}, Changes: []lab.Change{}, Gates: []lab.GateVerdict{},
	}
	for _, m := range after.Metrics {
		if known, has := lab.MetricNamed(before.Metrics, m.Name); has && known.Unit == m.Unit {
			a.Metrics = append(a.Metrics, m)
		}
	}
	results := resultsByKey(before)
	for _, r := range after.Results {
		m, common := lab.MetricNamed(a.Metrics, r.Metric)
		if earlier, known := results[seriesKey{r.Variant, r.Point.Name, r.Metric}]; common && known {
			c := changeOf(m, earlier, r, a)
			withholdChange(&c, m, before, after)
			a.Changes = append(a.Changes, c)
		}
	}
	a.Missing = append(onlyIn("earlier", before, after), onlyIn("later", after, before)...)
	if len(a.Changes) == 0 {
		return a, errors.New("the two runs have no variant, point and metric in common: nothing can be compared")
	}
	var err error
	a.Gates, err = judgeAll(gates, a.Metrics, slices.Concat(a.Changes, lostChanges(a.Metrics, before, after)))
	return a, err
}

// lostChanges returns an undecided change for each result in one of the metrics that the later run lacks, so
// that no gate passes for lack of it.
func lostChanges(metrics []lab.Metric, before, after lab.Analysis) []lab.Change {
	var lost []lab.Change
	later := resultsByKey(after)
	for _, r := range before.Results {
		_, common := lab.MetricNamed(metrics, r.Metric)
		if _, has := later[seriesKey{r.Variant, r.Point.Name, r.Metric}]; common && !has {
			lost = append(lost, lab.Change{Metric: r.Metric, Variant: r.Variant, Point: r.Point.Name,
				Verdict: lab.Undecided, Words: "undecided: the later run has no such trial"})
		}
	}
	return lost
}

// resultsByKey returns the results of a run by variant, point and metric.
func resultsByKey(a lab.Analysis) map[seriesKey]lab.Result {
	results := map[seriesKey]lab.Result{}
	for _, r := range a.Results {
		results[seriesKey{r.Variant, r.Point.Name, r.Metric}] = r
	}
	return results
}

// Hold judges the variants of one run by gates, each by its change from the baseline. A gate stays open for a
// variant that should have been compared at a point and was not, and for a change that depends on the length
// of the trials.
func Hold(a lab.Analysis, gates []Gate) ([]lab.GateVerdict, error) {
	var changes []lab.Change
	results := resultsByKey(a)
	for _, name := range a.VariantNames() {
		if name == a.Baseline {
			continue
		}
		struckOut := a.StruckOut(name) || a.StruckOut(a.Baseline)
		for _, m := range a.Metrics {
			found := changesToBaseline(a, name, m, results)
			if found == nil || struckOut {
				found = []lab.Change{{Metric: m.Name, Variant: name}} // it is not compared
			}
			changes = append(changes, found...)
		}
	}
	return judgeAll(gates, a.Metrics, changes)
}

// changesToBaseline returns the changes of a metric from the baseline to a variant: one for each point at
// which both run and the metric is measured. It is undecided where no trial of either counts.
func changesToBaseline(
	a lab.Analysis, variant string, m lab.Metric, results map[seriesKey]lab.Result,
) []lab.Change {
	var changes []lab.Change
	for _, p := range a.Points {
		was := results[seriesKey{a.Baseline, p.Name, m.Name}]
		is := results[seriesKey{variant, p.Name, m.Name}]
		c := lab.Change{Metric: m.Name, Variant: variant, Point: p.Name, Before: was.Mean, After: is.Mean,
			Verdict: lab.Undecided, Words: "undecided: no block has a ratio to " + a.Baseline}
		found := findComparison(a.Comparisons, m.Name, p.Name, pair{variant, a.Baseline})
		switch {
		case found != nil:
			c.Ratio = found.Ratio
			c.Verdict = found.Verdict
			c.Words = found.Words
			c.Unsteady = found.Unsteady
			if c.Unsteady != "" {
				c.Instability = math.Inf(1) // by how much it is off is not known: the gate stays open
			}
		case len(was.Values)+len(is.Values) == 0 && !measuredAt(m, p),
			slices.ContainsFunc(a.Variants, func(v lab.Variant) bool {
				return (v.Name == variant || v.Name == a.Baseline) && !v.RunsAt(p.Name)
			}):
			continue
		default:
			judgeZeros(&c, m, was.Values, is.Values, a.Confidence)
			_, short, full := unsteadiness(traitsOf(m).follows, p.Name, runVariant{variant, a, variant},
				runVariant{a.Baseline, a, a.Baseline})
			withholdZeros(&c, short, full)
		}
		changes = append(changes, c)
	}
	return changes
}

// measuredAt reports whether trials at a point measure a metric: a search for the capacity measures that
// alone, and only points with a rate have a share of it that was achieved.
func measuredAt(m lab.Metric, p lab.Point) bool {
	_, searches := p.Level(lab.FactorSearchFrom)
	_, paced := p.Rate()
	switch m.Quantity {
	case lab.Capacity:
		return searches
	case lab.Achieved:
		return paced
	}
	return !searches
}

// judgeAll returns the verdict of each gate on the changes.
func judgeAll(gates []Gate, metrics []lab.Metric, changes []lab.Change) ([]lab.GateVerdict, error) {
	verdicts := []lab.GateVerdict{}
	for _, g := range gates {
		verdict, err := g.judge(metrics, changes)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// onlyIn returns a sentence for each variant and point that one run, the earlier or the later, has alone.
func onlyIn(which string, has, lacks lab.Analysis) []string {
	missing := []string{}
	for _, r := range has.Results {
		text := fmt.Sprintf("%s at %s is in the %s run only", r.Variant, r.Point.Name, which)
		other := slices.ContainsFunc(lacks.Results, func(o lab.Result) bool {
			return o.Variant == r.Variant && o.Point.Name == r.Point.Name
		})
		if !other && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	return missing
}

// noteOf returns the facts about a run that a comparison of two runs shows.
func noteOf(a lab.Analysis) lab.RunNote {
	return lab.RunNote{Study: a.Study, Trials: a.Trials.Valid, Calibration: a.Conditions.CalibrationMedian}
}

// changeOf returns the change of a metric from one run to the other. It is undecided if there are too few
// trials. Values of 0, which have no logarithm and no ratio, are for judgeZeros.
func changeOf(m lab.Metric, before, after lab.Result, a lab.Against) lab.Change {
	c := lab.Change{
		Metric: m.Name, Variant: after.Variant, Point: after.Point.Name, Before: before.Mean, After: after.Mean,
		Ratio: lab.Ratio{N: min(len(before.Values), len(after.Values))}, Verdict: lab.Undecided,
		Words: "undecided: too few trials",
	}
	if before.Mean > 0 {
		c.Ratio.Ratio = after.Mean / before.Mean
	}
	ratio, err := stats.LogWelch(after.Values, before.Values, a.Confidence)
	var few *stats.TooFewError
	switch {
	case errors.As(err, &few):
		return c
	case err != nil:
		c.Words = "undecided: some values are 0, and a ratio needs others"
		judgeZeros(&c, m, before.Values, after.Values, a.Confidence)
		return c
	}
	c.Ratio = ratioOf(ratio.Estimate, ratio.N)
	verdict := stats.Judge(ratio.Estimate, stats.Gates{Margin: a.Margin}, traitsOf(m).wording)
	c.Verdict = onVariant(m, verdict.Kind)
	c.Words = verdict.Words
	return c
}

// judgeZeros sets the verdict of a change if all values of one side are 0, or of both. A change from 0 or to
// 0 has no ratio. It is proven if the values that are not 0 are unlikely to be all on one side by chance.
func judgeZeros(c *lab.Change, m lab.Metric, before, after []float64, confidence float64) {
	if len(before) == 0 || len(after) == 0 {
		return
	}
	if slices.Min(slices.Concat(before, after)) < 0 {
		return
	}
	above := func(values []float64) int {
		return len(filter(values, func(v float64) bool { return v > 0 }))
	}
	was := above(before)
	is := above(after)
	wording := traitsOf(m).wording
	chance := (1 - confidence) / 2
	switch {
	case was == 0 && is == 0:
		c.Ratio.Ratio = 1
		c.Verdict = lab.Equivalent
		c.Words = "0 in both"
	case was == 0 && stats.ZerosByChance(len(before), is, len(after)) <= chance:
		c.Verdict = onVariant(m, lab.Slower)
		c.Words = fmt.Sprintf("%s: from 0 in all of %d trials to above 0 in %d of %d", wording.Above,
			len(before), is, len(after))
	case is == 0 && stats.ZerosByChance(len(after), was, len(before)) <= chance:
		c.Verdict = onVariant(m, lab.Faster)
		c.Words = fmt.Sprintf("%s: from above 0 in %d of %d trials to 0 in all of %d", wording.Below, was,
			len(before), len(after))
	}
}

// withholdChange weakens or withholds a verdict that depends on the length of the trials: because either run
// is not steady, or because the loads of one run were longer.
func withholdChange(c *lab.Change, m lab.Metric, before, after lab.Analysis) {
	follows := traitsOf(m).follows
	factor, short, full := unsteadiness(follows, c.Point, runVariant{"the earlier run", before, c.Variant},
		runVariant{"the later run", after, c.Variant})
	other := otherLength(*c, before, after)
	if c.Low == nil || c.High == nil {
		// In every metric: a longer load has more operations, of which one may fail.
		withholdZeros(c, cmp.Or(other, short), cmp.Or(other, full))
		return
	}
	followed := follows != "" && c.Verdict.Differs()
	if whole := max(*c.High, 1 / *c.Low); followed && other != "" && whole > factor {
		factor = whole // a longer load may explain the whole change
		short = other
		full = other
	}
	if c.Instability, c.Unsteady = factor, full; full != "" {
		c.Verdict, c.Words = weaken(c.Verdict, c.Words, *c.Low, *c.High, 1+after.Margin, factor, short)
	}
}

// withholdZeros withholds a verdict on a change from 0 or to 0 if there is a reason, given in short and in
// full.
func withholdZeros(c *lab.Change, short, full string) {
	if short != "" && c.Verdict.Differs() {
		c.Verdict = lab.Undecided
		c.Words = withheldVerdict + short
		c.Unsteady = full
	}
}

// runVariant is a variant in a run, and its name in a sentence.
type runVariant struct {
	name    string
	run     lab.Analysis
	variant string
}

// unsteadiness returns the largest change within the trials of some variants at a point, as a factor, in the
// quantity that a metric follows. It also describes the change, in short and in full. Without a change the
// factor is 0.
func unsteadiness(follows, point string, all ...runVariant) (factor float64, short, full string) {
	if follows == "" {
		return 0, "", ""
	}
	for _, p := range all {
		for _, s := range followedBy(p.run, p.variant, point, follows) {
			if !s.Steady && s.Factor > factor {
				factor, short = s.Factor, p.name+" is not steady"
				full = short + ": " + s.Words
			}
		}
	}
	return factor, short, full
}

// otherLength returns both lengths of the loads at the point of a change, as text, if they differ. It is
// empty if they do not, or if one is unknown.
func otherLength(c lab.Change, before, after lab.Analysis) string {
	was, is := before.LoadSeconds[c.Point], after.LoadSeconds[c.Point]
	if was == is || was*is == 0 {
		return ""
	}
	return fmt.Sprintf("loads of %s, then of %s", seconds(was), seconds(is))
}

// workload returns the differences between two runs in the scale of the work and the length of the loads.
func workload(before, after lab.Analysis) []lab.EnvironmentChange {
	var all []lab.EnvironmentChange
	differ := func(fact, was, is string) {
		all = append(all, lab.EnvironmentChange{Fact: fact, Before: was, After: is})
	}
	if before.Scale != after.Scale {
		differ("scale of the work", fmt.Sprint(before.Scale), fmt.Sprint(after.Scale))
	}
	for _, point := range slices.Sorted(maps.Keys(after.LoadSeconds)) {
		if was, is := before.LoadSeconds[point], after.LoadSeconds[point]; was > 0 && was != is {
			differ("load at "+point, seconds(was), seconds(is))
		}
	}
	return all
}

// seconds formats a number of seconds: "2.5 s".
func seconds(s float64) string { return fmt.Sprintf("%g s", s) }

// judge returns the changes that fail the gate, and those that may. A metric that is 0 in both runs passes.
func (g Gate) judge(metrics []lab.Metric, changes []lab.Change) (lab.GateVerdict, error) {
	v := lab.GateVerdict{Gate: g.Text, Failed: []lab.Change{}, Open: []lab.Change{}}
	metric, err := g.metricOf(metrics)
	if err != nil {
		return v, err
	}
	for _, c := range changes {
		isZero := c.Verdict == lab.Equivalent && c.Low == nil // in both
		if c.Metric != metric || isZero {
			continue
		}
		switch proven, possible := g.beyond(c); {
		case proven:
			v.Failed = append(v.Failed, c)
		case possible:
			v.Open = append(v.Open, c)
		}
	}
	return v, nil
}

// beyond reports whether a change is proven to be beyond the limit, and whether it may be. Its interval is
// widened by its Instability. A change from 0 or to 0 has none: it is beyond every limit in its direction.
func (g Gate) beyond(c lab.Change) (proven, possible bool) {
	if c.Low == nil || c.High == nil {
		proven = c.Verdict.Differs() && g.Above == (c.After > c.Before)
		return proven, proven || !c.Verdict.Differs()
	}
	off := max(1, c.Instability)
	if g.Above {
		return *c.Low > g.Limit*off, *c.High*off > g.Limit
	}
	return *c.High < g.Limit/off, *c.Low/off < g.Limit
}

// freeDisk is a fact that differs between any two runs, and is not compared.
const freeDisk = "disk_free"

// differences returns the facts in which two environments differ, by name.
func differences(before, after lab.Environment) []lab.EnvironmentChange {
	all := []lab.EnvironmentChange{}
	names := lab.Environment{} // either may be nil
	maps.Copy(names, before)
	maps.Copy(names, after)
	delete(names, freeDisk)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was := factText(before, name)
		is := factText(after, name)
		if was != is {
			all = append(all, lab.EnvironmentChange{Fact: name, Before: was, After: is})
		}
	}
	return all
}

// factText returns the value of a fact as text, or why there is none.
func factText(e lab.Environment, name string) string {
	fact, known := e[name]
	switch {
	case !known:
		return "not recorded"
	case fact.Unavailable != "":
		return "not available: " + fact.Unavailable
	}
	return strings.TrimSpace(fmt.Sprint(fact.Value, " ", fact.Unit))
}
