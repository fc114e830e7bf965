package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/report/plain"
)

// variants returns the data of a page with two variants of a run side by side.
func (s *Server) variants(r *http.Request) (data, error) {
	query := r.URL.Query()
	names := query["variant"]
	if len(names) != 2 {
		return nil, fmt.Errorf("%s chosen: choose two to compare them", lab.Count(len(names), "variant"))
	}
	run, err := s.shelf.Run(r.PathValue("run"))
	var a lab.Analysis
	if err == nil {
		a, err = s.shelf.Analysis(run.Name)
	}
	if err != nil {
		return nil, err
	}
	known := a.VariantNames()
	points := drawnPoints(a)
	b, err := analysis.CompareVariants(a, [2]string{nameOf(known, names[0]), nameOf(known, names[1])},
		nameOf(points, query.Get("point")))
	if err != nil {
		return nil, err
	}
	shown, err := newComparison(b)
	return data{"Run": run, "Variants": known, "Points": points, "Beside": shown}, err
}

// nameOf returns the name that a page shows as text, or the text if there is none: pages escape control
// characters in names, also in the values of forms.
func nameOf(names []string, text string) string {
	if at := slices.IndexFunc(names, func(name string) bool { return plain.Text(name) == text }); at >= 0 {
		return names[at]
	}
	return text
}

// drawnPoints returns the names of the points of a run that have spectra or courses to draw.
func drawnPoints(a lab.Analysis) []string {
	var names []string
	for _, p := range a.Points {
		if slices.ContainsFunc(a.Spectra, func(s lab.Spectrum) bool { return s.Point.Name == p.Name }) ||
			slices.ContainsFunc(a.Courses, func(c lab.TrialCourse) bool { return c.Point == p.Name }) {
			names = append(names, p.Name)
		}
	}
	return names
}

// runTrials holds a run with its trials.
type runTrials struct {
	Run    lab.ListedRun
	Trials []lab.ListedTrial
	Left   lab.LeftOut
}

// trials returns the data of a page that lists the trials of one run or two.
func (s *Server) trials(r *http.Request) (data, error) {
	names := r.URL.Query()["run"]
	if len(names) != 1 && len(names) != 2 {
		return nil, fmt.Errorf("%s chosen: choose one or two to see their trials", lab.Count(len(names), "run"))
	}
	var runs []runTrials
	for _, name := range slices.Compact(names) {
		run, err := s.shelf.Run(name)
		of := runTrials{Run: run}
		if err == nil {
			of.Trials, of.Left, err = s.shelf.Trials(name)
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, of)
	}
	return data{"Runs": runs}, nil
}

// shownTrial is one of the two trials of a page.
type shownTrial struct {
	Label string // differs between the two trials
	Name  string // name of its folder
	Run   lab.ListedRun
	lab.Trial
	logs []lab.LogEnd
	Left int // logs that are not shown
}

// beside returns the data of a page with two trials side by side.
func (s *Server) beside(r *http.Request) (data, error) {
	names := r.URL.Query()["trial"]
	if len(names) != 2 || names[0] == names[1] {
		return nil, fmt.Errorf("%s chosen: choose two to compare them",
			lab.Count(len(slices.Compact(names)), "trial"))
	}
	var both [2]shownTrial
	for i, name := range names {
		var err error
		if both[i], err = s.readTrial(name, string(rune('A'+i))); err != nil {
			return nil, err
		}
	}
	runs := slices.Compact([]string{both[0].Run.Name, both[1].Run.Name})
	var metrics []lab.Metric
	for _, run := range runs {
		own, err := s.shelf.Metrics(run)
		if err != nil {
			return nil, err
		}
		for _, m := range own {
			if _, known := lab.MetricNamed(metrics, m.Name); !known {
				metrics = append(metrics, m)
			}
		}
	}
	b := analysis.CompareTrials([2]lab.Trial{both[0].Trial, both[1].Trial},
		[2]string{both[0].Label, both[1].Label}, metrics)
	shown, err := newComparison(b)
	return data{"Trials": both, "Beside": shown, "Logs": logsByUnit(both),
		"Runs": runs}, err
}

// readTrial reads a trial by the name of its run and its folder, such as "study/run/0012". Its label begins
// with the letter.
func (s *Server) readTrial(name, letter string) (t shownTrial, err error) {
	run, folder := path.Split(name)
	t.Name = folder
	run = strings.TrimSuffix(run, "/")
	if t.Run, err = s.shelf.Run(run); err != nil {
		return t, err
	}
	if t.Trial, err = s.shelf.Trial(run, folder); err != nil {
		return t, err
	}
	t.Label = fmt.Sprintf("%s: trial %d, %s", letter, t.Number, t.Variant)
	t.logs, t.Left, err = s.shelf.Logs(run, folder)
	return t, err
}

// unitLogs holds the ends of the logs of a unit in two trials; nil: the trial has no log of the unit.
type unitLogs struct {
	Unit string
	Each [2]*lab.LogEnd
}

// logsByUnit joins the logs of two trials by the names of the units.
func logsByUnit(both [2]shownTrial) []unitLogs {
	var all []unitLogs
	for i, trial := range both {
		for _, log := range trial.logs {
			at := slices.IndexFunc(all, func(p unitLogs) bool { return p.Unit == log.Unit })
			if at < 0 {
				at = len(all)
				all = append(all, unitLogs{Unit: log.Unit})
			}
			all[at].Each[i] = &log
		}
	}
	slices.SortFunc(all, func(a, b unitLogs) int { return strings.Compare(a.Unit, b.Unit) })
	return all
}

