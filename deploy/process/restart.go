package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

var _ lab.Restarter = (*deployment)(nil)

// listenPatience is how long a unit that was started again may take until it
// listens.
const listenPatience = 60 * time.Second

// Kill implements lab.Restarter. A unit of our own is one process; of a foreign
// one all processes are killed, the keeper ends when none is left.
func (d *deployment) Kill(name string) error {
	u, err := d.doom(name)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); {
		if err := u.kill(); err != nil {
			return fmt.Errorf("kill unit %s: %w", name, err)
		}
		select {
		case <-u.Ended:
			return u.unkept
		case <-time.After(5 * time.Millisecond): // those that fork need another round
		}
	}
	return fmt.Errorf("unit %s does not end after kill -9", name)
}

// doom marks a unit as one that is killed on purpose.
func (d *deployment) doom(name string) (*unit, error) {
	u := d.named(name)
	switch {
	case u == nil:
		return nil, fmt.Errorf("there is no unit %q", name)
	case name == d.lead:
		return nil, fmt.Errorf("unit %s leads the trial and cannot be killed in it", name)
	case d.shares:
		return nil, fmt.Errorf("unit %s shares memory with others, which it would not have when it is started again", name)
	}
	return u, d.Doom(u.Unit)
}

// kill sends SIGKILL to the unit's processes.
func (u *unit) kill() error {
	if !u.Spec.Foreign {
		_ = u.command.Process.Kill() // it may have ended since the last round
		return nil
	}
	pids, err := u.pids()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the same
	}
	return err
}

// pids are the processes that the unit consists of.
func (u *unit) pids() ([]int, error) {
	if !u.Spec.Foreign {
		return []int{u.command.Process.Pid}, nil
	}
	all, err := processes()
	return below(u.command.Process.Pid, all), err
}

// Restart implements lab.Restarter. The unit is what it was, with the same
// address, environment, files and processors; it is ready when it listens, where
// it does so at all.
func (d *deployment) Restart(ctx context.Context, name string) error {
	old := d.named(name)
	if old == nil || !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", name)
	}
	command, err := d.restart(old.Spec)
	if err != nil {
		return err
	}
	u := newUnit(old.Spec, command)
	u.Log = old.Log
	if err := d.launch(u); err != nil {
		return fmt.Errorf("start unit %s again (%s): %w", name, command.Path, err)
	}
	d.add(u)
	if u.Spec.Server != nil {
		return d.awaitServer(ctx, u)
	}
	return u.awaitListening(ctx)
}

// awaitListening waits until any process of the unit listens.
func (u *unit) awaitListening(ctx context.Context) error {
	if !u.Spec.Listens && len(u.Spec.Binds) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, listenPatience, fmt.Errorf("it does not listen after %v", listenPatience))
	defer cancel()
	for {
		pids, err := u.pids()
		if err == nil && slices.ContainsFunc(pids, listens) {
			return nil
		}
		select {
		case <-u.Ended:
			return errors.New("unit " + u.Spec.Name + " ended at once" + u.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("unit %s: %w", u.Spec.Name, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}
