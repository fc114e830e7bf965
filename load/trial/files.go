package trial

import (
	"cmp"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/stream"
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
	Each          int // number of users of a connection
	Limit         uint64
}

// Error returns the limit and advice.
func (f *FilesError) Error() string {
	return fmt.Sprintf("%d %s need %d open files, and a process may have %d here: raise it with ulimit -n %d, "+
		"or use at most %d %s",
		f.Asked, f.What, f.Needed, f.Limit, f.Needed, f.Each*max(int(f.Limit)-otherFiles, 0), f.What)
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
	each := t.usersOfAConnection()
	if needed := (n+each-1)/each + otherFiles; uint64(needed) > limit.Max {
		return &FilesError{What: what, Asked: n, Needed: needed, Each: each, Limit: limit.Max}
	}
	return nil
}

// usersOfAConnection returns the number of users that share a connection. A server that is asked by https may
// choose HTTP/1.1, where each has its own.
func (t *Trial) usersOfAConnection() int {
	if t.Open() || t.spec.OneUse || t.protocol() == stream.Auto {
		return 1
	}
	return cmp.Or(t.spec.Streams, stream.DefaultStreams)
}
