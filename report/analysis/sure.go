package analysis

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// howSure returns sentences on the reliability of the answer: blocks, trials, intervals, bias. m is the
// metric of the headline.
func (e *experiment) howSure(a lab.Analysis, m lab.Metric) []string {
	blocks := lab.Count(e.design.Blocks, "block") + " in random order, every variant once in each"
	counted := fmt.Sprintf("%d of %s counted", a.Trials.Valid,
		lab.Count(a.Trials.Planned-a.Trials.Spared, "trial"))
	if e.looks != nil || a.Trials.Spared > 0 {
		blocks = "Up to " + lab.Count(e.design.Blocks, "block") + " in random order; what was decided by then " +
			"was not played again"
	}
	if n := a.Trials.Further; n > 0 {
		counted += fmt.Sprintf(" (%d in further blocks, where others were lost)", n)
	}
	if n := a.Trials.Shorter; n > 0 {
		counted += fmt.Sprintf(" (%d not, since later ones at their points were made longer)", n)
	}
	if a.Trials.Spared > 0 {
		counted += fmt.Sprintf(" (%d more not needed, or the time was up)", a.Trials.Spared)
	}
	if n := len(a.Trials.Invalid); n > 0 {
		counted += fmt.Sprintf(", %s did not", lab.Count(n, "attempt"))
	}
	sure := []string{blocks + ".", counted + ".", fmt.Sprintf("Intervals of %s, a margin of %s.",
		figure.Setting(a.Confidence), figure.Setting(a.Margin))}
	if e.lastBlock() > 1 && len(a.Comparisons) > 0 {
		sure = append(sure, "Ratios are geometric means over blocks: dividing the levels beside them gives other "+
			"numbers.")
	}
	if undecided, all := e.countUndecided(a, m.Name); undecided > 0 {
		verb := "are"
		if undecided == 1 {
			verb = "is"
		}
		sure = append(sure, fmt.Sprintf("Of %s in %s, %d %s undecided.", lab.Count(all, "comparison"), m.Title,
			undecided, verb))
	}
	sure = append(sure, e.twinSentence(a, m))
	if e.looks != nil {
		sure = append(sure, fmt.Sprintf("The data were looked at after every block from %d on: the intervals hold "+
			"for all looks together (Lan-DeMets with Pocock's spending).", lab.FirstLook))
	}
	if text := e.disturbedSentence(); text != "" {
		sure = append(sure, text)
	}
	return sure
}

// twinSentence says whether a variant and its twin were measured as equal: it has their ratio and the result
// of the test for a bias.
func (e *experiment) twinSentence(a lab.Analysis, m lab.Metric) string {
	r, ran := a.NoiseFloor[m.Name]
	if !ran || r.Low == nil {
		return "Whether equal variants are measured alike is unknown: none ran beside its own twin in two blocks."
	}
	text := fmt.Sprintf("The same variant under a second name came out at %s of itself in %s", times(r), m.Title)
	test := e.twinTests[m.Name]
	bias := e.widestGates(m.Name).Bias
	switch {
	case bias > 0:
		return fmt.Sprintf("%s: a bias, so that differences below %s cannot be distinguished from it.", text,
			stats.Reach(bias))
	case figure.IsWide(r.Estimate()):
		return fmt.Sprintf("%s: too wide to tell a bias (%s).", text, lab.Count(r.N, "block"))
	case *r.Low <= 1 && *r.High >= 1:
		return text + ": no bias was found."
	case *r.Low >= 1/(1+e.design.Margin) && *r.High <= 1+e.design.Margin:
		return text + ": it differs, by less than the margin."
	}
	return fmt.Sprintf("%s. That interval excludes 1; among all %s of this kind one such may be chance "+
		"(Holm p %s), so no bias is counted.",
		text, lab.Count(test.Family, "comparison"), figure.Rounded(test.PHolm))
}

// countUndecided counts the undecided verdicts on a metric, and all of them: those on steps or effects if the
// study is about these, else those on comparisons.
func (e *experiment) countUndecided(a lab.Analysis, metric string) (undecided, all int) {
	var ofSteps, verdicts []lab.ComparisonVerdict
	for _, w := range a.Waterfalls {
		for _, s := range w.Steps {
			if w.Metric == metric {
				ofSteps = append(ofSteps, s.Verdict)
			}
		}
	}
	for _, on := range a.FactorEffects {
		for _, x := range on.Effects {
			if on.Metric == metric {
				verdicts = append(verdicts, x.Verdict)
			}
		}
	}
	switch {
	case e.study.Explains() && len(a.Waterfalls) > 0:
		verdicts = append(verdicts, ofSteps...)
	case len(a.FactorEffects) == 0:
		for _, c := range a.Comparisons {
			if c.Metric == metric {
				verdicts = append(verdicts, c.Verdict)
			}
		}
	}
	for _, v := range verdicts {
		if v == lab.Undecided {
			undecided++
		}
	}
	return undecided, len(verdicts)
}

// notTested lists what could change the answer and was not tested: other hosts, rates and
// faults, variants that this host lacks, and untestable claims.
func (e *experiment) notTested(a lab.Analysis) []string {
	parts := []string{"another host than this one"}
	if e.study.Load != nil {
		parts = append(parts, e.loadNotTested()...)
	}
	if len(e.study.Faults) == 0 {
		parts = append(parts, "what happens when a part fails")
	}
	var absent []string
	for _, v := range a.Absent {
		absent = append(absent, v.Name)
	}
	if len(absent) > 0 {
		parts = append(parts, figure.And(absent)+" (this host lacks a part)")
	}
	if slices.ContainsFunc(e.study.Variants, func(v lab.Variant) bool { return v.External.RunsAlready() }) {
		parts = append(parts, "CPU and memory of the systems that run already, which nobody meters")
	}
	untestable, unasked := 0, 0
	for _, c := range a.Claims {
		switch {
		case c.Unasked:
			unasked++
		case c.Verdict == lab.ClaimUntestable:
			untestable++
		}
	}
	if unasked > 0 {
		parts = append(parts, lab.Count(unasked, "claim")+" that this run was not asked for")
	}
	if untestable > 0 {
		parts = append(parts, lab.Count(untestable, "claim")+
			" that cannot be tested here (the reasons are in the table of claims)")
	}
	return parts
}

// loadNotTested lists the rates and lengths of load that were not tested. Rates of searches count as tested.
func (e *experiment) loadNotTested() []string {
	var parts []string
	var rates []float64
	for _, p := range e.study.Points {
		if rate, open := p.Rate(); open {
			rates = append(rates, rate)
		}
	}
	for _, trial := range e.trials {
		if trial.Valid && trial.Search != nil {
			for _, load := range trial.Search.Loads {
				rates = append(rates, load.Rate)
			}
		}
	}
	if len(rates) > 0 {
		highest := lab.Plain(slices.Max(rates))
		parts = append(parts, "rates above "+highest+"/s")
	}
	if _, searched := lab.FindMetric(e.study.AllMetrics(), lab.Capacity, 0, ""); !searched {
		parts = append(parts, "the highest rate of each")
	}
	longest := e.study.Load.Duration
	for _, seconds := range e.loadSeconds() {
		longest = max(longest, seconds)
	}
	if longest > 0 { // 0: the load lasted until its operations were done
		parts = append(parts, fmt.Sprintf("loads of more than %s s", lab.Plain(longest)))
	}
	return parts
}
