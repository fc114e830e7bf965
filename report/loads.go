package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// finishTime returns the metric by which a system under load is judged: the 99th percentile of
// the time to completion, else that of the response time. It returns false for other systems.
func (v view) finishTime() (lab.Metric, bool) {
	for _, quantity := range []string{lab.CompletionTime, lab.ResponseTime} {
		if m, ok := lab.FindMetric(v.Metrics, quantity, 0.99, ""); ok && v.hasCurve(m.Name) {
			return m, true
		}
	}
	return lab.Metric{}, false
}

// load is an offered rate of the study.
type load struct {
	point string
	rate  float64 // flows per second; a flow is one operation unless CurvePoint.Due is set
}

// loads returns the offered rates, the lowest first; none if the study has no finishTime.
func (v view) loads() []load {
	m, ok := v.finishTime()
	if !ok {
		return nil
	}
	var all []load
	for _, c := range v.Curves {
		if c.Metric != m.Name {
			continue
		}
		for _, p := range c.Points {
			if !slices.ContainsFunc(all, func(l load) bool { return l.point == p.Point }) {
				all = append(all, load{p.Point, p.Offered})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b load) int { return cmp.Compare(a.rate, b.rate) })
	return all
}

// String returns the point with its rate: "calm (80/s)", or "80/s" if the point's name has the rate.
func (l load) String() string {
	rate := ratePerSecond(l.rate)
	notOfNumber := func(r rune) bool { return !strings.ContainsRune("0123456789.", r) }
	numbers := strings.FieldsFunc(l.point, notOfNumber)
	if slices.Contains(numbers, strings.TrimSuffix(rate, "/s")) {
		return rate
	}
	return l.point + " (" + rate + ")"
}

// at returns the name of a point in a sentence: that of its load, if it has one.
func (v view) at(point string) string {
	if l, has := find(v.loads(), func(l load) bool { return l.point == point }); has {
		return l.String()
	}
	return point
}

// shownAt returns the point at which some data are shown first: the reference point if it has
// any, else the first point that has.
func (v view) shownAt(has func(point string) bool) (string, bool) {
	if at := v.reference(); has(at) {
		return at, true
	}
	p, found := find(v.Points, func(p lab.Point) bool { return has(p.Name) })
	return p.Name, found
}

// shownWhere returns the point at which a list is shown first (see shownAt). pointOf returns the point of an
// element.
func shownWhere[T any](v view, list []T, pointOf func(T) string) (string, bool) {
	return v.shownAt(func(at string) bool {
		return slices.ContainsFunc(list, func(one T) bool { return pointOf(one) == at })
	})
}

// otherPoints returns tables of the points that are not shown first.
func (v view) otherPoints(shown string, tables ...func(point string) table) []table {
	var all []table
	for _, p := range v.Points {
		for _, t := range tables {
			if p.Name != shown {
				all = append(all, t(p.Name))
			}
		}
	}
	return all
}

// loadTables returns the tables of a system under load, in the order of the page. Only the full report has
// distributions, critical paths, and curves of other metrics than finishTime. Searches and the usage of units
// are in the full report, and in that of external systems.
func (v view) loadTables(full bool) []table {
	finish, loaded := v.finishTime()
	tables := []table{v.heldTable(), v.capacityTable()}
	for _, m := range v.Metrics {
		isFinish := loaded && m.Name == finish.Name
		if v.hasCurve(m.Name) && (full || isFinish) {
			tables = append(tables, v.curveTable(m))
		}
	}
	if full || v.foreign() {
		tables = append(tables, v.searchesTable())
	}
	if full {
		for _, quantity := range []string{lab.ResponseTime, lab.ServiceTime, lab.CompletionTime, lab.Staleness,
			lab.ReferenceStaleness} {
			if at, ok := v.spectrumAt(quantity); ok {
				tables = append(tables, v.spectrumTable(quantity, at))
			}
		}
		at, _ := v.pathsPoint()
		tables = append(tables, v.interactionTable(), v.kindsTable(at))
	}
	operations, _ := v.operationsPoint()
	tables = append(tables, v.operationsTable(operations))
	at, metered := v.usagePoint()
	ofForeign := v.foreign() && len(v.rolesAt(at)) > 0
	if metered && (full || ofForeign) {
		tables = append(tables, v.usageTable(at), v.platformCPUTable(at))
	}
	if at, profiled := v.profiledPoint(); profiled {
		tables = append(tables, v.layersTable(at))
	}
	return filled(append(tables, v.costTable())...)
}
