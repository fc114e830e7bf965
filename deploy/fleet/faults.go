package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
)

// fault identifies a fault of a target.
type fault struct {
	target string
	kind   lab.FaultKind
}

// Harm implements lab.Deployment. A fault affects all processes of a unit, or a node with all units on it.
// The name of both a unit and a node means the unit.
func (f *Fleet[L]) Harm(ctx context.Context, asked lab.Fault) (proof string, err error) {
	what := "unit"
	life, runs := f.find(asked.Target)
	switch {
	case runs:
		proof, err = f.harm(ctx, life, asked)
	case f.node(asked.Target) != nil:
		what = "node"
		proof, err = f.harmNode(ctx, asked)
	case f.Beside != nil:
		return f.Beside.Harm(ctx, asked)
	default:
		return "", fmt.Errorf("there is no unit %q", asked.Target)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s %s: %w", asked.Kind, what, asked.Target, err)
	}
	return proof, nil
}

// Heal implements lab.Deployment.
func (f *Fleet[L]) Heal(ctx context.Context, asked lab.Fault) (err error) {
	life, runs := f.find(asked.Target)
	isOurs := runs || f.node(asked.Target) != nil
	if !isOurs && f.Beside != nil {
		return f.Beside.Heal(ctx, asked)
	}
	switch {
	case !f.Has(asked.Target, asked.Kind):
		err = errors.New("it has no such fault")
	case runs:
		err = f.heal(ctx, life, asked)
	default:
		err = f.healNode(ctx, asked)
	}
	if err != nil {
		return fmt.Errorf("heal %s after %s: %w", asked.Target, asked.Kind, err)
	}
	f.forget(fault{asked.Target, asked.Kind})
	return nil
}

// note records that a target has a fault, before the attempt: it must not be done twice at once. It fails if
// the target has a fault that excludes this one.
func (f *Fleet[L]) note(asked lab.Fault) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for done := range f.harmed {
		if done.target == asked.Target && done.kind.Excludes(asked.Kind) {
			return fmt.Errorf("it has the fault %s already: let this one begin after that is healed", done.kind)
		}
	}
	f.harmed[fault{asked.Target, asked.Kind}] = struct{}{}
	return nil
}

// forget records that a target no longer has a fault.
func (f *Fleet[L]) forget(healed fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.harmed, healed)
}

// Has reports whether a target has a fault that is not healed yet.
func (f *Fleet[L]) Has(target string, kind lab.FaultKind) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, has := f.harmed[fault{target, kind}]
	return has
}

// harm does a fault to a unit, if it can have that.
func (f *Fleet[L]) harm(ctx context.Context, life L, asked lab.Fault) (proof string, err error) {
	if err := f.checkHarm(life, asked.Kind); err != nil {
		return "", err
	}
	if err := f.note(asked); err != nil {
		return "", err
	}
	if proof, err = f.do(ctx, life, asked); err != nil {
		f.forget(fault{asked.Target, asked.Kind})
	}
	return proof, err
}

// checkHarm returns why a unit cannot have a fault, whatever other faults it has.
func (f *Fleet[L]) checkHarm(life L, kind lab.FaultKind) error {
	u := life.unit()
	p := f.platform
	switch {
	case u.Spec.Name == f.lead:
		return errors.New("it leads the trial and cannot have a fault in it")
	case !slices.Contains(p.Faults, kind):
		return fmt.Errorf("the deployment %s can do only these to a unit: %v", p.Name, p.Faults)
	case u.HasEnded():
		return fmt.Errorf("it has ended%s", u.Log.LastWords())
	case p.SharesMemory && kind.StopsProcesses():
		return errors.New("it shares memory with others, which it would not find as it was when it is " +
			"started again")
	case p.Refuse != nil:
		return p.Refuse(life)
	}
	return nil
}

// do does a fault to a unit.
func (f *Fleet[L]) do(ctx context.Context, life L, asked lab.Fault) (proof string, err error) {
	u := life.unit()
	switch asked.Kind {
	case lab.FaultPause:
		if proof, err = life.Pause(ctx); err != nil {
			_ = life.Resume(ctx) // some processes may be stopped, and nobody heals a fault that failed
		}
		return proof, err
	case lab.FaultCut:
		return f.cut(ctx, life)
	case lab.FaultSlow:
		return f.Relays.Slow(ctx, asked)
	case lab.FaultFill:
		return volume.Fill(f.Volume(u.Spec))
	case lab.FaultUpdate:
		return f.update(ctx, life)
	}
	err = f.onPurpose([]L{life}, func() error {
		if proof, err = life.Kill(ctx); err != nil {
			return err
		}
		return f.ended(ctx, life)
	})
	return proof, err
}

