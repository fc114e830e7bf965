package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sharedMemoryFolder is where the host keeps named shared memory; see shm_overview(7).
const sharedMemoryFolder = "/dev/shm/"

// memoryBelow lists the files there that processes below this one have open or mapped.
func memoryBelow() []string {
	all, err := processes()
	if err != nil {
		return nil // nobody can be seen
	}
	var found []string
	add := func(path string) {
		if strings.HasPrefix(path, sharedMemoryFolder) && !strings.HasSuffix(path, " (deleted)") && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	for _, pid := range below(os.Getpid(), all) {
		of := filepath.Join("/proc", strconv.Itoa(pid))
		links, _ := filepath.Glob(filepath.Join(of, "fd", "*")) // the pattern is right
		for _, link := range links {
			target, _ := os.Readlink(link) // "" of one that was closed since
			add(target)
		}
		maps, _ := os.ReadFile(filepath.Join(of, "maps")) // empty of a process that has ended
		for line := range strings.Lines(string(maps)) {
			if at := strings.Index(line, sharedMemoryFolder); at >= 0 {
				add(strings.TrimSpace(line[at:]))
			}
		}
	}
	return found
}
