package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

// node returns the node of a name; nil if there is none.
func (f *Fleet[L]) node(name string) Node {
	if f.platform.Nodes.Named == nil {
		return nil
	}
	return f.platform.Nodes.Named(name)
}

// Noticed implements lab.Deployment.
func (f *Fleet[L]) Noticed(node string) time.Duration { return f.losses.noticedAfter(node) }

// NodeOf implements lab.Deployment.
func (f *Fleet[L]) NodeOf(unit string) string {
	life, runs := f.find(unit)
	if !runs || f.platform.NodeOf == nil {
		return "" // it runs on this host, or not yet
	}
	return f.platform.NodeOf(life)
}

// on returns the units on a node, without those that have finished their work.
func (f *Fleet[L]) on(node string) []L {
	return slices.DeleteFunc(f.All(), func(life L) bool {
		return f.platform.NodeOf(life) != node || life.unit().HasFinished()
	})
}

// harmNode takes down the link of a node, kills the node, or drains it.
func (f *Fleet[L]) harmNode(ctx context.Context, asked lab.Fault) (proof string, err error) {
	n := f.platform.Nodes
	there := f.on(asked.Target)
	isLong := n.LongestCut > 0 && asked.Heal > n.LongestCut.Seconds()
	switch {
	case !slices.Contains(n.Faults, asked.Kind):
		return "", fmt.Errorf("only these can be done to a node: %v", n.Faults)
	case asked.Kind == lab.FaultCut && isLong:
		return "", fmt.Errorf("%g s are longer than %v, after which units take their conductor for dead",
			asked.Heal, n.LongestCut)
	}
	if err := f.checkLoss(there, asked.Kind); err != nil {
		return "", err
	}
	if err := f.note(asked); err != nil { // it stays after a failure: Stop heals a node that was harmed in part
		return "", err
	}
	switch asked.Kind {
	case lab.FaultDrain:
		return f.drain(ctx, asked, there)
	case lab.FaultKill:
		err = f.endOnPurpose(asked, there, func() error { return f.killNode(ctx, asked.Target, there) })
	default:
		f.watch(asked.Target)
		err = f.node(asked.Target).Link(ctx, false)
	}
	if err != nil {
		return "", err
	}
	proof, err = hosts.Unreached(n.Probe(asked.Target))
	if err != nil && asked.Kind == lab.FaultCut {
		err = errors.Join(err, f.Heal(ctx, asked)) // a failed fault is not healed before Stop
	}
	return proof, err
}

// endOnPurpose calls end, which ends the units of a node on purpose. If one of them had ended before, it
// leaves the node as it is, without the fault that was noted.
func (f *Fleet[L]) endOnPurpose(noted lab.Fault, units []L, end func() error) error {
	called := false
	err := f.onPurpose(units, func() error {
		called = true
		return end()
	})
	if !called {
		f.forget(fault{noted.Target, noted.Kind})
	}
	return err
}

// checkLoss returns an error if a unit on a node forbids a fault of the node: the lead, a unit that cannot be
// restarted, or, for a drain, one that cannot move.
func (f *Fleet[L]) checkLoss(there []L, kind lab.FaultKind) error {
	for _, life := range there {
		switch spec := life.unit().Spec; {
		case spec.Name == f.lead:
			return fmt.Errorf("unit %s leads the trial from there: give it another node", spec.Name)
		case kind == lab.FaultCut:
			continue
		case f.platform.SharesMemory:
			return fmt.Errorf("unit %s shares memory with others, which it would not find as it was when it is "+
				"started again", spec.Name)
		case kind == lab.FaultDrain && spec.Node != "":
			return fmt.Errorf("the layout wants unit %s on %s", spec.Name, spec.Node)
		case f.platform.Refuse != nil:
			if err := f.platform.Refuse(life); err != nil {
				return fmt.Errorf("unit %s: %w", spec.Name, err)
			}
		}
	}
	return nil
}

// watch starts to record when the platform notices that a node is lost.
func (f *Fleet[L]) watch(node string) {
	if lost := f.platform.Nodes.Lost; lost != nil {
		isLost := func(ctx context.Context) (bool, error) { return lost(ctx, node) }
		f.losses.watch(f.Watching, node, isLost)
	}
}

// killNode kills a node and all units on it.
func (f *Fleet[L]) killNode(ctx context.Context, node string, there []L) error {
	f.watch(node)
	if err := f.node(node).Kill(ctx); err != nil {
		return err
	}
	for _, life := range there {
		if err := f.platform.Nodes.Perished(ctx, life); err != nil {
			return err
		}
	}
	return nil
}

