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

// sharedMemoryFolder holds the named shared memory of the host; see shm_overview(7).
const sharedMemoryFolder = "/dev/shm/"

// sharedFiles lists files of the host's shared memory that processes of a server have had
// open or mapped, so that files that a killed server has left can be removed: the
// PostgreSQL of initdb, for example, does not remove its own when it gets a SIGTERM.
type sharedFiles []string

// remove removes the files that are left.
func (m *sharedFiles) remove() {
	for _, path := range *m {
		_ = os.Remove(path) // most servers have removed theirs
	}
}

// stopAndAdd stops the processes of a server, so that none makes another file unseen before the
// next signal, and adds the files that they have now. It does nothing for other programs, which
// keep their privileges: their files may belong to programs outside of the trial, too.
func (m *sharedFiles) stopAndAdd(kept keptProgram) {
	if !kept.unprivileged {
		return
	}
	ours := func(all []entry) []int { return below(os.Getpid(), all) }
	// There are none if the processes cannot be listed.
	stopped, _, _ := signalUntil(ours, syscall.SIGSTOP, func(p entry) bool { return p.stopped }, stopPatience)
	for _, pid := range stopped {
		process := filepath.Join("/proc", strconv.Itoa(pid))
		links, _ := filepath.Glob(filepath.Join(process, "fd", "*")) // the pattern is well formed
		for _, link := range links {
			target, _ := os.Readlink(link) // "" of one that was closed since
			m.add(target)
		}
		maps, _ := os.ReadFile(filepath.Join(process, "maps")) // empty of a process that has ended
		for line := range strings.Lines(string(maps)) {
			if at := strings.Index(line, sharedMemoryFolder); at >= 0 {
				m.add(strings.TrimSpace(line[at:]))
			}
		}
	}
}

// add adds a path unless it is no file of shared memory, removed, or known.
func (m *sharedFiles) add(path string) {
	if strings.HasPrefix(path, sharedMemoryFolder) && !strings.HasSuffix(path, " (deleted)") &&
		!slices.Contains(*m, path) {
		*m = append(*m, path)
	}
}

// stopPatience bounds how long processes may take to stop: one that waits for a disk
// stops only afterwards.
const stopPatience = time.Second
