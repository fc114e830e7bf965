package analysis

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// warmUpQuantity is that of what was not steady when its warm-up ended, in all that follows.
const warmUpQuantity = "warm-up"

// followWarmUps sums up the warm-ups of a variant's trials at a point. Where at least half of
// them were not steady when they ended, neither is what was measured after them, in
// anything that is followed.
func (e *experiment) followWarmUps(variant string, point lab.Point) {
	sum := lab.WarmUps{Variant: variant, Point: point, Courses: map[string]int{}}
	var seconds, factors, left []float64
	for _, trial := range e.counted(variant, point.Name) {
		w := trial.WarmUp
		if w == nil {
			continue
		}
		sum.Trials++
		sum.Courses[w.Course]++
		sum.Longest = max(sum.Longest, w.Seconds)
		seconds, factors = append(seconds, w.Seconds), append(factors, w.Factor)
		if w.Steady {
			sum.Steady++
		} else {
			left = append(left, w.Left)
		}
	}
	if sum.Trials == 0 {
		return
	}
	sum.Seconds, sum.Factor = stats.Median(seconds), stats.Median(factors)
	e.warmUps = append(e.warmUps, sum)
	if 2*sum.Steady > sum.Trials {
		return
	}
	s := lab.Steadiness{Variant: variant, Point: point, Quantity: warmUpQuantity, Courses: sum.Courses,
		Factor: stats.Median(left)}
	s.Words = fmt.Sprintf("in %d of %s it still changed, by %s, when its warm-up ended at the limit of %s",
		len(left), count(sum.Trials, "trial"), figure.Times(s.Factor, nil, nil),
		figure.Quantity(sum.Longest, nil, nil, "s"))
	e.steady = append(e.steady, s)
	for _, quantity := range quantities {
		if at := (cell{variant, point.Name, quantity}); e.unsteady[at].Factor < s.Factor {
			e.unsteady[at] = s
		}
	}
}
