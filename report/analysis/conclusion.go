package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// mostNamed is the largest number of things that one sentence lists.
const mostNamed = 3

// conclude returns the answer that all reports show: the sentence, the bars behind it, and further findings.
func (e *experiment) conclude(a lab.Analysis) lab.Conclusion {
	c := lab.Conclusion{Findings: []lab.Finding{}, Withheld: e.withheld(a), Sure: []string{},
		NotTested: []string{}}
	if a.Trials.Valid == 0 {
		c.Sentence = fmt.Sprintf("No trial counted (%d planned, %s not valid): nothing can be said.",
			a.Trials.Planned, lab.Count(len(a.Trials.Invalid), "attempt"))
		return c
	}
	var s subject
	switch {
	case e.study.Explains() && len(a.Waterfalls) > 0:
		s = e.explainSteps(a, &c)
	case len(a.FactorEffects) > 0:
		s = e.explainFactors(a, &c)
	default:
		s = e.explainVariants(a, &c)
	}
	if len(a.Bottlenecks) > 0 {
		e.explainScaling(a, &c)
	}
	c.Point = s.point
	if c.Sentence == "" {
		c.Sentence = e.nothingDecided(len(a.Comparisons) > 0)
	}
	c.Sentence = e.silentSentences() + c.Sentence
	e.findings(a, s, &c)
	about, _ := e.metric(e.headlineMetric())
	if c.Headline != nil && len(c.Headline.Bars) > 0 {
		about, _ = e.metric(c.Headline.Bars[0].Metric)
	}
	c.Sure = e.howSure(a, about)
	c.NotTested = e.notTested(a)
	return c
}

// nothingDecided returns the sentence for an experiment without a decided comparison; compared: it has
// undecided ones.
func (e *experiment) nothingDecided(compared bool) string {
	var counted []string
	for _, v := range e.variants() {
		if len(e.pointsOf(v.Name)) > 0 {
			counted = append(counted, v.Name)
		}
	}
	var absent []string
	for _, v := range e.study.Absent {
		if !v.Unasked {
			absent = append(absent, v.Name)
		}
	}
	switch {
	case len(counted) == 0:
		return "No variant has trials that count and kept the rules of its system: nothing can be compared."
	case len(counted) == 1 && len(absent) > 0:
		return fmt.Sprintf("Only %s was measured: this host lacks a part of %s, and there is nothing to compare "+
			"it with.", counted[0], figure.And(absent))
	case len(counted) == 1:
		return fmt.Sprintf("Only %s has trials that count: there is nothing to compare it with.", counted[0])
	case !compared && !slices.Contains(counted, e.study.Baseline):
		return fmt.Sprintf("Nothing can be said of %s, with which the others are compared.", e.study.Baseline)
	case !compared:
		return fmt.Sprintf("No two of %s have a block in common: there is nothing to compare.", figure.And(counted))
	}
	return "What was measured does not tell the variants apart."
}

// explainSteps sets sentence and headline for a study that goes from one architecture to another in steps,
// and returns their subject.
func (e *experiment) explainSteps(a lab.Analysis, c *lab.Conclusion) subject {
	first := a.Waterfalls[0]
	s := e.chooseSubject(e.waterfallRatios(a.Waterfalls), first.From, first.Point.Name, []string{first.To})
	waterfalls := s.waterfalls(a.Waterfalls)
	c.Headline = e.stepBars(waterfalls[0])
	found := e.plainFindings(first.To, s.of(first.To))
	switch step, decided := e.largestStep(waterfalls); {
	case found != "":
		c.Sentence = fmt.Sprintf("Compared with %s, %s: %s%s.", first.From, e.plainPlace(s.point), found,
			e.originText(waterfalls))
	case decided:
		c.Headline = e.stepBars(step.waterfall)
		c.Sentence = fmt.Sprintf("From %s to %s as a whole nothing is decided; of the steps, %s, %s.", first.From,
			first.To, e.plainPlace(step.point), e.plainFindings(step.label, []judged{step.judged}))
	}
	return s
}

// waterfalls returns the waterfalls of a subject, one for each of its metrics.
func (s subject) waterfalls(all []lab.Waterfall) []lab.Waterfall {
	var found []lab.Waterfall
	for _, m := range s.metrics {
		i := slices.IndexFunc(all, func(w lab.Waterfall) bool {
			return w.Metric == m.Name && s.isAt(m, w.Point.Name)
		})
		if i >= 0 {
			found = append(found, all[i])
		}
	}
	return found
}

