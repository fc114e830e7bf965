package loaded

import (
	"github.com/cleave-lab/cleave/lab"
)

// LeastAchieved is the share of the offered rate below which a load was not achieved.
const LeastAchieved = 0.99

// With adds to an audit of a system what the generator has to say of the trial. A rate
// that the system did not hold is a finding like any other; one that the generator could
// not send says nothing of the system.
func (b Base) With(judged lab.Audit, system string, p lab.Point, load lab.LoadReport) lab.Audit {
	if judged.Figures == nil {
		judged.Figures = map[string]float64{}
	}
	judged.Figures[lab.FigureAchieved] = load.Achieved
	if load.Sent > 0 {
		judged.Figures[lab.FigureErrors] = ErrorShare(load)
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

// Held reports whether what was offered was begun. One operation at the end may be
// begun too late to count: in a short load at a low rate that is more than a share.
func Held(load lab.LoadReport) bool {
	missing := (load.Offered - load.Achieved) * load.Duration
	return load.Achieved >= LeastAchieved*load.Offered || missing < 1.5
}

// ErrorShare returns the share of the operations sent that were not answered rightly.
func ErrorShare(load lab.LoadReport) float64 { return 1 - float64(load.OK)/float64(load.Sent) }
