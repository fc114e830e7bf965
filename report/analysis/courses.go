package analysis

import "github.com/cleave-lab/cleave/lab"

// courses are how all counted trials went on, second by second.
func (e *experiment) courses() []lab.TrialCourse {
	var all []lab.TrialCourse
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			for _, trial := range e.counted(v.Name, point.Name) {
				course := lab.TrialCourse{Variant: v.Name, Point: point.Name, Trial: trial.Number, Block: trial.Block}
				begin := 0.0
				for _, slice := range trial.Course {
					lasts := slice.End - begin
					begin = slice.End
					if lasts < fullSlice {
						continue
					}
					rate := float64(slice.OK) / lasts
					course.End = append(course.End, significant(slice.End))
					course.Rate = append(course.Rate, significant(rate))
					course.Median = append(course.Median, significantOrNone(slice.Median))
					course.P99 = append(course.P99, significantOrNone(slice.P99))
				}
				if len(course.End) > 0 { // of a load that lasted long enough
					course.Used = usedMeanwhile(trial)
					all = append(all, course)
				}
			}
		}
	}
	return all
}

// usedMeanwhile is how the use of a trial's system went on; nil: nobody metered it.
func usedMeanwhile(trial lab.Trial) *lab.UsageCourse {
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
		used.Memory = append(used.Memory, int64(significant(float64(bytes))))
	}
	return used
}

// fullSlice is how long a slice lasts at least that tells anything, in seconds: the last one
// may hold a few answers only.
const fullSlice = 0.5

func significantOrNone(x *float64) *float64 {
	if x == nil {
		return nil
	}
	rounded := significant(*x)
	return &rounded
}
