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

// shared holds the servers that the tests of this program share. Main ends them after all tests.
var shared = sharedServers{begun: map[string]*sharedServer{}}

// sharedServers starts each server once, and keeps it until end.
type sharedServers struct {
	mu    sync.Mutex
	begun map[string]*sharedServer // by kind and settings, as text
}

// sharedServer is a server, or the error of its start.
type sharedServer struct {
	instance *Instance
	dir      string
	err      error
}

// Shared returns the shared server of a kind with these settings. The first call starts it; it ends with the
// test program. If the server's program is missing, the test is skipped. Tests must use databases or queues
// of their own, and must not stop the server.
func Shared(t testing.TB, kind server.Kind, settings server.Settings) *Instance {
	t.Helper()
	Need(t, kind)
	c := shared.server(kind, settings)
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.instance
}

// server returns the server of a kind with these settings. The first call starts it.
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

// end stops all shared servers and removes their folders.
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
