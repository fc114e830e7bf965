package report

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// costSection shows the cost of an operation at every point.
func (v view) costSection() section {
	s := section{ID: "cost", Title: "Cost per operation",
		Caption: fmt.Sprintf("CPU time of all units per %s and wall time per %s, log axis; means with %s "+
			"intervals; %s.", v.Operation, v.Operation, figure.Setting(v.Confidence), v.sample()),
		HowTo: fmt.Sprintf("A level row means that %s costs the same whatever the load. A falling row gets "+
			"cheaper with more work (fixed costs spread, batches form); "+
			"a rising row pays more for each: contention, queues, scheduling.", figure.Article(v.Operation))}
	if _, timed := lab.FindMetric(v.Metrics, lab.Elapsed, 0, lab.PerOperation); !timed {
		cpu, _ := lab.FindMetric(v.Metrics, lab.CPU, 0, lab.PerOperation)
		s.Caption = fmt.Sprintf("%s, log axis; means with %s intervals; %s.", sentenceCase(cpu.Title),
			figure.Setting(v.Confidence), v.sample())
	}
	s.Shown = []table{v.costTable()}
	for i, metric := range v.costMetrics() {
		s.Folded = append(s.Folded, v.meansTable(metric))
		results := filter(v.Results, func(r lab.Result) bool {
			return r.Metric == metric && !v.StruckOut(r.Variant)
		})
		measured := func(p lab.Point) bool {
			return slices.ContainsFunc(results, func(r lab.Result) bool { return r.Point.Name == p.Name })
		}
		if title := v.metric(metric).Title; len(filter(v.Points, measured)) > 1 {
			s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-cost-%d", i), Kind: "cost", Metric: metric,
				Title: title, Label: title})
		}
	}
	if len(s.Plots) == 0 { // no cost was measured at two points
		s.Shown = append(s.Shown, s.Folded...)
		s.Folded = nil
		s.HowTo = "No cost was measured at several points: the tables have what " + figure.Article(v.Operation) +
			" costs where it was measured."
	}
	return s
}

// costTable shows the whole cost of an operation at one point: CPU by role, total CPU, what the system has
// counted per operation, and memory. It has no rows if the system counts nothing per operation: the tables of
// means show the costs of such a system.
func (v view) costTable() table {
	at, _ := v.shownAt(func(point string) bool {
		return slices.ContainsFunc(v.Results, func(r lab.Result) bool {
			return r.Point.Name == point && v.metric(r.Metric).Per == lab.PerOperation
		})
	})
	t := table{ID: "per-operation", Title: fmt.Sprintf("What one %s costs at %s", v.Operation, v.at(at)),
		Keys: 1, Columns: columns{}.text("cost"),
		Note: "CPU by unit: medians over trials; all else: means with intervals; " + v.sample()}
	counts := filter(v.Metrics, func(m lab.Metric) bool {
		return m.Per == lab.PerOperation && m.Source == lab.FromSystem && m.Kind == lab.KindCount
	})
	if len(counts) == 0 {
		return t
	}
	shown := filter(v.variants(), func(x lab.Variant) bool {
		return slices.ContainsFunc(v.Results, func(r lab.Result) bool {
			return r.Variant == x.Name && r.Point.Name == at
		})
	})
	t.addVariants(shown)
	row := func(title string, of func(variant string) cell) {
		costs := cells(shown, func(x lab.Variant) cell { return of(x.Name) })
		t.addMeasured(title, costs)
	}
	for _, role := range v.rolesAt(at) {
		row("CPU: "+role, func(variant string) cell {
			u, _ := find(v.usages(variant, at), func(u lab.RoleUsage) bool { return u.Role == role })
			return unlessZero(u.CPUPerOperation, seconds(u.CPUPerOperation))
		})
	}
	if all, ok := lab.FindMetric(v.Metrics, lab.CPU, 0, lab.PerOperation); ok {
		counts = append([]lab.Metric{all}, counts...)
	}
	if memory, ok := lab.FindMetric(v.Metrics, lab.Memory, 0, ""); ok {
		counts = append(counts, memory)
	}
	for _, m := range counts {
		row(m.Title, func(variant string) cell {
			r, ok := v.results[figureKey{m.Name, variant, at}]
			if !ok || v.StruckOut(variant) {
				return none()
			}
			return text(figure.Quantity(r.Estimate(), r.Unit))
		})
	}
	return t
}

// rolesAt returns the roles of all variants that used CPU at a point, without the generator, in the order of
// the usages.
func (v view) rolesAt(point string) []string {
	var roles []string
	for _, x := range v.variants() {
		for _, u := range v.usages(x.Name, point) {
			isCost := u.Role != lab.RoleGenerator && u.CPUPerOperation > 0
			if isCost && !slices.Contains(roles, u.Role) {
				roles = append(roles, u.Role)
			}
		}
	}
	return roles
}

// costMetrics returns the names of the metrics that costSection shows at every point: CPU and elapsed time
// per operation, if the study has them.
func (v view) costMetrics() []string {
	var names []string
	for _, quantity := range []string{lab.CPU, lab.Elapsed} {
		if m, known := lab.FindMetric(v.Metrics, quantity, 0, lab.PerOperation); known {
			names = append(names, m.Name)
		}
	}
	return names
}
