package process

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// entry is a process of this host, as /proc/PID/stat shows it.
type entry struct {
	pid, parent, group int
	zombie, stopped    bool
}

// processes lists the processes of this host.
func processes() ([]entry, error) {
	listed, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]entry, 0, len(listed))
	for _, p := range listed {
		stat, err := p.Stat()
		if err != nil {
			continue // ended since the listing
		}
		all = append(all, entry{
			pid: stat.PID, parent: stat.PPID, group: stat.PGRP,
			zombie: stat.State == "Z" || stat.State == "X", stopped: stat.State == "T" || stat.State == "t",
		})
	}
	return all, nil
}

// below lists the living processes that descend from root.
func below(root int, all []entry) []int {
	children := map[int][]entry{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			queue = append(queue, child.pid)
			if !child.zombie {
				found = append(found, child.pid)
			}
		}
	}
	return found
}
