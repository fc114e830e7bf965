package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// usages returns what each role and backing service used, per variant and point; of a system
// that somebody else wrote, what each of its processes or services did. A
// job whose units are the system has its totals instead.
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

// usageSums returns what all units of each variant used at each point together, without the generator.
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
			i, sums = len(sums), append(sums, lab.RoleUsage{Variant: u.Variant, Point: u.Point})
		}
		sums[i] = addUsage(sums[i], u)
	}
	return sums
}

// addUsage adds what a role used to a sum.
func addUsage(sum, u lab.RoleUsage) lab.RoleUsage {
	sum.CPUPerOperation += u.CPUPerOperation
	sum.CPUShare += u.CPUShare
	sum.PeakMemory += u.PeakMemory
	sum.NetworkPerOperation += u.NetworkPerOperation
	return sum
}

// rolesBySize lists the roles but the generator by the CPU per operation that they took over the whole
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

// keysOf returns the keys of a map that any of the trials has, sorted.
func keysOf[V any](trials []lab.Trial, of func(lab.Trial) map[string]V) []string {
	keys := map[string]bool{}
	for _, trial := range trials {
		for key := range of(trial) {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// roleUsage takes the medians over the trials. What no trial could measure is 0.
func (e *experiment) roleUsage(
	variant string, point lab.Point, role string, trials []lab.Trial,
) lab.RoleUsage {
	c := columns{}
	for _, trial := range trials {
		used, metered := trial.Metered.Roles[role]
		if !metered {
			continue
		}
		if _, missing := used.Unavailable["cpu_seconds"]; !missing {
			c.add("cost", used.CPUSeconds/e.costedOperations(trial))
			c.add("share", used.CPUSeconds/trial.Metered.WindowSeconds)
		}
		if _, missing := used.Unavailable["peak_memory_bytes"]; !missing {
			c.add("memory", float64(used.PeakMemoryBytes))
		}
	}
	return lab.RoleUsage{Variant: variant, Point: point, Role: role,
		CPUPerOperation: c.median("cost"), CPUShare: c.median("share"), PeakMemory: c.median("memory"),
		Platform: platformUsage(role, trials)}
}

// platformUsage returns what the platform said of a role, its units together: medians over the
// trials. nil where it said nothing in any of them.
func platformUsage(role string, trials []lab.Trial) *lab.PlatformUsage {
	all, values := lab.PlatformUsage{Role: role}, columns{}
	for _, trial := range trials {
		var sum lab.PlatformUsage
		units := 0.0
		for _, u := range trial.Metered.Platform {
			if u.Role != role {
				continue
			}
			units++
			all.Source, all.Samples = u.Source, all.Samples+u.Samples
			sum.Millicores, sum.MostMillicores = sum.Millicores+u.Millicores, sum.MostMillicores+u.MostMillicores
			sum.GroupMillicores += u.GroupMillicores
			sum.LagSeconds, sum.WindowSeconds = sum.LagSeconds+u.LagSeconds, sum.WindowSeconds+u.WindowSeconds
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
	all.Millicores, all.MostMillicores, all.GroupMillicores = m[0], m[1], m[2]
	all.LagSeconds, all.WindowSeconds = m[3], m[4]
	return &all
}

// columns gathers the values that trials have of things, by their names: a list for each of the values.
type columns map[string][][]float64

// add adds the values that a trial has of a thing. It leaves out those that are not finite.
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

// medians returns the medians over the trials of the values of a thing.
func (c columns) medians(name string) []float64 {
	var all []float64
	for _, values := range c[name] {
		all = append(all, stats.Median(values))
	}
	return all
}

// median returns the median over the trials of the first value of a thing; 0 without any.
func (c columns) median(name string) float64 {
	if len(c[name]) == 0 {
		return 0
	}
	return stats.Median(c[name][0])
}

// costedOperations returns the number of operations that a trial's CPU time was divided by: as the
// system's own CPU cost per operation has it, so that the roles add up to that cost, else the trial's own
// count. It is 0 if neither is known.
func (e *experiment) costedOperations(trial lab.Trial) float64 {
	var cpu float64
	for role, used := range trial.Metered.Roles {
		if role != lab.RoleGenerator {
			cpu += used.CPUSeconds
		}
	}
	if cost := trial.Measures[e.metricName(lab.CPU, 0, lab.PerOperation)]; cost > 0 && cpu > 0 {
		return cpu / cost
	}
	return float64(trial.Operations)
}

// mostProcesses is the largest number of names of processes that have rows of their own.
const mostProcesses = 12

// processUsages divide the use of a system that somebody else wrote by its processes or
// containers: medians over the trials, the dearest first, the cheap ones in one row. None
// where it is a single one.
func (e *experiment) processUsages(variant string, point lab.Point, trials []lab.Trial) []lab.RoleUsage {
	used := columns{}
	for _, trial := range trials {
		operations, window := e.costedOperations(trial), trial.Metered.WindowSeconds
		if operations <= 0 || window <= 0 {
			continue
		}
		sums := map[string]lab.ProcessUsage{} // replicas of a service have its name
		for _, p := range trial.Metered.Processes {
			sum := sums[p.Name]
			sum.CPUSeconds, sum.PeakMemoryBytes = sum.CPUSeconds+p.CPUSeconds, sum.PeakMemoryBytes+p.PeakMemoryBytes
			sum.ReceivedBytes, sum.SentBytes = sum.ReceivedBytes+p.ReceivedBytes, sum.SentBytes+p.SentBytes
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
		Role: fmt.Sprintf("%d others", len(rows)-mostProcesses)}
	for _, u := range rows[mostProcesses:] {
		rest = addUsage(rest, u)
	}
	return append(rows[:mostProcesses], rest)
}

// nodeLoads returns what the units of each node used, per variant and point, where the deployment
// has nodes: medians over the trials in which the node had units. Searches are left out:
// what they used on average is that of no load.
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

// pictures returns the architectures of the variants, with what they cost at each point. A layout depends
// on the variant and the point alone, so the first trial shows it.
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
				part.Links[i].Traffic = middleTraffic(trials, part.Name, link)
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

// middleTraffic returns the median over the trials of what went over a link.
func middleTraffic(trials []lab.Trial, from string, link lab.Link) map[string]float64 {
	counts := columns{}
	for _, trial := range trials {
		for _, part := range trial.Parts {
			for _, l := range part.Links {
				if part.Name != from || l.To != link.To {
					continue
				}
				for what, perOperation := range l.Traffic {
					counts.add(what, perOperation)
				}
			}
		}
	}
	middle := map[string]float64{}
	for what := range counts {
		middle[what] = counts.median(what)
	}
	return middle
}
