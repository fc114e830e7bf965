package fleet

import (
	"maps"
	"slices"
	"sync"

	"github.com/cleave-lab/cleave/lab"
)

// Lives are the units that one deployer runs, each in its present life, beside those that others
// run under the same supervisor. What the deployer has of a life holds its Unit.
type Lives[L interface{ unit() *Unit }] struct {
	*Supervisor
	mu       sync.Mutex
	byName   map[string]L
	prepared []L // commands that ran before the units
}

// NewLives has no units yet.
func NewLives[L interface{ unit() *Unit }](s *Supervisor) *Lives[L] {
	return &Lives[L]{Supervisor: s, byName: map[string]L{}}
}

// unit has everything that holds a Unit be a life of it.
func (u *Unit) unit() *Unit { return u }

// Add takes a unit in, in the place of its former life where it had one. A command that
// prepares is none of the units.
func (l *Lives[L]) Add(life L) {
	u := life.unit()
	l.mu.Lock()
	if u.Prepares {
		l.prepared = append(l.prepared, life)
	} else {
		l.byName[u.Spec.Name] = life
	}
	l.mu.Unlock()
	if !u.Prepares {
		l.Supervisor.Add(u)
	}
}

// Named returns the present life of a unit; the zero value where the deployer runs none of the name.
func (l *Lives[L]) Named(name string) L {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byName[name]
}

// All returns the units of the deployer as they are now, in the order of the layout.
func (l *Lives[L]) All() []L {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []L
	for _, u := range l.Supervisor.All() {
		if life, ours := l.byName[u.Spec.Name]; ours {
			all = append(all, life)
		}
	}
	return all
}

// Prepared returns the commands that ran before the units, in their order.
func (l *Lives[L]) Prepared() []L {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.prepared)
}

// Everything returns what prepared and the units as they are now.
func (l *Lives[L]) Everything() []L { return append(l.Prepared(), l.All()...) }

// LogsWith returns the logs of them all, and of what runs beside them; nil: nothing yet.
func (l *Lives[L]) LogsWith(beside lab.Deployment) map[string]string {
	logs := map[string]string{}
	if beside != nil {
		maps.Copy(logs, beside.Logs())
	}
	for _, life := range l.Everything() {
		if u := life.unit(); u.Log.String() != "" {
			logs[u.Spec.Name] = u.Log.String()
		}
	}
	return logs
}
