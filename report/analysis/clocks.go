package analysis

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/report/figure"
)

// noteClocks says how far apart the clocks of the units' hosts can have been, and what could
// not be measured for that.
func (e *experiment) noteClocks() {
	apart := 0.0
	var withheld []string
	for _, trial := range e.trials {
		if !trial.Valid || trial.Clocks == nil {
			continue
		}
		apart = max(apart, trial.Clocks.ApartSeconds)
		for _, m := range e.study.Metrics {
			if _, missing := trial.Unmeasured[m.Name]; missing {
				withheld = appendNew(withheld, fmt.Sprintf("%s of %s at %s", m.Name, trial.Variant, trial.Point.Name))
			}
		}
	}
	if apart == 0 {
		return
	}
	var between []string
	for _, m := range e.study.Metrics {
		if m.Clocks {
			between = append(between, m.Name)
		}
	}
	e.note("Units ran on hosts with clocks of their own, which differed by up to %s: "+
		"by so much %s can be wrong.",
		figure.Number(apart*1e3, nil, nil)+" ms", strings.Join(between, ", "))
	if len(withheld) > 0 {
		e.note("Not available, since the clocks may differ by more than a tenth of it: %s.",
			strings.Join(withheld, ", "))
	}
}
