package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// saysAutoscaling says when platforms have added replicas of the units that they scale, and
// when that had relieved these.
func (e *experiment) saysAutoscaling() (sentences []string) {
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			trials := e.counted(v.Name, point.Name)
			if len(v.Autoscale) == 0 || len(trials) == 0 {
				continue
			}
			relieved := "no trial was relieved"
			var relief []float64
			for _, trial := range trials {
				if seconds, was := trial.Measures[lab.Relief]; was {
					relief = append(relief, seconds)
				}
			}
			if len(relief) > 0 {
				relieved = fmt.Sprintf("the objective was met for good from %.0f s on (%d of %d trials)",
					stats.Median(relief), len(relief), len(trials))
			}
			if e.study.Load.Objective == "" {
				relieved = "no objective says when it was relieved"
			}
			for _, unit := range slices.Sorted(maps.Keys(v.Autoscale)) {
				sentences = append(sentences, fmt.Sprintf("Autoscaling of %s in %s at %s added %s; %s.", unit, v.Name,
					point.Name, added(unit, trials), relieved))
			}
		}
	}
	return sentences
}

// added are the replicas of a unit that came in trials.
func added(unit string, trials []lab.Trial) string {
	asked, ready := map[string][]float64{}, map[string][]float64{}
	for _, trial := range trials {
		for _, a := range trial.Arrivals {
			if strings.HasPrefix(a.Unit, unit+"-") {
				asked[a.Unit], ready[a.Unit] = append(asked[a.Unit], a.Asked), append(ready[a.Unit], a.Ready)
			}
		}
	}
	if len(asked) == 0 {
		return "no replica"
	}
	var parts []string
	for _, replica := range slices.Sorted(maps.Keys(asked)) {
		parts = append(parts,
			fmt.Sprintf("%s %.0f s after the load had begun, ready at %.1f s (medians; %d of %d trials)",
				replica, stats.Median(asked[replica]), stats.Median(ready[replica]), len(asked[replica]), len(trials)))
	}
	return strings.Join(parts, ", ")
}
