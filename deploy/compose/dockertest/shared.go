package dockertest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// shared is the daemon that tests of this program have together, with its images. It outlives tests, and only
// Main can end it.
var shared = sharing{images: map[string]error{}}

type sharing struct {
	mu     sync.Mutex
	daemon *Daemon
	err    error            // why there is none
	images map[string]error // what came of making them
}

// Main runs the tests of a program, from its TestMain, and ends the daemon that they have shared.
func Main(run func() int) int {
	code := run()
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
	if err := shared.start(); err != nil {
		t.Skip(err)
	}
}

// Once does what Shared does, and has an image of this name, which make makes for the first test that asks.
func Once(t *testing.T, name string, make func() error) {
	t.Helper()
	Shared(t)
	if err := shared.image(name, make); err != nil {
		t.Fatal(err)
	}
}

func (s *sharing) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.daemon == nil && s.err == nil {
		if s.daemon, s.err = run(); s.err == nil {
			s.err = os.Setenv("DOCKER_HOST", s.daemon.host)
		}
	}
	return s.err
}

func (s *sharing) image(name string, make func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, made := s.images[name]; !made {
		s.images[name] = make()
	}
	return s.images[name]
}

func (s *sharing) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.daemon == nil {
		return nil
	}
	return s.daemon.end()
}
