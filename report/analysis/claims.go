package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// minExponentPoints is the number of points that an exponent needs.
const minExponentPoints = 3

// claim is a claim with its test and its points.
type claim struct {
	lab.Claim
	test    lab.ClaimTest
	points  []string // that ran
	missing []string // that were claimed and did not run
	// unsteady holds the points at which unsteady trials may distort the measured values.
	unsteady []string
	// off holds the factors by which to multiply the measured values, by point, to see whether unsteady trials
	// could turn the verdict; nil: none.
	off map[string]float64
}

// judgeClaims returns the judgements on all claims of the study.
func (e *experiment) judgeClaims() []lab.Judgement {
	all := []lab.Judgement{}
	for _, c := range e.study.Claims {
		j, _ := e.judge(c)
		all = append(all, j)
	}
	return all
}

// judge tests a claim by its kind. It also returns the claim with the points at which it was tested.
func (e *experiment) judge(stated lab.Claim) (lab.Judgement, claim) {
	j := lab.Judgement{ID: stated.ID, Text: stated.Text, Source: stated.Source, Verdict: lab.ClaimUntestable}
	if stated.Published != 0 {
		j.Published = number(stated.Published)
	}
	if stated.Untestable != "" {
		j.Reason = stated.Untestable
		return j, claim{Claim: stated}
	}
	if stated.Metric == "" {
		stated.Metric = e.study.AllMetrics()[0].Name
	}
	if stated.AgainstMetric == "" {
		stated.AgainstMetric = stated.Metric
	}
	c := claim{Claim: stated}
	c.test, _ = stated.Kind.Test()
	if j.Reason = e.untestable(&c); j.Reason != "" {
		j.Unasked = e.unasked(c)
		return j, c
	}
	test, known := e.tests()[c.Kind]
	if !known {
		j.Reason = fmt.Sprintf("there is no test for claims of the kind %q", c.Kind)
		return j, c
	}
	test(&j, c)
	e.withholdClaim(&j, &c, test)
	if len(c.missing) > 0 {
		j.Reason += fmt.Sprintf("; not tested at %s, which did not run", strings.Join(c.missing, ", "))
	}
	hasSize := j.Measured != nil && !c.test.Direction
	if scale := e.design.Scale; scale < 1 && hasSize {
		j.Reason += fmt.Sprintf("; at %g of the study's work, where fixed costs weigh more", scale)
	}
	return j, c
}

// variants returns the variants that the claim is about.
func (c claim) variants() []string {
	if c.test.Against {
		return []string{c.Variant, c.Against}
	}
	return []string{c.Variant}
}

// metrics returns the metrics that are measured of its variants.
func (c claim) metrics() []string {
	if c.test.Against {
		return []string{c.Metric, c.AgainstMetric}
	}
	return []string{c.Metric}
}

// pair returns the two variants that the claim compares.
func (c claim) pair() pair { return pair{c.Variant, c.Against} }

// untestable returns the reason why a claim cannot be tested here, or "". It sets the points of the claim.
func (e *experiment) untestable(c *claim) string {
	variants := c.variants()
	metrics := c.metrics()
	for i, name := range variants {
		if _, known := e.metric(metrics[i]); !known {
			return fmt.Sprintf("there is no metric %q", metrics[i])
		}
		if reason := e.absent(name); reason != "" {
			return reason
		}
	}
	ran := e.measuredPoints(metrics, variants)
	c.points = slices.DeleteFunc(e.claimedPoints(c.Claim, ran), func(name string) bool {
		missing := !slices.Contains(ran, name)
		if missing {
			c.missing = append(c.missing, name)
		}
		return missing
	})
	if len(c.points) == 0 {
		return fmt.Sprintf("%s of %s was not measured at any of its points", c.Metric,
			strings.Join(variants, " and "))
	}
	if !c.test.Exponent {
		return ""
	}
	return e.noExponent(c)
}

// unasked reports whether a claim cannot be tested because the user left out one of its variants, or too many
// of its points. It is false if trials were asked for and did not count.
func (e *experiment) unasked(c claim) bool {
	leftOut := false
	for _, name := range c.variants() {
		i := slices.IndexFunc(e.study.Absent, func(v lab.AbsentVariant) bool { return v.Name == name })
		switch {
		case i >= 0 && e.study.Absent[i].Unasked:
			leftOut = true
		case i >= 0 || !e.comparable(name):
			return false
		}
	}
	if leftOut {
		return true
	}
	asked := claim{Claim: c.Claim}
	for _, point := range e.claimedPoints(c.Claim, append(e.pointsOf(), e.study.Unasked...)) {
		_, known := e.study.Point(point)
		switch {
		case known && e.planned(point, c.variants()):
			asked.points = append(asked.points, point)
		case known || slices.Contains(e.study.Unasked, point):
			leftOut = true
		}
	}
	if len(asked.points) == 0 {
		return leftOut
	}
	return leftOut && c.test.Exponent && e.noExponent(&asked) != ""
}

// planned reports whether all of the variants were to be played at a point.
func (e *experiment) planned(point string, variants []string) bool {
	return !slices.ContainsFunc(variants, func(name string) bool {
		v, _ := e.study.Variant(name)
		return !v.RunsAt(point)
	})
}

// absent returns the reason why a variant has no numbers, or "".
func (e *experiment) absent(name string) string {
	for _, v := range e.study.Absent {
		if v.Name == name && v.Unasked {
			return "not asked for: " + v.Reason
		}
		if v.Name == name {
			return v.Untestable()
		}
	}
	if _, known := e.study.Variant(name); !known {
		return fmt.Sprintf("variant %q is not part of this run", name)
	}
	if reason := e.struck[name]; reason != "" {
		return fmt.Sprintf("%s was struck out: %s", name, reason)
	}
	if len(e.pointsOf(name)) == 0 {
		return fmt.Sprintf("%s has no valid trial", name)
	}
	return ""
}