// drain has the platform empty a node, and restarts its units elsewhere.
func (f *Fleet[L]) drain(ctx context.Context, asked lab.Fault, there []L) (proof string, err error) {
	n := f.platform.Nodes
	err = f.endOnPurpose(asked, there, func() error {
		if err := n.Close(ctx, asked.Target, true); err != nil {
			return err
		}
		if err := SideBySide(ctx, againAtOnce, there, n.Evict); err != nil {
			return err
		}
		return f.againAll(ctx, there)
	})
	if err != nil {
		return "", err
	}
	if err := n.AwaitEmpty(ctx, asked.Target); err != nil {
		return "", err
	}
	if len(there) == 0 {
		return "no unit was there, and none can be", nil
	}
	to := map[string]bool{}
	for _, life := range there {
		to[f.NodeOf(life.unit().Spec.Name)] = true
	}
	return fmt.Sprintf("%d units that ran there run on %s, and none there", len(there),
		strings.Join(slices.Sorted(maps.Keys(to)), ", ")), nil
}

// againAtOnce limits how many units that ended together are restarted at the same time.
const againAtOnce = 16

// againAll starts the next lives of units that ended together. Servers come first: others need them at their
// start.
func (f *Fleet[L]) againAll(ctx context.Context, ended []L) error {
	again := func(ctx context.Context, life L) error { return f.again(ctx, life, onAnyNode) }
	var servers, others []L
	for _, life := range ended {
		if life.unit().Spec.Server != nil {
			servers = append(servers, life)
		} else {
			others = append(others, life)
		}
	}
	if err := SideBySide(ctx, againAtOnce, servers, again); err != nil {
		return err
	}
	return SideBySide(ctx, againAtOnce, others, again)
}

// healNode restores a node and returns when its units can be used.
func (f *Fleet[L]) healNode(ctx context.Context, asked lab.Fault) error {
	there := f.on(asked.Target)
	if err := f.restore(ctx, asked.Target, asked.Kind); err != nil {
		return err
	}
	switch asked.Kind {
	case lab.FaultKill:
		return f.againAll(ctx, there)
	case lab.FaultCut:
		for _, life := range there {
			if life.unit().HasEnded() {
				continue // it has a fault of its own
			}
			if err := f.AwaitOpen(ctx, life); err != nil {
				return fmt.Errorf("it is connected again: %w", err)
			}
		}
	}
	return nil
}

// restore returns a node to its state before a fault.
func (f *Fleet[L]) restore(ctx context.Context, node string, after lab.FaultKind) error {
	n := f.platform.Nodes
	if after == lab.FaultDrain {
		return n.Close(ctx, node, false)
	}
	if n.Lost != nil {
		f.losses.found(node)
	}
	if after == lab.FaultKill {
		return f.node(node).Boot(ctx)
	}
	return f.node(node).Link(ctx, true)
}

// restoreNodes heals the nodes that still have a fault: the next trial uses the same nodes.
func (f *Fleet[L]) restoreNodes(ctx context.Context) error {
	if !f.platform.Nodes.Stay {
		return nil
	}
	f.mu.Lock()
	harmed := slices.Collect(maps.Keys(f.harmed))
	f.mu.Unlock()
	var problems []error
	for _, done := range harmed {
		// A unit may have the name of a node, and then has the fault.
		if _, isUnit := f.find(done.target); !isUnit && f.node(done.target) != nil {
			problems = append(problems, f.restore(ctx, done.target, done.kind))
			f.forget(done)
		}
	}
	return errors.Join(problems...)
}

// losses records which nodes of a cluster were cut off or killed, and when the cluster noticed. The zero
// value is empty. Its methods may be called from several goroutines.
type losses struct {
	mu     sync.Mutex
	byNode map[string]*loss
}

// loss is the watch of one node that is lost.
type loss struct {
	noticed atomic.Int64 // nanoseconds until the cluster reported the node as lost; 0: it has not yet
	end     context.CancelFunc
}

// watchInterval is the pause between two questions to a cluster about a node that is lost.
const watchInterval = 100 * time.Millisecond

// watch records that a node is lost from now on. It polls the cluster in the background until that reports
// the node as lost, the node is found, or ctx ends.
func (l *losses) watch(ctx context.Context, node string, isLost func(context.Context) (bool, error)) {
	ctx, end := context.WithCancel(ctx)
	lost := &loss{end: end}
	since := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byNode == nil {
		l.byNode = map[string]*loss{}
	}
	l.byNode[node] = lost
	go func() {
		defer end()
		if Until(ctx, watchInterval, func() (bool, error) {
			noticed, err := isLost(ctx)
			return err == nil && noticed, nil
		}) == nil {
			lost.noticed.Store(int64(time.Since(since)))
		}
	}()
}

// found ends the watch of a node that is back.
func (l *losses) found(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byNode[node].end()
}

// noticedAfter returns the time that the cluster took to notice that a node is lost; 0 if it has not.
func (l *losses) noticedAfter(node string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost := l.byNode[node]; lost != nil {
		return time.Duration(lost.noticed.Load())
	}
	return 0
}
