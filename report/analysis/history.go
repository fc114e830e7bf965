package analysis

import (
	"fmt"
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// leastChange is the smallest change of a level that is shown, as a factor.
const leastChange = 1.05

// History follows the bars of a headline over runs of a study, the oldest first. It follows ratios instead of
// times: a slower host slows down a variant and its baseline alike, and their ratio stays the same.
func History(about lab.Headline, runs []lab.PastRun) lab.History {
	h := lab.History{Headline: about}
	for i, run := range runs {
		past := lab.HistoryRun{Name: run.Name, Created: run.Created, Environment: []lab.EnvironmentChange{}}
		if i > 0 {
			past.Environment = differences(runs[i-1].Environment, run.Environment)
		}
		h.Runs = append(h.Runs, past)
	}
	for _, bar := range about.Bars {
		h.Courses = append(h.Courses, courseOf(bar, runs, h.Runs))
	}
	return h
}

// courseOf returns the ratios of a bar in all runs and the changes of their level. past holds the differences
// of the environment of each run from that of the run before.
func courseOf(bar lab.Bar, runs []lab.PastRun, past []lab.HistoryRun) lab.HistoryCourse {
	course := lab.HistoryCourse{Bar: bar, Changes: []lab.HistoryChange{}, Levels: []lab.HistoryLevel{}}
	var series []float64
	var of []int // of[i] is the index of the run of series[i]
	for i, run := range runs {
		ratio := ratioIn(run, bar)
		course.Ratios = append(course.Ratios, ratio)
		if ratio != nil {
			series = append(series, ratio.Ratio)
			of = append(of, i)
		}
	}
	changes, err := stats.Changes(series, leastChange)
	if err != nil {
		course.Unsearched = fmt.Sprintf("%d of %s compared it, and a search for changes needs at least %d",
			len(series), lab.Count(len(runs), "run"), stats.ShortestSeries)
	}
	start := 0 // index in series of the first value of the level
	for _, c := range changes {
		course.Levels = append(course.Levels, levelOf(series[start:c.Index], of[start:c.Index]))
		start = c.Index
		at := lab.HistoryChange{Run: of[c.Index], Factor: c.Ratio, P: c.P}
		for i := of[c.Index-1] + 1; i <= at.Run; i++ { // the runs since the last one that has the ratio
			at.Elsewhere = at.Elsewhere || len(past[i].Environment) > 0
		}
		course.Changes = append(course.Changes, at)
	}
	if len(series) > 0 {
		course.Levels = append(course.Levels, levelOf(series[start:], of[start:]))
	}
	return course
}

// levelOf returns the level of ratios. runs holds the index of the run of each ratio.
func levelOf(ratios []float64, runs []int) lab.HistoryLevel {
	logs := make([]float64, len(ratios))
	for i, ratio := range ratios {
		logs[i] = math.Log(ratio)
	}
	return lab.HistoryLevel{First: runs[0], Last: runs[len(runs)-1], Mean: math.Exp(stats.Mean(logs))}
}

// ratioIn returns the ratio of a bar in a run, or nil if the run has none. It searches the headline, too:
// bars of steps and of factors may have no comparison.
func ratioIn(run lab.PastRun, bar lab.Bar) *lab.Ratio {
	c := findComparison(run.Comparisons, bar.Metric, bar.Point, pair{bar.Variant, bar.Baseline})
	if c != nil && c.Ratio.Ratio > 0 {
		return &c.Ratio
	}
	if run.Headline == nil {
		return nil
	}
	for _, b := range run.Headline.Bars {
		if b.Metric == bar.Metric && b.Point == bar.Point && b.Variant == bar.Variant &&
			b.Baseline == bar.Baseline && b.Ratio.Ratio > 0 {
			return &b.Ratio
		}
	}
	return nil
}
