package analysis

import "github.com/cleave-lab/cleave/lab"

// searches are what those of all trials came to, in the order of variants and blocks.
func (e *experiment) searches() []lab.TrialSearch {
	var all []lab.TrialSearch
	name := e.named(lab.Capacity, 0, "")
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			for _, trial := range e.counted(v.Name, point.Name) {
				if trial.Search == nil {
					continue
				}
				found := lab.TrialSearch{Variant: v.Name, Point: point.Name, Trial: trial.Number, Block: trial.Block,
					Loads: len(trial.Search.Loads), Reason: trial.Search.Reason}
				found.Passed, found.Failed = trial.Search.Ends(trial.Measures[name])
				all = append(all, found)
			}
		}
	}
	return all
}
