// Package fleet owns the life of a deployment, whatever its units run on: the order of their start, when they
// can be used, their lives one after another, what they say and are told, faults with their proofs, logs,
// what they hand over, and an end that nobody asked for, which fails the trial. A platform (Platform,
// Instance) says what differs: what is done to one life of a unit, and to a node.
//
// A Supervisor is the conductor's side of the control protocol, and has all units of a trial; a Fleet is
// those of them that one platform runs.
//
// Entry points: NewSupervisor, New, Supervisor.Begin; Fleet.Harm and Fleet.Heal.
package fleet

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// Fleet is the units of a layout that one platform runs, each in its present life, beside those that others
// run under the same supervisor. L is what the platform has of a life.
type Fleet[L Instance] struct {
	*Supervisor
	// Relays stand before units that can become slow.
	Relays relay.Relays
	// Beside is what runs as processes of this host beside the units; nil: nothing yet.
	Beside lab.Deployment
	// Watching ends with Unwatch, when the fleet is no more.
	Watching context.Context
	Unwatch  context.CancelFunc

	platform Platform[L]
	dir      string // of the trial

	mu       sync.Mutex
	byName   map[string]L
	prepared []L                // commands that ran before the units
	harmed   map[fault]struct{} // not healed yet
}

// New returns a fleet without units, whose trial has its files in a folder. It outlives ctx.
func New[L Instance](ctx context.Context, s *Supervisor, dir string, platform Platform[L]) *Fleet[L] {
	f := &Fleet[L]{Supervisor: s, dir: dir, platform: platform, byName: map[string]L{},
		harmed: map[fault]struct{}{}}
	f.Watching, f.Unwatch = context.WithCancel(context.WithoutCancel(ctx))
	return f
}

// unit has everything that holds a Unit be a life of it.
func (u *Unit) unit() *Unit { return u }

// Add takes a unit in, in the place of its former life where it had one. A command that
// prepares is none of the units.
func (f *Fleet[L]) Add(life L) {
	u := life.unit()
	f.mu.Lock()
	if u.Prepares {
		f.prepared = append(f.prepared, life)
	} else {
		f.byName[u.Spec.Name] = life
	}
	f.mu.Unlock()
	if !u.Prepares {
		f.Supervisor.Add(u)
	}
}

// Named returns the present life of a unit; the zero value where the platform runs none of the name.
func (f *Fleet[L]) Named(name string) L {
	life, _ := f.find(name)
	return life
}

func (f *Fleet[L]) find(name string) (life L, runs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	life, runs = f.byName[name]
	return life, runs
}

// All returns the units of the platform as they are now, in the order of the layout.
func (f *Fleet[L]) All() []L {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []L
	for _, u := range f.Supervisor.All() {
		if life, ours := f.byName[u.Spec.Name]; ours {
			all = append(all, life)
		}
	}
	return all
}

// Prepared returns the commands that ran before the units, in their order.
func (f *Fleet[L]) Prepared() []L {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.prepared)
}

// Everything returns what prepared and the units as they are now.
func (f *Fleet[L]) Everything() []L { return append(f.Prepared(), f.All()...) }

// Logs implements lab.Deployment.
func (f *Fleet[L]) Logs() map[string]string {
	logs := map[string]string{}
	if f.Beside != nil {
		maps.Copy(logs, f.Beside.Logs())
	}
	for _, life := range f.Everything() {
		if u := life.unit(); u.Log.String() != "" {
			logs[u.Spec.Name] = u.Log.String()
		}
	}
	return logs
}
