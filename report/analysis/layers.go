package analysis

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// separateProfiled moves the valid profiled trials from the input to e.profiled, and removes all of them from
// trials and plan: timed trials are never compared with them.
func (e *experiment) separateProfiled() {
	for _, trial := range e.in.Trials {
		switch {
		case trial.Profiled && trial.Valid:
			e.profiled = append(e.profiled, trial)
		case trial.Profiled:
			e.note("Profiled trial %d of %s at %s did not count: %s.", trial.Number, trial.Variant, trial.Point.Name,
				trial.Reason)
		}
	}
	e.in.Trials = filter(e.in.Trials, func(t lab.Trial) bool { return !t.Profiled })
	e.in.Plan.Trials = filter(e.in.Plan.Trials, func(t lab.PlannedTrial) bool { return !t.Profiled })
}

// addLibraryCosts adds the series of the CPU time of libraries per operation: their share in a profiled trial
// times the cost of the timed trial of the same block.
func (e *experiment) addLibraryCosts() {
	cost := e.metricName(lab.CPU, 0, lab.PerOperation)
	metric := e.metricName(lab.LibraryCPU, 0, lab.PerOperation)
	for _, trial := range e.profiled {
		timed, found := e.series[seriesKey{trial.Variant, trial.Point.Name, cost}].at(trial.Block)
		p := profileOf([]lab.Trial{trial})
		if metric == "" || !found || p.samples == 0 {
			continue
		}
		at := seriesKey{trial.Variant, trial.Point.Name, metric}
		e.series[at] = e.series[at].set(trial.Block, timed*p.libraries())
	}
}

// profile holds the mean shares of layers in the CPU time over profiled trials.
type profile struct {
	trials  []lab.Trial // those with CPU time: the others have no shares
	samples int
	shares  map[lab.Layer]float64            // of the CPU time of all roles
	roles   map[string]map[lab.Layer]float64 // the same shares by role
}

// profileOf returns the profile of those trials that have CPU time, each with the same weight.
func profileOf(trials []lab.Trial) profile {
	p := profile{shares: map[lab.Layer]float64{}, roles: map[string]map[lab.Layer]float64{},
		trials: filter(trials, func(t lab.Trial) bool { return usedIn(t) > 0 })}
	for _, trial := range p.trials {
		total := usedIn(trial)
		for _, role := range trial.Layers {
			p.samples += role.Samples
			if p.roles[role.Role] == nil {
				p.roles[role.Role] = map[lab.Layer]float64{}
			}
			for layer, seconds := range role.Seconds {
				share := seconds / total / float64(len(p.trials))
				p.shares[layer] += share
				p.roles[role.Role][layer] += share
			}
		}
	}
	return p
}

// usedIn returns the CPU time of all roles of a profiled trial, in seconds.
func usedIn(trial lab.Trial) (sum float64) {
	for _, role := range trial.Layers {
		for _, seconds := range role.Seconds {
			sum += seconds
		}
	}
	return sum
}

// libraries returns the share of all libraries.
func (p profile) libraries() (sum float64) {
	for layer, share := range p.shares {
		if layer.IsLibrary() {
			sum += share
		}
	}
	return sum
}

// layers returns the CPU time of an operation by layer, for all variants and points with profiled trials.
func (e *experiment) layers() []lab.LayerShare {
	var all []lab.LayerShare
	for v, point := range e.settings() {
		trials := filter(e.profiled, func(t lab.Trial) bool {
			return t.Variant == v.Name && t.Point.Name == point.Name
		})
		if len(trials) > 0 {
			all = append(all, e.layersOf(v.Name, point, trials))
		}
	}
	return all
}

// countedPerOperation returns the mean instructions and cycles of an operation over the trials in which the
// processor counted them, or zeros. They are the counts per second of CPU time, times the CPU time of an
// operation, which the metric cost measures.
func (p profile) countedPerOperation(cost string) (instructions, cycles float64) {
	var n float64
	for _, trial := range p.trials {
		var counted lab.Counted
		for _, role := range trial.Layers {
			counted.Instructions += role.Instructions
			counted.Cycles += role.Cycles
		}
		if each, measured := trial.Measures[cost]; measured && counted.Instructions > 0 {
			instructions += counted.Instructions / usedIn(trial) * each
			cycles += counted.Cycles / usedIn(trial) * each
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return instructions / n, cycles / n
}

// layersOf returns the CPU time of an operation by layer and role: the mean shares of the profiled trials
// that have CPU time, times the mean cost of the timed ones.
func (e *experiment) layersOf(variant string, point lab.Point, trials []lab.Trial) lab.LayerShare {
	cost := e.metricName(lab.CPU, 0, lab.PerOperation)
	p := profileOf(trials)
	each, _ := e.mean(variant, point.Name, cost)
	share := lab.LayerShare{Variant: variant, Point: point, Trials: len(p.trials), Samples: p.samples,
		Runtimes: []string{}, CPUPerOperation: each, Libraries: p.libraries() * each}
	var profiled []float64
	var roles []string
	runtimes := map[string]string{} // by role
	for _, trial := range p.trials {
		if each, measured := trial.Measures[cost]; measured {
			profiled = append(profiled, each)
		}
		for _, role := range trial.Layers {
			roles = appendNew(roles, role.Role)
			if role.Runtime != "" {
				runtimes[role.Role] = role.Runtime
				share.Runtimes = appendNew(share.Runtimes, role.Runtime)
			}
		}
	}
	share.ProfiledCPUPerOperation = stats.Mean(profiled)
	share.Instructions, share.Cycles = p.countedPerOperation(cost)
	for _, layer := range lab.Layers() {
		if s := p.shares[layer]; s > 0 {
			share.Layers = append(share.Layers, lab.LayerTime{Layer: layer, Share: s, PerOperation: s * each})
		}
		for _, role := range roles {
			if s := p.roles[role][layer]; s > 0 {
				share.Roles = append(share.Roles, lab.RoleLayerTime{Role: role, Runtime: runtimes[role],
					Layer: layer, PerOperation: s * each})
			}
		}
	}
	return share
}
