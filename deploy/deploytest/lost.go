package deploytest

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// Road leads to a manager, an API server or a registry, until it is cut.
type Road struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

// NewRoad leads to an address of a network; it is cut with the test.
func NewRoad(t *testing.T, network, to string) *Road {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	r := &Road{Listener: listener}
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial(network, to)
			if err != nil {
				_ = here.Close()
				continue
			}
			r.mu.Lock()
			r.open = append(r.open, here, there)
			r.mu.Unlock()
			for _, pair := range [][2]net.Conn{{here, there}, {there, here}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	t.Cleanup(r.Cut)
	return r
}

// Cut ends it with all that is on it.
func (r *Road) Cut() {
	_ = r.Listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, connection := range r.open {
		_ = connection.Close()
	}
}

// Front returns a layout of a lead and a unit that serves.
func Front() lab.Layout { return Layout("front") }

// Folder returns one of a trial.
func Folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trial")
	Must(t, os.Mkdir(dir, 0o700))
	return dir
}

// Says fails the test where an error does not say all of these words.
func Says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want it to say %q", err, word)
		}
	}
}

// State is all that a cluster of the user's keeps, as JSON, by where it is and its name.
type State map[string]string

// Changes says what is different later; nothing: "".
func (s State) Changes(later State) string {
	var changes []string
	for name, was := range s {
		if is := later[name]; is != was {
			changes = append(changes, fmt.Sprintf("%s\n  was %s\n  is %s", name, was, is))
		}
	}
	for name, is := range later {
		if s[name] == "" {
			changes = append(changes, fmt.Sprintf("%s is new: %s", name, is))
		}
	}
	slices.Sort(changes)
	return strings.Join(changes, "\n")
}

// Must ends the test with an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
