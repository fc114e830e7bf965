package report

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// coursesSection shows how all trials at a point went on, as small plots of one scale.
func (v view) coursesSection() section {
	at, ok := v.shownAt(func(point string) bool {
		return slices.ContainsFunc(v.Courses, func(c lab.TrialCourse) bool { return c.Point == point && !v.struckOut(c.Variant) && len(c.End) > 1 })
	})
	if !ok {
		return section{}
	}
	s := section{ID: "courses", Kicker: "Over the trial", Finding: v.coursesFinding(at), Wide: true,
		Caption: fmt.Sprintf("All counted trials at %s, second by second; a row for each variant, a line for each trial, one scale for all rows.", v.at(at)),
		HowTo: "Level lines that lie on one another are trials that measured the same thing throughout. Lines that fall at the beginning were still warming up; lines that rise tell of a system that slows down; " +
			"swings say that what a trial measures depends on when it began. Where that could turn a verdict, it is withheld.",
		Folded: []table{v.courseTable(at)}}
	for _, followed := range []struct{ name, title string }{{"median", "Median response time"}, {"p99", "99th percentile of the response time"}, {"rate", "Right answers per second"}} {
		s.Plots = append(s.Plots, plot{ID: "plot-course-" + followed.name, Kind: "course", Metric: followed.name, Point: at, Title: followed.title,
			Label: followed.title + " over the trials at " + v.at(at) + ". " + s.Finding})
	}
	return s
}

// coursesFinding names what was not steady.
func (v view) coursesFinding(at string) string {
	for _, s := range v.Steadiness {
		if !s.Steady && s.Point.Name == at && !v.struckOut(s.Variant) {
			return s.Words
		}
	}
	return "How the trials at " + v.at(at) + " went on"
}

// courseTable has the range of every trial.
func (v view) courseTable(at string) table {
	t := table{ID: "courses-" + at, Title: "Trials at " + v.at(at) + ", second by second", Keys: 2, Note: "lowest to highest of the seconds of a trial",
		Columns: []column{words("variant"), words("trial"), numbers("seconds"), numbers("median"), numbers("p99"), numbers("right answers")}}
	for _, c := range v.Courses {
		if c.Point != at || v.isTwin(c.Variant) || v.struckOut(c.Variant) {
			continue
		}
		var rates []*float64
		for i := range c.Rate {
			rates = append(rates, &c.Rate[i])
		}
		t.add(text(c.Variant), text(fmt.Sprint(c.Trial)), text(fmt.Sprint(len(c.End))), text(rangeOf(c.Median, "s")), text(rangeOf(c.P99, "s")), text(rangeOf(rates, "1/s")))
	}
	return t
}

// rangeOf tells the lowest and the highest of what was measured.
func rangeOf(values []*float64, unit string) string {
	var known []float64
	for _, value := range values {
		if value != nil {
			known = append(known, *value)
		}
	}
	if len(known) == 0 {
		return absent
	}
	return single(slices.Min(known)).quantity(unit) + " to " + single(slices.Max(known)).quantity(unit)
}

// lightCourses are those at the point that the page shows.
func (v view) lightCourses() []lab.TrialCourse {
	s := v.coursesSection()
	if len(s.Plots) == 0 {
		return nil
	}
	return those(v.Courses, func(c lab.TrialCourse) bool { return c.Point == s.Plots[0].Point })
}
