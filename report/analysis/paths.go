package analysis

import (
	"cmp"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// paths are the critical paths that stand for a variant at a point: for each
// share that of the trial whose path is the median by length. Of an even number
// it is the shorter of the middle two, so that it is a path which happened.
func (e *experiment) paths() []lab.TrialPath {
	var all []lab.TrialPath
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			all = append(all, middlePaths(v.Name, point, e.counted(v.Name, point.Name))...)
		}
	}
	return all
}

// middlePaths has one path per share, by rising share.
func middlePaths(variant string, point lab.Point, trials []lab.Trial) []lab.TrialPath {
	byShare := map[float64][]lab.TrialPath{}
	var shares []float64
	for _, trial := range trials {
		for _, path := range trial.Paths {
			if !finite(path.Seconds) || len(path.Segments) == 0 {
				continue
			}
			if _, known := byShare[path.Share]; !known {
				shares = append(shares, path.Share)
			}
			byShare[path.Share] = append(byShare[path.Share],
				lab.TrialPath{Variant: variant, Point: point, Trial: trial.Number, Path: path})
		}
	}
	slices.Sort(shares)
	var middle []lab.TrialPath
	for _, share := range shares {
		candidates := byShare[share]
		slices.SortStableFunc(candidates, func(a, b lab.TrialPath) int { return cmp.Compare(a.Seconds, b.Seconds) })
		middle = append(middle, candidates[(len(candidates)-1)/2])
	}
	return middle
}
