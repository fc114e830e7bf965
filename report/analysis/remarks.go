package analysis

import (
	"fmt"
	"slices"
	"strings"
)

// noteRemarks passes on what generators remarked on their loads: of every variant a few,
// with the number of trials that had them.
func (e *experiment) noteRemarks() {
	for _, v := range e.study.Variants {
		var texts []string
		trials := map[string]int{}
		for _, trial := range e.trials {
			if trial.Variant != v.Name {
				continue
			}
			for _, text := range trial.Remarks {
				texts = appendNew(texts, text)
				trials[text]++
			}
		}
		slices.SortStableFunc(texts, func(a, b string) int { return trials[b] - trials[a] })
		for i, text := range texts {
			texts[i] = fmt.Sprintf("%s (%s)", text, count(trials[text], "trial"))
		}
		if more := len(texts) - mostNamed; more > 0 {
			texts = append(texts[:mostNamed], fmt.Sprintf("and %d more remarks", more))
		}
		if len(texts) > 0 {
			e.note("%s: %s.", v.Name, strings.Join(texts, "; "))
		}
	}
}
