package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// usageSection shows CPU and memory by unit.
func (v view) usageSection() section {
	at, ok := v.usagePoint()
	if !ok {
		return section{}
	}
	s := section{ID: "usage", Title: "CPU and memory", Wide: true,
		Caption: fmt.Sprintf("By unit and backing service at %s, medians over %s; one fill per unit "+
			"throughout. Dashed outline: the load generator, which is no part of the system and in no sum.", v.at(at),
			v.counting),
		HowTo: "CPU per " + v.Operation + " is what one more costs; the share of a processor says which unit is " +
			"busy at this load, and how near the host is to its limit. " +
			"Memory is the peak over the load; the peaks of units need not fall together."}
	for _, kind := range []string{"cpu", "share", "memory"} {
		title := map[string]string{"cpu": "CPU time per " + v.Operation, "share": "Share of one processor",
			"memory": "Peak memory"}[kind]
		s.Plots = append(s.Plots, plot{ID: "plot-usage-" + kind, Kind: "usage", Metric: kind, Point: at,
			Title: title, Label: title + " by unit at " + v.at(at), Whole: kind == "cpu"})
	}
	s.Folded = append([]table{v.usageTable(at), v.platformCPUTable(at), v.nodesTable()},
		v.otherPoints(at, v.usageTable, v.platformCPUTable)...)
	return s
}

// usagePoint returns the point whose usage is shown first.
func (v view) usagePoint() (string, bool) {
	return shownWhere(v, v.Usages, func(u lab.RoleUsage) string { return u.Point.Name })
}

// usageTable shows the usage of each unit at a point, with the network if that is known.
func (v view) usageTable(at string) table {
	t := table{ID: "usage-" + at, Title: "CPU and memory by unit at " + v.at(at), Keys: 2,
		Note: fmt.Sprintf("medians over trials, n=%s; the generator is in no sum", v.counting),
		Columns: columns{}.text("variant", "unit").number("CPU per "+v.Operation, "share of one processor",
			"peak memory")}
	if v.foreign() {
		t.Title = "Who costs what: CPU and memory by process at " + v.at(at)
	}
	network := slices.ContainsFunc(v.Usages, func(u lab.RoleUsage) bool { return u.NetworkPerOperation > 0 })
	if network {
		t.Columns = t.Columns.number("network per " + v.Operation)
	}
	bytes := func(value float64) string { return figure.Amount(value, "B") }
	row := func(unit string, u lab.RoleUsage, tone tone) {
		shown := func(value float64, write func(float64) string) cell {
			c := unlessZero(value, write(value)) // 0: it was not measured
			c.Tone = cmp.Or(c.Tone, tone)
			return c
		}
		var traffic []cell
		if network {
			traffic = []cell{shown(u.NetworkPerOperation, bytes)}
		}
		t.add(u.Variant, toned(unit, tone), shown(u.CPUPerOperation, seconds),
			shown(u.CPUShare, figure.Percent), shown(u.PeakMemory, bytes), traffic)
	}
	for _, x := range v.variants() {
		for _, u := range v.usages(x.Name, at) {
			tone := toneNone
			if u.Role == lab.RoleGenerator {
				tone = toneMuted
			}
			row(u.Role, u, tone)
		}
		for _, sum := range v.UsageSums {
			if sum.Variant == x.Name && sum.Point.Name == at {
				row("sum without generator", sum, toneNone)
			}
		}
	}
	return t
}

// usages returns the usages of a variant's roles at a point, in the order of the analysis.
func (v view) usages(variant, point string) []lab.RoleUsage {
	return filter(v.Usages, func(u lab.RoleUsage) bool {
		return u.Variant == variant && u.Point.Name == point
	})
}

// platformCPUTable shows the CPU usage that the platform itself reports beside that of the control groups. It
// has no rows if the platform reports none.
func (v view) platformCPUTable(at string) table {
	t := table{ID: "platform-" + at, Title: "CPU as the platform says it, at " + v.at(at), Keys: 2}
	var source string
	var window float64
	for _, x := range v.variants() {
		for _, u := range v.usages(x.Name, at) {
			p := u.Platform
			if p == nil {
				continue
			}
			source, window = p.Source, p.WindowSeconds
			t.add(x.Name, u.Role, millicores(p.Millicores), millicores(p.MostMillicores),
				millicores(p.GroupMillicores), difference(*p), figure.Fixed(p.LagSeconds, 0)+" s")
		}
	}
	t.Columns = columns{}.text("variant", "unit").number(source, "its maximum", "control group meanwhile",
		"difference", "said after")
	t.Note = fmt.Sprintf("averages over windows of about %s s whose middle lies in the load, 1000m is one "+
		"processor; medians over trials; said after: since the middle of the window",
		figure.Fixed(window, 0))
	return t
}

// millicores formats a number of thousandths of a processor: "250m".
func millicores(m float64) cell { return text(figure.Fixed(m, 0) + "m") }

// difference shows the relative difference between platform and control group. It is absent if the usage is
// too small to compare.
func difference(p lab.PlatformUsage) cell {
	if p.GroupMillicores < 1 {
		return none()
	}
	return text(fmt.Sprintf("%+.1f %%", 100*(p.Millicores/p.GroupMillicores-1)))
}

// nodesTable shows the usage of each node at each load.
func (v view) nodesTable() table {
	t := table{ID: "nodes", Title: "What each node uses, over the loads", Keys: 2,
		Note: "medians over the trials in which units were there at the end of the load; the generator is in no " +
			"figure. Where the platform chooses the nodes, other units may be on them in other trials",
		Columns: columns{}.text("variant", "node", "load").number("trials", "units",
			"share of one processor", "mean memory")}
	for _, x := range v.variants() {
		loads := filter(v.NodeLoads, func(n lab.NodeLoad) bool { return n.Variant == x.Name })
		slices.SortStableFunc(loads, func(a, b lab.NodeLoad) int { return cmp.Compare(a.Node, b.Node) })
		for _, n := range loads {
			t.add(n.Variant, n.Node, v.at(n.Point.Name), n.Trials, strconv.FormatFloat(n.Units, 'g', 3, 64),
				figure.Percent(n.CPUShare), figure.Amount(n.MeanMemory, "B"))
		}
	}
	return t
}

// foreign reports whether external systems are compared.
func (v view) foreign() bool {
	return slices.ContainsFunc(v.Variants, func(x lab.Variant) bool { return x.External != nil })
}
