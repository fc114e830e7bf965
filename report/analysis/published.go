package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
	"github.com/cleave-lab/cleave/studies/published"
)

// publishedFigures returns the printed figures, each with the same quantity as measured here.
func (e *experiment) publishedFigures(a lab.Analysis) []lab.PublishedFigure {
	all := []lab.PublishedFigure{}
	if e.in.Published == nil {
		return all
	}
	for _, f := range e.in.Published.Figures {
		all = append(all, e.publishedFigure(a, f))
	}
	return all
}

// publishedFigure returns a printed figure with our number, or the reason why there is none.
func (e *experiment) publishedFigure(a lab.Analysis, f published.Figure) lab.PublishedFigure {
	point := f.Ours.Point
	if point == "" {
		point = strings.Join(f.Ours.Points, ",")
	}
	out := lab.PublishedFigure{
		ID: f.ID, Source: f.Source, Metric: f.Metric, Variant: f.Variant, Point: point, Unit: f.Unit,
		Value: f.Value, Missing: f.Missing, Status: f.Status, Note: f.Note, Recomputed: f.Recomputed,
	}
	out.PublishedPerOperation = e.publishedPerOperation(f)
	switch f.Ours.Quantity {
	case published.Setting:
		out.Reason = "a setting of the study, not a measurement"
		return out
	case published.Unmeasured:
		out.Reason = "Cleave does not measure it"
		return out
	}
	for _, name := range []string{f.Ours.Variant, f.Ours.Against} {
		if name == "" {
			continue
		}
		if out.Reason = e.absent(name); out.Reason != "" {
			return out
		}
	}
	out.Reason = e.measureFigure(a, f, &out)
	if remark := e.scaleRemark(f); out.Measured != nil && remark != "" {
		if out.Reason != "" {
			out.Reason += "; "
		}
		out.Reason += remark
	}
	return out
}

// measureFigure sets our number, in the figure's unit. It returns a remark on the number, or the reason why
// there is none.
func (e *experiment) measureFigure(a lab.Analysis, f published.Figure, out *lab.PublishedFigure) string {
	m := f.Ours
	switch m.Quantity {
	case published.Run, published.Mean:
		return e.measureMean(f, out)
	case published.RatioOfMeans:
		c := e.contrast(m.Metric, m.Point, pair{m.Variant, m.Against})
		if c.n() == 0 {
			return fmt.Sprintf("%s and %s have no block in common at %s", m.Variant, m.Against, m.Point)
		}
		if r := e.ratioOfMeans(c); r != nil {
			out.Measured = number(r.Ratio)
			out.Low = r.Low
			out.High = r.High
			return ""
		}
		return "the denominator cannot be told from zero"
	case published.MeanOfRatios:
		return e.measureAverage(m, out)
	case published.Curve:
		return e.measureCurve(f)
	}
	return e.measureLine(a, f, out)
}

// measureCurve returns the values at both ends of our curve, as text, for a curve that the study draws
// without numbers.
func (e *experiment) measureCurve(f published.Figure) string {
	metric, known := e.metric(f.Ours.Metric)
	points := e.measuredPoints([]string{f.Ours.Metric}, []string{f.Ours.Variant})
	if !known || len(points) == 0 {
		return fmt.Sprintf("an image without numbers, and %s was not measured here", f.Ours.Metric)
	}
	end := func(point string) string {
		value, _ := e.mean(f.Ours.Variant, point, f.Ours.Metric)
		return fmt.Sprintf("%s at %s", figure.Amount(value, metric.Unit), point)
	}
	text := fmt.Sprintf("an image without numbers; here %s: %s", metric.Title, end(points[0]))
	if last := points[len(points)-1]; len(points) > 1 {
		text += " to " + end(last)
	}
	return text
}

// measureMean sets our number for a mean or for a single run, which is our trial in the block of that number.
func (e *experiment) measureMean(f published.Figure, out *lab.PublishedFigure) string {
	m := f.Ours
	toOurs, _ := f.UnitFactor()
	s := e.series[seriesKey{m.Variant, m.Point, m.Metric}]
	each := e.series[seriesKey{m.Variant, m.Point, e.metricName(lab.Elapsed, 0, lab.PerOperation)}]
	if len(s.values) == 0 {
		return fmt.Sprintf("%s did not run at %s here", m.Variant, m.Point)
	}
	if m.Quantity == published.Run {
		value, found := s.at(m.Run)
		if !found {
			return fmt.Sprintf("there is no block %d here", m.Run)
		}
		out.Measured = number(value / toOurs)
		if perOperation, ok := each.at(m.Run); ok {
			out.MeasuredPerOperation = number(perOperation)
		}
		return ""
	}
	out.Measured = number(stats.Mean(s.values) / toOurs)
	if low, high := e.meanInterval(s.values); low != nil {
		out.Low, out.High = bounds(*low/toOurs, *high/toOurs)
	}
	if len(each.values) > 0 {
		out.MeasuredPerOperation = number(stats.Mean(each.values))
	}
	if f.Missing {
		return "the text prints no number; measured here at " + m.Point
	}
	return ""
}

