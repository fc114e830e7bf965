package analysis

import (
	"cmp"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// platforms returns the overhead of platforms, per variant and point. Processes run directly on
// the kernel: if all units are processes, there is none.
func (e *experiment) platforms() []lab.PlatformTake {
	if !slices.ContainsFunc(e.variants(), func(v lab.Variant) bool { return v.Deployment != lab.Process }) {
		return nil
	}
	var all []lab.PlatformTake
	for at, trials := range e.trialsBySetting() {
		metered := slices.DeleteFunc(trials, func(t lab.Trial) bool { return t.Platform == nil })
		if len(metered) > 0 {
			all = append(all, e.platform(at.Variant, at.point, metered))
		}
	}
	return all
}

// platform returns the overhead of a platform: medians over trials that have metered it.
func (e *experiment) platform(v lab.Variant, point lab.Point, trials []lab.Trial) lab.PlatformTake {
	c := columns{}
	for _, t := range trials {
		c.add("made", t.Platform.MadeSeconds)
		c.add("images", t.Platform.ImagesSeconds)
		c.add("ready", t.Platform.ReadySeconds)
		if used := t.Platform.Used; used != nil {
			c.add("share", used.CPUSeconds/t.Metered.WindowSeconds)
			c.add("cost", used.CPUSeconds/e.costedOperations(t))
			c.add("mean", float64(used.MeanMemoryBytes))
			c.add("peak", float64(used.PeakMemoryBytes))
		}
		for _, f := range t.Faults {
			isHealed := f.Effective && f.Error == ""
			if isHealed && f.Kind.Ends() {
				c.add("back", f.Healed-f.Began-f.Heal)
			}
			if f.Noticed > 0 {
				c.add("noticed", f.Noticed)
			}
		}
	}
	last := trials[len(trials)-1].Platform
	return lab.PlatformTake{
		Variant: v.Name, Point: point, Deployment: v.Deployment, Trials: len(trials), Images: last.Images,
		Source: last.Source, Unmetered: last.Unmetered,
		MadeSeconds: c.median("made"), ImagesSeconds: c.median("images"), ReadySeconds: c.median("ready"),
		NothingSeconds: c.median("made") + c.median("images") + c.median("ready"),
		CPUShare:       c.median("share"), CPUPerOperation: c.median("cost"),
		MeanMemory: c.median("mean"), PeakMemory: c.median("peak"),
		Starts: starts(trials), Processes: programs(trials),
		BackSeconds: c.median("back"), NoticedSeconds: c.median("noticed"),
	}
}

// starts returns the median start-up times of units, the slowest first.
func starts(trials []lab.Trial) []lab.UnitStart {
	seconds := columns{}
	for _, trial := range trials {
		for _, s := range trial.Platform.Starts {
			seconds.add(s.Unit, s.Seconds)
		}
	}
	var all []lab.UnitStart
	for unit := range seconds {
		all = append(all, lab.UnitStart{Unit: unit, Seconds: seconds.median(unit)})
	}
	slices.SortFunc(all, func(a, b lab.UnitStart) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Unit, b.Unit))
	})
	return all
}

// programs returns the median usage of the platform's programs, the processes of each together, in the order
// of their CPU time.
func programs(trials []lab.Trial) []lab.PlatformProgram {
	used := columns{}
	for _, trial := range trials {
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
