package analysis

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// pictures returns the architectures of the variants, with what they cost at each point. What
// a layout is depends on the variant and the point, so that the first trial tells it.
func (e *experiment) pictures() []lab.Picture {
	var all []lab.Picture
	for v, point := range e.places() {
		trials := e.counted(v.Name, point.Name)
		if len(trials) == 0 || len(trials[0].Parts) == 0 {
			continue
		}
		picture := lab.Picture{Variant: v.Name, Point: point}
		for _, part := range trials[0].Parts {
			used := e.roleUsage(v.Name, point, part.Name, trials)
			part.Links = slices.Clone(part.Links)
			for i, link := range part.Links {
				part.Links[i].Traffic = middleTraffic(trials, part.Name, link)
			}
			picture.Parts = append(picture.Parts, lab.PicturePart{Part: part, CPUPerOperation: used.CPUPerOperation,
				PeakMemory: used.PeakMemory})
		}
		all = append(all, picture)
	}
	return all
}

// middleTraffic returns the median over the trials of what went over a link.
func middleTraffic(trials []lab.Trial, from string, link lab.Link) map[string]float64 {
	counts := columns{}
	for _, trial := range trials {
		for _, part := range trial.Parts {
			for _, l := range part.Links {
				if part.Name != from || l.To != link.To {
					continue
				}
				for what, perOperation := range l.Traffic {
					counts.add(what, perOperation)
				}
			}
		}
	}
	middle := map[string]float64{}
	for what := range counts {
		middle[what] = counts.medians(what)[0]
	}
	return middle
}
