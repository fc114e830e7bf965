package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// coursesSection shows the courses of all trials at a point, as small plots with one scale.
func (v view) coursesSection() section {
	long := filter(v.Courses, func(c lab.TrialCourse) bool { return len(c.End) > 1 })
	at, ok := shownWhere(v, long, func(c lab.TrialCourse) string { return c.Point })
	if !ok {
		return section{}
	}
	s := section{ID: "courses", Title: "Over the trial", Wide: true,
		Caption: fmt.Sprintf("All counted trials at %s, second by second; a row for each variant, a line for "+
			"each trial, one scale for all rows.", v.at(at)) + v.usageText(at),
		HowTo: "Level lines that lie on one another are trials that measured the same thing throughout. Lines " +
			"that fall at the beginning were still warming up; lines that rise tell of a system that slows down; " +
			"memory that rises to the end says that a longer load would take more of it; swings say that what a " +
			"trial measures depends on when it began. Where that could turn a verdict, it is withheld.",
		Folded: []table{v.courseTable(at)}}
	for _, of := range Followed() {
		known := func(c lab.TrialCourse) bool { return len(of.Values(c)) > 0 }
		if !of.Metered || slices.ContainsFunc(v.coursesAt(at), known) {
			s.Plots = append(s.Plots, plot{ID: "plot-course-" + of.Name, Kind: "course", Metric: of.Name, Point: at,
				Title: of.Title, Label: of.Title + " over the trials at " + v.at(at)})
		}
	}
	return s
}

// FollowedQuantity is a quantity that is followed through a trial. The script of the page draws it by its
// Name (see Followed in web/src/plots/course.ts).
type FollowedQuantity struct {
	Name, Title, Unit string
	Metered           bool // a usage of the system; else the generator measured it
	Values            func(c lab.TrialCourse) []float64
}

// Followed returns the quantities that are followed through a trial.
func Followed() []FollowedQuantity {
	used := func(c lab.TrialCourse) lab.UsageCourse {
		if c.Used == nil {
			return lab.UsageCourse{}
		}
		return *c.Used
	}
	memory := func(c lab.TrialCourse) (all []float64) {
		for _, bytes := range used(c).Memory {
			all = append(all, float64(bytes))
		}
		return all
	}
	return []FollowedQuantity{
		{"median", "Median response time", "s", false,
			func(c lab.TrialCourse) []float64 { return figure.Known(c.Median) }},
		{"p99", "99th percentile of the response time", "s", false,
			func(c lab.TrialCourse) []float64 { return figure.Known(c.P99) }},
		{"rate", "Right answers per second", "1/s", false, func(c lab.TrialCourse) []float64 { return c.Rate }},
		{"cores", "CPU of the system, in cores", "1", true,
			func(c lab.TrialCourse) []float64 { return used(c).Cores }},
		{"memory", "Memory of the system", "B", true, memory},
	}
}

// coursesAt returns the courses at a point.
func (v view) coursesAt(at string) []lab.TrialCourse {
	return filter(v.Courses, func(c lab.TrialCourse) bool { return c.Point == at })
}

// usageText explains the plots of CPU and memory, and names the variants whose trials do not have them.
func (v view) usageText(at string) string {
	var metered, unmetered, missing string
	for _, x := range v.variants() {
		own := filter(v.coursesAt(at), func(c lab.TrialCourse) bool { return c.Variant == x.Name })
		reasons := map[string][]string{}
		without := 0
		for _, c := range own {
			if c.Used == nil {
				without++
				continue
			}
			if len(c.Used.End) > 0 {
				metered = " CPU and memory are those of all units but the generator, as often as they were metered."
			}
			for what, why := range c.Used.Unavailable {
				reasons[what] = append(reasons[what], why)
			}
		}
		inTrials := func(n int) string {
			if n == len(own) {
				return ""
			}
			return fmt.Sprintf(" in %d of %d trials", n, len(own))
		}
		if without > 0 {
			unmetered += fmt.Sprintf(" Of %s it was not metered%s.", x.Name, inTrials(without))
		}
		for _, what := range slices.Sorted(maps.Keys(reasons)) {
			missing += fmt.Sprintf(" No %s of %s%s: %s.", what, x.Name, inTrials(len(reasons[what])), reasons[what][0])
		}
	}
	if metered == "" {
		unmetered = "" // there are no such plots
	}
	return metered + unmetered + missing
}

// courseTable shows the range of every quantity in every trial. The last columns are in the order of
// Followed.
func (v view) courseTable(at string) table {
	t := table{ID: "courses-" + at, Title: "Trials at " + v.at(at) + ", second by second", Keys: 2,
		Note: "lowest to highest of the seconds of a trial",
		Columns: columns{}.text("variant", "trial").number("seconds", "median", "p99", "right answers",
			"CPU (cores)", "memory")}
	for _, c := range v.coursesAt(at) {
		ranges := cells(Followed(), func(of FollowedQuantity) cell { return text(rangeOf(of.Values(c), of.Unit)) })
		t.add(c.Variant, c.Trial, len(c.End), ranges)
	}
	return t
}

// rangeOf formats the lowest and the highest value: "1.2 ms to 3.4 ms".
func rangeOf(values []float64, unit string) string {
	if len(values) == 0 {
		return absent
	}
	lowest := slices.Min(values)
	highest := slices.Max(values)
	return figure.Amount(lowest, unit) + " to " + figure.Amount(highest, unit)
}

// lightCourses returns the courses that a page embeds if its data would be too large with all of them: those
// at the point of the plots.
func (v view) lightCourses() []lab.TrialCourse {
	s := v.coursesSection()
	if len(s.Plots) == 0 {
		return nil
	}
	return filter(v.Courses, func(c lab.TrialCourse) bool { return c.Point == s.Plots[0].Point })
}
