package report

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// pathsSection shows the critical paths of operations.
func (v view) pathsSection() section {
	at, ok := v.pathsPoint()
	if !ok {
		return section{}
	}
	s := section{ID: "paths", Title: "Where the time goes", Wide: true,
		Caption: fmt.Sprintf("Critical paths at %s, %s; every plot has a scale of its own. Each is the path of "+
			"the trial whose value is the median of %s.", v.at(at), v.pathReach(), v.counting),
		HowTo: "The bars of " + figure.Article(v.Operation) +
			" lie end to end: at every moment it waited for exactly one thing, in the unit of that row. Long bars " +
			"of one colour are what to work on first; " +
			"what runs beside the path is not drawn, because it costs no time. A median " + v.Operation +
			" is a typical one, not a mean; the 99th percentile shows what goes wrong when it goes wrong.",
		Shown: []table{v.kindsTable(at)}, Folded: v.pathTables(at)}
	if slices.ContainsFunc(v.Paths, func(p lab.TrialPath) bool {
		return p.Point.Name == at && p.Share == lab.PathMean
	}) {
		s.Plots = append(s.Plots, plot{ID: "plot-path-mean", Kind: "path-mean", Point: at,
			Title: "Mean over all traced " + v.Operation + "s",
			Label: "Mean time of " + figure.Article(v.Operation) + " by kind at " + v.at(at), Whole: true})
	}
	for i, p := range v.Paths {
		if p.Point.Name != at || p.Share == lab.PathMean {
			continue
		}
		title := fmt.Sprintf("%s, %s: %s", p.Variant, v.shareText(p.Share), seconds(p.Seconds))
		s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-path-%d", i), Kind: "path", Index: i, Title: title,
			Label: "Critical path of " + title + ", by unit and kind"})
	}
	return s
}

// pathsPoint returns the point whose critical paths are shown first.
func (v view) pathsPoint() (string, bool) {
	return shownWhere(v, v.Paths, func(p lab.TrialPath) string { return p.Point.Name })
}

// kindsTable shows the paths of a point by kind.
func (v view) kindsTable(at string) table {
	t := table{ID: "kinds", Title: "Where the time of " + figure.Article(v.Operation) + " goes at " + v.at(at),
		Keys:    2,
		Note:    "seconds on the critical path by kind, and their share of it",
		Columns: columns{}.text("variant", "path").number("whole")}
	for _, kind := range lab.SegmentKinds() {
		t.Columns = t.Columns.number(string(kind))
	}
	for _, x := range v.variants() {
		for _, p := range v.paths(x.Name, at) {
			parts := cells(lab.SegmentKinds(), func(kind lab.SegmentKind) cell {
				part, _ := find(p.Kinds, func(k lab.SegmentTime) bool { return k.Kind == kind })
				return partCell(part.Seconds, p.Seconds)
			})
			t.add(x.Name, v.shareText(p.Share), seconds(p.Seconds), parts)
		}
	}
	return t
}

// partCell shows a part of a path with its share.
func partCell(part, whole float64) cell {
	if whole == 0 {
		return none()
	}
	return unlessZero(part, secondsOf(part, part/whole))
}

// pathReach describes the beginning and the end of paths.
func (v view) pathReach() string {
	if v.foreign() {
		return "from the start of the first span to its end"
	}
	return "from the intended start to the final state"
}

// pathTables returns a table with the segments of every path at a point.
func (v view) pathTables(at string) []table {
	var tables []table
	for i, p := range v.Paths {
		if p.Point.Name != at {
			continue
		}
		t := table{ID: fmt.Sprintf("path-%d", i), Title: fmt.Sprintf("Path of %s, %s (%s, trial %d)", p.Variant,
			v.shareText(p.Share), p.Operation, p.Trial), Keys: 1,
			Note: fmt.Sprintf("%s, at %s; chosen from %d traced %ss", v.pathReach(), v.at(at), p.Sampled,
				v.Operation),
			Columns: columns{}.text("unit", "kind", "what").number("begins", "takes")}
		for _, s := range p.Segments {
			t.add(s.Unit, s.Kind, s.Name, seconds(s.Start), partCell(s.Seconds, p.Seconds))
		}
		tables = append(tables, t)
	}
	return tables
}

// paths returns the critical paths of a variant at a point, in the order of their shares.
func (v view) paths(variant, point string) []lab.TrialPath {
	return filter(v.Paths, func(p lab.TrialPath) bool { return p.Variant == variant && p.Point.Name == point })
}

// shareText returns the operation that a path stands for: "median order", "p99 order".
func (v view) shareText(share float64) string {
	switch share {
	case lab.PathMean:
		return "mean " + v.Operation
	case 0.5:
		return "median " + v.Operation
	default:
		return "p" + plainNumber(share*100) + " " + v.Operation
	}
}
