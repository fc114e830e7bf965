package analysis

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// mostProblems bounds how many problems of one variant's audits are listed.
const mostProblems = 20

// countTrials says how many trials were planned, counted and struck out.
func (e *experiment) countTrials() lab.TrialCounts {
	counts := lab.TrialCounts{Planned: len(e.in.Plan.Trials), Shorter: e.shorter, Invalid: []lab.InvalidTrial{}}
	valid := map[int]bool{}
	for _, trial := range e.trials {
		if trial.Valid {
			valid[trial.Number] = true
			continue
		}
		counts.Invalid = append(counts.Invalid, lab.InvalidTrial{
			Trial: trial.Number, Attempt: trial.Attempt, Variant: trial.Variant, Point: trial.Point.Name,
			Reason: trial.Reason,
		})
	}
	counts.Valid = len(valid)
	further := map[int]bool{}
	for _, trial := range e.in.Trials {
		if trial.Block > e.design.Blocks {
			further[trial.Number] = true
		}
	}
	counts.Further = len(further)
	counts.Planned += counts.Further
	if e.design.Until == lab.UntilDecided {
		for _, planned := range e.in.Plan.Trials {
			if !e.attempted(planned.Block, planned.Variant, planned.Point) {
				counts.Spared++
			}
		}
	}
	return counts
}

// attempted reports whether a trial was played at all, counted or not.
func (e *experiment) attempted(block int, variant, point string) bool {
	return slices.ContainsFunc(e.in.Trials, func(t lab.Trial) bool {
		return t.Block == block && t.Variant == variant && t.Point.Name == point
	})
}

// audits adds up the audits of each variant: of the trials that count and of
// those whose audit was invalid. Its verdict is the worst of them; without any
// it is unknown.
func (e *experiment) audits() map[string]lab.AuditSum {
	sums := map[string]lab.AuditSum{}
	for _, v := range e.study.Variants {
		sums[v.Name] = e.auditOf(v.Name)
	}
	return sums
}

func (e *experiment) auditOf(variant string) lab.AuditSum {
	sum := lab.AuditSum{Verdict: lab.AuditUnknown, Counts: map[string]int64{}, Figures: map[string]float64{}}
	figures := columns{}
	for _, trial := range e.trials {
		audit := trial.Audit
		if trial.Variant != variant || (!trial.Valid && audit.Verdict != lab.AuditInvalid) {
			continue
		}
		sum.Trials++
		sum.Verdict = worse(sum.Verdict, audit.Verdict, sum.Trials == 1)
		for name, count := range audit.Counts {
			sum.Counts[name] += count
		}
		for name, value := range audit.Figures {
			if figure.Finite(value) {
				figures.add(name, value)
			}
		}
		for _, problem := range audit.Problems {
			sum.Problems = appendNew(sum.Problems, fmt.Sprintf("trial %d: %s", trial.Number, problem))
		}
		for _, line := range audit.Said {
			if len(sum.Said) < mostProblems {
				sum.Said = appendNew(sum.Said, line)
			}
		}
	}
	if more := len(sum.Problems) - mostProblems; more > 0 {
		sum.Problems = append(sum.Problems[:mostProblems], fmt.Sprintf("and %d more", more))
	}
	for name := range figures {
		sum.Figures[name] = figures.median(name)
	}
	return sum
}

// worse returns the worse of two verdicts; the first one stands alone.
func worse(have, next lab.AuditVerdict, first bool) lab.AuditVerdict {
	order := []lab.AuditVerdict{lab.AuditValid, lab.AuditUnknown, lab.AuditInvalid}
	if !slices.Contains(order, next) {
		next = lab.AuditUnknown
	}
	if first || slices.Index(order, next) > slices.Index(order, have) {
		return next
	}
	return have
}

// conditions sums up how the host fared over all trials, counted or not.
func (e *experiment) conditions() lab.ConditionSummary {
	var calibration, others, meter []float64
	var sum lab.ConditionSummary
	for _, trial := range e.trials {
		c := trial.Conditions
		for _, value := range []float64{c.CalibrationBefore, c.CalibrationAfter} {
			if value > 0 && figure.Finite(value) {
				calibration = append(calibration, value)
			}
		}
		if _, missing := c.Unavailable["others_share"]; !missing && figure.Finite(c.OthersShare) {
			others = append(others, c.OthersShare)
		}
		if _, missing := c.Unavailable["steal_share"]; !missing && figure.Finite(c.StealShare) {
			sum.MaxStealShare = max(sum.MaxStealShare, c.StealShare)
		}
		if share := trial.Metered.OwnShare; figure.Finite(share) {
			meter = append(meter, share)
		}
	}
	sum.CalibrationMedian, sum.MedianOthersShare, sum.MeterShareMedian = stats.Median(calibration),
		stats.Median(others), stats.Median(meter)
	if len(calibration) > 0 {
		sum.CalibrationSpread = (slices.Max(calibration) - slices.Min(calibration)) / sum.CalibrationMedian
	}
	if len(meter) > 0 {
		sum.MeterShareMax = slices.Max(meter)
	}
	return sum
}

// othersMatter is the share of all processors from which on a trial has been disturbed by programs that used
// it, and the share of disturbed trials from which on it is told first.
const othersMatter = 0.1

// disturbers tell in how many trials programs that have nothing to do with them were busy on this host; ""
// where hardly any were. Such trials count where all are alike, and where the host is so uneven that none
// stands out. Of systems that run already nobody knows their own part, and a platform's is told elsewhere.
func (e *experiment) disturbers() string {
	known, busy, most := 0, 0, 0.0
	for _, trial := range e.trials {
		v, found := e.study.Variant(trial.Variant)
		_, missing := trial.Conditions.Unavailable["others_share"]
		platform := trial.Platform != nil && trial.Platform.Used != nil
		if !found || missing || platform || v.External.RunsAlready() {
			continue
		}
		known++
		if share := trial.Conditions.OthersShare; share >= othersMatter {
			busy, most = busy+1, max(most, share)
		}
	}
	if busy == 0 || float64(busy) < othersMatter*float64(known) {
		return ""
	}
	return fmt.Sprintf("Other programs used %s of this host's processors or more during %d of %s, and up to "+
		"%s: on an idle host the answer may be another.",
		figure.Percent(othersMatter), busy, figure.Count(known, "trial"), figure.Percent(most))
}
