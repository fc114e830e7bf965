package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// entry is a process of this host, as /proc/PID/stat shows it.
type entry struct {
	pid, parent, group int
	zombie             bool
}

// processes lists the processes of this host.
func processes() ([]entry, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []entry
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // ended since the listing
		}
		if p, ok := parseStat(string(data)); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parseStat reads a line of /proc/PID/stat. The command name stands in
// parentheses and may itself contain blanks and parentheses.
func parseStat(stat string) (entry, bool) {
	open, closing := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || closing < open {
		return entry{}, false
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(stat[:open]))
	fields := strings.Fields(stat[closing+1:]) // state, parent, group, ...
	if len(fields) < 3 {
		return entry{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	return entry{pid: pid, parent: parent, group: group, zombie: fields[0] == "Z" || fields[0] == "X"}, true
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
