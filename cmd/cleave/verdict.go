package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/store"
)

// verdict turns what the analysis found into the command's error.
func verdict(folder *store.Folder, analysis lab.Analysis, mustKnow bool) error {
	for _, v := range analysis.Variants {
		if sum := analysis.Audit[v.Name]; sum.Verdict == lab.AuditInvalid {
			return withCode(exitInvariant, "variant %s broke a rule of the system: %s", v.Name,
				strings.Join(sum.Problems, "; "))
		}
	}
	if err := allCounted(folder); err != nil {
		return err
	}
	for _, claim := range analysis.Claims {
		if mustKnow && claim.Verdict == lab.ClaimUndecided {
			return withCode(exitUndecided, "claim %s is undecided: %s", claim.ID, claim.Reason)
		}
	}
	return nil
}

// allCounted is an error that names every variant of which no trial counts: the load
// was not achieved where a generator has reported on all that failed, else they failed.
func allCounted(folder *store.Folder) error {
	plan, err := folder.Plan()
	if err != nil {
		return err
	}
	trials, err := folder.Trials()
	if err != nil {
		return err
	}
	if len(trials) == 0 {
		return withCode(exitFailed, "no trial counts: none was played")
	}
	code := exitLoadNotReached
	if plan.Study.Load == nil {
		code = exitFailed
	}
	var problems []error
	for _, silent := range analysis.SilentVariants(plan.Study, trials) {
		problems = append(problems, fmt.Errorf("%v", silent))
		if len(silent.Last.Audit.Figures) == 0 {
			code = exitFailed
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return withCode(code, "%w\nall of it is in %s", errors.Join(problems...), folder.Dir())
}
