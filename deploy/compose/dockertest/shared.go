package dockertest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// shared is the daemon that tests of this program have together; nil: none has started it. It outlives tests,
// and only Main can end it.
var shared *Daemon

// share starts the shared daemon.
var share = sync.OnceValue(func() (err error) {
	if shared, err = run(); err == nil {
		err = os.Setenv("DOCKER_HOST", shared.host)
	}
	return err
})

// sharedImages are functions that make images for the shared daemon, once, by the name of the image.
var sharedImages sync.Map

// Main runs the tests of a program, from its TestMain, and ends the daemon that they have shared.
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

// Shared lets tests that run side by side, and the programs that they start, reach one private daemon. The
// first of them starts it, whatever answers on this host, and it serves the whole program from then on. Tests
// keep to what they have made there. Where none can be started the test is skipped, with the reason.
func Shared(t *testing.T) {
	t.Helper()
	testset.Need(t, "it runs containers")
	if err := share(); err != nil {
		t.Skip(err)
	}
}

// Once does what Shared does, and has an image of this name, which make makes for the first test that asks.
func Once(t *testing.T, name string, make func() error) {
	t.Helper()
	Shared(t)
	made, _ := sharedImages.LoadOrStore(name, sync.OnceValue(make))
	if err := made.(func() error)(); err != nil {
		t.Fatal(err)
	}
}
