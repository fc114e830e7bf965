package trial

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// clients returns the number of connections to the target, and their name: users or connections.
func (t *Trial) clients() (what string, n int) {
	if t.model.users > 0 {
		return "users", t.model.users
	}
	return "connections", t.spec.Connections
}

// FilesError is the error of a process that may open fewer files than a load needs.
type FilesError struct {
	What          string // connections or users
	Asked, Needed int
	Limit         uint64
}

// Error returns the limit and advice.
func (f *FilesError) Error() string {
	return fmt.Sprintf("%d %s need %d open files, and a process may have %d here: raise it with ulimit -n %d, "+
		"or use at most %d %s",
		f.Asked, f.What, f.Needed, f.Limit, f.Needed, max(int(f.Limit)-otherFiles, 0), f.What)
}

// otherFiles is the number of files that a generator opens in addition to its connections: those of its
// loops and outputs, and connections that check whether the target is ready.
const otherFiles = 40

// checkFiles compares the files that the load needs with the hard limit, to which Go's runtime has raised
// the soft limit.
func (t *Trial) checkFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	what, n := t.clients()
	n = (n + t.spec.Of - 1) / t.spec.Of
	if needed := n + otherFiles; uint64(needed) > limit.Max {
		return &FilesError{What: what, Asked: n, Needed: needed, Limit: limit.Max}
	}
	return nil
}
