package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sharedMemoryFolder is where the host keeps named shared memory; see shm_overview(7).
const sharedMemoryFolder = "/dev/shm/"

// memory is files of the host's shared memory that servers below this process have had
// open or mapped. What one that dies has left there is removed: initdb's first
// PostgreSQL, for example, does not clean up when it is told to end.
type memory []string

// remove removes what is left.
func (m *memory) remove() {
	for _, path := range *m {
		_ = os.Remove(path) // most remove theirs themselves
	}
}

// look adds what the processes of a server have now. They are stopped for it: none can
// be at the point of making more, and die with the next signal. Of programs that are no
// server nothing is added, as it may be another's, too.
func (m *memory) look(kept Kept) {
	if !kept.Unprivileged {
		return
	}
	for _, pid := range stopBelow() {
		of := filepath.Join("/proc", strconv.Itoa(pid))
		links, _ := filepath.Glob(filepath.Join(of, "fd", "*")) // the pattern is right
		for _, link := range links {
			target, _ := os.Readlink(link) // "" of one that was closed since
			m.add(target)
		}
		maps, _ := os.ReadFile(filepath.Join(of, "maps")) // empty of a process that has ended
		for line := range strings.Lines(string(maps)) {
			if at := strings.Index(line, sharedMemoryFolder); at >= 0 {
				m.add(strings.TrimSpace(line[at:]))
			}
		}
	}
}

func (m *memory) add(path string) {
	if strings.HasPrefix(path, sharedMemoryFolder) && !strings.HasSuffix(path, " (deleted)") &&
		!slices.Contains(*m, path) {
		*m = append(*m, path)
	}
}

// stopPatience is how long processes may take to stop: one in the midst of a call to the
// disk comes out of it first.
const stopPatience = time.Second

// stopBelow stops every process below this one and returns them, none where none can be
// seen.
func stopBelow() []int {
	ours := func(all []entry) []int { return below(os.Getpid(), all) }
	stopped, _, _ := signalUntil(ours, syscall.SIGSTOP, func(p entry) bool { return p.stopped }, stopPatience)
	return stopped
}
