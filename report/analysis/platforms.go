package analysis

import (
	"cmp"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// platforms returns what platforms took beside the units, per variant and point. Where all
// units are processes there is nothing between them and the kernel, and nothing to tell.
func (e *experiment) platforms() []lab.PlatformTake {
	if !slices.ContainsFunc(e.variants(), func(v lab.Variant) bool { return v.Deployment != lab.Process }) {
		return nil
	}
	var all []lab.PlatformTake
	for at, trials := range e.trialsByPlace() {
		told := slices.DeleteFunc(trials, func(t lab.Trial) bool { return t.Platform == nil })
		if len(told) > 0 {
			all = append(all, e.platform(at.Variant, at.point, told))
		}
	}
	return all
}

// platform takes the medians over trials that have told of their platform.
func (e *experiment) platform(v lab.Variant, point lab.Point, trials []lab.Trial) lab.PlatformTake {
	last := trials[len(trials)-1].Platform
	middle := func(of func(lab.Trial) (float64, bool)) float64 {
		var values []float64
		for _, trial := range trials {
			if value, has := of(trial); has {
				values = append(values, value)
			}
		}
		return stats.Median(values)
	}
	used := func(of func(lab.Trial) float64) float64 {
		return middle(func(t lab.Trial) (float64, bool) {
			if t.Platform.Used == nil {
				return 0, false
			}
			value := of(t)
			return value, figure.Finite(value)
		})
	}
	take := lab.PlatformTake{
		Variant: v.Name, Point: point, Deployment: v.Deployment, Trials: len(trials), Images: last.Images,
		Source: last.Source, Unmetered: last.Unmetered,
		MadeSeconds:   middle(func(t lab.Trial) (float64, bool) { return t.Platform.MadeSeconds, true }),
		ImagesSeconds: middle(func(t lab.Trial) (float64, bool) { return t.Platform.ImagesSeconds, true }),
		ReadySeconds:  middle(func(t lab.Trial) (float64, bool) { return t.Platform.ReadySeconds, true }),
		CPUShare: used(func(t lab.Trial) float64 {
			return t.Platform.Used.CPUSeconds / t.Metered.WindowSeconds
		}),
		CPUPerOperation: used(func(t lab.Trial) float64 {
			return t.Platform.Used.CPUSeconds / e.costedOperations(t)
		}),
		MeanMemory: used(func(t lab.Trial) float64 { return float64(t.Platform.Used.MeanMemoryBytes) }),
		PeakMemory: used(func(t lab.Trial) float64 { return float64(t.Platform.Used.PeakMemoryBytes) }),
	}
	take.NothingSeconds = take.MadeSeconds + take.ImagesSeconds + take.ReadySeconds
	take.Starts, take.Processes = starts(trials), programs(trials)
	take.BackSeconds = ofFaults(trials, func(f lab.FaultRecord) (float64, bool) {
		return f.Healed - f.Began - f.Heal, f.Effective && f.Error == "" && f.Kind.Ends()
	})
	take.NoticedSeconds = ofFaults(trials, func(f lab.FaultRecord) (float64, bool) {
		return f.Noticed, f.Noticed > 0
	})
	return take
}

// ofFaults returns the median of what is told of the faults of trials, of those of which it is told.
func ofFaults(trials []lab.Trial, told func(lab.FaultRecord) (seconds float64, known bool)) float64 {
	var all []float64
	for _, trial := range trials {
		for _, f := range trial.Faults {
			if seconds, known := told(f); known {
				all = append(all, seconds)
			}
		}
	}
	return stats.Median(all)
}

// starts returns how long units took, the slowest first.
func starts(trials []lab.Trial) []lab.UnitStart {
	seconds := columns{}
	for _, trial := range trials {
		for _, s := range trial.Platform.Starts {
			seconds.add(s.Unit, s.Seconds)
		}
	}
	var all []lab.UnitStart
	for unit := range seconds {
		all = append(all, lab.UnitStart{Unit: unit, Seconds: seconds.medians(unit)[0]})
	}
	slices.SortFunc(all, func(a, b lab.UnitStart) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Unit, b.Unit))
	})
	return all
}

// programs returns what the programs of platforms used, all parts together, the dearest first.
func programs(trials []lab.Trial) []lab.PlatformProgram {
	used := columns{}
	for _, trial := range trials {
		if trial.Metered.WindowSeconds <= 0 {
			continue
		}
		sums := map[string]lab.PlatformProgram{}
		for _, p := range trial.Platform.Processes {
			sum := sums[p.Name]
			sum.Processes += float64(p.Processes)
			sum.CPUShare += p.CPUSeconds / trial.Metered.WindowSeconds
			sum.PeakMemory += float64(p.PeakMemoryBytes)
			sums[p.Name] = sum
		}
		for name, sum := range sums {
			used.add(name, sum.Processes, sum.CPUShare, sum.PeakMemory)
		}
	}
	var all []lab.PlatformProgram
	for name := range used {
		m := used.medians(name)
		all = append(all, lab.PlatformProgram{Name: name, Processes: m[0], CPUShare: m[1], PeakMemory: m[2]})
	}
	slices.SortFunc(all, func(a, b lab.PlatformProgram) int {
		return cmp.Or(cmp.Compare(b.CPUShare, a.CPUShare), cmp.Compare(a.Name, b.Name))
	})
	return all
}
