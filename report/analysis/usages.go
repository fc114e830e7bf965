package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// usages returns the usage of each role and backing service, per variant and point. For an external system it
// is by process or service instead. A job has none; its totals are metrics.
func (e *experiment) usages() []lab.RoleUsage {
	if len(e.study.Metrics) == 0 {
		return nil
	}
	var all []lab.RoleUsage
	for at, trials := range e.trialsBySetting() {
		var parts []lab.RoleUsage
		if at.External != nil {
			parts = e.processUsages(at.Name, at.point, trials)
		}
		all = append(all, parts...)
		for _, role := range rolesOf(trials) {
			if len(parts) == 0 || role == lab.RoleGenerator {
				all = append(all, e.roleUsage(at.Name, at.point, role, trials))
			}
		}
	}
	return all
}

// usageSums returns the total usage of each variant at each point, without the generator.
func usageSums(usages []lab.RoleUsage) []lab.RoleUsage {
	var sums []lab.RoleUsage
	for _, u := range usages {
		if u.Role == lab.RoleGenerator {
			continue
		}
		i := slices.IndexFunc(sums, func(sum lab.RoleUsage) bool {
			return sum.Variant == u.Variant && sum.Point.Name == u.Point.Name
		})
		if i < 0 {
			i = len(sums)
			sums = append(sums, lab.RoleUsage{Variant: u.Variant, Point: u.Point})
		}
		sums[i] = addUsage(sums[i], u)
	}
	return sums
}

// addUsage returns a sum with the usage of a role added.
func addUsage(sum, u lab.RoleUsage) lab.RoleUsage {
	sum.CPUPerOperation += u.CPUPerOperation
	sum.CPUShare += u.CPUShare
	sum.PeakMemory += u.PeakMemory
	sum.NetworkPerOperation += u.NetworkPerOperation
	return sum
}

// rolesBySize lists the roles, without the generator, in the order of their CPU per operation over the whole
// study, the largest first.
func rolesBySize(usages []lab.RoleUsage) []string {
	cpu := map[string]float64{}
	for _, u := range usages {
		if u.Role != lab.RoleGenerator {
			cpu[u.Role] += u.CPUPerOperation
		}
	}
	return slices.SortedFunc(maps.Keys(cpu), func(a, b string) int {
		return cmp.Or(cmp.Compare(cpu[b], cpu[a]), cmp.Compare(a, b))
	})
}

// rolesOf returns the roles that any of the trials metered, by name, the generator last.
func rolesOf(trials []lab.Trial) []string {
	roles := keysOf(trials, func(t lab.Trial) map[string]lab.Usage { return t.Metered.Roles })
	if i := slices.Index(roles, lab.RoleGenerator); i >= 0 {
		roles = append(slices.Delete(roles, i, i+1), lab.RoleGenerator)
	}
	return roles
}

