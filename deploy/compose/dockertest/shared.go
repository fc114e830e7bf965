package dockertest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// shared is the daemon that the tests of this program share; nil until one of them calls Shared. No test may
// end it: Main does.
var shared *Daemon

// share starts the shared daemon.
var share = sync.OnceValue(func() (err error) {
	if shared, err = run(); err == nil {
		err = os.Setenv("DOCKER_HOST", shared.host)
	}
	return err
})

// sharedImages holds functions that make an image for the shared daemon once, by the name of the image.
var sharedImages sync.Map

// Main runs the tests of a program, ends the daemon that they have shared, and returns the exit status.
// TestMain calls it.
func Main(run func() int) int {
	code := run()
	if shared == nil {
		return code
	}
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Shared gives tests that run concurrently, and the programs that they start, one private daemon. The first
// of them starts it, also if this host has another one, and it serves the whole program from then on. Tests
// must use only objects that they have made. It skips the test if no daemon can be started.
func Shared(t *testing.T) {
	t.Helper()
	testset.Need(t, "it runs containers")
	if err := share(); err != nil {
		t.Skip(err)
	}
}

// Once does what Shared does, and calls build to make the image of a name, unless an earlier test of this
// program has done so.
func Once(t *testing.T, name string, build func() error) {
	t.Helper()
	Shared(t)
	made, _ := sharedImages.LoadOrStore(name, sync.OnceValue(build))
	if err := made.(func() error)(); err != nil {
		t.Fatal(err)
	}
}
