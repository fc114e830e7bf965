package deploytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// Label returns the label of the test program as a conductor. It has the form of real labels, so that a
// "cleave clean" of other tests on this host spares what carries it while this program runs.
func Label(t *testing.T) string {
	t.Helper()
	own, err := launch.Own()
	testset.Must(t, err)
	return own.String()
}

// Labelled makes, finds and removes objects in a user's cluster that carry labels of conductors.
type Labelled struct {
	Prefix string // of the names of our objects
	Make   func(name, label string)
	IsKept func(name string) bool // reports whether the object is still there
	Remove func(name string)
	// Clean removes the objects of dead conductors, or of the one with a label if that is dead.
	Clean func(ctx context.Context, label string) (removed, unclear []string, err error)
}

// CleansTheDead checks that Clean removes objects of dead conductors, and keeps those of conductors that
// run, or may run, and objects that are not ours.
func CleansTheDead(t *testing.T, c Labelled) {
	t.Helper()
	own, err := launch.Own()
	testset.Must(t, err)
	dead := own
	elsewhere := launch.ID{Scope: "000000", PID: 7, Start: "1"}
	dead.PID = 1<<22 - 1 // the kernel's largest number
	dead.Start = "1"     // a time before any process of ours
	labels := map[string]string{"theirs": dead.String()}
	for _, id := range []launch.ID{own, dead, elsewhere} {
		label := id.String()
		labels[c.Prefix+label] = label
	}
	for name, label := range labels {
		c.Make(name, label)
	}
	if removed, unclear, err := c.Clean(t.Context(), own.String()); len(removed)+len(unclear) > 0 || err != nil {
		t.Errorf("of one that runs: removed %q, unclear %q, %v", removed, unclear, err)
	}
	removed, unclear, err := c.Clean(t.Context(), "")
	if err != nil || len(removed) != 1 || !strings.Contains(removed[0], dead.String()) || len(unclear) != 1 ||
		!strings.Contains(unclear[0], elsewhere.String()) {
		t.Errorf("removed %q, unclear %q, %v", removed, unclear, err)
	}
	for name := range labels {
		kept := c.IsKept(name)
		if kept != (name != c.Prefix+dead.String()) {
			t.Errorf("%s is there: %t", name, kept)
		}
		if kept {
			c.Remove(name)
		}
	}
}

// State holds all objects of a user's cluster, as JSON, by their path and name.
type State map[string]string

// Changes lists, sorted, what differs from a later state; "" means nothing.
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
