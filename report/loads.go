package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// finishTime returns the metric that a system under load is judged by: the tail of
// the time to completion, else that of the response time.
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
	rate  float64 // operations per second
}

// loads returns the offered rates, from the lowest.
func (v view) loads() []load {
	m, ok := v.finishTime()
	if !ok {
		return nil
	}
	var all []load
	for _, c := range v.Curves {
		if c.Metric != m.Name || v.struckOut(c.Variant) {
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

// String names a load: "calm (80/s)", or "80/s" where the point says no more.
func (l load) String() string {
	rate := ratePerSecond(l.rate)
	notOfNumber := func(r rune) bool { return r != '.' && (r < '0' || r > '9') }
	if slices.Contains(strings.FieldsFunc(l.point, notOfNumber), strings.TrimSuffix(rate, "/s")) {
		return rate
	}
	return l.point + " (" + rate + ")"
}

// at names a point in a sentence: by its load, where it has one.
func (v view) at(point string) string {
	if l, has := find(v.loads(), func(l load) bool { return l.point == point }); has {
		return l.String()
	}
	return point
}

// shownAt returns the point of some data at which they are shown first: the one where
// all stand side by side, else the first that has any.
func (v view) shownAt(has func(point string) bool) (string, bool) {
	if at := v.reference(); has(at) {
		return at, true
	}
	p, found := find(v.Points, func(p lab.Point) bool { return has(p.Name) })
	return p.Name, found
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

// loadTables returns the load tables of a system under load in the order of the page; the
// distributions, the waits and the use of every unit only in full.
func (v view) loadTables(full bool) []table {
	finish, loaded := v.finishTime()
	tables := []table{v.heldTable(), v.capacityTable()}
	for _, m := range v.Metrics {
		if v.hasCurve(m.Name) && (full || loaded && m.Name == finish.Name) {
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
		tables = append(tables, v.interactionTable(), v.kindsTable(v.reference()))
	}
	tables = append(tables, v.operationsTable(v.reference()))
	if at := v.reference(); full || v.foreign() && len(v.rolesAt(at)) > 0 {
		tables = append(tables, v.usageTable(at), v.platformTable(at))
	}
	if at, profiled := v.profiledPoint(); profiled {
		tables = append(tables, v.layersTable(at))
	}
	return filled(append(tables, v.costTable())...)
}
