package analysis

import (
	"maps"

	"github.com/cleave-lab/cleave/lab"
)

// operations are what single operations of the loads gave, in the order of the scenario.
func (e *experiment) operations() []lab.OperationTimes {
	var all []lab.OperationTimes
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			trials := e.counted(v.Name, point.Name)
			if len(trials) == 0 {
				continue
			}
			for _, operation := range trials[0].ByOperation {
				all = append(all, operationTimes(v.Name, point, operation.Name, trials))
			}
		}
	}
	return all
}

// operationTimes sums up one operation over the trials.
func operationTimes(variant string, point lab.Point, name string, trials []lab.Trial) lab.OperationTimes {
	sum := lab.OperationTimes{Variant: variant, Point: point, Name: name, Errors: map[string]int64{}}
	var median, p99, longest []float64
	for _, trial := range trials {
		for _, o := range trial.ByOperation {
			if o.Name != name || o.Sent == 0 {
				continue
			}
			sum.Sent += o.Sent
			sum.Wrong += float64(o.Sent - o.OK)
			for kind, n := range o.Errors {
				sum.Errors[kind] += n
			}
			median, p99, longest = append(median, o.Median), append(p99, o.P99), append(longest, o.Longest)
		}
	}
	if sum.Sent > 0 {
		sum.Wrong /= float64(sum.Sent)
	}
	maps.DeleteFunc(sum.Errors, func(_ string, n int64) bool { return n == 0 })
	sum.Median, sum.P99, sum.Longest = medianOrNone(median), medianOrNone(p99), medianOrNone(longest)
	return sum
}
