package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/systems/external"
)

// verdict returns the error with which a command ends after the analysis of a study.
func verdict(folder *store.Folder, s lab.Study, found lab.Analysis, needVerdict bool) error {
	notReached := exitLoadNotReached
	if s.Load == nil { // a job has no rate that could be missed
		notReached = exitFailed
	}
	if err := checkAudits(folder, s, found, notReached); err != nil {
		return err
	}
	if s.System == external.Name {
		if err := checkRatesHeld(found); err != nil {
			return err
		}
	}
	if s.Explains() && len(found.Waterfalls) == 0 {
		return withCode(exitFailed, "no block has every step; the reasons are in the report")
	}
	if s.Factorial != nil && len(found.FactorEffects) == 0 {
		return withCode(exitFailed, "no block has every run of the design; the reasons are in the report")
	}
	if open := undecided(s, found); needVerdict && len(open) > 0 {
		return withCode(exitUndecided, "%s", strings.Join(open, "; "))
	}
	return nil
}

// leastBegun is the smallest share of operations that must be begun if a rate is to count as held.
const leastBegun = 0.99

// checkRatesHeld returns an error if a system held none of the offered rates.
func checkRatesHeld(found lab.Analysis) error {
	held := map[string]bool{} // whether a variant held a rate
	for _, r := range found.Held {
		if r.Trials > 0 { // otherwise the generator was the limit
			isHeld := r.Held == r.Trials || r.Begun >= leastBegun
			held[r.Variant] = held[r.Variant] || isHeld
		}
	}
	for _, v := range found.Variants {
		if heldOne, offered := held[v.Name]; offered && !heldOne {
			return withCode(exitLoadNotReached, "%s held none of the offered rates: give lower ones to --rate", v.Name)
		}
	}
	return nil
}

// undecided lists the undecided parts of the question of a run: claims of a study, or else steps, effects,
// scaled units or comparisons, in the metric of the headline.
func undecided(s lab.Study, found lab.Analysis) []string {
	var open []string
	addIf := func(isOpen bool, format string, args ...any) {
		if isOpen {
			open = append(open, fmt.Sprintf(format, args...))
		}
	}
	switch {
	case len(s.Claims) > 0:
		for _, c := range found.Claims {
			addIf(c.Verdict == lab.ClaimUndecided, "the claim %q is undecided: %s", cmp.Or(c.Text, c.ID), c.Reason)
		}
	case s.Explains() && len(found.Waterfalls) > 0:
		headline := found.Waterfalls[0]
		for _, step := range headline.Steps {
			addIf(step.Verdict == lab.Undecided, "%s at %s: %s is %s", headline.Metric, headline.Point.Name,
				step.Label(), step.Words)
		}
	case len(found.FactorEffects) > 0:
		headline := found.FactorEffects[0]
		for _, x := range headline.Effects {
			addIf(x.Verdict == lab.Undecided, "%s at %s: %s is %s", headline.Metric, headline.Point.Name, x.Label,
				x.Words)
		}
	case s.Name == bottleneckName:
		for _, b := range found.Bottlenecks {
			for _, d := range b.Doubled {
				addIf(d.Verdict == lab.Undecided, "%s of %s at %s is undecided", b.Metric, d.Variant, b.Point.Name)
			}
		}
	case len(found.Metrics) > 0:
		for _, c := range found.Comparisons {
			addIf(c.Metric == found.Metrics[0].Name && c.Verdict == lab.Undecided,
				"%s against %s at %s is undecided: %s", c.Variant, c.Baseline, c.Point.Name, c.Words)
		}
	}
	return open
}

// checkAudits returns an error if a variant broke a rule, or if variants have no valid trial. In the second
// case the exit code is exitUndecided if all of their audits are undecided, notReached if the generator
// reported on all of them, and exitFailed otherwise.
func checkAudits(folder *store.Folder, s lab.Study, found lab.Analysis, notReached int) error {
	broke := "variant %s broke a rule of the system: %s"
	if s.System == external.Name {
		broke = "%s failed its audit: %s"
	}
	for _, v := range found.Variants {
		if sum := found.Audit[v.Name]; sum.Verdict == lab.AuditInvalid {
			return withCode(exitInvariant, broke, v.Name, strings.Join(sum.Problems, "; "))
		}
	}
	trials, err := folder.Trials()
	if err != nil {
		return err
	}
	if len(trials) == 0 {
		return withCode(exitFailed, "no trial counts: none was played")
	}
	undecided, reported := true, true
	var problems []error
	for _, silent := range analysis.SilentVariants(s, trials) {
		problems = append(problems, fmt.Errorf("%v", silent))
		figures := silent.Last.Audit.Figures
		undecided = undecided && figures[external.FigureUndecided] == 1
		reported = reported && len(figures) > 0
	}
	code := exitFailed
	switch {
	case len(problems) == 0:
		return nil
	case undecided:
		code = exitUndecided
	case reported:
		code = notReached
	}
	return withCode(code, "%w\nall of it is in %s", errors.Join(problems...), folder.Dir())
}