// measuredPoints returns the points at which all variants have values, the i-th variant in the i-th metric.
func (e *experiment) measuredPoints(metrics, variants []string) []string {
	return slices.DeleteFunc(e.pointsOf(variants...), func(point string) bool {
		for i, v := range variants {
			if _, measured := e.mean(v, point, metrics[i]); !measured {
				return true
			}
		}
		return false
	})
}

// claimedPoints returns the points that the claim names, else those of the study's trend along its factor,
// else all that ran.
func (e *experiment) claimedPoints(c lab.Claim, ran []string) []string {
	if len(c.Points) > 0 {
		return slices.Clone(c.Points)
	}
	for _, trend := range e.study.Trends {
		isAlong := trend.Factor == c.Factor && c.Factor != ""
		if isAlong && len(trend.Points) > 0 {
			return slices.Clone(trend.Points)
		}
	}
	return slices.Clone(ran)
}

// noExponent returns the reason why no exponent can be fitted over the points, or "".
func (e *experiment) noExponent(c *claim) string {
	levels := map[float64]bool{}
	for _, name := range c.points {
		point, _ := e.study.Point(name)
		level, set := point.Level(c.Factor)
		if !set || level <= 0 {
			return fmt.Sprintf("point %s has no positive level of %q", name, c.Factor)
		}
		levels[level] = true
	}
	if len(levels) < minExponentPoints {
		return fmt.Sprintf("an exponent along %s needs %d different levels, %d ran", c.Factor, minExponentPoints,
			len(levels))
	}
	return ""
}

// strict returns the confidence for one of several points, after a number of blocks, with which all points
// together keep the confidence of the study (Bonferroni). A claim about all points is contradicted by any one
// of them, so this needs the strict level. It is supported only by all of them, which does not need it
// (intersection-union test, Berger 1982).
func (e *experiment) strict(points, blocks int) float64 {
	return e.confidence(1-(1-e.design.Confidence)/float64(points), blocks)
}

// decide sets the verdict and the reason of a judgement.
func decide(j *lab.Judgement, verdict lab.ClaimVerdict, format string, args ...any) {
	j.Verdict = verdict
	j.Reason = fmt.Sprintf(format, args...)
}

// measured sets the measured number of a judgement and its interval.
func measured(j *lab.Judgement, value, low, high float64) {
	j.Measured = number(value)
	j.Low, j.High = bounds(low, high)
}

// blockExponents returns the exponents of power laws along the factor, one for each block that has all
// points. value returns the number at a point in a block.
func (e *experiment) blockExponents(c claim, value func(point string, block int) (float64, bool)) []float64 {
	var exponents []float64
	for _, block := range e.blocks {
		var x, y []float64
		for _, name := range c.points {
			point, _ := e.study.Point(name)
			level, _ := point.Level(c.Factor)
			if v, ok := value(name, block); ok {
				x = append(x, level)
				y = append(y, v)
			}
		}
		if len(x) < len(c.points) {
			continue
		}
		if law, err := stats.FitPowerLaw(x, y); err == nil {
			exponents = append(exponents, law.Slope)
		}
	}
	return exponents
}

// withholdClaim withholds a verdict that depends on the length of warm-up and trials: one that changes if the
// measured values are multiplied or divided by the change within trials. It sets the unsteady points.
func (e *experiment) withholdClaim(j *lab.Judgement, c *claim, test func(*lab.Judgement, claim)) {
	p := c.pair()
	if !c.test.Against {
		p.against = p.variant
	}
	up := map[string]float64{}
	down := map[string]float64{}
	short := ""
	largest := 1.0
	for _, point := range c.points {
		ratio := contrast{}
		if c.test.Against {
			ratio = e.contrastOf(c.Metric, c.AgainstMetric, point, p)
		}
		for _, name := range c.metrics() {
			m, _ := e.metric(name)
			factor, brief, full := e.disturbance(m, point, p, ratio)
			if full == "" || factor <= up[point] {
				continue
			}
			up[point] = factor
			down[point] = 1 / factor
			c.unsteady = appendNew(c.unsteady, point)
			if factor > largest {
				largest = factor
				short = brief + " at " + point
				j.Unsteady = full
			}
		}
	}
	isDecided := j.Verdict == lab.ClaimSupported || j.Verdict == lab.ClaimContradicted
	if j.Unsteady == "" || !isDecided {
		return
	}
	// An exponent depends on the distances between points, which may be off by different factors.
	turned := c.test.Exponent
	for _, off := range []map[string]float64{up, down} {
		other := *j
		changed := *c
		changed.off = off
		test(&other, changed)
		turned = turned || other.Verdict != j.Verdict
	}
	if turned {
		j.Withheld = true
		decide(j, lab.ClaimUndecided, "%s%s; as measured, %s", withheldVerdict, short, j.Reason)
		return
	}
	j.Reason += fmt.Sprintf("; %s, which could not turn it", short)
}

// offAt returns the factor by which to multiply the measured values at a point.
func (c claim) offAt(point string) float64 {
	if off, set := c.off[point]; set {
		return off
	}
	return 1
}

// farthestOff returns the factor that is farthest from 1 over all points.
func (c claim) farthestOff() float64 {
	farthest := 1.0
	for _, point := range c.points {
		if off := c.offAt(point); fromOne(off) > fromOne(farthest) {
			farthest = off
		}
	}
	return farthest
}