// keysOf returns the keys that the map of any trial has, sorted.
func keysOf[V any](trials []lab.Trial, of func(lab.Trial) map[string]V) []string {
	keys := map[string]bool{}
	for _, trial := range trials {
		for key := range of(trial) {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// roleUsage returns the usage of a role: medians over the trials, 0 for what no trial could measure.
func (e *experiment) roleUsage(
	variant string, point lab.Point, role string, trials []lab.Trial,
) lab.RoleUsage {
	c := columns{}
	for _, trial := range trials {
		used, metered := trial.Metered.Roles[role]
		if !metered {
			continue
		}
		if !used.Lacks("cpu_seconds") {
			c.add("cost", used.CPUSeconds/e.costedOperations(trial))
			c.add("share", used.CPUSeconds/trial.Metered.WindowSeconds)
		}
		if !used.Lacks("peak_memory_bytes") {
			c.add("memory", float64(used.PeakMemoryBytes))
		}
	}
	return lab.RoleUsage{Variant: variant, Point: point, Role: role,
		CPUPerOperation: c.median("cost"), CPUShare: c.median("share"), PeakMemory: c.median("memory"),
		Platform: platformUsage(role, trials)}
}

// platformUsage returns the usage of a role, all units together, as the platform reports it: medians over the
// trials, or nil if it reported nothing.
func platformUsage(role string, trials []lab.Trial) *lab.PlatformUsage {
	all := lab.PlatformUsage{Role: role}
	values := columns{}
	for _, trial := range trials {
		var sum lab.PlatformUsage
		units := 0.0
		for _, u := range trial.Metered.Platform {
			if u.Role != role {
				continue
			}
			units++
			all.Source = u.Source
			all.Samples += u.Samples
			sum.Millicores += u.Millicores
			sum.MostMillicores += u.MostMillicores
			sum.GroupMillicores += u.GroupMillicores
			sum.LagSeconds += u.LagSeconds
			sum.WindowSeconds += u.WindowSeconds
		}
		if units > 0 {
			values.add(role, sum.Millicores, sum.MostMillicores, sum.GroupMillicores, sum.LagSeconds/units,
				sum.WindowSeconds/units)
		}
	}
	if len(values) == 0 {
		return nil
	}
	m := values.medians(role)
	all.Millicores = m[0]
	all.MostMillicores = m[1]
	all.GroupMillicores = m[2]
	all.LagSeconds = m[3]
	all.WindowSeconds = m[4]
	return &all
}

// columns collects values over trials: under each name, one list of values per column.
type columns map[string][][]float64

// add appends a trial's values under a name, one per column. It skips values that are not finite.
func (c columns) add(name string, values ...float64) {
	if c[name] == nil {
		c[name] = make([][]float64, len(values))
	}
	for i, value := range values {
		if figure.Finite(value) {
			c[name][i] = append(c[name][i], value)
		}
	}
}

// medians returns the medians over the trials of all columns under a name.
func (c columns) medians(name string) []float64 {
	var all []float64
	for _, values := range c[name] {
		all = append(all, stats.Median(values))
	}
	return all
}

// median returns the median over the trials of the first column under a name, 0 without values.
func (c columns) median(name string) float64 {
	if len(c[name]) == 0 {
		return 0
	}
	return stats.Median(c[name][0])
}

// costedOperations returns the number of operations by which a trial's CPU time is divided: that behind the
// measured CPU per operation, so that the roles add up to it, else the trial's own count, also if some role
// was not metered. It is 0 if neither is known.
func (e *experiment) costedOperations(trial lab.Trial) float64 {
	used := trial.Metered.Used()
	cost := trial.Measures[e.metricName(lab.CPU, 0, lab.PerOperation)]
	isMetered := used.CPUSeconds > 0 && !used.Lacks("cpu_seconds")
	if cost > 0 && isMetered {
		return used.CPUSeconds / cost
	}
	return float64(trial.Operations)
}

// mostProcesses is the largest number of processes with rows of their own.
const mostProcesses = 12

// processUsages returns the usage of an external system by process or container: medians over
// the trials, the largest CPU first, and the smallest together in one row. It returns nil if
// there is only one.
func (e *experiment) processUsages(variant string, point lab.Point, trials []lab.Trial) []lab.RoleUsage {
	used := columns{}
	for _, trial := range trials {
		operations := e.costedOperations(trial)
		window := trial.Metered.WindowSeconds
		if operations <= 0 || window <= 0 {
			continue
		}
		sums := map[string]lab.ProcessUsage{} // by name, which all replicas of a service share
		for _, p := range trial.Metered.Processes {
			sum := sums[p.Name]
			sum.CPUSeconds += p.CPUSeconds
			sum.PeakMemoryBytes += p.PeakMemoryBytes
			sum.ReceivedBytes += p.ReceivedBytes
			sum.SentBytes += p.SentBytes
			sums[p.Name] = sum
		}
		for name, p := range sums {
			used.add(name, p.CPUSeconds/operations, p.CPUSeconds/window, float64(p.PeakMemoryBytes),
				float64(p.ReceivedBytes+p.SentBytes)/operations)
		}
	}
	if len(used) < 2 {
		return nil
	}
	var rows []lab.RoleUsage
	for name := range used {
		m := used.medians(name)
		rows = append(rows, lab.RoleUsage{Variant: variant, Point: point, Role: name, CPUPerOperation: m[0],
			CPUShare: m[1], PeakMemory: m[2], NetworkPerOperation: m[3]})
	}
	slices.SortFunc(rows, func(a, b lab.RoleUsage) int {
		return cmp.Or(cmp.Compare(b.CPUPerOperation, a.CPUPerOperation), cmp.Compare(a.Role, b.Role))
	})
	if len(rows) <= mostProcesses {
		return rows
	}
	rest := lab.RoleUsage{Variant: variant, Point: point,
		Role: lab.Count(len(rows)-mostProcesses, "other")}
	for _, u := range rows[mostProcesses:] {
		rest = addUsage(rest, u)
	}
	return append(rows[:mostProcesses], rest)
}

// nodeLoads returns the usage of the units on each node, per variant and point, if the deployment
// has nodes: medians over the trials in which the node had units. Points with a search are left out, since
// their mean is that of many loads.
func (e *experiment) nodeLoads() []lab.NodeLoad {
	var all []lab.NodeLoad
	for at, trials := range e.trialsBySetting() {
		if _, search := at.point.Level(lab.FactorSearchFrom); search {
			continue
		}
		nodes := columns{}
		for _, trial := range trials {
			for node, used := range trial.Metered.Nodes {
				nodes.add(node, float64(used.Units), used.CPUSeconds/trial.Metered.WindowSeconds,
					float64(used.MeanMemoryBytes))
			}
		}
		for _, node := range slices.Sorted(maps.Keys(nodes)) {
			m := nodes.medians(node)
			all = append(all, lab.NodeLoad{Variant: at.Name, Point: at.point, Node: node, Trials: len(nodes[node][0]),
				Units: m[0], CPUShare: m[1], MeanMemory: m[2]})
		}
	}
	return all
}

// pictures returns the architectures of the variants, with the cost of their parts at each point. Parts and
// declared links depend on the variant and the point alone, so they are those of the first trial. Links that
// are only known by their traffic are shown if the first trial had any.
func (e *experiment) pictures() []lab.Picture {
	var all []lab.Picture
	for at, trials := range e.trialsBySetting() {
		if len(trials[0].Parts) == 0 {
			continue
		}
		picture := lab.Picture{Variant: at.Name, Point: at.point}
		for _, part := range trials[0].Parts {
			used := e.roleUsage(at.Name, at.point, part.Name, trials)
			part.Links = slices.Clone(part.Links)
			for i, link := range part.Links {
				part.Links[i].Traffic = medianTraffic(trials, part.Name, link)
			}
			picture.Parts = append(picture.Parts, lab.PicturePart{Part: part, CPUPerOperation: used.CPUPerOperation,
				PeakMemory: used.PeakMemory})
		}
		shareCPU(picture.Parts)
		all = append(all, picture)
	}
	return all
}

// shareCPU sets the share of each part but the generator in the CPU time of all of them.
func shareCPU(parts []lab.PicturePart) {
	var total float64
	for _, p := range parts {
		if p.Name != lab.RoleGenerator {
			total += p.CPUPerOperation
		}
	}
	for i, p := range parts {
		if p.Name != lab.RoleGenerator && total > 0 {
			parts[i].CPUShare = p.CPUPerOperation / total
		}
	}
}

// medianTraffic returns the traffic on a link per operation, by kind: medians over the trials.
func medianTraffic(trials []lab.Trial, from string, link lab.Link) map[string]float64 {
	counts := columns{}
	for _, trial := range trials {
		for _, part := range trial.Parts {
			for _, l := range part.Links {
				if part.Name != from || l.To != link.To {
					continue
				}
				for kind, perOperation := range l.Traffic {
					counts.add(kind, perOperation)
				}
			}
		}
	}
	medians := map[string]float64{}
	for kind := range counts {
		medians[kind] = counts.median(kind)
	}
	return medians
}
