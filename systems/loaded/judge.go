package loaded

import (
	"github.com/cleave-lab/cleave/lab"
)

// leastAchieved is the share of the offered rate below which a load was not achieved.
const leastAchieved = 0.99

// With adds what the generator reports of the trial to an audit of the system. That the system did
// not hold a rate is a figure of the audit; where the generator could not send at the rate, a valid
// audit becomes unknown.
func (b Base) With(judged lab.Audit, system string, p lab.Point, load lab.LoadReport) lab.Audit {
	if judged.Figures == nil {
		judged.Figures = map[string]float64{}
	}
	judged.Figures[lab.FigureAchieved] = load.Achieved
	if load.Sent > 0 {
		judged.Figures[lab.FigureErrors] = errorShare(load)
	}
	if _, counted := p.Level(b.Counted); Searches(p) || counted { // then no rate was to be held
		return judged
	}
	judged.Figures[lab.FigureLimited] = 0
	if load.Offered > 0 {
		judged.Figures[lab.FigureOffered], judged.Figures[lab.FigureHeld] = load.Offered, 1
		if !Held(load) {
			judged.Figures[lab.FigureHeld] = 0
		}
	}
	for _, reason := range load.Limited {
		judged.Figures[lab.FigureLimited] = 1
		judged.Problems = append(judged.Problems, "the generator, not the "+system+", was the limit: "+reason)
		if judged.Verdict == lab.AuditValid {
			judged.Verdict = lab.AuditUnknown
		}
	}
	return judged
}

// Held reports whether the offered rate was achieved, but for a share of it or for one operation:
// one at the end may be begun too late to count, which in a short load is more than the share.
func Held(load lab.LoadReport) bool {
	missing := (load.Offered - load.Achieved) * load.Duration
	return load.Achieved >= leastAchieved*load.Offered || missing < 1.5
}

// errorShare returns the share of the operations sent that were not answered rightly.
func errorShare(load lab.LoadReport) float64 { return 1 - float64(load.OK)/float64(load.Sent) }
