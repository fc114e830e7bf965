package containers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// nodeFaults returns the node faults that can be done to nodes of the clusters that we make.
func nodeFaults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultCut, lab.FaultKill, lab.FaultDrain}
}

// Nodes returns the nodes of a cluster that faults can be done to, with the units that a layout wants
// there. places are nodes by the names that the layout has for them.
func Nodes(names []string, specs []lab.UnitSpec, places map[string]string) []lab.Node {
	nodes := lab.Nodes(names, nodeFaults()...)
	for i := range nodes {
		for _, spec := range specs {
			if places[spec.Node] == nodes[i].Name {
				nodes[i].Pinned = append(nodes[i].Pinned, spec.Name)
			}
		}
	}
	return nodes
}

// Places says which node of a cluster stands for a node that a layout names: the one of that
// name, or else each for one. Where links are changed, units that name none ("") are together on
// a node whose link is as it was, if there are such units, as on the conductor's host they would be.
func Places(names []string, specs []lab.UnitSpec, links map[string]lab.Network) (map[string]string, error) {
	places, free := map[string]string{}, slices.Clone(names)
	take := func(name, node string) {
		places[name] = node
		free = slices.DeleteFunc(free, func(other string) bool { return other == node })
	}
	for _, spec := range specs {
		if slices.Contains(free, spec.Node) {
			take(spec.Node, spec.Node)
		}
	}
	for _, spec := range specs {
		if spec.Node == "" || places[spec.Node] != "" {
			continue
		}
		if len(free) == 0 {
			return nil, fmt.Errorf("unit %s is on %s, and the layout names more nodes than the %d that there are: %s",
				spec.Name, spec.Node, len(names), strings.Join(names, ", "))
		}
		take(spec.Node, free[0])
	}
	at := slices.IndexFunc(specs, func(spec lab.UnitSpec) bool { return spec.Node == "" })
	if len(links) == 0 || at < 0 {
		return places, nil
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if _, changed := links[name]; !changed {
			free = append(free, places[name])
		}
	}
	if len(free) == 0 {
		return nil, fmt.Errorf("hosts: unit %s is on no node, and the links of all %d (%s) are changed: name one "+
			"for it", specs[at].Name, len(names), strings.Join(names, ", "))
	}
	places[""] = free[0]
	return places, nil
}

// longestCut is how long a node can be cut off: units that hear nothing of their conductor
// for longer end. No cluster that we make gives up a node before.
const longestCut = 30 * time.Second

// CheckNode refuses what cannot be done to a node.
func CheckNode(f lab.Fault) error {
	switch {
	case !slices.Contains(nodeFaults(), f.Kind):
		return fmt.Errorf("only these can be done to a node: %v", nodeFaults())
	case f.Kind == lab.FaultCut && f.Heal > longestCut.Seconds():
		return fmt.Errorf("%g s are longer than %v, after which units take their conductor for dead", f.Heal,
			longestCut)
	}
	return nil
}

// MayRestart refuses to end a unit that could not begin another life in its trial.
func (t Trial) MayRestart(spec lab.UnitSpec, lead string) error {
	switch {
	case spec.Name == lead:
		return fmt.Errorf("unit %s leads the trial from there", lead)
	case t.Memory != "":
		return fmt.Errorf("unit %s shares memory with others, which it would not find as it was when it is "+
			"started again", spec.Name)
	}
	return nil
}

// MayMove refuses to end a unit that could not go on elsewhere.
func (t Trial) MayMove(spec lab.UnitSpec, lead string) error {
	if spec.Node != "" && spec.Name != lead {
		return fmt.Errorf("the layout wants unit %s on %s", spec.Name, spec.Node)
	}
	return t.MayRestart(spec, lead)
}

// ServersFirst does something with units that ended together, first with servers: others need
// them from their beginning.
func ServersFirst[T any](ended []T, specOf func(T) lab.UnitSpec, do func([]T) error) error {
	isServer := func(one T) bool { return specOf(one).Server != nil }
	servers := slices.DeleteFunc(slices.Clone(ended), func(one T) bool { return !isServer(one) })
	if err := do(servers); err != nil {
		return err
	}
	return do(slices.DeleteFunc(slices.Clone(ended), isServer))
}

// Emptied says what has become of the units of a node on which none is any more.
func Emptied[T any](were []T, nodeOf func(T) string) (proof string) {
	if len(were) == 0 {
		return "no unit was there, and none can be"
	}
	to := map[string]bool{}
	for _, unit := range were {
		to[nodeOf(unit)] = true
	}
	return fmt.Sprintf("%d units that ran there run on %s, and none there", len(were),
		strings.Join(slices.Sorted(maps.Keys(to)), ", "))
}

// Losses are the nodes of a cluster that were cut off or killed, and when the cluster noticed
// that. The zero value has none. Its methods may be called from several goroutines.
type Losses struct {
	mu     sync.Mutex
	byNode map[string]*loss
}

type loss struct {
	noticed atomic.Int64 // nanoseconds until the cluster said that the node is lost; 0: it has not
	end     context.CancelFunc
}

// watchInterval is how often a cluster is asked about a node that is lost.
const watchInterval = 100 * time.Millisecond

// Watch looks for when the cluster says that a node is lost, which it is from now on, until
// the node is found or ctx ends.
func (l *Losses) Watch(ctx context.Context, node string, isLost func(context.Context) (bool, error)) {
	ctx, end := context.WithCancel(ctx)
	lost, since := &loss{end: end}, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byNode == nil {
		l.byNode = map[string]*loss{}
	}
	l.byNode[node] = lost
	go func() {
		defer end()
		for {
			if noticed, err := isLost(ctx); err == nil && noticed {
				lost.noticed.Store(int64(time.Since(since)))
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchInterval):
			}
		}
	}()
}

// Found ends the watch over a node, which is there again.
func (l *Losses) Found(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byNode[node].end()
}

// Noticed implements lab.Noticer.
func (l *Losses) Noticed(node string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost := l.byNode[node]; lost != nil {
		return time.Duration(lost.noticed.Load())
	}
	return 0
}