// measureAverage sets the arithmetic mean of our ratios, as the study averaged its own.
func (e *experiment) measureAverage(m published.Mapping, out *lab.PublishedFigure) string {
	average, ok := e.average(m.Metric, m.Metric, pair{m.Variant, m.Against}, m.Points)
	if !ok {
		return fmt.Sprintf("%s and %s met at fewer than two points here", m.Variant, m.Against)
	}
	out.Measured = number(average.Arithmetic)
	if len(average.Points) < len(m.Points) {
		return fmt.Sprintf("the average of %d points (%s); the study has %d", len(average.Points),
			strings.Join(average.Points, ", "), len(m.Points))
	}
	return ""
}

// measureLine sets the slope or the intercept of our line over the same points, else of our first line of the
// variant along the factor.
func (e *experiment) measureLine(a lab.Analysis, f published.Figure, out *lab.PublishedFigure) string {
	m := f.Ours
	along := func(t lab.TrendLine) bool {
		return t.Metric == m.Metric && t.Variant == m.Variant && t.Factor == m.Factor
	}
	i := slices.IndexFunc(a.Trends, func(t lab.TrendLine) bool {
		return along(t) && slices.Equal(t.Points, m.Points)
	})
	if i < 0 {
		i = slices.IndexFunc(a.Trends, along)
	}
	if i < 0 {
		return fmt.Sprintf("no line of %s along %s was fitted here", m.Variant, m.Factor)
	}
	line := a.Trends[i]
	fit := stats.Line{Slope: line.Slope, SlopeSE: line.SlopeSE, Intercept: line.Intercept,
		InterceptSE: line.InterceptSE, N: len(line.X)}
	value := fit.SlopeInterval(e.lineConfidence())
	if m.Quantity == published.Intercept {
		value = fit.InterceptInterval(e.lineConfidence())
	}
	toOurs, _ := f.UnitFactor()
	out.Measured = number(value.Value / toOurs)
	out.Low, out.High = bounds(value.Low/toOurs, value.High/toOurs)
	if m.Quantity == published.Slope {
		out.MeasuredPerOperation = e.marginal(m, line)
	}
	if !slices.Equal(line.Points, m.Points) {
		return fmt.Sprintf("fitted through %s; the study has %s", strings.Join(line.Points, ", "),
			strings.Join(m.Points, ", "))
	}
	return ""
}

// publishedPerOperation returns the published time of one operation, in seconds, or nil if the figure is not
// the elapsed time of a job, whose number of operations is known.
func (e *experiment) publishedPerOperation(f published.Figure) *float64 {
	seconds, isTime := f.Seconds()
	if !isTime || f.Missing || f.Ours.Metric != e.metricName(lab.Elapsed, 0, "") {
		return nil
	}
	study := e.in.Published
	switch f.Ours.Quantity {
	case published.Run, published.Mean:
		if point, ok := study.Point(f.Ours.Point); ok {
			return number(f.Value * seconds / published.Operations(point))
		}
	case published.Slope:
		perLevel, ok := operationsPerLevel(f.Ours, func(name string) (level, operations float64) {
			point, _ := study.Point(name)
			level, _ = point.Level(f.Ours.Factor)
			return level, published.Operations(point)
		})
		if ok {
			return number(f.Value * seconds / perLevel)
		}
	}
	return nil
}

// marginal returns the time of one more operation along our line, in seconds.
func (e *experiment) marginal(m published.Mapping, line lab.TrendLine) *float64 {
	m.Points = line.Points
	perLevel, ok := operationsPerLevel(m, func(name string) (level, count float64) {
		point, _ := e.study.Point(name)
		level, _ = point.Level(m.Factor)
		count, _ = e.mean(m.Variant, name, operations)
		return level, count
	})
	if !ok {
		return nil
	}
	return number(line.Slope / perLevel)
}

// operationsPerLevel returns the number of operations per unit of the factor, or false if that differs by
// more than a percent between the points, or if a level or a number of operations is unknown.
func operationsPerLevel(
	m published.Mapping, at func(point string) (level, operations float64),
) (float64, bool) {
	const tolerance = 0.01
	perLevel := 0.0
	for _, name := range m.Points {
		level, count := at(name)
		if level <= 0 || count <= 0 {
			return 0, false
		}
		if perLevel == 0 {
			perLevel = count / level
		}
		if math.Abs(count/level/perLevel-1) > tolerance {
			return 0, false
		}
	}
	return perLevel, perLevel > 0
}

// scaleRemark returns a warning that an absolute time was measured at other levels than the printed one. It
// returns "" if the levels are the same, and for figures that are no times.
func (e *experiment) scaleRemark(f published.Figure) string {
	if _, isTime := f.Seconds(); !isTime {
		return ""
	}
	names := f.Ours.Points
	if f.Ours.Point != "" {
		names = []string{f.Ours.Point}
	}
	for _, name := range names {
		here, ran := e.study.Point(name)
		if !ran {
			continue
		}
		there, _ := e.in.Published.Point(name)
		for _, factor := range there.Factors() {
			ours, _ := here.Level(factor)
			if theirs, _ := there.Level(factor); ours != theirs {
				return fmt.Sprintf("measured at scale %s (%s %s in place of %s): compare times per operation and "+
					"ratios, not absolute times",
					lab.Plain(e.design.Scale), factor, lab.Plain(ours), lab.Plain(theirs))
			}
		}
	}
	return ""
}
