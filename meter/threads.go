package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

var _ lab.ThreadMeter = (*Meter)(nil)

// Threads implements lab.ThreadMeter. Times are in the kernel's ticks of 10 ms, which is precise enough
// for the long windows of profiles. It is more expensive than a round of Watch. It skips units that have
// ended: a fault may have killed them, and otherwise the next mark fails.
func (m *Meter) Threads(units []lab.Unit) ([]lab.ThreadUse, error) {
	var all []lab.ThreadUse
	for _, unit := range units {
		if unit.Standby { // it does not run yet
			continue
		}
		pids, err := processesOf(unit)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, pid := range pids {
			all = append(all, threadsOf(unit, pid)...)
		}
	}
	return all, nil
}

// processesOf returns the numbers of a unit's processes.
func processesOf(unit lab.Unit) ([]int, error) {
	source, _, err := openSource(unit)
	if err != nil {
		return nil, err
	}
	defer source.close()
	if several, is := source.(interface{ pids() ([]int, error) }); is {
		return several.pids()
	}
	return []int{unit.PID}, nil
}

// threadsOf returns the threads of a process. It skips threads that have ended since they were listed.
func threadsOf(unit lab.Unit, pid int) []lab.ThreadUse {
	folder := fmt.Sprintf("/proc/%d/task", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // it has ended
	}
	var all []lab.ThreadUse
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name(), "stat"))
		if err != nil {
			continue
		}
		used, err := parseStat(text)
		if err != nil {
			continue
		}
		tid, _ := strconv.Atoi(entry.Name()) // a number of the kernel
		first := strings.IndexByte(string(text), '(')
		last := strings.LastIndexByte(string(text), ')')
		all = append(all, lab.ThreadUse{Unit: unit.Name, Role: unit.Role, ID: fmt.Sprintf("%d/%d", pid, tid),
			PID: pid, First: tid == pid, Name: string(text[first+1 : last]),
			UserSeconds:   float64(used.userTicks) / ticksPerSecond,
			SystemSeconds: float64(used.systemTicks) / ticksPerSecond})
	}
	return all
}
