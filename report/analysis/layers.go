package analysis

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// setApart takes the profiled trials out of the others, in the plan as among the records:
// nothing that is timed is compared with them. The records that count are kept.
func (e *experiment) setApart() {
	for _, trial := range e.in.Trials {
		switch {
		case trial.Profiled && trial.Valid:
			e.profiled = append(e.profiled, trial)
		case trial.Profiled:
			e.note("Profiled trial %d of %s at %s did not count: %s.", trial.Number, trial.Variant, trial.Point.Name,
				trial.Reason)
		}
	}
	timed := func(t lab.Trial) bool { return t.Profiled }
	e.in.Trials = slices.DeleteFunc(slices.Clone(e.in.Trials), timed)
	e.in.Plan.Trials = slices.DeleteFunc(slices.Clone(e.in.Plan.Trials),
		func(t lab.PlannedTrial) bool { return t.Profiled })
}

// takeLayers gives libraries what profiles say is theirs of the CPU time of an operation:
// of the timed trial of the same block.
func (e *experiment) takeLayers() {
	cost, metric := e.named(lab.CPU, 0, lab.PerOperation), e.named(lab.LibraryCPU, 0, lab.PerOperation)
	for _, trial := range e.profiled {
		timed, was := e.cells[cell{trial.Variant, trial.Point.Name, cost}].at(trial.Block)
		shares, samples := sharesOf(trial)
		if metric == "" || !was || samples == 0 {
			continue
		}
		at := cell{trial.Variant, trial.Point.Name, metric}
		e.cells[at] = e.cells[at].set(trial.Block, timed*libraries(shares))
	}
}

// sharesOf returns the shares of the layers in the CPU time of a profiled trial.
func sharesOf(trial lab.Trial) (shares map[lab.Layer]float64, samples int) {
	shares = map[lab.Layer]float64{}
	var total float64
	for _, role := range trial.Layers {
		samples += role.Samples
		for layer, seconds := range role.Seconds {
			shares[layer] += seconds
			total += seconds
		}
	}
	for layer := range shares {
		shares[layer] /= total
	}
	return shares, samples
}

func libraries(shares map[lab.Layer]float64) float64 {
	var sum float64
	for layer, share := range shares {
		if layer.IsLibrary() {
			sum += share
		}
	}
	return sum
}

// layers returns where the CPU time of an operation goes, of every variant at every point.
func (e *experiment) layers() []lab.LayerShare {
	var all []lab.LayerShare
	for v, point := range e.places() {
		trials := slices.DeleteFunc(slices.Clone(e.profiled),
			func(t lab.Trial) bool { return t.Variant != v.Name || t.Point.Name != point.Name })
		if len(trials) > 0 {
			all = append(all, e.layersOf(v.Name, point, trials))
		}
	}
	return all
}

// layersOf takes the means of the shares over profiled trials.
func (e *experiment) layersOf(variant string, point lab.Point, trials []lab.Trial) lab.LayerShare {
	cost := e.named(lab.CPU, 0, lab.PerOperation)
	share := lab.LayerShare{Variant: variant, Point: point, Trials: len(trials), Runtimes: []string{},
		CPUPerOperation: stats.Mean(e.cells[cell{variant, point.Name, cost}].values)}
	var profiled []float64
	whole, byRole, runtimes := map[lab.Layer]float64{}, map[string]map[lab.Layer]float64{}, map[string]string{}
	for _, trial := range trials {
		profiled = append(profiled, trial.Measures[cost])
		shares, samples := sharesOf(trial)
		share.Samples += samples
		for layer, s := range shares {
			whole[layer] += s / float64(len(trials))
		}
		var total float64
		for _, role := range trial.Layers {
			for _, seconds := range role.Seconds {
				total += seconds
			}
		}
		for _, role := range trial.Layers {
			if byRole[role.Role] == nil {
				byRole[role.Role] = map[lab.Layer]float64{}
			}
			runtimes[role.Role] = role.Runtime
			if role.Runtime != "" && !slices.Contains(share.Runtimes, role.Runtime) {
				share.Runtimes = append(share.Runtimes, role.Runtime)
			}
			for layer, seconds := range role.Seconds {
				byRole[role.Role][layer] += seconds / total / float64(len(trials))
			}
		}
	}
	share.ProfiledCPUPerOperation = stats.Mean(profiled)
	for _, layer := range lab.Layers() {
		if whole[layer] > 0 {
			share.Layers = append(share.Layers, lab.LayerTime{Layer: layer, Share: whole[layer],
				PerOperation: whole[layer] * share.CPUPerOperation})
		}
		for _, role := range trials[0].Layers {
			if s := byRole[role.Role][layer]; s > 0 {
				share.Roles = append(share.Roles, lab.RoleLayerTime{Role: role.Role, Runtime: runtimes[role.Role],
					Layer: layer, PerOperation: s * share.CPUPerOperation})
			}
		}
	}
	share.Libraries = libraries(whole) * share.CPUPerOperation
	return share
}
