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

// shared has the servers that tests of this program have together. They outlive tests, and
// only Main can end them.
var shared = sharing{begun: map[string]*common{}}

type sharing struct {
	mu    sync.Mutex
	begun map[string]*common // by kind and settings
}

// common is one of them, or why it is not there.
type common struct {
	instance *Instance
	dir      string
	err      error
}

// Shared returns a server that the first test to ask for one of its kind and settings starts, and
// that ends with the program; without its own program tests are skipped. Tests keep to what
// they have made there, and leave the server running.
func Shared(t testing.TB, kind server.Kind, settings server.Settings) *Instance {
	t.Helper()
	Need(t, kind)
	c := shared.server(kind, settings)
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.instance
}

func (s *sharing) server(kind server.Kind, settings server.Settings) *common {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(kind, settings)
	if s.begun[key] == nil {
		c := &common{}
		// The paths of servers' sockets must be short.
		if c.dir, c.err = os.MkdirTemp("", "cleave-db-"); c.err == nil {
			c.instance, c.err = Start(context.Background(), kind, c.dir, settings)
		}
		s.begun[key] = c
	}
	return s.begun[key]
}

// end ends all of them and removes what they had.
func (s *sharing) end() error {
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
