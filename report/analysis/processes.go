package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// mostProcesses is how many names of processes a report shows by themselves.
const mostProcesses = 12

// processUsages divide the use of a system that somebody else wrote by its processes or
// containers: medians over the trials, the dearest first, the cheap ones in one row. None
// where it is a single one.
func (e *experiment) processUsages(variant string, point lab.Point, trials []lab.Trial) []lab.RoleUsage {
	type uses struct{ cpu, share, memory, network []float64 }
	byName := map[string]*uses{}
	for _, trial := range trials {
		operations, window := e.costedOperations(trial), trial.Metered.WindowSeconds
		if operations <= 0 || window <= 0 {
			continue
		}
		for _, p := range trial.Metered.Processes {
			if byName[p.Name] == nil {
				byName[p.Name] = &uses{}
			}
			u := byName[p.Name]
			u.cpu, u.share = append(u.cpu, p.CPUSeconds/operations), append(u.share, p.CPUSeconds/window)
			u.memory = append(u.memory, float64(p.PeakMemoryBytes))
			u.network = append(u.network, float64(p.ReceivedBytes+p.SentBytes)/operations)
		}
	}
	if len(byName) < 2 {
		return nil
	}
	var rows []lab.RoleUsage
	for name, u := range byName {
		rows = append(rows, lab.RoleUsage{Variant: variant, Point: point, Role: name,
			CPUPerOperation: medianOrNone(u.cpu),
			CPUShare:        medianOrNone(u.share), PeakMemory: medianOrNone(u.memory),
			NetworkPerOperation: medianOrNone(u.network)})
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
		rest.CPUPerOperation += u.CPUPerOperation
		rest.CPUShare += u.CPUShare
		rest.PeakMemory += u.PeakMemory
		rest.NetworkPerOperation += u.NetworkPerOperation
	}
	return append(rows[:mostProcesses], rest)
}
