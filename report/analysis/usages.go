package analysis

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// usages are what each role and backing service used, per variant and point; of a system
// that somebody else wrote, which has one role, what each of its processes did. A
// job whose units are the system has its totals instead.
func (e *experiment) usages() []lab.RoleUsage {
	if len(e.study.Metrics) == 0 {
		return nil
	}
	var all []lab.RoleUsage
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			trials := e.counted(v.Name, point.Name)
			for _, role := range rolesOf(trials) {
				if parts := e.processUsages(v.Name, point, trials); v.External != nil && role != lab.RoleGenerator &&
					len(parts) > 0 {
					all = append(all, parts...)
					continue
				}
				all = append(all, e.roleUsage(v.Name, point, role, trials))
			}
		}
	}
	return all
}

// rolesOf are the roles that any of the trials metered, by name, the generator last.
func rolesOf(trials []lab.Trial) []string {
	names := map[string]bool{}
	for _, trial := range trials {
		for role := range trial.Metered.Roles {
			names[role] = true
		}
	}
	load := names[lab.RoleGenerator]
	delete(names, lab.RoleGenerator)
	roles := slices.Sorted(maps.Keys(names))
	if load {
		roles = append(roles, lab.RoleGenerator)
	}
	return roles
}

// roleUsage takes the medians over the trials. What no trial could measure is 0.
func (e *experiment) roleUsage(
	variant string, point lab.Point, role string, trials []lab.Trial,
) lab.RoleUsage {
	var cpu, share, memory []float64
	for _, trial := range trials {
		used, metered := trial.Metered.Roles[role]
		if !metered {
			continue
		}
		if _, missing := used.Unavailable["cpu_seconds"]; !missing {
			if n := e.costedOperations(trial); n > 0 {
				cpu = append(cpu, used.CPUSeconds/n)
			}
			if window := trial.Metered.WindowSeconds; window > 0 {
				share = append(share, used.CPUSeconds/window)
			}
		}
		if _, missing := used.Unavailable["peak_memory_bytes"]; !missing {
			memory = append(memory, float64(used.PeakMemoryBytes))
		}
	}
	return lab.RoleUsage{Variant: variant, Point: point, Role: role,
		CPUPerOperation: medianOrNone(cpu), CPUShare: medianOrNone(share), PeakMemory: medianOrNone(memory),
		Platform: platformUsage(role, trials)}
}

// platformUsage is what the platform said of a role, its units together: medians over the
// trials. nil where it said nothing in any of them.
func platformUsage(role string, trials []lab.Trial) *lab.PlatformUsage {
	var said, most, counted, lag, window []float64
	all := lab.PlatformUsage{Role: role}
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
		if units == 0 {
			continue
		}
		said, most, counted = append(said, sum.Millicores), append(most, sum.MostMillicores),
			append(counted, sum.GroupMillicores)
		lag, window = append(lag, sum.LagSeconds/units), append(window, sum.WindowSeconds/units)
	}
	if len(said) == 0 {
		return nil
	}
	all.Millicores, all.MostMillicores, all.GroupMillicores = medianOrNone(said), medianOrNone(most),
		medianOrNone(counted)
	all.LagSeconds, all.WindowSeconds = medianOrNone(lag), medianOrNone(window)
	return &all
}

// medianOrNone is the median, 0 of nothing.
func medianOrNone(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Median(values)
}

// costedOperations is the number of operations that the trial's CPU time was
// divided by: that of the system's own CPU cost per operation, so that the roles
// add up to it, else the trial's own count. 0 where neither is known.
func (e *experiment) costedOperations(trial lab.Trial) float64 {
	var cpu float64
	for role, used := range trial.Metered.Roles {
		if role != lab.RoleGenerator {
			cpu += used.CPUSeconds
		}
	}
	if cost := trial.Measures[e.named(lab.CPU, 0, lab.PerOperation)]; cost > 0 && cpu > 0 {
		return cpu / cost
	}
	return float64(trial.Operations)
}