// comparison holds two variants or trials for the pages that show them side by side.
type comparison struct {
	analysis.SideBySide
	Point string // the point that is drawn
	Bars  *lab.Headline
	Plots []comparisonPlot
	Data  string // the data of the plots as JSON
	Spare bool   // true: the plots leave out courses and single trials
}

// comparisonPlot describes a plot, which the script draws, and holds a table of it.
type comparisonPlot struct {
	Kind, Metric, Point, Title string
	Rows                       []comparisonRow
}

// comparisonRow is a row of the table of a plot.
type comparisonRow struct {
	Name string
	Each [2]string
}

// mostDrawn is the largest size of the data of the plots of a page, in bytes.
const mostDrawn = 4 << 20

// newComparison prepares two variants or trials for their page.
func newComparison(b analysis.SideBySide) (shown comparison, err error) {
	shown = comparison{SideBySide: b, Point: b.Drawn.Points[0].Name, Bars: comparisonBars(b)}
	data, err := json.Marshal(b.Drawn)
	if err == nil && len(data) > mostDrawn {
		shown.Spare = true
		b.Drawn.Courses = nil
		b.Drawn.Spectra = slices.Clone(b.Drawn.Spectra)
		for i := range b.Drawn.Spectra {
			b.Drawn.Spectra[i].Trials = nil
		}
		data, err = json.Marshal(b.Drawn)
	}
	if err == nil && len(data) > mostDrawn {
		err = errors.New("the run has too many figures for this page: see its report")
	}
	shown.Data = string(data)
	shown.Plots = append(spectrumPlots(b), coursePlots(b)...)
	return shown, err
}

// comparisonBars returns the ratios at the point that is drawn or, without such a point, at the first point
// with a ratio. It returns nil if there are no ratios.
func comparisonBars(b analysis.SideBySide) *lab.Headline {
	point := b.Drawn.Points[0].Name
	h := lab.Headline{Baseline: b.Names[0]}
	for _, f := range b.Figures {
		if point == "" && f.Ratio != nil {
			point = f.Point
		}
		hasInterval := f.Ratio != nil && f.Ratio.Low != nil
		if hasInterval && f.Point == point {
			h.Bars = append(h.Bars, lab.Bar{Label: f.Metric.Title, Metric: f.Metric.Name, Point: point,
				Variant: b.Names[1], Baseline: b.Names[0], Begin: 1, Ratio: *f.Ratio, Verdict: f.Verdict})
		}
	}
	h.Title = fmt.Sprintf("%s / %s at %s", b.Names[1], b.Names[0], point)
	h.Bars = h.Bars[:min(mostBars, len(h.Bars))]
	if len(h.Bars) == 0 {
		return nil
	}
	return &h
}

// spectrumPlots returns a plot for each distribution that at least one of the two has.
func spectrumPlots(b analysis.SideBySide) []comparisonPlot {
	var plots []comparisonPlot
	for _, quantity := range analysis.Distributions() {
		title := figure.Capital(figure.Spaced(quantity))
		p := comparisonPlot{"spectrum", quantity, b.Drawn.Points[0].Name, title, nil}
		isMeasured := false
		for _, share := range report.ShownShares() {
			row := comparisonRow{figure.Setting(share) + " at most", [2]string{figure.Absent, figure.Absent}}
			for _, s := range b.Drawn.Spectra {
				if s.Quantity != quantity {
					continue
				}
				i := slices.Index(b.Names[:], s.Variant)
				at := slices.IndexFunc(s.Median, func(q lab.Quantile) bool { return q.Share == share })
				if i >= 0 && at >= 0 {
					row.Each[i] = figure.Amount(s.Median[at].Value, "s")
					isMeasured = true
				}
			}
			p.Rows = append(p.Rows, row)
		}
		if isMeasured {
			plots = append(plots, p)
		}
	}
	return plots
}

// coursePlots returns a plot for each followed quantity of which at least one of the two has a course.
func coursePlots(b analysis.SideBySide) []comparisonPlot {
	var plots []comparisonPlot
	for _, of := range report.Followed() {
		var each [2][]float64
		for _, c := range b.Drawn.Courses {
			if i := slices.Index(b.Names[:], c.Variant); i >= 0 {
				each[i] = append(each[i], of.Values(c)...)
			}
		}
		if len(each[0])+len(each[1]) == 0 {
			continue
		}
		plots = append(plots, comparisonPlot{"course", of.Name, b.Drawn.Points[0].Name, of.Title, []comparisonRow{
			{"lowest", [2]string{extreme(each[0], slices.Min, of.Unit), extreme(each[1], slices.Min, of.Unit)}},
			{"highest", [2]string{extreme(each[0], slices.Max, of.Unit), extreme(each[1], slices.Max, of.Unit)}},
		}})
	}
	return plots
}

// extreme formats the value that pick chooses, such as the lowest one.
func extreme(values []float64, pick func([]float64) float64, unit string) string {
	if len(values) == 0 {
		return figure.Absent
	}
	return figure.Amount(pick(values), unit)
}

// tone returns the CSS class of a cell with a verdict.
func tone(verdict lab.ComparisonVerdict) string {
	tones := map[lab.ComparisonVerdict]string{lab.Faster: "good", lab.Slower: "bad", lab.Equivalent: "muted"}
	return tones[verdict]
}

// estimate formats an estimate of a metric with its interval.
func estimate(e *lab.Estimate, unit string) string {
	if e == nil {
		return figure.Absent
	}
	return figure.Quantity(*e, unit)
}
