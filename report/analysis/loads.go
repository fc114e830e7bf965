package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// operations returns the outcomes of each operation of the loads, in the order of the scenario.
func (e *experiment) operations() []lab.OperationTimes {
	var all []lab.OperationTimes
	for at, trials := range e.trialsBySetting() {
		for _, operation := range trials[0].ByOperation {
			all = append(all, operationTimes(at.Name, at.point, operation.Name, trials))
		}
	}
	return all
}

// operationTimes returns the outcomes of one operation: sums over the trials, and medians of its times over
// those whose generator did not send late.
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
			if !trial.Late {
				median = append(median, o.Median)
				p99 = append(p99, o.P99)
				longest = append(longest, o.Longest)
			}
		}
	}
	if sum.Sent > 0 {
		sum.Wrong /= float64(sum.Sent)
	}
	maps.DeleteFunc(sum.Errors, func(_ string, n int64) bool { return n == 0 })
	sum.Median = stats.Median(median)
	sum.P99 = stats.Median(p99)
	sum.Longest = stats.Median(longest)
	return sum
}

// courses returns the courses of all counted trials, second by second.
func (e *experiment) courses() []lab.TrialCourse {
	var all []lab.TrialCourse
	for at, trials := range e.trialsBySetting() {
		for _, trial := range trials {
			course := trialCourse(trial)
			course.Variant = at.Name
			course.Point = at.point.Name
			if len(course.End) > 0 { // of a load that lasted long enough
				course.Used = usageCourse(trial)
				all = append(all, course)
			}
		}
	}
	return all
}

// trialCourse returns the course of the load of a trial, without the usage of the system.
func trialCourse(trial lab.Trial) lab.TrialCourse {
	course := lab.TrialCourse{Trial: trial.Number, Block: trial.Block}
	begin := 0.0
	for _, slice := range trial.Course {
		lasts := slice.End - begin
		begin = slice.End
		if lasts < fullSlice {
			continue
		}
		course.End = append(course.End, significant(slice.End))
		course.Rate = append(course.Rate, significant(float64(slice.OK)/lasts))
		course.Median = append(course.Median, significantOrNone(slice.Median))
		course.P99 = append(course.P99, significantOrNone(slice.P99))
	}
	return course
}

// usageCourse returns the course of the system's usage in a trial, nil if it was not metered.
func usageCourse(trial lab.Trial) *lab.UsageCourse {
	metered := trial.Metered.Course
	if metered == nil {
		return nil
	}
	used := &lab.UsageCourse{End: []float64{}, Unavailable: metered.Unavailable}
	for _, end := range metered.End {
		used.End = append(used.End, significant(end))
	}
	for _, cores := range metered.Cores {
		used.Cores = append(used.Cores, significant(cores))
	}
	for _, bytes := range metered.Memory {
		rounded := significant(float64(bytes))
		used.Memory = append(used.Memory, int64(rounded))
	}
	return used
}

// fullSlice is the shortest slice of a course that is shown, in seconds. The last slice of a load may be
// shorter, with too few answers.
const fullSlice = 0.5

// significantOrNone rounds a number to four significant digits; nil stays nil.
func significantOrNone(x *float64) *float64 {
	if x == nil {
		return nil
	}
	return new(significant(*x))
}

// searches returns the results of the searches of all trials, in the order of variants and blocks.
func (e *experiment) searches() []lab.TrialSearch {
	var all []lab.TrialSearch
	name := e.metricName(lab.Capacity, 0, "")
	for at, trials := range e.trialsBySetting() {
		for _, trial := range trials {
			if trial.Search == nil {
				continue
			}
			found := lab.TrialSearch{Variant: at.Name, Point: at.point.Name, Trial: trial.Number, Block: trial.Block,
				Loads: len(trial.Search.Loads), Reason: trial.Search.Reason}
			found.Passed, found.Failed = trial.Search.Ends(trial.Measures[name])
			all = append(all, found)
		}
	}
	return all
}

// paths returns the critical paths of each variant at each point, in the order of their shares. For each
// share it is the path with the median length over the trials, or the shorter of the middle two.
func (e *experiment) paths() []lab.TrialPath {
	var all []lab.TrialPath
	for at, trials := range e.trialsBySetting() {
		byShare := map[float64][]lab.TrialPath{}
		for _, trial := range trials {
			for _, path := range trial.Paths {
				if len(path.Segments) > 0 {
					byShare[path.Share] = append(byShare[path.Share],
						lab.TrialPath{Variant: at.Name, Point: at.point, Trial: trial.Number, Path: path})
				}
			}
		}
		for _, share := range slices.Sorted(maps.Keys(byShare)) {
			candidates := byShare[share]
			slices.SortStableFunc(candidates, func(a, b lab.TrialPath) int {
				return cmp.Compare(a.Seconds, b.Seconds)
			})
			path := candidates[(len(candidates)-1)/2]
			path.Kinds = kindTimes(path.Segments)
			all = append(all, path)
		}
	}
	return all
}

// kindTimes returns the time of segments by kind: the kinds of lab in their order, then others by name.
func kindTimes(segments []lab.Segment) []lab.SegmentTime {
	sums := map[lab.SegmentKind]float64{}
	for _, s := range segments {
		sums[s.Kind] += s.Seconds
	}
	var times []lab.SegmentTime
	byName := slices.Sorted(maps.Keys(sums))
	for _, kind := range append(lab.SegmentKinds(), byName...) {
		if seconds, has := sums[kind]; has {
			times = append(times, lab.SegmentTime{Kind: kind, Seconds: seconds})
			delete(sums, kind)
		}
	}
	return times
}
