package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/backing/server"
)

// shared holds the servers that the tests of this program share. They outlive tests, and only Main ends them.
var shared = sharedServers{begun: map[string]*sharedServer{}}

type sharedServers struct {
	mu    sync.Mutex
	begun map[string]*sharedServer // by kind and settings
}

// sharedServer is a server, or the error of its start.
type sharedServer struct {
	instance *Instance
	dir      string
	err      error
}

// Shared returns a server of a kind and settings, which the first test that asks for it starts, and which
// ends with the test program. It skips the test if the server's program is missing. Tests use only what they
// have made there, and leave the server running.
func Shared(t testing.TB, kind server.Kind, settings server.Settings) *Instance {
	t.Helper()
	Need(t, kind)
	c := shared.server(kind, settings)
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.instance
}

func (s *sharedServers) server(kind server.Kind, settings server.Settings) *sharedServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(kind, settings)
	if s.begun[key] == nil {
		c := &sharedServer{}
		// The paths of servers' sockets must be short.
		if c.dir, c.err = os.MkdirTemp("", "cleave-db-"); c.err == nil {
			c.instance, c.err = Start(context.Background(), kind, c.dir, settings)
		}
		s.begun[key] = c
	}
	return s.begun[key]
}

// end ends all shared servers and removes their folders.
func (s *sharedServers) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []error
	for _, c := range s.begun {
		if c.err == nil {
			problems = append(problems, c.instance.Stop())
		}
		problems = append(problems, os.RemoveAll(c.dir))
	}
	return errors.Join(problems...)
}