// explainVariants sets sentence and headline for variants that are compared with a baseline, and returns
// their subject.
func (e *experiment) explainVariants(a lab.Analysis, c *lab.Conclusion) subject {
	point := e.fullestPoint()
	if e.study.Load != nil {
		point = cmp.Or(e.commonPoint(), point)
	}
	all := e.comparedRatios(a)
	s := e.chooseSubject(all, e.study.Baseline, point, e.widest())
	var parts, named []string
	for _, name := range s.variants {
		if text := e.plainFindings(name, s.of(name)); text != "" && len(parts) < mostNamed {
			parts = append(parts, text)
			named = append(named, name)
		}
	}
	c.Headline = e.variantBars(s, all)
	if len(parts) > 0 {
		s.variants = named
		origin := e.originText(s.waterfalls(a.Waterfalls))
		c.Sentence = fmt.Sprintf("Compared with %s, %s: %s%s.%s", s.baseline, e.plainPlace(s.point),
			strings.Join(parts, "; "), origin, plainMissed(a, s.point))
	}
	s.variants = s.variants[:min(mostNamed, len(s.variants))]
	return s
}

// widest returns the variants, without the baseline, that ran at the largest number of points.
func (e *experiment) widest() []string {
	var names []string
	most := 0
	for _, v := range e.variants() {
		n := len(e.pointsOf(v.Name))
		if v.Name == e.study.Baseline || n < most {
			continue
		}
		if n > most {
			names, most = nil, n
		}
		names = append(names, v.Name)
	}
	return names
}

// explainScaling sets headline and findings for a study that scales one unit at a time, and puts the unit
// that limits the system at the beginning of the sentence.
func (e *experiment) explainScaling(a lab.Analysis, c *lab.Conclusion) {
	b := a.Bottlenecks[0]
	c.Headline = e.unitBars(b)
	if len(e.study.Claims) == 0 {
		c.Sentence = ""
	}
	c.Sentence = strings.TrimSpace(b.Answer[0] + " " + c.Sentence)
	for i, b := range a.Bottlenecks {
		for k, text := range b.Answer {
			if i > 0 || k > 0 {
				c.Findings = append(c.Findings, lab.Finding{Text: text, Section: "bottleneck"})
			}
		}
	}
}

// withheld returns sentences on the variants and verdicts that the answer leaves out, with the reasons.
func (e *experiment) withheld(a lab.Analysis) []string {
	all := []string{}
	for _, silent := range SilentVariants(e.study, e.in.Trials) {
		all = append(all, silent.String())
	}
	for _, v := range e.study.Variants {
		if reason, struck := e.struck[v.Name]; struck {
			all = append(all, fmt.Sprintf("%s is struck out of every comparison: %s.", v.Name, reason))
		}
	}
	if text := e.unsteadySentence(a); text != "" {
		all = append(all, text)
	}
	return all
}

// silentSentences returns a sentence for each variant whose trials do not count.
func (e *experiment) silentSentences() string {
	text := ""
	for _, s := range SilentVariants(e.study, e.in.Trials) {
		text += fmt.Sprintf("Nothing can be said of %s: none of its trials count. ", s.Variant)
	}
	return text
}

// Silent is a variant whose trials were played, and none of them counts.
type Silent struct {
	Variant  string
	Attempts int
	Loaded   bool      // some load was played to its end
	Last     lab.Trial // the last attempt
}

// SilentVariants returns the variants whose trials were played, and none of them counts, in the order of the
// plan. An answer begins with them. Twins are left out, since an answer never names them.
func SilentVariants(study lab.Study, trials []lab.Trial) []Silent {
	var all []Silent
	for _, v := range study.Variants {
		s := Silent{Variant: v.Name}
		counts := v.TwinOf != ""
		for _, t := range trials {
			if t.Variant != v.Name || t.Profiled {
				continue
			}
			s.Attempts++
			counts = counts || t.Valid
			s.Loaded = s.Loaded || t.ElapsedSeconds > 0
			later := cmp.Or(cmp.Compare(t.Number, s.Last.Number), cmp.Compare(t.Attempt, s.Last.Attempt))
			if later > 0 {
				s.Last = t
			}
		}
		if s.Attempts > 0 && !counts {
			all = append(all, s)
		}
	}
	return all
}

// String returns a sentence on the variant, with the reason of its last attempt.
func (s Silent) String() string {
	what := "never got through a load"
	if s.Loaded {
		what = "gave no valid trial"
	}
	return fmt.Sprintf("%s %s (%s): nothing can be said of it. The last attempt: %s (record and logs: "+
		"trials/%04d-%d).", s.Variant, what, lab.Count(s.Attempts, "attempt"),
		strings.Join(strings.Fields(s.Last.Reason), " "), s.Last.Number, s.Last.Attempt)
}