// heal undoes a fault of a unit and returns when it can be used.
func (f *Fleet[L]) heal(ctx context.Context, life L, asked lab.Fault) error {
	switch asked.Kind {
	case lab.FaultPause:
		return life.Resume(ctx)
	case lab.FaultCut:
		return errors.Join(f.platform.Cut(ctx, life, false), f.AwaitOpen(ctx, life))
	case lab.FaultSlow:
		f.Relays.Heal(asked)
		return nil
	case lab.FaultFill:
		return volume.Drain(f.Volume(life.unit().Spec))
	case lab.FaultUpdate:
		return nil // an update is complete once it is done
	}
	return f.again(ctx, life, onSameNode) // after a kill or a restart
}

// onPurpose calls end, which ends units, and keeps their ends from failing the trial. If end fails, the
// later end of a unit that still runs is a failure again.
func (f *Fleet[L]) onPurpose(units []L, end func() error) error {
	var err error
	for _, life := range units {
		err = errors.Join(err, f.Doom(life.unit()))
	}
	if err == nil {
		err = end()
	}
	if err != nil {
		for _, life := range units {
			f.spare(life.unit())
		}
	}
	return err
}

// ended waits until a unit has ended and none of its processes runs.
func (f *Fleet[L]) ended(ctx context.Context, life L) error {
	if err := life.unit().AwaitEnd(ctx); err != nil || f.platform.Gone == nil {
		return err
	}
	return f.platform.Gone(ctx, life)
}

// cut disconnects a unit from its network, and proves that it cannot be reached if it listens. Without a
// proof it connects the unit again, since nobody heals a fault that failed.
func (f *Fleet[L]) cut(ctx context.Context, life L) (proof string, err error) {
	if err := f.platform.Cut(ctx, life, true); err != nil {
		return "", err
	}
	address := f.platform.Reach(life.unit().Spec.Name)
	if address == "" {
		return "its network lets nothing through", nil
	}
	if proof, err = hosts.Unreached(address); err != nil {
		err = errors.Join(err, f.platform.Cut(ctx, life, false))
	}
	return proof, err
}

// update replaces a life by a new one. The old one ends before, by Platform.Vacate or by the start of the new
// one, because the two cannot share the volume.
func (f *Fleet[L]) update(ctx context.Context, old L) (proof string, err error) {
	p := f.platform
	name := old.unit().Spec.Name
	err = f.onPurpose([]L{old}, func() error {
		if p.Vacate != nil {
			if err := p.Vacate(ctx, old); err != nil {
				return err
			}
		}
		if err := f.again(ctx, old, onAnyNode); err != nil {
			return err
		}
		return f.ended(ctx, old)
	})
	if err != nil {
		return "", err
	}
	was := p.Describe(old)
	is := p.Describe(f.Named(name))
	return fmt.Sprintf("its %s has ended, and %s runs", was, is), nil
}

// Values of mayMove, which says whether the next life of a unit may run on another node.
const onSameNode, onAnyNode = false, true

// next returns the next life of a unit that has ended, before its start. It continues the log.
func (f *Fleet[L]) next(ctx context.Context, ended L, mayMove bool) (life L, err error) {
	old := ended.unit()
	if f.platform.Next == nil {
		life = f.platform.New(old.Spec)
	} else if life, err = f.platform.Next(ctx, ended, mayMove); err != nil {
		return life, err
	}
	u := life.unit()
	u.Further = true
	u.WriteTo(old.Log)
	return life, nil
}

// again starts the next life of a unit that has ended, and returns when it can be used.
func (f *Fleet[L]) again(ctx context.Context, ended L, mayMove bool) error {
	name := ended.unit().Spec.Name
	next, err := f.next(ctx, ended, mayMove)
	if err != nil {
		return fmt.Errorf("start unit %s again: %w", name, err)
	}
	f.Add(next)
	if err := next.Start(ctx); err != nil {
		return err
	}
	if hasSign, err := next.unit().awaitUsable(ctx, f.platform.Reach(name)); hasSign {
		return err
	}
	return f.AwaitOpen(ctx, next)
}
