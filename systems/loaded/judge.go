package loaded

import "github.com/cleave-lab/cleave/lab"

// leastAchieved is the least share of the offered rate that counts as achieved.
const leastAchieved = 0.99

// Judge returns the audit of a trial: that of judge, completed by With. It is unknown if judge fails, or if
// the generator has sent no report.
func (b Base) Judge(
	system string, p lab.Point, left lab.Leftover, judge func() (lab.Audit, error),
) lab.Audit {
	load, err := b.Report(left.Reports)
	if err != nil {
		return Unknown(err)
	}
	judged, err := judge()
	if err != nil {
		return Unknown(err)
	}
	return b.With(judged, system, p, load)
}

// With returns the audit of a system together with figures from the generator's report. If the system did
// not keep up with the rate, that is a figure; if the generator could not send at the rate, a valid audit
// becomes unknown. system is the word for the system in messages.
func (b Base) With(judged lab.Audit, system string, p lab.Point, load lab.LoadReport) lab.Audit {
	if judged.Figures == nil {
		judged.Figures = map[string]float64{}
	}
	judged.Figures[lab.FigureAchieved] = load.Achieved
	if load.Sent > 0 {
		judged.Figures[lab.FigureErrors] = errorShare(load)
	}
	if _, counted := p.Level(b.Counted); Searches(p) || counted {
		return judged // a search tries many rates; a counted load need only be done, at any rate
	}
	judged.Figures[lab.FigureLimited] = 0
	if load.Offered > 0 {
		judged.Figures[lab.FigureOffered] = load.Offered
		judged.Figures[lab.FigureHeld] = 1
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

// Held reports whether the offered rate was achieved. One percent may be missing, or one operation: the last
// one may start too late to count, and in a short load one operation is more than one percent. The limit is
// 1.5 operations, since rate times duration need not be a whole number.
func Held(load lab.LoadReport) bool {
	missing := (load.Offered - load.Achieved) * load.Duration
	return load.Achieved >= leastAchieved*load.Offered || missing < 1.5
}

// errorShare returns the share of the sent operations that got no right answer.
func errorShare(load lab.LoadReport) float64 { return 1 - float64(load.OK)/float64(load.Sent) }
